"""What somebody gets who signs in from a command line, on a node or on the board's own machine."""

from functools import partial

from gpuboard.accounts.desk import AccountDesk
from gpuboard.accounts.records import Vouched
from gpuboard.accounts.view import AccountView
from gpuboard.storage.base import Run
from gpuboard.wire.login import LoginGrant, LoginQuestion, VouchQuestion


class Logins:
    """Gives links and tokens to whom somebody has vouched for."""

    def __init__(self, desk: AccountDesk, view: AccountView, run: Run) -> None:
        self._desk = desk
        self._view = view
        self._run = run

    async def grant(
        self,
        vouched: Vouched,
        question: LoginQuestion | VouchQuestion,
        *,
        terminal: str,
        address: str | None,
        plaintext_allowed: bool,
    ) -> LoginGrant:
        """A link for the browser, and a token for the command line there if it wants one.

        Raises:
            StorageError: they cannot be written down.
        """
        if question.is_link_only:
            give = partial(self._desk.give_link, vouched, terminal=terminal, address=address)
            role, code, over_at = await self._run(give, is_write=True)
            return LoginGrant(
                person=vouched.person,
                role=role,
                through=vouched.through,
                code=code,
                code_expires_at=over_at,
                plaintext_allowed=plaintext_allowed,
            )
        made = await self._run(
            partial(self._desk.log_in, vouched, terminal=terminal, address=address), is_write=True
        )
        await self._view.look()
        return LoginGrant(
            person=made.person,
            role=made.role,
            through=vouched.through,
            code=made.code,
            code_expires_at=made.code_expires_at,
            token=made.token,
            token_expires_at=made.token_expires_at,
            plaintext_allowed=plaintext_allowed,
        )
