"""When a file says that its sample was taken, by a clock of which it does not tell the zone."""

import re
from datetime import UTC, datetime
from typing import Final

# So far west lives nobody: by UTC a local time is at most so much later than it reads.
WEST_SECONDS: Final = 12 * 3600.0
# Nor so far east: it is at most so much earlier.
EAST_SECONDS: Final = 14 * 3600.0

# `gpustat --json`, `nvidia-smi -q -x`, and the head line of gpustat.
_ISO: Final = re.compile(rb'"query_time"\s*:\s*"([^"]{1,40})"')
_WORDS: Final = re.compile(
    rb"(?:<timestamp>|\s)((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\b"
)
_LOOK: Final = 4096


def local_time(data: bytes) -> float | None:
    """The local time of a sample, read as if it were UTC: good to be compared with others of its node."""
    iso = _ISO.search(data)
    try:
        if iso is not None:
            moment = datetime.fromisoformat(iso[1].decode())
            return None if moment.tzinfo is not None else moment.replace(tzinfo=UTC).timestamp()
        words = _WORDS.search(data[:_LOOK])
        if words is None:
            return None
        return datetime.strptime(words[1].decode(), "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None
