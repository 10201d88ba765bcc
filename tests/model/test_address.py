"""Addresses: what is this machine, and who is one customer."""

import pytest

from gpuboard.model.address import customer, is_address, is_loopback, place_of


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("0.0.0.0", False),
        ("127.0.0.1.example", False),
        ("", False),
        (None, False),
    ],
)
def test_only_this_machines_own_loopback_is_loopback(
    address: str | None,
    loopback: bool,  # noqa: FBT001 - a case
) -> None:
    """To these alone a secret may travel in clear, and from these alone a viewer is at the board itself."""
    assert is_loopback(address) is loopback


@pytest.mark.parametrize(
    ("text", "address"), [("10.0.0.1", True), ("fe80::1", True), ("gpu01", False), ("1.2.3", False)]
)
def test_an_address_is_told_from_a_name(text: str, address: bool) -> None:  # noqa: FBT001 - a case
    """Names are looked up, addresses are not."""
    assert is_address(text) is address


def test_an_old_address_in_new_clothes_is_the_same_customer() -> None:
    """A socket for both kinds of addresses shows IPv4 as IPv6."""
    assert customer("::ffff:10.0.0.1") == customer("10.0.0.1") == "10.0.0.1"
    assert customer("2001:db8::1") == customer("2001:db8::ffff") != customer("2001:db8:1::1")


@pytest.mark.parametrize(
    ("scheme", "host", "port", "place"),
    [
        ("https", "gpus.lab.example", 443, "gpus.lab.example"),
        ("http", "gpus.lab.example", 80, "gpus.lab.example"),
        ("http", "gpus.lab.example", 443, "gpus.lab.example:443"),
        ("https", "::1", 443, "[::1]"),
        ("https", "::1", 8042, "[::1]:8042"),
        ("https", "gpus.lab.example", None, "gpus.lab.example"),
    ],
)
def test_a_port_that_goes_without_saying_is_left_out(scheme: str, host: str, port: int, place: str) -> None:
    """Of links, of what is kept, and in logs alike."""
    assert place_of(scheme, host, port) == place
