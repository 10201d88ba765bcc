"""Asks a board over HTTP; standard library only, for every node has this client."""

import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from gpuboard.client.answer import decode_answer, decode_fleet
from gpuboard.model.errors import NOT_DECODED, BoardRefusedError, BoardUnreachableError, UsageError
from gpuboard.model.node import is_node_name
from gpuboard.outside.board_words import WantedBoard, remedy_for
from gpuboard.outside.tls import trusting
from gpuboard.wire.clean import clean_text
from gpuboard.wire.summary import FreeAnswer
from gpuboard.wire.views import FleetView

DEFAULT_URL: Final = "http://127.0.0.1:8042/"
PATIENCE_SECONDS: Final = 10.0
MAX_BYTES: Final = 64 * 1024 * 1024
MAX_DETAIL: Final = 500
_REFUSALS: Final = frozenset({401, 403, 421})

Expected = TypeVar("Expected")


class BoardClient:
    """One board."""

    def __init__(self, url: str = DEFAULT_URL, *, ca_file: str | None = None) -> None:
        """Name a board, and the authority of its certificate.

        Raises:
            UsageError: this is no address of a board.
            SettingsError: the file of the authority cannot be used.
        """
        _check(url)
        self._base = url if url.endswith("/") else f"{url}/"
        self._ca_file = Path(ca_file).expanduser() if ca_file else None
        self._tls = trusting(self._ca_file) if _is_https(url) else None

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
            BoardUnreachableError: there is no answer, or none of a board.
            BoardRefusedError: the board does not tell us.
        """
        wish: dict[str, Any] = {"gpus": gpus, "memory": memory, "same_node": str(same_node).lower()}
        if model is not None:
            wish["model"] = model
        if group is not None:
            wish["group"] = group
        return self._get(f"api/v1/free?{urllib.parse.urlencode(wish)}", _free_answer)

    def _get(self, path: str, read: Callable[[bytes], Expected]) -> Expected:
        url = self._base + path
        request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - checked before
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS, context=self._tls) as answer:  # noqa: S310 - the same
                body = answer.read(MAX_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                detail = _detail(error.read(65536)) or error.reason
            if error.code in _REFUSALS:
                raise BoardRefusedError(f"the board at {self._base} refuses: {detail}") from None
            raise BoardUnreachableError(f"the board at {self._base} answers {error.code}: {detail}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise BoardUnreachableError(
                f"no board answers at {self._base}: {_why(error, self._base, self._ca_file)}"
            ) from None
        try:
            return read(body)
        except NOT_DECODED:
            raise BoardUnreachableError(f"what answers at {self._base} is no gpuboard") from None


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


def _detail(body: bytes) -> str | None:
    try:
        document = msgspec.json.decode(body)
    except NOT_DECODED:
        return None
    detail = document.get("detail") if isinstance(document, dict) else None
    # It may be no board of ours: nothing that it says reaches a terminal as it is.
    return clean_text(detail)[:MAX_DETAIL] if isinstance(detail, str) else None
