"""Bookings and real processes of real users, on a node with the stand-in driver: the whole story."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gpuboard.client.credentials import Credential, Credentials
from gpuboard.wire.login import LINK_PATH, LoginGrant
from tests.board import ROOT, RunningBoard, running_board
from tests.cli.test_login import AMONG_THEM, NEEDS_ROOT, as_user, command, folder
from tests.fakes import nvml
from tests.parts import require
from tests.pushing import enroll_by_command
from tests.started import eventually, started

__all__ = ["folder"]

NODE = "gpu01"
UIDS = {"ana": 23_001, "ben": 23_002}
USERS = "".join(f"{name}:x:{uid}:{uid}::/:/bin/sh\n" for name, uid in UIDS.items())
NO_SHOW_SECONDS = 6
SETTINGS = f"""
[history]
kind = "none"
[bookings]
no_show_after = "{NO_SHOW_SECONDS}s"
on_no_show = "release"
[[source]]
kind = "push"
"""


class BookedNode:
    """A node with four GPUs, its agent, and a board that it pushes to."""

    def __init__(self, board: RunningBoard, place: Path, folder: Path, library: Path) -> None:
        self.board = board
        self._place = place
        self._socket = folder / "agent.sock"
        self._scenario = place / "scenario"
        self._library = library
        self._users = place / "passwd"
        self._users.write_text(Path("/etc/passwd").read_text() + USERS)
        enroll_by_command(board, NODE, str(place / "token"))
        self.run_on({})

    def run_on(self, pids: dict[int, int]) -> None:
        """Have these processes on these GPUs, and nothing on the others."""
        machine = nvml.four_consumer_cards()
        for number in range(4):
            on_it = (nvml.FakeProcess(pid=pids[number], memory=8 << 30),) if number in pids else ()
            use = (
                {"utilization": 90, "memory_used": 8 << 30} if on_it else {"utilization": 0, "memory_used": 0}
            )
            machine = machine.with_gpu(number, processes=on_it, **use)
        machine.write(self._scenario)

    @contextlib.contextmanager
    def agent(self) -> Iterator[Callable[[], None]]:
        """Its agent, in whose eyes ana and ben have accounts; until it is killed, or the block ends."""
        driver = nvml.environment(self._scenario, self._library)
        words = (
            "agent",
            "--push",
            self.board.url,
            "--node",
            NODE,
            "--token-file",
            str(self._place / "token"),
        )
        node = ("unshare", "--mount", "sh", "-c", AMONG_THEM, "node", str(self._users), "env")
        # People's agents sample every two seconds at most; here nobody waits for that.
        hasty = {"GPUBOARD_TEST_LIMITS": '{"gpuboard.cli.agent.LEAST_SECONDS": 0.1}', "PYTHONPATH": str(ROOT)}
        variables = [f"{name}={value}" for name, value in (driver | hasty).items()]
        program = (*node, *variables, sys.executable, "-m", "tests.impatient")
        pace = ("--interval", "0.5s", "--probe", "nvml")
        with started(*program, *words, *pace, "--socket", str(self._socket)) as running:
            eventually(lambda: self.state() == "live" and self._socket.exists())
            yield running.kill

    def terminal(self, person: str) -> "Terminal":
        """Where somebody of the node types, signed in by being who they are."""
        home = self._place / person
        kept = Credential(person=person, token=self._log_in(person).token or "")
        Credentials({"XDG_CONFIG_HOME": str(home)}).keep(self.board.url, kept)
        return Terminal(home, kept.token, self.board.url)

    def link(self, person: str) -> str:
        """The one-time link that somebody of the node opens in a browser."""
        return f"{self.board.url}{LINK_PATH}{self._log_in(person).code}"

    def _log_in(self, person: str) -> LoginGrant:
        answer = as_user(self._socket, UIDS[person], UIDS[person])
        assert answer.granted is not None, answer.refused
        assert (answer.granted.person, answer.granted.through) == (person, NODE)
        return answer.granted

    def state(self) -> str | None:
        """How the node is."""
        answer = httpx.get(f"{self.board.url}api/v1/nodes/{NODE}")
        return str(answer.json()["state"]) if answer.is_success else None


class Terminal:
    """Somebody's command line, and what they see of the board."""

    def __init__(self, home: Path, token: str, url: str) -> None:
        self._home = home
        self._url = f"{url}api/v1/"
        self._headers = {"authorization": f"Bearer {token}"}

    def type(self, *words: str) -> tuple[int, str, str]:
        """How a command ends, and what it says."""
        done = command(*words, home=self._home)
        return done.returncode, done.stdout, done.stderr

    def own(self) -> list[dict[str, Any]]:
        """What they have booked."""
        found: list[dict[str, Any]] = self._ask("bookings?mine=true")["bookings"]
        return found

    def booking(self, ident: str) -> dict[str, Any]:
        """One booking."""
        return self._ask(f"bookings/{ident}")

    def gpu(self, number: int) -> dict[str, Any]:
        """One GPU."""
        found: dict[str, Any] = self._ask(f"nodes/{NODE}")["gpus"][number]
        return found

    def _ask(self, path: str) -> dict[str, Any]:
        answer = httpx.get(f"{self._url}{path}", headers=self._headers, timeout=30).raise_for_status()
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def node(tmp_path: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BookedNode]:
    """A board that releases what nobody comes to, and its node."""
    require("cc", "unshare")
    config = tmp_path / "gpuboard.toml"
    config.write_text(SETTINGS)
    library = nvml.build(tmp_path_factory.getbasetemp())
    with running_board("--config", str(config), log=tmp_path / "log", until="healthz") as board:
        yield BookedNode(board, tmp_path, folder, library)


