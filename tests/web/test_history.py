"""The past by GET: what it tells, to whom, and what it refuses."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import msgspec
import pytest
from isal import igzip

from gpuboard.fleet.clock import SteadyClock
from gpuboard.history.base import Keep
from gpuboard.history.desk import HistoryDesk
from gpuboard.history.embedded import EmbeddedHistory
from gpuboard.history.questions import go_on
from gpuboard.model.errors import StorageError
from gpuboard.model.identity import Tier
from gpuboard.model.problems import problem
from gpuboard.model.report import HostFacts, Problem
from gpuboard.model.verdict import Claim, Reason
from gpuboard.web import past
from gpuboard.web.access import AccessPolicy
from gpuboard.web.components import Components
from gpuboard.web.routes import history as routes
from gpuboard.web.routes.health import _history_families
from gpuboard.web.services import Services
from gpuboard.web.stream import Broadcaster
from gpuboard.wire.stream import BoardInfo
from tests.history.lab import Lab, reading
from tests.pushing import wait_until
from tests.web.conftest import guarded

CANARY = "canary-person"
INFO = BoardInfo(version="0", name="here", demo=False, tick_seconds=1.0, title="Our lab")


class Past:
    """A board whose nodes have said something for a minute."""

    def __init__(self, lab: Lab[EmbeddedHistory]) -> None:
        self.lab = lab
        self.desk = HistoryDesk(lab.history, lab.recorder.counts)
        self.desk.closed = None
        self.now = lab.clock.time

    def client(self, tier: Tier = "names", *, has_history: bool = True) -> httpx.AsyncClient:
        """Somebody who may see this."""
        lab = self.lab
        services = Services(
            fleet=lab.fleet,
            tracker=lab.tracker,
            broadcaster=Broadcaster(lab.tracker, INFO, history=self.desk.info),
            access=AccessPolicy(anonymous=tier),
            info=INFO,
            started_boot_seconds=0.0,
            components=Components(),
            history=self.desk if has_history else None,
        )
        transport = httpx.ASGITransport(app=guarded(services))  # type: ignore[arg-type]
        return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api/v1/")

    async def get(self, path: str, tier: Tier = "names", /, **more: Any) -> Any:  # noqa: ANN401
        """What is answered, as JSON."""
        async with self.client(tier) as client:
            answer = await client.get(path, params=more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def refused(self, path: str, tier: Tier = "names", status: int = 400, /, **more: Any) -> str:  # noqa: ANN401
        """Why it is not answered."""
        async with self.client(tier) as client:
            answer = await client.get(path, params=more)
        assert answer.status_code == status, answer.text
        words: str = answer.json()["detail"]
        return words


@pytest.fixture
def history(tmp_path: Path) -> Iterator[EmbeddedHistory]:
    """An empty one."""
    made = EmbeddedHistory(tmp_path / "history.sqlite", Keep())
    made.open()
    yield made
    made.close()


@pytest.fixture
async def told(history: EmbeddedHistory) -> Past:
    """Two nodes: on the first somebody computes, the second has a problem and falls silent."""
    lab = await asyncio.to_thread(Lab, history, SteadyClock().now() // 60 * 60 - 600)
    wrong = Problem(kind=f"{CANARY}-kind", text="x", remedy="y", detail=f"{CANARY} did it")
    for step in range(12):
        host = HostFacts(cpu_count=4, load_1=2.0)
        lab.say([reading(0, use=80.0, user=CANARY), reading(1)], sequence=step + 1, host=host)
        if step < 4:
            lab.say([reading(2)], node="other", sequence=step + 1, problems=(wrong,))
        lab.tick(5.0)
    lost = (problem("gpu-lost", "Xid 79", gpu_uuid="GPU-1"),)
    lab.say([reading(0, use=40.0, user=CANARY), reading(1)], sequence=99, problems=lost)
    lab.tick(5.0)
    await lab.write()
    return Past(lab)


async def test_the_figures_of_a_gpu(told: Past) -> None:
    """Mean, least and most of each point; nothing before anything was said."""
    found = await told.get("history", gpu="GPU-0", **{"from": told.now - 120, "to": told.now}, points=20)
    (series,) = found["series"]
    assert (series["gpu"], series["node"], series["label"]) == ("GPU-0", "dgx", "0")
    assert (found["tier"], found["step_seconds"]) == ("full", 10.0)
    assert len(series["mean"]) == len(found["times"])
    assert series["mean"][0] is None
    assert 80.0 in series["mean"]
    assert min(filter(None, series["least"])) == 40.0
    assert max(filter(None, series["most"])) == 80.0


async def test_several_gpus_nodes_and_the_fleet(told: Past) -> None:
    """Each GPU by itself, the mean of each node, or of all."""
    span = {"from": told.now - 60, "to": told.now}
    gpus = await told.get("history", gpu=["GPU-0", "GPU-1"], points=1, **span)
    assert [one["gpu"] for one in gpus["series"]] == ["GPU-0", "GPU-1"]
    nodes = await told.get("history", node="dgx", figure="utilization_percent,host_load_percent", **span)
    assert [(one["node"], one["figure"]) for one in nodes["series"]] == [
        ("dgx", "utilization_percent"),
        ("dgx", "host_load_percent"),
    ]
    assert 40.0 in nodes["series"][0]["mean"]
    assert 50.0 in nodes["series"][1]["mean"]
    fleet = await told.get("history", points=1, **span)
    assert [(one["gpu"], one["node"]) for one in fleet["series"]] == [(None, None)]
    each = await told.get("history", each="gpu", points=1, **span)
    assert [one["gpu"] for one in each["series"]] == ["GPU-0", "GPU-1", "GPU-2"]
    assert each["series"][0]["least"] is None


async def test_the_states_of_a_gpu_and_who_was_on_it(told: Past) -> None:
    """Where names are hidden, without them."""
    found = await told.get("history/states", gpu="GPU-0")
    assert [(one["verdict"], one["users"]) for one in found["states"]] == [("busy", [CANARY])]
    hidden = await told.get("history/states", "counts", gpu="GPU-0")
    assert [(one["verdict"], one["users"]) for one in hidden["states"]] == [("busy", None)]


async def test_of_too_many_changes_only_what_is_told_counts_as_asked(
    told: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left out was observed: whoever adds up must not take it for a gap."""
    monkeypatch.setattr(routes, "MAX_HISTORY_ROWS", 2)
    start = told.now
    for step in range(3):
        told.lab.say([reading(0, use=80.0, user=f"user{step}")], sequence=100 + step)
        told.lab.tick(10.0)
    await told.lab.write()
    span = {"from": start - 60, "to": start + 30}
    found = await told.get("history/states", gpu="GPU-0", **span)
    assert [one["users"] for one in found["states"]] == [["user1"], ["user2"]]
    assert found["from"] == found["states"][0]["from"] > start
    whole = await told.get("history/states", "counts", gpu="GPU-0", **span)
    assert whole["from"] == start - 60


