"""Nodes that leave files in a shared folder, whole, half-written and hostile."""

import asyncio
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.fleet.clock import SteadyClock
from gpuboard.fleet.state import Fleet
from gpuboard.probes.simulated import simulate
from gpuboard.settings.base import Duration
from gpuboard.sources.folder import FolderOptions, FolderSource
from gpuboard.sources.folder import source as folder_module
from gpuboard.sources.folder.listing import split_name
from gpuboard.sources.folder.owners import Owners
from gpuboard.sources.folder.scan import Scan
from tests.fakes.sink import RecordingSink, running


def gpustat(at: float, percent: int = 97) -> str:
    """What gpustat prints, with local time in its head line."""
    return f"""cml10  {time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(at))}  535.104.05
[0] NVIDIA GeForce RTX 4090 | 45'C,  {percent} % | 18000 / 24564 MB | ana:python/4242(17990M)
[1] NVIDIA GeForce RTX 4090 | 33'C,   0 % |     1 / 24564 MB |
"""


GPUSTAT = gpustat(time.time())


def source(path: Path, pattern: str = "*") -> FolderSource:
    """A source that looks often."""
    options = FolderOptions(
        path=str(path), pattern=pattern, interval=Duration(0.05), write_interval=Duration(60)
    )
    return FolderSource(options)


def drop(folder: Path, name: str) -> None:
    """Write a report of dgx-01 under some name."""
    write_drop(folder, name, TimedReport(simulate("dgx-01", time.time()), 0.0))


async def test_the_crontab_line_of_many_labs_works_unchanged(tmp_path: Path) -> None:
    """`gpustat -pcu > FOLDER/$(hostname)`: the file's name is the node."""
    (tmp_path / "cml10").write_text(GPUSTAT)
    sink = RecordingSink()
    async with running(source(tmp_path, "cml*"), sink):
        await sink.reports_of("cml10", 1)
    assert sink.files == {"cml10": str(tmp_path / "cml10")}
    gpus = sink.reports[0][1].gpus or ()
    assert [(gpu.uuid, gpu.utilization_percent) for gpu in gpus] == [("cml10:0", 97), ("cml10:1", 0)]


async def test_our_own_drops_are_read_each_time_they_change(tmp_path: Path) -> None:
    """And not when they do not: an unchanged file is no new sample."""
    sink = RecordingSink()
    await asyncio.to_thread(drop, tmp_path, "dgx-01")
    async with running(source(tmp_path), sink):
        await sink.reports_of("dgx-01", 1)
        await asyncio.to_thread(drop, tmp_path, "dgx-01")
        await sink.reports_of("dgx-01", 2)
        await asyncio.to_thread(drop, tmp_path, "marker")
        await sink.reports_of("marker", 1)
    assert sink.count("dgx-01") == 2


async def test_the_files_name_decides_whose_report_it_is(tmp_path: Path) -> None:
    """What stands inside could name any node."""
    await asyncio.to_thread(drop, tmp_path, "evil")
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("evil", 1)
    assert {name for name, _ in sink.reports} == {"evil"}


async def test_an_old_file_is_old_at_the_first_look(tmp_path: Path) -> None:
    """A dead server's last file must not look live when the board starts."""
    path = tmp_path / "cml10"
    path.write_text(GPUSTAT)
    os.utime(path, (time.time() - 3600, time.time() - 3600))
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("cml10", 1)
    assert sink.reports[0][1].age_seconds > 3500


async def test_a_file_that_changes_is_fresh_whatever_the_servers_clock_says(tmp_path: Path) -> None:
    """The file server's clock is an hour behind; the change itself was seen."""
    path = tmp_path / "cml10"
    path.write_text(GPUSTAT)
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("cml10", 1)
        new = tmp_path / ".new"
        new.write_text(gpustat(time.time() + 60, 42))
        os.utime(new, (time.time() - 3600, time.time() - 3600))
        new.rename(path)
        await sink.reports_of("cml10", 2)
    assert sink.reports[-1][1].age_seconds < 10


async def test_a_file_from_the_future_has_no_negative_age(tmp_path: Path) -> None:
    """The server's clock may be ahead, too."""
    path = tmp_path / "cml10"
    path.write_text(GPUSTAT)
    os.utime(path, (time.time() + 3600, time.time() + 3600))
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("cml10", 1)
    assert 0 <= sink.reports[0][1].age_seconds < 10


