"""What the tests of the fakes share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes import nvml
from tests.fakes.nvml_session import PATIENCE_SECONDS, NvmlSession


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the compiled stand-in library."""
    return nvml.build(tmp_path_factory.getbasetemp())


@pytest.fixture
def scenario_path(tmp_path: Path) -> Path:
    """Return where the scenario of this test lies."""
    return tmp_path / "scenario"


@pytest.fixture
def start(
    library: Path, scenario_path: Path, tmp_path: Path
) -> Iterator[Callable[[nvml.Scenario], NvmlSession]]:
    """Return a function that starts a session on a scenario, initialised if the scenario lets it."""
    with ExitStack() as sessions:

        def start(scenario: nvml.Scenario) -> NvmlSession:
            scenario.write(scenario_path)
            variables = nvml.environment(scenario_path, library, calls=tmp_path / "calls")
            session = sessions.enter_context(NvmlSession(variables))
            initialised = session.submit("nvmlInit()")
            if not scenario.rules.hangs:
                initialised.exception(PATIENCE_SECONDS)
            return session

        yield start
