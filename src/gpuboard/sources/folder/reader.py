"""Looks at a folder and reads what has changed; remembers what each node's next file must fit. Blocks."""

import hashlib
import os
import time
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.errors import WireError
from gpuboard.model.problems import problem
from gpuboard.model.report import NodeReport, Problem
from gpuboard.model.units import format_duration
from gpuboard.model.verdict import Reason
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.sources.folder.listing import (
    MAX_FILES,
    Bundle,
    File,
    Listing,
    Stamp,
    choose,
    list_folder,
    read_below,
    stamp_of,
)
from gpuboard.sources.folder.owners import Owners
from gpuboard.sources.folder.pace import AHEAD_SECONDS, Mark, Marks, Track
from gpuboard.sources.folder.rivals import Rivals, are_fresh, disagree
from gpuboard.sources.folder.room import NO_ROOM, NOTHING, Room, weight_of
from gpuboard.sources.folder.shares import Shares
from gpuboard.sources.folder.signatures import Signatures
from gpuboard.sources.folder.turns import Due, Turns
from gpuboard.sources.formats import is_meant_for, read_file
from gpuboard.sources.formats.base import MAX_FILE_BYTES
from gpuboard.sources.formats.gpu_monitor import read_family
from gpuboard.sources.formats.local_time import WEST_SECONDS, local_time
from gpuboard.wire.clean import clean_text

# A file that cannot be read for so many looks is named in the log.
_BAD_LOOKS: Final = 2
# How long a node says that its file has another owner than before.
_OWNER_SECONDS: Final = 24 * 3600.0
# As long as a SHA-256; a kernel's boot has 36.
_BOOT_LETTERS: Final = 64


class FolderReading(Struct, frozen=True):
    """What one node's files said, as of when its sample was taken."""

    report: NodeReport
    sampled_at: float
    # How often it writes, as far as was seen; 0: not known yet.
    pace_seconds: float
    # Whether this sample was not handed over before.
    is_new: bool = True


Outcome = FolderReading | Reason


class Scan(Struct):
    """One look at the folder."""

    # Every node whose files are here; outcomes only of those that have changed.
    nodes: set[str]
    outcomes: dict[str, Outcome]
    # Files that are no node's, with the reason.
    skipped: dict[str, str]
    # The path of each node's file, as it was read last.
    files: dict[str, str] = {}
    # Nodes that were read and whose token was taken away since, though their files are here.
    revoked: set[str] = set()
    # Why the files of some of these nodes cannot be read, also of those that have not changed.
    refusals: dict[str, Reason] = {}
    # Nodes whose file could not be read at this look and the one before, said once; and those that can again.
    broken: dict[str, str] = {}
    mended: list[str] = []
    overfull: str | None = None
    # Whether the tokens have not been read yet: nothing can be said of the files until then.
    is_early: bool = False


class _Memory:
    """What is remembered of one node."""

    def __init__(self, marks: Marks | None) -> None:
        self.track = Track(marks)
        self.stamp: Stamp = ()
        self.name: str | None = None
        # Its files when they were last read.
        self.files: tuple[str, ...] = ()
        # Other files of the same user, and the one that is tried because it is livelier.
        self.rivals = Rivals()
        self.challenger: str | None = None
        # How much it tells, and whose it is; and how much it would tell if there were room for it.
        self.weight = NOTHING
        self.owner = 0
        self.too_much = NOTHING
        # Whether its files are a node's at all.
        self.is_node = False
        # Why its file cannot be read, and for how many looks that has been so.
        self.refusal: Reason | None = None
        self.bad_looks = 0
        self.was_read = False
        self.owner_change: Problem | None = None
        # Whether its file was seen to have changed but not read yet, and the last look before that.
        self.waits = False
        self.waits_since: float | None = None
        self.waited = 0
        # Whether the board has forgotten the node, and has to be told once more what its file says; and
        # whether that is the file that was read before.
        self.is_forgotten = False
        self.is_unchanged = False
        # Whether the sample that was read last has been handed over; there may have been no room for it.
        self.is_handed_over = False

    def livelier(self, chosen: Bundle, bundles: list[Bundle]) -> Bundle:
        """Another file of the same user, if that is written while the one that was chosen stands still."""
        own = {one.name: one for one in bundles if one.owner == chosen.owner}
        self.challenger = self.rivals.look(list(own.values()), self.name)
        return chosen if self.challenger is None else own[self.challenger]

    def forget(self) -> None:
        """Hear that the board has forgotten the node: what its file must fit, where it did not, too."""
        self.is_forgotten = True
        if self.refusal is not None:
            self.track = Track()


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


