"""gpuboard.toml: the board's own tables. Sources own theirs; here they are only carried."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from gpuboard.model.errors import SettingsError
from gpuboard.settings.access import AccessTable
from gpuboard.settings.base import Days, Duration, Rule, Size, between, read_options
from gpuboard.settings.no_toml import why_no_toml
from gpuboard.settings.rules import (
    check_accounts,
    check_base_path,
    check_contact,
    check_copy,
    check_currency,
    check_display_names,
    check_grid,
    check_groups,
    check_history_size,
    check_hostnames,
    check_ignored,
    check_lines,
    check_listen,
    check_memory_floor,
    check_people,
    check_storage_url,
    check_weights,
)
from gpuboard.settings.words import close_to
from gpuboard.settings.zones import check_zone

DEFAULT_LISTEN: Final = "127.0.0.1:8042"
DEFAULT_COPY: Final = "ssh -t {address} 'env CUDA_VISIBLE_DEVICES={devices} $SHELL -l'"

Percent = Annotated[float, Meta(ge=0, le=100)]


class BoardTable(Struct, frozen=True, kw_only=True):
    """`[board]`: how the board runs."""

    listen: Annotated[str, Meta(examples=["0.0.0.0:8042"]), Rule(check_listen)] = DEFAULT_LISTEN
    # What people call the board; empty: nothing but GPUs.
    title: Annotated[str, Meta(max_length=200)] = ""
    # What people get who copy a command for GPUs; `check_copy` knows what is filled in.
    copy: Annotated[str, Meta(max_length=1000), Rule(check_copy)] = DEFAULT_COPY
    # Where the bars of hosts and of GPUs get darker, in percent.
    host_lines: Annotated[tuple[Percent, Percent], Rule(check_lines)] = (35.0, 70.0)
    gpu_lines: Annotated[tuple[Percent, Percent], Rule(check_lines)] = (20.0, 60.0)
    # The path under which a proxy passes requests on, if it does not take it away itself.
    base_path: Annotated[str, Meta(examples=["/gpus/"]), Rule(check_base_path)] = "/"
    # Names of the board besides this machine's own.
    hostnames: Annotated[tuple[str, ...], Rule(check_hostnames)] = ()
    # A node that left its source's list is forgotten after so long.
    forget_after: Days = Days(24 * 3600)
    tick: Annotated[Duration, between("100ms", "10s")] = Duration(1)
    # Where a wall clock decides, it is one of this zone; empty: this machine's.
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"]), Rule(check_zone)] = ""
    # Empty: systemd's state directory, else ~/.local/state/gpuboard.
    state_dir: str = ""
    # Both or neither: PEM files; with them the board speaks TLS.
    tls_certificate: str = ""
    tls_key: str = ""


class NamesTable(Struct, frozen=True, kw_only=True):
    """`[names]`: what the admin wants things to be called."""

    nodes: Annotated[dict[str, str], Rule(check_display_names)] = {}
    models: dict[str, str] = {}
    people: Annotated[dict[str, str], Rule(check_accounts)] = {}
    # How to reach somebody: {person}, their account, and {text}, what to ask, are filled in.
    contact: Annotated[
        str, Meta(max_length=1000, examples=["mailto:{person}@lab.example"]), Rule(check_contact)
    ] = ""


class GroupsTable(Struct, frozen=True, kw_only=True):
    """`[groups]`: what belongs together."""

    # Group → its nodes, as people write them: `gpu[01-16]`, `nlp-*`.
    nodes: Annotated[
        dict[str, tuple[str, ...]], Meta(examples=[{"rack-a": ["gpu[01-16]"]}]), Rule(check_groups)
    ] = {}
    # Group → its people.
    people: Annotated[
        dict[str, tuple[str, ...]], Meta(examples=[{"vision": ["ana", "chen"]}]), Rule(check_people)
    ] = {}


class VerdictTable(Struct, frozen=True, kw_only=True):
    """`[verdict]`: where the lines between the words are drawn."""

    busy_utilization_percent: Percent = 5.0
    idle_utilization_percent: Percent = 2.0
    idle_after: Annotated[Duration, between("1s", "3660d")] = Duration(30 * 60)
    memory_floor: Annotated[Size, Rule(check_memory_floor)] = Size(500 * 1024**2)
    memory_share: Annotated[float, Meta(ge=0, le=1)] = 0.05
    hot_celsius: Annotated[float, Meta(ge=0, le=200)] = 85.0
    # Parts of names of models that are shown, but neither counted nor offered.
    ignore: Annotated[tuple[str, ...], Rule(check_ignored)] = ()

    def __post_init__(self) -> None:
        """Refuse lines that cross: a GPU would work and do nothing at once."""
        busy, idle = self.busy_utilization_percent, self.idle_utilization_percent
        if idle > busy:
            raise ValueError(
                f"idle_utilization_percent = {idle:g} is above busy_utilization_percent = {busy:g}; "
                f"write idle_utilization_percent = {busy:g} or less"
            )


class LimitsTable(Struct, frozen=True, kw_only=True):
    """`[bookings.groups.NAME]`: how much members of a group may book; absent: as for all."""

    longest: Days | None = None
    # How far from now a booking may begin.
    ahead: Days | None = None
    gpus_at_once: Annotated[int, Meta(ge=0, le=100_000, examples=[4])] | None = None
    # GPU-hours of a calendar week.
    hours_per_week: Annotated[float, Meta(ge=0, le=1_000_000, examples=[200])] | None = None


class BookingsTable(LimitsTable, frozen=True, kw_only=True):
    """`[bookings]`: who claimed what, and how much anybody may book; absent: as much as there is."""

    # A file that another board keeps, read and watched.
    comments_json: str | None = None
    # The zone of its dates; the other board reads them as UTC unless somebody has changed it.
    comments_json_timezone: Annotated[str, Meta(examples=["Europe/Berlin"]), Rule(check_zone)] = "UTC"
    # A booker who was seen on none of the GPUs for so long since the begin has not come.
    no_show_after: Annotated[Duration, between("1s", "30d")] = Duration(30 * 60)
    on_no_show: Literal["warn", "release", "nothing"] = "warn"
    # Run for everything that is not as booked: the program and its arguments; JSON comes on its stdin.
    command: Annotated[tuple[str, ...], Meta(examples=[["/usr/local/bin/tell-booker"]])] = ()
    # Group → what its members may book instead.
    groups: dict[str, LimitsTable] = {}


class StorageTable(Struct, frozen=True, kw_only=True):
    """`[storage]`: where tokens and all else that must outlive the board are kept."""

    # Empty: a file of SQLite in the state directory.
    url: Annotated[
        str, Meta(examples=["postgresql://gpuboard@db.lab.example/gpuboard"]), Rule(check_storage_url)
    ] = ""
    # The password for PostgreSQL; without it libpq's own ways hold (PGPASSWORD, PGPASSFILE, ~/.pgpass).
    password_file: str | None = None

    def __post_init__(self) -> None:
        """Refuse a password for nobody."""
        if self.password_file is not None and not self.url.startswith("postgres"):
            raise ValueError('password_file has no effect without a PostgreSQL url = "postgresql://…"')


class HistoryTable(Struct, frozen=True, kw_only=True):
    """`[history]`: what is kept of the past, and for how long."""

    # A demo invents its past, and leaves none behind.
    kind: Literal["embedded", "none"] = "embedded"
    # How finely; a minute is a whole number of these.
    grid: Annotated[Duration, Rule(check_grid)] = Duration(10)
    # On the grid; then by minutes, and by hours.
    keep: Days = Days(14 * 86400)
    keep_minutes: Days = Days(90 * 86400)
    keep_hours: Days = Days(5 * 365 * 86400)
    # Afterwards people are "somebody"; absent: as long as hours.
    keep_names: Days | None = None
    # Of the file; absent: only age counts.
    max_size: Annotated[Size, Rule(check_history_size)] | None = None


class UsageTable(Struct, frozen=True, kw_only=True):
    """`[usage]`: what GPU-hours are worth."""

    # A model as it is shown, or a part of its name → what an hour of it counts for; else 1.
    weights: Annotated[dict[str, float], Meta(examples=[{"H100": 3}]), Rule(check_weights)] = {}
    # Of a weighted GPU-hour; absent: none is told.
    price: Annotated[float, Meta(ge=0, le=1_000_000, examples=[0.4])] | None = None
    # What the price is in, for people; empty: nothing is said.
    currency: Annotated[str, Meta(max_length=16, examples=["EUR"]), Rule(check_currency)] = ""

    def __post_init__(self) -> None:
        """Refuse a currency of nothing."""
        if self.currency and self.price is None:
            raise ValueError("currency has no effect without price; write price = 0.4")


class Settings(Struct, frozen=True, kw_only=True):
    """All of gpuboard.toml."""

    board: BoardTable = BoardTable()
    access: AccessTable = AccessTable()
    names: NamesTable = NamesTable()
    groups: GroupsTable = GroupsTable()
    verdict: VerdictTable = VerdictTable()
    bookings: BookingsTable = BookingsTable()
    storage: StorageTable = StorageTable()
    history: HistoryTable = HistoryTable()
    usage: UsageTable = UsageTable()
    # Each `[[source]]` as it stands, with the words that say where it stands.
    sources: tuple[tuple[str, dict[str, Any]], ...] = ()
    # There is a file, and no table in it: as is left of one that was being written.
    is_empty: bool = False
    demo_nodes: int = 0
    # Who everybody is that looks at a demo which keeps nothing; None: whoever they are.
    demo_person: str | None = None


# Table → its options; `source` is the one list.
TABLES: Final[dict[str, type[Struct]]] = {
    "board": BoardTable,
    "access": AccessTable,
    "names": NamesTable,
    "groups": GroupsTable,
    "verdict": VerdictTable,
    "bookings": BookingsTable,
    "storage": StorageTable,
    "history": HistoryTable,
    "usage": UsageTable,
}


def read_settings(path: Path) -> Settings:
    """Read gpuboard.toml.

    Raises:
        SettingsError: it cannot be read, is no TOML, or something in it is wrong; says where and what.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: it is no text in UTF-8 ({error.reason}); TOML is expected") from None
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: {error}; {why_no_toml(str(error), text)}") from None
    return replace(settings_of(document, where=str(path)), is_empty=not document)


