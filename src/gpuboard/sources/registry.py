"""All kinds of sources, in one table; the only place besides the assembly that names them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct

from gpuboard.discovery.base import Discovery
from gpuboard.discovery.registry import make_for_source
from gpuboard.model.component import Troubled
from gpuboard.model.errors import SettingsError
from gpuboard.settings.base import read_options
from gpuboard.settings.words import close_to, show
from gpuboard.sources.base import Source
from gpuboard.sources.folder import FolderOptions, FolderSource, Keys, Owners, no_keys
from gpuboard.sources.local import LocalOptions, LocalSource
from gpuboard.sources.pull import PullOptions, PullSource
from gpuboard.sources.push import PushOptions
from gpuboard.sources.simulated import SimulatedOptions, SimulatedSource
from gpuboard.sources.ssh import SshOptions, SshSource


class Surroundings(Struct, frozen=True, kw_only=True):
    """What the board tells its sources."""

    now: Callable[[], float]
    # This machine's own name as a node.
    node: str
    # What takes in reports of agents that push; None: there is nowhere to keep their tokens.
    pushed: Source | None = None
    # What a node's drops may be signed with; None: not known yet.
    keys: Keys = no_keys
    # Whose file stands for each node of a folder; None: each source knows its own.
    owners: Owners | None = None
    # Hears of every part of a source that can be in trouble by itself.
    watch: Callable[[Troubled], None] = lambda _: None

    def discovery(self, options: SshOptions | PullOptions, *, where: str) -> Discovery:
        """Make the discovery of a source, and let the board see how it is."""
        discovery = make_for_source(options.hosts, options.discover, where=where)
        if isinstance(discovery, Troubled):
            self.watch(discovery)
        return discovery

    def push_source(self, *, where: str) -> Source:
        """The one that takes in what agents push."""
        if self.pushed is None:
            raise SettingsError(f"{where}: agents cannot push: the board has no state directory for tokens")
        return self.pushed


class SourceKind(NamedTuple):
    """One kind of source: the options that it owns, and how it is made of them."""

    options: type[Struct]
    make: Callable[[Any, Surroundings, str], Source]


SOURCES: Final[Mapping[str, SourceKind]] = {
    "local": SourceKind(LocalOptions, lambda options, around, _: LocalSource(options, node=around.node)),
    "simulated": SourceKind(
        SimulatedOptions, lambda options, around, _: SimulatedSource(options, now=around.now)
    ),
    "folder": SourceKind(
        FolderOptions,
        lambda options, around, _: FolderSource(options, keys=around.keys, owners=around.owners),
    ),
    "ssh": SourceKind(
        SshOptions,
        lambda options, around, where: SshSource(options, around.discovery(options, where=where)),
    ),
    "pull": SourceKind(
        PullOptions,
        lambda options, around, where: PullSource(options, around.discovery(options, where=where)),
    ),
    "push": SourceKind(PushOptions, lambda _, around, where: around.push_source(where=where)),
}


def make_source(table: Mapping[str, Any], around: Surroundings, *, where: str) -> Source:
    """Make the source that a `[[source]]` table describes.

    Raises:
        SettingsError: the kind is unknown or an option is wrong; says which and where.
    """
    kind = table.get("kind")
    chosen = SOURCES.get(str(kind))
    if chosen is None:
        given = f"kind = {show(kind)} is none of" if "kind" in table else "kind is missing; use one of"
        raise SettingsError(f"{where}: {given} {', '.join(SOURCES)}{close_to(str(kind), SOURCES)}")
    return chosen.make(read_options(chosen.options, table, where=where), around, where)
