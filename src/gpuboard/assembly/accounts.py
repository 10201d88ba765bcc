"""The side of the board that people sign in to: accounts, the view of them, the door."""

import operator
import os
import pwd
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gpuboard.accounts.admin import AccountAdmin
from gpuboard.accounts.audit import Deed
from gpuboard.accounts.desk import AccountDesk
from gpuboard.accounts.guesses import GuessLimit
from gpuboard.accounts.passwords import Passwords
from gpuboard.accounts.view import AccountView
from gpuboard.accounts.ways.node import NodeWay
from gpuboard.accounts.ways.oidc import OidcWay
from gpuboard.accounts.ways.password import PasswordWay
from gpuboard.accounts.ways.proxy import ProxyWay
from gpuboard.accounts.ways.socket import SocketWay
from gpuboard.assembly.board_socket import BoardSocket
from gpuboard.assembly.storage import BoardStorage, Part
from gpuboard.settings.access import AccessTable
from gpuboard.settings.board import GroupsTable, Settings
from gpuboard.web.access import AccessPolicy
from gpuboard.web.people import PeopleDoor, Ways
from gpuboard.web.stream import Broadcaster

# What the first admin is called where the board runs as nobody in particular.
ADMIN: Final = "admin"

Groups = Mapping[str, tuple[str, ...]]


class AccountSide:
    """Everything for people who sign in."""

    def __init__(
        self,
        storage: BoardStorage,
        settings: Settings,
        access: AccessPolicy,
        *,
        person_of: Callable[[str], str],
    ) -> None:
        """Make it, on a storage that is not open yet."""
        self._storage = storage
        self._person_of = person_of
        # As they are now: settings may be read again.
        self.settings = settings.access
        self.desk = AccountDesk(storage.database)
        self.view = AccountView(self.desk, run=storage.run)
        passwords, guesses = Passwords(), GuessLimit(clock=time.monotonic)
        self.view.on_change(lambda: guesses.keep_only(self.view.accounts))
        ways = Ways(
            node=NodeWay(self._access, person_of),
            password=PasswordWay(self._access, self.view, passwords, guesses),
            oidc=OidcWay(self._access, person_of),
            proxy=ProxyWay(self._access, person_of),
        )
        self.door = PeopleDoor(
            self.desk,
            self.view,
            ways,
            run=storage.run,
            access=access,
            passwords=passwords,
            has_other_admins=lambda: bool(self.settings.oidc.admin_groups),
            groups_of=self._groups_of,
            everybody=settings.demo_person,
        )
        self.admin = AccountAdmin(storage.database)
        self._people: Groups = {}
        self._counted: Groups = {}
        self.group_by(settings.groups)
        self._members: Groups = {}
        self._members_of: tuple[object, object] = (None, None)
        storage.on_open(self._load)
        storage.also_ask(lambda: self.view.trouble)

    def parts(self, broadcaster: Broadcaster) -> Sequence[Part]:
        """What has to run while the board does, by name."""
        self.view.on_change(lambda: self.door.show_out(broadcaster))
        return (
            ("accounts", self._storage.once_open(self.view.follow)),
            ("people", lambda: self.door.watch(broadcaster)),
        )

    def make_socket(self, access: AccessPolicy, *, url: str, state_dir: str) -> BoardSocket:
        """The board's own socket, for those on its machine."""
        return BoardSocket(
            SocketWay(self._access, self._person_of), self.door.logins, access, url=url, state_dir=state_dir
        )

    def set_up_code(self) -> str | None:
        """The code of a link that makes the first admin; None while there is one. Blocks."""
        is_there = self.admin.has_admin(by_role=self.door.ways.take_roles)
        if is_there or self.settings.oidc.admin_groups:
            return None
        name = pwd.getpwuid(os.getuid()).pw_name if os.getuid() >= self.settings.vouch_from_uid else ADMIN
        return self.admin.invite_admin(name, Deed(what="set-up-link", way="start"))

    def group_by(self, table: GroupsTable) -> None:
        """Take up who is in which group, whatever account of theirs is named there."""
        self._people = {
            group: tuple(dict.fromkeys(map(self._person_of, people)))
            for group, people in table.people.items()
        }
        # Also by the name as it stands there: what was counted before an account was joined has it.
        self._counted = {
            group: tuple(dict.fromkeys((*people, *table.people[group])))
            for group, people in self._people.items()
        }

    def members(self) -> Groups:
        """Whose use counts for which group: by the settings whom they name, others as the provider says."""
        made_of = (self._counted, self.view.groups)
        if not all(map(operator.is_, made_of, self._members_of)):
            self._members_of, self._members = made_of, count_members(*made_of)
        return self._members

    def _groups_of(self, person: str) -> frozenset[str]:
        """All groups of somebody, by the settings and by the provider, however the name is written."""
        name = person.casefold()
        members = self._people.items()
        named = frozenset(group for group, people in members if name in map(str.casefold, people))
        return named.union(self.view.groups.get(name, ()))

    def _access(self) -> AccessTable:
        return self.settings

    def _load(self) -> Callable[[], None]:
        known = self.desk.known()
        return lambda: self.view.learn(known)


def count_members(named: Groups, told: Groups) -> Groups:
    """Each group with its people: those that settings name, and of nobody else what the provider has told."""
    known = {who.casefold() for people in named.values() for who in people}
    found = defaultdict(list, {group: list(people) for group, people in named.items()})
    for who, groups in told.items():
        for group in () if who in known else groups:
            found[group].append(who)
    return {group: tuple(people) for group, people in found.items()}
