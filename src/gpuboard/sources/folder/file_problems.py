"""What is wrong with the file of a node, or with others beside it. Pure."""

from collections.abc import Iterator

from msgspec.structs import replace

from gpuboard.model.errors import WireError
from gpuboard.model.problems import problem
from gpuboard.model.report import Problem
from gpuboard.model.units import format_duration
from gpuboard.model.verdict import Reason
from gpuboard.sources.folder.listing import Bundle
from gpuboard.sources.folder.scan import FolderReading


class OlderFileError(WireError):
    """A file of before one that was read; whoever knows better has to say so."""

    def __init__(self, node: str) -> None:
        super().__init__(
            "it is older than what was read before: an old file was put back, or the clock of its node was "
            "set back"
        )
        self.remedy = (
            "see who has put it back; if it is the node's newest and stays refused, let the board forget "
            f"what it has read: gpuboard node forget {node}"
        )


def with_problems(read: FolderReading, told: list[Problem]) -> FolderReading:
    """The same reading, with these said first."""
    if not told:
        return read
    return replace(read, report=replace(read.report, problems=(*told, *read.report.problems)[:256]))


def refused(bundle: Bundle, why: str, *, remedy: str | None = None) -> Reason:
    """Why a file is not read."""
    values = {} if remedy is None else {"remedy": remedy}
    return Reason(code="file-refused", text=f"{bundle.name}: {why}", values=values)


def unknown_age(bundle: Bundle) -> Problem:
    """Nobody can tell how old a file is."""
    return problem("unknown-age", bundle.name)


def clock_ahead(bundle: Bundle, seconds: float) -> Problem:
    """Say that a file is of tomorrow; where its time has a zone, everybody can see it."""
    return problem("clock-off", f"{bundle.name} is at least {format_duration(seconds)} ahead of the board's")


def strangers(bundle: Bundle, all_of_it: list[Bundle]) -> Iterator[Problem]:
    """Another user has left a file of the same node."""
    for other in all_of_it:
        if other.owner != bundle.owner:
            detail = f"{other.name} (user {other.owner}) beside {bundle.name} (user {bundle.owner})"
            yield problem("second-file", detail)


def owner_changed(bundle: Bundle, before: int, now: float) -> Problem:
    """A node's file is another user's than before."""
    return problem("file-owner", f"{bundle.name} is user {bundle.owner}'s, was user {before}'s", since=now)
