"""Which files of a folder are looked at where there are too many: every user has a share. Blocks."""

import os
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

# Of files that are no known node's, so many a look are asked whose they are.
MAX_ASKED: Final = 10_000

# The node and the member that a name says, and the name.
Found = tuple[str, str, str]
# How soon a file is looked at: the least first.
Rank = tuple[int, int]

_at_random: Final = random.SystemRandom().sample


class Shares:
    """Knows whose new files are, as far as it has asked, and gives every user a part of a look."""

    def __init__(self, *, pick: Callable[[Sequence[str], int], list[str]] = _at_random) -> None:
        """Ask those that are picked, where they are more than can be asked: nobody can tell which."""
        self._pick = pick
        self._owners: dict[str, int] = {}

    def first(
        self,
        folder: int,
        found: Sequence[Found],
        *,
        known: Mapping[str, int | None],
        trusted: Collection[int],
        limit: int,
    ) -> list[Found]:
        """As many files as may be looked at.

        Known nodes stay, of every user as many; but for those trusted with the folder, beyond half of the
        look they wait for what is new of others. Of that, too, every user has as many.
        """
        self._learn(folder, [name for node, _, name in found if node not in known])
        ranks = self._ranks(found, known, trusted, limit)
        return sorted(found, key=lambda one: ranks[one[0], self._whose(one, known)])[:limit]

    def rest(self) -> None:
        """Hear that all can be looked at: nothing has to be known of them."""
        self._owners = {}

    def _whose(self, one: Found, known: Mapping[str, int | None]) -> int | None:
        node, _, name = one
        return known[node] if node in known else self._owners.get(name)

    def _ranks(
        self, found: Sequence[Found], known: Mapping[str, int | None], trusted: Collection[int], limit: int
    ) -> dict[tuple[str, int | None], Rank]:
        ranks: dict[tuple[str, int | None], Rank] = {}
        # How many nodes of a user have come before, known ones and new ones.
        places: dict[tuple[int | None, bool], int] = {}
        for one in found:
            node, owner = one[0], self._whose(one, known)
            if (node, owner) in ranks:
                continue
            is_known = node in known
            place = places[owner, is_known] = places.get((owner, is_known), -1) + 1
            if is_known:
                is_early = owner in trusted or place < max(1, limit // 2)
                ranks[node, owner] = (0 if is_early else 2, place)
            else:
                is_early = owner is not None and place < max(1, limit // 10)
                ranks[node, owner] = (1 if is_early else 3, place)
        return ranks

    def _learn(self, folder: int, names: Sequence[str]) -> None:
        """Ask whose files are: first of those that were not asked yet, then of others once more."""
        self._owners = {name: self._owners[name] for name in names if name in self._owners}
        unasked = [name for name in names if name not in self._owners]
        asked = unasked if len(unasked) <= MAX_ASKED else self._pick(unasked, MAX_ASKED)
        # Somebody else may have one of that name by now.
        left = min(MAX_ASKED - len(asked), len(self._owners))
        for name in [*asked, *self._pick(list(self._owners), left)]:
            try:
                self._owners[name] = os.stat(name, dir_fd=folder, follow_symlinks=False).st_uid
            except OSError:
                self._owners.pop(name, None)
