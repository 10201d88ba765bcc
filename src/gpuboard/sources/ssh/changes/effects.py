"""What one text of a device decides by itself: a figure, a reason, nothing; most others decide about more."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from gpuboard.probes.nvidia_smi.readings import ECC, FIGURES, NAMES, THROTTLE
from gpuboard.probes.nvidia_smi.values import silence, size, word

# What else is read of a device and of a process, by those who sort processes and MIG instances.
_OF_DEVICE: Final = {"index", "gpu_instance_id", "compute_instance_id", "processes", "compute_processes"}
_OF_PROCESS: Final = {"pid", "type", "process_name", "gpu_instance_id", "compute_instance_id"}
_OF_LOG: Final = {"driver_version", "cuda_version"}
_READ: Final = {*_OF_DEVICE, *ECC, *(name for names in NAMES.values() for name in names)}
_STATES: Final = {"Active": True, "Not Active": False}


class Effect(NamedTuple):
    """What another text in this place does, when `read` makes something of it (None: ask those who know)."""

    read: Callable[[str], Any]
    # The field that it fills, or the reason that it switches; neither when nobody looks at it.
    field: str = ""
    reason: str | None = None


# A value where nobody looks for one changes nothing; whether it is a value may matter.
NO_EFFECT: Final = Effect(word)


def device_effects(texts: Mapping[str, str]) -> dict[str, Effect]:
    """Say what each of a device's texts does; those that are left out do not stand for themselves."""
    found = {path: NO_EFFECT for path in texts if path not in _READ and not path.startswith(THROTTLE)}
    for key, (field, read) in FIGURES.items():
        # The first value counts. Those behind it must stay values, or their silence is a problem's text.
        given = [path for path in NAMES[key] if path in texts and silence(texts[path]) is None]
        found.update(dict.fromkeys(given[1:], NO_EFFECT))
        found.update(dict.fromkeys(given[:1], Effect(read, field)))
    found.update(_reason_effects(texts))
    return found


def _reason_effects(texts: Mapping[str, str]) -> dict[str, Effect]:
    reasons: dict[str, str] = {}
    for path in texts:
        prefix = next((prefix for prefix in THROTTLE if path.startswith(prefix)), None)
        if prefix is not None:
            reasons[path] = path.removeprefix(prefix)
    names = list(reasons.values())
    return {
        path: Effect(_STATES.get, reason=name)
        for path, name in reasons.items()
        if texts[path] in _STATES and names.count(name) == 1
    }


def process_effects(texts: Mapping[str, str]) -> dict[str, Effect]:
    """Say what each text of a process does that no other of its pid contradicts."""
    found = {path: NO_EFFECT for path in texts if path not in _OF_PROCESS}
    if "used_memory" in texts:
        found["used_memory"] = Effect(size, "memory_used_bytes")
    return found


def log_effects(texts: Mapping[str, str]) -> dict[str, Effect]:
    """Say what each text around the devices does: the time is read by nobody."""
    return {path: NO_EFFECT for path in texts if path not in _OF_LOG}
