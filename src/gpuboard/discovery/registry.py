"""All ways to find nodes, in one table; the only place that names them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct

from gpuboard.discovery.base import Discovery
from gpuboard.discovery.consul import ConsulDiscovery, ConsulOptions
from gpuboard.discovery.hosts_file import HostsFileDiscovery, HostsFileOptions
from gpuboard.discovery.ssh_config import SshConfigDiscovery, SshConfigOptions
from gpuboard.discovery.static import StaticDiscovery, StaticOptions
from gpuboard.model.errors import SettingsError
from gpuboard.settings.base import read_options


class Way(NamedTuple):
    """One way to find nodes, and the options that it owns."""

    options: type[Struct]
    make: type[Any]


# The key names the way: `discover = { consul = "…", service = "…" }`.
DISCOVERIES: Final[Mapping[str, Way]] = {
    "hosts": Way(StaticOptions, StaticDiscovery),
    "hosts_file": Way(HostsFileOptions, HostsFileDiscovery),
    "ssh_config": Way(SshConfigOptions, SshConfigDiscovery),
    "consul": Way(ConsulOptions, ConsulDiscovery),
}


def make(options: Mapping[str, Any], *, where: str = "discover") -> Discovery:
    """Make the discovery that a `discover` table describes.

    Raises:
        SettingsError: the table names no known way, several, or is wrong in itself.
    """
    named = [key for key in options if key in DISCOVERIES]
    if len(named) != 1:
        what = "several ways" if named else "no known way"
        raise SettingsError(f"{where}: {what} to find nodes; use one of {', '.join(DISCOVERIES)}")
    way = DISCOVERIES[named[0]]
    try:
        discovery: Discovery = way.make(read_options(way.options, options, where=where))
    except SettingsError as error:
        text = str(error)
        raise SettingsError(text if text.startswith(where) else f"{where}: {text}") from None
    return discovery


def make_for_source(hosts: Sequence[str], discover: Mapping[str, Any] | None, *, where: str) -> Discovery:
    """Make the discovery of a source, which has either `hosts` or `discover`.

    Raises:
        SettingsError: it has neither or both, or what it has is wrong.
    """
    if bool(hosts) == bool(discover):
        remedy = "give hosts = [...] or discover = { ... }; for both, write two [[source]] tables"
        raise SettingsError(f"{where}: {remedy}")
    return (
        make(discover, where=f"{where}.discover") if discover else make({"hosts": list(hosts)}, where=where)
    )
