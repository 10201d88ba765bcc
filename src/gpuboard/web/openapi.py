"""The API's description of itself; the live stream's messages included."""

from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Request
from litestar.openapi.plugins import JsonRenderPlugin

from gpuboard.wire.stream import Bye, ChangeMessage, Heartbeat, Snapshot
from gpuboard.wire.views import GpuRow, NodeRow

MESSAGES = (Snapshot, ChangeMessage, Heartbeat, Bye)
ROWS = (NodeRow, GpuRow)
_REFERENCE = "#/components/schemas/{name}"


class DocumentPlugin(JsonRenderPlugin):
    """Serves the document: mended, and with what OpenAPI's paths have no place for."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Write the document."""
        return super().render(request, whole_document(openapi_schema))


def whole_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """The framework's document, mended, with the stream's messages."""
    return with_stream(mended(dict(document)))


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
