"""Bookings: who has what from when to when, and how to book."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final

from litestar import Response, Router, delete, get, patch, post
from litestar.exceptions import NotFoundException, ServiceUnavailableException, ValidationException
from litestar.params import Parameter
from msgspec.structs import replace

from gpuboard.accounts.ways.base import somebodys_name
from gpuboard.bookings.desk import MOST_TOLD, BookingDesk
from gpuboard.bookings.refusals import CONFLICT, IN_USE, NO_PLACE, NOT_ENOUGH, OUTDATED, POLICIES
from gpuboard.bookings.rules import FARTHEST_SECONDS, Change, Decision, Span, tomorrow
from gpuboard.bookings.use import Use
from gpuboard.fleet.node import Node
from gpuboard.fleet.summary import Wish
from gpuboard.model.booking import LONGEST_COMMENT, NOT_YOURS, Booking
from gpuboard.model.errors import BookingRefused, StorageError
from gpuboard.model.identity import Identity, Tier
from gpuboard.model.units import parse_size
from gpuboard.settings.words import close_to
from gpuboard.verdict.holders import is_same
from gpuboard.web.bodies import check_keys
from gpuboard.web.needs import bookings_tier, identity_of, needs
from gpuboard.web.problems import CodedException, problems
from gpuboard.web.query import check_query
from gpuboard.web.routes.session import FORM, NO_STORE, AnyRequest
from gpuboard.web.services import Services
from gpuboard.web.times import From, To, moment
from gpuboard.web.unavailable import StorageUnavailable
from gpuboard.wire.bookings import (
    BookingAnswer,
    BookingChange,
    BookingList,
    BookingView,
    BookingWish,
    ElsewhereView,
    LimitsView,
    Moment,
    UseView,
    elsewhere_view,
    places_of,
    view_of,
)
from gpuboard.wire.prose import clean_prose

USUAL_SECONDS: Final = 14 * 86400.0
# What a refusal is to HTTP; all others are mistakes in what was asked.
_STATUSES: Final = {
    **dict.fromkeys((CONFLICT, IN_USE, NOT_ENOUGH, OUTDATED, "booking-over", "booking-begun"), 409),
    **dict.fromkeys(("booking-stale", "booking-broken"), 409),
    **dict.fromkeys((*POLICIES, NOT_YOURS, "booking-too-many-open"), 403),
    **dict.fromkeys((NO_PLACE, "booking-unknown"), 404),
}
_CHANGES: Final = (400, 401, 403, 404, 409, 413, 503)


def desk_of(services: Services) -> BookingDesk:
    """Where people book.

    Raises:
        ServiceUnavailableException: this board has nowhere to keep bookings.
    """
    if services.bookings is None:
        raise ServiceUnavailableException("This board has nowhere to keep bookings; /readyz says why.")
    return services.bookings


@get("/", summary="What is booked", responses=problems(400, 401, 403, 404, 503))
async def get_bookings(
    request: AnyRequest,
    services: Services,
    *,
    start: From = None,
    end: To = None,
    mine: Annotated[bool, Parameter(description="Only those of whoever asks.")] = False,
    node: Annotated[str | None, Parameter(max_length=253, description="Only on this node.")] = None,
) -> Response[BookingList]:
    """The bookings of a span, from now for two weeks if none is named, the first first."""
    desk, identity, now = desk_of(services), identity_of(request), services.fleet.clock.now()
    since = moment(start, "from", now)
    until = moment(end, "to", since + USUAL_SECONDS)
    if since >= until:
        raise ValidationException("from: must be before to")
    if mine and identity.person is None:
        raise ValidationException("mine: sign in first; nobody knows which are yours")
    known = None if node is None else services.fleet.find(node)
    try:
        found = await desk.window(
            since,
            until,
            who=identity.person if mine else None,
            node=known.name if known is not None else node,
        )
    except StorageError as error:
        raise StorageUnavailable(error) from None
    if node is not None and known is None and not found:
        # What was booked on a node that is gone is still told.
        raise NotFoundException(f"There is no node {node!r}{close_to(node, _names(services))}")
    tier = bookings_tier(request)
    views = [_view(one, identity, now, tier=tier) for one in found[:MOST_TOLD]]
    # Whoever sees counts alone hears what holds, not what became of the rest; of one's own one hears all.
    seen = [one for one in views if one.id is not None or one.state in ("upcoming", "running")]
    told = tuple(await _with_use(seen, services))
    nodes = services.fleet if node is None else filter(None, (known,))
    body = BookingList(
        at=now,
        tier=tier,
        bookings=told,
        tomorrow=tomorrow(now, desk.zone),
        is_cut=len(found) > MOST_TOLD,
        elsewhere=() if mine else tuple(_elsewhere(services, nodes, (since, until), tier)),
    )
    return Response(body, headers=NO_STORE)


@get("/limits", summary="How much I may book", opt=needs("person"), responses=problems(400, 401, 403, 503))
async def get_limits(
    request: AnyRequest,
    services: Services,
    *,
    start: From = None,
    end: To = None,
    without: Annotated[
        str | None, Parameter(max_length=64, description="As if this booking were not: it is to change.")
    ] = None,
) -> Response[LimitsView]:
    """The policies that hold for whoever asks, and what is left in a span, or now if none is named."""
    since = moment(start, "from", services.fleet.clock.now())
    until = moment(end, "to", since + 1)
    if not since < until <= since + FARTHEST_SECONDS:
        raise ValidationException("from: must be before to, by what one may book at most")
    try:
        span = Span(start=since, end=until)
        limits = await desk_of(services).limits(identity_of(request), span, without=without)
        return Response(limits, headers=NO_STORE)
    except StorageError as error:
        raise StorageUnavailable(error) from None


@get("/{ident:str}", summary="One booking", responses=problems(400, 401, 403, 404, 503))
async def get_booking(request: AnyRequest, services: Services, ident: str) -> Response[BookingView]:
    """One booking; for whoever sees names, and for its owner."""
    tier = bookings_tier(request)
    try:
        found = await desk_of(services).find(ident)
    except StorageError as error:
        raise StorageUnavailable(error) from None
    now = services.fleet.clock.now()
    view = None if found is None else _view(found, identity_of(request), now, tier=tier)
    if view is None or view.id is None:
        raise NotFoundException("There is no such booking.")
    return Response((await _with_use([view], services))[0], headers=NO_STORE)


@post("/", summary="Book", opt=needs("book"), status_code=201, responses=problems(*_CHANGES), **FORM)
async def post_booking(request: AnyRequest, services: Services, data: BookingWish) -> Response[BookingAnswer]:
    """Book GPUs, whole nodes, or any that fit; for admins: block them."""
    await check_keys(request)
    desk, identity, now = desk_of(services), identity_of(request), services.fleet.clock.now()
    if bool(data.places) == (data.any is not None):
        raise ValidationException("name either places or any")
    if (data.end is None) == (data.for_seconds is None):
        raise ValidationException("say either end or for_seconds")
    start = _moment(data.start, "start", now)
    end = start + data.for_seconds if data.for_seconds is not None else _moment(data.end, "end", now)
    span = Span(start=start, end=float(int(end)))
    comment = kept_comment(data.comment)
    who = None if data.who is None else somebodys_name(data.who)
    if data.who is not None and who is None:
        raise ValidationException("who: this can be nobody's name")
    wanted = _wish(data) if data.any is not None else places_of(data.places)
    try:
        decision = await desk.book(identity, wanted, span, kind=data.kind, comment=comment, who=who)
    except (BookingRefused, StorageError) as error:
        raise refusal(error, identity) from None
    return Response(_answer(decision, request, services), status_code=201, headers=NO_STORE)


@patch("/{ident:str}", summary="Change a booking", opt=needs("book"), responses=problems(*_CHANGES), **FORM)
async def patch_booking(
    request: AnyRequest, services: Services, ident: str, data: BookingChange
) -> Response[BookingAnswer]:
    """Move, extend, shorten, or say something else; of one that has begun only the end and the comment."""
    await check_keys(request)
    desk, identity = desk_of(services), identity_of(request)
    if data.end is not None and data.extend_seconds is not None:
        raise ValidationException("say either end or extend_seconds")
    change = Change(
        places=None if data.places is None else places_of(data.places),
        start=None if data.start is None else _moment(data.start, "start", 0.0),
        end=None if data.end is None else _moment(data.end, "end", 0.0),
        comment=None if data.comment is None else kept_comment(data.comment),
    )
    # To whole seconds, as all times.
    later = None if data.extend_seconds is None else float(int(data.extend_seconds))
    try:
        decision = await desk.edit(identity, ident, change, later=later, revision=data.revision)
    except (BookingRefused, StorageError) as error:
        raise refusal(error, identity) from None
    return Response(_answer(decision, request, services), headers=NO_STORE)


@delete(
    "/{ident:str}",
    summary="Cancel a booking",
    opt=needs("book"),
    status_code=200,
    responses=problems(400, 401, 403, 404, 409, 503),
)
async def delete_booking(request: AnyRequest, services: Services, ident: str) -> Response[BookingAnswer]:
    """End a booking now, or before it begins; it stays in the book as cancelled."""
    identity = identity_of(request)
    try:
        decision = await desk_of(services).cancel(identity, ident)
    except (BookingRefused, StorageError) as error:
        raise refusal(error, identity) from None
    return Response(_answer(decision, request, services), headers=NO_STORE)


def refusal(error: BookingRefused | StorageError, identity: Identity) -> Exception:
    """Why it is refused, as HTTP says it; no names for whoever sees none."""
    if isinstance(error, StorageError):
        return StorageUnavailable(error)
    who = error.reason.values.get("who")
    is_own = isinstance(who, str) and is_same(who, identity.person or "")
    reason = error.reason if identity.tier == "names" or is_own else error.unnamed
    status = _STATUSES.get(reason.code, 400)
    return CodedException(status, reason.text, code=reason.code, values=dict(reason.values))


def _elsewhere(
    services: Services, nodes: Iterable[Node], span: tuple[float, float], tier: Tier
) -> Iterator[ElsewhereView]:
    """What is claimed on these nodes in a span by others than the board's own book."""
    since, until = span
    for node in nodes:
        for number, claims in sorted(services.fleet.claims_elsewhere(node).items()):
            for claim in claims:
                if not claim.is_over(since) and (claim.start is None or claim.start < until):
                    yield elsewhere_view((node.name, number), claim, tier=tier)


