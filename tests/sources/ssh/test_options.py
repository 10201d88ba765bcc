"""The options as they stand in gpuboard.toml, and the pace that follows from them."""

import asyncio
import time
import tomllib

import pytest

from gpuboard.model.errors import SettingsError
from gpuboard.settings.base import read_options
from gpuboard.sources.ssh import SshOptions, Timing
from gpuboard.sources.ssh.gate import HOLD_SECONDS, Gate


def test_options_from_toml() -> None:
    """Everything that the reference lists can be set."""
    values = tomllib.loads(
        'hosts = ["gpu[01-16].lab.example", "old-box"]\nuser = "gpu_monitor"\nkey_file = "~/.ssh/gpuboard"\n'
        'known_hosts = "/etc/gpuboard/known_hosts"\nssh_config = "/etc/gpuboard/ssh_config"\nport = 2222\n'
        'interval = "10s"\ntimeout = "20s"\nmax_connections = 8\n'
    )
    options = read_options(SshOptions, values, where="source 1")
    assert options.hosts == ("gpu[01-16].lab.example", "old-box")
    assert (float(options.interval), float(options.timeout), options.port) == (10.0, 20.0, 2222)


def test_defaults() -> None:
    """Five seconds, ten seconds."""
    pace = Timing.of(SshOptions())
    assert (pace.interval, pace.timeout, pace.silence, pace.patience) == (5, 10, 15, 10)


@pytest.mark.parametrize(
    "values",
    [{"interval": "1s"}, {"timeout": "0s"}, {"max_connections": 0}, {"port": 0}, {"user": 1}, {"x": 1}],
)
def test_what_makes_no_sense_is_refused(values: dict[str, object]) -> None:
    """With the place and the key."""
    with pytest.raises(SettingsError, match="source 1"):
        read_options(SshOptions, values, where="source 1")


async def test_a_crowd_passes_the_gate_in_groups() -> None:
    """Never more logins at once than allowed, for all hosts and for one."""
    gate = Gate(4, per_host=2)
    inside: list[str] = []
    most = {"all": 0, "a": 0}

    async def login(host: str) -> None:
        async with gate.pass_through(host, 22):
            inside.append(host)
            most["all"] = max(most["all"], len(inside))
            most["a"] = max(most["a"], inside.count("a"))
            await asyncio.sleep(0.01)
            inside.remove(host)

    await asyncio.gather(*(login(host) for host in "aaaabcdefaaaa"))
    assert most == {"all": 4, "a": 2}


async def test_who_hangs_does_not_keep_its_place() -> None:
    """A host that never answers holds up the others for a moment only."""
    gate = Gate(1)

    async def hang() -> None:
        async with gate.pass_through("dead", 22):
            await asyncio.sleep(60)

    task = asyncio.create_task(hang())
    await asyncio.sleep(0)
    since = time.monotonic()
    async with gate.pass_through("live", 22):
        assert time.monotonic() - since < HOLD_SECONDS + 5
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
