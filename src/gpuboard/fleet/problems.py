"""What the board itself knows to be wrong with a node."""

from msgspec.structs import replace

from gpuboard.fleet.freshness import Trouble
from gpuboard.fleet.places import Card
from gpuboard.model.problems import SILENT, place_name, problem
from gpuboard.model.report import GpuReading, Problem
from gpuboard.verdict import Freshness
from gpuboard.wire.clean import clean_text


def duplicate_node(shown: str, other: str) -> Problem:
    """Two sources have the node."""
    return problem("duplicate-node", f"{shown} is shown, {other} is not")


def duplicate_gpu(other: str) -> Problem:
    """Two nodes have the same GPUs."""
    return problem("duplicate-gpu", other)


def memory_errors(gpu: GpuReading, since: float) -> Problem:
    """A GPU counts errors of its memory that could not be corrected."""
    return problem("ecc-uncorrected", str(gpu.ecc_uncorrected_errors), gpu_uuid=gpu.uuid, since=since)


def unreadable_file(trouble: Trouble | None) -> Problem | None:
    """The node's file cannot be read: said at once, not only when what it said before is too old."""
    if trouble is None or trouble.reason.code != "file-refused":
        return None
    told = problem("unreadable-file", clean_text(trouble.reason.text))
    remedy = trouble.reason.values.get("remedy")
    return replace(told, remedy=remedy) if isinstance(remedy, str) else told


def silent(kind: str, told: Freshness, since: float | None, *, file: str | None = None) -> Problem | None:
    """Nothing comes from a node any more, or never did, and its source does not say what to do."""
    if told.state not in ("lost", "error") or kind not in SILENT:
        return None
    reason = told.reason
    if reason is not None and reason.code == "left":
        return problem("not-listed")
    # These are no riddle, and some sources know a remedy for the very fault.
    if reason is not None and (reason.code in ("revoked", "age-unknown") or "remedy" in reason.values):
        return None
    return problem(SILENT[kind], file, since=since)


def gpu_missing(number: int, card: Card, name: str) -> Problem:
    """A card that was here before is in no report now."""
    place = place_name(number, card.uuid, card.model)
    return problem("gpu-missing", gpu_uuid=name, place=place, since=card.missing_since)


def gpu_replaced(number: int, card: Card, name: str) -> Problem:
    """Another card is in a place now."""
    detail, place = f"before {card.replaced_uuid}", place_name(number, card.uuid, card.model)
    return problem("gpu-replaced", detail, gpu_uuid=name, place=place, since=card.replaced_at)


def gpu_renumbered(number: int, card: Card, name: str) -> Problem:
    """A card has another number than before."""
    detail = f"before {', '.join(map(str, card.earlier_numbers))}"
    place = place_name(number, card.uuid, card.model)
    return problem("gpu-renumbered", detail, gpu_uuid=name, place=place, since=card.renumbered_at)


def numbers_moved(here: int, expected: int, since: float | None) -> Problem:
    """Some GPUs are missing, and nobody can tell which; or all are there, and some have changed places."""
    what = f"{here} of {expected} are here" if here < expected else f"all {here} are here, in another order"
    return problem("numbers-moved", what, since=since)
