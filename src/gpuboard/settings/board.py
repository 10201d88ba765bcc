"""The board's own settings."""

from typing import Final, Literal

from msgspec import Struct

DEFAULT_LISTEN: Final = "127.0.0.1:8042"


class BoardSettings(Struct, frozen=True, kw_only=True):
    """How a board runs."""

    listen: str = DEFAULT_LISTEN
    demo_nodes: int = 0
    tick_seconds: float = 1.0
    # None: names on loopback, counts beyond.
    anonymous: Literal["nothing", "counts", "names"] | None = None
    hostnames: tuple[str, ...] = ()
    # Empty: systemd's state directory, else ~/.local/state/gpuboard.
    state_dir: str = ""
    # Both or neither: PEM files; with them the board speaks TLS.
    tls_certificate: str = ""
    tls_key: str = ""
