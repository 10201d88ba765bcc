"""The simplest discovery: a list in the settings."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from gpuboard.discovery.base import Found, Target
from gpuboard.discovery.hosts import read_targets
from gpuboard.model.errors import SettingsError


class StaticOptions(Struct, frozen=True, kw_only=True):
    """`hosts = ["gpu[01-16].lab.example", "old-box"]`."""

    hosts: tuple[str, ...]


class StaticDiscovery:
    """A list of hosts that stays as it is."""

    kind = "hosts"

    def __init__(self, options: StaticOptions) -> None:
        """Read the list.

        Raises:
            SettingsError: the list is empty or an entry is no host.
        """
        if not options.hosts:
            raise SettingsError('hosts is empty; name at least one, as in hosts = ["gpu[01-16]"]')
        try:
            self.targets: Sequence[Target] = read_targets(options.hosts)
        except ValueError as error:
            raise SettingsError(f"hosts: {error}") from None

    async def run(self, found: Found) -> None:
        """Hand over the list, then wait until cancelled."""
        found(self.targets)
        await asyncio.Event().wait()
