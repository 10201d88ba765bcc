"""Whom to believe when a server shows its certificate, and what a server of ours shows."""

import ssl
from pathlib import Path

from gpuboard.model.errors import SettingsError
from gpuboard.outside.account import own_account


def trusting(ca_file: Path | None) -> ssl.SSLContext:
    """Verify servers by this authority alone, or by those that the system trusts; reads a file.

    Raises:
        SettingsError: the file cannot be used.
    """
    if ca_file is None:
        return ssl.create_default_context()
    try:
        # Only that authority then: a board with its own needs no other.
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError:
        raise SettingsError(f"the CA file {ca_file} holds no certificate in PEM form") from None
    except OSError as error:
        raise SettingsError(f"the CA file {ca_file} cannot be read: {error.strerror}") from None


def own_certificate(certificate: str, key: str, *, names: tuple[str, str]) -> ssl.SSLContext:
    """What a server of ours shows: certificate and key, which must fit each other; reads both.

    Raises:
        SettingsError: one cannot be read, or does not fit the other; says which, by the settings' names.
    """
    # Asked first: OpenSSL does not say which of the two it could not read.
    for name, file in zip(names, (certificate, key), strict=True):
        try:
            with Path(file).open("rb"):
                pass
        except OSError as error:
            raise SettingsError(
                f"{name} {file}: {error.strerror}; it must be possible to read it as {own_account()}"
            ) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        raise SettingsError(
            f"{names[0]} {certificate} and {names[1]} {key} do not fit: {error.reason or error}; "
            "both must be PEM files, of the same pair, the key without a passphrase"
        ) from None
    return context


def _no_password() -> bytes:
    # Without this the program would stop and ask on the terminal.
    return b""
