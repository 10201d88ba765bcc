"""Errors as RFC 9457 problem documents: what happened, to what, and what to do."""

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
    WebSocketDisconnect,
)
from litestar.openapi.datastructures import ResponseSpec
from litestar.types import Scope, Send
from msgspec import Struct

from gpuboard.web.bodies import body_words
from gpuboard.web.upgrade import upgrade_missing

log = logging.getLogger(__name__)

# Where a WebSocket's state holds the error that it was refused with.
REFUSAL: Final = "refusal"
_MEDIA_TYPE: Final = "application/problem+json"
# What its status says is all.
_UNTYPED: Final = "about:blank"


class ProblemDocument(Struct, frozen=True, kw_only=True):
    """One error, as RFC 9457 writes it."""

    title: str
    status: int
    detail: str
    type: str = _UNTYPED
    # What a page has to tell apart; null where the status says all.
    code: str | None = None
    # What the words say, for programs; what there is depends on the code.
    values: dict[str, Any] | None = None


class CodedException(HTTPException):
    """An error that pages have to tell from others of its status."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: str,
        headers: dict[str, str] | None = None,
        values: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(detail, status_code=status, headers=headers)
        self.code = code
        self.values = values


class NoHistoryException(NotFoundException):
    """This board keeps no history."""

    kind = "no-history"

    def __init__(self) -> None:
        super().__init__('This board keeps no history: its settings say [history] kind = "none".')


def problems(*statuses: int) -> Mapping[int, ResponseSpec]:
    """Describe the errors of a route; that of the guard is among them everywhere."""
    return {
        status: ResponseSpec(
            ProblemDocument,
            description=HTTPStatus(status).phrase,
            media_type=_MEDIA_TYPE,
            generate_examples=False,
        )
        for status in (*statuses, HTTPStatus.MISDIRECTED_REQUEST)
    }


def http_problem(request: Request[Any, Any, Any], error: HTTPException) -> Response[ProblemDocument]:
    """Answer an error that we meant to give."""
    if isinstance(error, MethodNotAllowedException) and (error.headers or {}).get("allow") == "websocket":
        error = upgrade_missing(request)
    detail = error.detail
    if isinstance(error, ValidationException) and isinstance(error.extra, list):
        parts = [
            f"{part.get('key', 'value')}: {body_words(request, part.get('message', 'is wrong'))}"
            for part in error.extra
        ]
        detail = "; ".join(parts) or detail
    kind = error.kind if isinstance(error, NoHistoryException) else _UNTYPED
    code, values = getattr(error, "code", None), getattr(error, "values", None)
    return _answer(error.status_code, detail, error.headers, kind=kind, code=code, values=values)


def too_deep_problem(_request: Request[Any, Any, Any], _error: RecursionError) -> Response[ProblemDocument]:
    """Answer a body that is nested deeper than anybody means to."""
    return _answer(400, "The body is nested too deep.")


def no_text_problem(
    _request: Request[Any, Any, Any], _error: UnicodeDecodeError
) -> Response[ProblemDocument]:
    """Answer a body that is no text."""
    return _answer(400, "The body is not UTF-8.")


def unexpected_problem(request: Request[Any, Any, Any], error: Exception) -> Response[ProblemDocument]:
    """Answer an error that we did not expect; the details stay in the log."""
    log.error("request failed: method=%s path=%s", request.method, request.url.path, exc_info=error)
    return _answer(500, "The board failed to answer this; its log says why.")


async def note_socket_error(error: Exception, scope: Scope) -> None:
    """Log what went wrong on a WebSocket; what the other side did wrong is told to it and is no news here."""
    kind: str = scope["type"]
    if kind != "websocket":
        return
    if isinstance(error, HTTPException):
        scope["state"][REFUSAL] = error
    elif not isinstance(error, WebSocketDisconnect | OSError):
        log.error("socket failed: path=%s", scope["path"], exc_info=error)


async def send_problem(
    send: Send, kind: str, status: int, detail: str, *, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer outside the framework; a WebSocket's handshake is answered like any other request."""
    body = msgspec.json.encode(_document(status, detail))
    prefix = "websocket." if kind == "websocket" else ""
    start: Any = {
        "type": f"{prefix}http.response.start",
        "status": status,
        "headers": [
            (b"content-type", _MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            *headers,
        ],
    }
    end: Any = {"type": f"{prefix}http.response.body", "body": body, "more_body": False}
    await send(start)
    await send(end)


def _document(
    status: int,
    detail: str,
    kind: str = _UNTYPED,
    code: str | None = None,
    values: dict[str, Any] | None = None,
) -> ProblemDocument:
    phrase = HTTPStatus(status).phrase
    return ProblemDocument(title=phrase, status=status, detail=detail, type=kind, code=code, values=values)


def _answer(
    status: int,
    detail: str,
    headers: dict[str, str] | None = None,
    *,
    kind: str = _UNTYPED,
    code: str | None = None,
    values: dict[str, Any] | None = None,
) -> Response[ProblemDocument]:
    document = _document(status, detail, kind, code, values)
    return Response(document, status_code=status, headers=headers, media_type=_MEDIA_TYPE)
