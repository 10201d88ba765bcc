"""The board's database as one file on a local disk; nothing to install, nothing to run."""

from gpuboard.storage.sqlite.database import FILE_NAME, SqliteDatabase

__all__ = ["FILE_NAME", "SqliteDatabase"]
