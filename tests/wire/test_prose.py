"""What people write themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.wire.prose import clean_prose, show_prose

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f3f3\ufe0f\u200d\U0001f308"
# Unicode has it since 16.0.
NEWER = "\U0001fae9"


@pytest.mark.parametrize("text", ["tränen 😭 über A100", FAMILY, f"two {FLAG} flags", NEWER, "👍🏽", "3️⃣"])
def test_emoji_stay_as_they_are(text: str) -> None:
    """They are text, joined ones too."""
    assert (clean_prose(text), show_prose(text)) == (text, text)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (" two\nlines\tand  blanks ", "two lines and blanks"),
        ("zero\u200bwidth\u200d and \u202eturned", "zerowidth and turned"),
        ("\x1b[31mred\x07", "[31mred"),
        ("\U0001f469\u200b\u200d\U0001f469", "\U0001f469\U0001f469"),
        ("\u200b\u2800 \u3164", ""),
    ],
)
def test_what_is_drawn_as_nothing_or_does_something_is_left_out(written: str, kept: str) -> None:
    """What is kept is what is seen."""
    assert clean_prose(written) == kept


@given(st.text(st.sampled_from("ab \n\u200d\u200b\u202e\x1b\ufe0f\U0001f469\U0001f308\U0001fae9\ud800")))
def test_what_is_kept_is_no_longer_and_kept_again(text: str) -> None:
    """What was accepted once is accepted when it comes back."""
    kept = clean_prose(text)
    assert len(kept) <= len(text)
    assert clean_prose(kept) == kept


@given(st.text())
def test_what_a_terminal_is_shown_can_be_printed_but_for_emoji(text: str) -> None:
    """Whatever a board says."""
    shown = show_prose(text)
    assert all(c.isprintable() or c == "\u200d" or 0x1F000 <= ord(c) < 0x1FB00 for c in shown)
