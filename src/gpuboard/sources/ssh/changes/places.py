"""Which line of a document fills which field: found by reading it with line numbers in place of texts."""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.document import NotADocumentError, Record, read_document
from gpuboard.probes.nvidia_smi.values import count
from gpuboard.sources.ssh.changes.effects import Effect, device_effects, log_effects, process_effects
from gpuboard.wire.text import decode_text

# A line that is one element with a plain text: with another such text, all other lines still mean the same.
LEAF: Final = re.compile(r"([ \t]*<(\w{1,64})>)([ -%'-;=?-~]{0,128})</\2>", re.ASCII)
# In these a line could look like an element and be none.
_DISGUISES: Final = ("<!--", "<![")
# Nobody can guess it, so no document can hold it.
_MARK: Final = f"{secrets.token_hex(8)} "
# So many plans are kept once for all nodes that have the same. Nodes choose the lines: longer documents, of
# which none is honest, are not kept, so that all together stay below some tens of megabytes.
_SHARED_PLANS: Final = 32
_SHARED_LINES: Final = 8192
_SHARED_LETTERS: Final = 256 * 1024


class LinePlace(NamedTuple):
    """Where a line's text goes: to a device, or to one of its processes, by their positions."""

    # The line up to its text.
    start: str
    device: int
    process: int | None
    effect: Effect


# One for each line; None: another text there may change anything.
LinePlaces = tuple[LinePlace | None, ...]


def find_places(data: bytes, devices: Devices) -> LinePlaces | None:
    """Say what each line of a document is for, given what it was read into; None when that cannot be told."""
    # Byte by byte, so that lines are the same as for those who compare them.
    text = data.decode("latin-1")
    if any(disguise in text for disguise in _DISGUISES):
        return None
    lines = text.split("\n")
    leaves = [LEAF.fullmatch(line) for line in lines]
    marked = "\n".join(
        line if leaf is None else f"{leaf[1]}{_MARK}{at}{line[leaf.end(3) :]}"
        for at, (line, leaf) in enumerate(zip(lines, leaves, strict=True))
    )
    try:
        document = read_document(decode_text(marked.encode("latin-1")))
    except NotADocumentError:
        return None
    if not document.is_whole:
        return None
    found = _Lines(leaves)
    found.put(document.texts, log_effects(found.real(document.texts)), device=0)
    position = 0
    for gpu in document.gpus:
        position += found.put_gpu(gpu, devices, position)
    places = tuple(found.places)
    return _shared(places) if _is_modest(places) else places


def _is_modest(places: LinePlaces) -> bool:
    letters = sum(len(place.start) for place in places if place is not None)
    return len(places) <= _SHARED_LINES and letters <= _SHARED_LETTERS


@lru_cache(_SHARED_PLANS)
def _shared(places: LinePlaces) -> LinePlaces:
    """Nodes with the same GPUs have the same places: they are kept once."""
    return places


class _Lines:
    """The lines of one document, each with its place as far as it is known."""

    def __init__(self, leaves: Sequence[re.Match[str] | None]) -> None:
        self._leaves = leaves
        self.places: list[LinePlace | None] = [None] * len(leaves)

    def put_gpu(self, gpu: Record, devices: Devices, position: int) -> int:
        """Note the lines of a GPU, its instances and its processes; return how many devices it is."""
        records = [gpu, *gpu.all("mig_device")]
        for device, record in enumerate(records, position):
            self.put(record.texts, device_effects(self.real(record.texts)), device=device)
        among = range(position, position + len(records))
        processes = [(record.texts, self.real(record.texts)) for record in gpu.all("process_info")]
        pids = [count(texts.get("pid")) for _, texts in processes]
        for pid, (marked, texts) in zip(pids, processes, strict=True):
            homes = [*_homes(pid, devices, among)]
            if len(homes) == 1 and pids.count(pid) == 1:
                self.put(marked, process_effects(texts), device=homes[0][0], process=homes[0][1])
        return len(records)

    def put(
        self,
        marked: Mapping[str, str],
        effects: Mapping[str, Effect],
        *,
        device: int,
        process: int | None = None,
    ) -> None:
        """Note the lines of one record."""
        for path, effect in effects.items():
            line, leaf = self._leaf(marked[path])
            if leaf is not None:
                self.places[line] = LinePlace(leaf[1], device, process, effect)

    def real(self, marked: Mapping[str, str]) -> dict[str, str]:
        """The texts as they stand in the document."""
        found = {path: self._leaf(text)[1] for path, text in marked.items()}
        return {path: marked[path] if leaf is None else leaf[3].strip() for path, leaf in found.items()}

    def _leaf(self, marked: str) -> tuple[int, re.Match[str] | None]:
        if not marked.startswith(_MARK):
            return -1, None
        line = int(marked.removeprefix(_MARK))
        return line, self._leaves[line]


def _homes(pid: int | None, devices: Devices, among: range) -> Iterator[tuple[int, int]]:
    for device in among:
        for position, process in enumerate(devices.gpus[device].processes or ()):
            if process.pid == pid:
                yield device, position
