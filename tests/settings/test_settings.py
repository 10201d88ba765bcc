"""gpuboard.toml: what is right is taken, what is wrong is named."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from msgspec import Struct

from gpuboard.discovery.registry import DISCOVERIES
from gpuboard.model.errors import SettingsError
from gpuboard.settings.base import Duration, Size, read_options
from gpuboard.settings.board import TABLES, read_settings, settings_of
from gpuboard.sources.registry import SOURCES, Surroundings, make_source

AROUND = Surroundings(now=lambda: 0.0, node="here")


def settings_file(folder: Path, text: str) -> Path:
    """A file with this text."""
    path = folder / "gpuboard.toml"
    path.write_text(text)
    return path


def test_everything_that_can_be_set_is_read(tmp_path: Path) -> None:
    """Units as people write them."""
    text = """
    [board]
    listen = "0.0.0.0:8042"
    base_path = "/gpus/"
    hostnames = ["gpus.lab.example"]
    [access]
    anonymous = "names"
    trusted_proxies = ["127.0.0.1"]
    [verdict]
    idle_after = "1h"
    memory_floor = "1G"
    [names]
    models = { "NVIDIA A100-SXM4-80GB" = "A100 80G" }
    people = { "achen2" = "chen" }
    [[source]]
    kind = "folder"
    path = "/nfs/status-gpu"
    pattern = "cml*"
    """
    settings = read_settings(settings_file(tmp_path, text))
    assert (settings.board.listen, settings.access.anonymous) == ("0.0.0.0:8042", "names")
    assert (settings.verdict.idle_after, settings.verdict.memory_floor) == (3600.0, 1024**3)
    assert [make_source(table, AROUND, where=where).kind for where, table in settings.sources] == ["folder"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[bord]", "'bord'"),
        ("[names]\npeople = { ana = ['Ana'] }", 'write people = { "ana" = "Ana" }'),
        ("[names]\npeople = { ana = ['a', 'b'] }", 'write people = { "ana" = "…" }'),
        ("[names.nodes]\ngpu01 = ' '", "gpu01 would have an empty name"),
        ("[groups.nodes]\nrack-a = []", "'rack-a' has no node; write rack-a = "),
        ("[groups]\nrack-a = ['gpu01']", "'rack-a' belongs below a line [groups.nodes]"),
        ("[storage]\npassword_file = '/etc/p'", "password_file has no effect without a PostgreSQL url"),
        (
            "[[source]]\nkind = 'push'\n[[source]]\nkind = 'push'",
            '[[source]] 2: kind = "push" stands there for',
        ),
        ("[board]\nlissten = 1", "'lissten'"),
        ("[board]\nlisten = 8042", "listen"),
        ("[access]\nanonymous = 'all'", "anonymous"),
        ("[verdict]\nidle_after = 'soon'", "1h30m"),
        ("[source]\nkind = 'ssh'", "[[source]]"),
        ("[usage]\nweights = { '' = 2 }", "is no model; write parts of names"),
        ("[usage]\nweights = { H100 = -1 }", "H100 = -1: an hour counts for 0 to"),
        ("[usage]\nweights = { H100 = inf }", "H100 = inf: an hour counts for 0 to"),
        ("[usage]\nweights = { H100 = 'three' }", "weights"),
        ("[usage]\nweights = { H100 = '3' }", 'a table of numbers; write weights = { "H100" = 3 }'),
        ("[usage]\nweights = { H100 = [] }", 'a table of numbers; write weights = { "H100" = 3 }'),
        ("[history]\nkeep = 14", 'with its unit; write keep = "14d"'),
        ("[verdict]\nmemory_floor = '500'", "expected a size with its unit; write memory_floor = "),
        ("[verdict]\nmemory_floor = '500G'", 'must be "8G" or less'),
        ("[history]\nmax_size = ' 20 '", "expected a size with its unit; write max_size = "),
        ("[history]\nkeep_names = '30'", 'write keep_names = "30d"'),
        ("[history]\nkeep_minutes = true", 'write keep_minutes = "14d"'),
        ("[bookings]\nlongest = 3", 'write longest = "3d"'),
        ("[bookings.groups.vision]\nahead = 2.5", 'write ahead = "2.5d"'),
        ("[bookings]\nlongest = '3 days'", "or 3d"),
        ("[board]\ntitle = “Lab”", 'quotes are straight, so write title = "Lab"'),
        ("[board]\ntitle = “The Lab of Vision”  # ours", 'write title = "The Lab of Vision"'),
        ("[board]\nlisten = 0.0.0.0:9100", 'texts stand in quotes, so write listen = "0.0.0.0:9100"'),
        ("[history]\nkeep = 14d", 'write keep = "14d"'),
        ("[usage]\nprice = -0.4", "price"),
        ("[usage]\ncurrency = 'EUR'", "currency has no effect without price; write price = "),
        ('[usage]\ncurrency = "EUR\\n"', "it must be one line"),
        ("x = = 1", "line 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    """File, table, key."""
    path = settings_file(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[source]]\nkind = 'carrier-pigeon'", "none of"),
        ("[[source]]\nkind = 'folder'", "path"),
        ("[[source]]\nkind = 'folder'\npath = '/x'\ncolour = 1", "'colour'"),
        ("[[source]]\nkind = 'pull'", "hosts = [...] or discover"),
    ],
)
def test_a_wrong_source_is_named_with_its_number(tmp_path: Path, text: str, says: str) -> None:
    """There may be many."""
    settings = read_settings(settings_file(tmp_path, text))
    ((where, table),) = settings.sources
    with pytest.raises(SettingsError) as caught:
        make_source(table, AROUND, where=where)
    assert says in str(caught.value)
    assert "[[source]] 1" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("kind = 'push'\nallow_plaintext = true", "unknown key 'allow_plaintext'; known keys are kind"),
        ("kind = 'pusch'", "did you mean 'push'?"),
        ("hosts = ['a']", "kind is missing; use one of local, simulated, folder, ssh, pull, push"),
        ("kind = 'ssh'\nhosts = 'gpu01, gpu02'", 'write hosts = ["gpu01","gpu02"]'),
        ("kind = 'ssh'\nhosts = ['a']\nport = '22'", "expected a whole number from 1 to 65535"),
        ("kind = 'ssh'\nhosts = ['a']\nport = '22'", "write port = 22"),
        ("kind = 'ssh'\nhosts = ['a']\nkeyfile = '/k'", "unknown key 'keyfile'; did you mean 'key_file'?"),
        ("kind = 'ssh'\nhosts = ['a']\ninterval = inf", "= inf: expected a time span"),
        ("kind = 'ssh'\nhosts = ['a']\ntimeout = '-5s'", "is no duration"),
        ("kind = 'pull'\nhosts = ['a']\ntls = 'yes'", "write tls = true"),
        ("kind = 'folder'", 'path is missing; write path = "…"'),
        ("kind = 'folder'\npath = '/x'\ninterval = 0", "interval = 0: must be from 100ms to 1d"),
        ("kind = 'local'\ninterval = '1s'", "must be from 2s to 1h"),
        ("kind = 'local'\nprobe = 'rocm'", "choose one of nvml, nvidia-smi, simulated"),
        ("kind = 'simulated'\nnodes = -1", "= -1: expected a whole number from 1 to 10000"),
        ("kind = 'simulated'\nnodes = 12.5", "expected a whole number"),
        ("kind = 'simulated'\ninterval = 0", "must be from 100ms to 1h"),
    ],
)
def test_a_wrong_value_of_a_source_says_what_was_expected(tmp_path: Path, table: str, says: str) -> None:
    """In our words, with what to write; never in those of the decoder."""
    settings = read_settings(settings_file(tmp_path, f"[[source]]\n{table}"))
    ((where, read),) = settings.sources
    with pytest.raises(SettingsError) as caught:
        make_source(read, AROUND, where=where)
    assert says in str(caught.value)
    assert "$" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[board]\nhostnames = ['https://gpus.lab.example/gpus/']", "without https://, port and path"),
        ("[board]\nhostnames = ['https://gpus.lab.example/gpus/']", "'gpus.lab.example'"),
        ("[board]\nhostnames = ['gpus.lab.example:8042']", "write the name alone"),
        ("[board]\nhostnames = ['*']", "would let any name in"),
        ("[board]\nhostnames = ['*.lab.example']", "would let any name in"),
        ("[board]\nhostnames = ['gpüs.lab.example']", "xn--"),
        ("[board]\nhostnames = 'gpus.lab.example'", 'write hostnames = ["gpus.lab.example"]'),
        ("[board]\nlisten = 8042", 'write listen = "0.0.0.0:8042"'),
        ("[board]\nlisten = '8042'", "127.0.0.1:8042"),
        ("[board]\nbase_path = 'https://gpus.lab.example/gpus/'", 'base_path = "/gpus/"'),
        ("[board]\nbase_path = '//evil'", 'base_path = "/gpus/"'),
        ("[board]\nbase_path = '../x'", 'base_path = "/gpus/"'),
        ("[board]\ncopy = 'ssh {address'", "a brace is open"),
        ("[board]\ncopy = 'ssh {who}@{node}'", "nothing is known as {who}; {address}, {node}, {devices}"),
        ("[verdict]\nignore = ['']", "a part of every name"),
        ("[board]\ntick = 0", "tick = 0: must be from 100ms to 10s"),
        ("[board]\ntick = nan", "= nan: expected a time span"),
        ("[board]\ntick = -1", "less than nothing"),
        ("[board]\nforget_after = '99999999d'", "ten years"),
        ("[access]\ntrusted_proxies = ['proxy.lab.example']", "no address"),
        ("[access]\ntrusted_proxies = ['*']", "10.1.0.0/16"),
        ("[access]\nanonymous = 'name'", "did you mean 'names'?"),
        ("[verdict]\nmemory_share = 5", "= 5: expected a number from 0 to 1"),
        ("[verdict]\nidle_after = true", "= true: expected a time span"),
        ("[verdict]\nmemory_floor = 0.5", "= 0.5: expected a size"),
        (
            "[verdict]\nmemory_floor = 500",
            '= 500: expected a size with its unit; write memory_floor = "500M"',
        ),
        ("[verdict]\nmemory_floor = -1", "= -1: expected a size"),
        ("[verdict]\nhot_celsius = inf", "= inf: expected a number from 0 to 200"),
        ("[verdict]\nhot_celsius = 'x'", "write hot_celsius = 85.0"),
        ("[verdict]\nidle_after = '0s'", "must be from 1s to"),
        ("[names]\nnodes = ['a']", "expected a table"),
        ("[groups.nodes]\nrack-a = ['gpu[16-01]']", "runs backwards; write [01-16]"),
        ("[groups.nodes]\nrack-a = ['gpu[']", "a bracket is not closed"),
        ("[groups.nodes]\n\"\" = ['gpu01']", "no name of a group"),
        ("[groups.nodes]\na = ['x']\nb = 'y z'", 'write nodes = { "b" = ["y","z"] }'),
        ("[names.nodes]\ngpu01 = 'Big One'\ncml07 = 'big one'", "gpu01 and cml07 would both be known as"),
        ("[names.people]\nana = ' Root '", "ana would be Root, which is the name of nobody"),
        ("[names.nodes]\ngpu01 = 'GPU03'\ngpu03 = 'x'", "gpu03 and gpu01 would both be known as 'GPU03'"),
        ("[names]\npeople = { ana = 5 }", 'a table of texts in quotes; write people = { "ana" = "5" }'),
        ("[names]\npeople = { x = 'y', ana = true }", 'write people = { "ana" = "true" }'),
        ("[board]\nlissten = '127.0.0.1:1'", "did you mean 'listen'?"),
        ("[acess]\nanonymous = 'names'", "did you mean 'access'?"),
        ("listen = '127.0.0.1:1'", "belongs below a line [board]"),
        ("board = 1", "write [board] on a line of its own"),
    ],
)
def test_a_setting_that_would_never_work_is_refused_with_the_remedy(
    tmp_path: Path, text: str, says: str
) -> None:
    """Rather than accepted, and without effect."""
    with pytest.raises(SettingsError) as caught:
        read_settings(settings_file(tmp_path, text))
    assert says in str(caught.value)
    assert "$" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trusted_proxies", ["10.1.0.0/16", "127.0.0.1", "::1", "fd00::/8"]),
        ("hostnames", ["gpus.lab.example", "gpus", "gpu_board", "192.0.2.7", "::1"]),
    ],
)
def test_names_addresses_and_networks_are_taken(key: str, value: list[str]) -> None:
    """As people write them."""
    table = "board" if key == "hostnames" else "access"
    settings = settings_of({table: {key: value}}, where="here")
    assert getattr(getattr(settings, table), key) == tuple(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("board:\n  listen: 0.0.0.0:8042\n", "looks like YAML"),
        ("hosts:\n- gpu01\n", "looks like YAML"),
        ('{"board": {"listen": "0.0.0.0:8042"}}', "looks like JSON"),
        ("[board]\nlisten = 0.0.0.0:8042\n", "TOML is expected"),
        ("[web]\ntitle = My GPUs\n", "looks like INI"),
        ("[[source]]\nkind = pull\ntls = true\n", "looks like INI"),
        ("[[source]]\ntls = true\nx = = 1\n", "column 5); TOML is expected"),
        ("gpu01\ngpu02\n", "TOML is expected"),
        ("\x00\x01", "TOML is expected"),
    ],
)
def test_a_file_that_is_no_toml_says_what_is_expected(tmp_path: Path, text: str, says: str) -> None:
    """And what it looks like."""
    path = settings_file(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "[board]\ntitle = 'a'\ntitle = 'b'\n",
        "[board]\ntitle = 'a'\n[board]\ntick = '1s'\n",
        "[source]\nkind = 'local'\n[source]\nkind = 'push'\n",
        "[names]\npeople = { a = 'x', a = 'y' }\n",
    ],
)
def test_what_stands_twice_is_said_to_stand_twice(tmp_path: Path, text: str) -> None:
    """It is TOML; nobody must look for another reason."""
    with pytest.raises(SettingsError) as caught:
        read_settings(settings_file(tmp_path, text))
    assert "for the second time" in str(caught.value)
    assert "TOML is expected" not in str(caught.value)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    """Editors on other systems write one."""
    path = tmp_path / "gpuboard.toml"
    path.write_bytes(b"\xef\xbb\xbf[board]\r\ntick = '2s'\r\n")
    assert read_settings(path).board.tick == 2.0


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    """As no text in UTF-8."""
    path = tmp_path / "gpuboard.toml"
    path.write_bytes("[names]\nnodes = { a = 'Büro' }".encode("latin-1"))
    with pytest.raises(SettingsError, match="UTF-8"):
        read_settings(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With what the system said."""
    with pytest.raises(SettingsError, match="No such file"):
        read_settings(tmp_path / "nope.toml")