@NEEDS_ROOT
@pytest.mark.slow
def test_a_booking_is_made_broken_into_kept_over_an_outage_and_released(node: BookedNode) -> None:
    """Ana books two GPUs and does not come; Ben is refused, and is on them all the same. Then she comes."""
    with contextlib.ExitStack() as processes:
        with node.agent() as kill_the_agent:
            ana, ben = node.terminal("ana"), node.terminal("ben")
            theirs = [processes.enter_context(started(uid=UIDS["ben"])) for _ in range(2)]
            code, line, words = ana.type("book", f"{NODE}:0,1", "--for", "2h", "-m", "paper")
            assert code == 0, words
            ident = line.split("\t")[0]
            # From now on she cannot come: he is on both.
            node.run_on({number: process.pid for number, process in enumerate(theirs)})
            eventually(lambda: "trespass" in ben.gpu(0)["verdict"]["flags"])
            code, _, words = ben.type("book", f"{NODE}:0,1", "--for", "1h")
            assert (code, "gpu01:0 is booked by ana until" in words) == (1, True)
            eventually(lambda: "trespass" in ana.gpu(1)["verdict"]["flags"])
            seen = ana.gpu(1)
            assert (seen["claim"]["who"], [one["name"] for one in seen["users"]]) == ("ana", ["ben"])
            eventually(lambda: ana.booking(ident)["use"]["others_seconds"] > 0)
            kill_the_agent()
            eventually(lambda: node.state() != "live")
        node.run_on({})
        # For longer than a no-show takes nobody sees the GPUs, and nothing is released.
        eventually(lambda: ana.booking(ident)["use"]["unobserved_seconds"] > 2 * NO_SHOW_SECONDS + 2)
        assert (ana.booking(ident)["state"], ana.booking(ident)["no_show"]) == ("running", False)
        with node.agent():
            eventually(lambda: ana.booking(ident)["state"] == "released", seconds=60)
            assert ana.booking(ident)["no_show"] is True
            eventually(lambda: ben.gpu(0)["verdict"]["word"] == "free")
            code, _, words = ben.type("book", f"{NODE}:0,1", "--for", "1h")
            assert code == 0, words
            # This time she comes.
            node.run_on({2: processes.enter_context(started(uid=UIDS["ana"])).pid})
            code, line, words = ana.type("book", f"{NODE}:2", "--for", "1h")
            assert code == 0, words
            ident = line.split("\t")[0]
            eventually(lambda: ana.booking(ident)["use"]["used_seconds"] > NO_SHOW_SECONDS)
            kept = ana.booking(ident)
            assert (kept["state"], kept["no_show"], kept["use"]["others_seconds"]) == ("running", False, 0)
            seen = ben.gpu(2)
            assert (seen["verdict"]["word"], seen["verdict"]["flags"]) == ("busy", [])
            assert (seen["claim"]["who"], [one["name"] for one in seen["users"]]) == ("ana", ["ana"])
