"""Files written by `gpustat --json`, of all its versions."""

import re
from datetime import datetime
from typing import Final

from gpuboard.model.report import GpuProcess, HostFacts, NodeReport
from gpuboard.probes.nvidia_smi.values import program_name, size, word
from gpuboard.sources.formats.base import FileTexts, as_text, read_gpus, read_json, report_of

PROBE: Final = "gpustat"
_LOOK: Final = 4096
# What gpustat writes in a name's place when a GPU cannot be opened.
_LOST: Final = re.compile(r"\(\(.*\)\)")
# How gpustat says that it does not know a user or a command.
_UNKNOWN: Final = {"?", "??", "--"}


def is_gpustat_json(data: bytes) -> bool:
    """Whether this looks like `gpustat --json`."""
    start = data[:_LOOK]
    return start.lstrip().startswith(b"{") and b'"query_time"' in data and b'"gpus"' in data


def read_gpustat_json(data: bytes, node: str) -> NodeReport:
    """Read a file written by `gpustat --json`; of command lines, only the program's name is kept."""
    found = read_json(data)
    return report_of(
        read_gpus(found, node, gpu=gpu_texts, processes="processes", process=_process),
        node,
        probe=PROBE,
        host=HostFacts(
            hostname=word(as_text(found.get("hostname"))),
            driver_version=word(as_text(found.get("driver_version"))),
        ),
        taken_at=_utc(as_text(found.get("query_time"))),
    )


def _utc(text: str | None) -> float | None:
    """The moment that a text tells; None for local time without a zone, which could be any."""
    try:
        moment = datetime.fromisoformat(text or "")
        return None if moment.tzinfo is None else max(moment.timestamp(), 0.0)
    except (ValueError, OverflowError):
        return None


def name(text: str | None) -> str | None:
    """A user's or program's name; None where gpustat does not know it."""
    plain = word(text)
    return None if plain in _UNKNOWN else plain


def gpu_texts(texts: FileTexts) -> FileTexts:
    """One GPU's texts under the names of nvidia-smi, which gpustat uses too; a lost GPU says so."""
    lost = _LOST.fullmatch(texts.get("name", "").strip())
    return {**texts, "name": "GPU is lost"} if lost else texts


def _process(pid: int, texts: FileTexts) -> GpuProcess:
    return GpuProcess(
        pid=pid,
        user=name(texts.get("username", texts.get("user"))),
        memory_used_bytes=size(texts.get("gpu_memory_usage", texts.get("used_memory"))),
        program=name(program_name(texts.get("command", texts.get("comm")))),
    )
