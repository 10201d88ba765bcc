"""A small picture with the free count, for READMEs and wikis: counts only, for whoever may see counts."""

from html import escape
from typing import Annotated, Final

from litestar import Response, get
from litestar.params import Parameter
from msgspec import Struct

from gpuboard.fleet.summary import Wish
from gpuboard.web.answers import AnyRequest
from gpuboard.web.needs import identity_of, needs
from gpuboard.web.query import check_query
from gpuboard.web.services import Services

GREEN: Final = "#008560"
BLUE: Final = "#1b4f94"
GREY: Final = "#5f6670"
_HEIGHT: Final = 20
_MARGIN: Final = 6
_NARROW: Final = frozenset("fijlrtI1 .,:;|!'()[]/-")


class Badge(Struct, frozen=True, kw_only=True):
    """What a badge says, and in which colour."""

    label: str
    text: str
    colour: str


@get("/badge.svg", include_in_schema=False, opt=needs("nothing"), guards=[check_query])
async def badge(
    request: AnyRequest,
    services: Services,
    model: Annotated[str | None, Parameter(max_length=64, description="Part of the model's name.")] = None,
) -> Response[bytes]:
    """Answer with a picture, also where nothing is shown: a broken image tells nobody what is wrong.

    Only a question for something else than it counts is refused: the picture would be a wrong answer.
    """
    label = f"{model} GPUs" if model else "GPUs"
    if identity_of(request).tier is None:
        shown = Badge(label="GPUs", text="not shown", colour=GREY)
    else:
        shown = count_badge(services, label, Wish(model=model))
    # Every look asks again: proxies for pictures keep what they may.
    return Response(
        draw(shown).encode(), media_type="image/svg+xml; charset=utf-8", headers={"cache-control": "no-cache"}
    )


def count_badge(services: Services, label: str, wish: Wish) -> Badge:
    """The free count of the GPUs that fit."""
    summary = services.summary(wish)
    free = summary.by_verdict["free"]
    if summary.gpus == 0:
        text = "none" if summary.gpus_known else "not known yet"
        return Badge(label=label, text=text, colour=GREY)
    if summary.by_verdict["stale"] == summary.gpus:
        return Badge(label=label, text="not reporting", colour=GREY)
    return Badge(label=label, text=f"{free} of {summary.gpus} free", colour=GREEN if free else BLUE)


def draw(shown: Badge) -> str:
    """The badge as SVG, without style or script, so that every content policy lets it through."""
    # XML carries no control characters, and nothing may turn the reading direction.
    label, text = ("".join(filter(str.isprintable, part)) for part in (shown.label, shown.text))
    left, right = _width(label), _width(text)
    whole = left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{_HEIGHT}" role="img" '
        f'aria-labelledby="t"><title id="t">{escape(label)}: {escape(text)}</title>'
        f'<clipPath id="r"><rect width="{whole}" height="{_HEIGHT}" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="{_HEIGHT}" fill="#3a3f47"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{shown.colour}"/></g>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{_words(label, 0, left)}{_words(text, left, right)}</g></svg>"
    )


def _width(text: str) -> int:
    """About what Verdana takes; characters of full width take twice as much."""
    letters = sum(4 if letter in _NARROW else 7 if letter.isascii() else 12 for letter in text)
    return letters + 2 * _MARGIN


def _words(text: str, start: int, width: int) -> str:
    # The length is given because nobody knows which font the viewer has.
    place = f'x="{start + width / 2:g}" y="14" textLength="{width - 2 * _MARGIN}"'
    return f'<text {place} lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
