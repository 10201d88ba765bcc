"""`nvidia-smi -q -x` of the drivers of the last ten years, read into devices."""

from collections.abc import Container, Iterable, Iterator

import msgspec

from gpuboard.model.errors import ProbeFailed
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, GpuReading, ProcessKind
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.document import Document, NotADocumentError, Record, read_document
from gpuboard.probes.nvidia_smi.messages import explain, says_no_devices, unopened_gpus
from gpuboard.probes.nvidia_smi.readings import Device, read_device, unopened_devices
from gpuboard.probes.nvidia_smi.values import count, program_name, size, word
from gpuboard.wire.text import decode_text

_KINDS: dict[str, ProcessKind] = {"c": "compute", "g": "graphics", "c+g": "both", "m+c": "compute"}
_Instance = tuple[str | None, str | None]


def parse_xml(data: bytes, *, node: str = "local") -> Devices:
    """Turn the driver's document into devices; of a cut-off one, those GPUs that are whole.

    Raises:
        ProbeUnavailable: the output says that there is no driver.
        ProbeFailed: it says what else is wrong, or is no such document (kind `unreadable-output`).
    """
    text = decode_text(data)
    try:
        document = read_document(text)
    except NotADocumentError as error:
        return _without_document(text, reason=str(error))
    if not document.gpus and not document.is_whole:
        raise ProbeFailed(problem("truncated-output", "before the first GPU was whole"))
    return _devices(document, node)


def _without_document(text: str, *, reason: str) -> Devices:
    if says_no_devices(text):
        return Devices(gpus=(), problems=(problem("no-devices"),))
    error = explain(text)
    if error.problem.kind == "unreadable-output" and text.strip():
        raise ProbeFailed(problem("unreadable-output", reason))
    raise error


def _devices(document: Document, node: str) -> Devices:
    lost = {gpu.number for gpu in unopened_gpus(document.around)}
    found: list[Device] = []
    for index, record in zip(_indexes(lost), document.gpus, strict=False):
        found.extend(_gpu(record, index=index, node=node))
    taken = [device.reading.index for device in found if device.reading.mig_parent_uuid is None]
    found.extend(unopened_devices(document.around, taken=taken, node=node))
    problems = [one for device in found for one in device.problems]
    if not document.is_whole:
        problems.append(problem("truncated-output", f"{len(document.gpus)} GPUs are whole"))
    elif not found:
        problems.append(problem("no-devices"))
    return Devices(
        gpus=tuple(device.reading for device in found),
        problems=tuple(problems),
        driver_version=word(document.texts.get("driver_version")),
        cuda_version=word(document.texts.get("cuda_version")),
    )


def _indexes(lost: Container[int | None]) -> Iterator[int]:
    # The document does not number its GPUs: they stand in order, without those that could not be opened.
    index = 0
    while True:
        if index not in lost:
            yield index
        index += 1


def _gpu(record: Record, *, index: int, node: str) -> Iterator[Device]:
    """Read one GPU, then its MIG instances; each has the processes that run on it."""
    instances = record.all("mig_device")
    on: dict[_Instance, list[Record]] = {_instance(instance): [] for instance in instances}
    own: list[Record] = []
    for process in record.all("process_info"):
        on.get(_instance(process), own).append(process)
    # An empty list is empty; `N/A` in its place means that the driver cannot list processes.
    known = record.texts.get("processes", record.texts.get("compute_processes")) == ""
    device = read_device(record.texts, index=index, node=node, processes=_processes(own) if known else None)
    yield device
    for number, instance in enumerate(instances):
        # Of two with the same numbers nobody can tell whose processes they are: the first has them.
        theirs = on.pop(_instance(instance), None)
        listed = _processes(theirs) if known and theirs is not None else None
        yield _mig(instance, device.reading, number, listed)


def _instance(record: Record) -> _Instance:
    return word(record.texts.get("gpu_instance_id")), word(record.texts.get("compute_instance_id"))


def _mig(record: Record, parent: GpuReading, number: int, processes: tuple[GpuProcess, ...] | None) -> Device:
    """Read one MIG instance; most drivers leave its UUID out, so the older form of its name stands in."""
    index = count(record.texts.get("index"), high=1000)
    device = read_device(record.texts, index=number if index is None else index, node="", processes=processes)
    uuid = device.reading.uuid
    if device.reading.uuid_is_synthetic:
        of_gpu, of_compute = _instance(record)
        uuid = f"MIG-{parent.uuid}/{of_gpu or number}/{of_compute or 0}"[:256]
    reading = msgspec.structs.replace(
        device.reading,
        uuid=uuid,
        model=parent.model,
        mig_parent_uuid=parent.uuid,
        pcie_bus_id=parent.pcie_bus_id,
    )
    return Device(reading, tuple(msgspec.structs.replace(found, gpu_uuid=uuid) for found in device.problems))


def _processes(records: Iterable[Record]) -> tuple[GpuProcess, ...] | None:
    """Read processes; one that both computes and draws is listed twice by some drivers, and joined here."""
    found: dict[int, GpuProcess] = {}
    nameless = False
    for record in records:
        pid = count(record.texts.get("pid"))
        if pid is None:
            nameless = True
            continue
        process = GpuProcess(
            pid=pid,
            kind=_KINDS.get(record.texts.get("type", "C").strip().lower()),
            memory_used_bytes=size(record.texts.get("used_memory")),
            program=program_name(record.texts.get("process_name")),
        )
        found[pid] = _joined(found[pid], process) if pid in found else process
    # Somebody is there whom we cannot name: then nobody is known to be absent.
    return None if nameless and not found else tuple(found.values())


def _joined(one: GpuProcess, other: GpuProcess) -> GpuProcess:
    kind = one.kind if one.kind == other.kind else "both"
    sizes = [found for found in (one.memory_used_bytes, other.memory_used_bytes) if found is not None]
    return msgspec.structs.replace(one, kind=kind, memory_used_bytes=max(sizes, default=None))