def every_options() -> dict[str, type[Struct]]:
    """All tables that can stand in a gpuboard.toml."""
    sources = {f"source {kind}": found.options for kind, found in SOURCES.items()}
    discoveries = {f"discover {kind}": found.options for kind, found in DISCOVERIES.items()}
    return {**TABLES, **sources, **discoveries}


@pytest.mark.parametrize("table", every_options())
def test_what_comes_out_of_settings_is_plain(table: str) -> None:
    """Settings end up in reports and rows, and those who write them know only Python's own numbers."""
    kind = every_options()[table]
    ways: dict[Any, tuple[object, ...]] = {Duration: ("5s", 5, 5.0), Size: ("1G", "1 GiB", "1024m")}
    for field, hint in get_type_hints(kind).items():
        for way in {hint, *get_args(hint)} & set(ways):
            needed = {name: "http://127.0.0.1" for name in ("path", "consul", "service") if name != field}
            known = {name: value for name, value in needed.items() if name in kind.__struct_fields__}
            read = [read_options(kind, {**known, field: value}, where=table) for value in ways[way]]
            found = [getattr(options, field) for options in (*read, read_options(kind, known, where=table))]
            assert {type(value) for value in found} <= {int, float, type(None)}
            assert len({getattr(options, field) for options in read}) == 1


@pytest.mark.parametrize("value", ["true", "nan", "inf", "-1", "[]"])
def test_a_duration_is_no_other_value(tmp_path: Path, value: str) -> None:
    """Said with what to write instead."""
    with pytest.raises(
        SettingsError, match=r"tick = .*(expected a time span; write tick = \"5s\"|must not be less)"
    ):
        read_settings(settings_file(tmp_path, f"[board]\ntick = {value}"))


def test_a_gpu_cannot_work_and_do_nothing_at_once(tmp_path: Path) -> None:
    """The two lines must not cross; the remedy is said."""
    path = tmp_path / "gpuboard.toml"
    path.write_text("[verdict]\nbusy_utilization_percent = 2\nidle_utilization_percent = 5\n")
    with pytest.raises(SettingsError, match="write idle_utilization_percent = 2 or less"):
        read_settings(path)
