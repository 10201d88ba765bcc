"""Where the board is, and whether it is safe to send it a secret."""

from pathlib import Path
from urllib.parse import urlsplit

from gpuboard.model.address import USUAL_PORTS, is_loopback, place_of
from gpuboard.model.errors import UsageError
from gpuboard.outside.board_words import WantedBoard
from gpuboard.outside.tls import trusting


class BoardAddress:
    """A board's URL, checked; secrets travel in clear only on this machine, or when that was asked for."""

    def __init__(self, url: str, *, ca_file: Path | None = None, allow_plaintext: bool = False) -> None:
        """Check the URL.

        Raises:
            UsageError: it is no URL of a board, or secrets would travel in clear.
            SettingsError: the CA file cannot be used.
        """
        scheme, host, port, self._path = _split(url)
        self.host = host
        self.port = port
        self.is_secure = scheme == "https"
        if not self.is_secure and not is_loopback(host) and not allow_plaintext:
            raise UsageError(
                f"{url} is not encrypted, and the token would travel in clear; use https:// "
                "(the board's --tls-certificate, or a proxy before it), or, on a network you trust, "
                "--allow-plaintext"
            )
        self.tls = trusting(ca_file) if self.is_secure else None
        self.server = WantedBoard(host=host, port=port, is_secure=self.is_secure, ca_file=ca_file)

    def __str__(self) -> str:
        return f"{'https' if self.is_secure else 'http'}://{self.place}{self._path}"

    @property
    def place(self) -> str:
        """Host and port, for people and for Host headers."""
        return place_of("https" if self.is_secure else "http", self.host, self.port)

    def path(self, route: str) -> str:
        """The path of one of the board's routes, below whatever path the board has."""
        return f"{self._path}/api/v1/{route}"

    def websocket(self, route: str) -> str:
        """The URL of one of the board's WebSockets."""
        return f"{'wss' if self.is_secure else 'ws'}://{self.place}{self.path(route)}"


def _split(url: str) -> tuple[str, str, int, str]:
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        port = parts.port or USUAL_PORTS.get(parts.scheme, 0)
    except ValueError:
        port = 0
    if not port or not parts.hostname or parts.query or parts.fragment or parts.username or parts.password:
        raise UsageError(f"{url!r} is no board's address; write it like https://gpus.lab.example:8042")
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")
