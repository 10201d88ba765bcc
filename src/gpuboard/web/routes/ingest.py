"""Where agents bring their reports: a WebSocket, plain POST where that is refused, and enrolment."""

import asyncio
import logging
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from litestar import MediaType, Request, Response, post, websocket
from litestar.exceptions import (
    ClientException,
    HTTPException,
    PermissionDeniedException,
    ServiceUnavailableException,
    TooManyRequestsException,
    WebSocketDisconnect,
)
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema

from gpuboard.model.errors import AccessRefused, SourceError, WireError
from gpuboard.web.agents import AgentDoor, AnySocket, Line
from gpuboard.web.bodies import check_keys
from gpuboard.web.direct import answer_directly
from gpuboard.web.needs import identity_of, needs, token_of
from gpuboard.web.problems import problems, send_problem, too_deep_problem
from gpuboard.web.services import Services
from gpuboard.wire.enrolment import EnrolmentAnswer, EnrolmentRequest
from gpuboard.wire.ingest import (
    CLOSE_BAD_MESSAGE,
    CLOSE_FAILED,
    CLOSE_REFUSED,
    CLOSE_TRY_LATER,
    MAX_MESSAGE_BYTES,
)

log = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS: Final = 5.0
# A code has 64 characters at most; anybody may send one.
MAX_ENROLMENT_BYTES: Final = 16 * 1024

NODE_TOKEN: Final = "node_token"  # noqa: S105 - the name of the scheme, not a token

AnyRequest = Request[Any, Any, Any]


@dataclass
class _MessageOperation(Operation):
    """Describes the body, which is read as bytes and decoded beyond the framework."""

    def __post_init__(self) -> None:
        binary = OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY))
        self.request_body = RequestBody(content={"application/msgpack": binary}, required=True)


@websocket("/api/v1/ingest", opt=needs("token"))
async def ingest(socket: AnySocket, services: Services) -> None:
    """Take in what one agent sends, message by message, until it leaves."""
    try:
        door = agent_door(services)
        address = identity_of(socket).address
        known = await door.admit(socket.headers, address, token_of(socket))
    except HTTPException as error:
        await _refuse(socket, error)
        return
    await socket.accept()
    line = door.open(socket, known, address)
    answer_directly(socket.scope, partial(_answer, door, line))
    try:
        await _converse(socket, door, line)
    except Exception:
        # What was not acknowledged comes again.
        log.exception("report not taken: node=%s", known.node)
        await line.close(CLOSE_FAILED, "the board failed to take this in; its log says why")
    finally:
        door.close(line)


def _answer(door: AgentDoor, line: Line, data: bytes) -> bytes | None:
    """The answer to a good message that comes in good time; all others are for `_converse`."""
    if line.is_cut or line.note():
        return None
    try:
        return door.take(line.known.node, data)
    except (WireError, AccessRefused, SourceError):
        return None


async def _converse(socket: AnySocket, door: AgentDoor, line: Line) -> None:
    receive, send, accept, node = socket.receive, socket.send, door.take, line.known.node
    while True:
        message = await receive()
        if message["type"] != "websocket.receive" or line.is_cut:
            return
        data = message.get("bytes")
        if data is None:
            await line.close(CLOSE_BAD_MESSAGE, "messages are msgpack, in binary frames")
            return
        wait = line.note()
        try:
            answer = accept(node, data)
        except WireError as error:
            await line.close(CLOSE_BAD_MESSAGE, str(error))
            return
        except AccessRefused as error:
            await line.close(CLOSE_REFUSED, str(error))
            return
        except SourceError as error:
            await line.close(CLOSE_TRY_LATER, str(error))
            return
        try:
            await send({"type": "websocket.send", "bytes": answer, "text": None})
        except (WebSocketDisconnect, OSError):
            # It has left without waiting for the answer; it will ask again.
            return
        if wait:
            # Not read meanwhile, so that TCP itself slows the sender.
            await asyncio.sleep(wait)


@post(
    "/api/v1/reports",
    opt=needs("token"),
    summary="One message of an agent",
    request_max_body_size=MAX_MESSAGE_BYTES,
    status_code=200,
    media_type="application/msgpack",
    responses=problems(400, 401, 403, 413, 415, 429, 503),
    security=[{NODE_TOKEN: []}],
    operation_class=_MessageOperation,
)
async def post_report(request: AnyRequest, services: Services) -> Response[bytes]:
    """The same messages as over the WebSocket, for agents behind a proxy that refuses those."""
    door = agent_door(services)
    known = await door.admit(request.headers, identity_of(request).address, token_of(request))
    _check_form(request)
    wait = door.pace(known.node).delay(time.monotonic())
    if wait > LONGEST_WAIT_SECONDS:
        raise TooManyRequestsException("This node sends far too much; wait a moment.")
    await asyncio.sleep(wait)
    try:
        body = await request.body()
        door.check_again(known)
        return Response(door.take(known.node, body), media_type="application/msgpack")
    except WireError as error:
        raise ClientException(str(error)) from None
    except AccessRefused as error:
        raise PermissionDeniedException(str(error)) from None
    except SourceError as error:
        raise ServiceUnavailableException(str(error)) from None


@post(
    "/api/v1/enroll",
    opt=needs("code"),
    summary="A node's token for an enrolment code",
    request_max_body_size=MAX_ENROLMENT_BYTES,
    media_type=MediaType.JSON,
    exception_handlers={RecursionError: too_deep_problem},
    responses=problems(400, 403, 413, 429, 503),
)
async def post_enrolment(
    request: AnyRequest, services: Services, data: EnrolmentRequest
) -> Response[EnrolmentAnswer]:
    """Exchange a code, once, for the token of the node that it was made for."""
    await check_keys(request)
    node, token = await agent_door(services).enrol(data.code, identity_of(request).address)
    answer = EnrolmentAnswer(node=node, token=token)
    return Response(answer, headers={"cache-control": "no-store"})


def _check_form(request: AnyRequest) -> None:
    if request.headers.get("content-encoding", "identity") != "identity":
        raise HTTPException(status_code=415, detail="Compressed bodies are not taken; send it as it is.")
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/msgpack":
        raise HTTPException(status_code=415, detail="Send one message as application/msgpack.")


def agent_door(services: Services) -> AgentDoor:
    """The door for agents, where there is one."""
    if services.agents is None:
        raise ServiceUnavailableException(
            "This board has no usable state directory, so agents cannot push to it; its log says why."
        )
    return services.agents


async def _refuse(socket: AnySocket, error: HTTPException) -> None:
    """Answer the handshake like any request, so that the agent hears why."""
    headers = [(name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items()]
    await socket.receive()
    await send_problem(socket.send, "websocket", error.status_code, error.detail, headers=headers)


ROUTES: Final = (ingest, post_report, post_enrolment)
