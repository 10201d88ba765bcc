"""GPU-hours by GET."""

from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import partial
from typing import Annotated, Final, cast

import msgspec
from litestar import Response, Router, get
from litestar.exceptions import ValidationException
from litestar.params import Parameter
from msgspec.structs import replace

from gpuboard.bookings.reserved import reserved_by
from gpuboard.export.usage import usage_to_csv
from gpuboard.history.averaging import WINDOW_HOURS, AveragesWanted, ask_averages, ask_hours
from gpuboard.history.base import History
from gpuboard.history.daily import ask_days
from gpuboard.history.reckoning import UsageWanted, ask_usage, first_groups
from gpuboard.history.spans import HOUR_SECONDS, Span, as_long_before, month_before, month_of
from gpuboard.model.errors import StorageError, UsageError
from gpuboard.settings.zones import zone_of
from gpuboard.web.answers import COMPRESSED, AnyRequest
from gpuboard.web.needs import check_names, needs, tier_of
from gpuboard.web.past import tell
from gpuboard.web.problems import problems
from gpuboard.web.query import check_query
from gpuboard.web.reserving import ReservedIn, with_reserved, with_reserved_means
from gpuboard.web.services import Services
from gpuboard.web.times import From, To, span
from gpuboard.web.unavailable import StorageUnavailable
from gpuboard.wire.usage import UsageAnswer, UsageAveragesAnswer, UsageBy, UsageDaysAnswer, UsageHoursAnswer

USUAL_SECONDS: Final = 30 * 86_400.0
_CSV: Final = "text/csv"


By = Annotated[UsageBy, Parameter(description="A row for each of these.")]
Month = Annotated[
    str | None, Parameter(max_length=7, description="Instead of a span: `last`, `this` or like `2026-10`.")
]
_ERRORS: Final = problems(400, 401, 404, 429, 503)
_OF_PERSON: Final = problems(400, 401, 403, 404, 429, 503)


@get("/usage", summary="GPU-hours that add up", opt={COMPRESSED: True}, responses=_ERRORS)
async def get_usage(
    request: AnyRequest,
    services: Services,
    *,
    by: By = "person",
    start: From = None,
    end: To = None,
    month: Month = None,
) -> Response[UsageAnswer]:
    """How long GPUs were used, held idle, booked, free, broken and not observed; the last 30 days."""
    wanted = _wanted(request, services, by, (start, end, month))
    answer = await _tell(request, services, wanted, msgspec.json.encode)
    return cast("Response[UsageAnswer]", answer)


@get(
    "/usage.csv",
    summary="GPU-hours as a table for spreadsheets",
    opt={COMPRESSED: True},
    media_type=_CSV,
    responses=_ERRORS,
)
async def get_usage_csv(
    request: AnyRequest,
    services: Services,
    *,
    by: By = "person",
    start: From = None,
    end: To = None,
    month: Month = None,
) -> Response[str]:
    """The same, with a line for each and the total as the last."""
    wanted = _wanted(request, services, by, (start, end, month))
    answer = await _tell(request, services, wanted, lambda found: usage_to_csv(found).encode())
    answer.media_type = _CSV
    first = datetime.fromtimestamp(wanted.start, wanted.zone)
    name = "usage.csv" if month is None else f"usage-{first:%Y-%m}.csv"
    answer.headers["content-disposition"] = f'attachment; filename="{name}"'
    return cast("Response[str]", answer)


@get("/usage/hours", summary="When GPUs are full", opt={COMPRESSED: True}, responses=_ERRORS)
async def get_usage_hours(
    request: AnyRequest,
    services: Services,
    *,
    start: From = None,
    end: To = None,
    month: Month = None,
) -> Response[UsageHoursAnswer]:
    """How much of the time somebody was on GPUs, by hour of the week on the board's clock; 30 days."""
    now, zone = services.fleet.clock.now(), _zone(services)
    asked, _ = _span(start, end, month, now=now, zone=zone)

    def read(history: History) -> bytes:
        return msgspec.json.encode(ask_hours(history, asked, now=now, zone=zone))

    answer = await tell(request, services.history, services.past, read)
    return cast("Response[UsageHoursAnswer]", answer)


