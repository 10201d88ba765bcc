import pytest

from gpuboard.model.errors import WireError
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.model.units import MIB
from gpuboard.sources.formats.gpu_monitor import read_family

GPUS = (
    b"0, GPU-a, Tesla V100-PCIE-16GB, 100, 16160, 90, 40, 60, 2018/07/01 11:59:40.100\n"
    b"1, GPU-b, Tesla V100-PCIE-16GB, 100, 16160, 91, 41, 61, 2018/07/01 11:59:40.200\n"
    b"0, GPU-a, Tesla V100-PCIE-16GB, 8000, 16160, 97, 42, 66, 2018/07/01 12:00:00.100\n"
    b"1, GPU-b, Tesla V100-PCIE-16GB, 3, 16160, [N/A], 0, 35, 2018/07/01 12:00:00.200\n"
)
PROCESSES = (
    b"2018/07/01 11:59:35.000, GPU-b, 99, /usr/bin/python, 4000\n"
    b"2018/07/01 11:59:55.000, GPU-a, 7000, /usr/bin/python, 4242\n"
    b"2018/07/01 11:59:55.100, GPU-a, 900, /opt/a, b/run --key hunter2, 4343\n"
    b"2018/07/01 11:59:55.100, GPU-b, 2, /usr/bin/python, 4444\n"
)
USERS = (
    b'{"4242": ["4242", "4250"], "4343": ["4350"]}\n'
    b" 4242 alice                Sun Jul  1 09:00:00 2018\n"
    b" 4250 alice                Sun Jul  1 09:00:01 2018\n"
    b" 4350 1234567              Sun Jul  1 10:00:00 2018\n"
)
STATUS = (
    b"/dev/sda1      102687672 45678900  51743412  47% /\n"
    b"Mem:         257672       12345      200000         100       45327      240000\n"
    b"48\n"
    b" 12:00:05 up 10 days,  3:04,  2 users,  load average: 12,50, 11.00, 9.25\n"
)
FILES = {"gpus": GPUS, "processes": PROCESSES, "users": USERS, "status": STATUS}
# 12:00:05 there is 10:00:05 UTC.
WRITTEN_AT = 1_530_439_205.0


def read(files: dict[str, bytes], written_at: float = WRITTEN_AT, *, node: str = "gpu1") -> NodeReport:
    """What one host's files say."""
    return read_family(files, node, written_at=written_at).report


def gpus(report: NodeReport) -> tuple[GpuReading, ...]:
    """The GPUs of a report."""
    assert report.gpus is not None
    return report.gpus


def test_only_the_newest_lines_count() -> None:
    """The file keeps the last twenty, of several rounds."""
    first, second = gpus(read(FILES))
    assert (first.uuid, first.memory_used_bytes, first.utilization_percent) == ("GPU-a", 8000 * MIB, 97)
    assert (first.memory_utilization_percent, first.temperature_celsius) == (42, 66)
    assert (second.utilization_percent, second.temperature_celsius) == (None, 35)


def test_processes_are_joined_with_their_owners_and_children() -> None:
    """`ps` knows who; nvidia-smi knows where and how much."""
    first, _ = gpus(read(FILES))
    alive, dead = first.processes or ()
    assert (alive.pid, alive.user, alive.program, alive.state) == (4242, "alice", "python", None)
    assert (alive.memory_used_bytes, alive.children) == (7000 * MIB, (4250,))
    assert (dead.pid, dead.state, dead.children) == (4343, "gone", (4350,))
    assert "hunter2" not in repr(read(FILES))


def test_children_that_are_named_twice_are_not_believed() -> None:
    """Whose they are decides who is said to hold a GPU."""
    twice = USERS.replace(b'{"4242"', b'{"4343": [], "4242"')
    first, _ = gpus(read({**FILES, "users": twice}))
    assert [process.children for process in first.processes or ()] == [(), ()]


def test_the_owner_of_a_dead_process_is_the_owner_of_its_living_child() -> None:
    """That child is what must be ended; a name too long for `ps` is a number."""
    first, _ = gpus(read(FILES))
    dead = (first.processes or ())[1]
    assert (dead.user, dead.uid) == (None, 1234567)


