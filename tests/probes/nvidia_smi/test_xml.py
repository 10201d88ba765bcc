import pytest

from gpuboard.model.errors import ProbeFailed
from gpuboard.model.report import GpuReading
from gpuboard.model.units import MIB
from gpuboard.probes.nvidia_smi.xml import parse_xml
from tests.probes.nvidia_smi.logs import (
    BUSY,
    MIG,
    NEW,
    NO_PROCESSES,
    OLD,
    log,
    mig_device,
    new_gpu,
    process,
)


def only(data: bytes) -> GpuReading:
    """The one GPU of a log."""
    (gpu,) = parse_xml(data).gpus
    return gpu


def test_a_new_driver_tells_everything() -> None:
    """Each field by its newest name."""
    devices = parse_xml(NEW)
    gpu = devices.gpus[0]
    assert (devices.driver_version, devices.cuda_version) == ("590.44.01", "13.1")
    assert gpu.uuid == "GPU-00000000-1111-2222-3333-444444444444"
    assert (gpu.index, gpu.model, gpu.pcie_bus_id) == (0, "NVIDIA H100 80GB HBM3", "00000000:01:00.0")
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (11125 * MIB, 81559 * MIB)
    assert (gpu.utilization_percent, gpu.memory_utilization_percent) == (98, 37)
    assert (gpu.temperature_celsius, gpu.fan_percent) == (53, None)
    assert (gpu.power_watts, gpu.power_limit_watts) == (433.78, 700)
    assert (gpu.graphics_clock_mhz, gpu.memory_clock_mhz) == (1980, 2619)
    assert (gpu.ecc_enabled, gpu.ecc_corrected_errors, gpu.ecc_uncorrected_errors) == (True, 3, 0)
    assert (gpu.pcie_generation, gpu.pcie_width, gpu.persistence_mode) == (5, 16, True)
    assert (gpu.performance_state, gpu.throttle_reasons) == ("P0", ("power-cap",))
    assert devices.problems == ()


def test_an_old_driver_tells_the_same_under_other_names() -> None:
    """Ten years of element names meet in one reading."""
    gpu = only(OLD)
    assert (gpu.power_watts, gpu.power_limit_watts) == (48.05, 170)
    assert (gpu.ecc_corrected_errors, gpu.ecc_uncorrected_errors) == (3, None)
    assert gpu.throttle_reasons == ("hardware-slowdown",)
    assert gpu.utilization_percent == 4
    assert gpu.processes is not None
    assert [(p.pid, p.kind, p.program) for p in gpu.processes] == [(5495, "compute", "ansys.e150")]


def test_what_a_gpu_cannot_tell_is_none_and_named_in_one_harmless_problem() -> None:
    """A fan that reads `ERR!` is no reason to call the GPU broken, nor to say 0 %."""
    devices = parse_xml(OLD)
    gpu = devices.gpus[0]
    assert (gpu.fan_percent, gpu.memory_utilization_percent, gpu.memory_clock_mhz) == (None, None, None)
    (found,) = devices.problems
    assert (found.kind, found.gpu_uuid) == ("sensor-error", gpu.uuid)
    assert "fan_speed" in found.text


@pytest.mark.parametrize(
    "text",
    [
        *("", "N/A", "[N/A]", "Not Supported", "[Not Supported]", "ERR!", "Unknown Error", "[Unknown Error]"),
        *("Requested functionality has been deprecated", "[Insufficient Permissions]"),
        *("4294967295 MiB", "-5 MiB", "12 parsecs"),
    ],
)
def test_no_form_of_silence_reads_as_zero(text: str) -> None:
    """Unknown memory is not free memory."""
    gpu = only(log(new_gpu().replace("<used>11125 MiB", f"<used>{text}")))
    assert gpu.memory_used_bytes is None


