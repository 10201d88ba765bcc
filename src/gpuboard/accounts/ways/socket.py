"""On the board's own machine: the kernel says who asks; root and the board's user are admins."""

import os
from collections.abc import Callable

from gpuboard.accounts.records import Vouched
from gpuboard.accounts.ways.base import SocketEvidence, nobody_words, person_behind, somebodys_name
from gpuboard.model.errors import AccessRefused
from gpuboard.model.identity import WayKind, is_system_account
from gpuboard.settings.access import AccessTable
from gpuboard.wire.people import WayCard, person_name


class SocketWay:
    """Believes the kernel."""

    kind: WayKind = "socket"

    def __init__(
        self,
        access: Callable[[], AccessTable],
        person_of: Callable[[str], str],
        *,
        own_uid: int | None = None,
    ) -> None:
        self._access = access
        self._person_of = person_of
        self._own_uid = os.getuid() if own_uid is None else own_uid

    def card(self) -> WayCard | None:
        """None: it is the same command as on a node."""
        return None

    async def recognise(self, evidence: SocketEvidence) -> Vouched:
        """Who this is.

        Raises:
            AccessRefused: that user has no name, or is no person.
        """
        is_admin = evidence.uid in (0, self._own_uid)
        first = self._access().vouch_from_uid
        if not is_admin and is_system_account(evidence.uid, first):
            raise AccessRefused(nobody_words(evidence.uid, first))
        # Root is an admin here, by the kernel's word and not by its name.
        name = person_name(evidence.name) if is_admin else somebodys_name(evidence.name)
        if name is None or name.isdigit():
            raise AccessRefused(f"uid {evidence.uid} has no name of a person on this machine")
        person = self._person_of(name) if is_admin else person_behind(self._person_of, name)
        return Vouched(person=person, way="socket", role="admin" if is_admin else "user")
