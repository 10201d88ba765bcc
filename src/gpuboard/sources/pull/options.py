"""What a pull source can be told in the settings."""

from typing import Any, Final, Literal

from msgspec import Struct

from gpuboard.model.units import format_duration
from gpuboard.settings.base import Duration, Port

# Where the nodes of each protocol listen.
PORTS: Final = {"gpuboard": 8043, "gpu-cluster-monitor": 7080, "seed4": 7080, "gpu-monitor": 8114}
MIN_INTERVAL_SECONDS: Final = 2.0
# Old nodes say local times without a zone: how old something is can only be told by asking before it changes.
MAX_OLD_INTERVAL_SECONDS: Final = 300.0


class PullOptions(Struct, frozen=True, kw_only=True):
    """One `[[source]]` table of kind `pull`."""

    kind: Literal["pull"] = "pull"
    hosts: tuple[str, ...] = ()
    discover: dict[str, Any] | None = None
    # reported: a node that is listed by its address is called by the host name that it reports.
    names: Literal["listed", "reported"] = "listed"
    # gpuboard: our own agents. gpu-cluster-monitor (once called seed4): its node_info.py, which answers
    # POST /get-status. gpu-monitor: the folder of CSV files that its nodes serve.
    protocol: Literal["gpuboard", "gpu-cluster-monitor", "gpu-monitor", "seed4"] = "gpuboard"
    # Where a host names none itself; by default where nodes of that protocol listen.
    port: Port | None = None
    interval: Duration = Duration(5)
    # For one whole question: looking up, connecting, asking, reading.
    timeout: Duration = Duration(10)
    # One token for all agents, or a folder with a file for each, named after its node.
    token_file: str | None = None
    token_folder: str | None = None
    password_file: str | None = None
    tls: bool = False
    ca_file: str | None = None
    # Send the token or password over unencrypted HTTP beyond this machine.
    allow_plaintext: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot have been meant."""
        if self.interval < MIN_INTERVAL_SECONDS:
            raise ValueError(f"interval must be at least {MIN_INTERVAL_SECONDS:g}s")
        if self.timeout <= 0:
            raise ValueError("timeout must be longer than nothing")
        named = next((host for host in self.hosts if "@" in host), None)
        if named is not None:
            raise ValueError(
                f"hosts: {named!r}: nobody logs in here; write {named.rpartition('@')[2]!r} alone"
            )
        if self.ca_file is not None and not self.tls:
            raise ValueError("ca_file has no effect without tls = true")
        if self.token_file is not None and self.token_folder is not None:
            raise ValueError("give token_file or token_folder; for both, write two [[source]] tables")
        self._check_secrets()
        if self.protocol != "gpuboard" and self.interval > MAX_OLD_INTERVAL_SECONDS:
            limit = format_duration(MAX_OLD_INTERVAL_SECONDS)
            raise ValueError(f'interval must be at most {limit} with protocol = "{self.protocol}"')

    def _check_secrets(self) -> None:
        has_token = (self.token_file or self.token_folder) is not None
        if self.protocol == "gpu-monitor" and (has_token or self.password_file is not None):
            raise ValueError('protocol = "gpu-monitor" knows no secret: its nodes tell everybody')
        if self.protocol != "gpuboard" and has_token:
            raise ValueError(f'protocol = "{self.protocol}" knows no token: use password_file')
        if self.protocol == "gpuboard" and self.password_file is not None:
            text = 'password_file belongs to protocol = "gpu-cluster-monitor"'
            raise ValueError(f"{text}: agents use token_file")

    @property
    def default_port(self) -> int:
        """The port of a host that names none itself."""
        return self.port or PORTS[self.protocol]
