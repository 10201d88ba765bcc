"""The fleet: what every node said last, how old that is, and the verdicts that follow."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from msgspec.structs import replace

from gpuboard.fleet.activity import GpuMemory
from gpuboard.fleet.clock import Clock
from gpuboard.fleet.freshness import Trouble
from gpuboard.fleet.names import Names
from gpuboard.fleet.node import Node
from gpuboard.model.report import GpuReading, NodeReport
from gpuboard.model.verdict import Claim, Reason, Verdict
from gpuboard.verdict import Thresholds, holders, judge

FORGET_AFTER_SECONDS: Final = 24 * 3600.0


class Fleet:
    """The live state of all nodes; consumers ask it or follow its changes, it knows none of them."""

    def __init__(
        self,
        clock: Clock,
        *,
        thresholds: Thresholds | None = None,
        names: Names | None = None,
        forget_after_seconds: float = FORGET_AFTER_SECONDS,
    ) -> None:
        self.clock = clock
        self.thresholds = thresholds or Thresholds()
        self.names = names or Names()
        self._forget_after = forget_after_seconds
        self._nodes: dict[str, Node] = {}
        self._claims: Mapping[tuple[str, int], Claim] = {}
        self._touched: set[str] = set()
        self._changed: set[str] = set()
        self._gone: set[str] = set()
        # Which node named a GPU first.
        self._owners: dict[str, str] = {}

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, name: str) -> Node | None:
        """The node of this name."""
        return self._nodes.get(name)

    def sink(self, source: str) -> "FleetSink":
        """Where one source hands over what it learns."""
        return FleetSink(self, source)

    def claim_of(self, node: str, reading: GpuReading) -> Claim | None:
        """The claim on a GPU that holds now, if there is one."""
        if not self._claims:
            return None
        index = reading.index
        if reading.mig_parent_uuid is not None:
            # People claim whole GPUs by their number; an instance goes with its GPU.
            entry = self._nodes.get(node)
            parents = (
                [gpu for gpu in entry.readings() if gpu.uuid == reading.mig_parent_uuid] if entry else []
            )
            index = parents[0].index if parents else -1
        claim = self._claims.get((node, index))
        if claim is None or (claim.until is not None and claim.until <= self.clock.now()):
            return None
        return replace(claim, who=self.names.person(claim.who))

    def set_claims(self, claims: Mapping[tuple[str, int], Claim]) -> None:
        """Replace all claims; keys are node and GPU index."""
        self._touched.update(node for node, _ in {*self._claims, *claims})
        self._claims = claims

    def accept(self, node: Node, report: NodeReport) -> None:
        """Take in a node's newest report."""
        now = self.clock.now()
        if node.twins or node.gpus.keys() != {reading.uuid for reading in report.gpus or ()}:
            report = self._meet_gpus(node, report)
        node.report = report
        node.received_at = now
        node.sampled_at = now - report.age_seconds
        node.interval = report.interval_seconds or node.interval
        node.clock_offset = None if report.taken_at is None else report.taken_at - node.sampled_at
        node.trouble = None
        node.left_at = None
        idle_line = self.thresholds.idle_utilization_percent
        for reading in report.gpus or ():
            node.gpus[reading.uuid].observe(reading, node.sampled_at, idle_line)
        self._touched.add(node.name)

    def _meet_gpus(self, node: Node, report: NodeReport) -> NodeReport:
        """Get to know GPUs that the node did not have a moment ago, and forget those that it has no longer.

        Only GPUs of this report are remembered: a node that invents new ones cannot fill the memory.
        """
        report = self._with_own_identities(node, report)
        before = node.gpus
        node.gpus = {gpu.uuid: before.get(gpu.uuid) or GpuMemory() for gpu in report.gpus or ()}
        for uuid in before.keys() - node.gpus.keys():
            if self._owners.get(uuid) == node.name:
                del self._owners[uuid]
        return report

    def _with_own_identities(self, node: Node, report: NodeReport) -> NodeReport:
        """Give GPUs that another node has already named a name of this node's own.

        Mostly it is one machine under two names. But a node may also lie: then it must not be able to make
        another node's GPUs disappear, so both are shown, and both nodes are told apart by the problem.
        """
        node.twins = set()
        readings = []
        for reading in report.gpus or ():
            owner = self._owners.get(reading.uuid)
            if owner is None or owner == node.name or owner not in self._nodes:
                self._owners[reading.uuid] = node.name
                readings.append(reading)
            else:
                node.twins.add(owner)
                own = f"{node.name}:{reading.uuid}"[:256]
                readings.append(replace(reading, uuid=own, uuid_is_synthetic=True))
        return replace(report, gpus=tuple(readings)) if node.twins else report

    def ensure(self, name: str, source: str) -> Node | None:
        """The node of this name for this source; None if another source has it."""
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = Node(name, source)
            self._touched.add(name)
        elif node.source != source:
            if source not in node.also_from:
                node.also_from.add(source)
                self._touched.add(name)
            return None
        return node

    def _forget(self, name: str) -> None:
        if self._nodes.pop(name, None) is not None:
            self._gone.add(name)
            self._owners = {uuid: owner for uuid, owner in self._owners.items() if owner != name}

    def settle(self) -> None:
        """Bring ages and verdicts up to now; cheap when nothing happened."""
        self._changed.update(node.name for node in self._judge_touched())

    def take_changes(self) -> Iterator[Node]:
        """Settle, and hand out each node that may have changed since the last time as soon as it is judged.

        What a verdict has just read is still in the cache of the processor then.
        """
        changed, self._changed = self._changed, set()
        for node in self._judge_touched():
            changed.discard(node.name)
            yield node
        yield from (self._nodes[name] for name in changed & self._nodes.keys())

    def take_gone(self) -> set[str]:
        """The nodes that were forgotten since the last time."""
        gone, self._gone = self._gone, set()
        return gone

    def _judge_touched(self) -> Iterator[Node]:
        now = self.clock.now()
        for node in [n for n in self._nodes.values() if n.left_at is not None]:
            if now - (node.left_at or now) >= self._forget_after:
                self._forget(node.name)
        for node in self._nodes.values():
            fresh = node.freshness_at(now)
            if fresh.state != node.freshness.state or (fresh.state != "live" and fresh != node.freshness):
                self._touched.add(node.name)
            node.freshness = fresh
        touched, self._touched = self._touched & self._nodes.keys(), set()
        for name in touched:
            node = self._nodes[name]
            self._judge(node, now)
            yield node

    def _judge(self, node: Node, now: float) -> None:
        problems = node.problems()
        for reading in node.readings():
            memory = node.gpus[reading.uuid]
            people = holders(reading, self.names.person)
            if people != memory.people:
                memory.people, memory.shown = people, None
            verdict = judge(
                reading,
                people=people,
                now=now,
                problems=problems,
                freshness=node.freshness,
                claim=self.claim_of(node.name, reading),
                activity=memory.activity(),
                thresholds=self.thresholds,
            )
            memory.verdict = _since(verdict, memory.verdict, now=node.sampled_at or now)


