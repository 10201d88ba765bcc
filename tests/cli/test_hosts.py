"""`gpuboard status HOST …`: what its exit code says when hosts cannot be read."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import asyncssh
import pytest

from gpuboard.assembly import hosts
from gpuboard.cli import main, read_words
from gpuboard.discovery.base import Target
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.probes.simulated import simulate
from gpuboard.sources.ssh import words
from gpuboard.wire.drop import encode_drop
from tests.sources.pull.agents import TOKEN, Agent
from tests.sources.ssh.server import running_server

PLACE = words.SshHost(name="gpu01", host="gpu01")
REFUSED = Reason(code="auth-failed", text="gpu01 does not let us in")
AWAY = Reason(code="timeout", text="gpu02 does not answer")
Outcomes = Mapping[str, NodeReport | Reason]


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ({"gpu01": REFUSED}, 4),
        ({"gpu01": REFUSED, "gpu02": REFUSED}, 4),
        ({"gpu01": AWAY}, 3),
        ({"gpu01": REFUSED, "gpu02": AWAY}, 3),
        ({"gpu01": REFUSED, "gpu02": simulate("gpu02", 1e9)}, 0),
    ],
    ids=["refused", "all refuse", "away", "one refuses, one is away", "one refuses, one answers"],
)
@pytest.mark.parametrize("command", [("status",), ("export", "json")], ids=["status", "export"])
def test_the_exit_code_tells_refused_from_cannot_tell(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], outcomes: Outcomes, code: int
) -> None:
    """A script should try again for 3, and call a person for 4."""

    async def read_once(*_: object) -> Outcomes:
        return outcomes

    monkeypatch.setattr(hosts, "read_once", read_once)
    assert main([*command, *outcomes]) == code


@pytest.mark.parametrize("command", [("status",), ("export", "json")], ids=["status", "export"])
def test_hosts_that_the_settings_name_are_refused_with_4_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """No HOST is given, and still it is we who were not let in."""

    async def read_once(*_: object) -> Outcomes:
        return {"gpu01": REFUSED, "gpu02": REFUSED}

    monkeypatch.setattr(hosts, "read_once", read_once)
    config = tmp_path / "gpuboard.toml"
    config.write_text('[[source]]\nkind = "ssh"\nhosts = ["gpu[01-02]"]\n')
    assert main([*command, "--config", str(config)]) == 4


@pytest.mark.parametrize(
    ("listed", "asked", "read"),
    [
        (["box:2222[1-2]"], "box:22222", ("box-22222", 22222)),
        (["box:2222[1-2]"], "box:22229", ("box", 22229)),
        (["box:2222[1-2]"], "box-22222", ("box-22222", 22222)),
        (["box:22221"], "box:22229", ("box", 22229)),
        (["box", "box:2222"], "box", ("box", None)),
        (["box", "box:2222"], "box:2222", ("box-2222", 2222)),
        (["box.a.example", "box.b.example"], "box.b.example:2222", ("box.b.example", 2222)),
    ],
    ids=["listed", "not listed", "by its name", "alone", "without a port", "both", "listed without a port"],
)
def test_a_host_asked_for_with_a_port_is_the_listed_one_with_that_port_or_itself(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    listed: list[str],
    asked: str,
    read: tuple[str, int | None],
) -> None:
    """Or the GPUs of one machine are shown under the name of another."""
    seen: list[tuple[str, int | None]] = []

    async def read_once(targets: Sequence[Target], _: object) -> Outcomes:
        seen.extend((target.node, target.port) for target in targets)
        return {target.node: simulate(target.node, 1e9) for target in targets}

    monkeypatch.setattr(hosts, "read_once", read_once)
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "ssh"\nhosts = {json.dumps(listed)}\n')
    assert main(["status", "--config", str(config), asked]) == 0
    assert seen == [read]


@pytest.mark.parametrize(
    "words",
    [
        "export csv --user ana gpu01 gpu02",
        "export csv gpu01 --user ana gpu02",
        "status --user ana gpu01 gpu02",
    ],
)
def test_hosts_may_stand_before_and_behind_options(words: str) -> None:
    """People type them where they come to mind."""
    _, arguments = read_words(words.split())
    assert (arguments.hosts, arguments.user) == (["gpu01", "gpu02"], "ana")


@pytest.mark.parametrize("words", ["export csv --user ana gpu01 --nope", "doctor gpu01", "free gpu01"])
def test_what_is_no_host_is_still_an_error(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And is named."""
    with pytest.raises(SystemExit, match="2"):
        read_words(words.split())
    assert "unrecognized arguments" in capsys.readouterr().err


def test_everything_that_ssh_calls_refused_counts_as_refused() -> None:
    """The two lists are kept in different places."""
    missing = FileNotFoundError(2, "No such file or directory", "/etc/key")
    errors = [
        words.changed_key(PLACE, "SHA256:x"),
        words.unknown_key(PLACE, "SHA256:x"),
        words.untrusted_key(PLACE, "revoked"),
        words.login_refused(PLACE),
        words.explain(missing, PLACE),
        words.explain(asyncssh.KeyImportError("no key"), PLACE),
        words.timed_out(PLACE, 10.0),
        words.explain(ConnectionRefusedError(111, "Connection refused"), PLACE),
    ]
    assert [error.code in hosts.REFUSALS for error in errors] == [
        error.state == "refused" for error in errors
    ]


