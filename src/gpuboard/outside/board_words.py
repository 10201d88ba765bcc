"""Why a board cannot be talked to, with the remedy; the same words for agents and for whoever asks one."""

import datetime as dt
import http.client
import re
import socket
import ssl
from pathlib import Path
from typing import Final

from msgspec import Struct

from gpuboard.model.errors import SettingsError
from gpuboard.outside import certificate_dates
from gpuboard.outside.network_words import NO_TLS
from gpuboard.outside.tls import trusting

LOOK_SECONDS: Final = 5.0
# OpenSSL's numbers: another host name, another address.
_WRONG_NAME: Final = frozenset({62, 64})
_NAMES_SHOWN: Final = 5
_HARMLESS: Final = re.compile(r"[\w.*:-]{1,253}", re.ASCII)

TRY_HTTP: Final = "it does not speak TLS; if that is meant, write http:// instead of https://"
TRY_HTTPS: Final = (
    "it ends the connection without an answer; if it speaks TLS, write https:// instead of http://"
)

NO_BOARD_HERE: Final = (
    "there is no board; if a proxy has it under a path, the URL must have that too, "
    "as in https://gpus.lab.example/gpus/"
)


class WantedBoard(Struct, frozen=True, kw_only=True):
    """Whom somebody wanted to talk to, and how."""

    host: str
    port: int
    is_secure: bool
    ca_file: Path | None = None


def remedy_for(error: Exception, server: WantedBoard) -> str | None:
    """What is wrong with TLS, or with there being none, and what to do; None for all other errors."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_words(error, server)
    if isinstance(error, ssl.SSLError):
        return TRY_HTTP if error.reason in NO_TLS else f"no TLS connection: {error.reason or error}"
    if not server.is_secure and isinstance(error, ConnectionResetError | http.client.BadStatusLine):
        return TRY_HTTPS
    return None


def _certificate_words(error: ssl.SSLCertVerificationError, server: WantedBoard) -> str:
    if certificate_dates.is_about_time(error):
        dates = certificate_dates.look_up(server.host, server.port) or "at another time"
        now = certificate_dates.show(dt.datetime.now(dt.UTC))
        return (
            f"its certificate is valid {dates}, and this machine's clock says {now}; "
            "set the clock (timedatectl), or renew the board's certificate if the clock is right"
        )
    if error.verify_code in _WRONG_NAME:
        names = ", ".join(_names(server)) or "see: openssl x509 -noout -ext subjectAltName"
        return f"its certificate is not for {server.host}; use a name that is in the certificate: {names}"
    remedy = "if the board has its own authority, name it with --ca-file"
    if server.ca_file is not None:
        remedy = f"{server.ca_file} is not the authority that signed it; give that one with --ca-file"
    return f"its certificate cannot be trusted: {error.verify_message}; {remedy}"


def _names(server: WantedBoard) -> list[str]:
    """The names in a certificate whose authority is believed; none if the server does not tell."""
    try:
        context = trusting(server.ca_file)
        context.check_hostname = False
        with (
            socket.create_connection((server.host, server.port), timeout=LOOK_SECONDS) as line,
            context.wrap_socket(line) as secure,
        ):
            shown = (secure.getpeercert() or {}).get("subjectAltName", ())
    except (OSError, ValueError, SettingsError):
        return []
    names = [str(entry[1]) for entry in shown]
    return [name for name in names if _HARMLESS.fullmatch(name)][:_NAMES_SHOWN]
