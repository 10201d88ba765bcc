"""Cards that somebody has had forgotten, though whoever reads their node still calls them lost. Pure.

An agent remembers each card that it has seen as long as it runs, and over ssh the board does so itself.
"""

from collections.abc import Collection

from msgspec.structs import replace

from gpuboard.model.problems import lost_gpus
from gpuboard.model.report import NodeReport
from gpuboard.probes.inventory import blank, roll_call


def lost_cards(report: NodeReport | None) -> frozenset[str]:
    """The cards that a report only remembers."""
    named, _ = lost_gpus(report.problems if report is not None else ())
    return named & {
        gpu.uuid for gpu in (report.gpus if report is not None else None) or () if gpu == blank(gpu)
    }


def without(report: NodeReport, forgotten: Collection[str]) -> NodeReport:
    """The same report without these cards, unless they say something themselves."""
    gone = {gpu.uuid for gpu in report.gpus or () if gpu.uuid in forgotten and gpu == blank(gpu)}
    if not gone or report.gpus is None:
        return report
    gpus = tuple([gpu for gpu in report.gpus if gone.isdisjoint((gpu.uuid, gpu.mig_parent_uuid))])
    gone.update({gpu.uuid for gpu in report.gpus} - {gpu.uuid for gpu in gpus})
    others = [one for one in report.problems if one.gpu_uuid not in gone and one.kind != "gpus-missing"]
    if len(others) < len(report.problems) and any(one.kind == "gpus-missing" for one in report.problems):
        missing = roll_call(gpus, lost_gpus(others)[0])
        others += [missing] if missing is not None else []
    return replace(report, gpus=gpus, problems=tuple(others))
