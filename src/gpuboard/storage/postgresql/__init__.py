"""The board's database on a PostgreSQL server, for a site that keeps one anyway."""

from gpuboard.storage.postgresql.connecting import check_url
from gpuboard.storage.postgresql.database import PostgresDatabase

__all__ = ["PostgresDatabase", "check_url"]
