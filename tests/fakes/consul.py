"""A stand-in for Consul: the part of its HTTP contract that we use, tested side by side with the real one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.http import Request, answer_bytes, raw_server

TOKEN = "7c9f2a54-1111-4222-8333-944445555666"
_MAX_WAIT = 600.0


class ConsulDouble:
    """Registrations in memory, blocking queries, and a token without which nothing is shown."""

    def __init__(self) -> None:
        self.port = 0
        self._index = 1
        self._entries: dict[tuple[str, str], dict[str, Any]] = {}
        self._changed = asyncio.Event()
        self._running = AsyncExitStack()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def trust(self) -> bool:
        """There is no certificate to believe."""
        return True

    async def start(self) -> None:
        """Listen, on the same port as before, having forgotten everything."""
        self._entries.clear()
        self._index = 1
        server = await self._running.enter_async_context(raw_server(self._handle, port=self.port))
        self.port = server.port

    async def stop(self) -> None:
        """Be gone."""
        await self._running.aclose()

    async def _handle(self, request: Request, writer: asyncio.StreamWriter) -> None:
        url = urlsplit(request.path)
        asked = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        token = request.headers.get("x-consul-token")
        if token not in {None, TOKEN}:
            writer.write(answer_bytes(b"ACL not found", status="403 Forbidden", media_type="text/plain"))
            return
        if request.method == "PUT":
            self._change(url.path, json.loads(request.body))
            writer.write(answer_bytes(b"true"))
            return
        await self._wait_for_news(asked)
        entries = self._answer(url.path, asked) if token == TOKEN else []
        extra = f"X-Consul-Index: {self._index}\r\n"
        writer.write(answer_bytes(json.dumps(entries).encode(), extra=extra))

    def _change(self, path: str, wanted: dict[str, Any]) -> None:
        service = wanted.get("Service", {}).get("Service") or wanted.get("ServiceID", "")
        if path == "/v1/catalog/register":
            self._entries[wanted["Node"], service] = wanted
        else:
            self._entries.pop((wanted["Node"], service), None)
        self._index += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def _wait_for_news(self, asked: dict[str, str]) -> None:
        if int(asked.get("index", "0")) < self._index:
            return
        seconds = min(_MAX_WAIT, float(asked.get("wait", "300s").removesuffix("s")))
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return

    def _answer(self, path: str, asked: dict[str, str]) -> list[dict[str, Any]]:
        kind, name = path.split("/")[2], unquote(path.split("/")[4])
        found = [entry for (_, service), entry in sorted(self._entries.items()) if service == name]
        if kind == "catalog":
            return [_catalog(entry) for entry in found]
        return [_health(entry) for entry in found if "passing" not in asked or _passes(entry)]


def _passes(entry: dict[str, Any]) -> bool:
    return bool(entry["Check"]["Status"] == "passing")


def _catalog(entry: dict[str, Any]) -> dict[str, Any]:
    service = entry["Service"]
    return {
        "Node": entry["Node"],
        "Address": entry["Address"],
        "ServiceName": service["Service"],
        "ServiceAddress": service.get("Address", ""),
        "ServicePort": service.get("Port", 0),
        "ServiceTags": service.get("Tags", []),
        "ServiceMeta": service.get("Meta", {}),
    }


def _health(entry: dict[str, Any]) -> dict[str, Any]:
    service = entry["Service"]
    return {
        "Node": {"Node": entry["Node"], "Address": entry["Address"]},
        "Service": {
            "Service": service["Service"],
            "Address": service.get("Address", ""),
            "Port": service.get("Port", 0),
            "Tags": service.get("Tags", []),
            "Meta": service.get("Meta", {}),
        },
        "Checks": [entry["Check"]],
    }


@asynccontextmanager
async def consul_double() -> AsyncIterator[ConsulDouble]:
    """A stand-in that is running."""
    double = ConsulDouble()
    await double.start()
    try:
        yield double
    finally:
        await double.stop()
