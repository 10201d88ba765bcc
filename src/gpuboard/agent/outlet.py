"""Where an agent hands its reports: the contract, and the simplest outlet."""

import sys
from typing import BinaryIO, Protocol

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.report import NodeReport
from gpuboard.wire.report import encode_report


class TimedReport(Struct, frozen=True):
    """A report with the moment it was taken, by the node's monotonic clock."""

    report: NodeReport
    taken: float

    def aged(self, now: float) -> NodeReport:
        """The report as it must be sent now: it says itself how old it is."""
        # A sampler whose driver is slow hands on what it read before, with the age that it had then.
        return replace(self.report, age_seconds=self.report.age_seconds + max(0.0, now - self.taken))


class Outlet(Protocol):
    """One way in which an agent hands its reports on."""

    def start(self) -> None:
        """Begin; anything slow happens in threads of the outlet's own.

        Raises:
            UsageError: it cannot work like this; the text says what to change.
        """

    def offer(self, sample: TimedReport) -> None:
        """Take the newest sample; never blocks."""

    def stop(self) -> None:
        """End, within a second or two."""


class LinesOutlet:
    """Prints a report per line: what the board's `local` source reads."""

    def __init__(self, out: BinaryIO | None = None) -> None:
        self._out = out or sys.stdout.buffer

    def start(self) -> None:
        """Nothing to prepare."""

    def offer(self, sample: TimedReport) -> None:
        """Print it; a reader that has gone ends the agent."""
        self._out.write(encode_report(sample.report) + b"\n")
        self._out.flush()

    def stop(self) -> None:
        """Nothing to end."""
