"""Claims from gpu-monitor's `comments.json`: per host and GPU a name, an end and a comment."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec

from gpuboard.model.errors import WireError
from gpuboard.model.node import is_node_name
from gpuboard.model.verdict import Claim
from gpuboard.wire.clean import clean_text
from gpuboard.wire.json_keys import refuse_twice
from gpuboard.wire.text import decode_text

MAX_BYTES: Final = 1024 * 1024
_INDEX_DIGITS: Final = 4
_NAME_LENGTH: Final = 256
_COMMENT_LENGTH: Final = 4096
# What the form accepts besides a date: `2d`, `5h`, `1d 12h`.
_DURATION: Final = re.compile(r"(?:(\d{1,5})d)? ?(?:(\d{1,6})h)?", re.IGNORECASE)


def parse_comments(
    data: bytes, now: float, *, written_at: float | None = None
) -> dict[tuple[str, int], Claim]:
    """Read the claims that hold now, by node and GPU number; ended ones are left out.

    A duration in a date's place counts from when the file was written (from now where that is unknown).

    Raises:
        WireError: the file is no such file or not whole; the claims of before should stay.
    """
    if len(data) > MAX_BYTES:
        raise WireError(f"comments of {len(data)} bytes refused: at most {MAX_BYTES} are allowed")
    text = decode_text(data)
    try:
        hosts = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
        raise WireError(f"not whole JSON: {str(error) or type(error).__name__}") from None
    refuse_twice(text)
    # PHP writes an empty object as a list.
    if hosts == []:
        return {}
    if not isinstance(hosts, dict):
        raise WireError(f"an object of hosts was expected, not {type(hosts).__name__}")
    claims = {}
    for host, entries in hosts.items():
        node = host.strip().lower()
        for index, entry in _entries(entries) if is_node_name(node) else ():
            claim = _claim(entry, now if written_at is None else written_at)
            if claim is not None and claim.until is not None and claim.until > now:
                claims[node, index] = claim
    return claims


def _entries(found: object) -> Iterator[tuple[int, object]]:
    """One host's entries by GPU number: PHP writes a list when the numbers run from 0 without gaps."""
    if isinstance(found, list):
        yield from enumerate(found[: 10**_INDEX_DIGITS])
    elif isinstance(found, dict):
        for key, entry in found.items():
            if key.isascii() and key.isdigit() and len(key) <= _INDEX_DIGITS:
                yield int(key), entry


def _claim(entry: object, written_at: float) -> Claim | None:
    """One claim; an entry without name or end is none, as deleting only empties it."""
    if not isinstance(entry, dict):
        return None
    who = _text(entry.get("name"), _NAME_LENGTH)
    until = _end(_text(entry.get("date"), _NAME_LENGTH), written_at)
    if not who or until is None:
        return None
    return Claim(who=who, until=until, comment=_text(entry.get("comment"), _COMMENT_LENGTH) or None)


def _text(value: object, length: int) -> str:
    return clean_text(value.strip()[:length]) if isinstance(value, str) else ""


def _end(text: str, written_at: float) -> float | None:
    """When a claim ends; a date without zone is UTC, as the PHP page reads it."""
    if not text:
        return None
    duration = _DURATION.fullmatch(text)
    if duration is not None:
        return written_at + int(duration[1] or 0) * 86400 + int(duration[2] or 0) * 3600
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