async def test_episodes_and_events(told: Past) -> None:
    """Who ran what, and what went wrong."""
    (episode,) = (await told.get("episodes"))["episodes"]
    assert (episode["person"], episode["program"], episode["to"]) == (CANARY, "train", None)
    assert episode["memory_peak_bytes"] == 4 * 1024**3
    # What goes on is written every few minutes: this was its first sample.
    assert episode["utilization_mean_percent"] == 80.0
    assert episode["began_before"]
    assert (await told.get("episodes", node="other"))["episodes"] == []
    assert len((await told.get("episodes", person=CANARY))["episodes"]) == 1
    found = (await told.get("events", to=told.now + 1))["events"]
    events = {one["kind"]: one for one in found}
    assert {"late", f"{CANARY}-kind", "gpu-lost"} <= events.keys()
    assert events["gpu-lost"]["gpu"] == "GPU-1"


async def test_the_track_says_how_many_were_free(told: Past) -> None:
    """And the gravest of what happened."""
    found = await told.get("history/track", **{"from": told.now - 60, "to": told.now + 1}, points=6)
    assert set(found["busy"]) - {None} == {1}
    assert max(filter(None, found["counted"])) == 3
    assert found["events"][0]["kind"] in ("gpu-lost", "lost")


async def test_the_fleet_of_an_earlier_moment(told: Past) -> None:
    """As it was, in the shapes in which it is told now."""
    at = told.now - 58
    view = await told.get("fleet", at=at)
    assert (view["at"], view["title"]) == (at, (await told.get("fleet"))["title"])
    assert view["title"]
    nodes = {node["name"]: node for node in view["nodes"]}
    assert nodes["dgx"]["gpus"][0]["verdict"]["word"] == "busy"
    assert nodes["dgx"]["gpus"][0]["users"][0]["name"] == CANARY
    assert (nodes["other"]["state"], nodes["other"]["gpus"][0]["verdict"]["word"]) == ("live", "free")
    snapshot = await told.get("stream", at=at)
    assert (snapshot["kind"], snapshot["at"]) == ("snapshot", at)
    assert snapshot["gpus"]["verdict"] == ["busy", "free", "free"]
    nodes = {node["name"]: node for node in (await told.get("fleet", at=told.now))["nodes"]}
    assert nodes["dgx"]["problems"][0]["place"] == "GPU 1 (A100 80G, GPU-1)"
    later = await told.get("stream", at=told.now - 1)
    assert later["gpus"]["verdict"] == ["busy", "broken", "stale"]
    assert dict(zip(later["nodes"]["name"], later["nodes"]["state"], strict=True))["other"] in (
        "late",
        "lost",
    )


