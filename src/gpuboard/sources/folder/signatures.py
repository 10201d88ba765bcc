"""Whether a drop was left by the node that it speaks for."""

import logging
from collections.abc import Callable, Collection
from typing import Final

from gpuboard.model.errors import WireError
from gpuboard.outside.seldom import SeldomLog
from gpuboard.wire.drop import is_drop, signed_by

# The keys of a node's tokens; None: they have not been read yet.
Keys = Callable[[str], Collection[str] | None]

NO_TOKEN: Final = "the board has no token of this node to check it with: gpuboard node enroll NAME"  # noqa: S105 - words
NO_TOKENS_HERE: Final = (
    "only the board has the tokens that it is checked with (signed = true): ask it with --board URL"
)
NOT_SIGNED: Final = (
    "the node has a token, and whoever writes in the folder can speak for it; run gpuboard agent --drop "
    "with --token-file, then set signed = true"
)
# Of each node so often.
_UNSIGNED_SECONDS: Final = 24 * 3600.0

log: Final = logging.getLogger(__name__)


class NotSignedError(WireError):
    """A drop that its node has not signed; whoever writes it can do nothing about it by writing it again."""

    remedy: Final = (
        "let the node's own agent write it, with its token (gpuboard agent --drop DIR --token-file FILE); "
        "if others can write in the folder, see who did"
    )


def no_keys(_node: str) -> Collection[str]:
    """Where there are no tokens."""
    return ()


class Signatures:
    """What may be read: everything that is not wrongly signed, or only what is signed."""

    def __init__(self, keys: Keys, *, must_sign: bool, without_key: str = NO_TOKEN) -> None:
        self._keys = keys
        self._must_sign = must_sign
        self._without_key = without_key
        self._unsigned = SeldomLog(log, seconds=_UNSIGNED_SECONDS)

    def are_known(self, node: str) -> bool:
        """Whether a file of this node can be judged yet; a moment after the board's start it cannot."""
        return self._keys(node) is not None

    def is_revoked(self, node: str) -> bool:
        """Whether a node that could be read before no longer can, since its token was taken away."""
        keys = self._keys(node)
        return self._must_sign and keys is not None and not keys

    def check(self, data: bytes | None, node: str) -> None:
        """Refuse what another than the node has signed, and what is not signed where it must be.

        Raises:
            NotSignedError: it is refused; says why.
        """
        keys = self._keys(node) or ()
        who = signed_by(data, node, keys) if data is not None and is_drop(data) else "nobody"
        if who == "stranger" and keys:
            raise NotSignedError("it is signed, but with no token of this node")
        if who == "nobody" and keys and not self._must_sign and data is not None and is_drop(data):
            self._unsigned.say(node, "drop not signed: node=%s reason=%s", node, NOT_SIGNED)
        if self._must_sign and who != "node":
            raise NotSignedError(
                "it is not signed with the node's token (signed = true): run gpuboard agent --drop "
                "with --token-file"
                if keys
                else self._without_key
            )
