"""Claims of a file that others write, remembered over a restart.

A board may start just while the file is truncated, half-written or gone: what was booked stays booked until
the file can be read again.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from gpuboard.bookings.comments import Claims
from gpuboard.model.verdict import Claim


class KeptClaim(Struct, frozen=True, kw_only=True):
    """One claim with its place."""

    node: str
    index: int
    claim: Claim


Kept = tuple[KeptClaim, ...]


class ClaimKeeper:
    """Hands claims on, those of an earlier run first, and remembers the newest."""

    def __init__(self, path: str, set_claims: Callable[[Claims], None]) -> None:
        self._path = path
        self._set_claims = set_claims
        # None: nothing was ever read of it.
        self._kept: Kept | None = None
        self._is_told = False

    def restore(self, known: Mapping[str, Kept]) -> None:
        """Go on with what an earlier run wrote down, by the file's path, unless the file was read already."""
        kept = known.get(self._path)
        # That nothing was booked is known too.
        if not self._is_told and kept is not None:
            self._kept = kept
            self._set_claims({(one.node, one.index): one.claim for one in kept})

    def __call__(self, claims: Claims) -> None:
        """Take the claims that hold now."""
        self._is_told = True
        self._kept = tuple(
            KeptClaim(node=node, index=index, claim=claim) for (node, index), claim in claims.items()
        )
        self._set_claims(claims)

    def kept(self) -> dict[str, Kept]:
        """What is to be written down."""
        return {} if self._kept is None else {self._path: self._kept}
