"""What a node of gpu-cluster-monitor answers to `POST /get-status`: old nodes under a new board."""

from collections.abc import Iterator
from typing import Final

from gpuboard.model.report import Address, GpuProcess, HostFacts, NodeReport
from gpuboard.probes.nvidia_smi.values import program_name, size, word
from gpuboard.sources.formats.base import FileTexts, as_text, read_gpus, read_json, report_of

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


def decode_node_info(data: bytes, node: str) -> NodeReport:
    """Read the status of one old node; of command lines, only the program's name is kept.

    Raises:
        WireError: it is no such status, or breaks a limit.
    """
    status = read_json(data)
    return report_of(
        read_gpus(status, node, gpu=_gpu, processes="users", process=_process),
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


def _gpu(texts: FileTexts) -> FileTexts:
    return {ours: texts[its] for its, ours in _NAMES.items() if its in texts}


def _process(pid: int, texts: FileTexts) -> GpuProcess:
    return GpuProcess(
        pid=pid,
        user=word(texts.get("username")),
        memory_used_bytes=size(texts.get("mem(MiB)")),
        program=program_name(texts.get("command")),
        kind="compute",
    )


def _addresses(ips: object) -> Iterator[Address]:
    for pair in ips if isinstance(ips, list) else ():
        if isinstance(pair, list) and len(pair) == _PAIR:
            interface, address = (word(as_text(part)) for part in pair)
            if interface and address:
                yield Address(interface=interface, address=address)
