"""The exit codes of every command."""

from typing import Final

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
CANNOT_TELL: Final = 3
REFUSED: Final = 4
# As shells have it: 128 and the number of SIGINT.
INTERRUPTED: Final = 130
# The same for SIGPIPE: nobody reads the output any more.
OUTPUT_LEFT: Final = 141
