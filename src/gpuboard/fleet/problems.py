"""What the board itself knows to be wrong with a node, in words."""

from gpuboard.fleet.places import Card
from gpuboard.model.report import Problem


def duplicate_node(shown: str, other: str) -> Problem:
    """Two sources have the node."""
    return Problem(
        kind="duplicate-node",
        text=f"sources {shown} and {other} both have a node of this name; {shown} is shown",
        remedy="Remove the node from one of the two sources, or give the machines different names.",
    )


def duplicate_gpu(other: str) -> Problem:
    """Two nodes have the same GPUs."""
    return Problem(
        kind="duplicate-gpu",
        text=f"GPUs of this node have the same identity as GPUs of {other}; both are shown",
        remedy="If it is one machine under two names, remove one from its source; "
        "otherwise look which node lies.",
    )


def gpu_missing(number: int, card: Card, name: str) -> Problem:
    """A card that was here before is in no report now."""
    what = f"{card.model}, {card.uuid}" if card.model else card.uuid
    return Problem(
        kind="gpu-missing",
        text=f"GPU {number} ({what}) is missing: the node no longer mentions it",
        remedy="Look for it with nvidia-smi and dmesg (Xid 79), and reboot; a card that was taken out "
        "is forgotten after a day, or at once with gpuboard node forget.",
        gpu_uuid=name,
        since=card.missing_since,
    )


def gpu_replaced(number: int, card: Card, name: str) -> Problem:
    """Another card is in a place now."""
    return Problem(
        kind="gpu-replaced",
        text=f"GPU {number} has been replaced: {card.replaced_uuid} was in this place before",
        remedy="Nothing, if somebody changed the card; bookings of this number hold for the new one.",
        gpu_uuid=name,
        since=card.replaced_at,
    )


def numbers_moved(here: int, expected: int, since: float | None) -> Problem:
    """Some GPUs are missing, and nobody can tell which."""
    return Problem(
        kind="numbers-moved",
        text=f"{here} of {expected} GPUs; their numbers may have moved",
        remedy="Let the node tell UUIDs (an agent, ssh, gpustat --json), so that each card keeps its number; "
        "cards that were taken out are forgotten after a day, or at once with gpuboard node forget.",
        since=since,
    )
