"""How GPUs are judged and what things are called, as the settings say."""

from gpuboard.fleet.groups import NodeGroups
from gpuboard.fleet.names import Names
from gpuboard.settings.board import GroupsTable, Settings, VerdictTable
from gpuboard.verdict import Thresholds


def names_of(settings: Settings) -> Names:
    """What the admin wants things to be called."""
    table = settings.names
    return Names(nodes=table.nodes, models=table.models, people=table.people, realm=settings.access.realm)


def groups_of(table: GroupsTable) -> NodeGroups:
    """Which nodes belong together."""
    return NodeGroups(table.nodes)


def thresholds_of(table: VerdictTable) -> Thresholds:
    """Where the lines between the words are drawn."""
    return Thresholds(
        busy_utilization_percent=table.busy_utilization_percent,
        idle_utilization_percent=table.idle_utilization_percent,
        idle_after_seconds=table.idle_after,
        memory_floor_bytes=table.memory_floor,
        memory_share=table.memory_share,
        hot_celsius=table.hot_celsius,
        # An empty part is in every name, and would ignore all.
        ignore=tuple(part for part in table.ignore if part.strip()),
    )