async def _with_use(views: Sequence[BookingView], services: Services) -> list[BookingView]:
    """What has begun, with how it was used."""
    desk, watch, now = desk_of(services), services.booking_watch, services.fleet.clock.now()
    begun = [one.id for one in views if one.id is not None and one.start <= now]
    try:
        uses = await desk.uses(begun) if begun else {}
    except StorageError as error:
        raise StorageUnavailable(error) from None
    found = []
    for one in views:
        ident = one.id or ""
        use = (watch.use_of(ident) if watch else None) or uses.get(ident)
        if use is None:
            found.append(one)
            continue
        # What was released was so because nobody came, whatever the settings say now.
        is_late = watch is not None and one.state in ("running", "ended") and watch.is_no_show(use)
        back = watch.given_back_at(use, now) if watch is not None and one.state == "running" else None
        is_no_show = is_late or one.state == "released"
        found.append(replace(one, use=_use_view(use), no_show=is_no_show, given_back_at=back))
    return found


def kept_comment(told: str) -> str:
    """What is kept of a comment; empty: nothing.

    Raises:
        ValidationException: that is too long.
    """
    kept = clean_prose(told)
    if len(kept) > LONGEST_COMMENT:
        raise ValidationException(f"comment: it has {len(kept)} letters; {LONGEST_COMMENT} is the most")
    return kept


