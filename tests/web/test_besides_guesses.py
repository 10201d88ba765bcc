"""While somebody guesses at an account, its owner comes in at once, whichever way that is."""

import asyncio
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from gpuboard.accounts.admin import AccountAdmin
from gpuboard.accounts.audit import Deed
from gpuboard.accounts.desk import AccountDesk
from gpuboard.accounts.guesses import GuessLimit
from gpuboard.accounts.records import Place, Vouched
from gpuboard.accounts.view import AccountView
from gpuboard.accounts.ways.base import OidcEvidence, PasswordEvidence, SocketEvidence
from gpuboard.accounts.ways.node import NodeWay
from gpuboard.accounts.ways.oidc import OidcWay
from gpuboard.accounts.ways.password import PasswordWay
from gpuboard.accounts.ways.proxy import ProxyWay
from gpuboard.accounts.ways.socket import SocketWay
from gpuboard.model.errors import GuessRefused
from gpuboard.settings.access import AccessTable, OidcTable
from gpuboard.storage.base import Database
from gpuboard.web.access import AccessPolicy
from gpuboard.web.people import PeopleDoor, Ways
from gpuboard.wire.login import LoginQuestion
from tests.accounts.test_guesses import QuickPasswords
from tests.clock import Clock
from tests.fakes.real_oidc import running_provider

pytestmark = pytest.mark.slow

HERE = Place(address="192.0.2.7", browser="b" * 64)
GUESSES = 10_000


class House:
    """A board's door, with an account of ana's and a provider that knows her too."""

    def __init__(self, database: Database, issuer: str, secret: Path) -> None:
        oidc = OidcTable(issuer=issuer, client_id="gpuboard", client_secret_file=str(secret))
        table = AccessTable(oidc=oidc)
        self.clock = Clock(0.0)
        self.desk = AccountDesk(database)
        self.view = AccountView(self.desk)
        passwords = QuickPasswords()
        self.password = PasswordWay(lambda: table, self.view, passwords, GuessLimit(clock=self.clock))
        self.socket = SocketWay(lambda: table, str)
        ways = Ways(
            node=NodeWay(lambda: table, str),
            password=self.password,
            oidc=OidcWay(lambda: table, str),
            proxy=ProxyWay(lambda: table, str),
        )
        access = AccessPolicy(anonymous="counts")
        self.door = PeopleDoor(
            self.desk, self.view, ways, run=database.run, access=access, passwords=passwords
        )

    async def guess(self, password: str, address: str, browser: str | None = None) -> Vouched:
        """Try a password of ana's."""
        return await self.door.check_password(
            PasswordEvidence(name="ana", password=password, address=address, browser=browser)
        )

    async def by_socket(self) -> str:
        """Who comes in by `gpuboard login` on the board's machine, and then by its link."""
        vouched = await self.socket.recognise(SocketEvidence(uid=2000, name="ana"))
        granted = await self.door.logins.grant(
            vouched, LoginQuestion(), terminal="here", address=None, plaintext_allowed=False
        )
        assert self.view.token(granted.token or "") is not None
        made = await self.door.run(lambda: self.desk.sign_in_by_link(granted.code, HERE), is_write=True)
        return await self.who(made)

    async def by_provider(self) -> str:
        """Who comes in by the provider."""
        oidc, browser = self.door.ways.oidc, HERE.browser or ""
        away = await oidc.begin(browser=browser, redirect_uri="http://127.0.0.1/back", goes_to="/")
        back = await asyncio.to_thread(httpx.post, away, data={"sub": "1"})
        said = parse_qs(urlsplit(back.headers["location"]).query)
        vouched = await oidc.recognise(
            OidcEvidence(code=said["code"][0], state=said["state"][0], browser=browser)
        )
        return await self.who(await self.door.run(lambda: self.desk.sign_in(vouched, HERE), is_write=True))

    async def by_known_browser(self, address: str) -> str:
        """Who comes in by the password, in a browser of before."""
        vouched = await self.guess("secret of ana", address, HERE.browser)
        return await self.who(await self.door.run(lambda: self.desk.sign_in(vouched, HERE), is_write=True))

    async def who(self, made: tuple[str, str]) -> str:
        """Whose a session is."""
        await self.view.look()
        session = self.view.session(made[1])
        assert session is not None
        return session.person


async def test_ten_thousand_guesses_keep_the_owner_waiting_nowhere(
    database: Database, tmp_path: Path
) -> None:
    """By the board's socket, by the provider, and by the password in a browser of before."""

    def set_up(desk: AccountDesk) -> None:
        code = AccountAdmin(database).add("ana", "user", Deed(what="test"))
        desk.set_up(code, "secret of ana", HERE)

    secret = tmp_path / "secret"
    secret.write_text("not-so-secret\n")
    secret.chmod(0o600)
    provider = running_provider({"sub": "1", "preferred_username": "ana"}, log=tmp_path / "provider")
    issuer = await asyncio.to_thread(provider.__enter__)
    try:
        house = House(database, issuer, secret)
        await database.run(lambda: set_up(house.desk), is_write=True)
        await house.view.look()
        for number in range(GUESSES):
            house.clock.now = number * 3600.0 / GUESSES
            address = f"10.{number % 7}.{number // 250}.{number % 250}"
            with pytest.raises(GuessRefused):
                await house.guess("wrong", address)
            if number % 2500 == 2499:
                with pytest.raises(GuessRefused, match="Too many"):
                    await house.guess("secret of ana", "192.0.2.99")
                came = [
                    await house.by_socket(),
                    await house.by_provider(),
                    await house.by_known_browser(address),
                ]
                assert came == ["ana"] * 3
    finally:
        await asyncio.to_thread(provider.__exit__, None, None, None)
    assert house.password.evaluated <= 60 + 4
