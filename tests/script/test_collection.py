"""The suite itself: every worker of a run must find the same tests, or none is run."""

import os
import re
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_tests_of_a_group_are_left_to_one_worker(request: pytest.FixtureRequest) -> None:
    """They share a cluster, a network or a browser; two workers would disturb each other."""
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-n",
            "2",
            "--dist",
            "loadgroup",
            "tests/storage/test_writer.py",
        ],
        cwd=request.config.rootpath,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    ran = re.findall(r"^\[(gw\d)\].* (?:PASSED|SKIPPED) tests/\S+@(\S+)", run.stdout, re.MULTILINE)
    assert len(ran) > 1, run.stdout
    assert {group for _, group in ran} == {"postgresql"}
    assert len({worker for worker, _ in ran}) == 1


@pytest.mark.slow
def test_the_names_of_tests_depend_on_neither_the_clock_nor_the_order_of_sets(
    request: pytest.FixtureRequest,
) -> None:
    """Two workers that collect across the turn of a second would differ, and the whole run end there."""
    later = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "--long", "tests"],
        env=os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
        cwd=request.config.rootpath,
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
    )
    found = {line.partition("@")[0] for line in later.stdout.splitlines()}
    missed = [item.nodeid for item in request.session.items if item.nodeid.partition("@")[0] not in found]
    assert not missed
