"""`[access]` and the provider's table in it: what is wrong is said with its place and its remedy."""

from typing import Any

import pytest

from gpuboard.model.errors import SettingsError
from gpuboard.settings.board import settings_of


def access(**keys: Any) -> Any:  # noqa: ANN401 - as TOML has it
    """The table as it is read."""
    return settings_of({"access": keys}, where="x.toml").access


def test_nodes_may_vouch_and_nobody_else_is_believed_unless_told() -> None:
    """The defaults of a board that nobody has configured."""
    table = access()
    assert (table.vouching, table.vouch_from_uid, table.realm) == (("*",), 1000, "all")
    assert (table.proxy_header, table.allow_plaintext, table.oidc.issuer) == ("", False, "")


def test_a_table_in_the_table_is_read_like_any_other() -> None:
    """Its lists and its absence of lists too."""
    table = access(oidc={"issuer": "https://login.example", "client_id": "b", "user_groups": ["lab"]})
    assert (table.oidc.user_groups, table.oidc.viewer_groups, access().oidc.user_groups) == (
        ("lab",),
        (),
        None,
    )


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"oidc": {"isuer": "x"}}, r"x\.toml \[access\.oidc\]: unknown key 'isuer'; did you mean 'issuer'"),
        ({"oidc": {"issuer": "http://login.example"}}, r"\[access\.oidc\]: issuer = .*https://"),
        ({"oidc": {"issuer": "ftp://login.example"}}, r"https://"),
        ({"oidc": {"issuer": "https://[x"}}, r"https://"),
        (
            {"oidc": {"client_id": "b"}},
            r"\[access\.oidc\]: client_id has no effect without issuer; write issuer = \"https://",
        ),
        (
            {"oidc": {"issuer": "https://login.example"}},
            r"issuer has no effect without client_id; write client_id = \"gpuboard\"",
        ),
        ({"oidc": {"admin_groups": ["a"]}}, r"admin_groups has no effect without issuer"),
        ({"proxy_header": "X-User"}, r"\[access\]: proxy_header .*; write trusted_proxies = \[\"127"),
        ({"oidc": "https://login.example"}, r"\[access\.oidc\]: write it on a line of its own"),
        ({"proxy_header": "Cookie"}, r"X-Remote-User"),
        ({"proxy_header": "X Remote"}, r"X-Remote-User"),
        ({"trusted_proxies": ["127.0.0.1", "0.0.0.0/0"]}, r"'0\.0\.0\.0/0' would make a proxy of anybody"),
        ({"trusted_proxies": ["128.0.0.0/1"]}, r"would make a proxy of anybody"),
        ({"trusted_proxies": ["::/0"]}, r"would make a proxy of anybody"),
        ({"trusted_proxies": ["2000::/3"]}, r'write where the proxy comes from, like \["127'),
        ({"vouching": ["gpu 1"]}, r"login\*"),
        ({"vouching": "gpu01"}, r'\["gpu01"\]'),
        ({"vouch_from_uid": 0}, r"from 1 to"),
        ({"realm": "nodes"}, r"did you mean 'node'"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_write(keys: dict[str, Any], words: str) -> None:
    """And never taken for something else."""
    with pytest.raises(SettingsError, match=words):
        access(**keys)


def test_a_network_that_is_all_ones_own_may_be_the_proxies() -> None:
    """The widest that there are."""
    assert access(trusted_proxies=["10.0.0.0/8", "fc00::/7"]).trusted_proxies == ("10.0.0.0/8", "fc00::/7")


def test_groups_of_people_have_names_that_can_be_typed() -> None:
    """As groups of nodes do."""
    with pytest.raises(SettingsError, match="is no name"):
        settings_of({"groups": {"people": {"vision": ["a\x00b"]}}}, where="x.toml")
