"""The nodes of a Consul service, followed by blocking queries."""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Annotated, Final
from urllib.parse import quote, urlencode, urlsplit

from msgspec import Meta, Struct
from msgspec.structs import replace

from gpuboard.discovery.base import Found, Target
from gpuboard.discovery.consul_answer import ConnectBy, read_catalog, read_health
from gpuboard.discovery.grace import Grace
from gpuboard.model.errors import GpuboardError, OutsideError, SettingsError
from gpuboard.model.ranges import MAX_HOSTS
from gpuboard.model.verdict import Reason
from gpuboard.outside.answer import HttpAnswer
from gpuboard.outside.backoff import Backoff
from gpuboard.outside.http import HttpServer, request_bytes
from gpuboard.outside.resolve import Resolver
from gpuboard.outside.secrets import secret_in, tls_by
from gpuboard.settings.base import Duration

log: Final = logging.getLogger(__name__)

# An entry with its checks is about 2 KB; this is room for thousands.
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
# Consul may add a sixteenth of the wait; the rest is for the way.
_SLACK_SECONDS: Final = 10.0
# A service that changes all the time is asked at most this often.
_PAUSE_SECONDS: Final = 1.0
# Something between us and Consul swallows its index, so that queries do not wait for news.
_POLL_SECONDS: Final = 15.0
_RETRY_SECONDS: Final = 1.0
_RETRY_LIMIT_SECONDS: Final = 60.0
_OK: Final = 200
_FORBIDDEN: Final = {401, 403}


class ConsulOptions(Struct, frozen=True, kw_only=True):
    """`discover = { consul = "http://127.0.0.1:8500", service = "gpu-host" }`."""

    consul: str
    service: str
    token_file: str | None = None
    ca_file: str | None = None
    # Send the token over unencrypted HTTP beyond this machine.
    allow_plaintext: bool = False
    datacenter: str | None = None
    tag: str | None = None
    # Only instances whose health checks pass; otherwise all that the catalog knows.
    passing: bool = True
    # Connect to the registered address, or to the node's name (which a certificate may need).
    connect: ConnectBy = "address"
    # Whether the port that the service registered is the one to ask.
    ports: bool = True
    # Whether nodes may have addresses of this machine itself, or link-local ones.
    allow_loopback: bool = False
    # More nodes than these are not taken.
    max_nodes: Annotated[int, Meta(ge=1, le=MAX_HOSTS)] = 2000
    # How long a node that is no longer named, or a list that became empty, is kept.
    grace: Duration = Duration(600)
    # How long one blocking query waits for news.
    wait: Duration = Duration(60)


