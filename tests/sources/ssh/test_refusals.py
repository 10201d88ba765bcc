"""Hosts that are not whom we know, and hosts that do not let us in: each in words, with a remedy."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.model.errors import WireError
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.sources.ssh import SshOptions, forced_command, read_once
from gpuboard.sources.ssh.words import unreadable
from tests.parts import require
from tests.sources.ssh.server import Server, make_key, running_server
from tests.sources.ssh.watching import IMPATIENT, PATIENT, target, until, watching


async def look(options: SshOptions, host: str = "127.0.0.1") -> NodeReport | Reason:
    """Read one host once."""
    return (await read_once([target("gpu01", host=host)], options))["gpu01"]


def test_a_sample_that_cannot_be_read_is_said_in_words() -> None:
    """Who sent what, why it cannot be read, and where to look."""
    error = unreadable("gpu01", WireError("the driver's document ends in the middle"))
    assert error.reason == (
        "gpu01 sent a sample that cannot be read: the driver's document ends in the middle; "
        "see what its nvidia-smi and its forced command print"
    )


async def run(command: str | list[str]) -> bytes:
    """Run a command as a person would."""
    done = await asyncio.to_thread(
        subprocess.run, command, shell=isinstance(command, str), check=True, capture_output=True
    )
    return done.stdout


async def refusal(options: SshOptions) -> Reason:
    """Read one host that cannot be read."""
    outcome = await look(options)
    assert isinstance(outcome, Reason)
    return outcome


async def test_a_changed_host_key_is_refused(server: Server, tmp_path: Path) -> None:
    """Never accepted; the words hold the exact command that forgets the old key."""
    server.trust(make_key(tmp_path / "other_key"))
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: bool(recorder.troubles))
    code, state, text = recorder.last_trouble("gpu01")
    assert (code, state) == ("host-key-changed", "refused")
    command = f"ssh-keygen -f {server.known_hosts} -R '[127.0.0.1]:{server.port}'"
    assert command in text
    assert "SHA256:" in text
    assert recorder.count("gpu01") == 0
    # The command does what the words promise.
    await run(command)
    assert (await refusal(server.options())).code == "host-key-unknown"


async def test_a_changed_kind_of_host_key_is_refused(server: Server, tmp_path: Path) -> None:
    """We know an RSA key, and the host no longer has one."""
    server.trust(make_key(tmp_path / "rsa_key", kind="rsa"))
    assert (await refusal(server.options())).code == "host-key-changed"


async def test_an_unknown_host_key_is_refused(server: Server) -> None:
    """Nobody is trusted at first sight; the words say how to add the key."""
    server.known_hosts.write_text("")
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: bool(recorder.troubles))
    code, state, text = recorder.last_trouble("gpu01")
    assert (code, state) == ("host-key-unknown", "refused")
    scan = f"ssh-keyscan -p {server.port} 127.0.0.1"
    assert f"{scan} >> {server.known_hosts}" in text
    # The command does what the words promise.
    server.known_hosts.write_bytes(await run(scan))
    assert isinstance(await look(server.options()), NodeReport)


async def test_logging_in_as_the_words_say_makes_an_unknown_host_known(server: Server) -> None:
    """With the board's own known_hosts and key: a person's ssh alone would write the key elsewhere."""
    server.known_hosts.write_text("")
    text = (await refusal(server.options())).text
    login = text.partition("board's user (")[2].partition(")")[0]
    assert f"-o UserKnownHostsFile={server.known_hosts} -i {server.user_key} -p {server.port} " in login
    await run(f"{login} -o StrictHostKeyChecking=accept-new -o BatchMode=yes true")
    assert isinstance(await look(server.options()), NodeReport)


async def test_a_public_key_as_key_file_is_called_that(server: Server) -> None:
    """And its file is named, with the one that is meant."""
    found = await refusal(server.options(key_file=f"{server.user_key}.pub"))
    assert found.code == "key-unreadable"
    assert f"{server.user_key}.pub is a public key" in found.text
    assert found.text.endswith(f": {server.user_key}")


async def test_a_file_that_is_no_key_is_named(server: Server, tmp_path: Path) -> None:
    """Whoever reads it has several."""
    (tmp_path / "no-key").write_text("nothing of the kind")
    found = await refusal(server.options(key_file=f"{tmp_path}/no-key"))
    assert (found.code, f"{tmp_path}/no-key" in found.text) == ("key-unreadable", True)


async def test_an_ssh_config_cannot_switch_verification_off(server: Server, tmp_path: Path) -> None:
    """Where ssh would trust everybody, we trust nobody."""
    config = tmp_path / "config"
    config.write_text("Host *\n  UserKnownHostsFile none\n  StrictHostKeyChecking no\n")
    options = server.options(known_hosts=None, ssh_config=str(config))
    assert (await refusal(options)).code == "host-key-unknown"


async def test_a_key_that_the_host_does_not_know(server: Server, tmp_path: Path) -> None:
    """The words say how to bring it there."""
    other = make_key(tmp_path / "stranger")
    async with watching(server.options(key_file=str(other)), target("gpu01")) as recorder:
        await until(lambda: bool(recorder.troubles))
    code, state, text = recorder.last_trouble("gpu01")
    assert (code, state) == ("auth-failed", "refused")
    known = f"-o UserKnownHostsFile={server.known_hosts}"
    assert f"ssh-copy-id {known} -i {other} -p {server.port} {server.user}@127.0.0.1" in text


async def test_a_key_file_that_is_not_there(server: Server, tmp_path: Path) -> None:
    """It is named."""
    reason = await refusal(server.options(key_file=str(tmp_path / "nothing")))
    assert reason.code == "file-unreadable"
    assert str(tmp_path / "nothing") in reason.text


async def test_a_key_file_that_is_no_key(server: Server, tmp_path: Path) -> None:
    """It is said."""
    (tmp_path / "text").write_text("hello")
    assert (await refusal(server.options(key_file=str(tmp_path / "text")))).code == "key-unreadable"


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An ssh-agent of this test's own."""
    require("ssh-agent", "ssh-add")
    path = tmp_path / "agent"
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    try:
        while not path.exists():
            pass
        yield
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.usefixtures("agent")
async def test_a_key_with_a_passphrase_works_through_the_agent(server: Server, tmp_path: Path) -> None:
    """And before it was added, the words say how."""
    key = make_key(tmp_path / "locked", passphrase="open sesame")
    server.allow(key)
    options = server.options(key_file=str(key))
    reason = await refusal(options)
    assert reason.code == "auth-failed"
    assert f"ssh-add {key}" in reason.text
    ask = tmp_path / "ask"
    ask.write_text("#!/bin/sh\necho open sesame\n")
    ask.chmod(0o755)
    environment = {**os.environ, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
    add = ["ssh-add", "-q", str(key)]
    await asyncio.to_thread(subprocess.run, add, env=environment, check=True, stdin=subprocess.DEVNULL)
    assert isinstance(await look(options), NodeReport)


async def test_aliases_and_jump_hosts_come_from_the_ssh_config(server: Server, tmp_path: Path) -> None:
    """User, key, port and way are the config's; keys of all hosts on the way are verified."""
    (tmp_path / "bastion").mkdir()
    with running_server(tmp_path / "bastion", config="AllowTcpForwarding yes") as bastion:
        bastion.allow(server.user_key)
        config = tmp_path / "config"
        config.write_text(
            f"Host inner\n  HostName 127.0.0.1\n  Port {server.port}\n  ProxyJump bastion\n"
            f"Host bastion\n  HostName 127.0.0.1\n  Port {bastion.port}\n"
            f"Host *\n  User {server.user}\n  IdentityFile {server.user_key}\n"
        )
        options = server.options(user=None, key_file=None, port=None, ssh_config=str(config))
        stranger = await look(options, "inner")
        assert isinstance(stranger, Reason)
        assert stranger.code == "host-key-unknown"
        assert str(bastion.port) in stranger.text
        with server.known_hosts.open("a") as file:
            file.write(bastion.known_hosts.read_text())
        assert isinstance(await look(options, "inner"), NodeReport)
        await until(lambda: not bastion.sessions(), 3)


@pytest.mark.parametrize("own", [None, "own"])
async def test_an_alias_means_what_the_file_says_that_lists_it(
    server: Server, tmp_path: Path, own: str | None
) -> None:
    """Unless the table names another; else each node would need its lines twice."""
    listed, elsewhere = tmp_path / "listed", tmp_path / "elsewhere"
    right = f"Host inner\n  HostName 127.0.0.1\n  Port {server.port}\n"
    listed.write_text("Host inner\n  HostName 127.0.0.1\n  Port 1\n" if own else right)
    elsewhere.write_text(right)
    options = server.options(
        port=None, ssh_config=str(elsewhere) if own else None, discover={"ssh_config": str(listed)}
    )
    assert isinstance(await look(options, "inner"), NodeReport)


async def test_jump_hosts_in_a_circle(server: Server, tmp_path: Path) -> None:
    """They end, with words."""
    config = tmp_path / "config"
    config.write_text("Host a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
    outcome = await look(server.options(ssh_config=str(config)), "a")
    assert isinstance(outcome, Reason)
    assert outcome.code == "ssh-config"


async def test_a_forced_command_is_asked_round_by_round(server: Server, tmp_path: Path) -> None:
    """The key may run one command and nothing else; the source notices and asks again each round."""
    key = make_key(tmp_path / "restricted")
    server.allow(key, forced_command())
    async with watching(server.options(key_file=str(key)), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") >= 4)
        assert len(server.sessions()) == 1
    assert not recorder.troubles
    assert len(recorder.last("gpu01").gpus or ()) == 2
    mischief = f"-p {server.port} -i {key} 127.0.0.1 touch {tmp_path / 'mischief'}"
    await run(
        f"ssh -F none -o StrictHostKeyChecking=yes -o UserKnownHostsFile={server.known_hosts} {mischief}"
    )
    assert not (tmp_path / "mischief").exists()


MANY_SAMPLES = "while :; do printf 'gpuboard 1 host 1 0\\ngpuboard end 1\\n'; done"


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("echo This account is currently not available.; exit 1", "no-samples", "not available"),
        ("exit 127", "no-samples", "awk"),
        ("yes and no", "flood", "flood"),
        ("yes ''", "flood", "flood"),
        ("yes gpuboard 1 sample 1 3", "flood", "flood"),
        ("sleep 600", "silent", "said nothing"),
        (MANY_SAMPLES, "flood", "more often"),
    ],
)
async def test_a_shell_that_does_not_run_our_command(
    tmp_path: Path, command: str, code: str, words: str
) -> None:
    """What came instead is quoted, or at least said."""
    with running_server(tmp_path, config=f"ForceCommand {command}") as server:
        pace = IMPATIENT if code == "silent" else PATIENT
        async with watching(server.options(), target("gpu01"), pace=pace) as recorder:
            # A busy machine may be silent before it is anything else.
            await until(lambda: recorder.codes("gpu01") - {"timeout"} != set())
        assert recorder.last_trouble("gpu01")[0] == code
        assert words in recorder.last_trouble("gpu01")[2]


async def test_noise_of_the_login_shell_does_no_harm(tmp_path: Path) -> None:
    """Many a ~/.bashrc talks."""
    talk = "echo welcome; printf 'no newline' >&2; eval \"$SSH_ORIGINAL_COMMAND\""
    with running_server(tmp_path, config=f"ForceCommand {talk}") as server:
        assert isinstance(await look(server.options()), NodeReport)