def test_processes_have_their_kind_and_only_their_programs_name() -> None:
    """Arguments hold passwords; nvidia-smi may print a whole command line."""
    inside = "".join(
        (
            process(1, "/opt/edge/msedge --type=gpu-process --token=hunter2", kind="G"),
            process(2, "python", kind="C+G"),
            process(3, r"C:\Program Files\NZXT CAM\NZXT CAM.exe --secret x", memory="N/A"),
            process(4, "[Not Found]"),
        )
    )
    gpu = only(log(new_gpu(inside=f"<processes>{inside}</processes>")))
    assert gpu.processes is not None
    assert [(p.pid, p.kind, p.program) for p in gpu.processes] == [
        (1, "graphics", "msedge"),
        (2, "both", "python"),
        (3, "compute", "NZXT CAM.exe"),
        (4, "compute", None),
    ]
    assert [p.memory_used_bytes for p in gpu.processes] == [512 * MIB, 512 * MIB, None, 512 * MIB]


def test_a_process_listed_as_compute_and_as_graphics_is_one_process() -> None:
    """Some drivers list it twice; counted twice, its memory would be double."""
    twice = process(5, "game", kind="C") + process(5, "game", kind="G", memory="600 MiB")
    gpu = only(log(new_gpu(inside=f"<processes>{twice}</processes>")))
    assert gpu.processes is not None
    assert [(p.pid, p.kind, p.memory_used_bytes) for p in gpu.processes] == [(5, "both", 600 * MIB)]


def test_a_list_of_processes_that_cannot_be_read_is_unknown_and_not_empty() -> None:
    """Nobody may conclude from it that the GPU is free."""
    assert only(log(new_gpu(inside="<processes>N/A</processes>"))).processes is None
    assert only(log(new_gpu(inside=""))).processes is None
    hidden = f"<processes>{process('[Insufficient Permissions]', 'x')}</processes>"
    assert only(log(new_gpu(inside=hidden))).processes is None
    assert only(log(new_gpu(inside=NO_PROCESSES))).processes == ()


def test_mig_instances_are_gpus_of_their_own_with_their_own_processes() -> None:
    """The process belongs to the instance it runs on, not to the whole card."""
    parent, first, second = parse_xml(MIG).gpus
    assert (parent.mig_enabled, parent.processes) == (True, ())
    assert first.uuid == f"MIG-{parent.uuid}/2/0"
    assert (first.uuid_is_synthetic, first.mig_parent_uuid, first.model) == (True, parent.uuid, parent.model)
    assert (first.memory_used_bytes, first.processes) == (9 * MIB, ())
    assert first.utilization_percent is None
    assert (second.index, [p.pid for p in second.processes or ()]) == (1, [77])


def test_a_mig_instance_that_tells_its_uuid_keeps_it() -> None:
    """Some drivers do print it."""
    _, mig = parse_xml(log(new_gpu(mig=mig_device(0, 2, uuid="<uuid>MIG-abc</uuid>")))).gpus
    assert (mig.uuid, mig.uuid_is_synthetic) == ("MIG-abc", False)


def test_a_gpu_that_hides_its_uuid_is_called_by_node_and_number() -> None:
    """It still has a name, marked as made up."""
    text = new_gpu(1).replace("<uuid>GPU-00000001-1111-2222-3333-444444444444", "<uuid>[Unknown Error]")
    gpu = parse_xml(log(new_gpu(0), text), node="gpu7").gpus[1]
    assert (gpu.uuid, gpu.uuid_is_synthetic) == ("gpu7:1", True)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("<gpu_temp>53 C", "<gpu_temp>GPU is lost", "gpu-lost"),
        ("<gpu_temp>53 C", "<gpu_temp>[GPU requires reset]", "gpu-needs-reset"),
        ("<gpu_recovery_action>None", "<gpu_recovery_action>Reset", "gpu-needs-reset"),
        ("<dram_uncorrectable>0", "<dram_uncorrectable>2", "ecc-uncorrected"),
        ("<used>11125 MiB", "<used>[Insufficient Permissions]", "no-permission"),
    ],
)
def test_a_gpu_in_trouble_says_which_and_stays_in_the_list(old: str, new: str, kind: str) -> None:
    """One bad GPU never hides another, nor itself."""
    devices = parse_xml(log(new_gpu(0), new_gpu(1).replace(old, new)))
    assert len(devices.gpus) == 2
    assert [(found.kind, found.gpu_uuid) for found in devices.problems] == [(kind, devices.gpus[1].uuid)]


