"""The board's own parts and how they are: the assembly names them, the web shows them."""

import itertools
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from gpuboard.model.report import moved
from gpuboard.model.verdict import Reason
from gpuboard.wire.clean import clean_text
from gpuboard.wire.component import ComponentView

_REASON_LENGTH: Final = 500

# Why a part is in trouble; None: all is well. Only looks at what the part has noted, so it never waits.
AskTrouble = Callable[[], Reason | None]
# How many nodes a source has; None: it does not know yet.
AskNodes = Callable[[], int | None]


class _Part(Struct):
    component: str
    kind: str
    name: str
    ask: AskTrouble
    ask_nodes: AskNodes
    trouble: Reason | None = None
    since: float | None = None


class Components:
    """All parts that can be in trouble by themselves, each with the moment since when it is."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def add(
        self, kind: str, name: str, ask: AskTrouble, *, nodes: AskNodes = lambda: None
    ) -> Callable[[], None]:
        """Name a part, and get what takes it away again; two of one kind are told apart by a number."""
        taken = {part.component for part in self._parts}
        names = itertools.chain((kind,), (f"{kind}-{number}" for number in itertools.count(2)))
        component = next(each for each in names if each not in taken)
        part = _Part(component, kind, clean_text(name), ask, nodes)
        self._parts.append(part)
        return lambda: self._parts.remove(part)

    def look(self, now: float) -> None:
        """Ask every part how it is."""
        for part in self._parts:
            part.trouble = part.ask()
            if part.trouble is None:
                part.since = None
            elif part.since is None:
                # Another reason later is still the same trouble: it lasts since it began.
                part.since = now

    def shift(self, seconds: float) -> None:
        """Hear that the clock was set: what is wrong has been so for as long as before."""
        for part in self._parts:
            part.since = moved(part.since, seconds)

    def views(self) -> list[ComponentView]:
        """All parts as they were at the last look."""
        return [_view(part) for part in self._parts]

    def troubles(self) -> list[ComponentView]:
        """Those that were in trouble at the last look."""
        return [_view(part) for part in self._parts if part.trouble is not None]


def _view(part: _Part) -> ComponentView:
    trouble = part.trouble
    return ComponentView(
        component=part.component,
        kind=part.kind,
        name=part.name,
        state="ok" if trouble is None else "trouble",
        nodes=part.ask_nodes(),
        code=None if trouble is None else trouble.code,
        reason=None if trouble is None else clean_text(trouble.text)[:_REASON_LENGTH],
        since=part.since,
    )
