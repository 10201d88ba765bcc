"""GPU-hours by GET."""

from collections.abc import Callable
from datetime import tzinfo
from typing import Annotated, Final, cast

import msgspec
from litestar import Response, Router, get
from litestar.exceptions import ValidationException
from litestar.params import Parameter

from gpuboard.export.usage import usage_to_csv
from gpuboard.history.reckoning import UsageWanted, ask_usage, month_of
from gpuboard.model.errors import UsageError
from gpuboard.settings.zones import zone_of
from gpuboard.web.answers import COMPRESSED, AnyRequest
from gpuboard.web.needs import needs, tier_of
from gpuboard.web.past import tell
from gpuboard.web.problems import problems
from gpuboard.web.query import check_query
from gpuboard.web.services import Services
from gpuboard.web.times import From, To, span
from gpuboard.wire.usage import UsageAnswer, UsageBy

USUAL_SECONDS: Final = 30 * 86_400.0
_CSV: Final = "text/csv"


By = Annotated[UsageBy, Parameter(description="A row for each of these.")]
Month = Annotated[
    str | None, Parameter(max_length=7, description="Instead of a span: `last`, `this` or like `2026-10`.")
]
_ERRORS: Final = problems(400, 401, 404, 429, 503)


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
    answer.headers["content-disposition"] = 'attachment; filename="usage.csv"'
    return cast("Response[str]", answer)


def _wanted(
    request: AnyRequest, services: Services, by: UsageBy, asked: tuple[str | None, str | None, str | None]
) -> UsageWanted:
    now, zone = services.fleet.clock.now(), zone_of(services.info.time_zone)
    start, end = _span(*asked, now=now, zone=zone)
    return UsageWanted(
        by=by,
        start=start,
        end=end,
        now=now,
        groups=services.people_groups(),
        with_names=tier_of(request) == "names",
        zone=zone,
    )


async def _tell(
    request: AnyRequest, services: Services, wanted: UsageWanted, write: Callable[[UsageAnswer], bytes]
) -> Response[bytes]:
    try:
        question = lambda history: write(ask_usage(history, wanted))  # noqa: E731 - asked in a thread
        return await tell(request, services.history, services.past, question)
    except UsageError as error:
        raise ValidationException(f"from: {error}") from None


def _span(
    start: str | None, end: str | None, month: str | None, *, now: float, zone: tzinfo | None
) -> tuple[float, float]:
    if month is None:
        return span(start, end, now=now, usual=USUAL_SECONDS)
    if start is not None or end is not None:
        raise ValidationException("month: is a span by itself, without from and to")
    try:
        return month_of(month, now=now, zone=zone)
    except (ValueError, OverflowError, OSError):
        raise ValidationException("month: write last, this, or a month like 2026-10") from None


ROUTER = Router(
    path="/api/v1", route_handlers=[get_usage, get_usage_csv], opt=needs("counts"), guards=[check_query]
)
