"""The one word for a GPU and its evidence, as values."""

from typing import Any, Final, Literal

from msgspec import Struct

from gpuboard.model.report import UnixTime

VerdictWord = Literal["free", "busy", "idle", "booked", "stale", "broken", "unknown"]
Flag = Literal["trespass", "no_show", "hot", "throttled", "orphaned_memory"]

# What became free so lately is offered last: its user may only be restarting.
JUST_FREED_SECONDS: Final = 300.0


class Reason(Struct, frozen=True, kw_only=True, gc=False):
    """Why: code and values travel and are translated; the text is English, for terminals and logs."""

    code: str
    text: str
    values: dict[str, Any] = {}


def is_just_freed(since: float | None, now: float) -> bool:
    """Whether a free GPU became free only just now; unknown since when is like long ago."""
    return since is not None and now - since < JUST_FREED_SECONDS


class Verdict(Struct, frozen=True, gc=False):
    """The one word for a GPU, since when, and why."""

    word: VerdictWord
    reason: Reason
    since: UnixTime | None = None
    flags: tuple[Flag, ...] = ()


# A node's name and a number on it: what people claim, whichever card is there.
GpuPlace = tuple[str, int]
# In place of a GPU's number: some GPU of the node is meant, and nobody can tell which.
NO_NUMBER: Final = -1
# In place of a GPU's number: all GPUs of the node, also those that come later.
WHOLE_NODE: Final = -2

# So long a claim that has ended is still told: people wonder whose it was.
ENDED_CLAIM_SECONDS: Final = 3 * 86400.0


# Who an entry is by that has no name, and one of which nobody knows until when it holds.
SOMEBODY: Final = "somebody"
SOMEBODY_WITHOUT_DATE: Final = "somebody (unreadable date)"
# Whose a block is: nobody's, and no person may be called so.
MAINTENANCE: Final = "maintenance"
_ANYBODY: Final = (SOMEBODY, SOMEBODY_WITHOUT_DATE)


class Claim(Struct, frozen=True, kw_only=True, gc=False):
    """That somebody holds a GPU by agreement, from a time until a time; None: since ever, without end."""

    who: str
    until: float | None = None
    start: float | None = None
    comment: str | None = None
    # Anybody may have typed it, with any name: it holds, but is on nobody's account.
    is_unverified: bool = False
    # It keeps everybody away: whoever made it does not have the GPU either.
    is_block: bool = False
    # Its booker has not come in time.
    is_no_show: bool = False
    # Claims of lower rank on the same GPU: whoever has one of them does no wrong there either.
    behind: "tuple[Claim, ...]" = ()

    def holds_at(self, now: float) -> bool:
        """Whether it has begun and not ended: `[start, until)`."""
        return (self.start is None or self.start <= now) and not self.is_over(now)

    def is_over(self, now: float) -> bool:
        """Whether it has ended."""
        return self.until is not None and self.until <= now

    @property
    def is_by_anybody(self) -> bool:
        """Whether nobody can tell whose it is."""
        return self.is_unverified and self.who in _ANYBODY

    @property
    def on_account_of(self) -> str | None:
        """Whose it surely is; a block is maintenance, whoever made it."""
        if self.is_unverified:
            return None
        return MAINTENANCE if self.is_block else self.who
