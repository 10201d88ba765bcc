import time

import pytest

from gpuboard.model.errors import WireError
from gpuboard.model.report import GpuReading
from gpuboard.model.units import MIB
from gpuboard.sources.formats.gpustat_text import is_gpustat_text, read_gpustat_text

# As 0.3.1 prints it: always in colour, quote as degree sign.
OLD = (
    b"\x1b[1mcml10\x1b[0m  Fri Aug 25 23:04:11 2017\n"
    b"\x1b[0;36m[0]\x1b[0m \x1b[0;34mGeForce GTX 1080 Ti\x1b[0m |\x1b[1;31m 64'C\x1b[0m, "
    b"\x1b[1;32m 98 %\x1b[0m | "
    b"\x1b[0;36m\x1b[1;33m10935\x1b[0m / \x1b[0;33m11172\x1b[0m MB | "
    b"\x1b[1;30malice\x1b[0m:\x1b[0;36mpython\x1b[0m/12345(\x1b[0;33m10925M\x1b[0m) "
    b"\x1b[1;30mbob\x1b[0m:\x1b[0;36mpython3\x1b[0m/777(\x1b[0;33m?M\x1b[0m)\n"
    b"\x1b[0;36m[1]\x1b[0m \x1b[0;34mGeForce GT 630     \x1b[0m |\x1b[0;31m ??'C\x1b[0m, "
    b"\x1b[0;32m ?? %\x1b[0m | "
    b"\x1b[0;36m\x1b[1;33m   10\x1b[0m / \x1b[0;33m 1998\x1b[0m MB | --:--/--(?M)\n"
)
# As 1.1 prints it to a file.
NEW = (
    "vm                        Sun Nov 15 22:20:47 2026  535.104.05\n"
    "[0] NVIDIA H100 80GB HBM3 | 60°C,  ?? %,  90 % (E:   0 %  D:   0 %),  600 / 700 W | 41984 / 81559 MB | "
    "alice:sleep/23123(40960M) bob:ray::train (x) [2]/23124(300M)\n"
    " ├─  23123 (   0%, 1788KB): sleep 40 --password hunter2\n"
    " └─  23124 (   0%, 1824KB): sleep 40\n"
    "[1] NVIDIA H100 80GB HBM3 | 61°C,  30 %,   0 % (E:   0 %  D:   0 %),   71 /  ?? W |     0 / 81559 MB |\n"
    "[2] ((GPU is lost))       |  ?°C,   ? %,   ? % (E:   ? %  D:   ? %),    ? /   ? W |     ? /     ? MB | "
    "(Not Supported)\n"
).encode()


def gpus(data: bytes) -> tuple[GpuReading, ...]:
    """The GPUs of a file."""
    found = read_gpustat_text(data, "cml10").gpus
    assert found is not None
    return found


def test_the_first_version_in_colour_is_read() -> None:
    """The crontab line of 2017 works as it stands."""
    assert is_gpustat_text(OLD)
    report = read_gpustat_text(OLD, "cml10")
    assert report.host is not None
    assert report.host.hostname == "cml10"
    first, second = gpus(OLD)
    assert (first.uuid, first.uuid_is_synthetic, first.model) == ("cml10:0", True, "GeForce GTX 1080 Ti")
    assert (first.temperature_celsius, first.utilization_percent) == (64, 98)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (10935 * MIB, 11172 * MIB)
    assert [(p.pid, p.user, p.program, p.memory_used_bytes) for p in first.processes or ()] == [
        (12345, "alice", "python", 10925 * MIB),
        (777, "bob", "python3", None),
    ]
    assert (second.temperature_celsius, second.utilization_percent, second.processes) == (None, None, None)


def test_the_newest_version_with_all_its_columns_is_read() -> None:
    """Fan before, power behind, encoders in brackets: each finds its place."""
    report = read_gpustat_text(NEW, "vm")
    assert report.host is not None
    assert report.host.driver_version == "535.104.05"
    first, second, _ = gpus(NEW)
    assert (first.fan_percent, first.utilization_percent) == (None, 90)
    assert (first.power_watts, first.power_limit_watts) == (600, 700)
    assert (second.fan_percent, second.utilization_percent) == (30, 0)
    assert (second.power_watts, second.power_limit_watts, second.processes) == (71, None, ())


def test_a_command_may_hold_blanks_and_brackets_and_no_argument_is_kept() -> None:
    """Titles are free text; the full command lines of -f are passed over."""
    first = gpus(NEW)[0]
    assert [(p.pid, p.user, p.program) for p in first.processes or ()] == [
        (23123, "alice", "sleep"),
        (23124, "bob", "ray::train"),
    ]
    assert "hunter2" not in repr(read_gpustat_text(NEW, "vm"))


