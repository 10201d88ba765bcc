"""Who is believed about where a request comes from."""

import pytest
from litestar.datastructures import Headers

from gpuboard.web.access import AccessPolicy

PROXY = "10.0.0.1"
LOCAL = "127.0.0.1"
POLICY = AccessPolicy(trusted_proxies=frozenset({PROXY, LOCAL}))


@pytest.mark.parametrize(
    ("peer", "forwarded", "viewer"),
    [
        (LOCAL, [], LOCAL),
        ("10.0.0.9", [], "10.0.0.9"),
        (PROXY, ["192.0.2.7"], "192.0.2.7"),
        # A viewer that brings a line of its own: only the last hop is the proxy's word.
        (PROXY, ["127.0.0.2, 192.0.2.7"], "192.0.2.7"),
        (PROXY, ["127.0.0.2", "192.0.2.7"], "192.0.2.7"),
        (PROXY, ["127.0.0.2", "192.0.2.7, 127.0.0.1"], "192.0.2.7"),
        ("10.0.0.9", ["127.0.0.2"], None),
        (PROXY, [""], ""),
        (PROXY, ["127.0.0.1, 10.0.0.1"], None),
    ],
)
def test_the_viewer_is_whom_the_last_trusted_proxy_names(
    peer: str, forwarded: list[str], viewer: str | None
) -> None:
    """Proxies add to the header's line or add a line; what the viewer wrote before counts for nothing."""
    headers = Headers([(b"x-forwarded-for", line.encode()) for line in forwarded])
    assert POLICY.viewer_address(peer, headers) == viewer


@pytest.mark.parametrize("header", ["forwarded", "x-real-ip"])
def test_other_forwarding_headers_never_make_a_viewer_local(header: str) -> None:
    """They are not read, so they say only that the request came from elsewhere."""
    headers = Headers([(header.encode(), b"127.0.0.1")])
    assert [POLICY.tier(peer, headers) for peer in (LOCAL, PROXY, "10.0.0.9")] == ["counts"] * 3


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        ("10.0.0.9", None, "10.0.0.9"),
        (PROXY, "192.0.2.7", "192.0.2.7"),
        # This machine, and proxies that do not say for whom they ask.
        ("127.0.0.5", None, None),
        ("::1", None, None),
        (PROXY, "", None),
        (PROXY, PROXY, None),
        ("127.0.0.5", "192.0.2.7", None),
        # A viewer that only claims to be a proxy is itself.
        ("10.0.0.9", "127.0.0.1", "10.0.0.9"),
        (None, None, None),
    ],
)
def test_viewers_are_counted_by_the_address_that_can_be_believed(
    peer: str | None, forwarded: str | None, counted: str | None
) -> None:
    """Nobody escapes the count by a header, and nobody pays for others behind a proxy."""
    headers = Headers([] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())])
    assert POLICY.counted_address(peer, headers) == counted


@pytest.mark.parametrize(
    ("peer", "is_proxy"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("2001:db8::7", True),
        ("192.0.2.1", True),
        ("10.2.0.1", False),
        ("2001:db9::7", False),
        ("proxy.lab.example", False),
        (None, False),
    ],
)
def test_proxies_are_listed_by_address_or_network(peer: str | None, is_proxy: bool) -> None:  # noqa: FBT001
    """A cluster's proxies have many addresses of one network."""
    networks = frozenset({"10.1.0.0/16", "2001:db8::/32", "192.0.2.1"})
    policy = AccessPolicy(trusted_proxies=networks)
    headers = Headers([(b"x-forwarded-for", b"198.51.100.7, 10.1.9.9")])
    assert policy.is_proxy(peer) is is_proxy
    assert policy.viewer_address(peer, headers) == ("198.51.100.7" if is_proxy else None)


@pytest.mark.parametrize(
    ("sent", "person"),
    [(b"chen", "chen"), ("müller".encode(), "müller"), ("müller".encode("latin-1"), None), (b" ", None)],
)
def test_a_proxy_names_people_in_utf8(sent: bytes, person: str | None) -> None:
    """Read otherwise it would be somebody else, whom nobody knows."""
    policy = AccessPolicy(trusted_proxies=frozenset({PROXY}), proxy_header="x-remote-user")
    assert policy.proxy_person(PROXY, Headers([(b"x-remote-user", sent)])) == person


@pytest.mark.parametrize(
    ("scheme", "peer", "headers", "own"),
    [
        # A proxy that speaks https may say nothing of it.
        ("http", "10.0.0.9", {}, ["http", "https"]),
        ("ws", PROXY, {"x-forwarded-proto": "https, http"}, ["http", "https"]),
        ("wss", "10.0.0.9", {}, ["https"]),
        ("http", PROXY, {"x-forwarded-proto": "https"}, ["https"]),
        # Nobody can tell what the browser speaks.
        ("ws", PROXY, {}, ["http", "https"]),
        ("http", "10.0.0.9", {"x-forwarded-proto": "http"}, ["http", "https"]),
        ("https", "10.0.0.9", {"x-forwarded-for": "192.0.2.7"}, ["http", "https"]),
    ],
)
def test_a_page_in_clear_is_not_the_own_of_a_board_that_speaks_https(
    scheme: str, peer: str, headers: dict[str, str], own: list[str]
) -> None:
    """Whoever is on the way can write any page that comes in clear under the board's name."""
    spoken = POLICY.spoken_scheme(scheme, peer, Headers(headers))
    taken = [each for each in ("http", "https") if POLICY.accepts_origin(f"{each}://gpus", "gpus", spoken)]
    assert taken == own


@pytest.mark.parametrize(
    "origin", ["http://gpus/", "http://gpus:80", "http://x@gpus", "gpus", "null", "ftp://gpus"]
)
def test_an_origin_is_a_scheme_and_a_host_and_no_more(origin: str) -> None:
    """As browsers write it."""
    assert POLICY.accepts_origin("HTTP://GPUS", "gpus", None)
    assert not POLICY.accepts_origin(origin, "gpus", None)
