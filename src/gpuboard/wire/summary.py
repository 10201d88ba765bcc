"""Sums over the fleet, as the API tells them."""

from typing import Final

from msgspec import Struct

from gpuboard.model.report import UnixTime


class ModelSummary(Struct, frozen=True, kw_only=True):
    """All GPUs of one model."""

    model: str | None
    gpus: int
    free: int


class Summary(Struct, frozen=True, kw_only=True):
    """The whole fleet in a few numbers; sums leave out what is unknown and say how many they cover."""

    at: float
    nodes: int
    nodes_live: int
    # Nodes of which nobody knows yet which GPUs they have.
    nodes_unknown: int
    # Sources that have not named their nodes yet, as just after the board's start.
    sources_unknown: int = 0
    # False: 0 GPUs is no "none", for nodes or sources are unknown.
    gpus_known: bool = True
    gpus: int
    by_verdict: dict[str, int]
    by_model: tuple[ModelSummary, ...]
    memory_used_bytes: int
    memory_total_bytes: int
    power_watts: float
    gpus_with_power: int


class Holding(Struct, frozen=True, kw_only=True):
    """Where a person holds GPUs."""

    node: str
    # What people call the node; null: as it is called itself.
    display_name: str | None = None
    # The numbers people say: `0`, and `0:1` for an instance of GPU 0.
    labels: tuple[str, ...]
    indexes: tuple[int, ...]
    uuids: tuple[str, ...]


class Person(Struct, frozen=True, kw_only=True):
    """What one person uses now, and what is booked for that person, whoever uses it."""

    user: str
    gpus: int
    idle_gpus: int
    memory_bytes: int
    processes: int
    holdings: tuple[Holding, ...]
    booked_gpus: int
    booked: tuple[Holding, ...]
    # What they use, and what is booked for them and used by nobody: over all people each GPU once, save what
    # several use together.
    held_gpus: int
    # All that they use or have booked, each GPU once: what the page's filter finds by `user:`.
    total_gpus: int


class People(Struct, frozen=True, kw_only=True):
    """Everybody who holds a GPU or has booked one, the heaviest first; null where names are hidden."""

    at: float
    tier: str
    people: tuple[Person, ...] | None
    # How names can be seen, where they are hidden.
    hint: str | None = None


class FreeBlock(Struct, frozen=True, kw_only=True):
    """Free GPUs of one node that fit the question, best first."""

    node: str
    # What people call the node; null: as it is called itself.
    display_name: str | None = None
    model: str | None
    # The numbers people say: `0`, and `0:1` for an instance of GPU 0.
    labels: tuple[str, ...]
    indexes: tuple[int, ...]
    uuids: tuple[str, ...]
    memory_total_bytes: int | None
    # How many of them became free only just now; they stand last.
    just_freed: int
    # Whether programs on the node know the GPUs by these numbers: not while a card of it is missing.
    numbers_known: bool = True
    # How many of them, the first, to take for the wish; blocks that are too small make it up together.
    chosen: int = 0
    # When the first booking of one of those to take begins; null: none is to come.
    free_until: UnixTime | None = None


# More than anybody has; a wish for more is a slip.
MOST_GPUS: Final = 1024


class FreeAnswer(Struct, frozen=True, kw_only=True):
    """Whether the wish can be met now, and where."""

    at: UnixTime
    enough: bool
    wanted: int
    free: int
    # GPUs that might complete the wish but cannot be judged now (stale, unknown): "no" is then not certain.
    cannot_tell: int
    # How many of them only because bookings cannot be read: their nodes do tell.
    bookings_unread: int = 0
    # Nodes of which nobody knows yet which GPUs they have.
    nodes_unknown: int
    # Sources that have not named their nodes yet, as just after the board's start.
    sources_unknown: int = 0
    # Whether those that cannot be judged could make it enough; if not, "no" is certain.
    could_be_enough: bool
    blocks: tuple[FreeBlock, ...]
    # When bookings that end leave enough, where there are not; null: nobody knows.
    fits_from: UnixTime | None = None
    # The node that has enough then; null: it takes several.
    fits_on: str | None = None
