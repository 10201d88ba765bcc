"""A whole board on a real PostgreSQL: enrolled, restarted, without its server and with it again."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.model.report import NodeReport
from gpuboard.wire.enrolment import node_of_token
from tests.board import RunningBoard, free_port, running_board
from tests.fakes.real_postgresql import RealPostgres
from tests.pushing import report_of, running_pusher, wait_until

COMMENTS = {"gpu01": {"0": {"name": "booker", "date": "2099-12-01", "comment": "paper"}}}


class Site:
    """A board's settings, and what people do with them."""

    def __init__(self, folder: Path, postgres: RealPostgres) -> None:
        self.folder = folder
        self.comments = folder / "comments.json"
        self.comments.write_text(json.dumps(COMMENTS))
        self.settings = folder / "gpuboard.toml"
        self.settings.write_text(
            f'[storage]\nurl = "{postgres.url(postgres.new_database())}"\n'
            f'[bookings]\ncomments_json = "{self.comments}"\n[[source]]\nkind = "push"\n'
        )
        self.port = free_port()
        self.log = folder / "log"
        self.token = folder / "node.token"

    def board(self) -> Any:  # noqa: ANN401 - a context manager
        """The board, until the block ends."""
        return running_board("--config", str(self.settings), log=self.log, port=self.port, until="healthz")

    def run(self, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        """A command, as people type it."""
        command = [sys.executable, "-m", "gpuboard", *arguments]
        return subprocess.run(command, input=said, capture_output=True, text=True, check=False, timeout=60)

    def enroll(self, board: RunningBoard) -> None:
        """Let gpu01 push."""
        made = self.run("node", "enroll", "gpu01", "--config", str(self.settings))
        code = made.stdout.split()[1]
        self.run("agent", "enroll", board.url, "--token-file", str(self.token), said=f"{code}\n")
        assert node_of_token(self.token.read_text().strip()) == "gpu01"


def get(board: RunningBoard, path: str) -> Any:  # noqa: ANN401 - JSON
    """What the board says."""
    with urllib.request.urlopen(f"{board.url}{path}", timeout=60) as answer:
        return json.load(answer)


def cards(board: RunningBoard) -> dict[str, str]:
    """Which card is in which place of gpu01, as far as the board knows."""
    nodes = [node for node in get(board, "api/v1/fleet")["nodes"] if node["name"] == "gpu01"]
    return {gpu["label"]: gpu["uuid"] for node in nodes for gpu in node["gpus"]}


def holder(board: RunningBoard) -> str:
    """Who booked the first place of gpu01."""
    claim = get(board, "api/v1/nodes/gpu01")["gpus"][0]["claim"]
    return str(claim and claim["who"])


def storage(board: RunningBoard) -> dict[str, Any]:
    """How the database fares."""
    return part(board, "storage")


def part(board: RunningBoard, kind: str) -> dict[str, Any]:
    """How a part of the board fares."""
    health = json.loads(_body(f"{board.url}readyz"))
    found: dict[str, Any] = next(each for each in health["components"] if each["kind"] == kind)
    return found


def _body(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            body: bytes = answer.read()
    except urllib.error.HTTPError as error:
        return error.read()
    return body


def without_first_card(report: NodeReport) -> NodeReport:
    """The same as a driver tells it whose first card fell off the bus: the others are numbered anew."""
    gpus = tuple(replace(gpu, index=number) for number, gpu in enumerate((report.gpus or ())[1:]))
    return replace(report, gpus=gpus)


def test_tokens_places_and_bookings_outlive_the_board(tmp_path: Path, postgres: RealPostgres) -> None:
    """After a restart the node is let in, cards keep their places, what was booked stays so."""
    site = Site(tmp_path, postgres)
    with site.board() as board:
        site.enroll(board)
        with running_pusher(board.url, site.token) as pusher:
            pusher.offer(report_of("gpu01"))
            wait_until(lambda: cards(board))
            before = cards(board)
            listed = site.run("node", "list", "--config", str(site.settings)).stdout
        assert "gpu01" in listed
        wait_until(lambda: holder(board) == "booker")
    # Just now the file of bookings cannot be read, and a card is gone: only the database knows.
    site.comments.write_text("{")
    with site.board() as board, running_pusher(board.url, site.token) as pusher:
        pusher.offer(without_first_card(report_of("gpu01")))
        wait_until(lambda: cards(board))
        assert cards(board) == before
        wait_until(lambda: holder(board) == "booker")
        assert storage(board)["state"] == "ok"


def test_a_board_runs_without_its_server_and_goes_on_when_it_is_there(
    tmp_path: Path, postgres: RealPostgres
) -> None:
    """At the start and later: it says so in words, agents that are known go on, all is taken up again."""
    site = Site(tmp_path, postgres)
    with site.board() as board:
        site.enroll(board)
    postgres.stop()
    try:
        with site.board() as board, running_pusher(board.url, site.token) as pusher:
            pusher.offer(report_of("gpu01"))
            wait_until(lambda: storage(board)["state"] == "trouble")
            assert "cannot be reached" in storage(board)["reason"]
            assert cards(board) == {}
            postgres.start()
            wait_until(lambda: cards(board), 60)
            wait_until(lambda: storage(board)["state"] == "ok", 60)
            postgres.stop()
            wait_until(lambda: storage(board)["state"] == "trouble", 60)
            seen = get(board, "api/v1/nodes/gpu01")["sampled_at"]
            pusher.offer(report_of("gpu01"))
            wait_until(lambda: get(board, "api/v1/nodes/gpu01")["sampled_at"] != seen)
            postgres.start()
            wait_until(lambda: storage(board)["state"] == "ok", 60)
    finally:
        postgres.start()


def test_a_folder_waits_for_the_server_and_says_so(tmp_path: Path, postgres: RealPostgres) -> None:
    """Its nodes are not simply absent: the part `folder` and commands say that not all are known."""
    share = tmp_path / "share"
    share.mkdir()
    write_drop(share, "gpu02", TimedReport(report_of("gpu02"), 0.0))
    site = Site(tmp_path, postgres)
    table = f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "500ms"\n'
    site.settings.write_text(site.settings.read_text() + table)
    postgres.stop()
    try:
        with running_board("--config", str(site.settings), "--demo", "1", log=site.log) as board:
            wait_until(lambda: part(board, "folder")["code"] == "folder-waits")
            status = site.run("status", "--board", board.url)
            free = site.run("free", "-n", "1024", "--board", board.url)
            assert "does not know all nodes yet" in status.stdout
            assert (free.returncode, "not all nodes are known yet" in free.stderr) == (3, True)
            postgres.start()
            wait_until(lambda: part(board, "folder")["state"] == "ok", 60)
            wait_until(lambda: part(board, "folder")["nodes"] == 1)
    finally:
        postgres.start()


def test_a_second_board_on_the_same_database_ends_with_the_reason(
    tmp_path: Path, postgres: RealPostgres
) -> None:
    """And says who has it; the first goes on."""
    site = Site(tmp_path, postgres)
    with site.board() as board:
        second = site.run("serve", "--config", str(site.settings), "--listen", f"127.0.0.1:{free_port()}")
        assert second.returncode != 0
        assert f"process {board.process.pid}) uses the database postgresql://" in second.stderr
        assert storage(board)["state"] == "ok"
