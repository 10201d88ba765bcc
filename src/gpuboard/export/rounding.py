"""Rounded figures that still add up. Pure."""

from collections.abc import Sequence


def nearest(value: int, unit: int) -> int:
    """So many units, a half rounded up, as the page does."""
    return (2 * value + unit) // (2 * unit)


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


def rounded_column(parts: Sequence[int | None], total: int, unit: int, whole: int) -> list[int | None]:
    """A column in whole units: its parts, which add up, and its total as the last, which is so many units.

    Where the parts are not all there is, as where some are nobody's, each is rounded by itself.
    """
    known = [part for part in parts if part is not None]
    units = (
        rounded_parts(known, whole, unit) if sum(known) == total else [nearest(one, unit) for one in known]
    )
    rounded = iter(units)
    return [*(None if part is None else next(rounded) for part in parts), whole]
