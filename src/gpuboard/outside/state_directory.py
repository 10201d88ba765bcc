"""The state directory: where it is, and whether a database may live there."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gpuboard.model.errors import StorageError

# Locks on these do not hold between machines, so a database there is lost sooner or later.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "lustre", "gpfs", "beegfs", "ceph", "glusterfs"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.beegfs"}
)
_MOUNTS: Final = Path("/proc/self/mountinfo")


def state_directory(chosen: str | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The directory that holds the board's state: the chosen one, systemd's, or one in the home."""
    if chosen:
        return Path(chosen).expanduser()
    # systemd may name several, separated by colons; the first is ours.
    given = environment.get("STATE_DIRECTORY", "").split(":")[0]
    if given:
        return Path(given)
    base = environment.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "gpuboard"


def prepare_directory(directory: Path) -> Path:
    """Make the directory if need be, for nobody else's eyes, and return where it really is.

    Raises:
        StorageError: it cannot be made or written, or a database there would be lost.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = directory.resolve(strict=True)
    except OSError as error:
        raise StorageError(_unmade(directory, error.strerror)) from None
    fault = _find_fault(place)
    if fault is not None:
        raise StorageError(fault)
    return place


def foresee_fault(directory: Path) -> str | None:
    """Why whoever asks could not have a database there, in words; nothing is made, and None: they could."""
    try:
        there = next(place for place in (directory, *directory.parents) if place.exists())
        place = there.resolve(strict=True)
        if not place.is_dir():
            return _unmade(directory, os.strerror(errno.ENOTDIR if there != directory else errno.EEXIST))
    except OSError as error:
        return _unmade(directory, error.strerror)
    if there != directory and not os.access(place, os.W_OK | os.X_OK):
        return _unmade(directory, os.strerror(errno.EACCES))
    return _find_fault(place) if there == directory else _find_network(place)


def _unmade(directory: Path, why: str | None) -> str:
    return f"the state directory {directory} cannot be made: {why}; name another with --state-dir"


def _find_fault(place: Path) -> str | None:
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return (
            f"the state directory {place} is not ours to write; name another with --state-dir, "
            "or run as the user that the board runs as"
        )
    return _find_network(place)


def _find_network(place: Path) -> str | None:
    kind = file_system_of(place, _read_mounts())
    if kind not in NETWORK_FILE_SYSTEMS:
        return None
    return (
        f"the state directory {place} is on a network file system ({kind}), where databases break; "
        "name a directory on a local disk with --state-dir, like /var/lib/gpuboard"
    )


def hand_over(path: Path) -> None:
    """Let what root has made belong to whom its directory belongs: a board that runs as somebody else.

    Raises:
        OSError: it cannot be.
    """
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def file_system_of(place: Path, mounts: str) -> str | None:
    """The type of the file system at a place, from the kernel's list of mounts; None when unknown."""
    best, kind = -1, None
    for line in mounts.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split()
        if not separator or len(fields) < 5 or not after.split():  # noqa: PLR2004 - the fifth is the place
            continue
        point = Path(_unescape(fields[4]))
        # Of two mounts at one place the later covers the earlier.
        if place.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split()[0]
    return kind


def _unescape(field: str) -> str:
    """The kernel writes blanks and backslashes in octal."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, char)
    return field


def _read_mounts() -> str:
    try:
        return _MOUNTS.read_text(errors="replace")
    except OSError:
        # Not Linux: nothing is known, nothing is refused.
        return ""
