"""What a pull source can be told in the settings."""

from typing import Any, Final, Literal

from msgspec import Struct

from gpuboard.settings.base import Duration, Port

AGENT_PORT: Final = 8043
SEED4_PORT: Final = 7080
MIN_INTERVAL_SECONDS: Final = 2.0


class PullOptions(Struct, frozen=True, kw_only=True):
    """One `[[source]]` table of kind `pull`."""

    kind: Literal["pull"] = "pull"
    hosts: tuple[str, ...] = ()
    discover: dict[str, Any] | None = None
    # gpuboard: our own agents. seed4: the old `node_info.py` that answers POST /get-status.
    protocol: Literal["gpuboard", "seed4"] = "gpuboard"
    # Where a host names none itself; 8043, for seed4 7080.
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
        if self.ca_file is not None and not self.tls:
            raise ValueError("ca_file has no effect without tls = true")
        if self.token_file is not None and self.token_folder is not None:
            raise ValueError("give token_file or token_folder; for both, write two [[source]] tables")
        if self.protocol == "seed4" and (self.token_file or self.token_folder) is not None:
            raise ValueError('protocol = "seed4" knows no token: use password_file')
        if self.protocol == "gpuboard" and self.password_file is not None:
            raise ValueError('password_file belongs to protocol = "seed4": agents use token_file')

    @property
    def default_port(self) -> int:
        """The port of a host that names none itself."""
        return self.port or (AGENT_PORT if self.protocol == "gpuboard" else SEED4_PORT)
