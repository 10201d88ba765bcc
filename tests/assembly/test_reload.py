"""SIGHUP: a real board takes up new settings, and what has not changed goes on."""

import contextlib
import datetime as dt
import json
import os
import signal
import socket
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from gpuboard.agent.drop import write_drop
from gpuboard.agent.outlet import TimedReport
from gpuboard.assembly.reload import _left_for_a_restart
from gpuboard.outside.secrets import KEEP_SECONDS
from gpuboard.probes.simulated import simulate
from gpuboard.settings.board import BoardTable, Settings, settings_of
from tests.board import RunningBoard, running_board
from tests.sources.pull.agents import TOKEN, Agent
from tests.started import eventually
from tests.tls import Authority
from tests.web.conftest import decode_frame

pytestmark = pytest.mark.slow

LOCAL = '[[source]]\nkind = "local"\nprobe = "simulated"\ninterval = "2s"\n'


def folder(place: Path, node: str) -> str:
    """The table of a folder in which this node has left its report."""
    path = place / f"of-{node}"
    path.mkdir(exist_ok=True)
    write_drop(path, node, TimedReport(simulate(node, time.time()), 0.0))
    return f'[[source]]\nkind = "folder"\npath = "{path}"\ninterval = "100ms"\n'


class Live:
    """A board with settings that can be written anew."""

    def __init__(self, board: RunningBoard, config: Path, log: Path) -> None:
        self.board = board
        self.config = config
        self._log = log

    def take(self, text: str) -> None:
        """Write new settings and tell the board."""
        before = self.log.count("settings ")
        self.config.write_text(text)
        self.board.process.send_signal(signal.SIGHUP)
        eventually(lambda: self.log.count("settings ") > before)

    @property
    def log(self) -> str:
        """What the board has said."""
        return self._log.read_text()

    def get(self, path: str) -> dict[str, Any]:
        """One answer of the board."""
        with urllib.request.urlopen(f"{self.board.url}{path}", timeout=60) as answer:
            document: dict[str, Any] = json.load(answer)
            return document

    def nodes(self) -> dict[str, dict[str, Any]]:
        """All nodes by name."""
        return {node["name"]: node for node in self.get("api/v1/fleet")["nodes"]}

    def settings(self) -> tuple[str, str | None]:
        """How the component is that reads the settings, and why."""
        parts = [part for part in self.parts() if part["component"] == "settings"]
        (state,) = [(part["state"], part["reason"]) for part in parts]
        return state

    def parts(self) -> list[dict[str, Any]]:
        """How the board's parts are, whether it is ready or not."""
        try:
            document = self.get("readyz")
        except urllib.error.HTTPError as error:
            document = json.load(error)
        parts: list[dict[str, Any]] = document["components"]
        return parts

    def children(self) -> set[str]:
        """The processes that it has started."""
        pid = self.board.process.pid
        return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def test_tables_come_go_and_change_while_the_others_are_not_interrupted(tmp_path: Path) -> None:
    """The agent of this machine is the same process all the time."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(LOCAL + folder(tmp_path, "gpu01") + folder(tmp_path, "gpu02"))
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        live = Live(board, config, tmp_path / "log")
        eventually(lambda: {"gpu01", "gpu02"} < live.nodes().keys() and len(live.children()) == 1)
        (here,) = live.nodes().keys() - {"gpu01", "gpu02"}
        agents = live.children()
        # The second table goes, another comes, and that of this machine moves to the end.
        live.take(folder(tmp_path, "gpu03") + folder(tmp_path, "gpu01") + LOCAL)
        eventually(lambda: live.nodes().get("gpu03", {}).get("state") == "live")
        # On a busy machine a sample may be late.
        eventually(lambda: live.nodes()[here]["state"] == "live")
        assert live.children() == agents
        nodes = live.nodes()
        assert (nodes["gpu03"]["source"], nodes["gpu01"]["source"]) == ("folder", "folder 2")
        eventually(lambda: live.nodes().get("gpu02", {}).get("state") != "live", seconds=60)
        # A table that changes keeps its node.
        live.take(LOCAL + folder(tmp_path, "gpu01").replace("100ms", "200ms"))
        assert live.children() == agents
        assert live.nodes()["gpu01"]["gpus"]


def listed(path: Path) -> str:
    """The table of nodes in a hosts file, none of which answers."""
    return f'[[source]]\nkind = "pull"\ndiscover = {{ hosts_file = "{path}" }}\n'


def test_a_hosts_file_that_is_not_there_is_named_and_takes_nothing_away(tmp_path: Path) -> None:
    """A slip in its path: at the start nobody says "no GPU", later nobody's nodes leave; others go on."""
    config, hosts = tmp_path / "gpuboard.toml", tmp_path / "hosts.txt"
    config.write_text(listed(hosts))
    with running_board("--config", str(config), log=tmp_path / "log", until="healthz") as board:
        live = Live(board, config, tmp_path / "log")

        def says(path: Path) -> bool:
            [part] = [part for part in live.parts() if part["kind"] == "hosts_file"]
            why = f"{path} cannot be read: No such file or directory; write it, or correct hosts_file"
            return why in str(part["reason"])

        eventually(lambda: says(hosts))
        eventually(lambda: live.get("api/v1/summary")["sources_unknown"] == 1)
        assert live.get("api/v1/summary")["gpus_known"] is False
        hosts.write_text("127.0.0.1:1\n")
        eventually(lambda: live.nodes().keys() == {"127.0.0.1"})
        live.take(listed(tmp_path / "typo") + folder(tmp_path, "gpu01"))
        eventually(lambda: live.nodes().get("gpu01", {}).get("state") == "live")
        eventually(lambda: says(tmp_path / "typo"))
        assert live.nodes()["127.0.0.1"]["state"] != "left"
        live.take(listed(hosts) + folder(tmp_path, "gpu01"))
        eventually(lambda: all(part["state"] == "ok" for part in live.parts()))


