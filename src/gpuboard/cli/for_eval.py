"""What a shell evaluates: where nothing is to be set, `eval` fails too, so that `&&` does not go on."""

from collections.abc import Callable
from shlex import quote

from gpuboard.cli.exits import DONE, FAILED


def run_for_eval(run: Callable[[], int]) -> int:
    """Run what prints words for a shell; whatever keeps it from ending well lets their `eval` fail."""
    code = FAILED
    try:
        code = run()
    finally:
        if code != DONE:
            # An empty text is evaluated with success, beside what an earlier answer has set.
            print("false")
    return code


def set_variable(name: str, value: str) -> None:
    """Print what sets a variable, for the programs too that the shell starts."""
    # A shell will run what stands here, and others than we have chosen these values.
    print(f"export {name}={quote(value)}")
