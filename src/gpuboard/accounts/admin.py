"""What admins do to accounts, each one transaction. Every call blocks: always in a thread."""

import time
from collections.abc import Callable

from msgspec.structs import replace
from sqlalchemy import Connection

from gpuboard.accounts.audit import Deed, write_deed
from gpuboard.accounts.generation import note_change
from gpuboard.accounts.links import add_link
from gpuboard.accounts.people import (
    all_people,
    apply_role,
    find_person,
    note_removal,
    put_person,
    remove_person,
)
from gpuboard.accounts.records import Person, Vouched, has_admin
from gpuboard.model.errors import UsageError
from gpuboard.model.identity import Role
from gpuboard.storage.base import Database


class AccountAdmin:
    """Adds and removes people, and gives them roles."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def people(self) -> list[Person]:
        """Everybody who has an account or a role here."""
        with self._database.read() as connection:
            return all_people(connection)

    def has_admin(self, *, by_role: bool = False) -> bool:
        """Whether somebody can come in as admin: by a password, or `by_role` alone."""
        return has_admin(self.people(), by_role=by_role)

    def add(self, name: str, role: Role | None, deed: Deed) -> str:
        """Add a person: the code of a link with which an own password is chosen.

        Without a role it is the one that this person has, or a user's.

        Raises:
            UsageError: this person has a password already.
        """
        now = self._clock()
        with self._database.write() as connection:
            known = find_person(connection, name)
            if known is not None and known.password is not None:
                raise UsageError(
                    f"{name} has an account already; give another role with: gpuboard person role {name} "
                    f"ROLE, or another password with: gpuboard person add {name} --again"
                )
            given = role or (known.role if known else "user")
            put_person(connection, name, given, now)
            return self._invite(connection, name, given, deed)

    def invite(self, name: str, role: Role | None, deed: Deed) -> str:
        """The code of a link with which somebody sets a password, who need not have an account yet."""
        with self._database.write() as connection:
            known = find_person(connection, name)
            return self._invite(connection, name, known.role if known else role or "user", deed)

    def invite_admin(self, name: str, deed: Deed) -> str:
        """The same for one who is an admin from then on, whatever they are now."""
        with self._database.write() as connection:
            return self._invite(connection, name, "admin", deed)

    def set_role(self, name: str, role: Role, deed: Deed) -> bool:
        """Give somebody a role; it holds at once. False when that person had none here before."""
        now = self._clock()
        with self._database.write() as connection:
            is_known = find_person(connection, name) is not None
            put_person(connection, name, role, now)
            apply_role(connection, name, role)
            write_deed(connection, replace(deed, detail=f"{name} is {role}"), now)
            note_change(connection)
        return is_known

    def remove(self, name: str, deed: Deed, *, also: Callable[[Connection], object] | None = None) -> bool:
        """Take away somebody's account, sessions and tokens; False when there was nothing.

        `also` takes away what else that person has, in the same transaction. Pages that are open by a proxy's
        word alone are closed too.
        """
        now = self._clock()
        with self._database.write() as connection:
            if also is not None:
                also(connection)
            gone = remove_person(connection, name)
            note_removal(connection, name, now)
            note_change(connection)
            if gone:
                write_deed(connection, replace(deed, detail=name), now)
        return gone > 0

    def _invite(self, connection: Connection, name: str, role: Role, deed: Deed) -> str:
        now = self._clock()
        code, _ = add_link(
            connection, Vouched(person=name, way="password", role=role), role, kind="set-up", now=now
        )
        write_deed(connection, replace(deed, detail=f"{name} as {role}"), now)
        note_change(connection)
        return code
