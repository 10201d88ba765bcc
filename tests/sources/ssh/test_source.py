"""The source against a real sshd: what comes, how often, and that nodes do not disturb each other."""

import logging
import os
import time
from pathlib import Path

import pytest

from gpuboard.model.errors import SettingsError
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.sources.registry import Surroundings, make_source
from gpuboard.sources.ssh import Timing, read_once
from gpuboard.sources.ssh.connect import SshConnector
from tests.fakes.sink import SettableDiscovery
from tests.sources.ssh.server import Server, children_of, descendants_of, running_server
from tests.sources.ssh.watching import IMPATIENT, QUICK, target, until, watching
from tests.started import is_running


async def test_a_node_reports_its_gpus_and_itself(server: Server) -> None:
    """Everything that a report needs comes from one fixed command, over one connection."""
    server.run_on_gpu(os.getpid())
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") >= 3)
        # A node that was slow just now says a longer one.
        await until(lambda: recorder.last("gpu01").interval_seconds == QUICK.interval)
        assert len(server.sessions()) == 1
        report = recorder.last("gpu01")
    assert [gpu.model for gpu in report.gpus or ()] == ["NVIDIA H100 80GB HBM3"] * 2
    assert report.host is not None
    assert report.host.memory_total_bytes
    assert report.host.disks
    assert report.host.driver_version == "590.44.01"
    assert report.boot_id
    assert abs((report.taken_at or 0) - time.time()) < 5
    sequences = [one.sequence or 0 for _, one in recorder.reports["gpu01"]]
    assert sequences == sorted(set(sequences))
    assert not recorder.troubles
    (holder,) = (report.gpus or ())[0].processes or ()
    assert (holder.pid, holder.uid, holder.user) == (os.getpid(), os.getuid(), server.user)
    assert holder.state in {"running", "sleeping"}


async def test_everything_on_the_node_ends_with_the_connection(server: Server) -> None:
    """Nothing of ours runs on when nobody listens."""
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") >= 2)
        running = descendants_of(server.listener)
        assert running
    await until(lambda: not any(map(is_running, running)))


async def test_many_nodes_behind_one_sshd(server: Server) -> None:
    """All of them are live, each with reports of its own."""
    nodes = [f"gpu{number:02}" for number in range(12)]
    pace = Timing(interval=1.0, timeout=8.0)
    async with watching(server.options(max_connections=4), *map(target, nodes), pace=pace) as recorder:
        await until(lambda: all(recorder.count(node) >= 2 for node in nodes), 20)
        assert recorder.expected == set(nodes)
        assert set(recorder.addresses.values()) == {"127.0.0.1"}
    assert not recorder.troubles


async def test_the_list_of_nodes_may_change(server: Server) -> None:
    """New nodes are read at once, old ones are let go, and the rest is not disturbed."""
    discovery = SettableDiscovery(target("a"), target("b"))
    async with watching(server.options(), discovery=discovery) as recorder:
        await until(lambda: recorder.count("a") > 0 and recorder.count("b") > 0)
        connections = set(server.sessions())
        discovery.change(target("b"), target("c"), target("c", port=1))
        await until(lambda: recorder.count("c") > 0)
        assert recorder.expected == {"b", "c"}
        assert len(connections & set(server.sessions())) == 1
        let_go = recorder.count("a")
        before = recorder.count("b")
        await until(lambda: recorder.count("b") > before + 2)
        assert recorder.count("a") == let_go
    assert not recorder.troubles


@pytest.mark.slow
async def test_dead_nodes_do_not_delay_the_others(server: Server, tmp_path: Path) -> None:
    """One that hangs, one that refuses and one that is nobody: the live one keeps its pace."""
    (tmp_path / "hanging").mkdir()
    with running_server(tmp_path / "hanging") as hanging:
        hanging.freeze([hanging.listener])
        dead = [target(f"dead{number}", hanging.port) for number in range(8)]
        others = [target("refused", port=1), target("nobody", host="no-such-host.invalid")]
        options = server.options(max_connections=2)
        nodes = [*dead, *others, target("live"), target("live2")]
        async with watching(options, *nodes, pace=IMPATIENT) as recorder:
            await until(lambda: recorder.count("live") > 0 and recorder.count("live2") > 0)
            since, heard = time.monotonic(), recorder.count("live")
            await until(lambda: {"dead0", "refused", "nobody"} <= recorder.troubles.keys())
            # The dead ones are tried again and again, and still wait for an answer each time.
            await until(lambda: recorder.count("live") > heard + 10)
            # So long it would be if it had to stand in line behind them.
            in_line = len(dead) / options.max_connections * IMPATIENT.timeout
            assert recorder.longest_gap("live", since=since) < in_line
            assert recorder.codes("dead0") == {"timeout"}
            assert recorder.codes("refused") == {"connection-refused"}
            assert recorder.codes("nobody") == {"unknown-host"}