@pytest.mark.parametrize(
    "content",
    [b"", GPUSTAT[:70].encode(), b'{"gpuboard_drop":1,"length":99', b"\x00\x01\x02" * 99, b"x" * 5_000_000],
    ids=["empty", "cut", "cut-drop", "binary", "huge"],
)
async def test_a_bad_file_is_named_and_the_last_good_state_stays(tmp_path: Path, content: bytes) -> None:
    """Empty, half-written, binary, oversized."""
    path = tmp_path / "cml10"
    path.write_text(GPUSTAT)
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("cml10", 1)
        path.write_bytes(content)
        code, _, text = await sink.trouble_of("cml10")
        path.write_text(gpustat(time.time() + 60, 42))
        await sink.reports_of("cml10", 2)
    assert (code, "cml10" in text) == ("file-refused", True)


async def test_a_file_that_stays_unreadable_is_logged_once_and_so_is_its_return(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not at the first look: a crontab's file is half-written for a moment each minute."""
    caplog.set_level(logging.INFO)
    path = tmp_path / "cml10"
    path.write_text(GPUSTAT)
    subject, sink = source(tmp_path), RecordingSink()
    await asyncio.to_thread(subject.read_once, sink)
    path.write_text("bash: gpustat: command not found\n")
    await asyncio.to_thread(subject.read_once, sink)
    assert [reason.code for _, reason, _ in sink.troubles] == ["file-refused"]
    assert "file unreadable" not in caplog.text
    for _ in range(3):
        await asyncio.to_thread(subject.read_once, sink)
    path.write_text(GPUSTAT)
    await asyncio.to_thread(subject.read_once, sink)
    told = [record.getMessage() for record in caplog.records if record.name == folder_module.__name__]
    why = "cml10: the command that writes it failed: bash: gpustat: command not found"
    assert told == [
        f"file unreadable: folder={tmp_path} node=cml10 reason={why}",
        f"file read again: folder={tmp_path} node=cml10",
    ]


async def test_what_is_no_regular_file_is_skipped(tmp_path: Path) -> None:
    """Links, pipes, sockets, folders and names that lead elsewhere; the others are read."""
    secret = tmp_path.parent / "secret"
    secret.write_text(GPUSTAT)
    (tmp_path / "linked").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "sock"))
    (tmp_path / "Robert'); DROP TABLE").write_text(GPUSTAT)
    (tmp_path / "README").write_text("Hello, this folder is for status files.\n")
    (tmp_path / "cml10").write_text(GPUSTAT)
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("cml10", 1)
    listener.close()
    assert {name for name, _ in sink.reports} == {"cml10"}
    assert sink.expected[-1] == {"cml10"}


async def test_a_folder_that_is_missing_is_no_end(tmp_path: Path) -> None:
    """It may be mounted later."""
    path = tmp_path / "nfs"
    sink = RecordingSink()
    async with running(source(path), sink):
        path.mkdir()
        (path / "cml10").write_text(GPUSTAT)
        await sink.reports_of("cml10", 1)
        (path / "cml10").unlink()
        path.rmdir()
        code, _, _ = await sink.trouble_of("cml10")
    assert code == "folder-unreadable"


async def test_a_folder_that_is_back_leaves_each_node_the_trouble_of_its_own_file(tmp_path: Path) -> None:
    """Files that did not change meanwhile too: one is well again, one is as broken as it was before."""
    folder, away = tmp_path / "status", tmp_path / "away"
    folder.mkdir()
    (folder / "cml10").write_text(GPUSTAT)
    (folder / "cml11").write_text("cml11  [0] NVIDIA Ge")
    fleet = Fleet(SteadyClock())

    def troubles() -> dict[str, str | None]:
        return {node.name: None if node.trouble is None else node.trouble.reason.code for node in fleet}

    async def until(expected: dict[str, str | None]) -> None:
        async with asyncio.timeout(60):
            while troubles() != expected:  # noqa: ASYNC110 - the fleet has no event
                await asyncio.sleep(0.02)

    own = {"cml10": None, "cml11": "file-refused"}
    async with running(source(folder), fleet.sink("folder")):
        await until(own)
        folder.rename(away)
        await until(dict.fromkeys(own, "folder-unreadable"))
        away.rename(folder)
        await until(own)