async def test_a_booked_gpu_of_the_past_says_who_had_booked_it(told: Past) -> None:
    """As the live board does: nobody is on it, and it was somebody's; who sees no names sees none here."""
    lab = told.lab
    claim = Claim(who="dora", start=lab.clock.time, until=lab.clock.time + 600)
    lab.fleet.set_claims("booking", {("dgx", 1): (claim,)})
    for step in range(3):
        lab.say([reading(0), reading(1)], sequence=200 + step)
        lab.tick(5.0)
    await lab.write()
    rows = (await told.get("stream", at=lab.clock.time - 5))["gpus"]
    place = rows["uuid"].index("GPU-1")
    assert (rows["verdict"][place], rows["users"][place], rows["claim"][place]["who"]) == (
        "booked",
        [],
        "dora",
    )
    view = await told.get("fleet", at=lab.clock.time - 5)
    (gpu,) = (gpu for node in view["nodes"] for gpu in node["gpus"] if gpu["uuid"] == "GPU-1")
    assert gpu["claim"]["who"] == "dora"
    hidden = await told.get("stream", "counts", at=lab.clock.time - 5)
    assert hidden["gpus"]["claim"][place]["who"] is None


def said_of(view: Any) -> dict[str, tuple[str, str, list[str]]]:  # noqa: ANN401
    """GPU → the state of its node, its verdict, and who is on it."""
    return {
        gpu["uuid"]: (node["state"], gpu["verdict"]["word"], [user["name"] for user in gpu["users"] or ()])
        for node in view["nodes"]
        for gpu in node["gpus"]
    }


async def test_a_node_that_fell_silent_was_stale_as_it_was_shown(told: Past) -> None:
    """Whatever else was wrong with its cards; and with those who were on them."""
    lab = told.lab
    for step in range(8):
        card = "GPU-z" if step < 4 else "GPU-y"
        lab.say([reading(0, uuid=card, use=80.0, user="cem")], node="silent", sequence=step + 1)
        lab.tick(5.0)
    lab.tick(60.0)
    live = said_of(await told.get("fleet"))
    await lab.write()
    past = said_of(await told.get("fleet", at=lab.clock.time))
    assert live["GPU-y"] == ("lost", "stale", ["cem"])
    assert past["GPU-y"] == live["GPU-y"]


