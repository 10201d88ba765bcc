"""A Unix socket on which the kernel says who asks: one short question, one short answer."""

import contextlib
import logging
import os
import pwd
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from gpuboard.model.errors import OutsideError

log = logging.getLogger(__name__)

MAX_BYTES: Final = 16 * 1024
# So many may ask at once, of one user and of all; whoever comes then waits, or is sent away.
MOST_AT_ONCE: Final = 16
MOST_OF_ONE: Final = 4
QUESTION_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 30.0
# What the kernel can bind.
LONGEST_PATH: Final = 107
_CREDENTIALS: Final = struct.Struct("3i")


class Peer(Struct, frozen=True):
    """Who asks, by the kernel's word."""

    uid: int
    name: str


Answer = Callable[[Peer, bytes], bytes]


class PeerSocket:
    """Answers whoever on this machine may reach the socket, each in a thread of its own."""

    def __init__(self, path: Path, answer: Answer, *, mode: int = 0o666) -> None:
        self.path = path
        self._answer = answer
        self._mode = mode
        self._listener: socket.socket | None = None
        self._lock = threading.Lock()
        self._here: dict[int, int] = {}

    def start(self) -> None:
        """Begin to listen.

        Raises:
            OutsideError: the socket cannot be made there.
        """
        if len(os.fsencode(self.path)) > LONGEST_PATH:
            raise OutsideError(f"{self.path} is too long for a socket", code="socket")
        try:
            self.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            self._remove_old()
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            listener.bind(str(self.path))
            self.path.chmod(self._mode)
            listener.listen(MOST_AT_ONCE)
        except OSError as error:
            raise OutsideError(f"{self.path} cannot be made: {error.strerror}", code="socket") from None
        self._listener = listener
        threading.Thread(target=self._serve, args=(listener,), daemon=True, name="peer-socket").start()

    def close(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
            self.path.unlink(missing_ok=True)

    def _remove_old(self) -> None:
        """Take away what an earlier run has left; one that somebody still listens on stays."""
        try:
            mode = self.path.lstat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(mode):
            raise OutsideError(f"{self.path} is there, and is no socket", code="socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(self.path))
            except OSError:
                self.path.unlink(missing_ok=True)
                return
        raise OutsideError(f"somebody else listens on {self.path}", code="socket")

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                if self._listener is None:
                    return
                # Too many files are open; they will not always be.
                time.sleep(0.1)
                continue
            uid = _uid_of(line)
            if self._enter(uid):
                threading.Thread(target=self._converse, args=(line, uid), daemon=True, name="peer").start()
            else:
                line.close()

    def _enter(self, uid: int) -> bool:
        with self._lock:
            if sum(self._here.values()) >= MOST_AT_ONCE or self._here.get(uid, 0) >= MOST_OF_ONE:
                return False
            self._here[uid] = self._here.get(uid, 0) + 1
            return True

    def _leave(self, uid: int) -> None:
        with self._lock:
            self._here[uid] -= 1
            if not self._here[uid]:
                del self._here[uid]

    def _converse(self, line: socket.socket, uid: int) -> None:
        try:
            with line:
                question = _read_all(line, QUESTION_SECONDS)
                # Looked up here: a directory service may take its time, and this thread has it.
                answer = self._answer(Peer(uid, _name_of(uid)), question)
                line.settimeout(QUESTION_SECONDS)
                line.sendall(answer)
        except OSError as error:
            log.debug("peer left: uid=%d reason=%s", uid, error)
        except Exception:
            log.exception("peer not answered: uid=%d", uid)
        finally:
            self._leave(uid)


def ask_socket(path: Path, question: bytes) -> bytes:
    """Ask whoever listens on a Unix socket.

    Raises:
        OutsideError: nobody answers.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(QUESTION_SECONDS)
            line.connect(str(path))
            line.sendall(question)
            line.shutdown(socket.SHUT_WR)
            answer = _read_all(line, ANSWER_SECONDS)
    except OSError as error:
        why = error.strerror or str(error)
        raise OutsideError(f"nobody answers at {path}: {why}", code="socket") from None
    if not answer:
        raise OutsideError(f"{path} has too many who ask; try again", code="socket")
    return answer


def _read_all(line: socket.socket, seconds: float) -> bytes:
    ends, data = time.monotonic() + seconds, b""
    while len(data) <= MAX_BYTES:
        line.settimeout(max(0.01, ends - time.monotonic()))
        part = line.recv(4096)
        if not part:
            return data
        data += part
        if time.monotonic() >= ends:
            break
    raise OSError("it says too much, or takes too long")


def _uid_of(line: socket.socket) -> int:
    told = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(told)
    return int(uid)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
