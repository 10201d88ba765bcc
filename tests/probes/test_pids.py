"""Lists of processes that no kernel could have made."""

import ctypes

import pytest

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.probes.fit import fit
from gpuboard.probes.nvml_processes import merge_processes
from gpuboard.sources.formats import read_file
from gpuboard.sources.ssh.frames import Frame
from gpuboard.sources.ssh.report import NodeReader
from tests.probes.nvidia_smi import logs
from tests.probes.nvidia_smi.test_tables import HEADER, WITH_UNITS


class Wide(ctypes.Structure):
    """An entry as drivers 535.43 to 535.86 write it."""

    _fields_ = (
        ("pid", ctypes.c_uint), ("usedGpuMemory", ctypes.c_ulonglong), ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint), ("usedGpuCcProtectedMemory", ctypes.c_ulonglong),
    )  # fmt: skip


class Usual(ctypes.Structure):
    """An entry as all others do."""

    _fields_ = Wide._fields_[:-1]


def misread(*pids: int, protected: int) -> list[Usual]:
    """What comes of such a list when it is read as usual."""
    wide = (Wide * len(pids))(*(Wide(pid, 2**30, 2**32 - 1, 2**32 - 1, protected) for pid in pids))
    return list((Usual * len(pids)).from_buffer_copy(wide))


def processes_of(report: NodeReport) -> tuple[GpuProcess, ...] | None:
    """Of the first GPU."""
    return (report.gpus or ())[0].processes


@pytest.mark.parametrize("protected", [0, 2**64 - 1])
@pytest.mark.parametrize("count", [2, 3, 8, 40])
def test_the_list_of_an_early_535_driver_is_unreadable(count: int, protected: int) -> None:
    """Its entries are longer. Nobody is shown as pid 0 or 4294967295; the GPU is not known to be empty."""
    entries = misread(*range(4001, 4001 + count), protected=protected)
    gpu = GpuReading(uuid="GPU-a", index=0, processes=merge_processes(entries, (), total=2**36))
    report = fit(NodeReport(node="gpu01", gpus=(gpu, GpuReading(uuid="GPU-b", index=1, processes=()))))
    assert processes_of(report) is None
    assert (report.gpus or ())[1].processes == ()
    assert [(found.kind, found.gpu_uuid) for found in report.problems] == [("sensor-error", "GPU-a")]
    assert "535.43 to 535.86" in report.problems[0].text


def test_one_process_is_read_right_by_any_driver() -> None:
    """The first entry is where it always is."""
    entries = misread(4001, protected=0)
    gpu = GpuReading(uuid="GPU-a", index=0, processes=merge_processes(entries, (), total=2**36))
    report = NodeReport(node="gpu01", gpus=(gpu,))
    assert fit(report) is report


@pytest.mark.parametrize("pid", [0, 4294967295])
def test_nvidia_smi_is_believed_no_more(pid: int) -> None:
    """By its document over ssh and in a folder, and by its tables."""
    inside = logs.process(pid, "python") + logs.process(4001, "python")
    document = logs.log(logs.new_gpu(0, inside=f"<processes>{inside}\n\t\t</processes>"))
    assert processes_of(read_file(document, "gpu01")) is None
    body = b"interval 5\nsent 1.00\nnvidia-smi 0\n" + document
    frame = Frame(kind="sample", sequence=1, body=body)
    assert processes_of(NodeReader("gpu01", interval=5).read_sample(frame)) is None
    uuid = (read_file(HEADER + WITH_UNITS, "gpu01").gpus or ())[0].uuid
    apps = (
        f"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n{uuid}, {pid}, x, 5 MiB\n{uuid}, 7, y, 5 MiB\n"
    )
    assert processes_of(read_file(HEADER + WITH_UNITS + apps.encode(), "gpu01")) is None
