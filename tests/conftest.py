"""What all tests share: strictness about blocking calls, and one closing line about what was skipped."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import HealthCheck, settings

from tests.board import RunningBoard, running_board
from tests.databases import database, database_url, postgres

__all__ = ["database", "database_url", "postgres"]

# Folders whose tests start browsers, make networks or attack: they have their time in the whole run.
NOT_QUICK = {Path(__file__).parent / folder for folder in ("e2e", "hostile", "network", "proxies")}

# A run at the desk should be quick, and so should CI; a long run looks longest. CI tries the same ones each
# time, so that who lands a change hears of that change; new ones are found at the desk and by long runs.
_PATIENT = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
for _run, _examples in {"desk": 100, "ci": 100, "long": 2000}.items():
    settings.register_profile(
        _run,
        max_examples=_examples,
        derandomize=_run == "ci",
        # Time limits are pytest's business.
        deadline=None,
        suppress_health_check=_PATIENT,
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run be shorter or longer than usual."""
    parser.addoption(
        "--quick", action="store_true", help="leave out what is marked slow, long, or needs much"
    )
    parser.addoption("--long", action="store_true", help="also run what is marked long")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples are tried: a quick run leaves out tests, but looks as closely."""
    usual = "ci" if os.environ.get("CI") == "true" else "desk"
    settings.load_profile("long" if config.getoption("--long") else usual)


# Boards that the tests of several files share.
SHARED_BOARDS = ("board", "push_board")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave tests that share a cluster or a board to one worker: these take their time to be made."""
    group = _shared_part(item)
    if group is not None and item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(group))


def _shared_part(item: pytest.Item) -> str | None:
    chosen = getattr(getattr(item, "callspec", None), "params", {})
    wanted: tuple[str, ...] = getattr(item, "fixturenames", ())
    if chosen.get("database_url") == "postgresql" or "postgres" in wanted:
        return "postgresql"
    scopes = {name: _scope(item, name) for name in wanted}
    if "module" in scopes.values():
        return item.nodeid.split("::")[0]
    return next((name for name in SHARED_BOARDS if scopes.get(name) == "session"), None)


def _scope(item: pytest.Item, fixture: str) -> str | None:
    found = item.session._fixturemanager.getfixturedefs(fixture, item)
    return found[-1].scope if found else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read the folders that a quick run leaves out."""
    return True if config.getoption("--quick") and collection_path in NOT_QUICK else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run has no time for, and let the rest carry its group in its name."""
    left_out = [item for item in items if not _is_wanted(config, item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_wanted(config, item)]
    if getattr(config.option, "loadgroup", False):
        for item in items:
            _name_group(item)


def _name_group(item: pytest.Item) -> None:
    """Write the group where pytest-xdist reads it; where it writes it itself, this pytest no longer looks."""
    groups = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
    suffix = f"@{'_'.join(groups)}"
    if groups and not item.nodeid.endswith(suffix):
        item._id = type(item._id).parse(f"{item.nodeid}{suffix}")


def _is_wanted(config: pytest.Config, item: pytest.Item) -> bool:
    if item.get_closest_marker("long") is not None:
        return bool(config.getoption("--long"))
    if not config.getoption("--quick"):
        return True
    return item.get_closest_marker("slow") is None


@pytest.fixture(autouse=True, scope="session")
def _no_blocking_calls() -> Iterator[None]:
    """A blocking call on the event loop, in our own code, is an error."""
    blockbuster: BlockBuster
    with blockbuster_ctx("gpuboard") as blockbuster:
        yield
        del blockbuster


@pytest.fixture(scope="session")
def push_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board to which nodes push; every test has nodes of its own."""
    folder = tmp_path_factory.mktemp("board")
    (folder / "gpuboard.toml").write_text('[history]\nkind = "none"\n')
    config = str(folder / "gpuboard.toml")
    with running_board("--demo", "1", "--config", config, log=folder / "log") as running:
        yield running


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line which parts were missing, and how many tests that cost."""
    wants = Counter(
        reason.removeprefix("Skipped: needs ")
        for report in terminalreporter.stats.get("skipped", ())
        if "needs "
        in (reason := str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr))
    )
    if wants:
        parts = ", ".join(f"{part} ({count})" for part, count in sorted(wants.items()))
        terminalreporter.write_line(f"skipped for want of: {parts}")
