"""What lies in a folder: which files could be a node's, and whose they are. Blocks."""

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from gpuboard.model.errors import WireError
from gpuboard.model.node import is_node_name
from gpuboard.sources.folder.shares import Found, Shares
from gpuboard.sources.formats.gpu_monitor import MEMBERS

# More names that could be a node's are not even looked at.
MAX_LISTED: Final = 200_000
# So many of all kinds are passed over at most: a second or two on a disk.
MAX_ENTRIES: Final = 2_000_000
MAX_FILES: Final = 10_000
# Endings that are no part of a node's name.
ENDINGS: Final = (".json", ".xml", ".csv", ".txt", ".log")
OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# As much as tells what kind a file is.
HEAD_BYTES: Final = 64 * 1024
# A second file of the same user takes over when the one that is read has not changed for so long.
_TAKE_OVER_SECONDS: Final = 600.0

# A file's identity and state; equal means that nothing has changed.
Stamp = tuple[int, ...]


class State(NamedTuple):
    """A file as its file system describes it."""

    owner: int
    size: int
    modified_at: float
    stamp: Stamp


class Bundle(NamedTuple):
    """The files in which one user tells about one node: a family, or a file alone (member '')."""

    owner: int
    files: dict[str, str]
    states: dict[str, State]

    @property
    def is_family(self) -> bool:
        """Whether its files are members of a family."""
        return "" not in self.files

    @property
    def main(self) -> str:
        """The member that must be there, and says when the others were written; else one that is."""
        wanted = "gpus" if self.is_family else ""
        return wanted if wanted in self.files else next(iter(sorted(self.files)))

    @property
    def is_whole(self) -> bool:
        """Whether the member that must be there is."""
        return not self.is_family or "gpus" in self.files

    @property
    def name(self) -> str:
        """The file by which people know it."""
        return self.files[self.main]

    @property
    def modified_at(self) -> float:
        """When its main file was written, by the server's clock."""
        return self.states[self.main].modified_at

    def size(self, limit: int) -> int:
        """How much there is to read."""
        return sum(state.size if state.size <= limit else HEAD_BYTES for state in self.states.values())

    @property
    def stamp(self) -> Stamp:
        """Equal as long as nothing has changed."""
        return stamp_of(self.states)


class File(NamedTuple):
    """A file's content, with its state when it was read."""

    content: bytes
    state: State


class Listing(Struct):
    """What could be read."""

    nodes: dict[str, list[Bundle]]
    # Names that cannot be a node's.
    foreign: list[str]
    is_overfull: bool = False


def list_folder(
    folder: int, pattern: str, *, shares: Shares, known: Mapping[str, int | None], names: Iterable[str] = ()
) -> Listing:
    """Look at all files that could be a node's; of too many, at those that have a share.

    `known` has the users whose files these nodes' were, where that is known, and `names` the files that were
    read before: they are found also where there are too many names to be listed.

    Raises:
        OSError: the folder cannot be listed.
    """
    listing = Listing({}, [])
    found: list[Found] = []
    for name in _names(folder, pattern, listing, names):
        node, member = split_name(name)
        if is_node_name(node):
            found.append((node, member, name))
        elif len(listing.foreign) < MAX_FILES:
            listing.foreign.append(name)
    found.sort()
    if len(found) > MAX_FILES:
        listing.is_overfull = True
        trusted = (0, os.fstat(folder).st_uid)
        found = shares.first(folder, found, known=known, trusted=trusted, limit=MAX_FILES)
    else:
        shares.rest()
    for node, member, name in found:
        state = state_of(folder, name)
        if state is not None:
            _add(listing.nodes.setdefault(node, []), member, name, state)
    # Members without the one about GPUs tell nothing beside a file that does.
    for node, bundles in listing.nodes.items():
        listing.nodes[node] = [one for one in bundles if one.is_whole] or bundles
    return listing


