"""One look into a folder of reports, without a board."""

from collections.abc import Callable, Mapping
from typing import Any

from gpuboard.fleet.state import Fleet
from gpuboard.settings.base import read_options
from gpuboard.sources.folder import NO_TOKENS_HERE, FolderOptions, FolderSource


def look_into_folder(table: Mapping[str, Any], *, where: str, name: str) -> Callable[[Fleet], None]:
    """Return what reads a folder once per call into a fleet.

    Raises:
        SettingsError: the table is wrong.
    """
    source = FolderSource(read_options(FolderOptions, table, where=where), without_key=NO_TOKENS_HERE)
    return lambda fleet: source.read_once(fleet.sink(name))
