"""Reads a probe that may hang, in at most two threads, and says what hung.

A call into a driver that hangs cannot be stopped, only left alone. So each round runs in a thread of its own.
When it does not come back in time, a second one goes on without the device that the first is stuck at. When
that one is stuck too, there is no third: the driver counts as hung until one of the two comes back.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from gpuboard.model.errors import ProbeError, ProbeFailed
from gpuboard.probes.base import Devices, Probe
from gpuboard.probes.patience import Call
from gpuboard.probes.problems import problem

log = logging.getLogger(__name__)

MAX_THREADS: Final = 2
# How much of the time the first thread gets, so that the second still has some.
FIRST_SHARE: Final = 0.6
SLOW_SECONDS: Final = 1.0


class Hang(Struct, frozen=True, kw_only=True):
    """A call that has not come back; `touching` None means the driver as a whole."""

    touching: str | None
    since: float


class Round(Struct, frozen=True, kw_only=True):
    """What came of one round; without devices or an error, the driver did not answer at all."""

    probe: str | None = None
    devices: Devices | None = None
    error: ProbeError | None = None
    hangs: tuple[Hang, ...] = ()
    # The longest that one device (or the driver) took, when that was too long.
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
        self._stuck: list[_Attempt] = []
        # Open sessions, the one to use next last. There is one more than the stuck threads hold.
        self._idle: list[Probe] = []

    def read(self, seconds: float, *, places: Mapping[str, str] | None = None) -> Round:
        """Return what the probe reads, or what is known when the time is over.

        `places` names each device's place as the probe will before it knows the device's UUID.
        """
        ends = self._clock() + seconds
        self._reap()
        while len(self._stuck) < MAX_THREADS and all(attempt.touching for attempt in self._stuck):
            attempt = self._start(places or {})
            share = 1.0 if self._stuck else FIRST_SHARE
            done = attempt.wait((ends - self._clock()) * share)
            # Another thread helps only where there is a device to go on without.
            if done or (attempt.touching is None and attempt.wait(ends - self._clock())):
                return self._finish(attempt)
            attempt.abandon()
            self._stuck.append(attempt)
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

    def _start(self, places: Mapping[str, str]) -> "_Attempt":
        stuck_at = {attempt.touching for attempt in self._stuck if attempt.touching is not None}
        leave_out = stuck_at.union(places[uuid] for uuid in stuck_at if uuid in places)
        probe = self._idle.pop() if self._idle else self._make_probe()
        return _Attempt(probe, frozenset(leave_out), clock=self._clock, wall=self._wall)

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
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self.probe = probe
        self.touching: str | None = None
        self.since = wall()
        self.slowest_seconds = 0.0
        self._leave_out = leave_out
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

    def wait(self, seconds: float) -> bool:
        """Wait at most this long; say whether the round is over."""
        return self._call.wait(seconds)

    def abandon(self) -> None:
        """Let it touch nothing more, should it ever come back."""
        self._is_abandoned = True

    def result(self) -> Devices:
        """What the probe returned or raised."""
        return self._call.result()
