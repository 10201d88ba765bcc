"""GPU-hours, as the API tells them: whole milliseconds, so that sums are exact."""

from typing import Literal

from msgspec import Struct

UsageBy = Literal["person", "group", "model", "node", "week"]


class UsageTotal(Struct, frozen=True, kw_only=True):
    """The time of GPUs by kind; the six kinds together are the span."""

    span_ms: int
    used_ms: int
    idle_ms: int
    # Booked, and not used.
    booked_ms: int
    free_ms: int
    broken_ms: int
    unobserved_ms: int


class UsageRow(Struct, frozen=True, kw_only=True):
    """One person, group, model, node or week; null where a kind of time is nobody's."""

    # null: those who are in no group, or whose model cannot be told.
    name: str | None
    used_ms: int
    idle_ms: int
    booked_ms: int
    free_ms: int | None = None
    broken_ms: int | None = None
    unobserved_ms: int | None = None


class UsageAnswer(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """How GPUs were used in a span of whole hours; the hour under way counts as far as it has come."""

    start: float
    end: float
    by: UsageBy
    # How many GPUs counted at any time.
    gpus: int
    # null: there was no GPU.
    observed_percent: float | None
    # The same in a sentence, in English.
    text: str
    total: UsageTotal
    # By name of weeks, else whoever used most comes first. Empty where names are hidden.
    rows: list[UsageRow]
