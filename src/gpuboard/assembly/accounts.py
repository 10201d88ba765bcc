"""The side of the board that people sign in to: accounts, the view of them, the door."""

import os
import pwd
import time
from collections.abc import Callable, Sequence
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
from gpuboard.settings.board import Settings
from gpuboard.web.access import AccessPolicy
from gpuboard.web.people import PeopleDoor, Ways
from gpuboard.web.stream import Broadcaster

# What the first admin is called where the board runs as nobody in particular.
ADMIN: Final = "admin"


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
        self.groups = settings.groups
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
        if self.admin.has_admin() or self.settings.oidc.admin_groups:
            return None
        name = pwd.getpwuid(os.getuid()).pw_name if os.getuid() >= self.settings.vouch_from_uid else ADMIN
        return self.admin.invite(name, "admin", Deed(what="set-up-link", way="start"))

    def _groups_of(self, person: str) -> frozenset[str]:
        """The groups that the settings put somebody in, however the name is written there."""
        name = person.casefold()
        members = self.groups.people.items()
        return frozenset(group for group, people in members if name in map(str.casefold, people))

    def _access(self) -> AccessTable:
        return self.settings

    def _load(self) -> Callable[[], None]:
        known = self.desk.known()
        return lambda: self.view.learn(known)
