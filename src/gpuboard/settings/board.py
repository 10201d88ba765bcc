"""gpuboard.toml: the board's own tables. Sources own theirs; here they are only carried."""

import tomllib
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuboard.model.errors import SettingsError
from gpuboard.settings.base import Duration, Size, read_options

DEFAULT_LISTEN: Final = "127.0.0.1:8042"


class BoardTable(Struct, frozen=True, kw_only=True):
    """`[board]`: how the board runs."""

    listen: str = DEFAULT_LISTEN
    # The path under which a proxy passes requests on, if it does not take it away itself.
    base_path: str = "/"
    # Names of the board besides this machine's own.
    hostnames: tuple[str, ...] = ()
    # A node that left its source's list is forgotten after so long.
    forget_after: Duration = Duration(24 * 3600)
    tick: Duration = Duration(1)
    # Empty: systemd's state directory, else ~/.local/state/gpuboard.
    state_dir: str = ""
    # Both or neither: PEM files; with them the board speaks TLS.
    tls_certificate: str = ""
    tls_key: str = ""


class AccessTable(Struct, frozen=True, kw_only=True):
    """`[access]`: who may see what."""

    # Absent: names on this machine, counts beyond.
    anonymous: Literal["nothing", "counts", "names"] | None = None
    # Only these may say for whom they ask.
    trusted_proxies: tuple[str, ...] = ()


class NamesTable(Struct, frozen=True, kw_only=True):
    """`[names]`: what the admin wants things to be called."""

    nodes: dict[str, str] = {}
    models: dict[str, str] = {}
    people: dict[str, str] = {}


class VerdictTable(Struct, frozen=True, kw_only=True):
    """`[verdict]`: where the lines between the words are drawn."""

    busy_utilization_percent: float = 5.0
    idle_utilization_percent: float = 2.0
    idle_after: Duration = Duration(30 * 60)
    memory_floor: Size = Size(500 * 1024**2)
    memory_share: float = 0.05
    hot_celsius: float = 85.0
    # Parts of names of models that are shown, but neither counted nor offered.
    ignore: tuple[str, ...] = ()


class BookingsTable(Struct, frozen=True, kw_only=True):
    """`[bookings]`: who claimed what."""

    # A file that another board keeps, read and watched.
    comments_json: str | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """All of gpuboard.toml."""

    board: BoardTable = BoardTable()
    access: AccessTable = AccessTable()
    names: NamesTable = NamesTable()
    verdict: VerdictTable = VerdictTable()
    bookings: BookingsTable = BookingsTable()
    # Each `[[source]]` as it stands, with the words that say where it stands.
    sources: tuple[tuple[str, dict[str, Any]], ...] = ()
    demo_nodes: int = 0


# Table → its options; `source` is the one list.
TABLES: Final[dict[str, type[Struct]]] = {
    "board": BoardTable,
    "access": AccessTable,
    "names": NamesTable,
    "verdict": VerdictTable,
    "bookings": BookingsTable,
}


def read_settings(path: Path) -> Settings:
    """Read gpuboard.toml.

    Raises:
        SettingsError: it cannot be read, is no TOML, or something in it is wrong; says where and what.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None
    return settings_of(document, where=str(path))


def settings_of(document: dict[str, Any], *, where: str) -> Settings:
    """Turn a whole document into checked settings.

    Raises:
        SettingsError: something in it is wrong.
    """
    unknown = sorted(set(document) - set(TABLES) - {"source"})
    if unknown:
        known = ", ".join([*(f"[{name}]" for name in TABLES), "[[source]]"])
        raise SettingsError(f"{where}: unknown table or key {unknown[0]!r}; known are {known}")
    settings = Settings()
    for name, kind in TABLES.items():
        table = document.get(name, {})
        if not isinstance(table, dict):
            raise SettingsError(f"{where} [{name}]: a table was expected")
        settings = replace(settings, **{name: read_options(kind, table, where=f"{where} [{name}]")})
    return replace(settings, sources=_sources(document.get("source", []), where))


def _sources(tables: Any, where: str) -> tuple[tuple[str, dict[str, Any]], ...]:  # noqa: ANN401 - as TOML has it
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SettingsError(f"{where}: write each source as [[source]], with two brackets")
    return tuple((f"{where} [[source]] {number}", table) for number, table in enumerate(tables, start=1))
