"""A part of the board that can be in trouble by itself, as those see it who report on it."""

from typing import Protocol, runtime_checkable

from gpuboard.model.verdict import Reason


@runtime_checkable
class Troubled(Protocol):
    """A part that notes why it does not work at the moment; asking it never waits."""

    kind: str
    # Which one of its kind: a path, a service. Never a secret.
    name: str
    # None: all is well.
    trouble: Reason | None
