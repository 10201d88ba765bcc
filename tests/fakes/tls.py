"""A certificate authority of our own and certificates that it signs, for tests."""

import ssl
import subprocess
from pathlib import Path

from tests.parts import require

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class OwnCa:
    """A CA in a folder; its file is what an admin would write as `ca_file`."""

    def __init__(self, folder: Path) -> None:
        require("openssl")
        self._folder = folder
        self.file = folder / "ca.pem"
        self._key = folder / "ca.key"
        out = ("-keyout", self._key, "-out", self.file)
        _openssl(
            "req", "-x509", *_NEW_KEY, "-subj", "/CN=ca", "-addext", "keyUsage=critical,keyCertSign", *out
        )

    def server(self, names: str = "DNS:localhost,IP:127.0.0.1") -> ssl.SSLContext:
        """The TLS settings of a server whose certificate this CA has signed."""
        key, request, certificate = (self._folder / f"server.{kind}" for kind in ("key", "csr", "pem"))
        extensions = self._folder / "extensions"
        extensions.write_text(f"subjectAltName={names}\nauthorityKeyIdentifier=keyid\n")
        _openssl("req", *_NEW_KEY, "-subj", "/CN=server", "-keyout", key, "-out", request)
        signer = ("-CA", self.file, "-CAkey", self._key, "-CAcreateserial", "-extfile", extensions)
        _openssl("x509", "-req", "-in", request, *signer, "-out", certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)
