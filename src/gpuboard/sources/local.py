"""This machine: an agent as a child process, so that no driver can hang the board."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.errors import WireError
from gpuboard.model.problems import says_no_gpu
from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason
from gpuboard.probes.registry import PROBE_NAMES, PROBES
from gpuboard.settings.base import Duration, Rule, between
from gpuboard.sources.base import Sink
from gpuboard.wire.report import MAX_REPORT_BYTES, decode_report

log = logging.getLogger(__name__)

RESTART_SECONDS: Final = 5.0
STOP_SECONDS: Final = 2.0


def check_probe(value: str | None) -> None:
    """A probe that there is."""
    if value is not None and value not in PROBES:
        raise ValueError(f"there is no such probe; choose one of {PROBE_NAMES}")


class LocalOptions(Struct, frozen=True, kw_only=True):
    """How this machine is read."""

    kind: Literal["local"] = "local"
    # The agent itself takes no less.
    interval: Annotated[Duration, between("2s", "1h")] = Duration(5)
    probe: Annotated[str | None, Rule(check_probe)] = None
    # A board of other machines' GPUs need not show its own as one without.
    only_with_gpus: bool = False


class LocalSource:
    """Runs `gpuboard agent` here and reads a report per line."""

    kind = "local"

    def __init__(self, options: LocalOptions, *, node: str, command: Sequence[str] | None = None) -> None:
        self._node = node
        # Whether this machine is a node at all; once it is, it stays one.
        self._is_node = not options.only_with_gpus
        self._has_told = False
        self._command = list(command or agent_command(options, node))

    async def run(self, sink: Sink) -> None:
        """Keep the agent running until cancelled; one that ends is started again."""
        if self._is_node:
            sink.expect([self._node])
        while True:
            reason = await self._follow_one_agent(sink)
            log.warning("local agent ended: node=%s reason=%s", self._node, reason)
            self._become_node(sink)
            sink.trouble(self._node, Reason(code="agent-ended", text=reason))
            await asyncio.sleep(RESTART_SECONDS)

    async def _follow_one_agent(self, sink: Sink) -> str:
        try:
            # A line holds one whole report; its own group, so that it can be stopped with its children.
            agent = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                limit=2 * MAX_REPORT_BYTES,
                start_new_session=True,
            )
        except OSError as error:
            return f"the agent of this machine cannot start: {error.strerror or error}"
        try:
            while line := await _read_line(agent):
                try:
                    self._hand_over(decode_report(line), sink)
                except WireError as error:
                    self._become_node(sink)
                    sink.trouble(self._node, Reason(code="bad-report", text=str(error)))
        finally:
            await _stop(agent)
        return f"the agent of this machine ended with code {agent.returncode}"

    def _hand_over(self, report: NodeReport, sink: Sink) -> None:
        has_none = not report.gpus and says_no_gpu(report.problems)
        if self._is_node or not has_none:
            self._become_node(sink)
            sink.report(self._node, replace(report, node=self._node))
        elif not self._has_told:
            self._has_told = True
            sink.expect([])

    def _become_node(self, sink: Sink) -> None:
        if not self._is_node:
            self._is_node = True
            sink.expect([self._node])


def agent_command(options: LocalOptions, node: str) -> list[str]:
    """The command that prints a report of this machine per line."""
    command = [
        sys.executable,
        "-m",
        "gpuboard",
        "agent",
        "--node",
        node,
        "--interval",
        f"{options.interval}s",
    ]
    return [*command, "--probe", options.probe] if options.probe else command


async def _read_line(agent: asyncio.subprocess.Process) -> bytes:
    if agent.stdout is None:
        return b""
    try:
        return await agent.stdout.readline()
    except ValueError:
        # A line over the limit: this agent has lost its way.
        return b""


async def _stop(agent: asyncio.subprocess.Process) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        if agent.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(agent.pid, how)
        # A process stuck in the driver cannot even be killed; the board goes on without it.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await agent.wait()
