"""What the routes work with; made by the assembly, handed to every route."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from gpuboard.bookings.desk import BookingDesk
from gpuboard.bookings.watching import BookingWatch
from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.fleet.summary import Wish, find_free, fits_next, summarize, with_ends
from gpuboard.history.desk import HistoryDesk
from gpuboard.history.weights import Worth
from gpuboard.web.access import AccessPolicy
from gpuboard.web.agents import AgentDoor
from gpuboard.web.components import Components
from gpuboard.web.past import PastPace
from gpuboard.web.people import PeopleDoor
from gpuboard.web.stream import Broadcaster
from gpuboard.web.throttle import AddressCount
from gpuboard.wire.stream import BoardInfo
from gpuboard.wire.summary import FreeAnswer, Summary

EVERYTHING: Final = Wish()


class Services(Struct, frozen=True, kw_only=True):
    """The parts of a running board that the web shows."""

    fleet: Fleet
    tracker: ChangeTracker
    broadcaster: Broadcaster
    access: AccessPolicy
    info: BoardInfo
    # By the clock that nobody sets.
    started_boot_seconds: float
    components: Components
    # None: the board has nowhere to keep tokens.
    agents: AgentDoor | None = None
    # None: it has nowhere to keep accounts.
    people: PeopleDoor | None = None
    # None: it has nowhere to keep bookings.
    bookings: BookingDesk | None = None
    booking_watch: BookingWatch | None = None
    # None: the board keeps no history.
    history: HistoryDesk | None = None
    # Group → its people.
    people_groups: Callable[[], Mapping[str, tuple[str, ...]]] = dict
    # What an hour of a GPU is worth.
    usage_worth: Callable[[], Worth] = Worth
    viewers_per_address: AddressCount = field(default_factory=AddressCount)
    past: PastPace = field(default_factory=PastPace)

    def summary(self, wish: Wish = EVERYTHING) -> Summary:
        """The fleet in a few numbers, of the GPUs that fit; of all of them it is made once a tick."""
        if wish == EVERYTHING:
            return self.broadcaster.answers.once("summary", lambda: self._summarize(wish))
        return self._summarize(wish)

    def free(self, wish: Wish, group: str | None = None, limit: int | None = None) -> FreeAnswer:
        """Where GPUs are free that fit, and until when: the best so many, of a group if one is named.

        Where there are not enough, when bookings that end leave enough.
        """
        rows = self.tracker
        now = self.fleet.clock.now()
        nodes = {name: node for name, node in rows.nodes.items() if group is None or group in node.groups}
        gpus = [gpu for gpu in rows.gpus.values() if gpu.node in nodes]
        booked_from = self.fleet.next_claim_at
        found = find_free(
            nodes.values(), gpus, wish, at=now, booked_from=booked_from, sources_unknown=rows.sources_unknown
        )
        fits = None if found.enough else fits_next(gpus, wish, self.fleet.claims_to_come, at=now)
        fits_from, fits_on = fits or (None, None)
        blocks = with_ends(found.blocks[:limit], booked_from)
        return replace(found, blocks=blocks, fits_from=fits_from, fits_on=fits_on)

    def _summarize(self, wish: Wish) -> Summary:
        rows = self.tracker
        return summarize(
            rows.nodes.values(),
            filter(wish.fits, rows.gpus.values()),
            at=self.fleet.clock.now(),
            sources_unknown=rows.sources_unknown,
        )
