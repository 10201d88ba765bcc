"""How people are reached: an address that a browser may open, with a place for whom it is."""

from pathlib import Path

import pytest

from gpuboard.model.errors import SettingsError
from gpuboard.settings.board import read_settings


@pytest.mark.parametrize(
    "contact",
    ["", "mailto:{person}@lab.example", "https://chat.lab.example/ask?who={person}&text={text}"],
)
def test_a_way_to_reach_people_can_be_set(tmp_path: Path, contact: str) -> None:
    """By mail, or on a page of the site; or not at all."""
    path = tmp_path / "gpuboard.toml"
    path.write_text(f'[names]\ncontact = "{contact}"\n')
    assert read_settings(path).names.contact == contact


@pytest.mark.parametrize(
    "contact",
    [
        "javascript:alert({person})",
        "http://chat.lab.example/{person}",
        "https://{person}.lab.example/",
        "mailto:admin@lab.example",
        "mailto:{user}@lab.example",
        "mailto:{person@lab.example",
        "mailto:{person}@lab.example cc",
    ],
)
def test_what_is_no_such_address_is_refused(tmp_path: Path, contact: str) -> None:
    """Names come from nodes: none of them becomes a scheme or a host."""
    path = tmp_path / "gpuboard.toml"
    path.write_text(f'[names]\ncontact = "{contact}"\n')
    with pytest.raises(SettingsError, match="contact"):
        read_settings(path)
