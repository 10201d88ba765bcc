"""Garbage is collected while everybody waits: seldom, and never much at once."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from gpuboard.assembly.memory import collect_garbage_seldom


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """How many objects each collection found, with the board's rules."""
    found: list[int] = []
    before = gc.get_threshold()

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            found.append(info["collected"])

    gc.collect()
    gc.callbacks.append(note)
    try:
        collect_garbage_seldom()
        yield found
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)
        gc.unfreeze()


def leave_garbage(count: int) -> None:
    """What refused connections leave behind: things that know each other."""
    for _ in range(count):
        one: list[Any] = []
        one.append(one)


def test_no_collection_has_much_to_do(collections: list[int]) -> None:
    """A microsecond each: of a hundred thousand at once every honest node noticed something."""
    leave_garbage(250_000)
    assert 0 < max(collections) <= 20_000


def test_ordinary_work_is_not_interrupted_by_them(collections: list[int]) -> None:
    """What is let go at once is no garbage."""
    for number in range(100_000):
        _ = [number]
    assert len(collections) <= 1
