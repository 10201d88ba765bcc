"""Which source: the name of its table and its place in the configuration."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

# There is one of this kind at most, so its name is its kind.
PUSH: Final = "push"


class SourceIdentity(Struct, frozen=True, order=True):
    """One table of the configuration, as people read it; of two with the same node the lower rank wins."""

    rank: int
    name: str

    @property
    def kind(self) -> str:
        """The kind of its table, which its name begins with."""
        return self.name.partition(" ")[0]


def identify(kinds: Iterable[str]) -> list[SourceIdentity]:
    """Name tables after their kinds, in the order of the configuration: `ssh`, `folder`, `ssh 2`."""
    seen: Counter[str] = Counter()
    identities = []
    for rank, kind in enumerate(kinds):
        seen[kind] += 1
        name = kind if seen[kind] == 1 else f"{kind} {seen[kind]}"
        identities.append(SourceIdentity(rank, name))
    return identities
