"""The web application: routes, errors, compression, and the guard around them."""

from litestar import Litestar
from litestar.config.compression import CompressionConfig
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.types import ASGIApp

from gpuboard import __version__
from gpuboard.web import pages
from gpuboard.web.guard import Guard
from gpuboard.web.problems import http_problem, log_socket_error, unexpected_problem
from gpuboard.web.routes import badge, fleet, health, ingest, stream
from gpuboard.web.services import Services


def create_app(services: Services, *, base_path: str = "/") -> ASGIApp:
    """Make the application that serves these parts."""
    app = Litestar(
        route_handlers=[
            fleet.ROUTER,
            stream.stream,
            *ingest.ROUTES,
            health.healthz,
            health.readyz,
            health.metrics,
            badge.badge,
            pages.ROUTER,
        ],
        dependencies={"services": Provide(lambda: services, sync_to_thread=False)},
        exception_handlers={HTTPException: http_problem, Exception: unexpected_problem},
        compression_config=CompressionConfig(
            backend="gzip", minimum_size=1024, gzip_compress_level=4, exclude_opt_key=pages.COMPRESSED
        ),
        openapi_config=OpenAPIConfig(
            title="gpuboard",
            version=__version__,
            description="Which GPU is free now, and who has the others.",
            path="/api",
            # JSON only: the usual viewers load scripts from elsewhere.
            render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        ),
        request_max_body_size=256 * 1024,
        after_exception=[log_socket_error],
        logging_config=None,
        signature_types=[Services],
    )
    return Guard(app, services.access, base_path=base_path)