@get("/usage/days", summary="One person's GPU-hours day by day", opt={COMPRESSED: True}, responses=_OF_PERSON)
async def get_usage_days(
    request: AnyRequest,
    services: Services,
    *,
    person: Annotated[str, Parameter(max_length=256, description="Whose.")],
    start: From = None,
    end: To = None,
) -> Response[UsageDaysAnswer]:
    """What somebody used, held idle, or booked and left unused on each day of the board's; 30 days."""
    check_names(request)
    now, zone = services.fleet.clock.now(), _zone(services)
    asked = span(start, end, now=now, usual=USUAL_SECONDS)

    def read(history: History) -> bytes:
        return msgspec.json.encode(ask_days(history, person, asked, now=now, zone=zone))

    try:
        answer = await tell(request, services.history, services.past, read)
    except UsageError as error:
        raise ValidationException(f"from: {error}") from None
    return cast("Response[UsageDaysAnswer]", answer)


@get("/usage/averages", summary="How many GPUs people use lately", opt={COMPRESSED: True}, responses=_ERRORS)
async def get_usage_averages(request: AnyRequest, services: Services) -> Response[UsageAveragesAnswer]:
    """GPUs used and booked on average over the last two hours, day and week, of each person and of all."""
    now, with_names = services.fleet.clock.now(), tier_of(request) == "names"
    groups = services.people_groups()
    wanted = AveragesWanted(now=now, groups=groups, with_names=with_names)
    reserved_in = await _reserved(services, (now - (max(WINDOW_HOURS) + 1) * HOUR_SECONDS, now), now)

    def read(history: History) -> bytes:
        found = ask_averages(history, wanted)
        if reserved_in is not None:
            found = with_reserved_means(found, reserved_in, first_groups(groups), with_names=with_names)
        return msgspec.json.encode(found)

    answer = await tell(request, services.history, services.past, read)
    return cast("Response[UsageAveragesAnswer]", answer)


def _wanted(
    request: AnyRequest, services: Services, by: UsageBy, asked: tuple[str | None, str | None, str | None]
) -> UsageWanted:
    now, zone = services.fleet.clock.now(), _zone(services)
    (start, end), before = _span(*asked, now=now, zone=zone)
    return UsageWanted(
        by=by,
        start=start,
        end=end,
        now=now,
        before=before,
        groups=services.people_groups(),
        worth=services.usage_worth(),
        with_names=tier_of(request) == "names",
        zone=zone,
    )


async def _tell(
    request: AnyRequest, services: Services, wanted: UsageWanted, write: Callable[[UsageAnswer], bytes]
) -> Response[bytes]:
    reserved_in = await _reserved(
        services, (wanted.start - HOUR_SECONDS, wanted.end + HOUR_SECONDS), wanted.now
    )

    title, time_zone = services.info.title or None, services.info.time_zone or None

    def read(history: History) -> bytes:
        found = replace(ask_usage(history, wanted), title=title, time_zone=time_zone)
        if reserved_in is not None:
            group_of = first_groups(wanted.groups)
            found = with_reserved(found, reserved_in, group_of, with_names=wanted.with_names)
        return write(found)

    try:
        return await tell(request, services.history, services.past, read)
    except UsageError as error:
        raise ValidationException(f"from: {error}") from None


async def _reserved(services: Services, within: Span, now: float) -> ReservedIn | None:
    """What says who had booked how much; None: the board keeps no bookings."""
    if services.bookings is None or services.history is None:
        return None
    try:
        bookings = await services.bookings.counted(*within)
    except StorageError as error:
        raise StorageUnavailable(error) from None
    return partial(reserved_by, bookings, now=now, person_of=services.fleet.names.person)


def _span(
    start: str | None, end: str | None, month: str | None, *, now: float, zone: tzinfo | None
) -> tuple[Span, Span]:
    """The span that is meant, and the one that it is compared with."""
    if month is None:
        asked = span(start, end, now=now, usual=USUAL_SECONDS)
        return asked, as_long_before(asked[0], min(asked[1], max(now, asked[0])))
    if start is not None or end is not None:
        raise ValidationException("month: is a span by itself, without from and to")
    try:
        asked = month_of(month, now=now, zone=zone)
        return asked, month_before(asked[0], zone)
    except (ValueError, OverflowError, OSError):
        raise ValidationException("month: write last, this, or a month like 2026-10") from None


def _zone(services: Services) -> tzinfo | None:
    return zone_of(services.info.time_zone)


ROUTER = Router(
    path="/api/v1",
    route_handlers=[get_usage, get_usage_csv, get_usage_hours, get_usage_days, get_usage_averages],
    opt=needs("counts"),
    guards=[check_query],
)