def test_names_thresholds_and_prices_hold_at_once(tmp_path: Path) -> None:
    """For nodes that say nothing new, too."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(folder(tmp_path, "gpu01"))
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        live = Live(board, config, tmp_path / "log")
        eventually(lambda: "gpu01" in live.nodes())
        live.take(f'[names]\nnodes = {{ gpu01 = "Big one" }}\n{folder(tmp_path, "gpu01")}')
        eventually(lambda: live.nodes()["gpu01"]["display_name"] == "Big one")
        assert not all("hot" in gpu["verdict"]["flags"] for gpu in live.nodes()["gpu01"]["gpus"])
        live.take(f"[verdict]\nhot_celsius = 1\n{folder(tmp_path, 'gpu01')}")
        eventually(lambda: all("hot" in gpu["verdict"]["flags"] for gpu in live.nodes()["gpu01"]["gpus"]))
        assert live.get("api/v1/usage")["total"]["price"] is None
        live.take(f"[usage]\nprice = 2\n{folder(tmp_path, 'gpu01')}")
        eventually(lambda: live.get("api/v1/usage")["total"]["price"] is not None)


def test_groups_of_nodes_hold_at_once(tmp_path: Path) -> None:
    """For nodes that say nothing new, too; whoever asks for one that is gone is told."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(folder(tmp_path, "gpu01"))
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        live = Live(board, config, tmp_path / "log")
        eventually(lambda: "gpu01" in live.nodes())
        live.take(f'[groups.nodes]\nrack-a = ["gpu[01-16]"]\nrack-b = ["gpu99"]\n{folder(tmp_path, "gpu01")}')
        eventually(lambda: live.nodes()["gpu01"]["groups"] == ["rack-a"])
        everything, rack_a, rack_b = (
            live.get(f"api/v1/free{query}")["blocks"] for query in ("", "?group=rack-a", "?group=rack-b")
        )
        assert (rack_a, rack_b) == (everything, [])
        live.take(folder(tmp_path, "gpu01"))
        eventually(lambda: live.nodes()["gpu01"]["groups"] == [])
        with pytest.raises(urllib.error.HTTPError, match="404"):
            live.get("api/v1/free?group=rack-a")


