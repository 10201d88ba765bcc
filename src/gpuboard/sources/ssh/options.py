"""What can be set about nodes over ssh."""

from typing import Annotated, Any, Final, Literal, Self

from msgspec import Meta, Struct

from gpuboard.settings.base import Duration, Port

MIN_INTERVAL_SECONDS: Final = 2.0
_LONGEST_RETRY_SECONDS: Final = 60.0
_RESTART_HUNG_SECONDS: Final = 60.0


class SshOptions(Struct, frozen=True, kw_only=True):
    """One `[[source]]` table of kind `ssh`; what is not set comes from the ssh config."""

    kind: Literal["ssh"] = "ssh"
    # Host names, addresses or aliases of the ssh config, with ranges: gpu[01-16].
    hosts: tuple[str, ...] = ()
    discover: dict[str, Any] | None = None
    # reported: a node that is listed by its address is called by the host name that it reports.
    names: Literal["listed", "reported"] = "listed"
    user: str | None = None
    key_file: str | None = None
    known_hosts: str | None = None
    # Default: the one that `discover` lists nodes from, else ~/.ssh/config, if there is one.
    ssh_config: str | None = None
    port: Port | None = None
    interval: Duration = Duration(5)
    # How long a node may take to answer, from the first packet to the first sample.
    timeout: Duration = Duration(10)
    # How many logins may be under way at the same time.
    max_connections: Annotated[int, Meta(ge=1, le=1000)] = 32

    @property
    def own_config(self) -> str | None:
        """The ssh config that the table names: aliases mean what they mean where they are listed."""
        return self.ssh_config or (self.discover or {}).get("ssh_config")

    def __post_init__(self) -> None:
        """Keep the pace that a driver can bear."""
        if self.interval < MIN_INTERVAL_SECONDS:
            raise ValueError(f"interval must be at least {MIN_INTERVAL_SECONDS:g}s")
        if self.timeout <= 0:
            raise ValueError("timeout must be more than 0s")


class Timing(Struct, frozen=True, kw_only=True):
    """When a node is asked, waited for and given up; in seconds."""

    interval: float
    timeout: float
    longest_retry: float = _LONGEST_RETRY_SECONDS
    restart_hung_after: float = _RESTART_HUNG_SECONDS

    @classmethod
    def of(cls, options: SshOptions) -> Self:
        """The pace that the options ask for."""
        return cls(interval=float(options.interval), timeout=float(options.timeout))

    @property
    def silence(self) -> float:
        """After how long without a word a session is frozen."""
        return 3 * self.interval

    @property
    def keepalive(self) -> float:
        """After how long a quiet connection is asked whether it lives; the third silence ends it."""
        # Longer than an interval: samples that come in time say it already.
        return max(1.5 * self.interval, self.timeout / 3)

    @property
    def patience(self) -> float:
        """After how long without an answer the driver is called hung."""
        return max(2 * self.interval, self.timeout)
