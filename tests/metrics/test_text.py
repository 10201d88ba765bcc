"""Prometheus text."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gpuboard.metrics.node import dcgm_families, node_families
from gpuboard.metrics.text import Family, write
from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.probes.simulated import simulate


def test_a_real_prometheus_parser_reads_every_sample() -> None:
    """As the reference client reads it."""
    report = simulate("vision-01", 1_800_000_000.0)
    text = write([*node_families(report, age_seconds=1.0), *dcgm_families(report)])
    families = {family.name: family for family in text_string_to_metric_families(text)}
    temperatures = [sample.value for sample in families["gpuboard_gpu_temperature_celsius"].samples]
    assert temperatures == [gpu.temperature_celsius for gpu in report.gpus or ()]


def test_hostile_labels_stay_inside_their_quotes() -> None:
    """A model name cannot forge a sample."""
    evil = 'x"} 1\nforged_metric{a="\\'
    report = NodeReport(node="a", gpus=(GpuReading(uuid="u", index=0, model=evil),))
    families = list(text_string_to_metric_families(write(node_families(report, age_seconds=0.0))))
    assert "forged_metric" not in {family.name for family in families}
    assert [f.samples[0].labels["model"] for f in families if f.name == "gpuboard_gpu_info"] == [evil]


def test_a_card_of_another_vendor_has_its_own_drivers_name() -> None:
    """Beside NVIDIA's it has a number of four digits, of which its driver knows the last three."""
    gpus = (
        GpuReading(uuid="GPU-0", index=3, temperature_celsius=40),
        GpuReading(uuid="a-0", index=1003, vendor="amd", temperature_celsius=50),
    )
    families = text_string_to_metric_families(write(dcgm_families(NodeReport(node="a", gpus=gpus))))
    labels = [s.labels for f in families if f.name == "DCGM_FI_DEV_GPU_TEMP" for s in f.samples]
    assert [(one["gpu"], one["device"]) for one in labels] == [("3", "nvidia3"), ("1003", "amd3")]


def test_memory_is_added_up_per_user() -> None:
    """Two processes of one person are one sample."""
    processes = (
        GpuProcess(pid=1, user="ana", memory_used_bytes=5),
        GpuProcess(pid=2, user="ana", memory_used_bytes=7),
        GpuProcess(pid=3, uid=4711, memory_used_bytes=1),
    )
    report = NodeReport(node="a", gpus=(GpuReading(uuid="u", index=0, processes=processes),))
    families = text_string_to_metric_families(write(node_families(report, age_seconds=0.0)))
    held = {
        s.labels["user"]: s.value
        for f in families
        if f.name == "gpuboard_gpu_user_memory_bytes"
        for s in f.samples
    }
    assert held == {"ana": 12, "uid 4711": 1}


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (0.25, "0.25"), (2**53, "9007199254740992")])
def test_numbers_are_written_short(value: float, text: str) -> None:
    """Whole numbers have no fraction."""
    assert write([Family(name="m", help="h", samples=[({}, value)])]).endswith(f"m {text}\n")
