"""One look into a folder of reports, without a board."""

from collections.abc import Callable, Mapping
from typing import Any

from gpuboard.fleet.state import Fleet
from gpuboard.settings.base import read_options
from gpuboard.sources.folder import NO_TOKENS_HERE, FolderOptions, FolderSource


def look_into_folder(
    table: Mapping[str, Any], *, where: str, name: str, names_skipped: bool
) -> Callable[[Fleet], None]:
    """Return what reads a folder once per call into a fleet; files that are no node's are named, or not.

    Raises:
        SettingsError: the table is wrong.
    """
    options = read_options(FolderOptions, table, where=where)
    source = FolderSource(options, without_key=NO_TOKENS_HERE, names_skipped=names_skipped)
    return lambda fleet: source.read_once(fleet.sink(name))
