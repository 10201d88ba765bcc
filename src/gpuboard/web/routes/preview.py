"""What a chat shows under a link to the board: the free count in words and as a picture."""

from html import escape
from itertools import accumulate
from typing import Final

from litestar import Response, get

from gpuboard.web.answers import AnyRequest
from gpuboard.web.needs import identity_of, needs
from gpuboard.web.picture import LETTER_HEIGHT, LETTER_WIDTH, Picture
from gpuboard.web.public_url import public_url
from gpuboard.web.services import Services
from gpuboard.wire.summary import Summary

_WIDTH: Final = 600
_HEIGHT: Final = 315
_MARGIN: Final = 40
_ROOM: Final = _WIDTH - 2 * _MARGIN
_BIGGEST: Final = 18
_SMALL: Final = 4
_SQUARE: Final = 16
_PITCH: Final = 20
_SQUARES: Final = 2 * (_ROOM // _PITCH)
# As on the page, in daylight: the quietest last, as its chips stand.
_VERDICTS: Final = {
    "free": "#008560",
    "busy": "#a9c6ec",
    "idle": "#ffd24a",
    "booked": "#8a55bf",
    "stale": "#c3c7cd",
    "broken": "#a3160f",
    "unknown": "#454851",
}
_PAPER, _TEXT, _SOFT = range(3)
_FIRST_VERDICT: Final = 3
_PALETTE: Final = ("#ffffff", "#12161c", "#545b66", *_VERDICTS.values())
_MODELS_NAMED: Final = 3


@get("/preview.png", include_in_schema=False, opt=needs("nothing"))
async def preview(request: AnyRequest, services: Services) -> Response[bytes]:
    """Answer with a picture in any case, as the badge does."""
    summary = summary_for(request, services)
    picture = services.broadcaster.answers.get(("preview", summary is None), lambda: draw(summary)).body
    return Response(picture, media_type="image/png", headers={"cache-control": "no-cache"})


def summary_for(request: AnyRequest, services: Services) -> Summary | None:
    """The counts, for whoever may see counts."""
    if identity_of(request).tier is None:
        return None
    return services.summary()


def draw(summary: Summary | None) -> bytes:
    """The free count, of how many, and a square for each GPU or each share of them."""
    sheet = Picture(_WIDTH, _HEIGHT, _PALETTE)
    if summary is None:
        sheet.write("NOT SHOWN", _MARGIN, 120, 8, _SOFT)
        return sheet.png()
    if summary.gpus == 0:
        sheet.write("NO GPU YET" if summary.gpus_known else "NOT KNOWN YET", _MARGIN, 120, 6, _SOFT)
        return sheet.png()
    free = summary.by_verdict["free"]
    count = str(free)
    scale = min(_BIGGEST, _ROOM // ((LETTER_WIDTH + 1) * len(count)))
    top = _MARGIN + (_BIGGEST - scale) * LETTER_HEIGHT
    sheet.write(count, _MARGIN, top, scale, _FIRST_VERDICT if free else _SOFT)
    sheet.write(f"OF {summary.gpus} GPUS FREE", _MARGIN, 190, _SMALL, _TEXT)
    for place, colour in enumerate(_squares(summary)):
        row, column = divmod(place, _ROOM // _PITCH)
        sheet.fill(_MARGIN + column * _PITCH, 244 + row * _PITCH, _SQUARE, _SQUARE, colour)
    return sheet.png()


def _squares(summary: Summary) -> list[int]:
    """The colours of the squares; a large fleet shows its shares."""
    shown = min(summary.gpus, _SQUARES)
    ends = list(accumulate(summary.by_verdict[word] for word in _VERDICTS))
    whose = (place * summary.gpus // shown for place in range(shown))
    return [_FIRST_VERDICT + sum(gpu >= end for end in ends) for gpu in whose]


def title_for(request: AnyRequest, services: Services) -> str:
    """What the board is called, for whoever may see counts."""
    title = services.info.title if identity_of(request).tier is not None else None
    return title or "gpuboard"


def head(request: AnyRequest, services: Services, base_path: str) -> bytes:
    """The lines of the page's head that chats and search engines read; people see none of them."""
    summary = summary_for(request, services)
    lines = [
        ("property", "og:type", "website"),
        ("property", "og:title", title_for(request, services)),
        ("property", "og:description", in_words(summary)),
    ]
    here = public_url(request, services.access, base_path)
    image = None if here is None else f"{here}preview.png"
    if image is not None:
        lines += [
            ("property", "og:image", image),
            ("property", "og:image:width", str(_WIDTH)),
            ("property", "og:image:height", str(_HEIGHT)),
            ("property", "og:image:alt", in_words(summary)),
        ]
    lines.append(("name", "twitter:card", "summary" if image is None else "summary_large_image"))
    return "".join(
        f'    <meta {kind}="{name}" content="{escape(content)}" />\n' for kind, name, content in lines
    ).encode()


def in_words(summary: Summary | None) -> str:
    """The answer in a sentence, as far as this reader may have it."""
    if summary is None:
        return "Which GPU is free now, and who has the others."
    if summary.gpus == 0:
        if not summary.gpus_known:
            return "Which GPUs are free is not known yet."
        return "No GPU reports to this board yet."
    free = summary.by_verdict["free"]
    answer = f"{free} of {summary.gpus} GPUs {'is' if free == 1 else 'are'} free now"
    models = [f"{each.free} {each.model}" for each in summary.by_model if each.free and each.model]
    more = ", …" if len(models) > _MODELS_NAMED else ""
    return f"{answer}: {', '.join(models[:_MODELS_NAMED])}{more}." if models else f"{answer}."
