"""The board's certificate, checked before anything starts."""

from gpuboard.model.errors import SettingsError
from gpuboard.outside.tls import own_certificate
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
    own_certificate(certificate, key, names=("[board] tls_certificate", "[board] tls_key"))