def _names(services: Services) -> list[str]:
    return [node.name for node in services.fleet]


def _use_view(use: Use) -> UseView:
    return UseView(
        used_seconds=round(use.used_seconds),
        others_seconds=round(use.others_seconds),
        unused_seconds=round(use.unused_seconds),
        unobserved_seconds=round(use.unobserved_seconds),
    )


def _wish(data: BookingWish) -> Wish:
    wanted = data.any
    assert wanted is not None  # noqa: S101 - tells the type checker
    try:
        size = parse_size(wanted.memory)
    except ValueError as error:
        raise ValidationException(f"memory: {error}") from None
    return Wish(gpus=wanted.gpus, memory_bytes=size, model=wanted.model, same_node=wanted.same_node)


def _moment(told: Moment | None, name: str, default: float) -> float:
    # To whole seconds: nobody books parts of them.
    return float(int(moment(None if told is None else str(told), name, default)))


def _answer(decision: Decision, request: AnyRequest, services: Services) -> BookingAnswer:
    identity, now = identity_of(request), services.fleet.clock.now()
    # Whoever has booked knows what.
    return BookingAnswer(
        booking=_view(decision.booking, identity, now, tier="names"),
        notes=decision.notes,
        displaced=tuple(_view(one, identity, now, tier="names") for one in decision.displaced),
    )


def _view(booking: Booking, identity: Identity, now: float, *, tier: Tier) -> BookingView:
    """A booking as whoever asks sees it; one's own are seen whole by whatever may book or read."""
    is_own = identity.person is not None and is_same(booking.who, identity.person)
    may = identity.has("admin") or (identity.has("user") and is_own and booking.kind == "booking")
    may = may and booking.is_open_at(now)
    seen: Tier = "names" if is_own and identity.scopes & {"read", "book"} else tier
    return view_of(booking, now, tier=seen, is_mine=is_own, may_change=may)


ROUTER = Router(
    path="/api/v1/bookings",
    route_handlers=[get_bookings, get_limits, get_booking, post_booking, patch_booking, delete_booking],
    opt=needs("bookings"),
    guards=[check_query],
)
