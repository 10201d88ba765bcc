"""How the board's own parts are: sources, node lists, the bookings file, storage."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.verdict import Reason
from gpuboard.wire.redact import hide_names_in_reason
from gpuboard.wire.views import Tier


class ComponentView(Struct, frozen=True, kw_only=True):
    """One part of the board, and since when and why it is in trouble."""

    # Unlike the name it tells nothing about the site: `consul`, and `consul-2` for a second one.
    component: str
    kind: str
    # Which one: a path or a service; null where names are hidden.
    name: str | None
    state: Literal["ok", "trouble"]
    # How many nodes a source has; null: it has not looked yet, or is no source.
    nodes: int | None = None
    code: str | None = None
    reason: str | None = None
    since: float | None = None


class Readiness(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the board works; where nothing may be seen, without figures and parts."""

    # Nodes are live, or there are none: as the status says.
    ready: bool
    # Ready, and none of the board's parts is in trouble.
    ok: bool
    nodes: int | None = None
    nodes_live: int | None = None
    components: list[ComponentView] | None = None


def component_for_tier(view: ComponentView, tier: Tier) -> ComponentView:
    """A part as a viewer of this tier may see it: paths, services and hosts are names."""
    if tier == "names":
        return view
    if view.code is None:
        return replace(view, name=None, reason=None)
    return replace(view, name=None, reason=hide_names_in_reason(Reason(code=view.code, text="")).text)
