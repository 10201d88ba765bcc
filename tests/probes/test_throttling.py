from gpuboard.probes.throttling import REASONS, reasons_by_name, reasons_in_mask
from gpuboard.verdict.judge import SLOWDOWNS


def test_every_slowdown_that_the_verdict_flags_can_be_told() -> None:
    """The verdict's words and the probes' words are the same ones."""
    assert {reason.word for reason in REASONS} >= SLOWDOWNS


def test_bits_and_names_tell_the_same() -> None:
    """NVML gives bits, nvidia-smi gives names."""
    assert reasons_in_mask(0x24) == reasons_by_name(["sw_power_cap", "sw_thermal_slowdown"])


def test_an_idle_gpu_is_not_held_back() -> None:
    """It lowers its clocks by itself."""
    assert reasons_in_mask(0x1) == reasons_by_name(["gpu_idle"]) == ()
