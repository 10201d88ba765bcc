"""The built page and its assets."""

import mimetypes
from functools import lru_cache
from pathlib import Path
from typing import Final

from litestar import MediaType, Response, Router, get
from litestar.exceptions import NotFoundException

UI: Final = Path(__file__).parent / "ui"
_ABSENT: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>gpuboard: page not built</title>
<h1>The page has not been built</h1>
<p>The board runs and its API answers at <a href="api/v1/fleet">api/v1/fleet</a>,
but this installation has no page.</p>
<p>In a checkout, build it with <code>GPUBOARD_UI=force script/bootstrap</code>;
otherwise install a released package.</p></html>"""


@lru_cache(maxsize=256)
def _read(path: str) -> bytes | None:
    """One file of the built page; None for anything that is not a file below its folder."""
    try:
        target = (UI / path).resolve()
        is_ours = target.is_relative_to(UI.resolve()) and target.is_file()
        return target.read_bytes() if is_ours else None
    except (OSError, ValueError):
        # Too long for a file system, or with a NUL in it.
        return None


def _index(base: str) -> Response[bytes]:
    body = _read("index.html")
    if body is None:
        return Response(_ABSENT.encode(), status_code=503, media_type=MediaType.HTML)
    # Relative, so that the page works under any path that a proxy gives it.
    page = body.replace(b'<base href="./" />', f'<base href="{base}" />'.encode())
    return Response(page, media_type=MediaType.HTML, headers={"cache-control": "no-cache"})


@get(["/", "/people"], include_in_schema=False, sync_to_thread=False)
def page() -> Response[bytes]:
    """The page; which part of it is shown is the browser's business."""
    return _index("./")


@get(["/nodes/{_name:str}", "/gpus/{_name:str}"], include_in_schema=False, sync_to_thread=False)
def page_below(_name: str) -> Response[bytes]:
    """The page, asked for one level below the top."""
    return _index("../")


@get("/assets/{path:path}", include_in_schema=False, sync_to_thread=False)
def asset(path: str) -> Response[bytes]:
    """One asset; its name carries its hash, so it may be kept for ever."""
    return _file(f"assets/{path.lstrip('/')}", "public, max-age=31536000, immutable")


@get("/{name:str}", include_in_schema=False, sync_to_thread=False)
def top_file(name: str) -> Response[bytes]:
    """A file beside the page, like its icon."""
    return _file(name, "no-cache")


def _file(path: str, cache: str) -> Response[bytes]:
    body = _read(path)
    if body is None:
        raise NotFoundException(f"There is nothing at /{path}.")
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    return Response(body, media_type=kind, headers={"cache-control": cache})


ROUTER = Router(path="/", route_handlers=[page, page_below, asset, top_file])
