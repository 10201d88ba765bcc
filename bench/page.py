"""What the page costs: bytes, time to the first GPU, work per tick, memory and scrolling, in a real Chromium.

Usage: script/bench page [--minutes FIRST LAST] [--only load,first,view,rows,map,keys,scroll,heap,pixel]
[--against COMMIT]: another commit's board and page in turn with this one, but for `pixel`, which is mostly
the node's interval.
"""

import argparse
import os
import signal
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from playwright.sync_api import Browser, CDPSession, Page

from bench import _pixel
from bench._against import ROOT, Measured, compare, environment_of
from tests.board import RunningBoard, running_board
from tests.browser import PROGRAMS, running_chromium

PATIENCE_MS: Final = 120_000
MEASURE_SECONDS: Final = 20.0
HEARD_SECONDS: Final = 300.0
ROUNDS: Final = 5
TURNS: Final = 40
# Nodes of the small fleet, 8 GPUs each; and what is measured on the large one.
SMALL: Final = 25
LARGE: Final = ("view", "rows", "map", "keys", "scroll", "heap")
TYPED: Final = ("free memory>=40G", "a100 or h100 idle", "user:dupont free>=4", "dgx-[01-20] not busy")
GPU: Final = ".cell[data-uuid], article[data-uuid]"
# Counts what the page hears and how long its longest task was.
WATCH: Final = """
window.__longest = 0; window.__tasks = [];
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) {
    window.__tasks.push(Math.round(task.duration));
    window.__longest = Math.max(window.__longest, task.duration);
  }
}).observe({type: 'longtask'});
window.__frames = 0;
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...all) { super(...all); this.addEventListener('message', () => window.__frames++); }
};
"""