def _since(verdict: Verdict, before: Verdict | None, *, now: float) -> Verdict:
    """A verdict lasts since its word last changed, unless it knows better itself."""
    # Free is a GPU since somebody left it, not since its node came back or the board began to look.
    if verdict.since is not None or before is None or verdict.word == "free":
        return verdict
    return replace(verdict, since=before.since if before.word == verdict.word else now)


class FleetSink:
    """The fleet as one source sees it."""

    def __init__(self, fleet: Fleet, source: str) -> None:
        self._fleet = fleet
        self._source = source
        self._expected: set[str] = set()

    def expect(self, nodes: Iterable[str]) -> None:
        """Name all nodes that this source looks after now; one that is no longer named is gone."""
        expected = set(nodes)
        for name in expected - self._expected:
            self._fleet.ensure(name, self._source)
        for name in self._expected ^ expected:
            node = self._fleet.get(name)
            if node is not None and node.source == self._source:
                node.left_at = None if name in expected else self._fleet.clock.now()
        self._expected = expected

    def report(self, node: str, report: NodeReport) -> None:
        """Hand over one fresh, checked report."""
        entry = self._fleet.ensure(node, self._source)
        # A node may report before its source has named it; not named afterwards, it is gone all the same.
        self._expected.add(node)
        if entry is not None:
            self._fleet.accept(entry, report)

    def trouble(self, node: str, reason: Reason, *, state: Literal["refused", "error"] = "error") -> None:
        """Say why a node could not be read this time; its last data stays and ages."""
        entry = self._fleet.ensure(node, self._source)
        if entry is not None:
            entry.trouble = Trouble(reason, state)
