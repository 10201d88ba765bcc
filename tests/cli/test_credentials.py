"""Which token goes to which board."""

from pathlib import Path

import pytest

from gpuboard.client.credentials import Credential, Credentials
from gpuboard.model.errors import SettingsError

TOKEN = "gpb_" + "a" * 43
KEPT = Credential(person="ana", token="gpb_" + "b" * 43)


def kept_in(folder: Path, *boards: str, **environment: str) -> Credentials:
    """What somebody has who signed in at these boards."""
    credentials = Credentials({"XDG_CONFIG_HOME": str(folder), **environment})
    for board in boards:
        credentials.keep(board, KEPT)
    return credentials


def test_a_token_of_a_server_is_good_for_its_board_below_a_path_and_not_the_other_way(tmp_path: Path) -> None:
    """A server may say no more of its board than itself; another path may be another's."""
    known = kept_in(tmp_path, "https://lab.example/", "https://two.example/gpus/")
    for url in ("https://lab.example", "https://lab.example/gpus/", "https://lab.example:443/a/gpus"):
        assert known.token(url) == KEPT.token
    for url in ("https://two.example/", "https://two.example/gpusx/", "https://other.example/", "http://["):
        assert known.token(url) is None


def test_a_token_that_was_kept_with_the_usual_port_is_good_and_loses_it(tmp_path: Path) -> None:
    """So was written what an agent said of its board."""
    known = kept_in(tmp_path, "https://lab.example/")
    known.path.write_text(known.path.read_text().replace("lab.example/", "lab.example:443/"))
    assert known.token("https://lab.example/") == KEPT.token
    known.keep("https://two.example/", KEPT)
    assert ":443" not in known.path.read_text()


def test_what_is_given_back_is_what_was_shown(tmp_path: Path) -> None:
    """Also by the longer address."""
    known = kept_in(tmp_path, "https://lab.example/")
    known.drop("https://lab.example/gpus/")
    assert (known.token("https://lab.example/"), known.last) == (None, None)


def test_the_token_of_the_environment_goes_before_what_is_kept(tmp_path: Path) -> None:
    """As for a program that runs under somebody's account."""
    known = kept_in(tmp_path, "https://lab.example/", GPUBOARD_TOKEN=f"{TOKEN}\n")
    assert known.token("https://lab.example/") == TOKEN
    assert known.find("https://lab.example/") == KEPT


@pytest.mark.parametrize(
    ("told", "url", "words"),
    [
        ("gpn_of-a-node", "https://lab.example/", "holds no personal token"),
        (TOKEN, "http://lab.example/", "travel in clear"),
    ],
)
def test_a_token_of_the_environment_that_cannot_be_shown_is_said(
    tmp_path: Path, told: str, url: str, words: str
) -> None:
    """Silence would look like a board that hides its names; the token itself is not repeated."""
    with pytest.raises(SettingsError, match=words) as refused:
        kept_in(tmp_path, GPUBOARD_TOKEN=told).token(url)
    assert told not in str(refused.value)
