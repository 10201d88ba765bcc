"""What a node of gpu-cluster-monitor answers to `POST /get-status`: old nodes under a new board."""

from collections.abc import Iterator
from typing import Any, Final

from gpuboard.model.errors import WireError
from gpuboard.model.report import Address, GpuProcess, HostFacts, NodeReport
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.readings import Device, read_device
from gpuboard.probes.nvidia_smi.values import count, program_name, size, word
from gpuboard.sources.formats.base import as_text, read_json, report_of

PROBE: Final = "node_info"
# Its names, and those that nvidia-smi has for the same.
_NAMES: Final = {
    "uuid": "uuid",
    "name": "name",
    "use_mem": "memory.used",
    "tot_mem": "memory.total",
    "utilize": "utilization.gpu",
    "temp": "temperature.gpu",
}
_PAIR: Final = 2


def decode_seed4(data: bytes, node: str) -> NodeReport:
    """Read the status of one old node; of command lines, only the program's name is kept.

    Raises:
        WireError: it is no such status, or breaks a limit.
    """
    status = read_json(data)
    gpus = status.get("gpus")
    if not isinstance(gpus, list):
        raise WireError("no list of GPUs in it")
    devices = list(_devices(gpus, node))
    return report_of(
        Devices(
            gpus=tuple(device.reading for device in devices),
            problems=tuple(problem for device in devices for problem in device.problems),
        ),
        node,
        probe=PROBE,
        host=HostFacts(
            hostname=word(as_text(status.get("hostname"))), addresses=tuple(_addresses(status.get("ips")))
        ),
    )


def sample_mark(data: bytes) -> str | None:
    """The text by which the node marks its sample: local time without zone, so only good to be compared.

    A node that answers with the same mark again and again is frozen, however promptly it answers.
    """
    return word(as_text(read_json(data).get("last_update")))


def _devices(gpus: list[Any], node: str) -> Iterator[Device]:
    for number, gpu in enumerate(gpus):
        if not isinstance(gpu, dict):
            raise WireError("a GPU in it is no object")
        texts = {ours: text for its, ours in _NAMES.items() if (text := as_text(gpu.get(its))) is not None}
        index = count(as_text(gpu.get("index")), high=10_000)
        yield read_device(
            texts,
            index=number if index is None else index,
            node=node,
            processes=_processes(gpu.get("users")),
        )


def _processes(users: object) -> tuple[GpuProcess, ...] | None:
    if not isinstance(users, list):
        return None
    found: dict[int, GpuProcess] = {}
    for user in users:
        texts = {key: as_text(value) for key, value in user.items()} if isinstance(user, dict) else {}
        pid = count(texts.get("pid"))
        if pid is not None:
            found[pid] = GpuProcess(
                pid=pid,
                user=word(texts.get("username")),
                memory_used_bytes=size(texts.get("mem(MiB)")),
                program=program_name(texts.get("command")),
                kind="compute",
            )
    return None if users and not found else tuple(found.values())


def _addresses(ips: object) -> Iterator[Address]:
    for pair in ips if isinstance(ips, list) else ():
        if isinstance(pair, list) and len(pair) == _PAIR:
            interface, address = (word(as_text(part)) for part in pair)
            if interface and address:
                yield Address(interface=interface, address=address)
