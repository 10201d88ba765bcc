from gpuboard.probes.throttling import REASONS, reasons_by_name, reasons_in_mask, with_states
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


def test_reasons_come_and_go_one_by_one() -> None:
    """The others stay, in their order; names that are no reason change nothing."""
    before = reasons_by_name(["sw_power_cap", "sync_boost"])
    after = with_states(before, {"hw_slowdown": True, "sync_boost": False, "gpu_idle": True})
    assert after == reasons_by_name(["hw_slowdown", "sw_power_cap"])