def test_a_dead_process_on_an_unused_gpu_is_a_leftover() -> None:
    """nvidia-smi prints nothing when the last process ends, so its line stays for a while."""
    _, second = gpus(read(FILES))
    assert second.processes == ()


def test_where_ps_told_nothing_nobody_is_called_dead() -> None:
    """Its file may be empty or missing."""
    for files in ({**FILES, "users": b""}, {key: data for key, data in FILES.items() if key != "users"}):
        first, _ = gpus(read(files))
        assert [(p.pid, p.state, p.user) for p in first.processes or ()] == [
            (4242, None, None),
            (4343, None, None),
        ]


def test_processes_much_older_than_the_gpus_have_ended() -> None:
    """The list of processes is not written when it is empty."""
    later = GPUS.replace(b"12:00:00", b"12:01:00")
    assert [gpu.processes for gpu in gpus(read({**FILES, "gpus": later}))] == [(), ()]


def test_without_a_list_of_processes_they_are_unknown() -> None:
    """Nobody may conclude that the GPUs are free."""
    assert [gpu.processes for gpu in gpus(read({"gpus": GPUS}))] == [None, None]


def test_the_hosts_own_figures_are_read_by_their_form() -> None:
    """Any line may be missing; a missing disk broke the memory of the original."""
    host = read(FILES).host
    assert host is not None
    assert (host.cpu_count, host.load_1, host.load_5, host.load_15) == (48, 12.5, 11, 9.25)
    assert (host.memory_used_bytes, host.memory_total_bytes) == (12345 * MIB, 257672 * MIB)
    assert host.uptime_seconds == 10 * 86400 + 3 * 3600 + 4 * 60
    assert [(disk.mount, disk.used_bytes) for disk in host.disks] == [("/", 45678900 * 1024)]
    without_disk = read({**FILES, "status": STATUS.partition(b"\n")[2]}).host
    assert without_disk is not None
    assert (without_disk.memory_total_bytes, without_disk.disks) == (257672 * MIB, ())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("up 2 min,", 120), ("up  3:04,", 11040), ("up 1 day, 5 min,", 86700), ("up 3 days, 22:05,", 338700)],
)
def test_every_form_of_uptime_is_understood(text: str, seconds: int) -> None:
    """It is made for people."""
    status = f" 12:00:05 {text}  1 user,  load average: 0.00, 0.01, 0.05\n".encode()
    host = read({**FILES, "status": status}).host
    assert host is not None
    assert host.uptime_seconds == seconds


def test_the_disks_file_tells_more_disks() -> None:
    """Where there is one, it counts."""
    disks = b"/dev/sda1 100 50 50 50% /\n/dev/sdb1 200 50 150 25% /var/opt\ntmpfs x\n"
    host = read({**FILES, "disks": disks}).host
    assert host is not None
    assert [(disk.mount, disk.total_bytes) for disk in host.disks] == [("/", 102400), ("/var/opt", 204800)]


def test_memory_that_looks_like_a_disk_is_none() -> None:
    """`df` lists it among the disks."""
    disks = (
        b"udev 9 0 9 0% /dev\ntmpfs 9 1 8 9% /x\ntmpfs 9 0 9 0% /dev/shm\n/dev/loop3 9 9 0 100% /snap/x/1\n"
        b"overlay 100 50 50 50% /\ntank/home 200 50 150 25% /home\nserver:/data 300 1 299 1% /data\n"
    )
    host = read({**FILES, "disks": disks}).host
    assert host is not None
    assert [disk.mount for disk in host.disks] == ["/", "/home", "/data"]


def test_lines_that_are_copied_again_and_again_grow_old() -> None:
    """When nvidia-smi hangs, the collector goes on copying its last lines; the host's clock betrays it."""
    assert read(FILES).age_seconds == 5
    frozen = STATUS.replace(b"12:00:05", b"12:40:00")
    assert read({**FILES, "status": frozen}, WRITTEN_AT + 2395).age_seconds == 2400
    before = STATUS.replace(b"12:00:05", b"11:59:59")
    assert read({**FILES, "status": before}).age_seconds == 0


