"""How a node is judged: each of its GPUs with who is on it, what is booked, and what is in doubt."""

from collections.abc import Container, Iterable
from typing import Final

from gpuboard.fleet.claims import ClaimBook
from gpuboard.fleet.names import Names
from gpuboard.fleet.node import Node
from gpuboard.model.codes import plain_reason
from gpuboard.model.report import GpuReading
from gpuboard.model.verdict import NO_NUMBER, Claim, Reason, Verdict
from gpuboard.verdict import PersonOf, Thresholds, holders, judge, stray

# Why a GPU is not free though its number is not booked: another of its node is, and may be meant for this.
_MOVED: Final = plain_reason(code="numbers-moved")
# The same where a booking of its node says no number that can be read.
_UNREAD: Final = plain_reason(code="number-unread")
# The same where nobody could read yet what is booked.
_BOOK_UNREAD: Final = plain_reason(code="bookings-unread")


def judge_node(node: Node, now: float, *, book: ClaimBook, names: Names, thresholds: Thresholds) -> None:
    """Judge a node as it was seen just now: its GPUs remember their verdicts."""
    seen = node.seen
    if seen is None:
        return
    person_of = names.person_on(node.name)
    cut, has_claims = node.cut, bool(book)
    problems, fresh, sampled_at = seen.problems, node.freshness, node.sampled_at or now
    strays = _strays(seen.gpus, cut, person_of) if len(cut) > 1 else {}
    unread = None if book.is_whole else _BOOK_UNREAD
    for reading, memory in zip(seen.gpus, seen.remembered, strict=True):
        people = holders(reading, person_of, thresholds=thresholds)
        if people != memory.people:
            memory.people, memory.shown = people, None
        memory.claim = claim_on(node, reading, now, book=book, names=names) if has_claims else None
        memory.ended_claim = _ended_claim_on(node, reading, now, book, names) if has_claims else None
        verdict = judge(
            reading,
            people=people,
            now=now,
            problems=problems,
            freshness=fresh,
            claim=memory.claim,
            doubt=(strays.get(reading.mig_parent_uuid) if strays else None)
            or (_doubt(node, reading, now, book) if has_claims else None)
            or unread,
            is_cut=reading.uuid in cut,
            activity=memory.activity(),
            thresholds=thresholds,
        )
        # Most know it themselves.
        if verdict.since is None:
            verdict = _since(verdict, memory.verdict, now=sampled_at)
        memory.verdict = verdict


def claim_on(node: Node, reading: GpuReading, at: float, *, book: ClaimBook, names: Names) -> Claim | None:
    """The claim on a GPU that holds at a moment, if there is one."""
    card = _card(node, reading) if book else None
    claim = None if card is None else book.at((node.name, card.index), at)
    return None if claim is None else names.in_claim(claim)


def _ended_claim_on(
    node: Node, reading: GpuReading, now: float, book: ClaimBook, names: Names
) -> Claim | None:
    """The claim on a GPU that ended last, if that was not long ago."""
    card = _card(node, reading)
    claim = None if card is None else book.ended((node.name, card.index), now)
    return None if claim is None else names.in_claim(claim)


def _doubt(node: Node, reading: GpuReading, now: float, book: ClaimBook) -> Reason | None:
    """Why a claim on another number, or on none that can be read, may be meant for this GPU."""
    if book.holds_at((node.name, NO_NUMBER), now):
        return _UNREAD
    card = _card(node, reading)
    if card is None or node.has_moved:
        return _MOVED if book.holds_on(node.name, now) else None
    earlier = node.renumbered.get(card.uuid, ())
    is_meant = any(book.holds_at((node.name, number), now) for number in earlier)
    return _MOVED if is_meant else None


def _card(node: Node, reading: GpuReading) -> GpuReading | None:
    """The whole GPU that people claim by its number: an instance goes with its own. None: nobody knows it."""
    if reading.mig_parent_uuid is None:
        return reading
    cards = (gpu for gpu in node.readings() if gpu.uuid == reading.mig_parent_uuid)
    card = next(cards, None)
    return card if card is not None and card.mig_parent_uuid is None else None


def _strays(
    gpus: Iterable[GpuReading], cut: Container[str | None], person_of: PersonOf | None
) -> dict[str | None, Reason]:
    """Cards that are cut into instances and have processes that are on none of them, and who that is."""
    cards = [gpu for gpu in gpus if gpu.uuid in cut and gpu.processes]
    found = {card.uuid: stray(card, holders(card, person_of)) for card in cards}
    return {uuid: reason for uuid, reason in found.items() if reason is not None}


def _since(verdict: Verdict, before: Verdict | None, *, now: float) -> Verdict:
    """A verdict that does not know better itself lasts since its word last changed."""
    # Free is a GPU since somebody left it, not since its node came back or the board began to look.
    if before is None or verdict.word == "free":
        return verdict
    since = before.since if before.word == verdict.word else now
    return Verdict(verdict.word, verdict.reason, since, verdict.flags)
