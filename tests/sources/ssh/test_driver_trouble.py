"""An nvidia-smi that is missing, fails, is slow, hangs or never stops; over a real sshd."""

import os
import signal
from pathlib import Path

import pytest

from gpuboard.sources.ssh import Timing, forced_command, session
from gpuboard.sources.ssh.command import SCRIPT
from tests.sources.ssh.server import Server, make_key
from tests.sources.ssh.watching import target, until, watching

# Hung after a while, and never taken for silent on a busy machine.
PATIENT = Timing(interval=0.5, timeout=2.5, longest_retry=0.5)
RESTARTING = Timing(interval=0.25, timeout=1.0, longest_retry=0.5, restart_hung_after=1.5)


async def test_without_nvidia_smi_the_host_still_reports(server: Server) -> None:
    """The list of GPUs is unknown, not empty."""
    server.set_nvidia_smi("missing")
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") > 0)
    report = recorder.last("gpu01")
    assert report.gpus is None
    assert recorder.problems("gpu01") == {"no-driver"}
    assert report.host is not None
    assert report.host.cpu_count


async def test_a_driver_that_fails_keeps_the_inventory(server: Server) -> None:
    """The GPUs that were there are still there, without any figure of before."""
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") > 0)
        server.set_nvidia_smi("fail")
        await until(lambda: recorder.problems("gpu01") == {"no-driver"})
    gpus = recorder.last("gpu01").gpus or ()
    assert len(gpus) == 2
    assert all(gpu.model and gpu.utilization_percent is None and gpu.processes is None for gpu in gpus)


async def test_a_slow_driver_is_asked_less_often(server: Server) -> None:
    """Its samples say how old they are and how often they come; it is not called hung."""
    server.set_nvidia_smi("slow")
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") >= 2)
    report = recorder.last("gpu01")
    assert not report.problems
    # Node clocks count in hundredths.
    assert report.age_seconds >= 0.78
    assert (report.interval_seconds or 0) >= 1.56
    assert len(server.starts()) <= 3


@pytest.mark.slow
async def test_a_hung_driver_leaves_the_host_talking(server: Server) -> None:
    """Host facts go on, the GPUs are known by name only, and one nvidia-smi waits, never two."""
    async with watching(server.options(), target("gpu01"), pace=PATIENT) as recorder:
        await until(lambda: recorder.count("gpu01") > 0)
        server.set_nvidia_smi("hang")
        await until(lambda: recorder.problems("gpu01") == {"driver-hung"})
        before = recorder.count("gpu01")
        await until(lambda: recorder.count("gpu01") >= before + 3)
        report = recorder.last("gpu01")
        assert len(server.hanging()) == 1
        assert report.problems[0].since is not None
        assert "nvidia-smi has not answered" in report.problems[0].text
        assert [gpu.utilization_percent for gpu in report.gpus or ()] == [None, None]
        assert report.host is not None
        assert report.host.disks
        assert len({one.host.uptime_seconds for _, one in recorder.reports["gpu01"] if one.host}) > 3
        assert not recorder.troubles


async def test_beside_a_hung_nvidia_smi_no_other_is_started(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a new run of the command either, nor after a new login; when it ends, all is well."""
    monkeypatch.setattr(session, "SCRIPT", server.impatient(SCRIPT))
    server.set_nvidia_smi("hang")
    async with watching(server.options(), target("gpu01"), pace=RESTARTING) as recorder:
        await until(lambda: "waiting" in recorder.words("gpu01"))
        for pid in server.sessions():
            os.kill(pid, signal.SIGKILL)
        await until(lambda: bool(recorder.troubles))
        before = recorder.count("gpu01")
        await until(lambda: recorder.count("gpu01") >= before + 3)
        (stuck,) = server.hanging()
        assert f"pid {stuck}" in recorder.words("gpu01")
        server.set_nvidia_smi("ok")
        os.kill(stuck, signal.SIGKILL)
        await until(lambda: len(recorder.last("gpu01").gpus or ()) == 2)
    assert recorder.problems("gpu01") == set()


@pytest.mark.slow
async def test_a_hung_wrapper_by_another_name_is_found_and_ended_with_all_it_started(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On many machines nvidia-smi is a script that starts something else, which is what hangs."""
    server.wrap_nvidia_smi()
    script = server.impatient(SCRIPT, ended_after=6, grace=0, name="no-such-name")
    monkeypatch.setattr(session, "SCRIPT", script)
    server.set_nvidia_smi("hang")
    async with watching(server.options(), target("gpu01"), pace=RESTARTING) as recorder:
        await until(lambda: "waiting" in recorder.words("gpu01"))
        assert len(server.starts()) == 1
        server.set_nvidia_smi("ok")
        await until(lambda: len(recorder.last("gpu01").gpus or ()) == 2)
    await until(lambda: not server.hanging())


async def test_a_forgotten_nvidia_smi_is_asked_to_end(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that hangs for long without being stuck in the kernel is ended, so that the node recovers."""
    monkeypatch.setattr(session, "SCRIPT", server.impatient(SCRIPT, ended_after=2))
    server.set_nvidia_smi("hang")
    async with watching(server.options(), target("gpu01"), pace=RESTARTING) as recorder:
        await until(lambda: recorder.problems("gpu01") == {"driver-hung"})
        server.set_nvidia_smi("ok")
        await until(lambda: len(recorder.last("gpu01").gpus or ()) == 2)
    assert not server.hanging()


@pytest.mark.slow
async def test_a_hung_driver_behind_a_forced_command(server: Server, tmp_path: Path) -> None:
    """Round by round too, the host goes on and the driver is called hung."""
    key = make_key(tmp_path / "restricted")
    server.allow(key, server.impatient(forced_command()))
    async with watching(server.options(key_file=str(key)), target("gpu01"), pace=PATIENT) as recorder:
        await until(lambda: recorder.count("gpu01") > 1)
        server.set_nvidia_smi("hang")
        await until(lambda: recorder.problems("gpu01") == {"driver-hung"})
        before = recorder.count("gpu01")
        await until(lambda: recorder.count("gpu01") >= before + 3)
    assert len(server.hanging()) == 1
    assert len(recorder.last("gpu01").gpus or ()) == 2


async def test_an_nvidia_smi_that_never_stops_is_cut_off(server: Server) -> None:
    """The frame stays within its limit, and the next one comes."""
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") > 0)
        server.set_nvidia_smi("flood")
        await until(lambda: recorder.problems("gpu01") == {"unreadable-output"})
        server.set_nvidia_smi("ok")
        await until(lambda: recorder.problems("gpu01") == set())
    assert not recorder.troubles


async def test_a_gpu_that_goes_missing_is_missed(server: Server) -> None:
    """It was there before, so it is lost, not gone."""
    async with watching(server.options(), target("gpu01")) as recorder:
        await until(lambda: recorder.count("gpu01") > 0)
        log = (server.folder / "log.xml").read_text()
        first = log.index("\t<gpu id=")
        second = log.index("\t<gpu id=", first + 1)
        (server.folder / "log.xml").write_text(log[:first] + log[second:])
        await until(lambda: recorder.problems("gpu01") == {"gpu-lost"})
    assert len(recorder.last("gpu01").gpus or ()) == 2