async def test_a_hung_mount_is_said_and_never_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One look at a time, in a thread; the loop goes on."""
    monkeypatch.setattr(folder_module, "HUNG_SECONDS", 0.2)
    (tmp_path / "cml10").write_text(GPUSTAT)
    sink = RecordingSink()
    hung = threading.Event()
    subject = source(tmp_path)
    look = subject._reader.scan

    def hang() -> Scan:
        if sink.reports:
            hung.wait(20)
        return look()

    monkeypatch.setattr(subject._reader, "scan", hang)
    async with running(subject, sink):
        code, _, text = await sink.trouble_of("cml10")
        hung.set()
    assert (code, "hangs" in text) == ("folder-hung", True)


async def test_the_family_of_files_of_an_older_monitor_is_one_node(tmp_path: Path) -> None:
    """`HOST_gpus.csv` and its sisters."""
    stamp = time.strftime("%Y/%m/%d %H:%M:%S.000")
    (tmp_path / "gpu1_gpus.csv").write_text(f"0, GPU-abc, Tesla V100, 16000, 32480, 88, 40, 61, {stamp}\n")
    (tmp_path / "gpu1_processes.csv").write_text(f"{stamp}, GPU-abc, 15990, python, 4242\n")
    (tmp_path / "gpu1_users.csv").write_text('{"4242": []}\n4242 ana Sun Nov 15 10:00:00 2026\n')
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("gpu1", 1)
    (gpu,) = sink.reports[0][1].gpus or ()
    assert [process.user for process in gpu.processes or ()] == ["ana"]


FAMILY = {
    "gpus": "0, GPU-abc, Tesla V100, 3, 32480, 0, 0, 61, {0}\n",
    "processes": "",
    "users": "{{}}\n",
    "status": " {1} up 10 days,  3:04,  2 users,  load average: 1.00, 1.00, 1.00\n",
}


def family(folder: Path, *, sampled_at: float, clock: float) -> None:
    """Write the files of gpu1, which is in the board's zone: its newest line, and what its clock says."""
    line = time.strftime("%Y/%m/%d %H:%M:%S.000", time.localtime(sampled_at))
    for member, text in FAMILY.items():
        content = text.format(line, time.strftime("%H:%M:%S", time.localtime(clock)))
        (folder / f"gpu1_{member}.csv").write_text(content)


async def age_at_the_first_look(folder: Path, node: str) -> float:
    """How old a node's data is for a board that has just started."""
    sink = RecordingSink()
    async with running(source(folder), sink):
        await sink.reports_of(node, 1)
    return sink.reports[0][1].age_seconds


async def test_lines_that_hang_since_a_day_are_a_day_old_to_a_new_board(tmp_path: Path) -> None:
    """The collector copies them again and again, and its clock says the same time of day."""
    now = time.time()
    family(tmp_path, sampled_at=now - 86400, clock=now)
    assert await age_at_the_first_look(tmp_path, "gpu1") > 86000
    family(tmp_path, sampled_at=now, clock=now)
    assert await age_at_the_first_look(tmp_path, "gpu1") < 60


@pytest.mark.parametrize("hours", [0.6, 3, 6])
async def test_copies_of_files_that_hang_are_not_fresh_to_a_new_board(tmp_path: Path, hours: float) -> None:
    """Whoever fetches them from a host whose loops have died writes all of them anew, each time."""
    hung = time.time() - hours * 3600
    family(tmp_path, sampled_at=hung, clock=hung)
    assert await age_at_the_first_look(tmp_path, "gpu1") > 80000


async def test_a_file_of_tomorrow_is_not_fresh_at_the_first_look(tmp_path: Path) -> None:
    """A node whose clock ran ahead when its job died would be free for ever to those who look once."""
    file = tmp_path / "cml10"
    file.write_text(gpustat(time.time() - 6 * 3600))
    os.utime(file, (time.time() + 86400,) * 2)
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("cml10", 1)
        assert [found.kind for found in sink.reports[0][1].problems] == ["unknown-age"]
        # What moves on was written meanwhile.
        file.write_text(gpustat(time.time() - 6 * 3600 + 20))
        await sink.until(lambda: sink.reports[-1][1].problems == ())


def test_a_file_of_tomorrow_locks_nobody_out(tmp_path: Path) -> None:
    """It is no measure for those that come after it: a clock that was ahead is soon forgotten."""
    file, now, sink = tmp_path / "cml10", time.time(), RecordingSink()
    subject = source(tmp_path)
    for at in (now - 60, now + 30 * 86400, now, now + 10):
        file.write_text(gpustat(at))
        subject.read_once(sink)
    assert sink.troubles == []
    said = [[found.kind for found in report.problems] for _, report in sink.reports]
    assert said == [[], ["clock-off"], [], []]
    assert "at least 29d" in sink.reports[1][1].problems[0].text