def _add(bundles: list[Bundle], member: str, name: str, state: State) -> None:
    """A file alone stands for itself; a member of a family joins those of the same user."""
    family = next((one for one in bundles if member and one.is_family and one.owner == state.owner), None)
    if family is None:
        bundles.append(Bundle(state.owner, {member: name}, {member: state}))
    else:
        family.files[member] = name
        family.states[member] = state


def _names(folder: int, pattern: str, listing: Listing, names: Iterable[str]) -> Iterator[str]:
    """The names of files that could be a node's: of those that are listed, and of those known before."""
    listed: set[str] = set()
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if len(listed) >= MAX_LISTED or number >= MAX_ENTRIES:
                listing.is_overfull = True
                break
            if entry.name.startswith(".") or not fnmatch.fnmatchcase(entry.name, pattern):
                continue
            listed.add(entry.name)
            if entry.is_file(follow_symlinks=False):
                yield entry.name
            elif len(listing.foreign) < MAX_FILES:
                listing.foreign.append(entry.name)
    if listing.is_overfull:
        yield from (name for name in names if name not in listed)


def choose(bundles: list[Bundle], *, owner: int | None, name: str | None, folder_owner: int) -> Bundle:
    """Which of several files about one node is read: whoever was read before, stays.

    Only root's file, or that of the folder's owner, takes the place of another user's that is there.
    """
    trusted = [0, folder_owner]

    def rank(uid: int) -> tuple[int, bool, int]:
        return trusted.index(uid) if uid in trusted else len(trusted), uid != owner, uid

    wanted = min((bundle.owner for bundle in bundles), key=rank)
    own = [bundle for bundle in bundles if bundle.owner == wanted]
    newest = max(own, key=lambda bundle: (bundle.modified_at, bundle.name))
    before = next((bundle for bundle in own if bundle.name == name), newest)
    return newest if newest.modified_at - before.modified_at > _TAKE_OVER_SECONDS else before


def stamp_of(states: Mapping[str, State]) -> Stamp:
    """The state of several files as one."""
    return tuple(number for member in sorted(states) for number in states[member].stamp)


def split_name(name: str) -> tuple[str, str]:
    """The node and the member that a file name says: `gpu1_gpus.csv` is member `gpus` of gpu1."""
    stem = name.lower()
    for member in MEMBERS:
        if stem.endswith(f"_{member}.csv"):
            return stem.removesuffix(f"_{member}.csv"), member
    for ending in ENDINGS:
        stem = stem.removesuffix(ending)
    return stem, ""


def state_of(folder: int, name: str) -> State | None:
    """How a file is now; None if it is no regular file, or gone."""
    try:
        # Opened, not only asked about: a network mount may answer from memory otherwise.
        handle = os.open(name, OPEN_FLAGS, dir_fd=folder)
        try:
            found = os.fstat(handle)
        finally:
            os.close(handle)
    except PermissionError:
        return _asked(folder, name)
    except OSError:
        return None
    return _state(found)


def _asked(folder: int, name: str) -> State | None:
    try:
        return _state(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except OSError:
        return None


def _state(found: os.stat_result) -> State | None:
    if not stat.S_ISREG(found.st_mode):
        return None
    return State(
        found.st_uid, found.st_size, found.st_mtime, (found.st_ino, found.st_size, found.st_mtime_ns)
    )


def read_below(folder: int, name: str, *, limit: int) -> File:
    """Read a regular file below a folder, of a larger one its head; follows no links and waits for no pipe.

    Raises:
        OSError: it cannot be opened or read.
        WireError: it is no regular file.
    """
    handle = os.open(name, OPEN_FLAGS, dir_fd=folder)
    try:
        state = _state(os.fstat(handle))
        if state is None:
            raise WireError("it is no regular file")
        parts: list[bytes] = []
        limit = limit if state.size <= limit else HEAD_BYTES
        while limit > 0 and (part := os.read(handle, min(limit, 1 << 20))):
            parts.append(part)
            limit -= len(part)
    finally:
        os.close(handle)
    return File(b"".join(parts), state)
