"""The sentences that nvidia-smi prints instead of data, or beside it, turned into problems."""

import re
from typing import Final, NamedTuple

from gpuboard.model.errors import ProbeError, ProbeFailed, ProbeUnavailable
from gpuboard.model.report import Problem
from gpuboard.probes.problems import Kind, problem

# First match wins. All of these mean that there is nothing else to read.
_FATAL: Final[tuple[tuple[str, type[ProbeError], Kind], ...]] = (
    ("driver/library version mismatch", ProbeFailed, "driver-mismatch"),
    ("couldn't communicate with the nvidia driver", ProbeUnavailable, "no-driver"),
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


class Messages(NamedTuple):
    """What the sentences said about single GPUs."""

    problems: tuple[Problem, ...]
    # The numbers of GPUs that the driver knows of but cannot open: the others keep theirs.
    lost_indexes: frozenset[int]


def read_messages(text: str) -> Messages:
    """Find the GPUs that the driver could not open."""
    problems = []
    indexes = set()
    for line in text.splitlines():
        match = _NO_HANDLE.search(line)
        if match is None:
            continue
        reason = match["reason"][:_QUOTED]
        refused = "permission" in reason.lower()
        where = match["bus"] or (f"GPU {match['index']}" if match["index"] else "unknown device")
        problems.append(problem("no-permission" if refused else "gpu-lost", f"{where.lower()} ({reason})"))
        if match["index"] is not None:
            indexes.add(int(match["index"]))
    return Messages(tuple(problems), frozenset(indexes))


def says_no_devices(text: str) -> bool:
    """Whether the driver runs and sees no GPU."""
    return _NO_DEVICES.search(text) is not None


def explain(text: str) -> ProbeError:
    """Say why an output holds no data."""
    plain = text.lower()
    for sentence, error, kind in _FATAL:
        if sentence in plain:
            return error(problem(kind, _detail(kind, text)))
    messages = read_messages(text)
    if messages.problems:
        return ProbeFailed(messages.problems[0])
    quoted = " ".join(text.split())[:_QUOTED]
    return ProbeFailed(problem("unreadable-output", repr(quoted) if quoted else "nothing was printed"))


def _detail(kind: Kind, text: str) -> str | None:
    if kind == "driver-mismatch":
        library = _LIBRARY.search(text)
        return f"the library has version {library[1]}" if library else None
    if kind == "driver-error":
        return next((line.strip()[:_QUOTED] for line in text.splitlines() if "nv" in line.lower()), None)
    return None
