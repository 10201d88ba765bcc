"""The source contract: one way in which reports reach the board."""

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

from gpuboard.model.report import NodeReport
from gpuboard.model.verdict import Reason


class Sink(Protocol):
    """Where a source hands over what it learns; never blocks, never raises for bad content.

    The one seam for samples, with two verbs: the newest is *shown*, and each is *taken*, once and in order. A
    source that cannot send a sample again does both at once: it reports. Of a node that several sources have,
    the first configured is shown and taken.
    """

    def expect(
        self,
        nodes: Iterable[str],
        addresses: Mapping[str, str] | None = None,
        *,
        files: Mapping[str, str] | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Name all nodes that this source looks after now; one that is no longer named is gone.

        Where they are listed with an address, people reach them by that; where they are read from files, the
        file of one that falls silent is named. What the list says that they belong to is added to the
        groups of the settings.
        """

    def recall(self, nodes: Iterable[str]) -> None:
        """Say which of them this source has read in an earlier run: until they are read, nobody stands in."""

    def report(self, node: str, report: NodeReport) -> bool:
        """Hand over one fresh, checked report, to be shown and taken; False: shown, but not taken now."""

    def show(self, node: str, report: NodeReport) -> None:
        """Show a node's newest report without taking it: that was done before, or comes later in its turn."""

    def take(self, node: str, report: NodeReport, *, is_backfill: bool) -> bool:
        """Take one sample for good; they come in order, and each once.

        One that is back-filled fills the last hour, and never changes what is said now. False means "not
        now": this one and all after it come again later.

        Raises:
            SampleRefused: it was back-filled, and is too old to be taken ever; those after it may come.
        """

    def trouble(
        self,
        node: str,
        reason: Reason | None,
        *,
        state: Literal["refused", "error"] = "error",
        is_lasting: bool = False,
    ) -> None:
        """Say why a node could not be read this time; its last data stays and ages. None: that is over.

        A trouble is lasting when the node was tried again at once and failed again: then nothing that it said
        before holds any more, however young.
        """


class Source(Protocol):
    """One way in which reports reach the board."""

    kind: str

    async def run(self, sink: Sink) -> None:
        """Hand over reports until cancelled.

        One node's failure never delays another node; nothing here blocks the event loop.
        """
