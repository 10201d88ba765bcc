"""Where the board's state may live."""

from pathlib import Path

import pytest

from gpuboard.model.errors import StorageError
from gpuboard.outside import state_directory as place
from gpuboard.outside.state_directory import file_system_of, prepare_directory, state_directory

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
40 22 0:35 / /home rw,relatime shared:20 - nfs4 filer:/home rw,vers=4.2
41 40 0:36 / /home/fast\\040disk rw,relatime - xfs /dev/sdb1 rw
42 22 0:37 / /srv rw,relatime - ext4 /dev/sdc1 rw
43 22 0:38 / /srv rw,relatime - cifs //filer/srv rw
this line is broken
"""


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("/var/lib/gpuboard", "ext4"),
        ("/home/ana/.local/state/gpuboard", "nfs4"),
        ("/home/fast disk/state", "xfs"),
        ("/homeless", "ext4"),
        ("/srv/state", "cifs"),
    ],
)
def test_the_innermost_and_latest_mount_counts(where: str, kind: str) -> None:
    """Names that merely begin alike, blanks in names, and covered mounts included."""
    assert file_system_of(Path(where), MOUNTS) == kind


def test_an_unknown_system_is_not_refused() -> None:
    """Without the kernel's list nothing is known."""
    assert file_system_of(Path("/var"), "") is None


def test_a_home_on_nfs_is_refused_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases on NFS break, and the words say what to do instead."""
    monkeypatch.setattr(place, "_read_mounts", lambda: f"1 1 0:1 / {tmp_path} rw - nfs4 filer:/home rw")
    with pytest.raises(StorageError, match=r"nfs4.*--state-dir"):
        prepare_directory(tmp_path / "state")


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file is in the way."""
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"file/state.*--state-dir"):
        prepare_directory(tmp_path / "file" / "state")


def test_others_cannot_look_into_the_directory(tmp_path: Path) -> None:
    """It holds what stands for tokens."""
    assert prepare_directory(tmp_path / "state").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("chosen", "environment", "found"),
    [
        ("/srv/board", {"STATE_DIRECTORY": "/var/lib/gpuboard"}, "/srv/board"),
        (None, {"STATE_DIRECTORY": "/var/lib/gpuboard:/var/lib/other"}, "/var/lib/gpuboard"),
        (None, {"XDG_STATE_HOME": "/state"}, "/state/gpuboard"),
        (None, {}, str(Path("~/.local/state/gpuboard").expanduser())),
    ],
)
def test_the_choice_comes_before_systemds_before_the_home(
    chosen: str | None, environment: dict[str, str], found: str
) -> None:
    """Whoever says it most clearly wins."""
    assert str(state_directory(chosen, environment)) == found