@pytest.mark.parametrize("hours", [24, 48, 24 * 30])
@pytest.mark.parametrize("zone", [-10, -5, 0, 2, 5.5, 8, 12, 13])
def test_lines_that_hang_for_whole_days_are_days_old(hours: int, zone: float) -> None:
    """The clock beside them says the same time of day again; when the file was written tells the date."""
    # The lines are of 12:00:00 there, and the clock beside them says 12:00:05.
    fresh = WRITTEN_AT + (2 - zone) * 3600
    assert read(FILES, fresh).age_seconds == pytest.approx(5)
    assert read(FILES, fresh + hours * 3600).age_seconds == pytest.approx(5 + hours * 3600)


def test_an_age_that_cannot_be_known_is_not_fresh() -> None:
    """Without the host's clock its zone is unknown; lines of tomorrow tell nothing either."""
    ahead = {**FILES, "gpus": GPUS.replace(b"2018/07/01", b"2018/07/02")}
    for files in ({"gpus": GPUS}, {**FILES, "status": b""}, ahead):
        family = read_family(files, "gpu1", written_at=WRITTEN_AT)
        assert not family.is_age_known
        assert family.report.age_seconds >= 86400
    with pytest.raises(WireError, match="no time"):
        read({"gpus": GPUS.replace(b"2018/07/01", b"[N/A]")})


@pytest.mark.parametrize("hours", [0.6, 3.1, 6.2, 9.4])
def test_copies_of_files_that_hang_for_hours_are_not_fresh(hours: float) -> None:
    """Whoever fetches them writes them anew each time, clock and all; no zone is that far from the copy."""
    family = read_family(FILES, "gpu1", written_at=WRITTEN_AT + hours * 3600)
    assert not family.is_age_known
    assert family.report.age_seconds >= 86400


def test_a_copy_that_hangs_for_whole_hours_is_no_fresh_one_of_another_zone() -> None:
    """Where the reader says which zone it is in, only a host's clock of that zone is believed."""
    here = 2 * 3600
    assert read_family(FILES, "gpu1", written_at=WRITTEN_AT, zone_seconds=here).is_age_known
    hung = read_family(FILES, "gpu1", written_at=WRITTEN_AT + 3 * 3600, zone_seconds=here)
    assert not hung.is_age_known


def test_local_times_are_told_only_when_the_hosts_clock_is_known() -> None:
    """From it follows the zone: whole quarters of an hour."""
    blind = read({**FILES, "status": b""})
    assert blind.taken_at is None
    assert (gpus(blind)[0].processes or ())[0].started_at is None
    report = read(FILES, WRITTEN_AT + 60)
    assert report.taken_at == WRITTEN_AT - 5
    # 09:00 there is 07:00 UTC.
    assert (gpus(report)[0].processes or ())[0].started_at == WRITTEN_AT - 5 - 3 * 3600


def test_a_process_on_an_unknown_gpu_is_named_as_a_problem_and_put_on_no_other() -> None:
    """It may run on an instance that the list of GPUs does not have."""
    stray = b"2018/07/01 11:59:55.100, GPU-gone, 200, /usr/bin/python, 4250\n"
    report = read({**FILES, "processes": PROCESSES + stray})
    assert [found.kind for found in report.problems] == ["unattributed-process"]
    assert "4250 on GPU-gone" in report.problems[0].text
    assert [[p.pid for p in gpu.processes or ()] for gpu in gpus(report)] == [[4242, 4343], []]


@pytest.mark.parametrize(
    "files",
    [{}, {"gpus": b""}, {"gpus": GPUS[:-10]}, {"gpus": b"nonsense\n"}, {"processes": PROCESSES}],
    ids=["nothing", "empty", "cut off", "nonsense", "no GPUs"],
)
def test_without_a_whole_list_of_gpus_there_is_no_report(files: dict[str, bytes]) -> None:
    """The node keeps its last state."""
    with pytest.raises(WireError):
        read(files)


def test_a_driver_that_says_what_is_wrong_is_a_fact_about_the_node() -> None:
    """The loop writes the driver's sentence into the same file."""
    report = read({"gpus": b"Failed to initialize NVML: Driver/library version mismatch\n"})
    assert report.gpus is None
    assert [found.kind for found in report.problems] == ["driver-mismatch"]
