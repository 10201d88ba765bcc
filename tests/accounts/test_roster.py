"""Tokens in memory, and how they follow the database."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from gpuboard.accounts import roster as roster_module
from gpuboard.accounts.roster import Roster
from gpuboard.accounts.tokens import KnownToken, NodeTokens
from gpuboard.model.errors import StorageError
from gpuboard.outside.threads import Workers
from gpuboard.storage.base import Database


@pytest.fixture
def tokens(database: Database) -> NodeTokens:
    """No token yet."""
    return NodeTokens(database)


async def make(tokens: NodeTokens, node: str) -> str:
    """A fresh token of a node."""
    return (await asyncio.to_thread(lambda: tokens.redeem(tokens.invite(node))))[1]


async def test_a_token_made_by_another_process_is_found(tokens: NodeTokens) -> None:
    """Without waiting for the next look."""
    roster = Roster(tokens)
    token = await make(tokens, "gpu01")
    assert roster.recognise(token) is None
    found = await roster.find(token)
    assert found is not None
    assert (found.node, roster.nodes) == ("gpu01", frozenset({"gpu01"}))


async def test_a_good_token_is_never_wrong_while_tokens_are_being_read(
    tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents come all at once when a board starts; whoever comes during the first look waits for it."""
    token = await make(tokens, "gpu01")
    reading, release, known = threading.Event(), threading.Event(), tokens.known

    def slow() -> list[KnownToken]:
        reading.set()
        release.wait()
        return known()

    monkeypatch.setattr(tokens, "known", slow)
    roster = Roster(tokens)
    looking = asyncio.create_task(roster.look())
    await asyncio.to_thread(reading.wait)
    finding = asyncio.create_task(roster.find(token))
    await asyncio.sleep(0.05)
    release.set()
    found = await finding
    await looking
    assert found is not None