def main() -> None:
    """Measure what was asked for, print it against the goals."""
    parser = argparse.ArgumentParser(prog="script/bench page", description=__doc__)
    parser.add_argument("--minutes", nargs=2, type=float, default=(1.0, 3.0), metavar=("FIRST", "LAST"))
    parser.add_argument("--nodes", type=int, default=1000, help="nodes of the large fleet, 8 GPUs each")
    parser.add_argument("--only", default=",".join((*PARTS, "pixel")), help="parts, with commas between")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="repetitions of --against (default 5)")
    parser.add_argument("--against", metavar="COMMIT", help="compare with this commit's page, in turn")
    chosen = parser.parse_args()
    parts = chosen.only.split(",")
    print(f"machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    options = ("--enable-precise-memory-info", "--js-flags=--expose-gc")
    with running_chromium(*options, programs=PROGRAMS[::-1]) as browser:
        if chosen.against:
            compare(
                chosen.against,
                chosen.rounds,
                lambda tree: measure(browser, chosen, parts, tree),
                with_page=True,
            )
        else:
            measure(browser, chosen, parts, ROOT)
            if "pixel" in parts:
                pixel(browser)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


def measure(browser: Browser, chosen: argparse.Namespace, parts: list[str], tree: Path) -> Measured:
    """Measure parts of the page of a tree, told as they come."""
    told: dict[str, float] = {}
    for nodes, names in ((SMALL, ("load", "first")), (chosen.nodes, LARGE)):
        wanted = [part for part in names if part in parts]
        if wanted:
            with board_of(nodes, tree) as board:
                for part in wanted:
                    told |= {figure.name: figure.value for figure in PARTS[part](browser, board, chosen)}
    return told


@contextmanager
def board_of(nodes: int, tree: Path) -> Iterator[RunningBoard]:
    """A board of a tree with so many simulated nodes."""
    around = {"PYTHONPATH": environment_of(tree)["PYTHONPATH"]}
    with (
        tempfile.TemporaryDirectory() as folder,
        # A visitor's page: who is somebody in the demo is told so, by words that come later elsewhere.
        running_board(
            "--demo", str(nodes), "--anonymous", "names", log=Path(folder) / "log", env=around
        ) as board,
    ):
        wait_for_all(board, nodes)
        time.sleep(3)
        yield board


def wait_for_all(board: RunningBoard, nodes: int) -> None:
    """Wait until every node has been heard: busy cores take minutes, and a part of a fleet costs less."""
    deadline = time.monotonic() + HEARD_SECONDS
    heard = -1
    while heard < nodes:
        if time.monotonic() > deadline:
            message = f"only {heard} of {nodes} nodes were heard in {HEARD_SECONDS:g} s"
            raise SystemExit(message)
        time.sleep(0.5)
        with urllib.request.urlopen(f"{board.url}api/v1/summary", timeout=30) as answer:
            heard = msgspec.json.decode(answer.read())["nodes"]


class Figure(NamedTuple):
    """What was measured, with its unit in its name."""

    name: str
    value: float


def tell(what: str, value: float, unit: str, goal: float) -> Figure:
    """One line: the figure, the goal, and whether it is met."""
    verdict = "ok" if value <= goal else "MISSED"
    print(f"{what:58} {value:8.1f} {unit:3} goal <= {goal:g} {unit}  {verdict}", flush=True)
    return Figure(f"{what}, {unit}" if unit else what, value)


@contextmanager
def opened(browser: Browser, *, watch: bool = True) -> Iterator[Page]:
    """A page of a visitor who has never been here."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    if watch:
        page.add_init_script(WATCH)
    try:
        yield page
    finally:
        context.close()


def load(browser: Browser, board: RunningBoard, _chosen: argparse.Namespace) -> list[Figure]:
    """Bytes of all bodies until the board is shown, as they travel to a first visitor."""
    sizes: dict[str, int] = {}
    foreign: list[str] = []
    own = (board.url, "data:", board.url.replace("http", "ws", 1))
    with opened(browser, watch=False) as page:
        page.on("request", lambda each: None if each.url.startswith(own) else foreign.append(each.url))
        page.on("response", lambda each: sizes.update({each.url: int(each.headers.get("content-length", 0))}))
        page.goto(board.url)
        page.wait_for_selector(GPU)
        page.wait_for_timeout(1500)
    files = {url: size for url, size in sizes.items() if url.startswith(board.url)}
    for url, size in sorted(files.items(), key=lambda item: -item[1]):
        print(f"    {size / 1000:7.1f} kB  {url.removeprefix(board.url) or '/'}")
    script = sum(size for url, size in files.items() if url.endswith(".js"))
    return [
        tell("first load, compressed", sum(files.values()) / 1000, "kB", 60),
        tell("of that, script of the board", script / 1000, "kB", 54),
        tell("requests to others", len(foreign), "", 0),
    ]


def first(browser: Browser, board: RunningBoard, _chosen: argparse.Namespace) -> list[Figure]:
    """Time from the click to the first visible GPU."""
    name = f"first GPU visible, {SMALL * 8} GPUs"
    return first_gpu(browser, board, "", name, goal=1000)


def pixel(browser: Browser) -> None:
    """From a change on a node to what people see, beside 500 nodes that report every 5 s too."""
    seconds = sorted(_pixel.measure(browser, nodes=500, turns=TURNS))
    p50, p95 = seconds[TURNS // 2], seconds[int(TURNS * 0.95)]
    tell(f"change on a node to pixel, p95 of {TURNS}, 500 nodes", p95, "s", _pixel.INTERVAL_SECONDS + 1)
    print(f"    median {p50:.1f} s, longest {seconds[-1]:.1f} s")


def view(browser: Browser, board: RunningBoard, chosen: argparse.Namespace) -> list[Figure]:
    """The same with the large fleet, in rows and as a map."""
    name = f"first view, {chosen.nodes * 8:,} GPUs"
    return [
        figure
        for each in ("rows", "map")
        for figure in first_gpu(browser, board, f"?view={each}", f"{name}, {each}", goal=1500)
    ]


def first_gpu(browser: Browser, board: RunningBoard, query: str, name: str, *, goal: float) -> list[Figure]:
    """Milliseconds from the start of the navigation, by the page's own clock, and of work until then."""
    seen = f"{GPU}, canvas"
    times, works = [], []
    for _ in range(ROUNDS):
        with opened(browser, watch=False) as page:
            thread = MainThread(page)
            page.add_init_script(
                f"""const look = () => document.querySelector('{seen}')
                  ? requestAnimationFrame(() => (window.__seen = performance.now()))
                  : requestAnimationFrame(look);
                look();"""
            )
            page.goto(f"{board.url}{query}")
            # Not wait_for_function: the content policy of the page forbids what that needs.
            while not (seen_at := page.evaluate("window.__seen ?? 0")):
                page.wait_for_timeout(50)
            times.append(float(seen_at))
            works.append(1000 * thread.seconds("threadTicks"))
    figure = tell(f"{name}, median of {ROUNDS}", statistics.median(times), "ms", goal)
    work = Figure(f"{name}, CPU, ms", statistics.median(works))
    print(f"    main thread until then, CPU: {work.value:.0f} ms")
    return [figure, work]


class MainThread:
    """How long the main thread of a page has worked: by the wall clock, and by the CPU's.

    On a machine with other work the first also counts the time in which others had the core.
    """

    def __init__(self, page: Page) -> None:
        self._sessions: dict[str, CDPSession] = {}
        for domain in ("timeTicks", "threadTicks"):
            session = self._sessions[domain] = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": domain})

    def seconds(self, domain: str) -> float:
        """The sum of all tasks so far."""
        metrics: list[dict[str, Any]] = self._sessions[domain].send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    def read(self) -> tuple[float, float]:
        """Wall and CPU."""
        return self.seconds("timeTicks"), self.seconds("threadTicks")


def ticks(browser: Browser, board: RunningBoard, query: str, name: str) -> list[Figure]:
    """Work of the main thread per frame of the stream."""
    with opened(browser) as page:
        page.goto(f"{board.url}{query}")
        page.wait_for_selector(f"{GPU}, canvas")
        page.wait_for_timeout(5000)
        thread = MainThread(page)
        page.evaluate("window.__tasks.length = 0")
        before, (wall, cpu) = page.evaluate("window.__frames"), thread.read()
        page.wait_for_timeout(MEASURE_SECONDS * 1000)
        frames, (wall_after, cpu_after) = page.evaluate("window.__frames") - before, thread.read()
        longest = max(page.evaluate("window.__tasks"), default=0)
        each = 1000 / max(1, frames)
        figure = tell(f"main thread per tick, {name}, CPU", (cpu_after - cpu) * each, "ms", 46)
        wall_each = (wall_after - wall) * each
        print(f"    {frames} ticks; by the wall clock {wall_each:.1f} ms; longest task {longest} ms")
        return [figure]


def rows(browser: Browser, board: RunningBoard, _chosen: argparse.Namespace) -> list[Figure]:
    """Rows."""
    return ticks(browser, board, "?view=rows", "rows")


def as_map(browser: Browser, board: RunningBoard, _chosen: argparse.Namespace) -> list[Figure]:
    """The map."""
    return ticks(browser, board, "?view=map", "map")


def keys(browser: Browser, board: RunningBoard, chosen: argparse.Namespace) -> list[Figure]:
    """Work of the main thread for one key in the filter, with all that it leads to."""
    with opened(browser) as page:
        page.goto(f"{board.url}?view=rows")
        page.wait_for_selector(GPU)
        page.locator("#filter").click()
        page.wait_for_timeout(4000)
        # Nothing new comes meanwhile: what a tick costs is measured elsewhere.
        board.process.send_signal(signal.SIGSTOP)
        try:
            works = type_all(page)
        finally:
            board.process.send_signal(signal.SIGCONT)
    works.sort()
    name = f"a key in the filter, {chosen.nodes * 8:,} GPUs, p95 of {len(works)}, CPU"
    figure = tell(name, works[int(len(works) * 0.95)], "ms", 60)
    print(f"    median {works[len(works) // 2]:.1f} ms, longest {works[-1]:.1f} ms")
    return [figure]


def type_all(page: Page) -> list[float]:
    """Milliseconds of CPU for each key."""
    thread = MainThread(page)
    works = []
    for text in TYPED:
        page.locator("#filter").fill("")
        page.wait_for_timeout(600)
        for letter in text:
            before = thread.seconds("threadTicks")
            page.keyboard.type(letter)
            page.wait_for_timeout(300)
            works.append(1000 * (thread.seconds("threadTicks") - before))
    return works


def scroll(browser: Browser, board: RunningBoard, _chosen: argparse.Namespace) -> list[Figure]:
    """The longest task while the wheel turns over the rows."""
    with opened(browser) as page:
        page.goto(f"{board.url}?view=rows")
        page.wait_for_selector(GPU)
        page.wait_for_timeout(4000)
        page.mouse.move(600, 600)
        browser.start_tracing(page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"])
        for _ in range(80):
            page.mouse.wheel(0, 400)
            page.wait_for_timeout(50)
        page.wait_for_timeout(300)
        wall, cpu = longest_tasks(browser.stop_tracing())
    figure = tell("longest task while scrolling rows, CPU", cpu, "ms", 100)
    print(f"    by the wall clock {wall:.0f} ms")
    return [figure]


def longest_tasks(trace: bytes) -> tuple[float, float]:
    """The longest task of the page's main thread, in milliseconds of wall and of CPU."""
    events: list[dict[str, Any]] = msgspec.json.decode(trace)["traceEvents"]
    mains = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        each for each in events if each["name"].endswith("RunTask") and (each["pid"], each["tid"]) in mains
    ]
    wall, cpu = (max((each.get(key, 0) for each in tasks), default=0) / 1000 for key in ("dur", "tdur"))
    return wall, cpu


def heap(browser: Browser, board: RunningBoard, chosen: argparse.Namespace) -> list[Figure]:
    """Memory of scripts after a collection, early and late."""
    begin, end = chosen.minutes
    with opened(browser) as page:
        page.goto(f"{board.url}?view=rows")
        page.wait_for_selector(GPU)
        session = page.context.new_cdp_session(page)
        page.wait_for_timeout(begin * 60_000)
        early = used_heap(session)
        page.wait_for_timeout((end - begin) * 60_000)
        late = used_heap(session)
    print(f"    heap {early / 1e6:.1f} MB at minute {begin:g}, {late / 1e6:.1f} MB at minute {end:g}")
    return [tell("heap, late against early", late / early, "x", 1.05)]


def used_heap(session: CDPSession) -> float:
    """Bytes in use once all that can go has gone."""
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"])


PARTS: Final[dict[str, Callable[[Browser, RunningBoard, argparse.Namespace], list[Figure]]]] = {
    "load": load,
    "first": first,
    "view": view,
    "rows": rows,
    "map": as_map,
    "keys": keys,
    "scroll": scroll,
    "heap": heap,
}

if __name__ == "__main__":
    main()
