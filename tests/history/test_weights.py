"""What an hour of a GPU is worth."""

import pytest

from gpuboard.history.weights import Worth

WORTH = Worth(weights={"A100": 2, "a100 80g": 4, "H100 1g.10gb": 0.5, "T4": 0}, price=0.4)


@pytest.mark.parametrize(
    ("model", "weight"),
    [
        ("RTX 4090", 1.0),
        (None, 1.0),
        ("A100 40G", 2.0),
        # Of several parts the longest says it; case says nothing.
        ("A100 80G", 4.0),
        ("T4", 0.0),
        # An instance is a part of its card, unless it is weighed itself.
        ("RTX PRO 6000 1g.24gb", 1 / 7),
        ("A100 40G 3g.20gb", 2 * 3 / 7),
        ("A100 40G 1c.3g.20gb", 2 * 1 / 7),
        ("H100 1g.10gb", 0.5),
    ],
)
def test_a_model_counts_for_what_the_settings_say(model: str | None, weight: float) -> None:
    """By a part of its name, as people filter by it."""
    assert WORTH.weight_of(model) == pytest.approx(weight)


def test_without_weights_and_price_nothing_is_weighed() -> None:
    """A price of nothing is one."""
    assert [one.is_set for one in (Worth(), Worth(price=0.0), Worth(weights={"A": 1}))] == [False, True, True]
