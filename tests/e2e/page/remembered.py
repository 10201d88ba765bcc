"""A past for the page alone: what the API of the history answers, invented and the same at every run.

Every GPU has a rhythm of six hours: four at work for one person, half an hour held idle, then free. Nobody
looked from 01:00 to 01:30 UTC of any day. One node was lost from 00:40 to 00:50 UTC.
"""

import gzip
import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route, WebSocketRoute

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400
RHYTHM: Final = 6 * HOUR
WORK: Final = 4 * HOUR
HELD: Final = WORK + HOUR // 2
UNSEEN: Final = (HOUR, HOUR + HOUR // 2)
LOST: Final = (40 * MINUTE, 50 * MINUTE)
PEOPLE: Final = ("chen", "tsai", "nguyen", "rossi", "weber")
GIB: Final = 2**30

Answer = Callable[[dict[str, list[str]]], Any]


class State(NamedTuple):
    """What a GPU was for so long, and whose."""

    begin: int
    end: int
    verdict: str
    person: str | None


def seen(at: float) -> bool:
    """Whether anybody looked."""
    return not UNSEEN[0] <= at % DAY < UNSEEN[1]


def state(uuid: str, at: float) -> State:
    """What this GPU was then."""
    shift = sum(uuid.encode()) * 977 % RHYTHM
    begin = int((at + shift) // RHYTHM * RHYTHM - shift)
    turn = int((at + shift) // RHYTHM)
    person = PEOPLE[(sum(uuid.encode()) + turn) % len(PEOPLE)]
    if at < begin + WORK:
        return State(begin, begin + WORK, "busy", person)
    if at < begin + HELD:
        return State(begin + WORK, begin + HELD, "idle", person)
    return State(begin + HELD, begin + RHYTHM, "free", None)


FIGURES: Final[dict[str, tuple[float, float, float]]] = {
    # Busy, idle, free.
    "utilization_percent": (92, 0, 0),
    "memory_used_bytes": (60 * GIB, 60 * GIB, 0),
    "power_watts": (600, 90, 60),
    "temperature_celsius": (68, 45, 35),
    "host_load_percent": (40, 40, 40),
    "host_memory_used_bytes": (200 * GIB, 200 * GIB, 200 * GIB),
}
KINDS: Final = ("busy", "idle", "free")


def value(figure: str, uuid: str, at: float) -> float | None:
    """A figure of a GPU (or of a node, which is the same all day) then."""
    if not seen(at):
        return None
    wave = (at // 300 % 7) if figure == "utilization_percent" else 0
    level = FIGURES[figure][KINDS.index(state(uuid, at).verdict)]
    return level - wave if level else 0


class Remembered:
    """The past of a board, and what the page asked about it."""

    def __init__(self, url: str, *, now: float, since_days: float = 40, paused: bool = False) -> None:
        self.url = url
        self.now = now
        self.info = {"since": now - since_days * DAY, "paused": paused}
        # When nothing was written, and what was learnt later: spans as the API tells them.
        self.pauses: list[dict[str, float]] = []
        self.learnt_later: list[dict[str, float]] = []
        # Of states, too many changes came before.
        self.told_from = 0
        self.asked: list[str] = []
        with urllib.request.urlopen(f"{url}api/v1/stream", timeout=60) as answer:
            self.snapshot: dict[str, Any] = json.load(answer)
        gpus = self.snapshot["gpus"]
        self.gpus: dict[str, tuple[str, str]] = {
            uuid: (node, label)
            for uuid, node, label in zip(gpus["uuid"], gpus["node"], gpus["label"], strict=True)
        }

    def install(self, page: Page) -> None:
        """Answer in the board's place, and let it say that it remembers."""
        answers: dict[str, Answer] = {
            "history": self.figures,
            "history/states": self.states,
            "history/track": self.track,
            "episodes": self.episodes,
            "events": self.events,
            "stream": self.moment,
        }

        def told(route: Route) -> None:
            parts = urlsplit(route.request.url)
            self.asked.append(f"{parts.path.partition('/api/v1/')[2]}?{parts.query}")
            answer = answers[parts.path.partition("/api/v1/")[2]](parse_qs(parts.query))
            route.fulfill(json=answer)

        names = "|".join(answers)
        page.route(re.compile(rf"/api/v1/({names})\?.*(from|at)="), told)
        claim(page, self.info)

    def figures(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """Points of mean, least and most."""
        times, step = points(query)
        each = "each" in query
        names = query["figure"][0].split(",")
        wanted = query.get("gpu") or [
            uuid for uuid, (node, _) in self.gpus.items() if node in query.get("node", [node])
        ]
        subjects: list[tuple[str, str, str | None]] = [
            (uuid, *self.gpus[uuid]) for uuid in wanted if uuid in self.gpus
        ]
        if "node" in query and not each:
            subjects = [("", query["node"][0], None)]
        return {
            "from": times[0],
            "to": times[-1] + step,
            "step_seconds": step,
            "tier": "full",
            "times": times,
            "paused": self.pauses,
            "series": [
                {"gpu": uuid or None, "node": node, "label": label, "figure": name}
                | extremes([value(name, uuid, at + step / 2) for at in times], alone=each)
                for uuid, node, label in subjects
                for name in names
            ],
        }

    def states(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """The lane of one GPU."""
        begin, end = span(query)
        begin = max(begin, self.told_from)
        uuid = query["gpu"][0]
        found = []
        for at, until in stretches(uuid, begin, end):
            was = state(uuid, at)
            users = [was.person] if was.person else []
            found.append({"from": at, "to": until, "verdict": was.verdict, "users": users})
        return {"from": begin, "to": end, "states": found, "learnt_later": self.learnt_later}

    def episodes(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """Who used it."""
        begin, end = span(query)
        found = []
        for uuid in query.get("gpu", list(self.gpus)[:4]):
            at = float(begin)
            while at < end:
                was = state(uuid, at)
                if was.verdict == "busy":
                    node, label = self.gpus[uuid]
                    found.append(
                        {
                            "gpu": uuid,
                            "node": node,
                            "label": label,
                            "person": was.person,
                            "program": "python train.py",
                            "from": was.begin,
                            "to": None if was.end > self.now else was.end + HOUR // 2,
                            "memory_peak_bytes": 60 * GIB,
                            "utilization_mean_percent": 91.5,
                        }
                    )
                at = was.end
        return {"episodes": found[: int(query["limit"][0])]}

    def events(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """The night's loss of a node."""
        begin, end = span(query)
        nights = [night * DAY for night in range(int(begin // DAY), int(end // DAY) + 1)]
        return {
            "events": [
                {"node": node, "gpu": None, "kind": "lost", "from": night + LOST[0], "to": night + LOST[1]}
                | {"detail": None, "text": None}
                for night in nights
                for node in self.snapshot["nodes"]["name"][:1]
                if begin <= night + LOST[0] < end
            ]
        }

    def track(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """How many were free."""
        times, step = points(query)
        free = [
            sum(state(uuid, at).verdict == "free" for uuid in self.gpus) if seen(at) else None for at in times
        ]
        events = self.events(query)["events"]
        return {
            "times": times,
            "step_seconds": step,
            "free": free,
            "busy": [None if count is None else len(self.gpus) - count for count in free],
            "counted": [len(self.gpus)] * len(times),
            "events": [
                {"at": event["from"], "kind": event["kind"], "node": event["node"]} for event in events
            ],
        }

    def moment(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """The whole board then, as the stream's own snapshot."""
        at = float(query["at"][0])
        gpus = dict(self.snapshot["gpus"])
        was = [state(uuid, at) if seen(at) else None for uuid in gpus["uuid"]]
        gpus["verdict"] = [each.verdict if each else "stale" for each in was]
        gpus["since"] = [each.begin if each else None for each in was]
        gpus["reason"] = [{"code": "then", "text": "as recorded", "values": {}} for _ in was]
        for figure in ("utilization_percent", "memory_used_bytes", "power_watts", "temperature_celsius"):
            gpus[figure] = [value(figure, uuid, at) for uuid in gpus["uuid"]]
        gpus["utilization_minute_percent"] = gpus["utilization_percent"]
        gpus["claim"] = gpus["ended_claim"] = [None] * len(was)
        gpus["flags"] = [[] for _ in was]
        gpus["users"] = [[holder(each.person)] if each and each.person else [] for each in was]
        board = self.snapshot["board"] | {"history": self.info}
        return self.snapshot | {"at": at, "board": board, "gpus": gpus}


def claim(page: Page, info: dict[str, Any] | None) -> None:
    """Let the board say this of its history; None: that it has none."""

    def tell(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def said(frame: str | bytes) -> None:
            message = json.loads(frame if isinstance(frame, str) else gzip.decompress(frame))
            if message["kind"] == "snapshot":
                message["board"]["history"] = info
            socket.send(json.dumps(message))

        server.on_message(said)

    page.route_web_socket(re.compile(r"/api/v1/stream"), tell)


def holder(person: str) -> dict[str, Any]:
    """Somebody on a GPU, as the stream says it."""
    facts = {"uid": None, "memory_used_bytes": 60 * GIB, "since": None, "processes": 1, "measured": 1}
    return {"name": person, "user": person, **facts}


def span(query: dict[str, list[str]]) -> tuple[int, int]:
    """From when to when is asked."""
    return int(query["from"][0]), int(query["to"][0])


def points(query: dict[str, list[str]]) -> tuple[list[int], int]:
    """The starts of as many points as asked for, and their length."""
    begin, end = span(query)
    step = max(10, (end - begin) // int(query["points"][0]) // 10 * 10)
    return list(range(begin // step * step, end, step)), step


def extremes(mean: list[float | None], *, alone: bool) -> dict[str, Any]:
    """The mean with what was least and most."""
    if alone:
        return {"mean": mean}
    least = [None if each is None else max(0, each * 0.8) for each in mean]
    most = [None if each is None else each * 1.06 for each in mean]
    return {"mean": mean, "least": least, "most": most}


def stretches(uuid: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """From change to change, without what nobody saw."""
    at = begin
    while at < end:
        today = at // DAY * DAY
        if not seen(at):
            at = today + UNSEEN[1]
            continue
        unseen = today + UNSEEN[0] if at % DAY < UNSEEN[0] else today + DAY + UNSEEN[0]
        until = min(state(uuid, at).end, unseen, end)
        yield at, until
        at = until
