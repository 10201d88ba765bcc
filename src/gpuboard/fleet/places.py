"""Which card is in which place of a node, remembered while a card is missing. Pure.

A place is a number on a node, as people say it and book it. A driver numbers only what it sees: when GPU 3
falls off the bus, GPU 4 is called 3. So a card keeps its number as long as any card of its node is missing.
Where some GPUs have no UUIDs, a hole cannot always be told from a shift: the places are in doubt then.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.names import slot_of
from gpuboard.model.report import MAX_GPUS, Bytes, Count, GpuReading, ShortText, UnixTime, moved
from gpuboard.probes.inventory import blank

# So many cards of one node are remembered; of more, those that have been missing for longest are forgotten.
MAX_CARDS: Final = MAX_GPUS
# For so long it is said that a card has been replaced or has another number.
REPLACED_SECONDS: Final = 24 * 3600.0
# Of a card that is numbered anew again and again, so many earlier numbers are remembered, the last ones.
MAX_NUMBERS: Final = 16


class Card(Struct, frozen=True, kw_only=True, gc=False):
    """One card as the board remembers it."""

    uuid: ShortText
    vendor: ShortText = "nvidia"
    model: ShortText | None = None
    memory_total_bytes: Bytes | None = None
    # Its slot, where the driver tells it.
    pcie_bus_id: ShortText | None = None
    missing_since: UnixTime | None = None
    # The card that was in its place before, and since when it no longer is.
    replaced_uuid: ShortText | None = None
    replaced_at: UnixTime | None = None
    # The numbers it had before, and when it got the one it has.
    earlier_numbers: tuple[Count, ...] = ()
    renumbered_at: UnixTime | None = None

    def reading(self, number: int) -> GpuReading:
        """What is known of a card that says nothing itself."""
        return GpuReading(
            uuid=self.uuid,
            index=number,
            vendor=self.vendor,
            model=self.model,
            memory_total_bytes=self.memory_total_bytes,
            pcie_bus_id=self.pcie_bus_id,
        )


class Places(Struct, frozen=True, kw_only=True, gc=False):
    """The places of one node: a number and the card that is in it, or was until it went missing."""

    cards: dict[Count, Card] = {}
    # Where some GPUs have no UUIDs, how many GPUs there were, those with UUIDs too.
    unnamed: Count = 0
    # Since when it cannot be told which card is in which place: fewer than there were, or others' numbers.
    fewer_since: UnixTime | None = None
    # Cards that somebody has had forgotten while the node called them lost; until they answer, they are not
    # shown.
    forgotten: tuple[ShortText, ...] = ()

    def missing(self) -> dict[int, Card]:
        """The places whose card is missing; none is known to be while all are in doubt."""
        if self.fewer_since is not None:
            return {}
        return {number: card for number, card in self.cards.items() if card.missing_since is not None}

    def replaced(self) -> dict[int, Card]:
        """The places whose card has replaced another lately."""
        return {number: card for number, card in self.cards.items() if card.replaced_at is not None}

    def renumbered(self) -> dict[int, Card]:
        """The places whose card had another number lately."""
        return {number: card for number, card in self.cards.items() if card.renumbered_at is not None}

    def shifted(self, seconds: float, *, began: float, until: float) -> "Places":
        """The same when the clock was set: moments of this run, between these two, are as long ago as before.

        Those of an earlier run may be by a clock that was right.
        """

        def told(at: float | None) -> float | None:
            return moved(at, seconds) if at is not None and began <= at <= until else at

        cards = {
            number: replace(
                card,
                missing_since=told(card.missing_since),
                replaced_at=told(card.replaced_at),
                renumbered_at=told(card.renumbered_at),
            )
            for number, card in self.cards.items()
        }
        return replace(self, cards=cards, fewer_since=told(self.fewer_since))


NOWHERE: Final = Places()


def seat(before: Places, gpus: Sequence[GpuReading], *, now: float, forget_after: float) -> Places:
    """The places of a node after a report; what has been missing for so long is forgotten."""
    whole = [gpu for gpu in gpus if gpu.mig_parent_uuid is None]
    known = _remembered(before.cards, now, forget_after)
    if len(whole) < len(gpus):
        # What is an instance now is no card that is missing.
        instances = {gpu.uuid for gpu in gpus if gpu.mig_parent_uuid is not None}
        known = {number: card for number, card in known.items() if card.uuid not in instances}
    has_nameless = any(gpu.uuid_is_synthetic for gpu in whole)
    if not has_nameless and before.unnamed <= len(known):
        return Places(cards=_bounded(_seat_by_name(known, whole, now)))
    expected = max(before.unnamed, len(known), len(whole))
    is_certain = len(whole) == expected and _are_in_place(known, whole)
    since = before.fewer_since or now
    if not is_certain and now - since < forget_after:
        return Places(cards=known, unnamed=expected, fewer_since=since)
    named = [gpu for gpu in whole if not gpu.uuid_is_synthetic]
    cards = _seat_named(known, named, numbers({}, whole), now)
    if is_certain:
        # A GPU without a UUID in its place may well be this card: a lost one often cannot say who it is.
        cards = {number: replace(card, missing_since=None) for number, card in known.items()} | cards
    return Places(cards=_bounded(cards), unnamed=len(whole) if has_nameless else 0)


def _are_in_place(known: Mapping[int, Card], whole: Iterable[GpuReading]) -> bool:
    """Whether each card has its number, or a GPU without a UUID has it that may be this card."""
    at = {gpu.index: None if gpu.uuid_is_synthetic else gpu.uuid for gpu in whole}
    here = {gpu.uuid for gpu in whole}
    return all(
        number in at and at[number] == (card.uuid if card.uuid in here else None)
        for number, card in known.items()
    )


def _seat_by_name(known: Mapping[int, Card], named: list[GpuReading], now: float) -> dict[int, Card]:
    here = {gpu.uuid for gpu in named}
    cards = _seat_named(known, named, numbers(known, named), now)
    if here and here.isdisjoint(card.uuid for card in known.values()):
        # Nothing in common with what was there before: another machine, of which nothing is missing.
        return cards
    for number, card in known.items():
        if card.uuid not in here and number not in cards:
            cards[number] = replace(card, missing_since=card.missing_since or now)
    return cards


def numbers(cards: Mapping[int, Card], gpus: Iterable[GpuReading]) -> dict[str, int]:
    """The place of each GPU: the driver's number, unless a card is missing or two have the same."""
    gpus = list(gpus)
    by_driver = {gpu.uuid: gpu.index for gpu in gpus}
    known = {card.uuid: number for number, card in cards.items()}
    is_whole = known.keys() <= by_driver.keys() or known.keys().isdisjoint(by_driver)
    if is_whole and len(set(by_driver.values())) == len(by_driver):
        return by_driver
    placed = {uuid: known[uuid] for uuid in by_driver if uuid in known}
    placed |= _in_place_of_others(cards, gpus)
    taken = set(placed.values())
    free = (number for number in count() if number not in taken and number not in cards)
    shift = 0
    # Of two with one number, one is lost: it had the number before the other moved up.
    in_turn = sorted(gpus, key=lambda gpu: (gpu.index, gpu.uuid not in known, gpu != blank(gpu)))
    for uuid, index in ((gpu.uuid, gpu.index) for gpu in in_turn):
        if uuid in known:
            # Cards that are missing before this one have moved it down by so many.
            shift = placed[uuid] - index
        if uuid in placed:
            continue
        guess = index + shift
        placed[uuid] = guess if guess >= 0 and guess not in taken else next(free)
        taken.add(placed[uuid])
    return placed


