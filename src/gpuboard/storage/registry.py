"""Which database a board has, by its URL."""

from pathlib import Path

from gpuboard.model.errors import SettingsError
from gpuboard.outside.state_directory import state_directory
from gpuboard.settings.board import StorageTable
from gpuboard.storage.base import Database
from gpuboard.storage.sqlite import FILE_NAME, SqliteDatabase

_SQLITE = "sqlite:///"


def make_database(storage: StorageTable, state_dir: str) -> Database:
    """The database that the settings name, else the file in the state directory; not opened yet.

    Raises:
        SettingsError: this installation lacks what it needs, or the URL can never be used.
    """
    if not storage.url:
        return SqliteDatabase(state_directory(state_dir) / FILE_NAME)
    if storage.url.startswith(_SQLITE):
        return SqliteDatabase(Path(storage.url.removeprefix(_SQLITE)).expanduser())
    try:
        from gpuboard.storage.postgresql import PostgresDatabase, check_url  # noqa: PLC0415 - only with its extra installed
    except ImportError as error:
        raise SettingsError(
            f"[storage] url names PostgreSQL, and its client is not installed ({error}); "
            "in the checkout, with the pip of this installation, run: pip install '.[postgresql]'"
        ) from None
    check_url(storage.url)
    return PostgresDatabase(storage.url, storage.password_file)
