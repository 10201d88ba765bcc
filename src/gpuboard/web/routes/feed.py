"""One's own bookings as a calendar, for programs that send nothing but an address: its key is a secret."""

from functools import partial
from typing import Annotated, Final

from litestar import Response, delete, get, post
from litestar.exceptions import (
    ClientException,
    NotFoundException,
    PermissionDeniedException,
)
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Parameter

from gpuboard.accounts.records import PersonToken, Vouched
from gpuboard.bookings.ical import calendar_of
from gpuboard.model.errors import StorageError, UsageError
from gpuboard.web.needs import browser_of, identity_of, needs
from gpuboard.web.people import PeopleDoor, deed_of
from gpuboard.web.problems import problems
from gpuboard.web.query import check_query
from gpuboard.web.routes.bookings import desk_of
from gpuboard.web.routes.session import (
    NO_STORE,
    AnyRequest,
    manager,
    origin_of,
    people_door,
    reach_of,
    refusal,
)
from gpuboard.web.services import Services
from gpuboard.web.unavailable import StorageUnavailable
from gpuboard.wire.bookings import FEED_PATH, FeedView

_CALENDAR: Final = "text/calendar"
_ERRORS: Final = problems(400, 403, 503)


@get(
    f"/{FEED_PATH}",
    summary="My bookings as a calendar",
    opt=needs("key"),
    guards=[check_query],
    responses={200: ResponseSpec(str, description="iCalendar", media_type=_CALENDAR), **_ERRORS},
)
async def get_calendar(
    request: AnyRequest,
    services: Services,
    key: Annotated[str, Parameter(max_length=64, description="The secret of the feed.")] = "",
) -> Response[bytes]:
    """The bookings of the person whose key this is, as iCalendar; whoever else asks sees nothing."""
    if browser_of(request).needs_https:
        raise PermissionDeniedException("A calendar feed needs https: this line is in clear.")
    try:
        owner = await people_door(services).view.find_feed(key)
        if owner is None:
            raise PermissionDeniedException("This key is of no calendar feed: it was revoked, or mistyped.")
        found = await desk_of(services).own_calendar(owner.person)
    except StorageError as error:
        raise StorageUnavailable(error) from None
    name = f"{services.info.title or 'gpuboard'}: {owner.person}"
    return Response(calendar_of(found, name=name), media_type=_CALENDAR, headers=NO_STORE)


@get(
    "/api/v1/bookings/feed",
    summary="Whether I have a calendar feed",
    opt=needs("person"),
    responses=problems(401, 403, 503),
)
async def get_feed(request: AnyRequest, services: Services) -> Response[FeedView]:
    """What is known of the key of my calendar feed; never the key itself."""
    door, identity = people_door(services), identity_of(request)
    return Response(
        _shown(door, door.view.feed_of(identity.person or "", way=reach_of(door, identity))), headers=NO_STORE
    )


@post(
    "/api/v1/bookings/feed",
    summary="Make my calendar feed",
    opt=needs("person"),
    responses=problems(400, 401, 403, 503),
)
async def post_feed(request: AnyRequest, services: Services) -> Response[FeedView]:
    """Make a key, which is shown this once; the one before it is not good any more."""
    door, identity = people_door(services), manager(services, request)
    way = origin_of(door, identity)
    vouched = Vouched(person=identity.person or "", way=way, through=identity.through)
    deed, reach = deed_of(identity, "feed-made"), reach_of(door, identity)
    make = partial(door.desk.make_feed, vouched, identity.role, deed, way=reach)
    try:
        made, key = await door.run(make, is_write=True)
        await door.view.look()
    except UsageError as error:
        raise ClientException(str(error)) from None
    except StorageError as error:
        raise refusal(error) from None
    return Response(_shown(door, made, key), status_code=201, headers=NO_STORE)


@delete(
    "/api/v1/bookings/feed",
    summary="Revoke my calendar feed",
    opt=needs("person"),
    responses=problems(401, 403, 404, 503),
)
async def delete_feed(request: AnyRequest, services: Services) -> None:
    """Revoke its key: whoever has the address sees nothing any more."""
    door, identity = people_door(services), manager(services, request)
    end = partial(door.desk.end_feed, deed_of(identity, "feed-revoked"), way=reach_of(door, identity))
    try:
        is_gone = await door.run(end, is_write=True)
        await door.view.look()
    except StorageError as error:
        raise refusal(error) from None
    if not is_gone:
        raise NotFoundException("You have no calendar feed.")


def _shown(door: PeopleDoor, feed: PersonToken | None, key: str | None = None) -> FeedView:
    return FeedView(
        created_at=None if feed is None else feed.created_at,
        last_used_at=None if feed is None else door.view.token_used_at(feed),
        path=None if key is None else f"{FEED_PATH}?key={key}",
    )


ROUTES: Final = (get_calendar, get_feed, post_feed, delete_feed)
