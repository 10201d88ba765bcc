"""The built page and its assets."""

import gzip
import hashlib
import mimetypes
import re
from functools import lru_cache
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Final

from litestar import MediaType, Response, Router, get
from litestar.exceptions import NotFoundException

from gpuboard.web.answers import COMPRESS_FROM_BYTES, COMPRESSED, AnyRequest, may_compress
from gpuboard.web.needs import needs
from gpuboard.web.routes import preview
from gpuboard.web.services import Services

# What programs ask for, as it looks below a path that a proxy has left in place.
_FOR_PROGRAMS: Final = re.compile(r"/(?:readyz|healthz|metrics|api/.+)\Z", re.DOTALL)
UI: Final = Path(__file__).parent / "ui"
_ABSENT: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>gpuboard: page not built</title>
<h1>The page has not been built</h1>
<p>The board runs and its API answers at <a href="api/v1/fleet">api/v1/fleet</a>,
but this installation has no page.</p>
<p>In a checkout, build it with <code>GPUBOARD_UI=force script/bootstrap</code>;
otherwise install a released package.</p></html>"""


def _files_in(folder: Path) -> dict[str, bytes]:
    inside = folder.resolve()
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.resolve().is_relative_to(inside)
    }


# The built page, half a megabyte: nothing else is looked for, so no path that a visitor writes is kept.
_FILES: Final = _files_in(UI)


def _index(
    request: AnyRequest, services: Services, base_path: str, base: str, status: int = HTTPStatus.OK
) -> Response[bytes]:
    body = _FILES.get("index.html")
    if body is None:
        return Response(_ABSENT.encode(), status_code=503, media_type=MediaType.HTML)
    # Relative, so that the page works under any path that a proxy gives it.
    page = body.replace(b'<base href="./" />', f'<base href="{base}" />'.encode())
    title = escape(preview.title_for(request, services))
    page = page.replace(b"<title>gpuboard</title>", f"<title>{title}</title>".encode())
    # Not kept: it is as long, and there are as many of them, as whoever asks likes.
    headers = _headers(_digest(page), "no-cache")
    if _is_known(request, headers):
        return Response(b"", status_code=304, media_type=MediaType.HTML, headers=headers)
    # Not part of the tag: no browser shows it, and it changes whenever a GPU does.
    page = page.replace(b"  </head>", preview.head(request, services, base_path) + b"  </head>")
    if may_compress(request):
        headers["content-encoding"] = "gzip"
        page = gzip.compress(page, mtime=0)
    return Response(page, status_code=status, media_type=MediaType.HTML, headers=headers)


@get(
    ["/", "/bookings", "/people", "/usage", "/sign-in", "/account", "/audit"],
    include_in_schema=False,
    sync_to_thread=False,
)
def page(request: AnyRequest, services: Services, base_path: str) -> Response[bytes]:
    """The page; which part of it is shown is the browser's business."""
    return _index(request, services, base_path, "./")


@get("/sign-in/link", include_in_schema=False, sync_to_thread=False)
def page_of_link(request: AnyRequest, services: Services, base_path: str) -> Response[bytes]:
    """The page, for a one-time link; its code stands behind a #, so it reaches no log."""
    return _index(request, services, base_path, "../")


# A path, not a word: the UUID of a MIG instance may hold slashes.
@get(
    ["/nodes/{_name:path}", "/gpus/{_name:path}", "/people/{_name:path}"],
    include_in_schema=False,
    sync_to_thread=False,
)
def page_below(request: AnyRequest, services: Services, base_path: str, _name: str) -> Response[bytes]:
    """The page, asked for below the top; how far below is seen as the browser sees it, before decoding."""
    # No GPU is called so; a node or a person may be, and people may look at it.
    is_people = request.url.path.startswith(("/nodes/", "/people/")) and _accepts_page(request)
    if _FOR_PROGRAMS.search(f"/{_name.lstrip('/')}") and not is_people:
        raise _not_found(request.url.path.lstrip("/"))
    return _index(request, services, base_path, _upwards(request))


def _upwards(request: AnyRequest) -> str:
    return "../" * (request.scope["raw_path"].count(b"/") - 1) or "./"


@get("/assets/{path:path}", include_in_schema=False, sync_to_thread=False)
def asset(request: AnyRequest, path: str) -> Response[bytes]:
    """One asset; its name carries its hash, so it may be kept for ever."""
    return _file(request, f"assets/{path.lstrip('/')}", "public, max-age=31536000, immutable")


@get("/{name:path}", include_in_schema=False, sync_to_thread=False)
def top_file(request: AnyRequest, services: Services, base_path: str, name: str) -> Response[bytes]:
    """A file beside the page, like its icon; to people the page says that there is nothing else."""
    path = name.lstrip("/")
    if path not in _FILES and _accepts_page(request):
        return _index(request, services, base_path, _upwards(request), HTTPStatus.NOT_FOUND)
    return _file(request, path, "no-cache")


def _file(request: AnyRequest, path: str, cache: str) -> Response[bytes]:
    body = _FILES.get(path)
    if body is None:
        raise _not_found(path)
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    return _answer(request, body, kind, cache)


def _accepts_page(request: AnyRequest) -> bool:
    return "text/html" in request.headers.get("accept", "")


def _not_found(path: str) -> NotFoundException:
    hint = "; if a proxy passes the board's path on as it is, name that path as base_path in the settings"
    return NotFoundException(f"There is nothing at /{path}{hint if _FOR_PROGRAMS.search(path) else ''}.")


def _answer(request: AnyRequest, body: bytes, kind: str, cache: str) -> Response[bytes]:
    """A file, or 304 for those who have it already."""
    headers = _headers(_digest_of_file(body), cache)
    if _is_known(request, headers):
        return Response(b"", status_code=304, media_type=kind, headers=headers)
    if may_compress(request) and len(body) >= COMPRESS_FROM_BYTES:
        headers["content-encoding"] = "gzip"
        body = _compress(body)
    return Response(body, media_type=kind, headers=headers)


def _headers(digest: str, cache: str) -> dict[str, str]:
    # Weak: the same file may travel compressed or not.
    return {"cache-control": cache, "etag": f'W/"{digest}"', "vary": "accept-encoding"}


def _is_known(request: AnyRequest, headers: dict[str, str]) -> bool:
    known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
    return headers["etag"] in known or "*" in known


@lru_cache(maxsize=256)
def _compress(body: bytes) -> bytes:
    # As small as can be: a file is compressed once, and every first visitor waits for it.
    return gzip.compress(body, compresslevel=9, mtime=0)


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:20]


_digest_of_file: Final = lru_cache(maxsize=256)(_digest)


ROUTER = Router(
    path="/",
    route_handlers=[page, page_of_link, page_below, asset, top_file],
    opt=needs("nothing", **{COMPRESSED: True}),
)
