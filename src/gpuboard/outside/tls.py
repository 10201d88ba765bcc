"""Whom to believe when a server shows its certificate."""

import ssl
from pathlib import Path

from gpuboard.model.errors import SettingsError


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
