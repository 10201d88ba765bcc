"""Moments that people and programs write in a question: Unix seconds, or RFC 3339 with an offset."""

import re
from datetime import datetime
from typing import Annotated, Final

from litestar.exceptions import ValidationException
from litestar.params import Parameter, QueryParameter

from gpuboard.model.report import LATEST_TIME

# A plus sign in an address is a blank, unless it was written with care.
_BLANK_FOR_PLUS: Final = re.compile(r" (\d\d:?\d\d)\Z")
# As people write them: what else Python takes for a number is a mistake here.
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?\Z")
_LONGEST: Final = 40
_HOW: Final = (
    "write Unix seconds, like 1767225600, or RFC 3339 with its offset, like 2026-01-01T09:00:00+01:00"
)

At = Annotated[str | None, Parameter(max_length=_LONGEST, description=f"As it was at this moment: {_HOW}.")]
From = Annotated[
    str | None, QueryParameter(name="from", max_length=_LONGEST, description=f"When it begins: {_HOW}.")
]
To = Annotated[
    str | None,
    QueryParameter(name="to", max_length=_LONGEST, description="When it ends; the same. Without: now."),
]

Around = Annotated[
    str | None,
    Parameter(
        max_length=_LONGEST,
        description="Instead of the newest: as many up to this moment and after it, each of those that begin"
        " and of those that end nearest to it; written as the others.",
    ),
]


def moment(text: str | None, name: str, default: float) -> float:
    """The moment that is meant, in Unix seconds.

    Raises:
        ValidationException: it is none, or it has no offset.
    """
    if text is None:
        return default
    at = float(text) if _NUMBER.match(text) else _dated(text, name)
    if not 0 <= at <= LATEST_TIME:
        raise ValidationException(f"{name}: {_HOW}")
    return at


def _dated(text: str, name: str) -> float:
    if not text.isascii():
        raise ValidationException(f"{name}: {_HOW}")
    try:
        found = datetime.fromisoformat(_BLANK_FOR_PLUS.sub(r"+\1", text))
    except ValueError:
        raise ValidationException(f"{name}: {_HOW}") from None
    if found.tzinfo is None:
        raise ValidationException(f"{name}: a time without its offset may be anybody's; {_HOW}")
    return found.timestamp()


def span(start: str | None, end: str | None, *, now: float, usual: float) -> tuple[float, float]:
    """The span that is meant; without an end it ends now, without a beginning it is as long as usual.

    Raises:
        ValidationException: one of the two is no moment, or the end is not after the beginning.
    """
    until = moment(end, "to", now)
    since = moment(start, "from", until - usual)
    if since >= until:
        raise ValidationException("from: must be before to")
    return max(0.0, since), until