class FolderReader:
    """Looks at one folder again and again; one look at a time."""

    def __init__(self, path: Path, pattern: str, *, signatures: Signatures, owners: Owners) -> None:
        self._path = path
        self._owners = owners
        self._pattern = pattern
        self._signatures = signatures
        self._memory: dict[str, _Memory] = {}
        self._shares = Shares()
        self._last_look: float | None = None

    def scan(self) -> Scan:
        """Look at every file, and read those whose state has changed.

        Raises:
            OSError: the folder cannot be read.
        """
        began = time.time()
        scan = Scan(set(), {}, {})
        # Listed and opened afresh each time: network mounts remember a missing name for half a minute.
        folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._look(folder, scan)
        finally:
            os.close(folder)
        self._last_look = began
        return scan

    def _look(self, folder: int, scan: Scan) -> None:
        read_well = {node for node, memory in self._memory.items() if memory.was_read}
        known: dict[str, int | None] = {**dict.fromkeys(read_well), **self._owners.nodes(str(self._path))}
        names = [name for node in read_well for name in self._memory[node].files]
        listing = list_folder(folder, self._pattern, shares=self._shares, known=known, names=names)
        scan.skipped.update(dict.fromkeys(listing.foreign, "no regular file, or its name can be no node's"))
        if listing.is_overfull:
            scan.overfull = f"it has more files than {MAX_FILES}; some are not looked at"
        folder_owner = os.fstat(folder).st_uid
        room = self._room(listing, folder_owner)
        turns = Turns(self._due(listing, room, known, folder_owner))
        for one in turns:
            self._read_node(folder, scan, one.node, one.bundle, listing.nodes[one.node])
            self._make_room(scan, room, one.node, one.bundle)
        if any(self._memory[node].too_much != NOTHING for node in listing.nodes):
            scan.overfull = NO_ROOM
        scan.overfull = turns.overfull or scan.overfull
        scan.nodes = {node for node in listing.nodes if self._is_listed(node)}
        main = {node: self._memory[node].name for node in scan.nodes}
        scan.files = {node: clean_text(str(self._path / name)) for node, name in main.items() if name}
        scan.revoked = {node for node in listing.nodes if self._memory[node].is_node} - scan.nodes
        scan.outcomes = {node: outcome for node, outcome in scan.outcomes.items() if node in scan.nodes}
        self._note_broken(scan)
        self._forget(listing.nodes)
        # By the clock that nobody sets: a day has not passed because the other was.
        self._owners.look(str(self._path), listing.nodes, now=boot_seconds())

    def _due(self, listing: Listing, room: Room, known: Container[str], folder_owner: int) -> Iterator[Due]:
        """The nodes whose files have changed, or have room now; all of them wait from here on."""
        forgotten = self._owners.take_forgotten(str(self._path))
        for node, bundles in listing.nodes.items():
            memory = self._remembered(node)
            if node in forgotten:
                memory.forget()
            owner = self._owners.of(str(self._path), node)
            bundle = choose(bundles, owner=owner, name=memory.name, folder_owner=folder_owner)
            if len(bundles) > 1:
                bundle = memory.livelier(bundle, bundles)
            has_room_now = memory.too_much != NOTHING and room.admits(bundle.owner, memory.too_much)
            if bundle.stamp == memory.stamp and not has_room_now and not memory.is_forgotten:
                continue
            yield Due(node, bundle, bundle.size(MAX_FILE_BYTES), node in known, memory.waited)
            memory.waited += 1
            if not memory.waits:
                memory.waits, memory.waits_since = True, self._last_look

    def _remembered(self, node: str) -> _Memory:
        memory = self._memory.get(node)
        if memory is None:
            memory = self._memory[node] = _Memory(self._owners.marks.of(str(self._path), node))
        return memory

    def _room(self, listing: Listing, folder_owner: int) -> Room:
        """What the nodes whose files are here take."""
        room = Room({0, folder_owner})
        for memory in filter(None, map(self._memory.get, listing.nodes)):
            room.add(memory.owner, memory.weight)
        return room

    def _make_room(self, scan: Scan, room: Room, node: str, bundle: Bundle) -> None:
        """Refuse what tells more than there is room for; what is shown of its node stays, and ages."""
        memory, outcome = self._memory[node], scan.outcomes.get(node)
        memory.too_much = NOTHING
        if not isinstance(outcome, FolderReading):
            return
        weight = weight_of(outcome.report)
        room.take_out(memory.owner, memory.weight)
        if room.admits(bundle.owner, weight):
            memory.owner, memory.weight = bundle.owner, weight
            memory.is_handed_over = True
        else:
            memory.too_much = weight
            memory.refusal = scan.outcomes[node] = _refused(bundle, "there is no room for it in the folder")
        room.add(memory.owner, memory.weight)

    def _is_listed(self, node: str) -> bool:
        """Whether its files are a node's; one whose token was revoked is gone, as if its file were."""
        memory = self._memory[node]
        return memory.is_node and not (memory.was_read and self._signatures.is_revoked(node))

    def _note_broken(self, scan: Scan) -> None:
        """Say whose file stays unreadable; most that are half-written are whole at the next look."""
        for node in scan.nodes:
            memory = self._memory[node]
            if memory.refusal is not None:
                scan.refusals[node] = memory.refusal
                memory.bad_looks += 1
                if memory.bad_looks == _BAD_LOOKS:
                    scan.broken[node] = memory.refusal.text
            else:
                if memory.bad_looks >= _BAD_LOOKS:
                    scan.mended.append(node)
                memory.bad_looks = 0

    def _forget(self, here: Mapping[str, object]) -> None:
        """Nodes whose files are gone are remembered for when they come back, but not without end."""
        gone = [node for node in self._memory if node not in here]
        for node in gone[: max(0, len(self._memory) - 2 * MAX_FILES)]:
            del self._memory[node]

    def _read_node(self, folder: int, scan: Scan, node: str, bundle: Bundle, all_of_it: list[Bundle]) -> None:
        memory = self._memory[node]
        content, stamp_before = b"", memory.stamp
        if not self._signatures.are_known(node):
            scan.is_early = True
            return
        memory.waits, memory.waited = False, 0
        memory.files = tuple(bundle.files.values())
        try:
            files = {
                member: read_below(folder, name, limit=MAX_FILE_BYTES)
                for member, name in bundle.files.items()
            }
            stamp = stamp_of({member: file.state for member, file in files.items()})
            memory.is_unchanged, memory.stamp = stamp == memory.stamp, stamp
            content = files[bundle.main].content
            outcome = self._outcome(node, bundle, files)
        except OSError as error:
            outcome = _refused(bundle, error.strerror or str(error))
        except WireError as error:
            memory.stamp = bundle.stamp
            outcome = _refused(bundle, str(error), remedy=getattr(error, "remedy", None))
        if isinstance(outcome, Reason) and memory.challenger == bundle.name:
            # It may be anything, like a log: the file that could be read stays.
            memory.rivals.refuse(bundle.name)
            memory.stamp = stamp_before
            return
        memory.is_forgotten = False
        if isinstance(outcome, Reason):
            # What stood for a node before a restart still does, whatever is written there now.
            was_node = self._owners.of(str(self._path), node) is not None
            is_meant = was_node or _is_family(bundle) or is_meant_for(content, node, bundle.name)
            memory.is_node = memory.is_node or is_meant
            memory.refusal = outcome
            if not memory.is_node:
                scan.skipped[bundle.name] = outcome.text
                return
        elif outcome is not None:
            outcome = self._with_owner(node, bundle, all_of_it, outcome)
            outcome = self._with_rivals(folder, node, bundle, all_of_it, outcome)
            memory.is_node = memory.was_read = True
            memory.refusal = None
        if outcome is not None:
            scan.outcomes[node] = outcome

    def _outcome(self, node: str, bundle: Bundle, files: Mapping[str, File]) -> Outcome | None:
        """What the files say; None when it is what they said before.

        Raises:
            WireError: they cannot be read, or are older than what was read before.
        """
        memory = self._memory[node]
        # A file that grows while it is read is half-written; one that is too large says so.
        if any(file.state.size > MAX_FILE_BYTES for file in files.values()):
            raise WireError(f"it is larger than {MAX_FILE_BYTES} bytes")
        written_at = _written_at(files[bundle.main].state.modified_at, last_look=memory.waits_since)
        contents = {member: file.content for member, file in files.items()}
        self._signatures.check(None if bundle.is_family else contents[""], node)
        if bundle.is_family:
            zone = time.localtime(written_at).tm_gmtoff
            family = read_family(contents, node, written_at=written_at, zone_seconds=zone)
            report, is_age_known = family.report, family.is_age_known
            mark = None if family.newest is None else Mark("", family.newest)
        else:
            report, is_age_known = read_file(contents[""], node), True
            mark = _mark(report) or _local_mark(contents[""])
        # At a first look nobody can tell how old a file of tomorrow is.
        now = time.time()
        is_age_known = is_age_known and files[bundle.main].state.modified_at <= now + AHEAD_SECONDS
        # Telling it once more makes it no younger.
        is_told_again = (
            memory.is_forgotten and memory.is_unchanged and memory.was_read and memory.refusal is None
        )
        place = (
            "same"
            if is_told_again
            else memory.track.place(
                mark, written_at=written_at, age=report.age_seconds, is_age_known=is_age_known, now=now
            )
        )
        if place == "older":
            raise OlderFileError(node)
        if place == "same" and memory.refusal is None and not memory.is_forgotten:
            return None
        if place == "new":
            self._owners.marks.note(str(self._path), node, memory.track.marks())
        if not memory.track.is_age_known:
            report = replace(report, problems=(*report.problems, _unknown_age(bundle)))
        if memory.track.ahead_seconds and report.taken_at is None:
            report = replace(
                report, problems=(*report.problems, _clock_ahead(bundle, memory.track.ahead_seconds))
            )
        memory.is_handed_over = memory.is_handed_over and place != "new"
        return FolderReading(
            report,
            memory.track.sampled_at,
            memory.track.pace.seconds(),
            is_new=not memory.is_handed_over,
        )

    def _with_owner(
        self, node: str, bundle: Bundle, all_of_it: list[Bundle], read: FolderReading
    ) -> FolderReading:
        """Say that a node's file has another owner than before, or that another user writes one too."""
        now, memory = time.time(), self._memory[node]
        before = self._owners.of(str(self._path), node)
        if before is not None and before != bundle.owner:
            memory.owner_change = _owner_changed(bundle, before, now)
        self._owners.note(str(self._path), node, bundle.owner)
        memory.name = bundle.name
        if memory.owner_change is not None and now - (memory.owner_change.since or now) > _OWNER_SECONDS:
            memory.owner_change = None
        told = [*_strangers(bundle, all_of_it), *([memory.owner_change] if memory.owner_change else [])]
        return _with_problems(read, told)

    def _with_rivals(
        self, folder: int, node: str, bundle: Bundle, all_of_it: list[Bundle], read: FolderReading
    ) -> FolderReading:
        """Say that the same user has another file that is as fresh and says something else."""
        told = [
            problem("second-file", f"{other.name} says otherwise than {bundle.name}")
            for other in all_of_it
            if other.owner == bundle.owner
            and other.name != bundle.name
            and not other.is_family
            and are_fresh(bundle, other)
            and self._says_otherwise(folder, node, other, read.report)
        ]
        return _with_problems(read, told)

    def _says_otherwise(self, folder: int, node: str, other: Bundle, report: NodeReport) -> bool:
        """Whether a file that is not shown contradicts what is; one that is no node's says nothing."""
        try:
            content = read_below(folder, other.name, limit=MAX_FILE_BYTES).content
            self._signatures.check(content, node)
            return disagree(report, read_file(content, node))
        except (OSError, WireError):
            return False