class ConsulDiscovery:
    """The nodes that offer a service; an outage or a sudden empty answer does not wipe the list."""

    kind = "consul"

    def __init__(self, options: ConsulOptions, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Check the address.

        Raises:
            SettingsError: the address is no http or https URL.
        """
        self._options = options
        self.name = options.service
        self._clock = clock
        try:
            url = urlsplit(options.consul)
            port = url.port
        except ValueError as error:
            raise SettingsError(f"consul = {options.consul!r}: {error}") from None
        if url.scheme not in {"http", "https"} or not url.hostname:
            raise SettingsError(f"consul = {options.consul!r} is no address; write http://127.0.0.1:8500")
        self._host, self._port = url.hostname, port or (443 if url.scheme == "https" else 8500)
        self._path = f"{url.path.rstrip('/')}/v1/{'health' if options.passing else 'catalog'}/service/"
        self._tls = tls_by(options.ca_file) if url.scheme == "https" else None
        self._token = None if options.token_file is None else secret_in(options.token_file)
        self._read = read_health if options.passing else read_catalog
        self._grace = Grace(options.grace, limit=options.max_nodes)
        self._index = 0
        self._has_answered = False
        self.trouble: Reason | None = None

    async def run(self, found: Found) -> None:
        """Hand over the list at the start and after every change, until cancelled."""
        backoff = Backoff(_RETRY_SECONDS, limit=_RETRY_LIMIT_SECONDS)
        server: HttpServer | None = None
        last: tuple[Target, ...] | None = None
        try:
            while True:
                try:
                    server = server or await self._server()
                    targets = await self._query(server)
                    backoff.succeeded()
                    pause = self._pause()
                except GpuboardError as error:
                    targets, pause = self._outage(error), backoff.failed()
                    server = _close(server)
                # Before its first answer nobody knows whether it names any.
                if targets != last and (targets or self._has_answered):
                    last = targets
                    found(targets)
                await asyncio.sleep(pause)
        finally:
            _close(server)

    def _pause(self) -> float:
        usual = _PAUSE_SECONDS if self._index else _POLL_SECONDS
        return usual * (0.5 + random.random())  # noqa: S311 - spreads load, hides nothing

    async def _server(self) -> HttpServer:
        return HttpServer(
            self._host,
            self._port,
            resolver=Resolver(),
            tls=None if self._tls is None else await self._tls.value(),
            only_private=self._token is not None and not self._options.allow_plaintext,
        )

    async def _query(self, server: HttpServer) -> tuple[Target, ...]:
        """Wait for news and return the whole list."""
        # While a list is running out, its end must not be slept through.
        wait = min(self._options.wait, max(1.0, self._options.grace / 2))
        answer = await server.ask(
            await self._request(server, wait),
            deadline=wait * 17 / 16 + _SLACK_SECONDS,
            limit=MAX_ANSWER_BYTES,
        )
        if answer.status != _OK:
            raise self._refusal(answer)
        targets = self._read(answer.body, connect=self._options.connect, ports=self._options.ports)
        self._note_index(answer)
        self._has_answered = True
        if self._options.allow_loopback:
            targets = tuple(replace(target, may_be_here=True) for target in targets)
        if (tag := self._options.tag) is not None:
            # All of them have it: it tells none apart.
            targets = tuple(replace(one, groups=tuple(g for g in one.groups if g != tag)) for one in targets)
        kept = self._grace.update(targets, self._clock())
        self._note(self._crowd() if targets else _doubt(answer))
        return kept

    def _crowd(self) -> Reason | None:
        if not self._grace.left_out:
            return None
        text = f"Consul names more than {self._options.max_nodes} nodes; {self._grace.left_out} are left out"
        return Reason(code="too-many", text=f"{text}: see who registers {self.name}, or raise max_nodes")

    async def _request(self, server: HttpServer, wait: float) -> bytes:
        asked: dict[str, str | int] = (
            {"index": self._index, "wait": f"{max(1, round(wait))}s"} if self._index else {}
        )
        optional = {"dc": self._options.datacenter, "tag": self._options.tag}
        asked |= {name: value for name, value in optional.items() if value is not None}
        if self._options.passing:
            asked["passing"] = 1
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["X-Consul-Token"] = await self._token.value()
        path = f"{self._path}{quote(self._options.service, safe='')}?{urlencode(asked)}"
        return request_bytes("GET", path, host=server.address, headers=headers)

    def _note_index(self, answer: HttpAnswer) -> None:
        index = answer.headers.get("x-consul-index", "")
        new = int(index) if index.isdecimal() and len(index) < 20 else 0  # noqa: PLR2004 - 64 bits
        # Consul's rule: an index that goes back is a restored server; start again.
        self._index = new if new >= self._index else 0

    def _refusal(self, answer: HttpAnswer) -> OutsideError:
        if answer.status in _FORBIDDEN:
            if self._token is not None:
                self._token.forget()
            text = "Consul refuses the token" if self._token is not None else "Consul wants a token"
            return OutsideError(
                f"{text} (HTTP {answer.status}): check token_file and its policy", code="consul-refused"
            )
        return OutsideError(f"Consul answered HTTP {answer.status}", code="consul-error")

    def _outage(self, error: GpuboardError) -> tuple[Target, ...]:
        self._index = 0
        code = error.code if isinstance(error, OutsideError) else "consul-error"
        self._note(Reason(code=code, text=str(error)))
        return self._grace.hold(self._clock())

    def _note(self, trouble: Reason | None) -> None:
        """Keep the trouble for those who ask, and log it when it is news."""
        before, self.trouble = self.trouble, trouble
        if trouble is not None and (before is None or before.text != trouble.text):
            log.warning("consul: service=%s reason=%s", self._options.service, trouble.text)
        elif trouble is None and before is not None:
            log.info("consul: service=%s is well again", self._options.service)


def _close(server: HttpServer | None) -> HttpServer | None:
    if server is not None:
        server.close()
    return None


def _doubt(answer: HttpAnswer) -> Reason:
    """An empty answer is no error for Consul, but it rarely means that all nodes are gone."""
    if answer.headers.get("x-consul-results-filtered-by-acls") == "true":
        return Reason(code="consul-filtered", text="Consul hides all nodes from this token: check its policy")
    text = "Consul names no node: is the service name right, and may the token read it?"
    return Reason(code="consul-empty", text=text)
