"""New settings for a running board: taken up as far as can be; a broken file changes nothing."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.assembly.accounts import AccountSide
from gpuboard.assembly.certificate import CertificateWatch
from gpuboard.assembly.judging import groups_of, names_of, thresholds_of
from gpuboard.assembly.sources import Sources
from gpuboard.assembly.tls import check_tls
from gpuboard.fleet.state import Fleet
from gpuboard.model.errors import GpuboardError, SettingsError
from gpuboard.model.verdict import Reason
from gpuboard.outside.secrets import read_all_again
from gpuboard.outside.threads import off_loop
from gpuboard.settings.board import Settings
from gpuboard.web.access import AccessPolicy
from gpuboard.web.stream import Broadcaster

log = logging.getLogger(__name__)

# What of [board] a running board takes up.
TAKEN_UP: Final = ("hostnames", "tls_certificate", "tls_key")

# Tables that wait for a restart.
LEFT_ALONE: Final = ("bookings", "storage", "history")

READ_SECONDS: Final = 10.0


class Parts(Struct, frozen=True, kw_only=True):
    """The parts of a running board that hear of new settings."""

    fleet: Fleet
    access: AccessPolicy
    sources: Sources
    broadcaster: Broadcaster
    certificate: CertificateWatch
    accounts: AccountSide
    # The policy that settings ask for.
    policy_of: Callable[[Settings], AccessPolicy]


class Reload:
    """Reads the settings again when told to, one reading at a time."""

    def __init__(self, settings: Settings, reread: Callable[[], Settings], parts: Parts) -> None:
        self._settings = settings
        self._reread = reread
        self._parts = parts
        # The certificate that is shown to those who come; known once the board answers.
        self.tls: ssl.SSLContext | None = None
        # Why the newest settings could not be taken up; None: they were.
        self.trouble: Reason | None = None

    @property
    def settings(self) -> Settings:
        """What holds now."""
        return self._settings

    async def run(self) -> None:
        """Take up what has changed, or nothing if anything is wrong."""
        try:
            # Nothing has changed until the last line that can fail. A file that never answers (a dead mount)
            # must not keep later tries from being made.
            async with asyncio.timeout(READ_SECONDS):
                new = await off_loop(self._read)
            planned = self._parts.sources.plan(new)
        except (GpuboardError, TimeoutError) as reason:
            error = "they could not be read in time" if isinstance(reason, TimeoutError) else reason
            log.error("settings not taken up, everything stays as it was: %s", error)  # noqa: TRY400 - no mistake of ours
            self.trouble = Reason(code="settings", text=f"the new settings were not taken up: {error}")
            return
        self.trouble = None
        old, self._settings = self._settings, self._running(new)
        read_all_again()
        self._take_certificate()
        self._take_rules(old, new)
        await self._parts.sources.adopt(planned)
        left = list(_left_for_a_restart(old, new))
        for key in left:
            log.warning("settings taken up, but this needs a restart: %s", key)
        if not left:
            log.info("settings taken up")

    def _read(self) -> Settings:
        new = self._reread()
        # Without its tables everything is as by default: open to this machine, and without sources.
        if new.is_empty and not self._settings.is_empty:
            raise SettingsError("the settings file is empty; to drop all settings, stop the board")
        check_tls(new.board)
        return new

    def _running(self, new: Settings) -> Settings:
        """What holds from now on: the new settings, but for what waits for a restart."""
        board = replace(self._settings.board, **{name: getattr(new.board, name) for name in TAKEN_UP})
        kept = {name: getattr(self._settings, name) for name in LEFT_ALONE}
        return replace(new, board=board, **kept)

    def _take_certificate(self) -> None:
        board = self._settings.board
        if self.tls is not None and board.tls_certificate:
            # The files may be new even if their names are not; or newer than those that were checked.
            try:
                self.tls.load_cert_chain(board.tls_certificate, board.tls_key, password=lambda: b"")
            except (OSError, ssl.SSLError) as error:
                log.error("certificate not taken up: %s", error)  # noqa: TRY400 - no mistake of ours
                self.trouble = Reason(code="settings", text="the certificate was not taken up; see the log")
            else:
                self._parts.certificate.take(board.tls_certificate)

    def _take_rules(self, old: Settings, new: Settings) -> None:
        parts = self._parts
        if (old.names, old.verdict, old.access.realm) != (new.names, new.verdict, new.access.realm):
            parts.fleet.judge_by(thresholds_of(new.verdict), names_of(new))
        if (old.groups, old.names.people) != (new.groups, new.names.people):
            parts.accounts.group_by(new.groups)
        if old.groups != new.groups:
            parts.fleet.group_by(groups_of(new.groups))
        if old.names.contact != new.names.contact:
            parts.broadcaster.set_contact(new.names.contact or None)
        if (old.access, old.board.hostnames) != (new.access, new.board.hostnames):
            parts.access.adopt(parts.policy_of(new))
            parts.accounts.settings = new.access
            # Whoever looks comes again, and sees what he may see now.
            parts.broadcaster.close("access changed")


def _left_for_a_restart(old: Settings, new: Settings) -> Iterator[str]:
    for name in old.board.__struct_fields__:
        if name not in TAKEN_UP and getattr(old.board, name) != getattr(new.board, name):
            yield f"[board] {name}"
    if bool(old.board.tls_certificate) != bool(new.board.tls_certificate):
        yield "[board] tls_certificate, to speak TLS or no longer"
    for name in LEFT_ALONE:
        before, after = getattr(old, name), getattr(new, name)
        for key in before.__struct_fields__:
            if getattr(before, key) != getattr(after, key):
                yield f"[{name}] {key}"
