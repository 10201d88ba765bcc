"""The board's certificate, checked before anything starts."""

import os
import pwd
import ssl
from pathlib import Path

from gpuboard.model.errors import SettingsError
from gpuboard.settings.board import BoardTable


def check_tls(settings: BoardTable) -> None:
    """Make sure that certificate and key can be used together, if they were given.

    Raises:
        SettingsError: one is missing, cannot be read, or does not fit the other.
    """
    certificate, key = settings.tls_certificate, settings.tls_key
    if not certificate and not key:
        return
    if not certificate or not key:
        raise SettingsError("TLS needs both: [board] tls_certificate and tls_key")
    for name, file in (("tls_certificate", certificate), ("tls_key", key)):
        _check_readable(name, file)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        raise SettingsError(
            f"[board] tls_certificate {certificate} and tls_key {key} do not fit: {error.reason or error}; "
            "both must be PEM files, of the same pair, the key without a passphrase"
        ) from None


def _check_readable(name: str, file: str) -> None:
    # Asked first: OpenSSL does not say which of the two it could not read.
    try:
        with Path(file).open("rb"):
            pass
    except OSError as error:
        raise SettingsError(
            f"[board] {name} {file}: {error.strerror}; the board must be able to read it as {_user()}"
        ) from None


def _user() -> str:
    try:
        return f"user {pwd.getpwuid(os.geteuid()).pw_name}"
    except KeyError:
        return f"uid {os.geteuid()}"


def _no_password() -> bytes:
    # Without this the program would stop and ask on the terminal.
    return b""
