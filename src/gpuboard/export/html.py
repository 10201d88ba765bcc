"""The fleet as one self-contained page: no request to anybody, text nodes only, for any web space."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Final

from gpuboard.model.names import holder_name, node_title
from gpuboard.model.problems import sentence_of
from gpuboard.model.report import HostFacts
from gpuboard.model.units import format_duration, format_size
from gpuboard.wire.tally import Tally, tally_view
from gpuboard.wire.views import FleetView, GpuView, HolderView, NodeView

GLYPHS: Final = {
    "free": "○", "busy": "", "idle": "z", "booked": "◷", "stale": "?", "broken": "✗", "unknown": "?",
}  # fmt: skip
ORDER: Final = ("free", "busy", "idle", "booked", "stale", "broken", "unknown")


def to_html(fleet: FleetView, *, title: str = "GPUs", reload_seconds: float | None = None) -> str:
    """Write the page; all that comes from nodes is escaped. It reloads itself where told to."""
    style, script = _part("page.css"), _part("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:"
    )
    taken = datetime.fromtimestamp(fleet.at, UTC)
    tally = tally_view(fleet)
    return "".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "" if reload_seconds is None else f'<meta http-equiv="refresh" content="{reload_seconds:.0f}">',
            f"<title>{f'{tally.free} free' if tally.is_known else 'not known yet'} · {escape(title)}</title>",
            f"<style>{style}</style></head><body>",
            f"<header><h1>{escape(title)}</h1>",
            f'<p id="age" role="status" data-at="{fleet.at:.0f}">as of ',
            f'<time datetime="{taken.isoformat()}">{taken:%Y-%m-%d %H:%M:%S} UTC</time></p></header>',
            f"<main>{_answer(tally)}{_unread_bookings(fleet)}",
            *(_node(node, fleet.at) for node in _in_order(fleet)),
            "</main>",
            f"<script>{script}</script></body></html>\n",
        )
    )


def _part(name: str) -> str:
    return files("gpuboard.export").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _in_order(fleet: FleetView) -> list[NodeView]:
    """Most free first, then by name; what does not report comes last."""
    return sorted(
        fleet.nodes,
        key=lambda node: (node.state != "live", -_free(node), node.name),
    )


def _free(node: NodeView) -> int:
    return sum(gpu.verdict.word == "free" for gpu in node.gpus if gpu.counted)


def _answer(tally: Tally) -> str:
    chips = "".join(
        f'<li class="{word}"><b>{tally.verdicts[word]}</b> {word}</li>'
        for word in ORDER
        if tally.verdicts[word]
    )
    # Read aloud as one sentence, with its first word large.
    first, _, rest = tally.answer().partition(" ")
    return f'<section class="answer"><p><strong>{first}</strong> {rest}</p><ul>{chips}</ul></section>'


def _unread_bookings(fleet: FleetView) -> str:
    """Why nothing is free, where that is because nobody can tell what is booked."""
    reasons = (gpu.verdict.reason for node in fleet.nodes for gpu in node.gpus)
    if all(reason.code != "bookings-unread" for reason in reasons):
        return ""
    return '<p class="problem">The bookings cannot be read: no GPU that nobody is on is called free.</p>'


def _node(node: NodeView, now: float) -> str:
    name = escape(node_title(node.name, node.display_name))
    unknown = "age unknown" if node.gpus else "never heard"
    age = unknown if node.sampled_at is None else f"{format_duration(now - node.sampled_at)} old"
    why = f" · {escape(node.state)}: {escape(node.reason.text)}" if node.reason is not None else ""
    problems = "".join(
        f'<p class="problem">{escape(sentence_of(problem))} <span>{escape(problem.remedy)}</span></p>'
        for problem in node.problems
    )
    gpus = "".join(f"<li>{_gpu(gpu, now)}</li>" for gpu in node.gpus)
    host = " · ".join(_host(node))
    figures = f'<p class="host">{escape(host)}</p>' if host else ""
    counts = Counter(gpu.model or "?" for gpu in node.gpus if gpu.counted)
    models = ", ".join(f"{count} x {model}" for model, count in counts.items())
    if not node.gpus_known:
        models = "GPUs not known yet"
    return (
        f'<section class="node {escape(node.state)}"><h2>{name}</h2>'
        f'<p class="note">{escape(models)} · data {age}{why}</p>{figures}{problems}'
        f'<ul class="gpus">{gpus}</ul></section>'
    )


def _host(node: NodeView) -> Iterator[str]:
    """The machine around the GPUs; what is unknown is left out."""
    host = node.host or HostFacts()
    if host.load_1 is not None:
        yield f"load {host.load_1:.1f}" + (f" on {host.cpu_count} cores" if host.cpu_count else "")
    if host.memory_total_bytes is not None:
        used, total = format_size(host.memory_used_bytes), format_size(host.memory_total_bytes)
        yield f"RAM {used} of {total}"
    for disk in host.disks:
        if disk.total_bytes is not None:
            yield f"{disk.mount} {format_size(disk.used_bytes)} of {format_size(disk.total_bytes)}"
    if host.uptime_seconds is not None:
        yield f"up {format_duration(host.uptime_seconds)}"
    if host.driver_version:
        yield f"driver {host.driver_version}"


def _gpu(gpu: GpuView, now: float) -> str:
    """A cell that opens when clicked, tapped or reached by keyboard."""
    word = gpu.verdict.word
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _facts(gpu, now))
    return (
        f'<details class="{word}"><summary title="{escape(gpu.verdict.reason.text)}">'
        f"<b>{escape(gpu.label)}</b> <span>{GLYPHS[word]} {word}</span> {_short(gpu)}</summary>"
        f"<dl>{rows}</dl></details>"
    )


def _short(gpu: GpuView) -> str:
    if gpu.verdict.word == "busy" and gpu.reading.utilization_percent is not None:
        return f"<i>{gpu.reading.utilization_percent:.0f} %</i> {escape(_names(gpu.users))}"
    if gpu.verdict.word == "booked" and gpu.claim is not None:
        return escape(gpu.claim.who or "")
    return escape(_names(gpu.users))


def _names(users: tuple[HolderView, ...] | None) -> str:
    return ", ".join(user.name for user in users or ())


def _facts(gpu: GpuView, now: float) -> Iterator[tuple[str, str]]:
    reading = gpu.reading
    yield "verdict", f"{gpu.verdict.word}: {gpu.verdict.reason.text}"
    yield "model", gpu.model or "—"
    yield "utilisation", _unit(reading.utilization_percent, "%")
    yield "memory", f"{format_size(reading.memory_used_bytes)} of {format_size(reading.memory_total_bytes)}"
    yield "temperature", _unit(reading.temperature_celsius, "°C")
    yield "power", _unit(reading.power_watts, "W")
    if gpu.claim is not None:
        until = "" if gpu.claim.until is None else f" for {format_duration(gpu.claim.until - now)} more"
        yield "booked", f"{gpu.claim.who or 'somebody'}{until} {gpu.claim.comment or ''}".strip()
    if gpu.ended_claim is not None and gpu.ended_claim.until is not None:
        ended = format_duration(now - gpu.ended_claim.until)
        yield "booked before", f"{gpu.ended_claim.who or 'somebody'}, ended {ended} ago"
    for process in reading.processes or ():
        run = "" if process.started_at is None else f", {format_duration(now - process.started_at)}"
        state = f", {process.state}" if process.state in ("zombie", "gone") else ""
        children = f", kill {' '.join(map(str, process.children))}" if state and process.children else ""
        value = f"{process.program or '?'} ({format_size(process.memory_used_bytes)}{run}{state}{children})"
        yield f"{holder_name(process.user, process.uid)} · {process.pid}", value
    yield "uuid", gpu.uuid


def _unit(value: float | None, unit: str) -> str:
    return "—" if value is None else f"{value:.0f} {unit}"
