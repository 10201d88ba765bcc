"""Reads a probe that may hang, in at most two threads, and says what hung.

A call into a driver that hangs cannot be stopped, only left alone. So each round runs in a thread of its own.
When that is stuck at one device, a second goes on without the device. When that is stuck too, there is no
third: the driver counts as hung until one of the two comes back. A round that takes long but gets on, from
one question to the next, is slow and not hung; it is waited for, over several reads if need be.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from gpuboard.model.errors import ProbeError, ProbeFailed
from gpuboard.model.problems import problem
from gpuboard.probes.base import Devices, Probe
from gpuboard.probes.patience import Call

log = logging.getLogger(__name__)

MAX_THREADS: Final = 2
# How much of a read's time one question to a device may take, so that a second thread still has some.
DEVICE_SHARE: Final = 0.6
# How much of the time that is left, so that what hangs is known to hang before the time is over.
LEFT_SHARE: Final = 0.7
SLOW_SECONDS: Final = 1.0


class Hang(Struct, frozen=True, kw_only=True):
    """A call that has not come back; `touching` None means the driver as a whole."""

    touching: str | None
    since: float


class Round(Struct, frozen=True, kw_only=True):
    """What came of one round; without devices or an error there was no answer yet."""

    probe: str | None = None
    devices: Devices | None = None
    error: ProbeError | None = None
    hangs: tuple[Hang, ...] = ()
    # No answer yet, but one is on its way: the driver is slow, not hung.
    is_under_way: bool = False
    # The longest that one question took, or the whole round so far, when that was too long.
    slowest_seconds: float | None = None


class Watchdog:
    """Reads a probe again and again, whatever its driver does."""

    def __init__(
        self,
        make_probe: Callable[[], Probe],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._make_probe = make_probe
        self._clock = clock
        self._wall = wall
        self._current: _Attempt | None = None
        self._stuck: list[_Attempt] = []
        # Open sessions that no thread is reading with, the one to use next last.
        self._idle: list[Probe] = []

    def read(self, seconds: float, *, places: Mapping[str, str] | None = None) -> Round:
        """Return what the probe reads, or what is known when the time is over.

        `places` names each device's place as the probe will before it knows the device's UUID.
        """
        ends = self._clock() + seconds
        self._reap()
        while self._current is not None or self._may_start():
            if self._current is None:
                self._current = self._start(places or {}, seconds, ends - self._clock())
            attempt = self._current
            if attempt.watch(ends):
                self._current = None
                return self._finish(attempt)
            if not attempt.is_stuck:
                took = self._clock() - attempt.begun
                return Round(hangs=self._hangs(), is_under_way=True, slowest_seconds=took)
            attempt.abandon()
            self._stuck.append(attempt)
            self._current = None
        return Round(hangs=self._hangs())

    def close(self, seconds: float = 1.0) -> None:
        """Give the driver back, as far as it lets us."""
        self._reap()
        idle, self._idle = self._idle, []
        calls = [Call(probe.close, name="gpuboard-driver-close") for probe in idle]
        for call in calls:
            call.wait(seconds)

    @property
    def threads(self) -> int:
        """How many threads are stuck in the driver."""
        return sum(not attempt.done for attempt in self._stuck)

    def _may_start(self) -> bool:
        # Another thread helps only where there is a device to go on without.
        return len(self._stuck) < MAX_THREADS and all(attempt.touching for attempt in self._stuck)

    def _start(self, places: Mapping[str, str], seconds: float, left: float) -> "_Attempt":
        stuck_at = {attempt.touching for attempt in self._stuck if attempt.touching is not None}
        leave_out = stuck_at.union(places[uuid] for uuid in stuck_at if uuid in places)
        probe = self._idle.pop() if self._idle else self._make_probe()
        return _Attempt(
            probe,
            frozenset(leave_out),
            device_patience=min(DEVICE_SHARE * seconds, LEFT_SHARE * left),
            patience=LEFT_SHARE * left,
            clock=self._clock,
            wall=self._wall,
        )

    def _finish(self, attempt: "_Attempt") -> Round:
        self._idle.append(attempt.probe)
        name = attempt.probe.name
        hangs = self._hangs()
        slowest = attempt.slowest_seconds if attempt.slowest_seconds > SLOW_SECONDS else None
        try:
            return Round(probe=name, devices=attempt.result(), hangs=hangs, slowest_seconds=slowest)
        except ProbeError as error:
            return Round(probe=name, error=error, hangs=hangs)
        except Exception as error:
            log.exception("probe broke: probe=%s", name)
            detail = f"the probe {name} broke: {type(error).__name__}: {error}"
            return Round(probe=name, error=ProbeFailed(problem("driver-error", detail)), hangs=hangs)

    def _reap(self) -> None:
        """Take back the sessions of threads that got free; opening one anew may be what takes so long."""
        back = [attempt.probe for attempt in self._stuck if attempt.done]
        self._stuck = [attempt for attempt in self._stuck if not attempt.done]
        self._idle[:0] = back

    def _hangs(self) -> tuple[Hang, ...]:
        return tuple(Hang(touching=attempt.touching, since=attempt.since) for attempt in self._stuck)


class _Attempt:
    """One round of one probe in its own thread, and what it is touching."""

    def __init__(
        self,
        probe: Probe,
        leave_out: frozenset[str],
        *,
        device_patience: float,
        patience: float,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self.probe = probe
        self.touching: str | None = None
        self.since = wall()
        self.slowest_seconds = 0.0
        self.begun = clock()
        self._leave_out = leave_out
        self._device_patience = device_patience
        self._patience = patience
        self._clock = clock
        self._wall = wall
        self._touched_at: float | None = None
        self._is_abandoned = False
        self._call = Call(self._read, name="gpuboard-driver")

    def _read(self) -> Devices:
        try:
            return self.probe.read(self._touch)
        finally:
            self._note_pace()

    def _touch(self, gpu_uuid: str | None, /) -> bool:
        self._note_pace()
        if self._is_abandoned or gpu_uuid in self._leave_out:
            return False
        self.touching, self.since = gpu_uuid, self._wall()
        return True

    def _note_pace(self) -> None:
        now = self._clock()
        # What comes before the first touch is our own preparation, not the driver's time.
        if self._touched_at is not None:
            self.slowest_seconds = max(self.slowest_seconds, now - self._touched_at)
        self._touched_at = now

    @property
    def done(self) -> bool:
        """Whether the thread has come back."""
        return self._call.done

    @property
    def is_stuck(self) -> bool:
        """Whether it has been at one and the same question for too long."""
        return self._clock() >= self._stuck_from

    @property
    def _stuck_from(self) -> float:
        patience = self._patience if self.touching is None else self._device_patience
        return (self.begun if self._touched_at is None else self._touched_at) + patience

    def watch(self, until: float) -> bool:
        """Wait until the round is over, is stuck, or the time is; say whether it is over."""
        while not self.done and (now := self._clock()) < min(until, self._stuck_from):
            self._call.wait(min(until, self._stuck_from) - now)
        return self.done

    def abandon(self) -> None:
        """Let it touch nothing more, should it ever come back."""
        self._is_abandoned = True

    def result(self) -> Devices:
        """What the probe returned or raised."""
        return self._call.result()