def test_a_gpu_that_cannot_be_opened_is_listed_without_figures_and_the_others_keep_their_numbers() -> None:
    """New drivers print one sentence about it and go on with the rest."""
    sentence = b"Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n"
    devices = parse_xml(sentence + NEW, node="box")
    assert [gpu.index for gpu in devices.gpus] == [0, 2, 1]
    lost = devices.gpus[2]
    assert (lost.uuid, lost.memory_used_bytes, lost.processes) == ("box:0000:34:00.0", None, None)
    assert [(found.kind, found.gpu_uuid) for found in devices.problems] == [("gpu-lost", lost.uuid)]


def test_of_a_cut_off_document_the_whole_gpus_stay() -> None:
    """And it is said that there may be more."""
    devices = parse_xml(NEW[: NEW.rindex(b"<temperature>")])
    assert [gpu.index for gpu in devices.gpus] == [0]
    assert [found.kind for found in devices.problems] == ["truncated-output"]


def test_a_document_cut_off_before_its_first_gpu_fails() -> None:
    """Nothing whole is not the same as no GPUs."""
    with pytest.raises(ProbeFailed) as caught:
        parse_xml(NEW[: NEW.index(b"<temperature>")])
    assert caught.value.problem.kind == "truncated-output"


def test_bytes_that_are_no_text_cost_only_themselves() -> None:
    """Drivers have printed uninitialised memory as process names, and do not always escape."""
    for name in (b"\xff\xfe\x01", b"a & b", b"<b>&nbsp;", b"</process_name></gpu><gpu>"):
        data = log(new_gpu(inside=BUSY)).replace(b"/usr/bin/python3", name)
        devices = parse_xml(data)
        assert len(devices.gpus) == 1
        assert devices.problems == ()
        assert len(devices.gpus[0].processes or ()) == 2


def test_a_document_on_one_line_reads_the_same() -> None:
    """Some tool on the way may have taken out the blanks."""
    assert parse_xml(NEW.replace(b"\n", b"").replace(b"\t", b"")) == parse_xml(NEW)


def test_a_warning_after_the_document_does_no_harm() -> None:
    """An infoROM warning is printed behind it."""
    assert len(parse_xml(NEW + b"WARNING: infoROM is corrupted at gpu 0000:01:00.0\n").gpus) == 2


def test_of_several_documents_the_last_one_counts() -> None:
    """A file that is appended to has the newest sample at its end."""
    assert [gpu.model for gpu in parse_xml(OLD + NEW + OLD).gpus] == ["GeForce GTX 1080"]


def test_a_document_without_gpus_says_so() -> None:
    """No GPU is an answer, not a failure."""
    devices = parse_xml(log())
    assert devices.gpus == ()
    assert [found.kind for found in devices.problems] == ["no-devices"]


def test_garbage_figures_are_unknown() -> None:
    """WSL has reported 2^64 bytes of process memory."""
    huge = process(1, "x", memory="17592186044415 MiB")
    gpu = only(log(new_gpu(inside=f"<processes>{huge}</processes>").replace(">98 %", ">4294967295 %")))
    assert gpu.utilization_percent is None
    assert [p.memory_used_bytes for p in gpu.processes or ()] == [None]


def test_a_device_without_memory_of_its_own_is_marked() -> None:
    """Its processes use the host's memory."""
    text = new_gpu().replace("NVIDIA H100 80GB HBM3", "NVIDIA GB10").replace("81559 MiB", "[N/A]")
    assert only(log(text)).memory_unified
