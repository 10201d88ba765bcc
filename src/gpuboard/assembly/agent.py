"""The agent, put together; nothing of the board's is loaded here."""

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.agent.drop import DropOutlet, check_folder, write_drop
from gpuboard.agent.loop import run_agent
from gpuboard.agent.outlet import LinesOutlet, Outlet, TimedReport
from gpuboard.agent.sampler import Sampler
from gpuboard.model.address import is_loopback, split_address
from gpuboard.model.errors import SettingsError, UsageError
from gpuboard.model.node import is_node_name, node_name_of
from gpuboard.model.report import NodeReport
from gpuboard.probes.processes import ProcessReader
from gpuboard.probes.registry import choose
from gpuboard.wire.enrolment import UNIT_TOKEN_FILE, digest

if TYPE_CHECKING:
    from gpuboard.agent.board_address import BoardAddress
    from gpuboard.agent.push import PushOutlet

DEFAULT_INTERVAL_SECONDS: Final = 5.0
SLOW_DRIVER_SECONDS: Final = 30.0
NODE_TOKEN: Final = "node.token"  # noqa: S105 - the name of the file
LISTEN_TOKEN: Final = "agent.token"  # noqa: S105 - the same

log = logging.getLogger(__name__)


class AgentOptions(Struct, frozen=True, kw_only=True):
    """What an agent can be told."""

    # None: not told, which is 5 s for an agent that keeps running, and unknown for one that runs once.
    interval_seconds: float | None = None
    node: str | None = None
    probe: str | None = None
    with_arguments: bool = False
    drop: Path | None = None
    push: str | None = None
    listen: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None
    allow_plaintext: bool = False
    dcgm_names: bool = False
    # Where people of this node sign in; None: where systemd or the session has a place for it.
    socket: Path | None = None


class Agent:
    """Samples this machine and hands the reports on."""

    def __init__(self, options: AgentOptions) -> None:
        """Make all its parts.

        Raises:
            UsageError: the options do not go together, or make no sense.
            SettingsError: a file that they name cannot be used.
        """
        if options.push and options.listen:
            raise UsageError("--push and --listen do not go together: their tokens differ; run two agents")
        self._options = options
        self._interval = options.interval_seconds or DEFAULT_INTERVAL_SECONDS
        pusher = _make_pusher(options, options.push) if options.push else None
        # A token belongs to one name, whatever this machine calls itself.
        self.node = pusher.node if pusher else options.node or node_name_of(socket.gethostname())
        if options.node not in (None, "", self.node):
            raise UsageError(
                f"the token for --push is of {self.node}, not of {options.node}: say --node {self.node}, or "
                "leave it out"
            )
        if not is_node_name(self.node):
            raise UsageError(
                f"{self.node!r} cannot name a node; use a-z, 0-9, dot, dash and underscore, at most 63"
            )
        self._sampler = make_sampler(
            node=self.node,
            interval_seconds=self._interval,
            probe=options.probe,
            with_arguments=options.with_arguments,
        )
        self._pusher = pusher

    def run_once(self) -> NodeReport:
        """Take one sample, and drop it if that was asked for."""
        if self._options.drop is not None:
            check_folder(self._options.drop)
        report = self._sampler.sample()
        if self._options.interval_seconds is None:
            # Cron knows how often it comes; the board learns it.
            report = replace(report, interval_seconds=None)
        if self._options.drop is not None:
            write_drop(
                self._options.drop, self.node, TimedReport(report, time.monotonic()), key=self._drop_key()
            )
        return report

    def run(self, stop: threading.Event) -> None:
        """Sample and hand on until told to stop."""
        outlets = self._outlets()
        with contextlib.ExitStack() as stack:
            if self._options.push:
                self._open_socket(self._options.push, stack)
            run_agent(self._sampler.sample, outlets, interval_seconds=self._interval, stop=stop)
        self._sampler.close()

    def _open_socket(self, url: str, stack: contextlib.ExitStack) -> None:
        """Let people of this node sign in to the board that it pushes to."""
        from gpuboard.agent.vouching import VouchingSocket, socket_path  # noqa: PLC0415 - as for the pusher

        path = self._options.socket or socket_path()
        if path is None:
            log.info("nobody signs in from this node: there is no directory for a socket; name one: --socket")
            return
        token_file = self._options.token_file or default_token_file(NODE_TOKEN)
        vouching = VouchingSocket(path, _board_address(self._options, url), token_file)
        vouching.start()
        stack.callback(vouching.close)

    def _outlets(self) -> list[Outlet]:
        outlets: list[Outlet] = [self._pusher] if self._pusher is not None else []
        if self._options.drop is not None:
            outlets.append(DropOutlet(self._options.drop, self.node, key=self._drop_key()))
        if self._options.listen is not None:
            outlets.append(_make_listener(self._options, self._options.listen))
        return outlets or [LinesOutlet()]

    def _drop_key(self) -> str | None:
        """What signs drops: the node's token, where it has one.

        Raises:
            UsageError: the token is another node's.
            SettingsError: its file cannot be used.
        """
        # With --listen the file that is given holds the token of those who ask.
        given = None if self._options.listen else self._options.token_file
        # Where enrolment puts it by itself, and where the command that the board prints does.
        places = (given,) if given else (default_token_file(NODE_TOKEN), UNIT_TOKEN_FILE)
        path = next((one for one in places if given or os.access(one, os.R_OK)), None)
        if path is None:
            return None
        from gpuboard.agent.node_token import read_token  # noqa: PLC0415 - as for the pusher

        token = read_token(path)
        if token.node != self.node:
            raise UsageError(
                f"the token in {path} is of {token.node}, not of {self.node}: say --node {token.node}"
            )
        return digest(token.text)


