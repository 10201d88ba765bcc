"""The messages of the live stream."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import astuple

from gpuboard.model.problems import ABSENCES, SEVERITIES, Severity
from gpuboard.model.verdict import JUST_FREED_SECONDS
from gpuboard.wire.component import ComponentView
from gpuboard.wire.views import Tier

Columns = dict[str, Sequence[Any]]


class HistoryInfo(Struct, frozen=True, kw_only=True):
    """What the board knows of the past."""

    # When that begins; null: there is none yet, or it cannot tell.
    since: float | None
    # Whether nothing is written at the moment.
    paused: bool


class BoardInfo(Struct, frozen=True, kw_only=True):
    """What the page should know about the board itself."""

    version: str
    name: str
    demo: bool
    tick_seconds: float
    # A board that has just started has not looked everywhere yet.
    started_at: float = 0.0
    # What became free so lately is offered last: its user may only be restarting.
    just_freed_seconds: float = JUST_FREED_SECONDS
    # What the admin calls the board; null: nothing but GPUs.
    title: str | None = None
    # The command for chosen GPUs that people copy; {address}, {devices} and others are to be filled in.
    copy: str = "ssh {address}"
    # Where bars get darker, in percent.
    host_lines: tuple[float, ...] = (35.0, 70.0)
    gpu_lines: tuple[float, ...] = (20.0, 60.0)
    # How grave each kind of problem and each state of a node is, heaviest first.
    severities: dict[Severity, tuple[str, ...]] = field(default_factory=SEVERITIES.copy)
    # The kinds that it says itself of a node because nothing comes from it.
    absences: tuple[str, ...] = ABSENCES
    # How to reach somebody: {person} and {text} are to be filled in; null where names are hidden, too.
    contact: str | None = None
    # The board's own zone, as `Europe/Berlin`; null: it cannot tell.
    time_zone: str | None = None
    # null: the board keeps no history.
    history: HistoryInfo | None = None


class Gone(Struct, frozen=True, kw_only=True):
    """What is no longer there."""

    nodes: list[str]
    gpus: list[str]


class Snapshot(Struct, frozen=True, kw_only=True, tag_field="kind", tag="snapshot"):
    """The whole fleet; another stream id than before means that the board was restarted."""

    stream: str
    sequence: int
    at: float
    tier: Tier
    board: BoardInfo
    nodes: Columns
    gpus: Columns
    # The parts of the board that are in trouble.
    troubles: list[ComponentView]
    # Sources that have not named their nodes yet: until then there may be more nodes than these.
    sources_unknown: int = 0


class ChangeMessage(Struct, frozen=True, kw_only=True, tag_field="kind", tag="change"):
    """The rows that changed, each whole; the sequence is always one more than before."""

    sequence: int
    at: float
    nodes: Columns
    gpus: Columns
    gone: Gone
    # All parts of the board that are in trouble now; null: as before.
    troubles: list[ComponentView] | None = None
    # How many sources have not named their nodes yet; null: as before.
    sources_unknown: int | None = None


class Heartbeat(Struct, frozen=True, kw_only=True, tag_field="kind", tag="heartbeat"):
    """Nothing changed, and the board is alive."""

    sequence: int
    at: float


class Bye(Struct, frozen=True, kw_only=True, tag_field="kind", tag="bye"):
    """The board is about to close the stream."""

    reason: str


StreamMessage = Snapshot | ChangeMessage | Heartbeat | Bye


def columns(kind: type[Struct], rows: list[Any]) -> Columns:
    """Turn rows into columns under full-word keys: far fewer bytes, and still readable."""
    names = kind.__struct_fields__
    # Each row is read once, as a whole: read field by field, a large fleet leaves the cache in between.
    values = zip(*map(astuple, rows), strict=True) if rows else ((),) * len(names)
    return dict(zip(names, values, strict=True))
