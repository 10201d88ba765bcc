"""A real OpenID Connect provider, in a process of its own."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.board import free_port, wait_for

Claims = Mapping[str, object]


@contextlib.contextmanager
def running_provider(*people: Claims, log: Path) -> Iterator[str]:
    """Run a provider that knows these people, until the block ends; its issuer."""
    port = free_port()
    words = [word for one in people for word in ("--user-claims", json.dumps(one))]
    program = Path(sys.executable).parent / "oidc-provider-mock"
    with log.open("ab") as out:
        process = subprocess.Popen([program, "-p", str(port), *words], stdout=out, stderr=out)
    try:
        issuer = f"http://127.0.0.1:{port}"
        wait_for(f"{issuer}/.well-known/openid-configuration", process, log)
        yield issuer
    finally:
        process.terminate()
        process.wait(timeout=15)
