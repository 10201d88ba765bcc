"""The one fixed command that runs on a node: it only reads, and prints what it read in frames."""

import shlex
from importlib.resources import files
from typing import Final

# The name under which the command shows in a node's list of processes.
NAME: Final = "gpuboard-sample"
_PARTS: Final = ("main.awk", "host.awk", "driver.awk", "processes.awk", "program.awk")
_HERE: Final = files(__package__) / "remote"


def _without_comments(part: str) -> str:
    lines = (line.strip() for line in (_HERE / part).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def _whole() -> str:
    program = "\n".join(_without_comments(part) for part in _PARTS)
    return _without_comments("sample.sh").replace("@program@", f"\n{program}\n") + "\n"


# As it is sent to a node's `sh` on stdin. Read when we start: later, no event loop waits for a file.
SCRIPT: Final = _whole()


def loop_command(interval: float) -> str:
    """What a node's shell is asked to run: one sample per interval, or its changes, until nobody listens."""
    return f"sh -s {NAME} {interval:g} changes"


def once_command() -> str:
    """What a node's shell is asked to run for a single sample."""
    return f"sh -s {NAME}"


def forced_command() -> str:
    """The options for a line of authorized_keys that allow a key this one command and nothing else.

    The node then runs its own copy of the script, whatever the board asks for.
    """
    one_line = SCRIPT.replace("\\\n", " ").replace("\n", " ")
    command = f"sh -c {shlex.quote(one_line)} sh {NAME}"
    # Inside of its quotes, authorized_keys knows one escape only.
    quoted = command.replace('"', '\\"')
    return f'restrict,command="{quoted}"'
