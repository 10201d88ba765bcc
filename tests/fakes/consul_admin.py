"""Who looks after a Consul in tests, the real one or its stand-in, and who watches us ask it."""

import asyncio

import httpx

from gpuboard.discovery.consul import ConsulDiscovery
from tests.fakes.consul import TOKEN, ConsulDouble
from tests.fakes.real_consul import RealConsul

Consul = ConsulDouble | RealConsul


class Admin:
    """Registers nodes as an administrator would."""

    def __init__(self, consul: Consul) -> None:
        self._url = consul.url
        self._trust = consul.trust()

    async def ask(
        self, method: str, path: str, *, token: str | None = TOKEN, json: object = None
    ) -> httpx.Response:
        """Send one request."""
        headers = {} if token is None else {"X-Consul-Token": token}
        async with httpx.AsyncClient(
            base_url=self._url, headers=headers, timeout=30, verify=self._trust
        ) as client:
            return await client.request(method, path, json=json)

    async def register(self, node: str, address: str, *, status: str = "passing", **service: object) -> None:
        """Put a node into the catalog, with its one service and that service's check."""
        body = {
            "Node": node,
            "Address": address,
            "Service": {"Service": "gpu-host", **service},
            "Check": {"CheckID": "alive", "Name": "alive", "ServiceID": "gpu-host", "Status": status},
        }
        (await self.ask("PUT", "/v1/catalog/register", json=body)).raise_for_status()

    async def deregister(self, node: str) -> None:
        """Take a node's service out again."""
        body = {"Node": node, "ServiceID": "gpu-host"}
        (await self.ask("PUT", "/v1/catalog/deregister", json=body)).raise_for_status()


async def trouble_is(discovery: ConsulDiscovery, code: str) -> None:
    """Wait until the discovery has this trouble."""
    async with asyncio.timeout(60):
        while discovery.trouble is None or discovery.trouble.code != code:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.02)