def _in_place_of_others(cards: Mapping[int, Card], gpus: Sequence[GpuReading]) -> dict[str, int]:
    """The places of new cards that are in the slot of one that is gone, or have the driver's number of it.

    A number tells that only while there are as many cards as in the last report: none has moved up since.
    """
    known, here = {card.uuid for card in cards.values()}, {gpu.uuid for gpu in gpus}
    gone = {number: card for number, card in cards.items() if card.uuid not in here}
    by_slot = {slot_of(card.pcie_bus_id): number for number, card in gone.items() if card.pcie_bus_id}
    before = sorted(number for number, card in cards.items() if card.missing_since is None)
    by_rank: dict[str, int] = {}
    if len(before) == len(gpus):
        in_turn = sorted(gpus, key=lambda gpu: gpu.index)
        by_rank = {gpu.uuid: number for gpu, number in zip(in_turn, before, strict=True) if number in gone}
    found: dict[str, int] = {}
    for gpu in gpus:
        number = by_slot.get(slot_of(gpu.pcie_bus_id), by_rank.get(gpu.uuid))
        if number is None or gpu.uuid in known or number in found.values():
            continue
        if gone[number].vendor == gpu.vendor:
            found[gpu.uuid] = number
    return found


def _seat_named(
    known: Mapping[int, Card], named: list[GpuReading], placed: Mapping[str, int], now: float
) -> dict[int, Card]:
    """The cards at the numbers that they have now, each with what is new of it."""
    here = {gpu.uuid for gpu in named}
    earlier = {card.uuid: (number, card) for number, card in known.items()}
    cards = {}
    for gpu in named:
        number = placed[gpu.uuid]
        card = Card(
            uuid=gpu.uuid,
            vendor=gpu.vendor,
            model=gpu.model,
            memory_total_bytes=gpu.memory_total_bytes,
            pcie_bus_id=gpu.pcie_bus_id,
        )
        there = known.get(number)
        if gpu.uuid in earlier:
            card = _with_news(card, *earlier[gpu.uuid], number, now)
        elif there is not None and there.uuid not in here:
            card = replace(card, replaced_uuid=there.uuid, replaced_at=now)
        cards[number] = card
    return cards


def _with_news(card: Card, before: int, old: Card, number: int, now: float) -> Card:
    """A card with what was new of it already, and the number that it had until now."""
    numbered, at = old.earlier_numbers, old.renumbered_at
    if number != before:
        numbered, at = tuple(dict.fromkeys((before, *numbered)))[:MAX_NUMBERS], now
    return replace(
        card,
        replaced_uuid=old.replaced_uuid,
        replaced_at=old.replaced_at,
        earlier_numbers=numbered,
        renumbered_at=at,
    )


def _remembered(cards: Mapping[int, Card], now: float, forget_after: float) -> dict[int, Card]:
    return {
        number: _without_old_news(card, now)
        for number, card in cards.items()
        if card.missing_since is None or now - card.missing_since < forget_after
    }


def _without_old_news(card: Card, now: float) -> Card:
    if card.replaced_at is not None and now - card.replaced_at >= REPLACED_SECONDS:
        card = replace(card, replaced_uuid=None, replaced_at=None)
    if card.renumbered_at is not None and now - card.renumbered_at >= REPLACED_SECONDS:
        card = replace(card, earlier_numbers=(), renumbered_at=None)
    return card


def _bounded(cards: dict[int, Card]) -> dict[int, Card]:
    if len(cards) <= MAX_CARDS:
        return cards
    by_age = sorted(cards.items(), key=lambda item: -(item[1].missing_since or float("inf")))
    return dict(by_age[:MAX_CARDS])