async def test_a_gpu_that_was_only_told_of_afterwards_does_not_stay(told: Past) -> None:
    """It was there when it says so; later the node had what was shown."""
    lab = told.lab
    start = lab.clock.time
    for step in range(60):
        if step not in range(20, 30):
            lab.say([reading(7)], node="honest", sequence=step + 1)
        lab.tick(5.0)
    # It has been there from its first sample to its last.
    for sequence, age in ((1, 200), (2, 195)):
        vic = reading(0, uuid="GPU-vic")
        lab.say([vic], node="honest", sequence=sequence, boot="b", age=age, is_backfill=True)
    lab.tick(1.0)
    await lab.write()
    then = said_of(await told.get("fleet", at=start + 102))
    assert then["GPU-vic"][:2] == ("live", "free")
    later = said_of(await told.get("fleet", at=start + 295))
    assert "GPU-vic" not in later
    assert later["GPU-7"][:2] == ("live", "free")


async def test_a_node_without_gpus_was_there_too(told: Past) -> None:
    """In trouble, or with a problem, as it was shown."""
    lab = told.lab
    lab.fleet.sink("pull").trouble("bad", Reason(code="no-file", text="no such file"))
    lab.say([], node="overfull")
    lab.fleet.note_unrecorded(["overfull"])
    lab.tick(5.0)
    live = {node["name"]: node["state"] for node in (await told.get("fleet"))["nodes"]}
    await lab.write()
    past = {node["name"]: node["state"] for node in (await told.get("fleet", at=lab.clock.time))["nodes"]}
    assert (live["bad"], live["overfull"]) == ("error", "live")
    assert (past["bad"], past["overfull"]) == ("error", "live")


async def test_a_node_was_not_there_before_its_first_sample(told: Past) -> None:
    """Since when its problems last is what it says; what was observed is what the board knows."""
    lab = told.lab
    lab.tick(3600.0)
    enrolled = lab.clock.time
    old = problem("gpu-lost", gpu_uuid="GPU-9", since=enrolled - 400 * 86400)
    lab.say([reading(9)], node="new", problems=(old,))
    lab.tick(1.0)
    later = problem("driver-mismatch", since=enrolled - 200 * 86400)
    lab.say([reading(9)], node="new", sequence=2, problems=(old, later))
    lab.tick(1.0)
    await lab.write()
    events = (await told.get("events", node="new", **{"from": enrolled - 40 * 86400}))["events"]
    begins = {one["kind"]: one["from"] for one in events}
    assert begins == {"gpu-lost": enrolled, "driver-mismatch": enrolled}
    then = (await told.get("fleet", at=enrolled - 60))["nodes"]
    assert "new" not in {node["name"] for node in then}


async def test_a_problem_begins_no_earlier_than_a_sample_without_it(
    told: Past, history: EmbeddedHistory
) -> None:
    """Whatever its node says, also where an earlier run of the board took that sample."""
    await told.lab.recorder.finish()
    heard = told.now - 5.0
    lab = await asyncio.to_thread(Lab, history, told.now + 600)
    wrong = problem("driver-mismatch", since=heard - 86400)
    lab.say([reading(0)], sequence=200, problems=(wrong,))
    lab.tick(1.0)
    await lab.write()
    events = await asyncio.to_thread(history.open_events)
    assert {one.kind: one.start for one in events if one.node == "dgx"} == {"driver-mismatch": heard}


async def test_of_a_node_of_which_nothing_was_sampled_no_sample_is_told(told: Past) -> None:
    """Only that something was wrong with it."""
    lab = told.lab
    lab.say([], node="overfull")
    lab.fleet.note_unrecorded(["overfull"])
    lab.tick(5.0)
    await lab.write()
    (past,) = [
        node for node in (await told.get("fleet", at=lab.clock.time))["nodes"] if node["name"] == "overfull"
    ]
    assert (past["sampled_at"], len(past["problems"])) == (None, 1)


