"""Who is there during the soak: honest nodes with known GPUs, hostile ones, and what may be shown of both."""

import time
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from gpuboard.model.report import GpuProcess, GpuReading, HostFacts, NodeReport

NODES: Final = tuple(f"honest-{number:02d}" for number in range(50))
# One more leaves its reports in the shared folder.
LEFT: Final = "left"
VIEWERS: Final = 20
INTERVAL_SECONDS: Final = 5.0
# Nodes of whoever attacks: one has a token, two are asked by the board, one is a file in the folder.
HOSTILE: Final = "hostile"
ASKED: Final = "127.0.0.1"
LOGGED_INTO: Final = "localhost"
DROPPED: Final = "evil"
STRANGERS: Final = frozenset({HOSTILE, ASKED, LOGGED_INTO, DROPPED})
WORDS: Final = ("free", "free", "busy", "busy")
MEMORY: Final = 24 * 1024**3


class Scene(Struct, frozen=True, kw_only=True):
    """All that the processes of the soak must know of each other."""

    url: str
    tokens: dict[str, str]
    # Where everybody may leave files, where the attackers listen, and with which key of a host.
    folder: str
    pull_port: int
    ssh_port: int
    host_key: str


def report(node: str, sequence: int) -> NodeReport:
    """What an honest node says: two of its GPUs are free, on two somebody computes."""
    gpus = tuple(_gpu(node, index, is_busy=word == "busy") for index, word in enumerate(WORDS))
    host = HostFacts(hostname=node, cpu_count=64, load_1=3.0)
    return NodeReport(
        node=node,
        boot_id="boot-1",
        sequence=sequence,
        taken_at=time.time(),
        interval_seconds=INTERVAL_SECONDS,
        host=host,
        gpus=gpus,
    )


def _gpu(node: str, index: int, *, is_busy: bool) -> GpuReading:
    process = GpuProcess(pid=100 + index, user="ana", program="train.py", memory_used_bytes=MEMORY // 2)
    return GpuReading(
        uuid=f"GPU-{node}-{index}",
        index=index,
        model="RTX 4090",
        memory_used_bytes=MEMORY // 2 if is_busy else 0,
        memory_total_bytes=MEMORY,
        utilization_percent=90.0 if is_busy else 0.0,
        processes=(process,) if is_busy else (),
    )


def falsehoods(fleet: dict[str, Any], summary: dict[str, Any]) -> list[str]:
    """What the board shows that is not so."""
    nodes = {node["name"]: node for node in fleet["nodes"]}
    strange = sorted(set(nodes) - {*NODES, LEFT} - STRANGERS)
    # Each of the attacker's files is a node, with trouble.
    found = [f"{name} was invented" for name in strange if not name.startswith(f"{DROPPED}.")]
    for name in (*NODES, LEFT):
        shown = nodes.get(name, {"state": "missing", "gpus": ()})
        gpus = [(gpu["uuid"], gpu["verdict"]["word"]) for gpu in shown["gpus"]]
        if shown["state"] != "live":
            found.append(f"{name} is {shown['state']}: {shown.get('reason')}")
        elif gpus != [(f"GPU-{name}-{index}", word) for index, word in enumerate(WORDS)]:
            found.append(f"{name} has {gpus}")
    of_strangers = sum(len(nodes[name]["gpus"]) for name in STRANGERS & set(nodes))
    least, most = len(WORDS) * len([*NODES, LEFT]), len(WORDS) * len([*NODES, LEFT]) + of_strangers
    # The summary may be a tick older than the fleet, but only strangers' GPUs change.
    if not least <= summary["gpus"] <= max(most, least + 8):
        found.append(f"{summary['gpus']} GPUs are counted, {least} to {most} are there")
    return found


def drop_path(scene: Scene) -> Path:
    """The file of the honest node in the folder."""
    return Path(scene.folder) / LEFT
