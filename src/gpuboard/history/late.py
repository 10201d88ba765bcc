"""Samples that the fleet did not judge, since newer ones were there: judged here, in the order they come."""

from collections.abc import Iterable

from msgspec.structs import replace

from gpuboard.fleet.activity import GpuMemory, Remembered
from gpuboard.fleet.counting import GpuTag, gpu_tags
from gpuboard.fleet.identities import own_name
from gpuboard.fleet.node import Node
from gpuboard.fleet.node_clock import by_our_clock
from gpuboard.fleet.problems import memory_errors
from gpuboard.fleet.state import Fleet
from gpuboard.history.judged import Judged
from gpuboard.history.whereabouts import Whereabouts
from gpuboard.model.names import NODE_MARK
from gpuboard.model.report import GpuReading, NodeReport, Problem
from gpuboard.verdict import holders, judge


class LateJudge:
    """Another sitting of the verdict, with a memory of its own; the fleet hears nothing of it."""

    def __init__(self, fleet: Fleet, whereabouts: Whereabouts) -> None:
        self._fleet = fleet
        self._whereabouts = whereabouts

    def judge(self, node: Node, report: NodeReport, at: float, known: dict[str, Remembered]) -> list[Judged]:
        """What follows from a report of this moment and from what was known of its GPUs before."""
        if node.clock_ahead:
            report = by_our_clock(report, node.clock_ahead)
        gpus = [self._named(node, gpu) for gpu in report.gpus or ()]
        problems = [*self._problems(node, report), *_memory_errors(gpus, at)]
        cut = frozenset(gpu.mig_parent_uuid for gpu in gpus)
        tags = gpu_tags(gpus, self._fleet.thresholds.ignore)
        return [
            self._judged(
                node,
                gpu,
                tag,
                at=at,
                problems=problems,
                past=known.get(gpu.uuid),
                is_cut=gpu.uuid in cut,
            )
            for gpu, tag in zip(gpus, tags, strict=True)
        ]

    def _judged(
        self,
        node: Node,
        gpu: GpuReading,
        tag: GpuTag,
        *,
        at: float,
        problems: list[Problem],
        past: Remembered | None,
        is_cut: bool,
    ) -> Judged:
        fleet, memory = self._fleet, GpuMemory()
        if past is not None:
            memory.resume(past, looked_away=False)
        memory.observe(gpu, at, fleet.thresholds.idle_utilization_percent)
        people = holders(gpu, fleet.names.person_on(node.name), thresholds=fleet.thresholds)
        claim = fleet.claim_of(node, gpu, at)
        memory.verdict = judge(
            gpu,
            now=at,
            people=people,
            problems=problems,
            claim=claim,
            is_cut=is_cut,
            activity=memory.activity(),
            thresholds=fleet.thresholds,
        )
        claimant = None if claim is None else claim.on_account_of
        return Judged(gpu, memory.verdict, people, tag, memory.remembered(), claimant)

    def _named(self, node: Node, gpu: GpuReading) -> GpuReading:
        name, parent = self._name(node, gpu.uuid), gpu.mig_parent_uuid
        if parent is not None:
            parent = self._name(node, parent)
        if name == gpu.uuid and parent == gpu.mig_parent_uuid:
            return gpu
        return replace(gpu, uuid=name, mig_parent_uuid=parent)

    def _name(self, node: Node, uuid: str) -> str:
        """What a node's GPU is called on this board; no node tells anything of the past of another's."""
        if uuid in node.memories:
            return node.names.get(uuid, uuid)
        is_anothers = self._whereabouts.node_of(uuid) not in (None, node.name)
        return own_name(node.name, uuid) if is_anothers or NODE_MARK in uuid else uuid

    def _problems(self, node: Node, report: NodeReport) -> Iterable[Problem]:
        for problem in report.problems:
            if problem.gpu_uuid is None:
                yield problem
            else:
                yield replace(problem, gpu_uuid=self._name(node, problem.gpu_uuid))


def _memory_errors(gpus: Iterable[GpuReading], at: float) -> list[Problem]:
    return [memory_errors(gpu, at) for gpu in gpus if gpu.ecc_uncorrected_errors]
