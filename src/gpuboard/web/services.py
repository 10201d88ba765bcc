"""What the routes work with; made by the assembly, handed to every route."""

from msgspec import Struct, field

from gpuboard.fleet.changes import ChangeTracker
from gpuboard.fleet.state import Fleet
from gpuboard.web.access import AccessPolicy
from gpuboard.web.agents import AgentDoor
from gpuboard.web.components import Components
from gpuboard.web.stream import Broadcaster
from gpuboard.web.throttle import AddressCount
from gpuboard.wire.stream import BoardInfo


class Services(Struct, frozen=True, kw_only=True):
    """The parts of a running board that the web shows."""

    fleet: Fleet
    tracker: ChangeTracker
    broadcaster: Broadcaster
    access: AccessPolicy
    info: BoardInfo
    started_at: float
    components: Components
    # None: the board has nowhere to keep tokens.
    agents: AgentDoor | None = None
    viewers_per_address: AddressCount = field(default_factory=AddressCount)