async def test_before_the_first_look_nobody_is_judged(
    tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait, and then the answer that it is too early."""
    monkeypatch.setattr(roster_module, "START_SECONDS", 0.01)
    roster = Roster(tokens)
    early = await roster.is_read()
    await roster.look()
    assert (early, await roster.is_read()) == (False, True)


async def test_one_nodes_secret_under_anothers_name_is_not_recognised(tokens: NodeTokens) -> None:
    """A node can speak only for itself."""
    roster = Roster(tokens)
    token = await make(tokens, "gpu01")
    await make(tokens, "gpu02")
    await roster.look()
    assert roster.recognise(token.replace("gpu01", "gpu02")) is None


async def test_wrong_tokens_do_not_keep_the_disk_busy(
    tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most one look a second, whoever guesses."""
    looks: list[str] = []
    generation = tokens.generation

    def counted() -> str:
        looks.append("look")
        return generation()

    monkeypatch.setattr(tokens, "generation", counted)
    roster = Roster(tokens)
    for number in range(100):
        await roster.find(f"gpuboard~gpu01~{number:043d}")
    assert len(looks) == 1


async def test_a_revoked_token_is_no_longer_good(tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who holds a line is told within a moment."""
    monkeypatch.setattr(roster_module, "LOOK_SECONDS", 0.01)
    roster = Roster(tokens)
    known = await roster.find(await make(tokens, "gpu01"))
    assert known is not None
    heard = asyncio.Event()

    def changed() -> None:
        if not roster.is_good(known):
            heard.set()

    roster.on_change(changed)
    following = asyncio.create_task(roster.follow())
    await asyncio.to_thread(tokens.revoke, "gpu01")
    await asyncio.wait_for(heard.wait(), 5)
    following.cancel()


async def test_a_token_that_was_replaced_ends_a_day_later(database: Database) -> None:
    """By itself: nobody has to change anything for that."""
    time = [1_800_000_000.0]
    tokens = NodeTokens(database, clock=lambda: time[0])
    roster = Roster(tokens, clock=lambda: time[0])
    known = await roster.find(await make(tokens, "gpu01"))
    assert known is not None
    await make(tokens, "gpu01")
    good = []
    for seconds in (0.0, 24 * 3600 - 1.0, 1.0):
        time[0] += seconds
        await roster.look()
        good.append(roster.is_good(known))
    assert good == [True, True, False]


async def test_use_is_written_down(tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and then, not at every report."""
    monkeypatch.setattr(roster_module, "NOTE_SECONDS", 0.0)
    monkeypatch.setattr(roster_module, "LOOK_SECONDS", 0.01)
    roster = Roster(tokens)
    known = await roster.find(await make(tokens, "gpu01"))
    assert known is not None
    roster.note_use(known)
    following = asyncio.create_task(roster.follow())
    for _ in range(100):
        await asyncio.sleep(0.02)
        if (await asyncio.to_thread(tokens.records))[0].last_used_at is not None:
            break
    following.cancel()
    assert (await asyncio.to_thread(tokens.records))[0].last_used_at is not None


async def test_a_node_that_only_posts_is_written_down_sooner_than_one_with_a_line(
    tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else tells `node list` that it is there; a line says so itself."""
    monkeypatch.setattr(roster_module, "NOTE_REQUESTS_SECONDS", 0.0)
    now = [1000.0]
    roster = Roster(tokens, clock=lambda: now[0])
    shown = [await make(tokens, node) for node in ("gpu01", "gpu02")]
    posts, holds = [await roster.find(token) for token in shown]
    assert posts is not None
    assert holds is not None
    for moment in (1000.0, 1004.0):
        now[0] = moment
        roster.note_request(posts)
        roster.note_use(holds)
        await roster._write_down()
    records = await asyncio.to_thread(tokens.records)
    assert [record.last_used_at for record in records] == [1004.0, 1000.0]


async def test_when_a_node_leaves_it_is_written_down_at_the_next_look(
    tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it was last heard; `node list` would lag behind otherwise."""
    monkeypatch.setattr(roster_module, "LOOK_SECONDS", 0.01)
    roster = Roster(tokens, clock=lambda: 1000.0)
    known = await roster.find(await make(tokens, "gpu01"))
    assert known is not None
    roster.note_use(known)
    await roster._write_down()
    roster.note_end(known, 3.0)
    await roster._write_down()
    assert (await asyncio.to_thread(tokens.records))[0].last_used_at == 997.0


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something to happen."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)


async def test_storage_that_cannot_be_read_is_a_trouble_until_it_can(
    tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tokens known so far stay good meanwhile."""
    monkeypatch.setattr(roster_module, "LOOK_SECONDS", 0.01)
    roster = Roster(tokens)
    known = await roster.find(await make(tokens, "gpu01"))
    assert known is not None
    generation = tokens.generation

    def broken() -> str:
        raise StorageError("the disk is gone")

    monkeypatch.setattr(tokens, "generation", broken)
    following = asyncio.create_task(roster.follow())
    await until(lambda: roster.trouble is not None)
    trouble, is_good = roster.trouble, roster.is_good(known)
    monkeypatch.setattr(tokens, "generation", generation)
    await until(lambda: roster.trouble is None)
    following.cancel()
    assert trouble is not None
    assert (trouble.text, is_good) == ("the disk is gone", True)


async def test_storage_that_does_not_answer_is_a_trouble(
    tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may hang for ever and never say an error."""
    monkeypatch.setattr(tokens.database, "_readers", Workers(8, patience=0.05))
    release = threading.Event()
    generation = tokens.generation

    def hung() -> str:
        release.wait()
        return generation()

    monkeypatch.setattr(tokens, "generation", hung)
    roster = Roster(tokens)
    following = asyncio.create_task(roster.follow())
    await until(lambda: roster.trouble is not None)
    trouble = roster.trouble
    release.set()
    following.cancel()
    assert trouble is not None
    assert trouble.code == "storage-hung"


async def test_the_first_use_of_a_new_token_ends_the_old_one(
    tokens: NodeTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the old one, on another machine, is worth nothing from then on, nor after a restart."""
    monkeypatch.setattr(roster_module, "LOOK_SECONDS", 0.01)
    roster = Roster(tokens)
    old = await roster.find(await make(tokens, "gpu01"))
    token = await make(tokens, "gpu01")
    await roster.look()
    new = roster.recognise(token)
    assert old is not None
    assert new is not None
    before = roster.is_good(old)
    roster.note_use(new)
    assert (before, roster.is_good(old), roster.is_good(new)) == (True, False, True)
    following = asyncio.create_task(roster.follow())
    for _ in range(500):
        if len(await asyncio.to_thread(tokens.known)) == 1:
            break
        await asyncio.sleep(0.01)
    following.cancel()
    assert [one.digest for one in await asyncio.to_thread(tokens.known)] == [new.digest]


async def test_the_use_of_an_old_token_does_not_end_the_new_one(tokens: NodeTokens) -> None:
    """A line that was open before the node was enrolled anew knows nothing of that."""
    roster = Roster(tokens)
    old = await roster.find(await make(tokens, "gpu01"))
    token = await make(tokens, "gpu01")
    await roster.look()
    assert old is not None
    roster.note_use(old)
    assert roster.recognise(token) is not None


async def test_only_nodes_that_somebody_knew_are_said_to_be_forgotten(
    tokens: NodeTokens, caplog: pytest.LogCaptureFixture
) -> None:
    """A typing mistake leaves no line that looks like a deed."""
    caplog.set_level("INFO")
    asked: list[str] = []

    def forget(node: str) -> bool:
        asked.append(node)
        return node == "gpu01"

    roster = Roster(tokens, forget=forget)
    for node in ("gpu01", "gpu99"):
        await asyncio.to_thread(tokens.forget, node)
        await roster.look()
    assert asked == ["gpu01", "gpu99"]
    assert [line for line in caplog.messages if "forgotten" in line] == ["nodes forgotten: nodes=gpu01"]
