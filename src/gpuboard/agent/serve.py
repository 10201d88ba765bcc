"""The listening agent: `GET /report`, `/metrics` and `/healthz` behind a token."""

import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import psutil
from msgspec import Struct

from gpuboard.agent.certificate import ShownCertificate
from gpuboard.agent.connections import REQUEST_SECONDS, Connections, ServedConnection
from gpuboard.agent.outlet import TimedReport
from gpuboard.metrics.node import dcgm_families, node_families
from gpuboard.metrics.own import own_families
from gpuboard.metrics.text import CONTENT_TYPE, write
from gpuboard.model.errors import UsageError
from gpuboard.wire.report import encode_report

log = logging.getLogger(__name__)

Reply = tuple[int, str, bytes]


class ListenOptions(Struct, frozen=True, kw_only=True):
    """Where to listen, and how."""

    host: str
    port: int
    token: str
    tls_certificate: str | None = None
    tls_key: str | None = None
    dcgm_names: bool = False


class ListenOutlet:
    """Answers a board, Prometheus and health checks with the newest sample."""

    def __init__(self, options: ListenOptions, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        self._newest: TimedReport | None = None
        self._server: _Server | None = None
        self._myself = psutil.Process()

    @property
    def port(self) -> int:
        """The port that is really used; asked for 0, the system chose one."""
        port: int = self._server.server_address[1] if self._server is not None else self._options.port
        return port

    @property
    def connections(self) -> tuple[ServedConnection, ...]:
        """Who is connected now."""
        return self._server.connections.open if self._server is not None else ()

    def start(self) -> None:
        """Begin to listen.

        Raises:
            UsageError: the address is taken or not ours, or the certificate cannot be used.
        """
        options = self._options
        certificate = (
            None
            if options.tls_certificate is None
            else ShownCertificate(options.tls_certificate, options.tls_key)
        )
        try:
            self._server = _Server((options.host, options.port), self.answer, options.token, certificate)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {options.host}:{options.port}: {error.strerror or error}"
            ) from None
        threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="gpuboard-listen", daemon=True
        ).start()

    def offer(self, sample: TimedReport) -> None:
        """Keep the newest sample."""
        self._newest = sample

    def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def answer(self, path: str, accept: str) -> Reply:
        """The answer to a request that has shown the token."""
        if path == "/healthz":
            return 200, "text/plain", b"ok\n"
        if path not in ("/report", "/metrics"):
            return 404, "text/plain", b"this agent answers /report, /metrics and /healthz\n"
        sample = self._newest
        if sample is None:
            return 503, "text/plain", b"the first sample is not there yet\n"
        if path == "/metrics":
            return 200, CONTENT_TYPE, self._metrics(sample).encode()
        report = sample.aged(self._clock())
        if "application/msgpack" in accept:
            return 200, "application/msgpack", encode_report(report, "msgpack")
        return 200, "application/json", encode_report(report)

    def _metrics(self, sample: TimedReport) -> str:
        age = sample.aged(self._clock()).age_seconds
        families = [*node_families(sample.report, age_seconds=age), *own_families(self._myself)]
        if self._options.dcgm_names:
            families.extend(dcgm_families(sample.report))
        return write(families)


class _Server(HTTPServer):
    """A thread per connection, and not too many of them."""

    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        answer: Callable[[str, str], Reply],
        token: str,
        certificate: "ShownCertificate | None",
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.answer = answer
        self.expected = f"Bearer {token}".encode()
        self._certificate = certificate
        self.connections = Connections()
        # Each connection gets its handler in its own thread, below.
        super().__init__(address, BaseHTTPRequestHandler)

    def service_actions(self) -> None:
        """Between connections, a few times a second."""
        self.connections.cut_late()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - its base's signature
        """Give the connection a thread; one too many is closed at once."""
        connection = self.connections.enter(request, client_address[0])
        if connection is None:
            self.shutdown_request(request)
        else:
            threading.Thread(
                target=self._serve, args=(connection, client_address), name="gpuboard-answer", daemon=True
            ).start()

    def _serve(self, connection: ServedConnection, client_address: Any) -> None:  # noqa: ANN401 - the same
        """Serve one connection; the TLS handshake too happens here, not where others wait."""
        line = connection.line
        try:
            # Its deadline ends it in time; this is for a server that no longer looks.
            line.settimeout(2 * REQUEST_SECONDS)
            if self._certificate is not None:
                self._certificate.look()
                line = self._certificate.context.wrap_socket(
                    line, server_side=True, do_handshake_on_connect=False
                )
                connection.line = line
                line.do_handshake()
            _Handler(line, client_address, self, connection)
        except OSError as error:
            log.debug("connection failed: peer=%s reason=%s", client_address[0], error)
        except Exception:
            log.exception("request failed: peer=%s", client_address[0])
        finally:
            self.connections.leave(connection)
            self.shutdown_request(line)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "gpuboard-agent"
    sys_version = ""
    server: _Server

    def __init__(
        self, line: socket.socket, address: tuple[str, int], server: "_Server", connection: ServedConnection
    ) -> None:
        self._own = connection
        super().__init__(line, address, server)

    def handle_one_request(self) -> None:
        """Answer one request within its time."""
        super().handle_one_request()
        self.server.connections.begin_anew(self._own)

    def do_GET(self) -> None:
        """Answer a request that shows the token; any other learns nothing."""
        shown = self.headers.get("Authorization", "").encode("latin-1", "replace")
        if not secrets.compare_digest(shown, self.server.expected):
            self._send(401, "text/plain", b"a token is needed: Authorization: Bearer TOKEN\n")
            return
        self._own.has_token = True
        self._send(*self.server.answer(self.path.partition("?")[0], self.headers.get("Accept", "")))

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if status == 401:  # noqa: PLR2004 - not authorised
            self.send_header("WWW-Authenticate", "Bearer")
            # What was sent after this is nobody's business.
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - its base's signature
        """Requests are not logged; they come every few seconds for ever."""
