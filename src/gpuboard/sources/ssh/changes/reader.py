"""One node's documents in turn: of one that is much like the last, only the lines that changed are read.

Most of what a driver writes is the same every time. What a line means is found out once, and holds as long as
only figures change. When another line changes, or a figure goes silent, the document is read whole. Either
way the devices are the same.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import compress
from operator import ne
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from gpuboard.model.report import GpuProcess, GpuReading
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.xml import parse_xml
from gpuboard.probes.throttling import with_states
from gpuboard.sources.ssh.changes.places import LEAF, LinePlace, LinePlaces, find_places

# Longer documents are not remembered: many nodes share the board's memory.
_LONGEST: Final = 256 * 1024
# Where documents change in other ways again and again, up to so many are read whole before looking closer.
_LONGEST_PAUSE: Final = 63
_LEAVES: Final = re.compile(rf"^{LEAF.pattern}$", LEAF.flags | re.MULTILINE)

# New values by device, and by process where it is one's own.
_Fields = defaultdict[tuple[int, int | None], dict[str, Any]]
_States = defaultdict[int, dict[str, bool]]


class _Last(NamedTuple):
    # None: it has changed since, and what it looks like now is known to others.
    data: bytes | None
    devices: Devices


class DocumentReader:
    """Reads the documents of one node."""

    def __init__(self, node: str = "local") -> None:
        self._node = node
        self._last: _Last | None = None
        self._places: LinePlaces | None = None
        self._pause = 0
        self._next_pause = 0

    def read(self, data: bytes) -> Devices:
        """Turn the driver's next document into devices.

        Raises:
            ProbeUnavailable: the output says that there is no driver.
            ProbeFailed: it says what else is wrong, or is no such document (kind `unreadable-output`).
        """
        last, self._last = self._last, None
        changes = None if last is None or last.data is None else _changed_lines(last.data, data)
        devices = None if last is None or changes is None else self._changed(last, changes)
        if devices is None:
            self._places = None
            devices = parse_xml(data, node=self._node)
        if len(data) <= _LONGEST:
            self._last = _Last(data, devices)
        return devices

    def read_changes(self, changes: Mapping[int, str]) -> Devices | None:
        """Return the devices after these lines of the last document became others; None: read it whole."""
        devices = None if self._last is None else self._changed(self._last, changes)
        self._last = None if devices is None else _Last(None, devices)
        return devices

    def _changed(self, last: _Last, changes: Mapping[int, str]) -> Devices | None:
        leaves = _LEAVES.findall("\n".join(changes.values()))
        if len(leaves) != len(changes):
            return None
        if not leaves:
            return last.devices
        places = self._places or self._find_places(last)
        if places is None:
            return None
        devices = _with_changes(last.devices, [places[line] for line in changes], leaves)
        if devices is not None:
            self._pause = self._next_pause = 0
        return devices

    def _find_places(self, last: _Last) -> LinePlaces | None:
        # It takes as long as reading a document whole, in vain where strange changes follow each other.
        if self._pause or last.data is None:
            self._pause = max(0, self._pause - 1)
            return None
        self._pause, self._next_pause = self._next_pause, min(_LONGEST_PAUSE, 2 * self._next_pause + 1)
        self._places = find_places(last.data, last.devices)
        return self._places


def _changed_lines(before: bytes, now: bytes) -> dict[int, str] | None:
    """The lines that became others; None when there are more or fewer than before."""
    # Byte by byte: what is not plain ASCII is no figure anyway.
    old, new = before.decode("latin-1").split("\n"), now.decode("latin-1").split("\n")
    if len(old) != len(new):
        return None
    return {line: new[line] for line in compress(range(len(new)), map(ne, old, new))}


def _with_changes(
    devices: Devices, places: Iterable[LinePlace | None], leaves: Iterable[tuple[str, str, str]]
) -> Devices | None:
    """Put new texts into their places; None when one has no place of its own, or is no value."""
    fields: _Fields = defaultdict(dict)
    states: _States = defaultdict(dict)
    for place, (start, _, text) in zip(places, leaves, strict=True):
        if place is None or place.start != start:
            return None
        _, device, process, (read, field, reason) = place
        value = read(text)
        if value is None:
            return None
        if field:
            fields[device, process][field] = value
        elif reason:
            states[device][reason] = value
    return replace(devices, gpus=_changed_gpus(devices.gpus, fields, states))


def _changed_gpus(gpus: tuple[GpuReading, ...], fields: _Fields, states: _States) -> tuple[GpuReading, ...]:
    processes: dict[int, list[GpuProcess]] = {}
    for (device, process), new in fields.items():
        if process is not None:
            own = processes.setdefault(device, [*(gpus[device].processes or ())])
            own[process] = replace(own[process], **new)
    for device, own in processes.items():
        fields[device, None]["processes"] = tuple(own)
    for device, changed in states.items():
        fields[device, None]["throttle_reasons"] = with_states(gpus[device].throttle_reasons or (), changed)
    return tuple(
        replace(gpu, **fields[device, None]) if (device, None) in fields else gpu
        for device, gpu in enumerate(gpus)
    )
