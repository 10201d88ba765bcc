"""From when until when a server's certificate is valid: a node whose clock is wrong cannot believe it."""

import datetime as dt
import re
import ssl
from typing import Final

LOOK_SECONDS: Final = 5.0
# OpenSSL's numbers: not yet valid, expired.
_WRONG_TIME: Final = frozenset({9, 10})

_TIME: Final = rb"(?:\x17\x0d(\d{12})|\x18\x0f(\d{14}))Z"
_VALIDITY: Final = re.compile(rb"\x30." + _TIME + _TIME, re.DOTALL)
# Two digits of a year below this are of this century, as X.509 has it.
_CENTURY_ENDS: Final = b"50"


def is_about_time(error: ssl.SSLCertVerificationError) -> bool:
    """Whether a certificate is refused because of the date."""
    return error.verify_code in _WRONG_TIME


def look_up(host: str, port: int) -> str | None:
    """The dates of a server's certificate for people, believed or not; None if it does not tell."""
    try:
        pem = ssl.get_server_certificate((host, port), timeout=LOOK_SECONDS)
        return read_dates(ssl.PEM_cert_to_DER_cert(pem))
    except (OSError, ValueError):
        return None


def read_dates(certificate: bytes) -> str | None:
    """The dates of a certificate as bytes; nothing else of it is read, and nothing of it is believed."""
    found = _VALIDITY.search(certificate)
    if found is None:
        return None
    short_begin, begin, short_end, end = found.groups()
    try:
        return f"{show(_read(short_begin, begin))} to {show(_read(short_end, end))}"
    except ValueError:
        return None


def _read(short: bytes | None, whole: bytes | None) -> dt.datetime:
    if short is not None:
        whole = (b"20" if short[:2] < _CENTURY_ENDS else b"19") + short
    return dt.datetime.strptime((whole or b"").decode(), "%Y%m%d%H%M%S").replace(tzinfo=dt.UTC)


def show(moment: dt.datetime) -> str:
    """A moment for people on any machine."""
    return moment.strftime("%Y-%m-%d %H:%M UTC")