async def test_a_node_comes_back_by_itself(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """A restart of its sshd costs some samples and nothing else; the log says once that it is back."""
    caplog.set_level(logging.INFO, logger="gpuboard")
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") > 0)
        server.stop()
        await until(lambda: "connection-refused" in recorder.codes("gpu01"))
        assert "connection-lost" in recorder.codes("gpu01")
        lost = next(reason for reason, _ in recorder.troubles["gpu01"] if reason.code == "connection-lost")
        # As the board logs in, so that whoever tries it by hand learns the same.
        assert lost.text.endswith(f"-i {server.user_key} -p {server.port} {server.user}@127.0.0.1")
        # The lost connection alone is not yet news; that nobody answers the second try is.
        assert len(recorder.lasting) == len(recorder.troubles["gpu01"]) - 1
        before = recorder.count("gpu01")
        server.start()
        await until(lambda: recorder.count("gpu01") > before + 2)
    said = [message for message in caplog.messages if "gpu01" in message]
    assert said[-1] == "node is back: source=ssh node=gpu01"
    assert sum("is back" in message for message in said) == 1


async def test_a_frozen_session_is_noticed_and_replaced(server: Server) -> None:
    """The connection stands and nothing comes: after a while we say so, and log in again."""
    async with watching(server.options(), target("gpu01"), pace=IMPATIENT) as recorder:
        await until(lambda: recorder.count("gpu01") > 0)
        recorder.troubles.clear()
        frozen = [pid for child in server.sessions() for pid in (child, *children_of(child))]
        server.freeze(frozen)
        since = time.monotonic()
        before = recorder.count("gpu01")
        await until(lambda: bool(recorder.troubles))
        assert time.monotonic() - since < IMPATIENT.timeout + 5
        assert recorder.codes("gpu01") <= {"silent", "connection-lost"}
        await until(lambda: recorder.count("gpu01") > before + 1)
        server.thaw(frozen)


async def test_a_hanging_listener_recovers(server: Server) -> None:
    """TCP answers and ssh does not: a time-out, and after it wakes up all is well again."""
    server.freeze([server.listener])
    async with watching(server.options(), target("gpu01"), pace=IMPATIENT) as recorder:
        await until(lambda: recorder.codes("gpu01") == {"timeout"})
        server.thaw([server.listener])
        await until(lambda: recorder.count("gpu01") > 0)


async def test_one_look_has_an_outcome_for_every_host(server: Server) -> None:
    """A report, or a reason in words."""
    options = server.options(timeout=3)
    outcomes = await read_once([target("live"), target("refused", port=1)], options)
    report = outcomes["live"]
    assert isinstance(report, NodeReport)
    assert len(report.gpus or ()) == 2
    reason = outcomes["refused"]
    assert isinstance(reason, Reason)
    assert reason.code == "connection-refused"
    assert "port 1" in reason.text


@pytest.mark.slow
async def test_one_look_waits_for_nobody_longer_than_the_time_out(server: Server) -> None:
    """A host that hangs costs the time-out, once, and the others nothing."""
    server.set_nvidia_smi("hang")
    since = time.monotonic()
    outcomes = await read_once([target("a"), target("b")], server.options(timeout=5))
    assert time.monotonic() - since < 40
    for outcome in outcomes.values():
        assert isinstance(outcome, NodeReport)
        assert outcome.gpus is None
        assert [problem.kind for problem in outcome.problems] == ["driver-hung"]
        assert outcome.host is not None


async def test_the_user_of_a_node_wins_over_that_of_the_source(server: Server) -> None:
    """`hosts = ["ana@gpu01"]` says who."""
    targets = [target("right", user=server.user), target("wrong", user="nobody-here")]
    right, wrong = (await read_once(targets, server.options(user="nobody-at-all"))).values()
    assert isinstance(right, NodeReport)
    assert isinstance(wrong, Reason)
    assert "nobody-here" in wrong.text


def test_a_table_of_the_settings_becomes_a_source() -> None:
    """With hosts or with a discovery, as the other sources."""
    around = Surroundings(now=time.time, node="here")
    for table in ({"hosts": ["gpu[01-16].lab.example"]}, {"discover": {"ssh_config": "~/.ssh/config"}}):
        assert make_source({"kind": "ssh", **table}, around, where="source 1").kind == "ssh"
    with pytest.raises(SettingsError, match="hosts"):
        make_source({"kind": "ssh"}, around, where="source 1")


async def test_a_name_with_several_addresses(server: Server) -> None:
    """The first address that answers will do; here the IPv6 one does not."""
    outcomes = await read_once([target("named", host="localhost")], server.options())
    assert isinstance(outcomes["named"], NodeReport)


async def test_the_cipher_is_a_quick_one_unless_the_ssh_config_names_another(
    server: Server, tmp_path: Path
) -> None:
    """What an admin has written there counts."""
    config = tmp_path / "ssh_config"
    for text, cipher in (("", "aes256-gcm@openssh.com"), ("Ciphers aes256-ctr\n", "aes256-ctr")):
        config.write_text(text)
        connector = SshConnector(server.options(ssh_config=str(config)))
        connection = await connector.open(target("gpu01"), within=10, keepalive=10)
        assert connection.get_extra_info("recv_cipher") == cipher
        connection.abort()
