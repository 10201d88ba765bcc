"""Probes that hang on command, to see who waits for whom."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping

import pytest

from gpuboard.agent.watchdog import Round, Watchdog
from gpuboard.model.report import GpuReading
from gpuboard.probes.base import Devices, Touch, place, touch_all
from tests.started import eventually

DEADLINE = 0.4
# Nothing in a test may wait for so long.
FOR_EVER = 1e6


def uuid(index: int) -> str:
    """The UUID of the GPU at this index."""
    return f"GPU-{index}"


class Hardware:
    """A driver of three GPUs, any of which may hang; shared by all probes that read it."""

    def __init__(self) -> None:
        self.free = {name: threading.Event() for name in (None, "GPU-0", "GPU-1", "GPU-2")}
        for event in self.free.values():
            event.set()
        self.probes: list[HangingProbe] = []
        self.new_sessions_name: Callable[[int], str] = uuid
        self.inside = 0

    def probe(self) -> "HangingProbe":
        """Open one more session."""
        self.probes.append(HangingProbe(self))
        return self.probes[-1]

    def ask(self, name: str | None) -> None:
        """Come back when the device does."""
        self.inside += 1
        self.free[name].wait()
        self.inside -= 1

    def hang(self, *names: str | None) -> None:
        """From now on these do not answer."""
        for name in names:
            self.free[name].clear()

    def release(self, *names: str | None) -> None:
        """And now they do again."""
        for name in names or self.free:
            self.free[name].set()


class HangingProbe:
    """Reads the hardware, naming each device before it is asked."""

    name = "hanging"

    def __init__(self, hardware: Hardware) -> None:
        self._hardware = hardware
        self._name = hardware.new_sessions_name
        self.is_closed = False

    def read(self, touch: Touch = touch_all) -> Devices:
        """Ask the driver, then each GPU."""
        touch(None)
        self._hardware.ask(None)
        gpus = []
        for index in range(3):
            if touch(self._name(index)):
                self._hardware.ask(uuid(index))
                gpus.append(GpuReading(uuid=uuid(index), index=index, utilization_percent=50))
        return Devices(gpus=tuple(gpus))

    def close(self) -> None:
        """Note it."""
        self.is_closed = True


@pytest.fixture
def hardware() -> Iterator[Hardware]:
    """Three GPUs that answer; whatever hangs at the end is let go."""
    hardware = Hardware()
    yield hardware
    hardware.release()


@pytest.fixture
def watchdog(hardware: Hardware) -> Watchdog:
    """The one that reads them."""
    return Watchdog(hardware.probe)


def uuids(came: Round) -> list[str] | None:
    """The GPUs that answered; None when the driver did not."""
    return None if came.devices is None else [gpu.uuid for gpu in came.devices.gpus]


def hung(came: Round) -> list[str | None]:
    """What does not answer."""
    return [hang.touching for hang in came.hangs]


def read_until(watchdog: Watchdog, *expected: str | None, places: Mapping[str, str] | None = None) -> Round:
    """The first round in which just these hang; a busy machine may need some more to be sure."""
    for _ in range(50):
        came = watchdog.read(DEADLINE, places=places)
        if hung(came) == list(expected) and not came.is_under_way:
            return came
    pytest.fail(f"what hangs stays {hung(came)}")


def test_one_session_serves_round_after_round(hardware: Hardware, watchdog: Watchdog) -> None:
    """As long as nothing hangs there is one probe and nothing to say."""
    for _ in range(3):
        came = watchdog.read(DEADLINE)
        assert (uuids(came), hung(came), came.probe) == (["GPU-0", "GPU-1", "GPU-2"], [], "hanging")
    assert len(hardware.probes) == 1


def test_a_gpu_that_hangs_is_left_out_and_the_others_stay_live(
    hardware: Hardware, watchdog: Watchdog
) -> None:
    """In the very round in which it hangs, and in all that follow; the time is when it was asked."""
    watchdog.read(DEADLINE)
    hardware.hang("GPU-1")
    asked = time.time()
    first = read_until(watchdog, "GPU-1")
    later = watchdog.read(DEADLINE)
    assert uuids(first) == ["GPU-0", "GPU-2"]
    assert (uuids(later), hung(later)) == (["GPU-0", "GPU-2"], ["GPU-1"])
    assert first.hangs[0].since == later.hangs[0].since == pytest.approx(asked, abs=1)
    assert (hardware.inside, watchdog.threads) == (1, 1)


def test_a_gpu_that_comes_back_is_read_again(hardware: Hardware, watchdog: Watchdog) -> None:
    """The thread that was stuck ends, and its session is used again rather than a new one."""
    hardware.hang("GPU-1")
    read_until(watchdog, "GPU-1")
    hardware.release("GPU-1")
    eventually(lambda: watchdog.threads == 0)
    came = watchdog.read(DEADLINE)
    assert (uuids(came), hung(came)) == (["GPU-0", "GPU-1", "GPU-2"], [])
    assert len(hardware.probes) == 2


def test_a_driver_that_hangs_as_a_whole_gets_no_second_thread(hardware: Hardware, watchdog: Watchdog) -> None:
    """There is nothing to go on without; later rounds do not even wait."""
    hardware.hang(None)
    first = read_until(watchdog, None)
    later = watchdog.read(FOR_EVER)
    assert (uuids(first), uuids(later), hung(later)) == (None, None, [None])
    assert hardware.inside == 1
    hardware.release()
    eventually(lambda: watchdog.threads == 0)
    assert uuids(watchdog.read(DEADLINE)) == ["GPU-0", "GPU-1", "GPU-2"]


def test_there_are_never_more_than_two_threads(hardware: Hardware, watchdog: Watchdog) -> None:
    """When the second hangs too the driver counts as hung, however often one asks."""
    hardware.hang("GPU-0", "GPU-2")
    read_until(watchdog, "GPU-0", "GPU-2")
    for _ in range(3):
        came = watchdog.read(DEADLINE)
        assert (uuids(came), hung(came)) == (None, ["GPU-0", "GPU-2"])
    assert (hardware.inside, watchdog.threads, len(hardware.probes)) == (2, 2, 2)
    hardware.release("GPU-0")
    eventually(lambda: watchdog.threads == 1)
    came = watchdog.read(DEADLINE)
    assert (uuids(came), hung(came)) == (["GPU-0", "GPU-1"], ["GPU-2"])


def test_a_device_is_left_out_under_all_its_names(hardware: Hardware, watchdog: Watchdog) -> None:
    """A new session knows it by its place before it knows its UUID."""
    watchdog.read(DEADLINE)
    hardware.hang("GPU-1")
    hardware.new_sessions_name = place
    places = {uuid(index): place(index) for index in range(3)}
    came = read_until(watchdog, "GPU-1", places=places)
    assert (uuids(came), hung(came)) == (["GPU-0", "GPU-2"], ["GPU-1"])


def test_a_probe_that_breaks_is_an_error_not_a_crash() -> None:
    """Even our own mistakes must not stop the agent."""

    class Broken:
        name = "broken"

        def read(self, touch: Touch = touch_all) -> Devices:
            touch(None)
            raise ZeroDivisionError

        def close(self) -> None:
            """Nothing is open."""

    came = Watchdog(Broken).read(DEADLINE)
    assert came.error is not None
    assert (came.error.problem.kind, "ZeroDivisionError" in came.error.problem.text) == ("driver-error", True)


def test_closing_gives_the_sessions_back_and_reading_opens_new_ones(
    hardware: Hardware, watchdog: Watchdog
) -> None:
    """A driver can be updated only when nobody holds it."""
    watchdog.read(DEADLINE)
    watchdog.close()
    assert [probe.is_closed for probe in hardware.probes] == [True]
    assert uuids(watchdog.read(DEADLINE)) == ["GPU-0", "GPU-1", "GPU-2"]
    assert len(hardware.probes) == 2
