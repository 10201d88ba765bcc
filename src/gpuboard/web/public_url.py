"""The board's address as whoever asks knows it."""

from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection

from gpuboard.model.address import place_of
from gpuboard.web.access import AccessPolicy

AnyConnection = ASGIConnection[Any, Any, Any, Any]


def public_url(request: AnyConnection, access: AccessPolicy, base_path: str) -> str | None:
    """Where the board is for the one who asks, with a slash at its end; None if the Host cannot be in it."""
    try:
        host = urlsplit(f"//{request.headers.get('host', '')}")
        name, port = host.hostname, host.port
    except ValueError:
        return None
    if not name:
        return None
    prefix = f"/{base_path.strip('/')}/" if base_path.strip("/") else "/"
    scheme = _scheme(request, access)
    return f"{scheme}://{place_of(scheme, name, port)}{prefix}"


def _scheme(request: AnyConnection, access: AccessPolicy) -> str:
    """How the reader reached us; a proxy's word counts only if we trust the proxy."""
    peer = request.client.host if request.client else None
    said = request.headers.get("x-forwarded-proto")
    if said in ("http", "https") and access.is_proxy(peer):
        return str(said)
    return str(request.scope["scheme"])
