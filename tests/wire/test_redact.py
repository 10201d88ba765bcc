"""What viewers read who may see counts only."""

import pytest

from gpuboard.model.verdict import Reason
from gpuboard.wire.component import ComponentView, component_for_tier
from gpuboard.wire.redact import hide_names_in_reason

SECRET = "/srv/ana/secret: bash: gpustat: command not found"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("comments-json", "the bookings file cannot be read; bookings of before, if there are any, stay"),
        ("comments-entries", "the bookings file has entries that cannot be read"),
        ("settings", "the new settings are wrong; those of before stay"),
        ("file-refused", "its file cannot be read"),
        ("storage", "the board's database cannot be used"),
        ("connection-refused", "connection refused"),
    ],
)
def test_parts_and_nodes_in_trouble_say_why_in_plain_words_without_names(code: str, words: str) -> None:
    """The same words for both; a code without words of its own says itself."""
    part = ComponentView(component="x", kind="x", name=SECRET, state="trouble", code=code, reason=SECRET)
    hidden = component_for_tier(part, "counts")
    assert (hidden.name, hidden.reason) == (None, words)
    assert component_for_tier(part, "names") == part
    assert hide_names_in_reason(Reason(code=code, text=SECRET)) == Reason(code=code, text=words)


def test_a_part_that_is_well_has_no_reason() -> None:
    """Nor a name."""
    part = ComponentView(component="x", kind="x", name=SECRET, state="ok")
    assert component_for_tier(part, "counts") == ComponentView(component="x", kind="x", name=None, state="ok")
