"""Where agents say which of their node's users wants to sign in."""

import time
from typing import Final

from litestar import MediaType, Response, post
from litestar.exceptions import (
    PermissionDeniedException,
    TooManyRequestsException,
)

from gpuboard.accounts.ways.base import NodeEvidence
from gpuboard.model.errors import AccessRefused, StorageError
from gpuboard.web.bodies import check_keys
from gpuboard.web.limits import MAX_FORM_BYTES
from gpuboard.web.needs import identity_of, needs, token_of
from gpuboard.web.problems import problems, too_deep_problem
from gpuboard.web.routes.ingest import NODE_TOKEN, agent_door
from gpuboard.web.routes.session import NO_STORE, AnyRequest, people_door
from gpuboard.web.services import Services
from gpuboard.web.unavailable import StorageUnavailable
from gpuboard.wire.login import LoginGrant, VouchQuestion


@post(
    "/api/v1/vouch",
    opt=needs("token"),
    summary="A link and a token for a user of a node",
    request_max_body_size=MAX_FORM_BYTES,
    status_code=200,
    media_type=MediaType.JSON,
    exception_handlers={RecursionError: too_deep_problem},
    responses=problems(400, 401, 403, 413, 429, 503),
    security=[{NODE_TOKEN: []}],
)
async def post_vouch(request: AnyRequest, services: Services, data: VouchQuestion) -> Response[LoginGrant]:
    """What a node says of who asks there is believed for users at most."""
    await check_keys(request)
    agents, people = agent_door(services), people_door(services)
    address = identity_of(request).address
    known = await agents.admit(request.headers, address, token_of(request))
    if not people.vouches.admits(known.node, time.monotonic()):
        raise TooManyRequestsException("Too many sign in from this node at once; wait a moment.")
    try:
        vouched = await people.vouch(NodeEvidence(node=known.node, uid=data.uid, name=data.name), address)
        granted = await people.logins.grant(
            vouched,
            data,
            terminal=known.node,
            address=address,
            plaintext_allowed=services.access.allow_plaintext,
        )
    except AccessRefused as error:
        raise PermissionDeniedException(str(error)) from None
    except StorageError as error:
        raise StorageUnavailable(error) from None
    return Response(granted, headers=NO_STORE)


ROUTES: Final = (post_vouch,)
