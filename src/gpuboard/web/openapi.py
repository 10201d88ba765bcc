"""The API's description of itself; the live stream's messages included."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from litestar import Litestar, Request
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.routes import HTTPRoute

from gpuboard.web.needs import NEEDS
from gpuboard.wire.stream import Bye, ChangeMessage, Heartbeat, Snapshot
from gpuboard.wire.views import GpuRow, NodeRow

MESSAGES = (Snapshot, ChangeMessage, Heartbeat, Bye)
ROWS = (NodeRow, GpuRow)
_REFERENCE = "#/components/schemas/{name}"
# The name of the scheme, and what there is to know of it.
PERSONAL: Final = "personal_token"
PERSONAL_WORDS: Final = (
    "`Authorization: Bearer gpb_…`: made on the page, by `gpuboard token add` or by `gpuboard login`. Its "
    "scopes say what it is good for: read, book, metrics, admin. A browser sends its cookies instead, and "
    "with every change the X-CSRF-Token of GET /api/v1/session."
)
_MUST: Final[list[dict[str, list[str]]]] = [{PERSONAL: []}]
# Depending on what the board shows to visitors.
_MAY: Final[list[dict[str, list[str]]]] = [{PERSONAL: []}, {}]
_SECURITY: Final[dict[object, list[dict[str, list[str]]]]] = {
    **dict.fromkeys(("counts", "metrics", "bookings"), _MAY),
    **dict.fromkeys(("person", "book", "admin"), _MUST),
}


class DocumentPlugin(JsonRenderPlugin):
    """Serves the document: mended, and with what OpenAPI's paths have no place for."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Write the document."""
        return super().render(request, whole_document(openapi_schema, request.app))


def whole_document(document: Mapping[str, Any], app: Litestar) -> dict[str, Any]:
    """The framework's document, mended, with the stream's messages and who may use what."""
    return with_stream(with_security(mended(dict(document)), app))


def with_security(document: dict[str, Any], app: Litestar) -> dict[str, Any]:
    """Say of each operation whether a personal token is needed or shows more, as its route declares."""
    for route in app.routes:
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            shown = _SECURITY.get(handler.opt.get(NEEDS))
            for method in handler.http_methods if shown else ():
                operation = document["paths"].get(route.path_format, {}).get(method.lower())
                if operation is not None:
                    operation["security"] = shown
    return document


def with_stream(document: Mapping[str, Any]) -> dict[str, Any]:
    """Add the messages of the WebSocket; what a server sends by itself, OpenAPI calls a webhook."""
    references, schemas = msgspec.json.schema_components([*MESSAGES, *ROWS], ref_template=_REFERENCE)
    components = dict(document.get("components", {}))
    components["schemas"] = {**schemas, **components.get("schemas", {})}
    stream = {
        "summary": "The live stream",
        "description": (
            "Sent over the WebSocket GET /api/v1/stream, as text or, when large, as gzip in a binary "
            "frame: one snapshot, then what changed. `nodes` and `gpus` are columns: every field of "
            "NodeRow and GpuRow as an array. To resume after a break: ?stream=ID&after=SEQUENCE."
        ),
        "requestBody": {
            "content": {"application/json": {"schema": {"oneOf": list(references[: len(MESSAGES)])}}}
        },
        "responses": {"default": {"description": "The viewer says nothing."}},
    }
    return {**document, "components": components, "webhooks": {"stream": {"post": stream}}}


def mended(part: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same document, where `tuple[X, ...]` with limits holds X alone.

    The framework takes the dots for a second type that may be anything, and nothing is exactly one of both.
    """
    if isinstance(part, list):
        return [mended(each) for each in part]
    if not isinstance(part, dict):
        return part
    whole = {key: mended(value) for key, value in part.items()}
    match whole.get("items"):
        case {"oneOf": [item, {} as anything]} if not anything:
            whole["items"] = item
    return whole
