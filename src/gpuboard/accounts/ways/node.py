"""From a node: its agent says which of its users asks, as the kernel told it."""

from collections.abc import Callable
from fnmatch import fnmatchcase

from gpuboard.accounts.records import Vouched
from gpuboard.accounts.ways.base import NodeEvidence, nobody_words, person_behind, somebodys_name
from gpuboard.model.errors import AccessRefused
from gpuboard.model.identity import WayKind, is_system_account
from gpuboard.settings.access import AccessTable
from gpuboard.wire.people import WayCard


class NodeWay:
    """Believes nodes about their users, for what users may do and no more."""

    kind: WayKind = "node"

    def __init__(self, access: Callable[[], AccessTable], person_of: Callable[[str], str]) -> None:
        """Vouching as the settings say now; `person_of` joins the names that one person has."""
        self._access = access
        self._person_of = person_of

    def card(self) -> WayCard | None:
        """On a node one types it, so the card only says what."""
        return WayCard(kind="node", label="gpuboard login") if self._access().vouching else None

    async def recognise(self, evidence: NodeEvidence) -> Vouched:
        """Who this is.

        Raises:
            AccessRefused: this node may not say so, or not of this user.
        """
        access = self._access()
        if not any(fnmatchcase(evidence.node, pattern) for pattern in access.vouching):
            raise AccessRefused(
                f"the board takes no word of {evidence.node} about its users ([access] vouching)"
            )
        if is_system_account(evidence.uid, access.vouch_from_uid):
            raise AccessRefused(nobody_words(evidence.uid, access.vouch_from_uid))
        name = somebodys_name(evidence.name)
        # On a machine a number is an account that nobody has named; elsewhere people are called so.
        if name is None or name.isdigit():
            raise AccessRefused(f"uid {evidence.uid} has no name of a person on {evidence.node}")
        account = name if access.realm == "all" else f"{name}@{evidence.node}"
        return Vouched(person=person_behind(self._person_of, account), way="node", through=evidence.node)
