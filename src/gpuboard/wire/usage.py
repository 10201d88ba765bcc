"""GPU-hours, as the API tells them: whole milliseconds, so that sums are exact."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from gpuboard.model.report import UnixTime

UsageBy = Literal["person", "group", "program", "model", "node", "week"]
# Those by whom somebody could be recognised: a program may be called after whoever wrote it.
NAMED: Final[frozenset[UsageBy]] = frozenset({"person", "group", "program"})
Trend = Literal["up", "level", "down"]
Milliseconds = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class UsageWorth(Struct, frozen=True, kw_only=True):
    """What stands beside the six kinds of time, of a row and of all together."""

    # Used in the span before: the calendar month before, or one as long. null: nothing, or only a part of it,
    # was counted then.
    previous_used_ms: Milliseconds | None = None
    # Used, held idle, or booked and unused, times the weights of the GPUs. null: there is neither weight nor
    # price in the settings.
    weighted_ms: Milliseconds | None = None
    # The memory that was held while it was used or held idle. null: nothing is known of it.
    memory_gib_hours: float | None = None
    # Of the weighted time. null: there is no price in the settings.
    price: float | None = None
    # Time of bookings within the span, and how much of it their own people used. null: bookings are nobody's
    # here, or the board keeps none.
    reserved_ms: Milliseconds | None = None
    reserved_used_ms: Milliseconds | None = None


class UsageTotal(UsageWorth, frozen=True, kw_only=True):
    """The time of GPUs by kind; the six kinds together are the span."""

    span_ms: Milliseconds
    used_ms: Milliseconds
    idle_ms: Milliseconds
    # Booked, and not used.
    booked_ms: Milliseconds
    free_ms: Milliseconds
    broken_ms: Milliseconds
    unobserved_ms: Milliseconds


class UsageRow(UsageWorth, frozen=True, kw_only=True):
    """One person, group, program, model, node or week; null where a kind of time is nobody's."""

    # null: those who are in no group, or whose program or model cannot be told.
    name: str | None
    used_ms: Milliseconds
    idle_ms: Milliseconds
    booked_ms: Milliseconds
    free_ms: Milliseconds | None = None
    broken_ms: Milliseconds | None = None
    unobserved_ms: Milliseconds | None = None
    # Of a person: the group that they count for.
    group: str | None = None
    # Of a group: its people. Of all others null.
    people: list["UsageRow"] | None = None


class UsageAnswer(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """How GPUs were used in a span of whole hours; the hour under way counts as far as it has come."""

    start: UnixTime
    end: UnixTime
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
    # Whether what was used before was left out, since it takes too long to look up; the text says so, too.
    is_alone: bool = False
    # What prices are in; null: there is no price, or nothing is said of it.
    currency: str | None = None
    # The span that was asked for: what was counted may begin later, or end earlier.
    asked_from: UnixTime | None = None
    asked_to: UnixTime | None = None
    # What the board is called, and the zone of its weeks and months.
    title: str | None = None
    time_zone: str | None = None


class UsageDay(Struct, frozen=True, kw_only=True):
    """One day of a person by the board's calendar; null: nothing was counted on it."""

    day: str
    used_ms: Milliseconds | None
    idle_ms: Milliseconds | None
    booked_ms: Milliseconds | None


class UsageDaysAnswer(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """The GPU-hours of one person day by day, in order."""

    start: float
    end: float
    person: str
    # All days together.
    used_ms: Milliseconds
    idle_ms: Milliseconds
    booked_ms: Milliseconds
    days: list[UsageDay]
    # Why there is nothing, where there is nothing.
    hint: str | None = None


class HourOfWeek(Struct, frozen=True, kw_only=True):
    """One hour of the week; Monday is 0."""

    weekday: int
    hour: int
    percent: float


class UsageHoursAnswer(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """How full the GPUs were by hour of the week, by the clock of the board."""

    start: float
    end: float
    # Seven days from Monday on, of 24 hours each: how much of the time observed somebody was on a GPU,
    # whether it was used or held idle. null: nothing was observed.
    percent: list[list[float | None]]
    # null: nothing was observed at all.
    fullest: HourOfWeek | None
    emptiest: HourOfWeek | None


class UsageWindow(Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """One of the spans that means are taken over: whole hours, as far as anything was counted."""

    hours: int
    start: float
    end: float


class UsageMean(Struct, frozen=True, kw_only=True):
    """How many GPUs somebody had on average; null: nothing was counted."""

    hours: int
    used: float | None
    # null: the board keeps no bookings.
    reserved: float | None = None
    # Whether more are used than on average in the next longer span; null: there is none.
    trend: Trend | None = None


class PersonMeans(Struct, frozen=True, kw_only=True):
    """One person's means, the shortest span first."""

    name: str
    group: str | None
    means: list[UsageMean]


class UsageAveragesAnswer(Struct, frozen=True, kw_only=True):
    """How many GPUs people use lately: over the last two hours, the last day and the last week."""

    at: float
    windows: list[UsageWindow]
    # Of all people together.
    total: list[UsageMean]
    # How many GPUs were free on average, span by span.
    free: list[float | None]
    # Whoever uses most comes first. Empty where names are hidden.
    people: list[PersonMeans]
