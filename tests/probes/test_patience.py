import threading
import time

import pytest

from gpuboard.probes.patience import Call, Patience


def test_a_call_gives_what_its_function_gave() -> None:
    """Or raises what it raised, to whoever asks."""
    good, bad = Call(lambda: 7, name="good"), Call(lambda: 1 // 0, name="bad")
    assert (good.wait(5), good.result(), bad.wait(5)) == (True, 7, True)
    with pytest.raises(ZeroDivisionError):
        bad.result()


def test_whoever_waits_waits_only_so_long() -> None:
    """And no second question is asked while the first is open; its late answer is nobody's."""
    gate = threading.Event()
    patience = Patience[int](seconds=0.05, name="slow")
    asked: list[int] = []

    def question() -> int:
        asked.append(1)
        gate.wait()
        return len(asked)

    assert [patience.ask(question), patience.ask(question)] == [None, None]
    assert asked == [1]
    gate.set()
    while patience.ask(question) is None:
        time.sleep(0.01)
    assert len(asked) >= 2


def test_a_question_that_fails_has_no_answer() -> None:
    """It is logged, and stops nobody."""
    assert Patience[int](seconds=5, name="bad").ask(lambda: 1 // 0) is None
