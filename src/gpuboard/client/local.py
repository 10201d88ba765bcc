"""Signing in on this machine: over the socket of a board here, or of this node's agent."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from gpuboard.model.errors import AccessRefused, BoardUnreachableError, OutsideError, WireError
from gpuboard.outside.peer_socket import ask_socket
from gpuboard.outside.state_directory import state_directory
from gpuboard.wire.clean import clean_text
from gpuboard.wire.login import LoginAnswer, LoginGrant, LoginQuestion, decode_answer

BOARD_SOCKET: Final = "board.sock"
AGENT_SOCKET: Final = "agent.sock"
# Where the units of systemd have them.
BOARD_DIRECTORY: Final = Path("/run/gpuboard")
AGENT_DIRECTORY: Final = Path("/run/gpuboard-agent")
_NOBODY: Final = (
    "neither a board nor an agent that pushes to one answers on this machine; sign in on a node that has an "
    "agent, or in the browser; a board with a state directory of its own has its socket there "
    "(login --state-dir DIRECTORY, or --config FILE)"
)


def known_sockets(state_dir: str = "", environment: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Where a board, of this state directory if one is named, or else an agent of this machine may listen."""
    if state_dir:
        yield state_directory(state_dir, environment) / BOARD_SOCKET
        # A service has its socket elsewhere than what it keeps.
        yield BOARD_DIRECTORY / BOARD_SOCKET
        return
    if environment.get("GPUBOARD_SOCKET"):
        yield Path(environment["GPUBOARD_SOCKET"])
        return
    yield BOARD_DIRECTORY / BOARD_SOCKET
    yield state_directory(None, environment) / BOARD_SOCKET
    yield AGENT_DIRECTORY / AGENT_SOCKET
    if environment.get("XDG_RUNTIME_DIR"):
        yield Path(environment["XDG_RUNTIME_DIR"]) / "gpuboard" / AGENT_SOCKET


def log_in(
    sockets: list[Path], terminal: str, *, is_link_only: bool = False
) -> tuple[LoginGrant, str | None]:
    """Ask to be signed in: what was granted, and where the board is.

    Raises:
        AccessRefused: the board says no.
        BoardUnreachableError: nobody answers.
    """
    question = msgspec.json.encode(LoginQuestion(terminal=terminal[:64], is_link_only=is_link_only))
    answer = _ask(sockets, question)
    if answer.granted is None:
        raise AccessRefused(clean_text(answer.refused or "the board says no"))
    return answer.granted, answer.board


def _ask(sockets: list[Path], question: bytes) -> LoginAnswer:
    failed = None
    for path in sockets:
        try:
            return decode_answer(ask_socket(path, question))
        except OutsideError as error:
            # What is there and does not answer says more than what is not there.
            failed = str(error) if failed is None and path.exists() else failed
        except WireError:
            failed = f"what answers at {path} is no gpuboard"
    if failed is None and len(sockets) == 1:
        failed = f"nobody answers at {sockets[0]}"
    raise BoardUnreachableError(failed or _NOBODY)
