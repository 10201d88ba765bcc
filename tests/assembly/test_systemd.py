"""What systemd hears from a board, at a real socket."""

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.assembly.systemd import ServiceManager
from tests.board import running_board

PATIENCE_SECONDS = 60


@contextlib.contextmanager
def service_manager(place: str) -> Iterator[socket.socket]:
    """Somebody who listens as systemd does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.settimeout(PATIENCE_SECONDS)
        ear.bind(place.replace("@", "\0", 1) if place.startswith("@") else place)
        yield ear


def until(ear: socket.socket, word: str) -> list[str]:
    """Everything that is said until this word, which must come."""
    heard: list[str] = []
    while word not in heard:
        heard += ear.recv(4096).decode().splitlines()
    return heard


def test_a_board_says_that_it_is_ready_alive_and_stopping(tmp_path: Path) -> None:
    """In this order; so `systemctl start` ends when people can be let in."""
    place = str(tmp_path / "notify")
    env = {"NOTIFY_SOCKET": place, "WATCHDOG_USEC": "4000000"}
    with service_manager(place) as ear, running_board("--demo", "2", log=tmp_path / "log", env=env) as board:
        first = until(ear, "READY=1")
        assert f"STATUS=open {board.url}" in first
        until(ear, "WATCHDOG=1")
        board.process.send_signal(signal.SIGTERM)
        until(ear, "STOPPING=1")


def test_a_board_whose_loop_does_not_turn_is_silent(tmp_path: Path) -> None:
    """Then systemd ends it and starts another."""
    place = str(tmp_path / "notify")
    env = {"NOTIFY_SOCKET": place, "WATCHDOG_USEC": "1000000"}
    with service_manager(place) as ear, running_board("--demo", "2", log=tmp_path / "log", env=env) as board:
        until(ear, "WATCHDOG=1")
        board.process.send_signal(signal.SIGSTOP)
        try:
            ear.settimeout(1.5)
            with pytest.raises(TimeoutError):
                until(ear, "nothing that is ever said")
        finally:
            board.process.send_signal(signal.SIGCONT)
        ear.settimeout(PATIENCE_SECONDS)
        until(ear, "WATCHDOG=1")


def test_an_abstract_socket_is_spoken_to(tmp_path: Path) -> None:
    """Containers have those."""
    place = f"@gpuboard-test-{os.getpid()}-{tmp_path.name}"
    with service_manager(place) as ear:
        ServiceManager({"NOTIFY_SOCKET": place}).ready("here")
        assert until(ear, "READY=1") == ["READY=1", "STATUS=here"]


def test_nobody_speaks_for_the_board_but_itself() -> None:
    """What systemd told us is not handed on; without systemd nothing is said."""
    environment = {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1", "HOME": "/"}
    manager = ServiceManager(environment)
    assert environment == {"HOME": "/"}
    manager.ready("x")
    manager.beat()
    ServiceManager({}).stopping()