def _make_pusher(options: AgentOptions, url: str) -> "PushOutlet":
    # Imported when needed: WebSocket and TLS cost an agent that drops files several megabytes.
    from gpuboard.agent.push import Pusher, PushOutlet  # noqa: PLC0415

    address = _board_address(options, url)
    token_file = options.token_file or default_token_file(NODE_TOKEN)
    interval = options.interval_seconds or DEFAULT_INTERVAL_SECONDS
    return PushOutlet(Pusher(address, token_file, interval_seconds=interval))


def _board_address(options: AgentOptions, url: str) -> "BoardAddress":
    from gpuboard.agent.board_address import BoardAddress  # noqa: PLC0415 - as for the pusher

    return BoardAddress(url, ca_file=options.ca_file, allow_plaintext=options.allow_plaintext)


def _make_listener(options: AgentOptions, listen: str) -> Outlet:
    # The HTTP server is a few megabytes that an agent which only drops files need not have.
    from gpuboard.agent.listen_token import read_or_create_token  # noqa: PLC0415
    from gpuboard.agent.serve import ListenOptions, ListenOutlet  # noqa: PLC0415

    host, port = split_address(listen)
    if not (options.tls_certificate or options.allow_plaintext or is_loopback(host)):
        raise UsageError(
            f"--listen {listen} without TLS would send the token in clear over the network; "
            "give --tls-certificate, or say --allow-plaintext if the network is yours alone"
        )
    token_file = options.token_file or default_token_file(LISTEN_TOKEN)
    log.info("askers must show the token: token_file=%s", token_file)
    return ListenOutlet(
        ListenOptions(
            host=host,
            port=port,
            token=read_or_create_token(token_file),
            tls_certificate=options.tls_certificate,
            tls_key=options.tls_key,
            dcgm_names=options.dcgm_names,
        )
    )


def enroll_node(
    url: str, code: str, *, token_file: Path | None, ca_file: Path | None, allow_plaintext: bool
) -> tuple[Path, str]:
    """Exchange a code for this node's token; the file that holds it now, and what the node is called.

    Raises:
        AccessRefused: the board does not take the code.
        BoardUnreachableError: no board answers, or none that can be believed.
        SettingsError: the token or authority file cannot be used.
        UsageError: that is no board's address, or secrets would travel in clear.
    """
    from gpuboard.agent.board_address import BoardAddress  # noqa: PLC0415 - as for the pusher
    from gpuboard.agent.node_token import enroll  # noqa: PLC0415 - the same

    address = BoardAddress(url, ca_file=ca_file, allow_plaintext=allow_plaintext)
    token_file = token_file or default_token_file(NODE_TOKEN)
    return token_file, enroll(address, code, token_file).node


def has_token(token_file: Path | None) -> bool:
    """Whether this node has been enrolled already."""
    from gpuboard.agent.node_token import read_token  # noqa: PLC0415 - as for the pusher

    try:
        read_token(token_file or default_token_file(NODE_TOKEN))
    except SettingsError:
        return False
    return True


def default_token_file(name: str) -> Path:
    """Where a token lies unless told: systemd's state directory, else the user's configuration."""
    state = os.environ.get("STATE_DIRECTORY")
    return Path(state) / name if state else Path.home() / ".config" / "gpuboard" / name


def make_sampler(*, node: str, interval_seconds: float, probe: str | None, with_arguments: bool) -> Sampler:
    """Make what samples this machine.

    Raises:
        UsageError: there is no probe of this name.
    """
    return Sampler(
        choose(probe, node=node),
        node=node,
        interval_seconds=interval_seconds,
        processes=ProcessReader(with_arguments=with_arguments),
    )


def this_machine(*, node: str, probe: str | None = None) -> Callable[[], NodeReport]:
    """Return what reads this machine once per call, and waits for a driver that is only slow."""
    sampler = make_sampler(node=node, interval_seconds=2.0, probe=probe, with_arguments=False)

    def look() -> NodeReport:
        ends = time.monotonic() + SLOW_DRIVER_SECONDS
        report = sampler.sample()
        # Without persistence mode a driver may take many seconds for its first answer.
        while sampler.is_waking and time.monotonic() < ends:
            report = sampler.sample()
        return report

    return look
