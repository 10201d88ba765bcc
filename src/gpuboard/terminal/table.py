"""The table of `gpuboard status`: a line per GPU, as people know it from gpustat, with the verdict."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from gpuboard.model.names import holder_name, node_title
from gpuboard.model.problems import sentence_of
from gpuboard.model.report import GpuProcess
from gpuboard.model.units import GIB, format_duration, format_size
from gpuboard.wire.tally import tally_view
from gpuboard.wire.views import FleetView, GpuView, HolderView, NodeView

# Always a glyph and a word beside the colour.
LOOKS: Final = {
    "free": ("bold green", "○"),
    "busy": ("blue", "●"),
    "idle": ("yellow", "z"),
    "booked": ("magenta", "◷"),
    "stale": ("bright_black", "?"),
    "broken": ("bold red", "✗"),
    "unknown": ("bright_black", "?"),
}
_BAR_CELLS: Final = 8


def print_fleet(console: Console, fleet: FleetView, *, with_processes: bool = False) -> None:
    """Print every node with its GPUs, if wanted with a line per process, then the answer in one line."""
    for node in fleet.nodes:
        console.print(_node(node, fleet.at, with_processes=with_processes))
    console.print(_answer(fleet))


def _node(node: NodeView, now: float, *, with_processes: bool) -> Group:
    parts: list[Text | Table] = [_heading(node, now)]
    if node.gpus:
        parts.append(_gpus(node, now, with_processes=with_processes))
    parts.extend(_problems(node))
    return Group(*parts)


def _heading(node: NodeView, now: float) -> Text:
    heading = Text(node_title(node.name, node.display_name), style="bold")
    details = list(_host_details(node))
    if node.state != "live":
        reason = f": {node.reason.text}" if node.reason is not None else ""
        details.insert(0, f"{node.state}{reason}")
    if node.sampled_at is not None and now - node.sampled_at > 1:
        details.append(f"{format_duration(now - node.sampled_at)} old")
    return heading.append("  " + " · ".join(details), style="not bold bright_black")


def _host_details(node: NodeView) -> Iterator[str]:
    host = node.host
    if host is None:
        return
    if host.driver_version:
        yield f"driver {host.driver_version}"
    if host.load_1 is not None and host.cpu_count:
        yield f"load {host.load_1:.1f} on {host.cpu_count} cores"
    if host.memory_used_bytes is not None and host.memory_total_bytes:
        yield f"RAM {host.memory_used_bytes / GIB:.0f}/{host.memory_total_bytes / GIB:.0f} GiB"


def _gpus(node: NodeView, now: float, *, with_processes: bool) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 1), show_header=False, pad_edge=False)
    for justify in ("right", "left", "left", "right", "left", "right", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    table.columns[-1].no_wrap = False
    for gpu in node.gpus:
        table.add_row(Text(f"[{gpu.label}]", style="cyan"), *_cells(gpu, now))
        for process in (gpu.reading.processes or ()) if with_processes else ():
            table.add_row(*[""] * (len(table.columns) - 1), _process(process, now))
    return table


def _process(process: GpuProcess, now: float) -> Text:
    line = Text(f"{process.pid}", style="cyan").append(f" {process.program or '—'}", style="not cyan")
    line.append(f" {holder_name(process.user, process.uid)}", style="bold not cyan")
    if process.memory_used_bytes is not None:
        line.append(f" {format_size(process.memory_used_bytes)}", style="yellow")
    if process.started_at is not None:
        line.append(f" {format_duration(now - process.started_at)}", style="bright_black")
    return line


def _cells(gpu: GpuView, now: float) -> list[Text]:
    reading, word = gpu.reading, gpu.verdict.word
    style, glyph = LOOKS[word]
    if word == "free" and not gpu.counted:
        # Nobody is on it, but it is not one of those that are offered.
        style = "bright_black"
    used, total = reading.memory_used_bytes, reading.memory_total_bytes
    # What a person wants to know beside the word: who, or else why.
    people = _people(gpu.users, now) if gpu.users else Text(_why(gpu), style="bright_black")
    for flag in gpu.verdict.flags:
        people.append(f"  ! {flag.replace('_', ' ')}", style="not bold red")
    return [
        Text(gpu.model or "—"),
        Text(f"{glyph} {word}", style=style),
        _figure(reading.utilization_percent, "%", bold_from=30),
        _bar(used, total),
        Text(f"{_gib(used)} / {_gib(total)} GiB", style="yellow"),
        _figure(reading.temperature_celsius, "°C", bold_from=70),
        _power(reading.power_watts, reading.power_limit_watts),
        people,
    ]


def _why(gpu: GpuView) -> str:
    if gpu.verdict.word == "free":
        return "" if gpu.counted else "not counted"
    return gpu.verdict.reason.text


def _people(users: tuple[HolderView, ...], now: float) -> Text:
    line = Text()
    for user in users:
        if line:
            line.append("  ")
        line.append(user.name, style="bold")
        if user.memory_used_bytes is not None:
            line.append(f" {format_size(user.memory_used_bytes)}", style="yellow")
        if user.measured > 1:
            line.append(f" x{user.measured}", style="bright_black")
        if user.since is not None:
            line.append(f" {format_duration(now - user.since)}", style="bright_black")
        if user.processes > max(1, user.measured):
            line.append(f" +{user.processes - user.measured} of unknown memory", style="bright_black")
    return line


def _figure(value: float | None, unit: str, *, bold_from: float) -> Text:
    if value is None:
        return Text("—", style="bright_black")
    return Text(f"{value:.0f} {unit}", style="bold" if value >= bold_from else "")


def _power(watts: float | None, limit: float | None) -> Text:
    if watts is None:
        return Text("—", style="bright_black")
    return Text(f"{watts:.0f} W" if limit is None else f"{watts:.0f} / {limit:.0f} W")


def _bar(used: int | None, total: int | None) -> Text:
    if used is None or not total:
        return Text(" " * _BAR_CELLS)
    filled = min(_BAR_CELLS, round(_BAR_CELLS * used / total))
    return Text("━" * filled, style="yellow").append("─" * (_BAR_CELLS - filled), style="bright_black")


def _gib(size: int | None) -> str:
    return "—" if size is None else f"{size / GIB:.1f}"


def _problems(node: NodeView) -> Iterator[Text]:
    for problem in node.problems:
        yield Text(f"  ! {sentence_of(problem)}", style="red").append(
            f"\n    → {problem.remedy}", style="bright_black"
        )


def _answer(fleet: FleetView) -> Text:
    tally = tally_view(fleet)
    answer = Text(tally.answer(), style="bold green" if tally.free else "bold")
    unsure = tally.verdicts["stale"] + tally.verdicts["unknown"]
    if unsure:
        answer.append(f", {unsure} cannot be judged", style="bright_black")
    if tally.nodes_unknown and tally.gpus:
        nodes = "node" if tally.nodes_unknown == 1 else "nodes"
        answer.append(f", those of {tally.nodes_unknown} {nodes} not known", style="bright_black")
    if tally.sources_unknown and tally.gpus:
        answer.append(", and the board does not know all nodes yet", style="bright_black")
    return answer
