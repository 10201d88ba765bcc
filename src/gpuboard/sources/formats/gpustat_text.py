"""Files written by plain `gpustat -pcu`, from 0.3.1 to today, with or without colour."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from gpuboard.model.errors import WireError
from gpuboard.model.problems import problem
from gpuboard.model.report import GpuProcess, HostFacts, NodeReport, Problem
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.readings import Device, read_device
from gpuboard.probes.nvidia_smi.values import count, program_name, size, word
from gpuboard.sources.formats.base import report_of, whole_lines
from gpuboard.sources.formats.gpustat_json import PROBE, gpu_texts, name
from gpuboard.wire.text import decode_text

# A line is cut at its bars, each piece is short: so no expression below can be made to run for long.
# [0] GeForce GTX 1080 Ti | 64'C,  98 % | 10935 / 11172 MB | alice:python/12345(10925M) bob:…
_LOOK: Final = 64 * 1024
_PIECE: Final = 300
_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[@-~]|\x1b[()][A-Z0-9]|\x0f")
_INDEX: Final = re.compile(r"\[(\d{1,4})\]\s")
_VALUE: Final = r"(-?\d{1,9}(?:\.\d{1,9})?|\?{1,2})"
_LOAD: Final = re.compile(rf"{_VALUE}[^\w\s,]{{1,3}}C,(.*)")
_MEMORY: Final = re.compile(rf"{_VALUE} */ *{_VALUE} ([KMGT]i?B)")
_CODEC: Final = re.compile(r"\([ED]:[^)]*\)")
_PERCENT: Final = re.compile(rf"{_VALUE} %")
_POWER: Final = re.compile(rf", {{1,9}}{_VALUE} (?:/ {{1,9}}{_VALUE} )?W")
# A command may hold anything, blanks and brackets too; the pid and memory behind it end it.
_PROCESS_END: Final = re.compile(r"/(\d{1,19})\((\d{1,19}|\?)M\)(?=\s|$)")
_NO_GPUS: Final = "(No GPUs are available)"
_UNLISTED: Final = ("(Not Supported)", "--:--/--(?M)")
# Host, local time in the words of its locale, driver: `cml10  Sun Nov 15 12:00:01 2026  535.104.05`.
_HEADER: Final = re.compile(
    r"[A-Za-z0-9][\w.-]{0,254}\s+(?=.*\b\d{1,2}:\d\d:\d\d\b)(?=.*\b20\d\d\b).{12,120}"
)
_DRIVER: Final = re.compile(r"\d{2,4}(?:\.\d{1,4}){1,3}")


class _Gpu(NamedTuple):
    number: int
    texts: dict[str, str]
    # None where the options left them out.
    listed: str | None


def is_gpustat_text(data: bytes) -> bool:
    """Whether this looks like what gpustat prints."""
    lines = _COLOUR.sub("", decode_text(data[:_LOOK])).splitlines()[:100]
    return _is_begun(lines) or any(line.strip() == _NO_GPUS or _gpu(line) is not None for line in lines)


def _is_begun(lines: list[str]) -> bool:
    """Whether this is the header alone, or with what was written so far of the first line below it."""
    if not lines or _HEADER.fullmatch(lines[0].strip()) is None:
        return False
    return all(line.strip() == "" or line.startswith(("[", "(")) for line in lines[1:2])


def read_gpustat_text(data: bytes, node: str) -> NodeReport:
    """Read a file written by `gpustat -pcu`; GPUs are called by node and index, as it tells no UUID."""
    lines = _COLOUR.sub("", whole_lines(decode_text(data))).splitlines()
    gpus = list(_gpus(lines))
    if not gpus and _NO_GPUS not in map(str.strip, lines):
        raise WireError("half-written: it ends before its first GPU")
    devices = [_device(gpu, node) for gpu in gpus]
    problems = [problem for device in devices for problem in device.problems]
    problems.extend(_no_ids(gpus))
    return report_of(
        Devices(gpus=tuple(device.reading for device in devices), problems=tuple(problems)),
        node,
        probe=PROBE,
        host=_header(lines[0]),
    )


def _header(line: str) -> HostFacts | None:
    """The first line: host, local time of an unknown zone, and since 1.0 the driver's version."""
    words = line.split()
    if not words or line.startswith(("[", "(")):
        return None
    driver = words[-1] if _DRIVER.fullmatch(words[-1]) else None
    return HostFacts(hostname=word(words[0]), driver_version=driver)


def _gpus(lines: list[str]) -> Iterator[_Gpu]:
    # Lines of other kinds are the header, and the full command lines of -f, which we do not want.
    for line in lines:
        if _INDEX.match(line):
            gpu = _gpu(line)
            if gpu is None:
                raise WireError(f"not a line of gpustat: {line[:80]!r}")
            yield gpu


def _gpu(line: str) -> _Gpu | None:
    start = _INDEX.match(line)
    if start is None:
        return None
    pieces = line[start.end() :].split("|")
    # The name is left out, with its bar, when its width is set to 0.
    name = "" if _LOAD.fullmatch(pieces[0][:_PIECE].strip()) else pieces.pop(0)
    if len(pieces) < 2 or max(map(len, (name, *pieces[:2]))) > _PIECE:  # noqa: PLR2004 - load and memory
        return None
    load = _LOAD.fullmatch(pieces[0].strip())
    memory = _MEMORY.fullmatch(pieces[1].strip())
    if load is None or memory is None:
        return None
    given = {
        "name": name.strip(),
        "temperature.gpu": load[1],
        **_figures(load[2]),
        "memory.used": f"{memory[1]} {memory[3]}",
        "memory.total": f"{memory[2]} {memory[3]}",
    }
    texts = {key: text for key, text in given.items() if text and not text.startswith("?")}
    return _Gpu(int(start[1]), texts, "|".join(pieces[2:]).strip() if pieces[2:] else None)


def _figures(text: str) -> dict[str, str | None]:
    """Utilisation, with the fan before it and the power behind it where the options ask for them."""
    plain = _CODEC.sub("", text)
    percents = _PERCENT.findall(plain)
    power = _POWER.search(plain)
    return {
        "fan.speed": percents[0] if len(percents) > 1 else None,
        "utilization.gpu": percents[-1] if percents else None,
        "power.draw": power and power[1],
        "power.limit": power and power[2],
    }


def _device(gpu: _Gpu, node: str) -> Device:
    processes = None if gpu.listed is None else tuple(_processes(gpu.listed))
    # Words, but no process: it cannot list them, or names them without their ids.
    if gpu.listed and not processes:
        processes = None
    return read_device(gpu_texts(gpu.texts), index=gpu.number, node=node, processes=processes)


def _processes(listed: str) -> Iterator[GpuProcess]:
    place = 0
    seen = set()
    for end in _PROCESS_END.finditer(listed):
        user, colon, command = listed[place : end.start()].strip().partition(":")
        place = end.end()
        pid = count(end[1])
        if pid is None or pid in seen:
            continue
        seen.add(pid)
        # One name alone is the user's or the command's, depending on the options: it cannot be told.
        yield GpuProcess(
            pid=pid,
            user=name(user) if colon else None,
            program=name(program_name(command)) if colon else None,
            memory_used_bytes=size(end[2]),
        )


def _no_ids(gpus: list[_Gpu]) -> Iterator[Problem]:
    lists = [gpu.listed for gpu in gpus if gpu.listed and gpu.listed not in _UNLISTED]
    if any(_PROCESS_END.search(listed) is None for listed in lists):
        yield problem("no-process-ids")
