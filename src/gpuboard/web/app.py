"""The web application: routes, errors, compression, and the guard around them."""

from typing import Any

from litestar import Litestar, Router
from litestar.config.compression import CompressionConfig
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ASGIApp

from gpuboard import __version__
from gpuboard.web import pages
from gpuboard.web.answers import COMPRESSED
from gpuboard.web.guard import Guard
from gpuboard.web.limits import MAX_BODY_BYTES
from gpuboard.web.needs import check_needs, needs
from gpuboard.web.openapi import PERSONAL, PERSONAL_WORDS, DocumentPlugin, whole_document
from gpuboard.web.problems import http_problem, no_text_problem, note_socket_error, unexpected_problem
from gpuboard.web.routes import (
    account,
    badge,
    bookings,
    familiar,
    feed,
    fleet,
    health,
    history,
    ingest,
    oidc,
    preview,
    session,
    stream,
    usage,
    vouch,
)
from gpuboard.web.services import Services
from gpuboard.web.unavailable import StorageUnavailable, storage_problem


def create_app(services: Services, *, base_path: str = "/") -> ASGIApp:
    """Make the application that serves these parts."""
    agents = services.agents
    recognise = agents.recognise if agents is not None else lambda _: None
    return Guard(
        _routes(services, base_path),
        services.access,
        base_path=base_path,
        recognise=recognise,
        people=services.people,
    )


def openapi_document() -> dict[str, Any]:
    """The API's description of itself, without a board."""
    app = _routes(None)
    return whole_document(app.openapi_schema.to_schema(), app)


def _routes(services: Services | None, base_path: str = "/") -> Litestar:
    return Litestar(
        route_handlers=[
            fleet.ROUTER,
            history.ROUTER,
            usage.ROUTER,
            *stream.ROUTES,
            *ingest.ROUTES,
            *session.ROUTES,
            *account.ROUTES,
            bookings.ROUTER,
            *feed.ROUTES,
            *vouch.ROUTES,
            *oidc.ROUTES,
            health.healthz,
            health.readyz,
            health.metrics,
            badge.badge,
            preview.preview,
            *familiar.ROUTES,
            pages.ROUTER,
        ],
        dependencies={
            "services": Provide(lambda: services, sync_to_thread=False),
            "base_path": Provide(lambda: base_path, sync_to_thread=False),
        },
        guards=[check_needs],
        exception_handlers={
            HTTPException: http_problem,
            StorageUnavailable: storage_problem,
            UnicodeDecodeError: no_text_problem,
            Exception: unexpected_problem,
        },
        compression_config=CompressionConfig(
            backend="gzip", minimum_size=1024, gzip_compress_level=4, exclude_opt_key=COMPRESSED
        ),
        openapi_config=OpenAPIConfig(
            title="gpuboard",
            version=__version__,
            description="Which GPU is free now, and who has the others.",
            path="/api",
            components=Components(
                security_schemes={
                    ingest.NODE_TOKEN: SecurityScheme(type="http", scheme="bearer"),
                    PERSONAL: SecurityScheme(type="http", scheme="bearer", description=PERSONAL_WORDS),
                }
            ),
            # JSON only: the usual viewers load scripts from elsewhere.
            openapi_router=Router(
                path="/api", route_handlers=[], opt=needs("nothing"), include_in_schema=False
            ),
            render_plugins=[DocumentPlugin(path="/openapi.json")],
        ),
        request_max_body_size=MAX_BODY_BYTES,
        after_exception=[note_socket_error],
        logging_config=None,
        signature_types=[Services],
    )
