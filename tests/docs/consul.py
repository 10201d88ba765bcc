"""A real Consul on a machine on which a guide is followed."""

import contextlib
import json
from collections.abc import Iterator

from tests.docs.machine import Machine
from tests.parts import unpack
from tests.started import eventually


@contextlib.contextmanager
def running_consul(machine: Machine, node: str = "gpu01", **settings: object) -> Iterator[None]:
    """A Consul that leads itself, of which the machine is a member under this name."""
    machine.run(f"ln -s {unpack('consul')} /usr/local/bin/consul")
    machine.write("/etc/consul.d/consul.json", json.dumps({"disable_update_check": True, **settings}))
    start = f"consul agent -dev -node={node} -bind=10.20.30.1 -client=0.0.0.0 -config-dir=/etc/consul.d"
    with machine.running(start):
        eventually(lambda: "Synced node info" in machine.logs())
        yield
