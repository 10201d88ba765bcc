"""The tests of the page, at other hours than theirs: who computes what in the demo depends on the hour."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from tests.parts import ROOT

_MONDAY = datetime(2026, 11, 16, 0, 20, tzinfo=UTC)
EVERY_HOUR = tuple(f"{_MONDAY + timedelta(hours=hour):%Y-%m-%dT%H:%M:%SZ}" for hour in range(168))
# By day and by night, on workdays and at the weekend. That the demo has what the tests look for at each of
# the 168 hours is shown without a browser (tests/assembly/test_demo.py).
HOURS = (
    "2026-11-16T08:20:00Z",
    "2026-11-16T04:20:00Z",
    "2026-11-16T15:40:00Z",
    "2026-11-17T09:05:00Z",
    "2026-11-18T21:30:00Z",
    "2026-11-19T00:00:00Z",
    "2026-11-20T13:10:00Z",
    "2026-11-21T03:20:00Z",
    "2026-11-22T18:55:00Z",
)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("hour", EVERY_HOUR if os.environ.get("GPUBOARD_EVERY_HOUR") == "1" else HOURS)
def test_the_page_of_the_demo_is_right_at_any_hour_of_the_week(hour: str) -> None:
    """Whoever runs them, and whenever: no test of the page may count on what just this hour has."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/e2e/page",
        "-m",
        "demo and not long",
        "-q",
        "--tb=short",
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))
    }
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider"], cwd=ROOT, env={**environment, "GPUBOARD_DEMO_TIME": hour},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]