async def test_what_began_around_a_moment_is_asked_for(told: Past) -> None:
    """However much came later; and a moment is one."""
    (episode,) = (await told.get("episodes"))["episodes"]
    for around in (episode["from"] - 1, episode["from"]):
        assert (await told.get("episodes", around=around, limit=1))["episodes"] == [episode]
    assert (await told.get("episodes", around=told.now, **{"from": told.now - 1}))["episodes"] == []
    assert len((await told.get("events", around=told.now - 3600, limit=1))["events"]) == 1
    assert "around" in await told.refused("events", around="yesterday")


async def test_what_befell_the_record_is_told_of_the_plots_of_that_time(told: Past) -> None:
    """To everybody; it makes no node, and no trouble of one."""
    lab, start = told.lab, told.now - 30
    lab.tick(600.0)
    lab.say([reading(0, use=80.0)], sequence=200, age=500.0, is_backfill=True)
    lab.recorder._gatherer.hindsight.note_pause(start, is_paused=True)
    lab.tick()
    await lab.write()
    paused, later = {"from": start, "to": start + 631}, {"from": told.now + 100, "to": told.now + 105}
    span = {"from": start - 60, "to": lab.clock.time}
    for tier in ("names", "counts"):
        assert (await told.get("history", tier, gpu="GPU-0", **span))["paused"] == [paused]
        assert (await told.get("history/states", tier, gpu="GPU-0", **span))["learnt_later"] == [later]
        assert (await told.get("history/states", tier, gpu="GPU-2", **span))["learnt_later"] == []
        events = {one["kind"]: one for one in (await told.get("events", tier, **span))["events"]}
        assert (events["history-paused"]["node"], events["learnt-later"]["node"]) == (None, "dgx")
        assert "disk was full" in events["history-paused"]["text"]
        marks = (await told.get("history/track", tier, **span))["events"]
        assert [one["node"] for one in marks if one["kind"] == "history-paused"] == [None]
        assert "learnt-later" not in {one["kind"] for one in marks}
    nodes = (await told.get("fleet", at=told.now + 102))["nodes"]
    assert {node["name"] for node in nodes} == {"dgx", "other"}
    assert "learnt-later" not in {wrong["kind"] for node in nodes for wrong in node["problems"]}


async def test_before_anything_was_known_nothing_is_told(told: Past) -> None:
    """An empty fleet, and no invented one."""
    assert (await told.get("fleet", at=told.now - 86400))["nodes"] == []


@pytest.mark.parametrize(
    "path",
    [
        "history?gpu=GPU-0",
        "history/states?gpu=GPU-0",
        "history/track",
        "episodes",
        "events",
        "fleet",
        "stream",
    ],
)
async def test_no_name_of_a_person_is_told_where_names_are_hidden(told: Past, path: str) -> None:
    """Neither by those who used a GPU, nor by what a node wrote."""
    moments = {"at": told.now - 58} if path in ("fleet", "stream") else {}
    async with told.client("counts") as client:
        hidden = await client.get(path, params=moments or None)
    async with told.client("names") as client:
        shown = await client.get(path, params=moments or None)
    assert hidden.status_code == shown.status_code == 200
    assert CANARY not in hidden.text
    if path.startswith(("history/states", "episodes", "events", "fleet", "stream")):
        assert CANARY in shown.text


