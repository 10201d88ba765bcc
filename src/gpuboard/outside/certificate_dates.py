"""From when until when a certificate is valid: others are refused, also where only a clock is wrong."""

import datetime as dt
import re
import ssl
from pathlib import Path
from typing import Final, NamedTuple

LOOK_SECONDS: Final = 5.0
# OpenSSL's numbers: not yet valid, expired.
_WRONG_TIME: Final = frozenset({9, 10})

_TIME: Final = rb"(?:\x17\x0d(\d{12})|\x18\x0f(\d{14}))Z"
_VALIDITY: Final = re.compile(rb"\x30." + _TIME + _TIME, re.DOTALL)
_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
# So long before its end it is said; of one that is made for days, as whoever renews by itself has it, later.
SOON: Final = dt.timedelta(days=14)
_SHARE: Final = 4
# Two digits of a year below this are of this century, as X.509 has it.
_CENTURY_ENDS: Final = b"50"


class Validity(NamedTuple):
    """From when until when."""

    begins: dt.datetime
    ends: dt.datetime

    def __str__(self) -> str:
        """For people on any machine."""
        return f"{show(self.begins)} to {show(self.ends)}"


class Expiry(NamedTuple):
    """What is wrong with a certificate's dates."""

    stage: str
    words: str


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
    validity = read_validity(certificate)
    return None if validity is None else str(validity)


def read_validity(certificate: bytes) -> Validity | None:
    """The same as moments."""
    found = _VALIDITY.search(certificate)
    if found is None:
        return None
    short_begin, begin, short_end, end = found.groups()
    try:
        return Validity(_read(short_begin, begin), _read(short_end, end))
    except ValueError:
        return None


def validity_of_file(path: str) -> Validity | None:
    """The dates of a server's own certificate in a PEM file; None if it does not tell."""
    certificate = first_certificate(path)
    return None if certificate is None else read_validity(certificate)


def first_certificate(path: str) -> bytes | None:
    """The first certificate of a PEM file, the server's own, as bytes; None if it cannot be read."""
    try:
        found = _PEM.search(Path(path).read_bytes())
        return None if found is None else ssl.PEM_cert_to_DER_cert(found[0].decode("ascii"))
    except (OSError, ValueError):
        return None


def find_expiry(validity: Validity | None, now: float) -> Expiry | None:
    """What is wrong with these dates at a moment, or will be soon; None: nothing, or they are not known."""
    if validity is None:
        return None
    begins, ends = validity
    moment = dt.datetime.fromtimestamp(now, dt.UTC)
    if moment >= ends:
        return Expiry("expired", f"expired on {show(ends)}, and whoever verifies it is refused; renew it")
    if moment < begins:
        return Expiry("early", f"is not valid before {show(begins)}; check this machine's clock")
    if ends - moment < min(SOON, (ends - begins) / _SHARE):
        return Expiry("soon", f"expires on {show(ends)}; renew it")
    return None


def _read(short: bytes | None, whole: bytes | None) -> dt.datetime:
    if short is not None:
        whole = (b"20" if short[:2] < _CENTURY_ENDS else b"19") + short
    return dt.datetime.strptime((whole or b"").decode(), "%Y%m%d%H%M%S").replace(tzinfo=dt.UTC)


def show(moment: dt.datetime) -> str:
    """A moment for people on any machine."""
    return moment.strftime("%Y-%m-%d %H:%M UTC")
