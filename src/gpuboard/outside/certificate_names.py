"""Whom a server's certificate is for: under any other name it is refused."""

from gpuboard.model.address import plain_address
from gpuboard.outside.certificate_dates import first_certificate

# How a certificate writes an alternative name: which kind, how long it is, and the name itself.
_DNS_NAME, _ADDRESS = 0x82, 0x87
# So long a name may be that is written so.
_LONGEST = 127


def is_for(path: str, host: str) -> bool:
    """Whether the server's own certificate in a PEM file names this host or address."""
    certificate, address = first_certificate(path) or b"", plain_address(host)
    if address is not None:
        return _written(_ADDRESS, address.packed) in certificate
    certificate = certificate.lower()
    name, _, domain = host.lower().encode().partition(b".")
    names = (b".".join((one, domain)) if domain else one for one in (name, b"*"))
    return any(_written(_DNS_NAME, one).lower() in certificate for one in names if len(one) <= _LONGEST)


def _written(kind: int, name: bytes) -> bytes:
    return bytes((kind, len(name))) + name
