"""The OpenAPI document, as JSON."""

from typing import Any

from litestar import Request
from litestar.openapi.plugins import JsonRenderPlugin


class Description(JsonRenderPlugin):
    """Hands out the document, with what the framework gets wrong put right."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Write the document."""
        return super().render(request, mended(openapi_schema))


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