def test_a_file_of_tomorrow_that_says_so_again_is_no_new_sample(tmp_path: Path) -> None:
    """Whoever touches it makes nothing fresh."""
    file, sink, subject = tmp_path / "cml10", RecordingSink(), source(tmp_path)
    for _ in range(3):
        file.write_text(gpustat(4e9))
        os.utime(file)
        subject.read_once(sink)
    ((_, report),) = sink.reports
    assert [found.kind for found in report.problems] == ["unknown-age", "clock-off"]


def test_a_file_that_is_older_than_one_before_says_how_the_board_forgets_that(tmp_path: Path) -> None:
    """Nobody finds that out by himself; and then it is read."""
    file, sink, owners = tmp_path / "cml10", RecordingSink(), Owners()
    subject = FolderSource(FolderOptions(path=str(tmp_path)), owners=owners)
    for at in (time.time(), time.time() - 3600):
        file.write_text(gpustat(at, 42))
        subject.read_once(sink)
    ((_, reason, _),) = sink.troubles
    assert reason is not None
    assert "gpuboard node forget cml10" in str(reason.values["remedy"])
    owners.forget("cml10")
    subject.read_once(sink)
    assert (sink.count("cml10"), len(sink.troubles)) == (2, 1)


async def test_an_age_that_cannot_be_told_is_told_by_the_next_new_line(tmp_path: Path) -> None:
    """Without the host's clock lines are not fresh, until they are seen to move on."""
    now = time.time()
    sink = RecordingSink()
    family(tmp_path, sampled_at=now - 3600, clock=now)
    (tmp_path / "gpu1_status.csv").unlink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("gpu1", 1)
        family(tmp_path, sampled_at=now - 3580, clock=now)
        (tmp_path / "gpu1_status.csv").write_text("")
        await sink.until(lambda: sink.reports[-1][1].age_seconds < 60)
    first, last = sink.reports[0][1], sink.reports[-1][1]
    assert first.age_seconds >= 86400
    assert [found.kind for found in first.problems] == ["unknown-age"]
    assert last.problems == ()


@pytest.mark.parametrize(
    "content",
    [b"", GPUSTAT[:70].encode(), b'{"gpuboard_drop":1,"length":99', b"sh: 1: gpustat: not found\n"],
    ids=["empty", "half-written", "half a drop", "an error"],
)
async def test_a_bad_file_of_a_host_never_read_is_a_node_with_trouble(tmp_path: Path, content: bytes) -> None:
    """A server whose command fails must not vanish when the board starts anew."""
    (tmp_path / "cml10").write_bytes(content)
    (tmp_path / "gpu1_gpus.csv").write_bytes(content)
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        code, state, text = await sink.trouble_of("cml10")
        await sink.trouble_of("gpu1")
    assert (code, state, text.startswith("cml10: ")) == ("file-refused", "error", True)
    assert sink.expected[-1] == {"cml10", "gpu1"}
    assert sink.reports == []


@pytest.mark.parametrize("minutes", [1, 5])
async def test_the_pace_of_a_crontab_is_learned(tmp_path: Path, minutes: int) -> None:
    """A line that runs every five minutes is not late after three; nor is a drop that says five seconds."""
    sink = RecordingSink()
    written_at = time.time() - 20 * 60.0
    reader_of_it = source(tmp_path)
    for number in range(4):
        report = simulate("dgx-01", written_at)
        await asyncio.to_thread(write_drop, tmp_path, "dropped", TimedReport(report, 0.0))
        (tmp_path / "cml10").write_text(gpustat(written_at, number))
        for name in ("dropped.json", "cml10"):
            os.utime(tmp_path / name, (written_at, written_at))
        # As the loop would, had it slept so long.
        reader_of_it._reader._last_look = None
        await asyncio.to_thread(reader_of_it.read_once, sink)
        written_at += minutes * 60.0
    intervals = {name: report.interval_seconds for name, report in sink.reports}
    assert intervals == pytest.approx({"dropped": minutes * 60.0, "cml10": minutes * 60.0})


