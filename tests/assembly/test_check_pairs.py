"""What `serve --check` says of settings that do nothing beside the others."""

from pathlib import Path

import pytest

from gpuboard.assembly.check_pairs import idle_settings
from gpuboard.settings.board import read_settings

PROVIDER = '[access.oidc]\nissuer = "https://login.example"\nclient_id = "b"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[bookings]\ncomments_json_timezone = "Europe/Berlin"', "without comments_json ="),
        ('[bookings]\non_no_show = "nothing"\nno_show_after = "1h"', 'write on_no_show = "warn"'),
        ("[bookings.groups.vision]", 'write longest = "3d"'),
        (
            '[board]\ntls_certificate = "a"\ntls_key = "b"\n[access]\nallow_plaintext = true',
            "no line is in clear",
        ),
        (PROVIDER, "tls_certificate and tls_key, or list the proxy"),
    ],
)
def test_what_has_no_effect_is_said_with_what_to_write(tmp_path: Path, text: str, says: str) -> None:
    """Once, and it starts all the same."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(text)
    (word,) = idle_settings(read_settings(config))
    assert "has no effect" in word
    assert says in word


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[bookings]\nlongest = "3d"\n[bookings.groups.vision]\nahead = "3d"',
        f'{PROVIDER}[access]\ntrusted_proxies = ["127.0.0.1"]',
    ],
)
def test_nothing_is_said_of_what_works(tmp_path: Path, text: str) -> None:
    """Nor of what nobody has set."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(text)
    assert idle_settings(read_settings(config)) == []
