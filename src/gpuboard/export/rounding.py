"""Rounded figures that still add up. Pure."""

from collections.abc import Sequence


def rounded_parts(parts: Sequence[int], whole: int, unit: int) -> list[int]:
    """The parts in whole units that are together so many units; the largest remainders are rounded up.

    The parts themselves are together as much as the whole, to a unit.
    """
    found = [part // unit for part in parts]
    missing = whole - sum(found)
    # Of equal remainders the first.
    by_remainder = sorted(range(len(parts)), key=lambda at: -(parts[at] % unit))
    for at in by_remainder[: max(0, missing)]:
        found[at] += 1
    return found