async def test_a_drop_that_is_put_back_or_touched_is_not_fresh(tmp_path: Path) -> None:
    """It has its own time and number inside."""
    path = tmp_path / "dgx-01.json"
    sink = RecordingSink()
    await asyncio.to_thread(drop, tmp_path, "dgx-01")
    old = path.read_bytes()
    async with running(source(tmp_path), sink):
        await sink.reports_of("dgx-01", 1)
        await asyncio.to_thread(drop, tmp_path, "dgx-01")
        await sink.reports_of("dgx-01", 2)
        path.touch()
        await asyncio.to_thread(drop, tmp_path, "marker")
        await sink.reports_of("marker", 1)
        assert sink.count("dgx-01") == 2
        path.write_bytes(old)
        code, _, text = await sink.trouble_of("dgx-01")
        await asyncio.to_thread(drop, tmp_path, "dgx-01")
        await sink.reports_of("dgx-01", 3)
    assert (code, "put back" in text) == ("file-refused", True)


async def test_a_drop_of_three_days_ago_is_three_days_old_to_a_new_board(tmp_path: Path) -> None:
    """Whatever its time of writing says."""
    report = simulate("dgx-01", time.time() - 3 * 86400)
    await asyncio.to_thread(write_drop, tmp_path, "dgx-01", TimedReport(report, 0.0))
    assert await age_at_the_first_look(tmp_path, "dgx-01") > 2 * 86400


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cml10", ("cml10", "")),
        ("GPU01.json", ("gpu01", "")),
        ("gpu01.lab.example.txt", ("gpu01.lab.example", "")),
        ("gpu1_gpus.csv", ("gpu1", "gpus")),
        ("my_node_users.csv", ("my_node", "users")),
    ],
)
def test_file_names_say_the_node(name: str, expected: tuple[str, str]) -> None:
    """With or without the usual endings."""
    assert split_name(name) == expected


def gpustat_of(moment: datetime) -> bytes:
    """What `gpustat --json` writes, with local time as it has it."""
    return json.dumps({"hostname": "old", "query_time": moment.isoformat(), "gpus": []}).encode()


def smi_of(moment: datetime) -> bytes:
    """What `nvidia-smi -q -x` writes."""
    when = moment.strftime("%a %b %d %H:%M:%S %Y")
    return f"<nvidia_smi_log><timestamp>{when}</timestamp></nvidia_smi_log>\n".encode()


@pytest.mark.parametrize(("name", "write"), [("old.json", gpustat_of), ("old.xml", smi_of)])
async def test_a_copy_of_days_ago_is_days_old_though_it_was_copied_now(
    tmp_path: Path, name: str, write: Callable[[datetime], bytes]
) -> None:
    """A late rsync makes nothing new: the file says itself when its sample was taken."""
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=6)
    (tmp_path / name).write_bytes(write(before))
    assert await age_at_the_first_look(tmp_path, "old") > 5 * 86_400


@pytest.mark.parametrize(("name", "write"), [("old.json", gpustat_of), ("old.xml", smi_of)])
async def test_whoever_goes_on_writing_is_fresh_however_wrong_the_clock(
    tmp_path: Path, name: str, write: Callable[[datetime], bytes]
) -> None:
    """Its time moves on, and that is enough; the same time again is not."""
    clock = datetime.fromisoformat("2000-01-01T12:00:00")
    (tmp_path / name).write_bytes(write(clock))
    sink = RecordingSink()
    async with running(source(tmp_path), sink):
        await sink.reports_of("old", 1)
        (tmp_path / name).write_bytes(write(clock + timedelta(minutes=1)))
        await sink.reports_of("old", 2)
    (_, first), (_, second) = sink.reports
    assert first.age_seconds > 86_400
    assert second.age_seconds < 60


async def test_a_node_that_was_forgotten_is_told_again_while_its_file_is_there(tmp_path: Path) -> None:
    """With its data and as old as it is, not as a node that was never heard of."""
    (tmp_path / "cml10").write_text(gpustat(time.time() - 600))
    owners, sink = Owners(), RecordingSink()
    options = FolderOptions(path=str(tmp_path), interval=Duration(0.05))
    async with running(FolderSource(options, owners=owners), sink):
        await sink.reports_of("cml10", 1)
        owners.forget("cml10")
        await sink.reports_of("cml10", 2)
    first, again = (report for _, report in sink.reports[:2])
    assert again.gpus == first.gpus
    assert again.age_seconds >= first.age_seconds
