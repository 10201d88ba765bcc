"""Looks at a folder and reads what has changed; remembers what each node's next file must fit. Blocks."""

import os
import time
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gpuboard.model.errors import WireError
from gpuboard.model.problems import problem
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.outside.boot_clock import boot_seconds
from gpuboard.sources.folder.file_problems import (
    OlderFileError,
    clock_ahead,
    owner_changed,
    refused,
    strangers,
    unknown_age,
    with_problems,
)
from gpuboard.sources.folder.file_times import local_mark_of, mark_of, written_at_by
from gpuboard.sources.folder.listing import (
    MAX_FILES,
    Bundle,
    File,
    Listing,
    choose,
    list_folder,
    read_below,
    stamp_of,
)
from gpuboard.sources.folder.memory import RememberedFiles
from gpuboard.sources.folder.owners import Owners
from gpuboard.sources.folder.pace import AHEAD_SECONDS, Mark
from gpuboard.sources.folder.rivals import are_fresh, disagree
from gpuboard.sources.folder.room import NO_ROOM, NOTHING, Room, weight_of
from gpuboard.sources.folder.scan import FolderReading, Outcome, Scan
from gpuboard.sources.folder.shares import Shares
from gpuboard.sources.folder.signatures import Signatures
from gpuboard.sources.folder.turns import Due, Turns
from gpuboard.sources.formats import is_meant_for, read_file
from gpuboard.sources.formats.base import MAX_FILE_BYTES
from gpuboard.sources.formats.gpu_monitor import read_family
from gpuboard.wire.clean import clean_text

# A file that cannot be read for so many looks is named in the log.
_BAD_LOOKS: Final = 2
# How long a node says that its file has another owner than before.
_OWNER_SECONDS: Final = 24 * 3600.0


class FolderReader:
    """Looks at one folder again and again; one look at a time."""

    def __init__(self, path: Path, pattern: str, *, signatures: Signatures, owners: Owners) -> None:
        self._path = path
        self._owners = owners
        self._pattern = pattern
        self._signatures = signatures
        self._memory: dict[str, RememberedFiles] = {}
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
            memory.see_strangers(tuple(strangers(bundle, bundles)))
            has_room_now = memory.too_much != NOTHING and room.admits(bundle.owner, memory.too_much)
            if bundle.stamp == memory.stamp and not has_room_now and not memory.must_tell:
                continue
            yield Due(node, bundle, bundle.size(MAX_FILE_BYTES), node in known, memory.waited)
            memory.waited += 1
            if not memory.waits:
                memory.waits, memory.waits_since = True, self._last_look

    def _remembered(self, node: str) -> RememberedFiles:
        memory = self._memory.get(node)
        if memory is None:
            memory = self._memory[node] = RememberedFiles(self._owners.marks.of(str(self._path), node))
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
            memory.refusal = scan.outcomes[node] = refused(bundle, "there is no room for it in the folder")
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
            outcome = refused(bundle, error.strerror or str(error))
        except WireError as error:
            memory.stamp = bundle.stamp
            outcome = refused(bundle, str(error), remedy=getattr(error, "remedy", None))
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
        written_at = written_at_by(files[bundle.main].state.modified_at, last_look=memory.waits_since)
        contents = {member: file.content for member, file in files.items()}
        self._signatures.check(None if bundle.is_family else contents[""], node)
        if bundle.is_family:
            zone = time.localtime(written_at).tm_gmtoff
            family = read_family(contents, node, written_at=written_at, zone_seconds=zone)
            report, is_age_known = family.report, family.is_age_known
            mark = None if family.newest is None else Mark("", family.newest)
        else:
            report, is_age_known = read_file(contents[""], node), True
            mark = mark_of(report) or local_mark_of(contents[""])
        # At a first look nobody can tell how old a file of tomorrow is.
        now = time.time()
        is_age_known = is_age_known and files[bundle.main].state.modified_at <= now + AHEAD_SECONDS
        # Telling it once more makes it no younger.
        is_told_again = (
            memory.must_tell and memory.is_unchanged and memory.was_read and memory.refusal is None
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
        if place == "same" and memory.refusal is None and not memory.must_tell:
            return None
        if place == "new":
            self._owners.marks.note(str(self._path), node, memory.track.marks())
        if not memory.track.is_age_known:
            report = replace(report, problems=(*report.problems, unknown_age(bundle)))
        if memory.track.ahead_seconds and report.taken_at is None:
            report = replace(
                report, problems=(*report.problems, clock_ahead(bundle, memory.track.ahead_seconds))
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
            memory.owner_change = owner_changed(bundle, before, now)
        self._owners.note(str(self._path), node, bundle.owner)
        memory.name = bundle.name
        if memory.owner_change is not None and now - (memory.owner_change.since or now) > _OWNER_SECONDS:
            memory.owner_change = None
        memory.strangers = tuple(strangers(bundle, all_of_it))
        told = [*memory.strangers, *([memory.owner_change] if memory.owner_change else [])]
        return with_problems(read, told)

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
        return with_problems(read, told)

    def _says_otherwise(self, folder: int, node: str, other: Bundle, report: NodeReport) -> bool:
        """Whether a file that is not shown contradicts what is; one that is no node's says nothing."""
        try:
            content = read_below(folder, other.name, limit=MAX_FILE_BYTES).content
            self._signatures.check(content, node)
            return disagree(report, read_file(content, node))
        except (OSError, WireError):
            return False


def _is_family(bundle: Bundle) -> bool:
    """Whether these are files about a host; a lone `lab_users.csv` is just as well somebody's list."""
    return bundle.is_family and (bundle.is_whole or len(bundle.files) > 1)
