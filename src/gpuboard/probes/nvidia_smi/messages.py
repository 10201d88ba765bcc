"""The sentences that nvidia-smi prints instead of data, or beside it, turned into problems."""

import re
from typing import Final, NamedTuple

from gpuboard.model.errors import ProbeError, ProbeFailed, ProbeUnavailable
from gpuboard.model.problems import ProblemKind, problem

# Says nvidia-smi itself, which comes with the driver; a shell only says that there is none.
_IS_INSTALLED: Final = "couldn't communicate with the nvidia driver"
# First match wins. All of these mean that there is nothing else to read.
_FATAL: Final[tuple[tuple[str, type[ProbeError], ProblemKind], ...]] = (
    ("driver/library version mismatch", ProbeFailed, "driver-mismatch"),
    ("nvml/rm version mismatch", ProbeFailed, "driver-mismatch"),
    (_IS_INSTALLED, ProbeUnavailable, "no-driver"),
    ("couldn't find libnvidia-ml.so", ProbeUnavailable, "no-driver"),
    ("driver not loaded", ProbeUnavailable, "no-driver"),
    ("nvidia-smi: command not found", ProbeUnavailable, "no-driver"),
    ("nvidia-smi: not found", ProbeUnavailable, "no-driver"),
    ("nvidia-smi: no such file", ProbeUnavailable, "no-driver"),
    ("failed to initialize nvml: insufficient permissions", ProbeFailed, "no-permission"),
    ("failed to initialize nvml: no permission", ProbeFailed, "no-permission"),
    ("gpu access blocked by the operating system", ProbeFailed, "no-permission"),
    ("failed to initialize nvml", ProbeFailed, "driver-error"),
    ("nvidia-smi has failed", ProbeFailed, "driver-error"),
)
# Old drivers write `GPU 0000:0B:00.0:`, then `GPU0000:0B:00.0:`, new ones `GPU1: 0000:0B:00.0:`.
_NO_HANDLE: Final = re.compile(
    r"unable to (?:determine|detect) the device handle for gpu\s*(?:(?P<index>\d{1,3}):\s*)?"
    r"(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])?:?\s*(?P<reason>.*)",
    re.IGNORECASE,
)
_LIBRARY: Final = re.compile(r"nvml library version: *([\w.]{1,40})", re.IGNORECASE)
_NO_DEVICES: Final = re.compile(r"^no devices (?:were )?found", re.IGNORECASE | re.MULTILINE)
_QUOTED: Final = 200


class Unopened(NamedTuple):
    """A GPU that the driver knows of but cannot open."""

    number: int | None
    bus_id: str | None
    kind: ProblemKind
    reason: str


def unopened_gpus(text: str) -> tuple[Unopened, ...]:
    """Find the GPUs that the driver could not open; the others answer as ever."""
    found: dict[tuple[int | None, str | None], Unopened] = {}
    for line in text.splitlines():
        match = _NO_HANDLE.search(line)
        if match is not None:
            number = None if match["index"] is None else int(match["index"])
            bus_id = match["bus"] and match["bus"].lower()
            reason = match["reason"][:_QUOTED]
            kind: ProblemKind = "no-permission" if "permission" in reason.lower() else "gpu-lost"
            found[number, bus_id] = Unopened(number, bus_id, kind, reason)
    return tuple(found.values())


def says_no_devices(text: str) -> bool:
    """Whether the driver runs and sees no GPU, not even one that it cannot open."""
    return _NO_DEVICES.search(text) is not None and not unopened_gpus(text)


def explain(text: str) -> ProbeError:
    """Say why an output holds no data."""
    plain = text.lower()
    for sentence, error, kind in _FATAL:
        if sentence in plain:
            return error(problem(kind, _detail(kind, text)))
    for gpu in unopened_gpus(text):
        return ProbeFailed(problem(gpu.kind, f"{gpu.bus_id or gpu.number} ({gpu.reason})"))
    quoted = " ".join(text.split())[:_QUOTED]
    return ProbeFailed(problem("unreadable-output", repr(quoted) if quoted else "nothing was printed"))


def _detail(kind: ProblemKind, text: str) -> str | None:
    if kind == "driver-mismatch":
        library = _LIBRARY.search(text)
        return f"the library has version {library[1]}" if library else None
    if kind == "no-driver":
        return "nvidia-smi is installed and cannot reach it" if _IS_INSTALLED in text.lower() else None
    if kind == "driver-error":
        return next((line.strip()[:_QUOTED] for line in text.splitlines() if "nv" in line.lower()), None)
    return None
