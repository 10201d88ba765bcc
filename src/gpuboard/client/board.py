"""Asks a board over HTTP; standard library only, for every node has this client."""

import http.client
import queue
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from gpuboard.client.answer import decode_answer, decode_fleet
from gpuboard.client.credentials import VARIABLE, Credentials
from gpuboard.model.errors import (
    NOT_DECODED,
    BoardRefusedError,
    BoardUnreachableError,
    BookingRefused,
    GpuboardError,
    UsageError,
)
from gpuboard.model.node import is_node_name
from gpuboard.model.verdict import Reason
from gpuboard.outside.board_words import NO_BOARD_HERE, WantedBoard, remedy_for
from gpuboard.outside.tls import trusting
from gpuboard.wire.clean import clean_text
from gpuboard.wire.people import NEEDS_ROLE, SessionView, SignOut
from gpuboard.wire.summary import FreeAnswer
from gpuboard.wire.views import FleetView

DEFAULT_URL: Final = "http://127.0.0.1:8042/"
# For the next bytes; and for all of an answer, of which a board may also send a byte a second.
PATIENCE_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 30.0
MAX_BYTES: Final = 64 * 1024 * 1024
MAX_DETAIL: Final = 500
MAX_REFUSAL_BYTES: Final = 65536
_REFUSALS: Final = frozenset({401, 403, 421})

Expected = TypeVar("Expected")


class _Answer(NamedTuple):
    """What a board answered."""

    code: int
    body: bytes
    # The words beside the code, where it is no answer but a refusal.
    refusal: str | None = None


