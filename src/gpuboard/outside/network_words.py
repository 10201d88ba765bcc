"""Errors of the network in words that say what to look at."""

import errno
import ssl
from typing import Final

from gpuboard.model.errors import OutsideError
from gpuboard.model.units import format_duration

_UNREACHABLE: Final = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}
NO_TLS: Final = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}

# OpenSSL's numbers: self-signed, self-signed in the chain, no issuer at hand, no chain to one, bad signature.
_UNKNOWN_AUTHORITY: Final = {18, 19, 20, 21, 7}


def in_words(error: OSError, *, address: str, doing: str, deadline: float) -> OutsideError:
    """Say what went wrong with a server, for people."""
    if isinstance(error, ssl.SSLError):
        return _tls_words(error, address)
    if isinstance(error, TimeoutError) and not error.errno:
        text = f"{address} gave no answer within {_seconds(deadline)} (while {doing})"
        return OutsideError(text, code="timeout")
    if isinstance(error, ConnectionRefusedError):
        text = f"{address} refuses connections: is the service running and listening there?"
        return OutsideError(text, code="connection-refused")
    if isinstance(error, ConnectionError):
        return OutsideError(f"{address} broke the connection off (while {doing})", code="cut-off")
    code = "unreachable" if error.errno in _UNREACHABLE else "network"
    why = error.strerror or str(error) or type(error).__name__
    return OutsideError(f"{address} cannot be reached (while {doing}): {why}", code=code)


def _tls_words(error: ssl.SSLError, address: str) -> OutsideError:
    if isinstance(error, ssl.SSLCertVerificationError):
        text = f"the certificate of {address} is not trusted: {error.verify_message}"
        if error.verify_code in _UNKNOWN_AUTHORITY:
            remedy = "ca_file must hold the certificate of the authority that signed it"
            return OutsideError(f"{text}; {remedy}", code="certificate", remedy=remedy)
        return OutsideError(text, code="certificate")
    reason = error.reason or ""
    if reason in NO_TLS:
        return OutsideError(f"{address} does not speak TLS", code="tls")
    why = reason.replace("_", " ").lower() or str(error)
    return OutsideError(f"no TLS connection with {address}: {why}", code="tls")


def _seconds(deadline: float) -> str:
    return format_duration(deadline) if deadline >= 1 else f"{deadline:g}s"
