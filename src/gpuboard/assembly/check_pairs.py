"""Settings that do nothing beside the others; a board would start with them."""

from collections.abc import Iterator

from gpuboard.settings.board import BookingsTable, Settings


def idle_settings(settings: Settings) -> list[str]:
    """What has no effect, with what to write."""
    return [*_of_bookings(settings.bookings), *_of_signing_in(settings)]


def _of_bookings(table: BookingsTable) -> Iterator[str]:
    usual = BookingsTable()
    if table.comments_json is None and table.comments_json_timezone != usual.comments_json_timezone:
        yield '[bookings] comments_json_timezone has no effect without comments_json = "FILE"'
    if table.on_no_show == "nothing" and table.no_show_after != usual.no_show_after:
        yield '[bookings] no_show_after has no effect with on_no_show = "nothing"; write on_no_show = "warn"'
    for name, limits in table.groups.items():
        if limits == type(limits)():
            yield f'[bookings.groups.{name}] is empty, so it has no effect; write longest = "3d" below'


def _of_signing_in(settings: Settings) -> Iterator[str]:
    board, access = settings.board, settings.access
    if access.allow_plaintext and board.tls_certificate:
        yield "[access] allow_plaintext has no effect with [board] tls_certificate: no line is in clear"
    is_ever_secure = board.tls_certificate or access.trusted_proxies or access.allow_plaintext
    if access.oidc.issuer and not is_ever_secure:
        yield (
            "[access.oidc] has no effect beyond this machine, for signing in needs https; write [board] "
            "tls_certificate and tls_key, or list the proxy that speaks it: "
            '[access] trusted_proxies = ["127.0.0.1"]'
        )
