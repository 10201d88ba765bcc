"""What every format of files promises, and the one way by which what it read becomes a report."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from gpuboard.model.errors import NOT_DECODED, ProbeError, WireError
from gpuboard.model.report import GpuProcess, HostFacts, NodeReport
from gpuboard.probes.base import Devices
from gpuboard.probes.fit import fit
from gpuboard.probes.nvidia_smi.readings import read_device
from gpuboard.probes.nvidia_smi.values import count
from gpuboard.wire.json_keys import refuse_twice
from gpuboard.wire.report import check_report

# nvidia-smi's XML is by far the longest: about 70 kB a GPU.
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
# Python refuses to write out an integer of thousands of digits.
_LARGEST: Final = 2**63
# Outputs that say nothing about the machine; everything else that goes wrong is a fact about it.
_NOT_DATA: Final = {"unreadable-output", "truncated-output"}

FileTexts = Mapping[str, str]


class Format(NamedTuple):
    """One kind of file that a node may leave in a folder."""

    name: str
    # Whether a file looks like this kind; never raises.
    sniff: Callable[[bytes], bool]
    # Reads a whole file; raises WireError when it is not whole or not of this kind.
    read: Callable[[bytes, str], NodeReport]


def finished(report: NodeReport) -> NodeReport:
    """Put a report that was made of foreign text through the same checks as one from an agent.

    Raises:
        WireError: it breaks a limit.
    """
    try:
        checked = msgspec.convert(msgspec.to_builtins(fit(report)), NodeReport)
    except (msgspec.ValidationError, RecursionError) as error:
        raise WireError(f"not a valid report: {error}") from None
    return check_report(checked)


def report_of(
    devices: Devices,
    node: str,
    *,
    probe: str,
    host: HostFacts | None = None,
    taken_at: float | None = None,
    age_seconds: float = 0.0,
) -> NodeReport:
    """Make a report of devices that were read from one whole file.

    Raises:
        WireError: the file was cut off, or breaks a limit.
    """
    for found in devices.problems:
        # A folder is read again in a moment; until then the last whole file is worth more than half of one.
        if found.kind in _NOT_DATA:
            raise WireError(f"half-written: {found.text}")
    facts = host or HostFacts()
    host = msgspec.structs.replace(
        facts,
        driver_version=devices.driver_version or facts.driver_version,
        cuda_version=devices.cuda_version or facts.cuda_version,
    )
    return finished(
        NodeReport(
            node=node,
            probe=probe,
            taken_at=taken_at,
            age_seconds=age_seconds,
            host=None if host == HostFacts() else host,
            gpus=devices.gpus,
            problems=devices.problems,
        )
    )


def report_of_failure(error: ProbeError, node: str, *, probe: str) -> NodeReport:
    """Make a report of a driver that said why it has nothing to say.

    Raises:
        WireError: it was not the driver that spoke.
    """
    if error.problem.kind in _NOT_DATA:
        raise WireError(error.problem.text)
    return finished(NodeReport(node=node, probe=probe, gpus=None, problems=(error.problem,)))


def whole_lines(text: str) -> str:
    """Return a text of lines, if its last line is whole.

    Raises:
        WireError: the last line has no end, so the file is still being written.
    """
    if not text.endswith("\n"):
        raise WireError("half-written: the last line has no end")
    return text


def read_json(data: bytes) -> dict[str, Any]:
    """Read a file that should be one JSON object.

    Raises:
        WireError: it is not, or not whole, or a key stands twice in it.
    """
    try:
        found = msgspec.json.decode(data)
    except (*NOT_DECODED, ValueError) as error:
        raise WireError(f"not whole JSON: {str(error) or type(error).__name__}") from None
    refuse_twice(data)
    if not isinstance(found, dict):
        raise WireError(f"a JSON object was expected, not {type(found).__name__}")
    return found


def read_gpus(
    document: Mapping[str, Any],
    node: str,
    *,
    gpu: Callable[[FileTexts], FileTexts],
    processes: str,
    process: Callable[[int, FileTexts], GpuProcess],
) -> Devices:
    """Read the GPUs of a JSON object, whatever words its tool has for them.

    `gpu` puts one under the names of nvidia-smi; its processes stand under the key `processes`, and `process`
    makes one of its pid and texts.

    Raises:
        WireError: it has no list of GPUs.
    """
    gpus = document.get("gpus")
    if not isinstance(gpus, list) or not all(isinstance(each, dict) for each in gpus):
        raise WireError("no list of GPUs in it")
    devices = []
    for number, (each, texts) in enumerate((each, _texts(each)) for each in gpus):
        index = count(texts.get("index"), high=10_000)
        on_it = _processes(each.get(processes), process)
        devices.append(
            read_device(gpu(texts), index=number if index is None else index, node=node, processes=on_it)
        )
    return Devices(
        gpus=tuple(device.reading for device in devices),
        problems=tuple(problem for device in devices for problem in device.problems),
    )


def _processes(
    found: object, process: Callable[[int, FileTexts], GpuProcess]
) -> tuple[GpuProcess, ...] | None:
    """Read processes; tools write null, or one process without anything, where they cannot list them."""
    if not isinstance(found, list):
        return None
    listed = [_texts(each) for each in found if isinstance(each, dict)]
    known = {pid: texts for texts in listed if (pid := count(texts.get("pid"))) is not None}
    return None if found and not known else tuple(process(pid, texts) for pid, texts in known.items())


def _texts(found: Mapping[str, object]) -> FileTexts:
    return {key: text for key, value in found.items() if (text := as_text(value)) is not None}


def as_text(value: object) -> str | None:
    """A JSON value as a table would hold it; old tools write numbers as texts, new ones as numbers."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, int) and abs(value) > _LARGEST:
        return None
    return str(value)
