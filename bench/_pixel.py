"""From a change on a node to the pixel: a node that takes turns, beside many others, watched in a browser."""

import contextlib
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace
from playwright.sync_api import Browser, Page
from websockets.sync.client import ClientConnection, connect

from bench._load import Order
from bench._server import push_board
from gpuboard.model.report import NodeReport
from gpuboard.probes.simulated import node_names
from gpuboard.wire.ingest import Hello, Live, Sample, encode, encode_sample
from tests.board import free_port
from tests.pushing import enrol, report_of

NODE: Final = "turning-01"
INTERVAL_SECONDS: Final = 5.0
WARM_UP_SECONDS: Final = 10.0
# Notes when the figure in the GPU's cell is another one, as soon as that has been painted.
WATCH: Final = """(uuid) => {
  const look = () => document.querySelector(`[data-uuid="${uuid}"] b`)?.textContent ?? '';
  let before = look();
  window.__changes = [];
  const frame = () => {
    const now = look();
    if (now !== before) {
      before = now;
      requestAnimationFrame(() => window.__changes.push(Date.now() / 1000));
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


class Turning:
    """A node whose first GPU works much or little; an agent looks every few seconds, as agents do."""

    def __init__(self) -> None:
        first = report_of(NODE)
        (gpu, *others) = first.gpus or ()
        self._states = {
            much: replace(gpu, utilization_percent=90.0 if much else 30.0) for much in (True, False)
        }
        self._others = tuple(others)
        self.uuid = gpu.uuid
        self.works_much = True

    def look(self) -> NodeReport:
        """What the agent would see now."""
        gpus = (self._states[self.works_much], *self._others)
        return replace(report_of(NODE), gpus=gpus, interval_seconds=INTERVAL_SECONDS)

    def report(self, line: ClientConnection, stop: threading.Event) -> None:
        """Send what is seen, every interval, until told to stop."""
        line.send(encode(Hello(node=NODE, boot_id="boot-1")))
        line.recv()
        while not stop.is_set():
            report = self.look()
            data = msgspec.Raw(encode_sample(report))
            sample = Sample(sequence=report.sequence or 0, waited_seconds=0.0, report=data)
            line.send(encode(Live(sample=sample, follows=None)))
            line.recv()
            stop.wait(INTERVAL_SECONDS)


def measure(browser: Browser, *, nodes: int, turns: int) -> list[float]:
    """Seconds from each of the node's turns until it was painted."""
    node = Turning()
    with _crowded(nodes) as (board, token), _reporting(board, token, node):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"http://{board}/?view=rows&q=node:{NODE}")
        page.wait_for_selector(f'[data-uuid="{node.uuid}"]', timeout=60_000)
        page.wait_for_timeout(WARM_UP_SECONDS * 1000)
        page.evaluate(WATCH, node.uuid)
        return [_turn(page, node) for _ in range(turns)]


def _turn(page: Page, node: Turning) -> float:
    # At any moment between two looks of the agent.
    page.wait_for_timeout(random.uniform(0, INTERVAL_SECONDS) * 1000)
    seen = page.evaluate("window.__changes.length")
    node.works_much = not node.works_much
    turned_at = time.time()
    while page.evaluate("window.__changes.length") == seen:
        page.wait_for_timeout(20)
    painted_at: float = page.evaluate(f"window.__changes[{seen}]")
    return painted_at - turned_at


@contextlib.contextmanager
def _crowded(nodes: int) -> Iterator[tuple[str, str]]:
    """A board to which that many other nodes push, and a token for one more."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        tokens = enrol(folder / "state", NODE, *node_names(nodes))
        own = tokens.pop(NODE)
        order = Order(
            port=port,
            tokens=tokens,
            viewers=0,
            interval_seconds=INTERVAL_SECONDS,
            warm_up_seconds=1,
            seconds=3600,
        )
        command = [sys.executable, "-m", "bench._load"]
        with (
            push_board(folder, port),
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as load,
        ):
            try:
                assert load.stdin is not None
                load.stdin.write(msgspec.json.encode(order))
                load.stdin.close()
                yield f"127.0.0.1:{port}", own
            finally:
                load.kill()


@contextlib.contextmanager
def _reporting(board: str, token: str, node: Turning) -> Iterator[None]:
    stop = threading.Event()
    address = f"ws://{board}/api/v1/ingest"
    with connect(address, additional_headers={"Authorization": f"Bearer {token}"}) as line:
        agent = threading.Thread(target=node.report, args=(line, stop))
        agent.start()
        try:
            yield
        finally:
            stop.set()
            agent.join()
