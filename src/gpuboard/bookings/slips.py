"""Bookings of what is not there, a node or a GPU: they hold nothing, and whoever wrote them counts on it."""

import logging
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct

from gpuboard.model.verdict import GpuPlace, Reason
from gpuboard.wire.clean import clean_text

log: Final = logging.getLogger(__name__)

# So many are told, and so many letters of each name.
MAX_NAMED: Final = 5
NAME_LENGTH: Final = 64
# What a booking names that is not there: a host, or a GPU of one.
Booked = TypeVar("Booked", str, GpuPlace)


class SlipWords(Struct, frozen=True, kw_only=True):
    """How one kind of slip is called and told; the braces stand for which they are."""

    kind: str
    code: str
    text: str
    new: str
    mended: str


HOSTS: Final = SlipWords(
    kind="booked_hosts",
    code="booked-hosts",
    text="something is booked on what no source knows: {}; correct the name, or add the node",
    new="bookings of no node: %s; they hold nothing until a node has this name",
    mended="all bookings are of known nodes again",
)
GPUS: Final = SlipWords(
    kind="booked_gpus",
    code="booked-gpus",
    text="something is booked on GPUs that their nodes do not have: {}; correct the number",
    new="bookings of no GPU: %s; they hold nothing until the node has a GPU of this number",
    mended="all bookings are of GPUs that are there again",
)


class Slips(Generic[Booked]):
    """Says which they are, once; what is mended, or has come meanwhile, is said no longer."""

    name = ""

    def __init__(self, words: SlipWords, ask: Callable[[], Sequence[Booked]]) -> None:
        """Take what knows the bookings that hold nothing, by what they name."""
        self.kind = words.kind
        self._words = words
        self._ask: Callable[[], Sequence[Booked]] = ask
        self._told: tuple[Booked, ...] = ()
        # None: all that is booked is there.
        self.trouble: Reason | None = None

    def look(self, _: object = None) -> None:
        """See which there are now, with every tick; the log hears of it when they have changed."""
        slips = tuple(self._ask())
        if slips == self._told:
            return
        new = sorted(set(slips).difference(self._told))
        self._told = slips
        text = self._words.text.format(listed(slips))
        self.trouble = Reason(code=self._words.code, text=text) if slips else None
        if new:
            log.warning(self._words.new, listed(new))
        elif not slips:
            log.info(self._words.mended)


def listed(slips: Sequence[str] | Sequence[GpuPlace]) -> str:
    """The first of them, as they may be shown, and how many more there are."""
    more = f", and {len(slips) - MAX_NAMED} more" if len(slips) > MAX_NAMED else ""
    return ", ".join(map(_shown, slips[:MAX_NAMED])) + more


def _shown(booked: str | GpuPlace) -> str:
    if isinstance(booked, str):
        return clean_text(booked)[:NAME_LENGTH]
    node, number = booked
    return f"GPU {number} of {clean_text(node)[:NAME_LENGTH]}"
