"""Which card is in which place of a node, remembered while a card is missing. Pure.

A place is a number on a node, as people say it and book it. A driver numbers only what it sees: when GPU 3
falls off the bus, GPU 4 is called 3. So a card keeps its number as long as any card of its node is missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.report import MAX_GPUS, Bytes, Count, GpuReading, UnixTime, Word

# So many cards of one node are remembered; of more, those that have been missing for longest are forgotten.
MAX_CARDS: Final = MAX_GPUS
# For so long it is said that a card has been replaced.
REPLACED_SECONDS: Final = 24 * 3600.0


class Card(Struct, frozen=True, kw_only=True, gc=False):
    """One card as the board remembers it."""

    uuid: Word
    vendor: Word = "nvidia"
    model: Word | None = None
    memory_total_bytes: Bytes | None = None
    missing_since: UnixTime | None = None
    # The card that was in its place before, and since when it no longer is.
    replaced_uuid: Word | None = None
    replaced_at: UnixTime | None = None

    def reading(self, number: int) -> GpuReading:
        """What is known of a card that says nothing itself."""
        return GpuReading(
            uuid=self.uuid,
            index=number,
            vendor=self.vendor,
            model=self.model,
            memory_total_bytes=self.memory_total_bytes,
        )


class Places(Struct, frozen=True, kw_only=True, gc=False):
    """The places of one node: a number and the card that is in it, or was until it went missing."""

    cards: dict[Count, Card] = {}
    # Where GPUs have no UUIDs, how many there were; a hole cannot be told from a shift then.
    unnamed: Count = 0
    fewer_since: UnixTime | None = None

    def missing(self) -> dict[int, Card]:
        """The places whose card is missing."""
        return {number: card for number, card in self.cards.items() if card.missing_since is not None}

    def replaced(self) -> dict[int, Card]:
        """The places whose card has replaced another lately."""
        return {number: card for number, card in self.cards.items() if card.replaced_at is not None}


NOWHERE: Final = Places()


def seat(before: Places, gpus: Sequence[GpuReading], *, now: float, forget_after: float) -> Places:
    """The places of a node after a report; what has been missing for so long is forgotten."""
    whole = [gpu for gpu in gpus if gpu.mig_parent_uuid is None]
    named = [gpu for gpu in whole if not gpu.uuid_is_synthetic]
    known = _remembered(before.cards, now, forget_after)
    if not named:
        return _without_names(before, known, len(whole), now, forget_after)
    spoken_for = {gpu.index for gpu in whole if gpu.uuid_is_synthetic}
    cards = _seat_named(known, named, now)
    here = {gpu.uuid for gpu in named}
    # Nothing in common with what was there before: another machine, of which nothing is missing.
    absent = (
        card for card in known.items() if card[1].uuid not in here and not here.isdisjoint(_uuids(known))
    )
    for number, card in absent:
        if number not in cards:
            # A GPU without a UUID in this place may well be this card: a lost one often cannot say who it is.
            since = None if number in spoken_for else card.missing_since or now
            cards[number] = replace(card, missing_since=since)
    return Places(cards=_bounded(cards))


def numbers(cards: Mapping[int, Card], named: Iterable[GpuReading]) -> dict[str, int]:
    """The place of each GPU: the driver's number, unless a card is missing or two have the same."""
    by_driver = {gpu.uuid: gpu.index for gpu in named}
    known = {card.uuid: number for number, card in cards.items()}
    is_whole = known.keys() <= by_driver.keys() or known.keys().isdisjoint(by_driver)
    if is_whole and len(set(by_driver.values())) == len(by_driver):
        return by_driver
    placed = {uuid: known[uuid] for uuid in by_driver if uuid in known}
    taken = set(placed.values())
    free = (number for number in count() if number not in taken and number not in cards)
    shift = 0
    for uuid, index in sorted(by_driver.items(), key=lambda item: (item[1], item[0] not in known)):
        if uuid in known:
            # Cards that are missing before this one have moved it down by so many.
            shift = placed[uuid] - index
            continue
        guess = index + shift
        placed[uuid] = guess if guess >= 0 and guess not in taken else next(free)
        taken.add(placed[uuid])
    return placed


def _seat_named(known: Mapping[int, Card], named: list[GpuReading], now: float) -> dict[int, Card]:
    here = {gpu.uuid for gpu in named}
    earlier = {card.uuid: card for card in known.values()}
    placed = numbers(known, named)
    cards = {}
    for gpu in named:
        number = placed[gpu.uuid]
        card = Card(
            uuid=gpu.uuid, vendor=gpu.vendor, model=gpu.model, memory_total_bytes=gpu.memory_total_bytes
        )
        mine, there = earlier.get(gpu.uuid), known.get(number)
        if mine is not None:
            card = replace(card, replaced_uuid=mine.replaced_uuid, replaced_at=mine.replaced_at)
        elif there is not None and there.uuid not in here:
            card = replace(card, replaced_uuid=there.uuid, replaced_at=now)
        cards[number] = card
    return cards


def _without_names(
    before: Places, known: dict[int, Card], here: int, now: float, forget_after: float
) -> Places:
    """The places where nobody says which card is which, or no GPU is there at all."""
    if not here and not before.unnamed:
        return Places(
            cards={n: replace(card, missing_since=card.missing_since or now) for n, card in known.items()}
        )
    expected = max(before.unnamed, here, len(known))
    since = None if here == expected else before.fewer_since or now
    if since is not None and now - since >= forget_after:
        return Places(unnamed=here)
    return Places(cards=known, unnamed=expected, fewer_since=since)


def _remembered(cards: Mapping[int, Card], now: float, forget_after: float) -> dict[int, Card]:
    return {
        number: _without_old_news(card, now)
        for number, card in cards.items()
        if card.missing_since is None or now - card.missing_since < forget_after
    }


def _without_old_news(card: Card, now: float) -> Card:
    if card.replaced_at is None or now - card.replaced_at < REPLACED_SECONDS:
        return card
    return replace(card, replaced_uuid=None, replaced_at=None)


def _bounded(cards: dict[int, Card]) -> dict[int, Card]:
    if len(cards) <= MAX_CARDS:
        return cards
    by_age = sorted(cards.items(), key=lambda item: -(item[1].missing_since or float("inf")))
    return dict(by_age[:MAX_CARDS])


def _uuids(cards: Mapping[int, Card]) -> set[str]:
    return {card.uuid for card in cards.values()}