class BoardClient:
    """One board."""

    def __init__(
        self, url: str = DEFAULT_URL, *, ca_file: str | None = None, token: str | None = None
    ) -> None:
        """Name a board, the authority of its certificate, and the token to show if not the usual one.

        Raises:
            UsageError: this is no address of a board.
            SettingsError: the file of the authority cannot be used, or the token not be sent.
        """
        _check(url)
        self._base = url if url.endswith("/") else f"{url}/"
        self._ca_file = Path(ca_file).expanduser() if ca_file else None
        self._tls = trusting(self._ca_file) if _is_https(url) else None
        # What `gpuboard login` got for this board, or what the environment says.
        credentials = Credentials()
        self._token = token or credentials.token(self._base)
        self._is_told = token is None and credentials.is_told

    def fleet(self) -> FleetView:
        """All nodes.

        Raises:
            BoardUnreachableError: there is no answer, or none of a board.
            BoardRefusedError: the board does not tell us.
        """
        return self._get("api/v1/fleet", decode_fleet)

    def free(
        self, *, gpus: int, memory: str, model: str | None, same_node: bool, group: str | None = None
    ) -> FreeAnswer:
        """Where GPUs are free now.

        Raises:
            UsageError: the board has no such group.
            BoardUnreachableError: there is no answer, or none of a board.
            BoardRefusedError: the board does not tell us.
        """
        wish: dict[str, Any] = {"gpus": gpus, "memory": memory, "same_node": str(same_node).lower()}
        if model is not None:
            wish["model"] = model
        if group is not None:
            wish["group"] = group
        path = f"api/v1/free?{urllib.parse.urlencode(wish)}"
        return self._get(path, _free_answer, named=None if group is None else f"group {group!r}")

    def session(self) -> SessionView:
        """Who we are there.

        Raises:
            BoardUnreachableError: there is no answer, or none of a board.
            BoardRefusedError: the board does not tell us.
        """
        return self._get("api/v1/session", lambda body: decode_answer(body, SessionView))

    def sign_out(self, *, everywhere: bool) -> None:
        """Give the token back.

        Raises:
            BoardUnreachableError: there is no answer, or none of a board.
            BoardRefusedError: the token is not good any more.
        """
        body = msgspec.json.encode(SignOut(everywhere=everywhere))
        self._ask("api/v1/session/sign-out", lambda _: None, body=body)

    def _get(self, path: str, read: Callable[[bytes], Expected], *, named: str | None = None) -> Expected:
        """Ask for a path; `named` is what the caller named and the board may not have."""
        return self._ask(path, read, named=named)

    def _ask(
        self,
        path: str,
        read: Callable[[bytes], Expected],
        *,
        named: str | None = None,
        body: bytes | None = None,
        method: str | None = None,
    ) -> Expected:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self._base + path, data=body, headers=headers, method=method)  # noqa: S310 - checked before
        if self._token is not None:
            # Not among those that go along to wherever we are sent.
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            answer = _in_time(lambda: self._open(request))
        except (OSError, http.client.HTTPException, ValueError) as error:
            # Nobody has named it: it is only the usual one.
            usual = (
                "; name yours with --board URL, or run: gpuboard login" if self._base == DEFAULT_URL else ""
            )
            why = _why(error, self._base, self._ca_file)
            raise BoardUnreachableError(f"no board answers at {self._base}: {why}{usual}") from None
        if answer.refusal is not None:
            refused = _booking_refusal(answer.code, answer.body)
            if refused is not None:
                raise refused
            raise self._refused(answer, named)
        try:
            return read(answer.body)
        except NOT_DECODED:
            raise BoardUnreachableError(f"what answers at {self._base} is no gpuboard") from None

    def _open(self, request: urllib.request.Request) -> _Answer:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS, context=self._tls) as answer:  # noqa: S310 - checked before
                return _Answer(answer.status, answer.read(MAX_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                return _Answer(error.code, error.read(MAX_REFUSAL_BYTES), str(error.reason))

    def _refused(self, answer: _Answer, named: str | None) -> GpuboardError:
        code, said = answer.code, _said(answer.body, "detail")
        detail = said or answer.refusal or ""
        if code in _REFUSALS:
            if self._token is not None and _said(answer.body, "code") != NEEDS_ROLE:
                remedy = (
                    f"the token that was shown is the one in {VARIABLE}"
                    if self._is_told
                    else "run: gpuboard login, or gpuboard logout"
                )
                detail = f"{detail.removesuffix('.')}; {remedy}"
            return BoardRefusedError(f"the board at {self._base} refuses: {detail}")
        is_unknown = code == http.client.NOT_FOUND and named is not None and named in detail
        if is_unknown or (code == http.client.BAD_REQUEST and said is not None):
            return UsageError(f"the board at {self._base}: {detail}")
        if code == http.client.NOT_FOUND and said is None:
            return BoardUnreachableError(f"{self._base} answers 404: {NO_BOARD_HERE}")
        return BoardUnreachableError(f"the board at {self._base} answers {code}: {detail}")


def _in_time(read: Callable[[], _Answer]) -> _Answer:
    """Read in a thread that is left behind when it takes too long.

    Raises:
        TimeoutError: it does.
        OSError, HTTPException, ValueError: as reading does.
    """
    found: queue.SimpleQueue[_Answer | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            found.put(read())
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            found.put(error)

    threading.Thread(target=work, daemon=True, name="board").start()
    try:
        answer = found.get(timeout=ANSWER_SECONDS)
    except queue.Empty:
        raise TimeoutError(f"its answer did not come to an end within {ANSWER_SECONDS:.0f} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _free_answer(body: bytes) -> FreeAnswer:
    answer = decode_answer(body, FreeAnswer)
    # What stands there goes to a shell, and on to ssh: nothing but what a board can call its nodes.
    if not all(is_node_name(block.node) for block in answer.blocks):
        raise msgspec.ValidationError("it names a node that cannot be one")
    return answer


def _check(url: str) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        is_board = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_board = False
    if not is_board or not url.isprintable() or " " in url or "?" in url or "#" in url:
        raise UsageError(f"{clean_text(url)!r} is no address of a board; write it like {DEFAULT_URL}")


def _is_https(url: str) -> bool:
    return url.lower().startswith("https:")


def _why(error: Exception, url: str, ca_file: Path | None) -> str:
    why = getattr(error, "reason", None) if isinstance(error, urllib.error.URLError) else error
    parts = urllib.parse.urlsplit(url)
    if not isinstance(why, Exception) or not parts.hostname:
        return str(why)
    is_secure = _is_https(url)
    server = WantedBoard(
        host=parts.hostname,
        port=parts.port or (443 if is_secure else 80),
        is_secure=is_secure,
        ca_file=ca_file,
    )
    # The number of an error helps nobody.
    return remedy_for(why, server) or getattr(why, "strerror", None) or str(why)


def _booking_refusal(status: int, body: bytes) -> GpuboardError | None:
    """Why something cannot be booked, if that is what a board says."""
    try:
        document = msgspec.json.decode(body)
    except NOT_DECODED:
        return None
    code = document.get("code") if isinstance(document, dict) else None
    if not isinstance(code, str) or not code.startswith("booking-"):
        return None
    detail = _said(body, "detail") or "it cannot be booked"
    if status == http.client.CONFLICT:
        return BookingRefused(Reason(code=clean_text(code)[:MAX_DETAIL], text=detail, values=_values(body)))
    return BoardRefusedError(detail, code=code) if status == http.client.FORBIDDEN else UsageError(detail)


def _values(body: bytes) -> dict[str, object]:
    """The figures and words of a refusal."""
    told = _document(body).get("values")
    return {
        key: clean_text(value)[:MAX_DETAIL] if isinstance(value, str) else value
        for key, value in (told.items() if isinstance(told, dict) else ())
        if isinstance(value, str | int | float)
    }


def _document(body: bytes) -> dict[str, object]:
    try:
        document = msgspec.json.decode(body)
    except NOT_DECODED:
        return {}
    return document if isinstance(document, dict) else {}


def _said(body: bytes, key: str) -> str | None:
    said = _document(body).get(key)
    # It may be no board of ours: nothing that it says reaches a terminal as it is.
    return clean_text(said)[:MAX_DETAIL] if isinstance(said, str) else None
