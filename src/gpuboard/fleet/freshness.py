"""How old is too old. Pure."""

from typing import Final, Literal

from gpuboard.model.codes import plain_reason
from gpuboard.model.node import LATE_AFTER_INTERVALS, LOST_AFTER_INTERVALS, NodeState
from gpuboard.model.units import format_duration
from gpuboard.model.verdict import Reason
from gpuboard.verdict import LIVE, Freshness

# Its source no longer names it: taken from a list, a file deleted.
LEFT: Final = Freshness(state="lost", reason=plain_reason(code="left"))
# The same of a node that pushed, or signed what it dropped: whoever has no token is not listed.
REVOKED_CODE: Final = "revoked"
REVOKED: Final = Freshness(state="lost", reason=plain_reason(code=REVOKED_CODE))

# Nobody can tell when its data was taken: a moment was made up only to have it count as old.
AGELESS: Final = Freshness(
    state="error", reason=Reason(code="age-unknown", text="how old its data is cannot be told")
)


class Trouble:
    """Why a source could not read a node the last time it tried."""

    __slots__ = ("is_lasting", "reason", "state")

    def __init__(
        self, reason: Reason, state: Literal["refused", "error"], *, is_lasting: bool = False
    ) -> None:
        self.reason = reason
        self.state = state
        # It was tried again at once and failed again: no single lost reply.
        self.is_lasting = is_lasting


def freshness(age: float | None, *, interval: float, trouble: Trouble | None) -> Freshness:
    """How much a node's newest sample can be trusted; age None means that none ever came."""
    if age is None:
        if trouble is not None:
            return Freshness(state=trouble.state, reason=trouble.reason)
        return Freshness(state="never", reason=plain_reason(code="never"))
    if age <= LATE_AFTER_INTERVALS * interval and not (trouble is not None and trouble.is_lasting):
        return LIVE
    if trouble is not None:
        return Freshness(state=_troubled(age, interval, trouble), reason=trouble.reason)
    state: NodeState = "lost" if age > LOST_AFTER_INTERVALS * interval else "late"
    text = f"nothing new for {format_duration(age)}"
    return Freshness(state=state, reason=Reason(code=state, text=text, values={"seconds": round(age)}))


def _troubled(age: float, interval: float, trouble: Trouble) -> NodeState:
    """A node that refuses says so at once; one that fails is late (an error, if tried twice), then lost."""
    if trouble.state == "refused":
        return "refused"
    if age > LOST_AFTER_INTERVALS * interval:
        return "lost"
    return "error" if trouble.is_lasting else "late"
