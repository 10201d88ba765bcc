"""The fleet: what every node said last, how old that is, and the verdicts that follow."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gpuboard.fleet.activity import NodeMemory
from gpuboard.fleet.booked_numbers import BookedNumbers
from gpuboard.fleet.candidates import Candidates
from gpuboard.fleet.claims import ClaimBook, Giver
from gpuboard.fleet.clock import Clock
from gpuboard.fleet.devices import ShownDevices
from gpuboard.fleet.freshness import Trouble
from gpuboard.fleet.groups import NodeGroups
from gpuboard.fleet.judging import claim_on, judge_node
from gpuboard.fleet.left import too_many
from gpuboard.fleet.names import Names
from gpuboard.fleet.node import Node
from gpuboard.fleet.places import Places
from gpuboard.fleet.roll_call import RollCall
from gpuboard.fleet.sink import FleetSink, Taker
from gpuboard.model.node import spoken
from gpuboard.model.report import GpuReading, NodeReport, moved, possible_time
from gpuboard.model.source import SourceIdentity
from gpuboard.model.verdict import Claim, GpuPlace
from gpuboard.verdict import Thresholds

FORGET_AFTER_SECONDS: Final = 24 * 3600.0


class Fleet:
    """The live state of all nodes; consumers ask it or follow its changes, it knows none of them."""

    def __init__(
        self,
        clock: Clock,
        *,
        thresholds: Thresholds | None = None,
        names: Names | None = None,
        groups: NodeGroups | None = None,
        forget_after_seconds: float = FORGET_AFTER_SECONDS,
    ) -> None:
        self.clock = clock
        self.thresholds = thresholds or Thresholds()
        self.names = names or Names()
        self.groups = groups or NodeGroups()
        # Whoever takes every sample for good, if anybody does; the assembly knows.
        self.taker: Taker | None = None
        self.forget_after = forget_after_seconds
        self.roll_call = RollCall()
        # The nodes that are shown, and those that sources have under the same names.
        self._nodes: dict[str, Node] = {}
        self._candidates = Candidates()
        self._sinks: dict[str, FleetSink] = {}
        self._book = ClaimBook(lambda name: name in self._nodes)
        self._book.call_nodes(self.names.nodes)
        # The names under which people book and that no node has; None: to be looked up again.
        self._unmet: tuple[str, ...] | None = None
        self._booked_numbers = BookedNumbers()
        self._touched: set[str] = set()
        self._changed: set[str] = set()
        self._gone: set[str] = set()
        # Until then nodes of an earlier run may come; what is remembered of others is forgotten.
        self._strangers_until: float | None = None
        # Of nodes that have not been heard since the board started.
        self._memories: dict[str, NodeMemory] = {}
        self._devices = ShownDevices(forget_after=forget_after_seconds)
        self._began = clock.now()

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, name: str) -> Node | None:
        """The node of this name."""
        return self._nodes.get(name)

    def find(self, name: str) -> Node | None:
        """The node of this name, or the one that people call so; case says nothing."""
        return find_called(name, self.names, self._nodes)

    def groups_of(self, node: Node) -> tuple[str, ...]:
        """The groups of a node: of the settings, under any of its names, then of its source's list."""
        made = self.groups.of(node.name, self.names.node(node.name))
        return tuple(dict.fromkeys((*made, *node.groups))) if node.groups else made

    def has_group(self, group: str) -> bool:
        """Whether there is such a group: in the settings, or because a node is in it."""
        return group in self.groups.names or any(group in node.groups for node in self._nodes.values())

    def group_names(self) -> list[str]:
        """All groups there are: those of the settings, then those that only nodes are in."""
        of_nodes = sorted({group for node in self._nodes.values() for group in node.groups})
        return list(dict.fromkeys((*self.groups.names, *of_nodes)))

    def judge_by(self, thresholds: Thresholds, names: Names) -> None:
        """Judge and name everything anew by these from now on."""
        self.thresholds, self.names = thresholds, names
        self._book.call_nodes(names.nodes)
        self._unmet = None
        self._touched.update(self._nodes)

    def group_by(self, groups: NodeGroups) -> None:
        """Sort the nodes into these groups from now on."""
        self.groups = groups
        self._touched.update(self._nodes)

    def shift(self, seconds: float) -> None:
        """Hear that the clock was set: what is known is as old as before, and all is judged by the new time.

        Claims are by the time of the day, and stay.
        """
        now = self.clock.now()
        self._devices.shift(seconds, began=self._began, until=now - seconds)
        self._candidates.shift(seconds)
        self.roll_call.shift(seconds)
        self._began += seconds
        self._strangers_until = moved(self._strangers_until, seconds)
        self._book.wait_from(now)
        self._unmet = None
        self._touched.update(self._nodes)

    def sink(self, source: SourceIdentity | str) -> FleetSink:
        """Where one source hands over what it learns; a bare name ranks behind all that came before.

        The same name gives the same sink, so that a source made anew takes over where the old one stopped.
        """
        name = source if isinstance(source, str) else source.name
        sink = self._sinks.get(name)
        if sink is None:
            identity = SourceIdentity(len(self._sinks), name) if isinstance(source, str) else source
            sink = self._sinks[name] = FleetSink(self, identity)
        return sink

    def sources_unknown(self) -> int:
        """How many sources have not named their nodes yet: a board that has just started waits for some."""
        return sum(not sink.is_heard for sink in self._sinks.values())

    def withdraw(self, sink: FleetSink) -> None:
        """Hear that a source is no more: its nodes leave."""
        sink.expect(())
        self._sinks = {name: other for name, other in self._sinks.items() if other is not sink}

    def arrange(self, identities: Mapping[FleetSink, SourceIdentity]) -> None:
        """Give running sources other names and ranks, all at once; nothing else changes for them."""
        for sink, identity in identities.items():
            sink.identity = identity
        self._sinks = {sink.identity.name: sink for sink in self._sinks.values()}
        self._candidates.identify()
        for name in self._candidates:
            self._choose_and_show(name)

    def places(self) -> dict[str, Places]:
        """Which card is in which place of each node, to be kept over a restart."""
        return dict(self._devices.places)

    def restore_places(self, places: Mapping[str, Places]) -> None:
        """Go on with the places that an earlier run of the board knew."""
        self._devices.places.update(places)
        self._strangers_until = self.clock.now() + self.forget_after

    def restore_memories(self, memories: Mapping[str, NodeMemory]) -> None:
        """Go on with what an earlier run of the board knew of GPUs, as soon as their nodes are heard."""
        self._memories.update(memories)

    def claim_of(self, node: Node, reading: GpuReading, at: float) -> Claim | None:
        """The claim on a GPU that held at a moment, if there was one."""
        return claim_on(node, reading, at, book=self._book, names=self.names)

    def next_claim_at(self, place: GpuPlace) -> float | None:
        """When somebody's claim on a GPU begins next; None where nothing is to come."""
        return self._book.next_start(place, self.clock.now()) if self._book else None

    def claims_to_come(self, place: GpuPlace) -> tuple[Claim, ...]:
        """Everybody's claims on a GPU that hold now or will."""
        return self._book.to_come(place, self.clock.now()) if self._book else ()

    def set_claims(self, giver: Giver, claims: Mapping[GpuPlace, Claim | tuple[Claim, ...]]) -> None:
        """Replace the claims of one giver, by node and GPU number; those of other givers stay."""
        pairs = [
            (place, claim)
            for place, given in claims.items()
            for claim in (given if isinstance(given, tuple) else (given,))
        ]
        was_whole = self._book.is_whole
        self._touch_claimed(self._book.write(giver, pairs, self.clock.now()))
        if self._book.is_whole is not was_whole:
            self._touched.update(self._nodes)

    def claims_elsewhere(self, node: Node) -> dict[int, tuple[Claim, ...]]:
        """What is claimed on a node, now or later, by others than the board's own book, by number."""
        if not self._book:
            return {}
        found = self._book.given_by(("lease", "comments-json"), node.name, self.clock.now())
        return {number: tuple(map(self.names.in_claim, claims)) for number, claims in found.items()}

    def await_claims(self, giver: Giver) -> None:
        """Hear that somebody gives claims: until they are read once no GPU is free, for it may be booked."""
        self._book.expect(giver)
        self._touched.update(self._nodes)

    def _touch_claimed(self, names: set[str]) -> None:
        """Judge the nodes anew that are booked under these names, with another domain, or without."""
        if names:
            self._touched.update(self._book.meant(self._nodes, names))
            self._unmet = None

    def booked_elsewhere(self) -> tuple[str, ...]:
        """The names under which something is booked that no node has: a slip, or a node that is yet to come.

        None are told while a source has yet to name its nodes.
        """
        if self._unmet is None and not self.sources_unknown():
            self._unmet = tuple(self._book.unmet(self._nodes, self.clock.now()))
        return self._unmet or ()

    def booked_beyond(self) -> tuple[GpuPlace, ...]:
        """The places on known nodes that are booked and have no GPU, as they were at the last tick.

        None while a source has yet to name its nodes, nor of a node that may have more than it lists.
        """
        return () if self.sources_unknown() else self._booked_numbers.lacking()

    def recall(self, node: Node) -> None:
        """Note that a source has read a node in an earlier run: no later one stands in for it."""
        if not node.was_read:
            node.was_read = True
            self._choose_and_show(node.name)

    def without_forgotten(self, name: str, report: NodeReport) -> NodeReport:
        """A report without the cards that somebody has had forgotten, and that only the node remembers."""
        return self._devices.without_forgotten(name, report)

    def accept(self, node: Node, report: NodeReport) -> None:
        """Show a node's newest report."""
        is_first, now = node.report is None, self.clock.now()
        node.take(report, now)
        if is_first:
            self._choose(node.name)
        if self.is_shown(node):
            self._show(node, now)

    def trouble(self, node: Node, trouble: Trouble | None) -> None:
        """Note why a node could not be read this time; None: that is over."""
        before, node.trouble = node.trouble, trouble
        if before is None or trouble is None:
            self._choose_and_show(node.name)
        elif before.reason != trouble.reason or before.is_lasting != trouble.is_lasting:
            self._touched.add(node.name)

    def is_shown(self, node: Node) -> bool:
        """Whether the node is shown as this source knows it."""
        return self._nodes.get(node.name) is node

    def fill(self, node: Node, report: NodeReport) -> None:
        """Fill the last hour with a sample that was missed; nothing else knows of it."""
        at = possible_time(self.clock.now() - report.age_seconds)
        for reading in report.gpus or ():
            memory = node.memories.get(reading.uuid)
            if memory is not None and reading.utilization_percent is not None:
                memory.fill(reading.utilization_percent, at)

    def _show(self, node: Node, now: float) -> None:
        """Bring what is shown up to the node's newest report."""
        report = node.report
        if report is None or node.sampled_at is None:
            return
        others = self._devices.show(node, now)
        if self._memories and (past := self._memories.pop(node.name, None)) is not None:
            node.resume(past)
        told, idle_line = report.gpus or (), self.thresholds.idle_utilization_percent
        # Mostly in the order in which they are shown: nobody is looked up then.
        memories = node.remembered if node.is_as_told else [node.memories[gpu.uuid] for gpu in told]
        for reading, memory in zip(told, memories, strict=True):
            memory.observe(reading, node.sampled_at, idle_line)
        self._touched.add(node.name)
        self._rename(others)

    def _rename(self, names: Iterable[str]) -> None:
        """Show nodes again whose GPUs have other names now."""
        for name in names:
            node = self._nodes.get(name)
            if node is not None:
                node.is_as_told = False
                self._devices.show(node, self.clock.now())
                self._touched.add(name)

    def ensure(self, name: str, sink: FleetSink) -> Node:
        """The node of this name as a source knows it; one that had left is back."""
        node = self._candidates.get(name, sink)
        if node is None:
            node = self._candidates.add(name, sink)
            self._choose_and_show(name)
        elif node.left_at is not None:
            node.left_at = None
            self._choose_and_show(name)
        return node

    def leave(self, name: str, sink: FleetSink) -> None:
        """Hear that a source no longer names a node: it is forgotten later, or another source has it now."""
        node = self._candidates.get(name, sink)
        if node is not None and node.left_at is None:
            node.leave(self.clock.now())
            self._choose_and_show(name)

    def _choose_and_show(self, name: str) -> None:
        before = self._nodes.get(name)
        self._choose(name)
        node = self._nodes[name]
        if node is not before:
            self._show(node, self.clock.now())
        self._rename(self._devices.leave(name, has_left=node.left_at is not None))

    def _choose(self, name: str) -> None:
        before, best = self._nodes.get(name), self._candidates.choose(name)
        self._nodes[name] = best
        if before is None:
            self._unmet = None
        self._touched.add(name)
        if before is not None and before is not best:
            # What is remembered of its GPUs goes with them.
            best.memories, before.memories = before.memories, {}
            best.seen = before.seen

    def set_address(self, node: Node, address: str) -> None:
        """Note where a node is listed."""
        if node.address != address:
            node.address = address
            self._touched.add(node.name)

    def set_file(self, node: Node, file: str) -> None:
        """Note from which file a node is read."""
        if node.file != file:
            node.file = file
            self._touched.add(node.name)

    def set_groups(self, node: Node, groups: tuple[str, ...]) -> None:
        """Note what a node belongs to by the list of its source."""
        if node.groups != groups:
            node.groups = groups
            self._touched.add(node.name)

    def note_unrecorded(self, names: Iterable[str]) -> None:
        """Hear which nodes have named more GPUs than the history keeps; it is said while they are here."""
        for name in self._nodes.keys() & names:
            self._nodes[name].is_unrecorded = True
            self._touched.add(name)

    def forget(self, name: str) -> bool:
        """Forget all about a node, whether it was known; a source that still names it begins anew with it."""
        known = self._nodes.get(name)
        lost = self._devices.lost(known) if known is not None else ()
        sinks = self._forget(name)
        self._devices.leave_out(name, lost)
        for sink in sinks:
            self.ensure(name, sink)
        return known is not None

    def _forget(self, name: str) -> list[FleetSink]:
        if self._nodes.pop(name, None) is not None:
            self._gone.add(name)
            self._unmet = None
        sinks = self._candidates.forget(name)
        self.roll_call.forget(name)
        self._booked_numbers.forget(name)
        self._memories.pop(name, None)
        self._rename(self._devices.forget(name))
        return sinks

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
        self._forget_the_old(now)
        come_or_gone = []
        for node in self._nodes.values():
            fresh = node.freshness_at(now)
            if fresh is node.freshness:
                continue
            if fresh.state != node.freshness.state or (fresh.state != "live" and fresh != node.freshness):
                self._touched.add(node.name)
                come_or_gone.append(node)
            node.freshness = fresh
        self._touch_claimed(self._book.due(now))
        touched, self._touched = self._touched & self._nodes.keys(), set()
        come_or_gone += [
            self._nodes[name]
            for name in touched
            if self._nodes[name].may_lack_gpus() or name in self.roll_call.short
        ]
        self.roll_call.call(come_or_gone, self._nodes, now)
        for name in touched:
            node = self._nodes[name]
            node.see()
            self._booked_numbers.judge(node, self._book.places_on(node.name, now) if self._book else ())
            judge_node(node, now, book=self._book, names=self.names, thresholds=self.thresholds)
            yield node

    def _forget_the_old(self, now: float) -> None:
        left = []
        for node in [n for n in self._nodes.values() if n.left_at is not None]:
            # Of one that was never read there is nothing to remember.
            if node.report is None or now - (node.left_at or now) >= self.forget_after:
                self._forget(node.name)
            else:
                left.append(node)
        for name in too_many(left):
            self._forget(name)
        if self._strangers_until is not None and now >= self._strangers_until:
            self._strangers_until = None
            for name in self._devices.places.keys() - self._nodes.keys():
                self._forget(name)


def find_called(name: str, names: Names, nodes: Mapping[str, Node]) -> Node | None:
    """The node of this name, or the one that people call so; case says nothing."""
    asked = spoken(name)
    own = next((own for own in (name, asked, *names.nodes_called(asked)) if own in nodes), None)
    return None if own is None else nodes[own]
