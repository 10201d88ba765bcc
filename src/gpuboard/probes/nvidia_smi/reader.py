"""One node's documents in turn: of one that is much like the last, only the lines that changed are read.

Most of what a driver writes is the same every time. What a line means is found out once, and holds as long as
only figures change. When another line changes, or a figure goes silent, the document is read whole. Either
way the devices are the same.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import compress
from operator import ne
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from gpuboard.model.report import GpuReading
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.places import LEAF, Place, Places, find_places
from gpuboard.probes.nvidia_smi.xml import parse_xml
from gpuboard.probes.throttling import with_states

# Longer documents are not remembered: many nodes share the board's memory.
_LONGEST: Final = 256 * 1024
# Where documents change in other ways again and again, up to so many are read whole before looking closer.
_LONGEST_PAUSE: Final = 63
_LEAVES: Final = re.compile(rf"^{LEAF.pattern}$", LEAF.flags | re.MULTILINE)


class _Last(NamedTuple):
    data: bytes
    devices: Devices


class DocumentReader:
    """Reads the documents of one node."""

    def __init__(self, node: str = "local") -> None:
        self._node = node
        self._last: _Last | None = None
        self._places: Places | None = None
        self._pause = 0
        self._next_pause = 0

    def read(self, data: bytes) -> Devices:
        """Turn the driver's next document into devices.

        Raises:
            ProbeUnavailable: the output says that there is no driver.
            ProbeFailed: it says what else is wrong, or is no such document (kind `unreadable-output`).
        """
        last, self._last = self._last, None
        devices = None if last is None else self._read_changes(last, data)
        if devices is None:
            self._places = None
            devices = parse_xml(data, node=self._node)
        if len(data) <= _LONGEST:
            self._last = _Last(data, devices)
        return devices

    def _read_changes(self, last: _Last, data: bytes) -> Devices | None:
        """Read the changed lines alone; None when they may mean more than their figures."""
        if data == last.data:
            return last.devices
        leaves = _changed_leaves(last.data, data)
        if leaves is None:
            return None
        places = self._places or self._find_places(last)
        if places is None:
            return None
        devices = _with_changes(last.devices, ((places[line], text) for line, text in leaves))
        if devices is not None:
            self._pause = self._next_pause = 0
        return devices

    def _find_places(self, last: _Last) -> Places | None:
        # It takes as long as reading a document whole, in vain where strange changes follow each other.
        if self._pause:
            self._pause -= 1
            return None
        self._pause, self._next_pause = self._next_pause, min(_LONGEST_PAUSE, 2 * self._next_pause + 1)
        self._places = find_places(last.data, last.devices)
        return self._places


def _changed_leaves(before: bytes, now: bytes) -> list[tuple[int, str]] | None:
    """The lines that changed, with their new texts; None unless all are elements with plain texts."""
    # Byte by byte: what is not plain ASCII is no leaf.
    old, new = before.decode("latin-1").split("\n"), now.decode("latin-1").split("\n")
    if len(old) != len(new):
        return None
    changed = [*compress(range(len(new)), map(ne, old, new))]
    leaves = _LEAVES.findall("\n".join([new[line] for line in changed]))
    if len(leaves) != len(changed):
        return None
    found = []
    for line, (start, _, text) in zip(changed, leaves, strict=True):
        if not old[line].startswith(start):
            return None
        found.append((line, text.strip()))
    return found


def _with_changes(devices: Devices, changes: Iterable[tuple[Place | None, str]]) -> Devices | None:
    """Put new texts into their places; None when one has no place of its own, or is no value."""
    found: defaultdict[int, _Change] = defaultdict(_Change)
    for place, text in changes:
        if place is None:
            return None
        device, process, (read, field, reason) = place
        value = read(text)
        if value is None:
            return None
        if reason is not None:
            found[device].reasons[reason] = value
        elif field is not None and process is not None:
            found[device].processes[process][field] = value
        elif field is not None:
            found[device].fields[field] = value
    gpus = [*devices.gpus]
    for device, change in found.items():
        gpus[device] = change.of(gpus[device])
    return replace(devices, gpus=tuple(gpus))


class _Change:
    """What is new about one device."""

    __slots__ = ("fields", "processes", "reasons")

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.reasons: dict[str, bool] = {}
        self.processes: defaultdict[int, dict[str, Any]] = defaultdict(dict)

    def of(self, gpu: GpuReading) -> GpuReading:
        """The device as it is now."""
        if self.reasons:
            self.fields["throttle_reasons"] = with_states(gpu.throttle_reasons or (), self.reasons)
        if self.processes:
            processes = [*(gpu.processes or ())]
            for position, fields in self.processes.items():
                processes[position] = replace(processes[position], **fields)
            self.fields["processes"] = tuple(processes)
        return replace(gpu, **self.fields)