def test_a_lost_gpu_is_lost_and_the_others_are_not() -> None:
    """The tool writes it in the name's place."""
    report = read_gpustat_text(NEW, "vm")
    assert [(found.kind, found.gpu_uuid) for found in report.problems] == [("gpu-lost", "vm:2")]
    lost = gpus(NEW)[2]
    assert (lost.model, lost.memory_used_bytes, lost.processes) == (None, None, None)


@pytest.mark.parametrize(
    "line",
    [
        "[0] Tesla V100 | 64'C,  98 % | 10935 / 11172 MB | a:b/1(2M)",
        "[0] Tesla V100 | 64°C,  98 % | 10935 / 11172 MB | a:b/1(2M)",
        "[0]  64°C,  98 % | 10935 / 11172 MB | a:b/1(2M)",
        "[0] Tesla V100 | 64\ufffdC,  98 % | 10935 / 11172 MB | a:b/1(2M)",
        "[0] Tesla V100 | 64°C,  30 %,  98 %,  250 W | 10935 / 11172 MB | a:b/1(2M)",
        "[0] Tesla V100 | 64°C,  98 %,  250 / 300 W | 10935 / 11172 MB | a:b/1(2M)",
        "[0] Tesla V100 | 64°C,  98 % | 10935 / 11172 MiB | a:b/1(2M)",
    ],
)
def test_every_known_form_of_a_line_tells_the_same(line: str) -> None:
    """Options, versions and locales change the line, not the facts."""
    (gpu,) = gpus(f"{line}\n".encode())
    assert (gpu.temperature_celsius, gpu.utilization_percent) == (64, 98)
    assert gpu.memory_used_bytes == 10935 * MIB
    assert [(p.pid, p.user) for p in gpu.processes or ()] == [(1, "a")]


def test_processes_without_ids_are_unknown_and_the_remedy_is_said() -> None:
    """Somebody is there; without -p it cannot be said who runs what."""
    report = read_gpustat_text(b"[0] V100 | 64'C, 98 % | 10 / 20 MB | alice(5M) bob(6M)\n", "x")
    assert report.gpus is not None
    assert report.gpus[0].processes is None
    assert [found.kind for found in report.problems] == ["no-process-ids"]
    assert "-pcu" in report.problems[0].remedy


def test_one_name_alone_is_not_taken_for_a_user_or_a_program() -> None:
    """`gpustat -p` prints users, `gpustat -cp` programs, and both look alike."""
    (gpu,) = gpus(b"[0] V100 | 64'C, 98 % | 10 / 20 MB | alice/77(5M)\n")
    assert [(p.pid, p.user, p.program) for p in gpu.processes or ()] == [(77, None, None)]


def test_processes_left_out_are_unknown() -> None:
    """With --no-processes nobody is known to be absent."""
    assert gpus(b"[0] V100 | 64'C, 98 % | 10 / 20 MB\n")[0].processes is None


def test_a_machine_without_gpus_says_so() -> None:
    """An empty list is an answer."""
    data = b"vm   Sun Nov 15 22:20:47 2026  535.104.05\n(No GPUs are available)\n"
    assert is_gpustat_text(data)
    assert gpus(data) == ()


@pytest.mark.parametrize("data", [NEW[:-40], OLD[:-1], OLD[:100], b"cml10  Fri Aug 25\n"])
def test_a_half_written_file_is_refused(data: bytes) -> None:
    """The node keeps its last whole state; the next minute brings a whole file."""
    with pytest.raises(WireError):
        read_gpustat_text(data, "cml10")


def test_several_hosts_in_one_file_are_refused() -> None:
    """`cat cml*` is what the board replaces."""
    with pytest.raises(WireError, match="twice"):
        read_gpustat_text(OLD + OLD, "cml10")


def test_a_line_made_to_take_long_does_not() -> None:
    """Every piece has a length beyond which it is no piece."""
    started = time.thread_time()
    for filling in (b" " * 200_000, b"a:b/1(" * 40_000, b"1 %, " * 40_000):
        is_gpustat_text(b"[0] V100 |" + filling + b"\n")
        with pytest.raises(WireError):
            read_gpustat_text(b"[0] V100 |" + filling + b"\n", "x")
        read_gpustat_text(b"[0] V100 | 64'C, 98 % | 10 / 20 MB | " + filling + b"\n", "x")
    assert time.thread_time() - started < 5