async def test_whoever_sees_no_names_cannot_ask_for_one(told: Past) -> None:
    """Whether somebody was here would be an answer."""
    assert "Names are hidden" in await told.refused("episodes", "counts", 401, person=CANARY)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"from": "2026-01-01T00:00:00"}, "without its offset"),
        ({"from": "yesterday"}, "write Unix seconds"),
        ({"from": "nan"}, "write Unix seconds"),
        ({"from": "1_000"}, "write Unix seconds"),
        ({"from": "-0"}, "write Unix seconds"),
        ({"from": "1e9"}, "write Unix seconds"),
        ({"from": "\uff11\uff12"}, "write Unix seconds"),
        ({"from": "\u0661\u0662"}, "write Unix seconds"),
        ({"from": "\uff12026-01-01T00:00:00Z"}, "write Unix seconds"),
        ({"from": 20, "to": 10}, "before to"),
        ({"figure": "utilisation_percent"}, "utilization_percent"),
        ({"figure": "holders"}, "there is none"),
        ({"figure": "host_load_percent"}, "of nodes"),
        ({"gpu": "GPU-0", "each": "gpu"}, "by themselves"),
        ({"points": 0}, "points"),
        ({"points": 100_000}, "points"),
        ({"start": 1}, "no parameter 'start'"),
        ({"gpu": ["GPU-0"] * 65}, "gpu"),
    ],
)
async def test_what_makes_no_sense_is_refused_in_words(told: Past, query: dict[str, Any], words: str) -> None:
    """With what was probably meant."""
    assert words in await told.refused("history", **query)


async def test_a_time_is_taken_with_its_offset(told: Past) -> None:
    """As RFC 3339, also where a plus sign has become a blank; or as Unix seconds."""
    wanted = 1_767_254_400.0
    for text in ("2026-01-01T09:00:00+01:00", "2026-01-01T09:00:00 01:00", "2026-01-01T08:00:00Z", wanted):
        found = await told.get("history/states", gpu="GPU-0", **{"from": text, "to": wanted + 60})
        assert found["from"] == wanted


async def test_nobody_knows_the_future(told: Past) -> None:
    """Not even a board."""
    assert "future" in await told.refused("fleet", at=told.now + 3600)