def test_a_real_host_whose_key_is_not_known_is_refused(tmp_path: Path) -> None:
    """Nobody is logged in to a machine that may be another."""
    home = tmp_path / "home"
    home.mkdir()
    with running_server(tmp_path) as server:
        host = f"{server.user}@127.0.0.1:{server.port}"
        command = [sys.executable, "-m", "gpuboard", "status", host]
        environment = {**os.environ, "HOME": str(home)}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=40
        )
    assert (done.returncode, done.stdout) == (4, "")
    assert "cannot be read" in done.stderr


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    """Settings that know how a real host is reached; its own user and key stand nowhere else."""
    (tmp_path / "home").mkdir()
    with running_server(tmp_path) as server:
        options = server.options()
        path = tmp_path / "gpuboard.toml"
        path.write_text(
            '[board]\ntitle = "GPUs of the lab"\n[names]\nnodes = { "127.0.0.1" = "Big one" }\n'
            f'[[source]]\nkind = "ssh"\nhosts = ["127.0.0.1"]\nport = {options.port}\n'
            f'user = "{options.user}"\n'
            f'key_file = "{options.key_file}"\nknown_hosts = "{options.known_hosts}"\n'
            f'ssh_config = "{options.ssh_config or "/dev/null"}"\n'
        )
        yield path


def run(config: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run `gpuboard` with these settings, as somebody without an ssh config of his own."""
    command = [sys.executable, "-m", "gpuboard", *words, "--config", str(config)]
    environment = {**os.environ, "HOME": str(config.parent / "home")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("hosts_named", [[], ["127.0.0.1"]], ids=["all that are listed", "one by name"])
def test_hosts_are_reached_as_the_settings_say(config: Path, hosts_named: list[str]) -> None:
    """User, key, port, known hosts; and called what the settings call them."""
    done = run(config, "status", *hosts_named, "--json")
    assert done.returncode == 0, done.stderr
    (node,) = json.loads(done.stdout)["nodes"]
    assert (node["display_name"], node["state"], bool(node["gpus"])) == ("Big one", "live", True)


def test_another_user_can_be_named(config: Path) -> None:
    """Who is not let in."""
    done = run(config, "status", "127.0.0.1", "--user", "nobody-at-all")
    assert (done.returncode, "nobody-at-all" in done.stderr) == (4, True), done.stderr


def test_the_exported_page_has_the_boards_title(config: Path) -> None:
    """Unless another is given."""
    assert "<h1>GPUs of the lab</h1>" in run(config, "export", "html").stdout
    assert "<h1>Mine</h1>" in run(config, "export", "html", "--title", "Mine").stdout


def test_settings_without_anything_to_look_at_say_so(tmp_path: Path) -> None:
    """Agents that push are known to their board alone."""
    path = tmp_path / "gpuboard.toml"
    path.write_text('[[source]]\nkind = "push"\n')
    done = run(path, "status")
    assert (done.returncode, "--board" in done.stderr) == (2, True)


def test_a_folder_is_read_by_its_pattern(tmp_path: Path) -> None:
    """As in the settings of a board."""
    for name in ("cml01", "desk01"):
        (tmp_path / f"{name}.json").write_bytes(encode_drop(simulate(name, time.time())))
    command = [sys.executable, "-m", "gpuboard", "status", "--json", "--folder", str(tmp_path)]
    done = subprocess.run([*command, "--pattern", "cml*"], capture_output=True, check=False, timeout=60)
    assert [node["name"] for node in json.loads(done.stdout)["nodes"]] == ["cml01"]


def test_a_node_of_the_settings_is_asked_as_they_say_whatever_it_is_called(tmp_path: Path) -> None:
    """An agent that listens is not tried over ssh, by its own name or by what people call it."""
    agent = Agent()
    try:
        (tmp_path / "home").mkdir()
        (tmp_path / "token").write_text(TOKEN)
        (tmp_path / "token").chmod(0o600)
        path = tmp_path / "gpuboard.toml"
        path.write_text(
            '[names]\nnodes = { localhost = "Big one" }\n'
            f'[[source]]\nkind = "pull"\nhosts = ["localhost:{agent.port}", "127.0.0.1:1"]\n'
            f'token_file = "{tmp_path}/token"\n'
        )
        done = [run(path, "status", "--json", name) for name in ("localhost", "big ONE")]
    finally:
        agent.stop()
    seen = [[(node["name"], node["source"]) for node in json.loads(one.stdout)["nodes"]] for one in done]
    assert seen == [[("localhost", "pull")]] * 2


def test_agents_that_listen_are_asked_once_as_the_settings_say(tmp_path: Path) -> None:
    """With their token; one that is away says why beside the others, and nobody waits for those that push."""
    agent = Agent()
    try:
        (tmp_path / "home").mkdir()
        (tmp_path / "token").write_text(TOKEN)
        (tmp_path / "token").chmod(0o600)
        path = tmp_path / "gpuboard.toml"
        path.write_text(
            f'[[source]]\nkind = "pull"\nhosts = ["localhost:{agent.port}", "127.0.0.1:1"]\n'
            f'token_file = "{tmp_path}/token"\n[[source]]\nkind = "push"\n'
        )
        done, exported = run(path, "status", "--json"), run(path, "export", "json")
    finally:
        agent.stop()
    assert (done.returncode, exported.returncode) == (0, 0), done.stderr
    nodes = {node["name"]: node for node in json.loads(done.stdout)["nodes"]}
    assert (nodes["localhost"]["state"], len(nodes["localhost"]["gpus"])) == ("live", 1)
    assert nodes["127.0.0.1"]["reason"]["code"] == "connection-refused"
    # What is written for others lacks them too.
    assert {done.stderr, exported.stderr} == {
        "gpuboard: nodes that push to the board are left out; ask the board with --board URL\n"
    }
