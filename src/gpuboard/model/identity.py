"""Who asks, as a value: found out once, at the guard, and taken as it is by rules and routes."""

from typing import Literal

from msgspec import Struct

# What a viewer may see: everything, or verdicts and figures without names.
Tier = Literal["names", "counts"]


class Identity(Struct, frozen=True, kw_only=True):
    """One who asks."""

    # Where it comes from, as far as that can be believed; for the log and for counting failures.
    address: str | None
    # The address whose visits and pages are counted; None: it is not limited.
    counted_as: str | None
    # What it may see; None: nothing.
    tier: Tier | None