def settings_of(document: dict[str, Any], *, where: str) -> Settings:
    """Turn a whole document into checked settings.

    Raises:
        SettingsError: something in it is wrong.
    """
    for name in document:
        if name not in TABLES and name != "source":
            raise SettingsError(f"{where}: {_unknown_table(name)}")
    settings = Settings()
    for name, kind in TABLES.items():
        table = document.get(name, {})
        if not isinstance(table, dict):
            raise SettingsError(f"{where}: write [{name}] on a line of its own, and its keys below")
        _check_place(name, table, kind, where)
        settings = replace(settings, **{name: read_options(kind, table, where=f"{where} [{name}]")})
    return replace(settings, sources=_sources(document.get("source", []), where))


def _check_place(name: str, table: dict[str, Any], kind: type[Struct], where: str) -> None:
    """Lead whoever writes a group straight below `[groups]` to where it belongs."""
    astray = next((key for key, value in table.items() if key not in kind.__struct_fields__), None)
    if name == "groups" and astray is not None and isinstance(table[astray], list):
        raise SettingsError(f"{where} [{name}]: {astray!r} belongs below a line [{name}.nodes]")


def _unknown_table(name: str) -> str:
    known = ", ".join([*(f"[{table}]" for table in TABLES), "[[source]]"])
    owners = [table for table, kind in TABLES.items() if name in kind.__struct_fields__]
    hint = f"; it belongs below a line [{owners[0]}]" if owners else close_to(name, [*TABLES, "source"])
    return f"unknown table or key {name!r}{hint}; known are {known}"


def _sources(tables: Any, where: str) -> tuple[tuple[str, dict[str, Any]], ...]:  # noqa: ANN401 - as TOML has it
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SettingsError(f"{where}: write each source as [[source]], with two brackets")
    pushed = [number for number, table in enumerate(tables, start=1) if table.get("kind") == "push"]
    if len(pushed) > 1:
        raise SettingsError(
            f'{where} [[source]] {pushed[1]}: kind = "push" stands there for the second time; agents '
            "that push are one source: keep one table"
        )
    return tuple((f"{where} [[source]] {number}", table) for number, table in enumerate(tables, start=1))
