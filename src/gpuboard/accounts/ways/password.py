"""By an account of the board's own, with a password."""

from collections.abc import Callable

from gpuboard.accounts.guesses import GuessLimit
from gpuboard.accounts.passwords import Passwords
from gpuboard.accounts.records import Vouched
from gpuboard.accounts.view import AccountView
from gpuboard.accounts.ways.base import PasswordEvidence
from gpuboard.model.errors import AccessRefused, GuessRefused
from gpuboard.model.identity import WayKind, is_nobodys_name
from gpuboard.settings.access import AccessTable
from gpuboard.wire.people import WayCard

_WRONG = "This name and this password do not fit together."


class PasswordWay:
    """Compares passwords, but not as many as somebody may want to try."""

    kind: WayKind = "password"

    def __init__(
        self,
        access: Callable[[], AccessTable],
        view: AccountView,
        passwords: Passwords,
        guesses: GuessLimit,
    ) -> None:
        self._access = access
        self._view = view
        self._passwords = passwords
        self._guesses = guesses
        # How many were compared at all.
        self.evaluated = 0

    def card(self) -> WayCard | None:
        """Shown where somebody has a password."""
        is_on = self._access().passwords and self._view.has_passwords
        return WayCard(kind="password", label="Password") if is_on else None

    async def recognise(self, evidence: PasswordEvidence) -> Vouched:
        """Who this is.

        Raises:
            GuessRefused: it is wrong, or too many were.
            AccessRefused: passwords are off.
        """
        if not self._access().passwords:
            raise AccessRefused("This board takes no passwords ([access] passwords).")
        if is_nobodys_name(evidence.name):
            raise AccessRefused("This is the name of an account that is nobody's: sign in as yourself.")
        person = self._view.person(evidence.name)
        known = evidence.browser
        if known is not None and not self._view.knows_browser(known, evidence.name):
            known = None
        wait = self._guesses.wait_seconds(
            evidence.name, evidence.address, is_account=person is not None, known_browser=known
        )
        if wait:
            raise GuessRefused(
                "Too many wrong passwords: wait a few minutes. A browser in which you have signed in before, "
                "gpuboard login on a node, and single sign-on are not kept waiting.",
                wait_seconds=wait,
            )
        self.evaluated += 1
        hashed = person.password if person else None
        if not await self._passwords.fits(evidence.password, hashed, is_known=known is not None):
            raise GuessRefused(_WRONG)
        assert person is not None  # noqa: S101 - who has a password is somebody
        return Vouched(person=person.name, way="password", role=person.role, display_name=person.display_name)