def _with_problems(read: FolderReading, told: list[Problem]) -> FolderReading:
    if not told:
        return read
    return replace(read, report=replace(read.report, problems=(*told, *read.report.problems)[:256]))


def _is_family(bundle: Bundle) -> bool:
    """Whether these are files about a host; a lone `lab_users.csv` is just as well somebody's list."""
    return bundle.is_family and (bundle.is_whole or len(bundle.files) > 1)


def _written_at(modified_at: float, *, last_look: float | None) -> float:
    """When a file was written, by our own clock.

    The file server has a clock of its own. But a file that changed since our last look was written
    since then, whatever that clock says; only at the first look it must be believed.
    """
    return min(max(modified_at, last_look or 0.0), time.time())


def _mark(report: NodeReport) -> Mark | None:
    if report.sequence is not None and report.boot_id is not None:
        return Mark(_boot(report.boot_id), report.sequence, report.taken_at)
    return None if report.taken_at is None else Mark("", report.taken_at, report.taken_at)


def _boot(said: str) -> str:
    """Which boot it is, in few letters: it is written down, and the node chooses how many it has."""
    return said if len(said) <= _BOOT_LETTERS else hashlib.sha256(said.encode()).hexdigest()


def _local_mark(content: bytes) -> Mark | None:
    moment = local_time(content)
    return None if moment is None else Mark("", moment, moment + WEST_SECONDS)


def _refused(bundle: Bundle, why: str, *, remedy: str | None = None) -> Reason:
    values = {} if remedy is None else {"remedy": remedy}
    return Reason(code="file-refused", text=f"{bundle.name}: {why}", values=values)


def _unknown_age(bundle: Bundle) -> Problem:
    return problem("unknown-age", bundle.name)


def _clock_ahead(bundle: Bundle, seconds: float) -> Problem:
    """Say that a file is of tomorrow; where its time has a zone, everybody can see it."""
    return problem("clock-off", f"{bundle.name} is at least {format_duration(seconds)} ahead of the board's")


def _strangers(bundle: Bundle, all_of_it: list[Bundle]) -> Iterator[Problem]:
    for other in all_of_it:
        if other.owner != bundle.owner:
            detail = f"{other.name} (user {other.owner}) beside {bundle.name} (user {bundle.owner})"
            yield problem("second-file", detail)


def _owner_changed(bundle: Bundle, before: int, now: float) -> Problem:
    return problem("file-owner", f"{bundle.name} is user {bundle.owner}'s, was user {before}'s", since=now)
