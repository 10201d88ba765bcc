"""Claims from gpu-monitor's `comments.json`: per host and GPU a name, an end and a comment."""

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from gpuboard.bookings.dates import read_end
from gpuboard.model.errors import WireError
from gpuboard.model.node import spoken
from gpuboard.model.verdict import (
    ENDED_CLAIM_SECONDS,
    NO_NUMBER,
    SOMEBODY,
    SOMEBODY_WITHOUT_DATE,
    Claim,
    GpuPlace,
)
from gpuboard.wire.clean import clean_text, is_blank
from gpuboard.wire.json_keys import refuse_twice
from gpuboard.wire.text import decode_text

MAX_BYTES: Final = 1024 * 1024
_INDEX_DIGITS: Final = 4
_NAME_LENGTH: Final = 256
# Of a key that is no number, what is told of it in a sentence.
_KEY_LENGTH: Final = 40
_COMMENT_LENGTH: Final = 4096
_KEYS: Final = frozenset({"name", "date", "comment"})


class Comments(NamedTuple):
    """What the file says now."""

    # By node, as it is called there, and GPU number, or NO_NUMBER; one whose end cannot be read has no end.
    claims: dict[GpuPlace, Claim]
    # The entries that cannot be read, or not wholly: which, and why.
    unread: list[str]
    # How many there are, without those that are empty.
    entries: int = 0


def parse_comments(
    data: bytes, now: float, *, written_at: float | None = None, zone: tzinfo | None = None
) -> Comments:
    """Read the claims that hold now or have ended a while ago, by node and GPU number.

    Dates without a zone of their own are in this one (None: this machine's). A duration in a date's
    place counts from when the file was written (from now where that is unknown).

    Raises:
        WireError: the file is no such file or not whole; the claims of before should stay.
    """
    found = Comments({}, [])
    number = 0
    for host, entries in _hosts(data).items():
        # Whether it is a node's name, or what the admin calls one, the book of claims knows.
        node = spoken(_text(host, _NAME_LENGTH))
        for key, entry in _entries(entries):
            place = f"{_text(host, _NAME_LENGTH)}:{_text(key, _NAME_LENGTH)}"
            if _is_empty(entry):
                continue
            number += 1
            index = _index(key)
            if index is None or not node:
                found.unread.append(f"{place} names no GPU of a node")
            if not node:
                continue
            claim = _claim(entry, now if written_at is None else written_at, zone)
            if index is None:
                claim = _of_no_gpu(claim, _text(key, _KEY_LENGTH))
            if claim.until is not None and claim.until <= now - ENDED_CLAIM_SECONDS:
                continue
            missing = [*([] if _name(entry) else ["name"]), *([] if claim.until is not None else ["end"])]
            if missing and index is not None:
                found.unread.append(f"{place} has no {' and no '.join(missing)} that can be read")
            _keep_longest(found.claims, (node, NO_NUMBER if index is None else index), claim)
    return found._replace(entries=number)


def _hosts(data: bytes) -> Mapping[str, object]:
    if len(data) > MAX_BYTES:
        raise WireError(f"comments of {len(data)} bytes refused: at most {MAX_BYTES} are allowed")
    text = decode_text(data)
    try:
        hosts: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
        raise WireError(f"not whole JSON: {str(error) or type(error).__name__}") from None
    refuse_twice(text)
    # PHP writes an empty object as a list.
    if hosts == []:
        return {}
    if not isinstance(hosts, dict):
        raise WireError(f"an object of hosts was expected, not {type(hosts).__name__}")
    return hosts


def _entries(found: object) -> Iterator[tuple[str, object]]:
    """One host's entries by GPU number: PHP writes a list when the numbers run from 0 without gaps."""
    if isinstance(found, list):
        yield from ((str(number), entry) for number, entry in enumerate(found))
    elif isinstance(found, dict):
        yield from found.items()
    else:
        # No number at all: it names no GPU, and is said.
        yield "", found


def _index(key: str) -> int | None:
    return int(key) if key.isascii() and key.isdigit() and len(key) <= _INDEX_DIGITS else None


def _is_empty(entry: object) -> bool:
    """Deleting a booking only empties its entry; one with an empty name or end is none on the other board.

    An entry of another shape says something as soon as anything stands in it.
    """
    if not isinstance(entry, dict):
        return not entry
    if entry.keys() >= {"name", "date"}:
        return _is_blank(entry["name"]) or _is_blank(entry["date"])
    return all(map(_is_blank, entry.values()))


def _is_blank(value: object) -> bool:
    return value is None or value in ([], {}) or (isinstance(value, str) and not value.strip())


def _name(entry: object) -> str:
    return _text(entry.get("name"), _NAME_LENGTH) if isinstance(entry, dict) else ""


def _claim(entry: object, written_at: float, zone: tzinfo | None) -> Claim:
    """One claim; of what is not sure (who, until when) its comment says what stands there."""
    if not isinstance(entry, dict):
        return Claim(who=SOMEBODY_WITHOUT_DATE, comment=_text(str(entry), _NAME_LENGTH) or None)
    who = _name(entry)
    date = _text(entry.get("date"), _NAME_LENGTH)
    until = read_end(date, written_at=written_at, zone=zone) if isinstance(entry.get("date"), str) else None
    said = [] if until is not None else _unsure(who, date)
    if not who or until is None:
        said.extend(f"{key}: {value}." for key, value in entry.items() if key not in _KEYS)
    comment = clean_text(" ".join([*said, _text(entry.get("comment"), _COMMENT_LENGTH)]))[:_COMMENT_LENGTH]
    whose = SOMEBODY_WITHOUT_DATE if until is None else who or SOMEBODY
    return Claim(who=whose, until=until, comment=comment.strip() or None)


def _of_no_gpu(claim: Claim, key: str) -> Claim:
    """A claim whose number cannot be read: nobody has any GPU by it, so the name is told with its comment."""
    why = f"{key!r} is no GPU's number" if key else "unreadable number"
    named = () if claim.who in (SOMEBODY, SOMEBODY_WITHOUT_DATE) else (f"name: {claim.who}.",)
    comment = " ".join([*named, *([claim.comment] if claim.comment else [])])[:_COMMENT_LENGTH]
    return replace(claim, who=f"{SOMEBODY} ({why})", comment=comment or None)


def _unsure(who: str, date: str) -> list[str]:
    return [*([f"name: {who}."] if who else []), *([f"End not known: {date}."] if date else [])]


def _text(value: object, length: int) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    text = clean_text(str(value).strip()[:length])
    return "" if is_blank(text) else text


def _keep_longest(claims: dict[GpuPlace, Claim], place: GpuPlace, claim: Claim) -> None:
    """Of several entries for one GPU the one that holds longest counts: an ended one hides no other."""
    before = claims.get(place)
    if before is None or claim.until is None or (before.until is not None and claim.until > before.until):
        claims[place] = claim
