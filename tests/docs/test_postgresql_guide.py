"""The guide about PostgreSQL: what it says to type works."""

import re
import tomllib
from pathlib import Path

from gpuboard.settings.board import StorageTable, settings_of
from gpuboard.storage.registry import make_database
from tests.fakes.real_postgresql import RealPostgres

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "postgresql.md").read_text()


def blocks(language: str) -> list[str]:
    """The samples in a language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_a_board_can_use_the_database_that_the_guide_makes(postgres: RealPostgres, tmp_path: Path) -> None:
    """With the user, the password and the encoding that stand there."""
    (script,) = blocks("sql")
    for statement in filter(None, map(str.strip, script.replace("…", "a-secret").split(";"))):
        postgres.ask(statement)
    (tmp_path / "password").write_text("a-secret\n")
    url = postgres.url_by_network("gpuboard", "gpuboard")
    database = make_database(StorageTable(url=url, password_file=str(tmp_path / "password")), "")
    database.open(as_board=True)
    assert database.exists()
    database.close()


def test_the_settings_of_the_guide_are_in_order() -> None:
    """As they stand."""
    (sample,) = blocks("toml")
    assert settings_of(tomllib.loads(sample), where="guide").storage.password_file is not None
