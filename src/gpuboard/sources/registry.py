"""All kinds of sources, in one table; the only place besides the assembly that names them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct

from gpuboard.discovery.registry import make_for_source
from gpuboard.model.errors import SettingsError
from gpuboard.settings.base import read_options
from gpuboard.sources.base import Source
from gpuboard.sources.folder import FolderOptions, FolderSource
from gpuboard.sources.local import LocalOptions, LocalSource
from gpuboard.sources.pull import PullOptions, PullSource
from gpuboard.sources.simulated import SimulatedOptions, SimulatedSource
from gpuboard.sources.ssh import SshOptions, SshSource


class Surroundings(Struct, frozen=True, kw_only=True):
    """What the board tells its sources."""

    now: Callable[[], float]
    # This machine's own name as a node.
    node: str


class Kind(NamedTuple):
    """One kind of source: the options that it owns, and how it is made of them."""

    options: type[Struct]
    make: Callable[[Any, Surroundings, str], Source]


SOURCES: Final[Mapping[str, Kind]] = {
    "local": Kind(LocalOptions, lambda options, around, _: LocalSource(options, node=around.node)),
    "simulated": Kind(SimulatedOptions, lambda options, around, _: SimulatedSource(options, now=around.now)),
    "folder": Kind(FolderOptions, lambda options, _, __: FolderSource(options)),
    "ssh": Kind(
        SshOptions,
        lambda options, _, where: SshSource(
            options, make_for_source(options.hosts, options.discover, where=where)
        ),
    ),
    "pull": Kind(
        PullOptions,
        lambda options, _, where: PullSource(
            options, make_for_source(options.hosts, options.discover, where=where)
        ),
    ),
}


def make_source(table: Mapping[str, Any], around: Surroundings, *, where: str) -> Source:
    """Make the source that a `[[source]]` table describes.

    Raises:
        SettingsError: the kind is unknown or an option is wrong; says which and where.
    """
    kind = table.get("kind")
    chosen = SOURCES.get(str(kind))
    if chosen is None:
        raise SettingsError(f"{where}: kind = {kind!r} is none of {', '.join(SOURCES)}")
    return chosen.make(read_options(chosen.options, table, where=where), around, where)
