"""Host lists as people write them: `gpu[01-16].lab.example` is sixteen hosts. Pure."""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

MAX_HOSTS: Final = 10_000

# Brackets with a colon hold an IPv6 address, those without hold numbers.
_BRACKETS: Final = re.compile(r"\[([^\[\]:]*)\]")
_PART: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expand(pattern: str, *, limit: int = MAX_HOSTS) -> list[str]:
    """Write out one host pattern: `gpu[1,3-5]` is `gpu1`, `gpu3`, `gpu4`, `gpu5`.

    Leading zeros keep their width: `[08-10]` is 08, 09, 10. Several brackets combine, the last fastest.

    Raises:
        ValueError: the pattern makes no sense or means more hosts than the limit.
    """
    pieces = _BRACKETS.split(pattern)
    texts, ranges = pieces[::2], pieces[1::2]
    if any("[" in text or "]" in text for text in texts if ":" not in text):
        raise ValueError(f"{pattern!r}: a bracket is not closed, or not opened")
    choices: list[list[str]] = []
    total = 1
    for inside in ranges:
        choices.append(list(_numbers(inside, pattern, limit)))
        total *= len(choices[-1])
        if total > limit:
            raise ValueError(f"{pattern!r} means more than {limit} hosts")
    return [_join(texts, numbers) for numbers in product(*choices)]


def expand_all(patterns: Iterable[str], *, limit: int = MAX_HOSTS) -> list[str]:
    """Write out several patterns, in order.

    Raises:
        ValueError: a pattern makes no sense, or all together mean more hosts than the limit.
    """
    hosts: list[str] = []
    for pattern in patterns:
        hosts += expand(pattern, limit=limit)
        if len(hosts) > limit:
            raise ValueError(f"the list has more than {limit} hosts")
    return hosts


def _numbers(inside: str, pattern: str, limit: int) -> Iterator[str]:
    for part in inside.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{pattern!r}: {part!r} is no number or range; write [01-16] or [1,3-5]")
        first, last = match[1], match[2] or match[1]
        if int(last) < int(first):
            raise ValueError(f"{pattern!r}: the range {part.strip()} runs backwards; write [{last}-{first}]")
        if int(last) - int(first) >= limit:
            raise ValueError(f"{pattern!r} means more than {limit} hosts")
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))


def _join(texts: list[str], numbers: tuple[str, ...]) -> str:
    return texts[0] + "".join(number + text for number, text in zip(numbers, texts[1:], strict=True))