def test_a_new_way_to_reach_people_is_told_to_those_who_look(tmp_path: Path) -> None:
    """They come again, and are told; the board was not restarted."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(folder(tmp_path, "gpu01"))
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        live = Live(board, config, tmp_path / "log")
        address = f"{board.url.replace('http', 'ws', 1)}api/v1/stream"
        with connect(address) as page:
            before = decode_frame(page.recv(timeout=20))
            assert before["board"]["contact"] is None
            live.take(f'[names]\ncontact = "mailto:{{person}}@lab.example"\n{folder(tmp_path, "gpu01")}')
            with pytest.raises(ConnectionClosed):
                list(page)
        with connect(f"{address}?stream={before['stream']}&after={before['sequence']}") as page:
            after = decode_frame(page.recv(timeout=20))
        assert (after["kind"], after["stream"]) == ("snapshot", before["stream"])
        assert after["board"]["contact"] == "mailto:{person}@lab.example"


def test_a_broken_file_changes_nothing_and_is_said(tmp_path: Path) -> None:
    """In the log and on /readyz, until a good one is taken up."""
    config = tmp_path / "gpuboard.toml"
    good = LOCAL + folder(tmp_path, "gpu01")
    config.write_text(good)
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        live = Live(board, config, tmp_path / "log")
        eventually(lambda: "gpu01" in live.nodes() and len(live.children()) == 1)
        agents = live.children()
        for broken in (
            '[names]\nnodes = { gpu01 = "x" }\n[[source]]\nkind = "sshh"\n',
            "x = = 1",
            "[bord]\n",
            # As `: >` and an editor whose disk is full leave it.
            "",
            "# nothing but words\n",
        ):
            live.take(broken)
            state, why = live.settings()
            assert (state, "not taken up" in (why or "")) == ("trouble", True)
        assert "everything stays as it was" in live.log
        assert (live.children(), live.nodes()["gpu01"]["display_name"]) == (agents, None)
        live.take(good)
        eventually(lambda: live.settings() == ("ok", None))


def test_what_needs_a_restart_is_named(tmp_path: Path) -> None:
    """And the rest is taken up all the same."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(folder(tmp_path, "gpu01"))
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        live = Live(board, config, tmp_path / "log")
        changed = '[board]\ntick = "2s"\nforget_after = "2d"\nhostnames = ["gpus.lab.example"]\n'
        changed += f'[storage]\nurl = "sqlite:///{tmp_path}/elsewhere.sqlite"\n'
        live.take(changed + folder(tmp_path, "gpu01"))
        assert "needs a restart: [board] tick" in live.log
        assert "needs a restart: [board] forget_after" in live.log
        assert "needs a restart: [storage] url" in live.log
        assert "settings taken up\n" not in live.log
        assert "restart: [board] hostnames" not in live.log
        named = urllib.request.Request(f"{board.url}healthz", headers={"Host": "gpus.lab.example"})
        urllib.request.urlopen(named, timeout=60).close()


def test_where_the_board_listens_and_keeps_its_state_needs_a_restart() -> None:
    """Nobody may believe that it has moved."""
    here = Settings()
    there = Settings(board=BoardTable(listen="0.0.0.0:8042", state_dir="/srv/gpuboard"))
    assert set(_left_for_a_restart(here, there)) == {"[board] listen", "[board] state_dir"}


def test_each_key_that_needs_a_restart_is_named() -> None:
    """Of tables that wait for one as of the board's own."""
    there = settings_of({"bookings": {"longest": "2d"}, "history": {"keep": "20d"}}, where="x")
    assert set(_left_for_a_restart(Settings(), there)) == {"[bookings] longest", "[history] keep"}