async def test_an_answer_that_would_be_too_long_is_refused(
    told: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to ask instead."""
    monkeypatch.setattr("gpuboard.web.routes.history.MAX_HISTORY_VALUES", 100)
    assert "fewer points" in await told.refused("history", points=100)


async def test_without_a_history_there_is_no_past(told: Past) -> None:
    """A problem document that programs can tell."""
    async with told.client(has_history=False) as client:
        for path in ("history", "episodes", "events", "history/track", "fleet?at=1", "stream?at=1"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["type"]) == (404, "no-history"), (path, answer.text)
        assert (await client.get("fleet")).status_code == 200


async def test_a_history_that_cannot_be_read_says_so(told: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words of ours, where names are hidden: its path is one."""

    def fail(*_: object, **__: object) -> None:
        raise StorageError("/secret/history.sqlite cannot be read", code="history")

    monkeypatch.setattr(told.lab.history, "events", fail)
    assert "/secret" in await told.refused("events", "names", 503)
    assert await told.refused("events", "counts", 503) == "the history cannot be used"


async def test_one_address_does_not_ask_for_all(told: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever hurries waits; others do not, and this machine itself never does."""
    monkeypatch.setattr(past, "HISTORY_BURST", 2.0)
    monkeypatch.setattr(past, "HISTORY_PER_SECOND", 0.001)
    async with told.client() as client:
        transport = client._transport
        assert isinstance(transport, httpx.ASGITransport)
        answers = []
        for address in ("203.0.113.9", "203.0.113.9", "203.0.113.9", "203.0.113.10", "127.0.0.1"):
            transport.client = (address, 1)
            answers.append(await client.get("events"))
    assert [answer.status_code for answer in answers] == [200, 200, 429, 200, 200]
    assert int(answers[2].headers["retry-after"]) > 0


async def test_whoever_leaves_ends_the_question(told: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread is for those who wait."""
    asked, left, said = threading.Event(), asyncio.Event(), [{"type": "http.request"}]

    def events(*_: object, **__: object) -> None:
        asked.set()
        while True:
            go_on()

    async def receive() -> dict[str, Any]:
        if not said:
            await left.wait()
        return said.pop() if said else {"type": "http.disconnect"}

    async def send(_: object) -> None:
        pass

    monkeypatch.setattr(told.lab.history, "events", events)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/v1/events",
        "raw_path": b"/api/v1/events",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("203.0.113.9", 1),
        "server": ("127.0.0.1", 80),
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
    }
    async with told.client() as client:
        transport = client._transport
        assert isinstance(transport, httpx.ASGITransport)
        answer = asyncio.ensure_future(transport.app(scope, receive, send))
        await asyncio.to_thread(asked.wait, 30)
        left.set()
        await answer
        await asyncio.to_thread(wait_until, lambda: not told.lab.history._readers._under_way)


@pytest.mark.parametrize(
    ("path", "parts"), [("history?each=gpu&points=2000", 3), ("fleet?at={now}", 2), ("episodes", 1)]
)
async def test_answers_are_written_and_compressed_in_a_thread(
    told: Past, monkeypatch: pytest.MonkeyPatch, path: str, parts: int
) -> None:
    """Part by part: the event loop only sends them, and nothing holds all threads for long."""
    written: list[tuple[str, bool]] = []

    def noting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **more: Any) -> Any:  # noqa: ANN401
            written.append((name, threading.current_thread() is threading.main_thread()))
            return call(*args, **more)

        return noted

    monkeypatch.setattr("gpuboard.web.answers.COMPRESS_FROM_BYTES", 1)
    monkeypatch.setattr("gpuboard.web.past.COMPRESS_FROM_BYTES", 1)
    monkeypatch.setattr("gpuboard.web.answers.igzip.compress", noting("compress", igzip.compress))
    monkeypatch.setattr("gpuboard.web.past.msgspec.json.encode", noting("encode", msgspec.json.encode))
    async with told.client() as client:
        answer = await client.get(path.format(now=told.now - 30))
    assert (answer.status_code, answer.headers["content-encoding"]) == (200, "gzip")
    assert not any(is_main for _, is_main in written)
    assert [name for name, _ in written].count("encode") > parts
    assert ("compress", False) in written


async def test_where_names_are_hidden_nobody_sees_who_followed_whom(told: Past) -> None:
    """A GPU that went from one person to the next was busy all the time."""
    lab = told.lab
    start = lab.clock.time
    for step in range(12):
        lab.say([reading(0, use=80.0, user="ana" if step < 6 else "ben")], sequence=100 + step)
        lab.tick(5.0)
    await lab.write()
    span = {"from": start, "to": start + 50}
    shown = (await told.get("history/states", gpu="GPU-0", **span))["states"]
    assert [one["users"] for one in shown][-2:] == [["ana"], ["ben"]]
    hidden = (await told.get("history/states", "counts", gpu="GPU-0", **span))["states"]
    assert [(one["verdict"], one["users"]) for one in hidden] == [("busy", None)]


async def test_the_snapshot_says_since_when_the_past_is_known(told: Past) -> None:
    """And whether it is written at the moment."""
    board = (await told.get("stream"))["board"]
    assert board["history"]["paused"] is False
    assert told.now - 120 < board["history"]["since"] <= told.now


async def test_metrics_say_what_the_history_costs(told: Past) -> None:
    """Seven families, each with a figure: what it takes, and whether it is written at all."""
    services = cast("Services", SimpleNamespace(history=told.desk))
    families = list(_history_families(services, told.lab.clock.time))
    figures = {one.name: value for one in families for _, value in one.samples}
    counted = ("batches_total", "samples_total", "refused_total", "cpu_seconds_total")
    measured = ("size_bytes", "oldest_seconds", "paused")
    assert figures.keys() == {f"gpuboard_history_{name}" for name in (*counted, *measured)}
    zero = {"gpuboard_history_refused_total", "gpuboard_history_paused"}
    assert {name for name, value in figures.items() if not value} == zero
