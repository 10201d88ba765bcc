"""Work is charged by the processor's time, whatever else the machine does meanwhile."""

import time

from gpuboard.outside.stopwatch import Stopwatch


def compute(seconds: float) -> None:
    """Use so much of the processor."""
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass


def test_work_is_charged_in_full() -> None:
    """Slow work costs what it took of the processor, and not much more."""
    watch = Stopwatch()
    started = watch.start()
    compute(0.1)
    assert 0.1 <= watch.stop(started) < 0.2


def test_waiting_costs_nothing() -> None:
    """Whoever was kept waiting is not charged for it."""
    watch = Stopwatch()
    started = watch.start()
    time.sleep(0.3)
    assert watch.stop(started) < 0.1


def test_quick_work_is_charged_without_a_look_at_the_processor() -> None:
    """By the wall clock, which is right for it."""
    watch = Stopwatch()
    assert 0 < watch.stop(watch.start()) < 0.1


def test_what_others_used_long_ago_is_not_charged() -> None:
    """What is known of the thread is fresh when slow work begins."""
    watch = Stopwatch()
    compute(0.5)
    started = watch.start()
    time.sleep(0.05)
    assert watch.stop(started) < 0.3


def test_nobody_pays_for_the_quick_work_of_others() -> None:
    """Not even when it has to wait right after them."""
    watch = Stopwatch()
    watch.start()
    while time.perf_counter() - watch._read_at < 0.005:
        started = watch.start()
        compute(0.0002)
        watch.stop(started)
    started = watch.start()
    time.sleep(0.1)
    assert watch.stop(started) < 0.02