def test_access_holds_at_once_and_viewers_come_again(tmp_path: Path) -> None:
    """Nobody goes on seeing what he may no longer see."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(folder(tmp_path, "gpu01"))
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        live = Live(board, config, tmp_path / "log")
        with connect(f"{board.url.replace('http', 'ws')}api/v1/stream") as viewer:
            viewer.recv(timeout=20)
            live.take(f'[access]\nanonymous = "nothing"\n{folder(tmp_path, "gpu01")}')
            with pytest.raises(ConnectionClosed):
                list(viewer)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            live.get("api/v1/fleet")


def test_a_renewed_secret_is_read_at_once(tmp_path: Path) -> None:
    """Files of secrets are remembered for a while; whoever has changed one need not wait for that."""
    agent = Agent()
    secret, config = tmp_path / "token", tmp_path / "gpuboard.toml"
    secret.write_text("f" * 32)
    secret.chmod(0o600)
    pulled = f'[[source]]\nkind = "pull"\nhosts = ["127.0.0.1:{agent.port}"]\ntoken_file = "{secret}"\n'
    settings = pulled + 'interval = "2s"\n'
    config.write_text(settings)
    with contextlib.ExitStack() as stack:
        stack.callback(agent.stop)
        board = stack.enter_context(
            running_board("--config", str(config), log=tmp_path / "log", until="healthz")
        )
        live = Live(board, config, tmp_path / "log")
        eventually(lambda: "127.0.0.1" in live.nodes() and live.nodes()["127.0.0.1"]["state"] == "refused")
        secret.write_text(TOKEN)
        live.take(settings)
        # Sooner than it would be read by itself.
        eventually(lambda: live.nodes()["127.0.0.1"]["state"] == "live", seconds=KEEP_SECONDS / 2)


def test_a_renewed_certificate_is_shown_to_those_who_come(tmp_path: Path) -> None:
    """Also under the old name."""
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("127.0.0.1")
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f'[board]\ntls_certificate = "{certificate}"\ntls_key = "{key}"\n{folder(tmp_path, "gpu01")}'
    )
    log = tmp_path / "log"
    with running_board("--config", str(config), log=log, ca_file=authority.ca_file) as board:
        before = shown_certificate(board, authority.ca_file)
        authority.certificate("127.0.0.1")
        board.process.send_signal(signal.SIGHUP)
        eventually(lambda: shown_certificate(board, authority.ca_file) != before)
        # One that does not fit its key is not taken.
        key.write_text("nonsense")
        now = shown_certificate(board, authority.ca_file)
        board.process.send_signal(signal.SIGHUP)
        eventually(lambda: "settings not taken up" in log.read_text())
        assert shown_certificate(board, authority.ca_file) == now


def test_a_certificate_that_has_expired_is_said(tmp_path: Path) -> None:
    """In the log and in /readyz, until a valid one is taken up; the log says that one was."""
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("127.0.0.1")
    config, log = tmp_path / "gpuboard.toml", tmp_path / "log"
    config.write_text(
        f'[board]\ntls_certificate = "{certificate}"\ntls_key = "{key}"\n{folder(tmp_path, "gpu01")}'
    )
    with running_board("--config", str(config), log=log, ca_file=authority.ca_file) as board:
        assert certificate_of(board)["state"] == "ok"
        authority.certificate("127.0.0.1", begins=dt.timedelta(days=-30))
        board.process.send_signal(signal.SIGHUP)
        eventually(lambda: certificate_of(board)["state"] == "trouble")
        told = certificate_of(board)
        assert told["code"] == "certificate-ends"
        assert f"{certificate} expired on " in told["reason"]
        assert f"{certificate} expired on " in log.read_text()
        authority.certificate("127.0.0.1")
        board.process.send_signal(signal.SIGHUP)
        eventually(lambda: certificate_of(board)["state"] == "ok")
        assert log.read_text().count(f"certificate taken up: path={certificate} valid=") == 2


def certificate_of(board: RunningBoard) -> dict[str, Any]:
    """How the board's certificate is, by /readyz, for somebody who does not verify it."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(f"{board.url}readyz", timeout=60, context=context) as answer:
        parts: list[dict[str, Any]] = json.load(answer)["components"]
    return next(part for part in parts if part["kind"] == "certificate")


def shown_certificate(board: RunningBoard, ca_file: Path) -> bytes | None:
    """What the board shows to a new visitor."""
    port = int(board.url.rsplit(":", 1)[1].strip("/"))
    context = ssl.create_default_context(cafile=ca_file)
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secured,
    ):
        return secured.getpeercert(binary_form=True)


def test_a_file_that_does_not_answer_keeps_no_later_reading_from_being_made(tmp_path: Path) -> None:
    """A dead mount, here a pipe in which nobody writes: said, and forgotten once the file is back."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(folder(tmp_path, "gpu01"))
    with running_board("--config", str(config), log=tmp_path / "log") as board:
        live = Live(board, config, tmp_path / "log")
        config.unlink()
        os.mkfifo(config)
        board.process.send_signal(signal.SIGHUP)
        eventually(lambda: "could not be read in time" in live.log)
        assert live.settings()[0] == "trouble"
        config.unlink()
        live.take(folder(tmp_path, "gpu01") + folder(tmp_path, "gpu02"))
        eventually(lambda: "gpu02" in live.nodes())
        assert live.settings()[0] == "ok"
