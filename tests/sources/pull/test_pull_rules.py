"""The pure rules of pulling: what settings mean, and when a sample is new."""

from typing import Any

import pytest
from msgspec.structs import replace

from gpuboard.model.errors import SettingsError, SourceError
from gpuboard.model.report import Problem
from gpuboard.settings.base import read_options
from gpuboard.sources.pull import PullOptions
from gpuboard.sources.pull.samples import Samples
from tests.sources.pull.agents import report

HOT = Problem(kind="hot", text="too hot", remedy="cool it")


def test_without_options_agents_are_asked_on_their_own_port() -> None:
    """The old node program has another one."""
    assert read_options(PullOptions, {"kind": "pull"}, where="source 1").default_port == 8043
    old = read_options(PullOptions, {"kind": "pull", "protocol": "seed4"}, where="source 1")
    assert old.default_port == 7080
    assert replace(old, port=7081).default_port == 7081


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"interval": "1s"}, "at least 2s"),
        ({"timeout": "0s"}, "timeout"),
        ({"hosts": ["gpu01", "ana@gpu02"]}, "write 'gpu02' alone"),
        ({"ca_file": "/ca.pem"}, "tls = true"),
        ({"protocol": "seed4", "token_file": "/t"}, "password_file"),
        ({"protocol": "seed4", "token_folder": "/t"}, "password_file"),
        ({"token_file": "/t", "token_folder": "/t"}, "two .* tables"),
        ({"password_file": "/p"}, "token_file"),
        ({"protocol": "seed5"}, "seed5"),
        ({"port": 70000}, "65535"),
        ({"hots": []}, "unknown key 'hots'"),
        ({"token": "secret"}, "unknown key 'token'"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(values: dict[str, Any], why: str) -> None:
    """With the place and the remedy."""
    with pytest.raises(SettingsError, match=rf"^source 1: .*{why}"):
        read_options(PullOptions, values, where="source 1")


def test_a_sample_is_new_once() -> None:
    """Asking more often than the agent samples brings no news."""
    samples = Samples()
    assert samples.judge(report(1), mark=1, now=100) is not None
    assert samples.judge(report(1), mark=1, now=105) is None
    assert samples.judge(report(2), mark=2, now=106) is not None


def test_an_older_sample_of_the_same_boot_is_a_replay() -> None:
    """Somebody between us and the node plays an old answer again; after a reboot counting starts anew."""
    samples = Samples()
    samples.judge(report(5), mark=5, now=100)
    with pytest.raises(SourceError, match="sent again") as caught:
        samples.judge(report(4), mark=4, now=101)
    assert caught.value.code == "replayed"
    assert samples.judge(replace(report(1), boot_id="next"), mark=1, now=102) is not None


def test_a_report_without_a_mark_is_always_new() -> None:
    """What a format cannot tell is not held against it."""
    samples = Samples()
    assert samples.judge(report(), mark=None, now=100) is not None
    assert samples.judge(report(), mark=None, now=101) is not None


def test_news_of_trouble_pass_with_an_old_sample_but_make_it_no_younger() -> None:
    """A hung driver is reported with the last inventory; its age is by our clock, whatever it claims."""
    samples = Samples()
    samples.judge(report(1), mark=1, now=100)
    again = samples.judge(replace(report(1), problems=(HOT,)), mark=1, now=130)
    assert again is not None
    assert (again.age_seconds, again.problems) == (30, (HOT,))


def test_a_sample_that_stays_too_long_is_frozen() -> None:
    """By the longer of the two intervals: a slow agent is not a frozen one."""
    samples = Samples()
    samples.judge(replace(report(1), interval_seconds=60.0, age_seconds=10.0), mark=1, now=100)
    assert not samples.is_frozen(200, interval=5)
    assert samples.is_frozen(271, interval=5)
