"""`gpuboard serve`: what it says before it runs."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.board import free_port, running_board, wait_for
from tests.fakes import nvml
from tests.started import eventually

# Each starts a program of its own, most of them a whole board.
pytestmark = pytest.mark.slow

SERVE = [sys.executable, "-m", "gpuboard", "serve"]


def serve(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run it to its end."""
    command = [*SERVE, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_settings_can_be_checked_without_a_board(tmp_path: Path) -> None:
    """Nothing is started, nothing is written."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f'[board]\nstate_dir = "{tmp_path / "state"}"\n'
        '[[source]]\nkind = "ssh"\nhosts = ["gpu[01-16]"]\n[[source]]\nkind = "push"\n'
    )
    done = serve("--config", str(config), "--check")
    assert (done.returncode, done.stdout) == (0, "the settings are in order; sources: ssh, push\n")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("text", ["[board\n", '[[source]]\nkind = "pigeon"\n', "[board]\ntick = 0\n"])
def test_a_board_whose_settings_are_wrong_ends_as_its_unit_expects(tmp_path: Path, text: str) -> None:
    """With 2, by which systemd knows that starting it again is of no use."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(text)
    done = serve("--config", str(config), "--state-dir", str(tmp_path / "state"))
    assert (done.returncode, bool(done.stderr), "Traceback" in done.stderr) == (2, True, False)


def test_checking_names_paths_that_are_not_there_and_is_content(tmp_path: Path) -> None:
    """They may be mounted later; a path with a typing error is seen all the same."""
    config = tmp_path / "gpuboard.toml"
    (tmp_path / "here").mkdir()
    config.write_text(
        f'[bookings]\ncomments_json = "{tmp_path}/comments.json"\n'
        f'[[source]]\nkind = "folder"\npath = "{tmp_path}/gone"\n'
        f'[[source]]\nkind = "folder"\npath = "{tmp_path}/here"\n'
        f'[[source]]\nkind = "ssh"\ndiscover = {{ hosts_file = "{tmp_path}/hosts.txt" }}\n'
    )
    done = serve("--config", str(config), "--check")
    assert (done.returncode, "in order" in done.stdout) == (0, True), done.stderr
    for name in ("comments.json", "gone", "hosts.txt"):
        assert f"'{tmp_path}/{name}' is not there" in done.stderr
    assert f"{tmp_path}/here" not in done.stderr


def test_checking_names_files_of_the_board_that_are_not_there(tmp_path: Path) -> None:
    """Key, authority and tokens: without them no node is read."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f'[[source]]\nkind = "ssh"\nhosts = ["gpu01"]\nkey_file = "{tmp_path}/key"\n'
        f'[[source]]\nkind = "pull"\nhosts = ["gpu02"]\ntls = true\nca_file = "{tmp_path}/ca.pem"\n'
        f'token_folder = "{tmp_path}/tokens"\n'
        f'[[source]]\nkind = "pull"\nhosts = ["gpu03"]\ntls = true\ntoken_file = "{tmp_path}/token"\n'
    )
    done = serve("--config", str(config), "--check")
    assert done.returncode == 0
    for key, name in (
        ("key_file", "key"),
        ("ca_file", "ca.pem"),
        ("token_folder", "tokens"),
        ("token_file", "token"),
    ):
        assert f"{key} = '{tmp_path}/{name}' is not there" in done.stderr


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_checking_says_that_a_settings_file_is_empty(tmp_path: Path, text: str) -> None:
    """A board starts with it; one that runs would not take it up."""
    config = tmp_path / "gpuboard.toml"
    config.write_text(text)
    done = serve("--config", str(config), "--check")
    assert (done.returncode, "the settings file is empty" in done.stderr) == (0, True)
    assert "empty" not in serve("--check").stderr


def test_checking_says_where_nothing_could_be_kept(tmp_path: Path) -> None:
    """A file, and what would be below one; nothing is made, and what could be made is not named."""
    config, file = tmp_path / "gpuboard.toml", tmp_path / "file"
    file.write_text("")
    for place, why in ((file, "File exists"), (file / "below", "Not a directory"), (tmp_path / "new/x", "")):
        config.write_text(f'[board]\nstate_dir = "{place}"\n')
        done = serve("--config", str(config), "--check")
        said = f"the state directory {place} cannot be made: {why}" if why else ""
        assert (done.returncode, said in done.stderr, bool(done.stderr)) == (0, True, bool(why)), done.stderr
    assert not (tmp_path / "new").exists()


def test_checking_names_lines_and_entries_that_cannot_be_read(tmp_path: Path) -> None:
    """The board would leave them out."""
    (tmp_path / "hosts.txt").write_text("gpu01\ngpu 02\n")
    (tmp_path / "comments.json").write_text('{"gpu01": {"first": {"name": "ana", "date": "2099-01-01"}}}')
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f'[bookings]\ncomments_json = "{tmp_path}/comments.json"\n'
        f'[[source]]\nkind = "ssh"\ndiscover = {{ hosts_file = "{tmp_path}/hosts.txt" }}\n'
    )
    done = serve("--config", str(config), "--check")
    assert done.returncode == 0
    assert f"hosts_file = '{tmp_path}/hosts.txt': line 2: 'gpu 02' is no host" in done.stderr
    assert "1 of 1 entry cannot be wholly read: gpu01:first names no GPU" in done.stderr


def test_checking_names_what_bookings_would_look_for_in_vain(tmp_path: Path) -> None:
    """The program that is told of them, and groups that nobody is in; a provider may know more groups."""
    config = tmp_path / "gpuboard.toml"
    text = """
[bookings]
command = ["/nowhere/tell-booker"]
[bookings.groups.vison]
longest = "2d"
[bookings.groups.nlp]
longest = "2d"
[groups.people]
vision = ["ana"]
nlp = ["ben"]
"""
    config.write_text(text)
    done = serve("--config", str(config), "--check")
    assert done.returncode == 0
    assert "[bookings] command: there is no program '/nowhere/tell-booker' that can be run" in done.stderr
    assert "[bookings.groups.vison]: nobody is in this group" in done.stderr
    assert "did you mean 'vision'?" in done.stderr
    assert "groups.nlp" not in done.stderr
    (tmp_path / "secret").write_text("x")
    provider = (
        f'issuer = "https://login.lab.example"\nclient_id = "b"\nclient_secret_file = "{tmp_path}/secret"'
    )
    config.write_text(f"{text}\n[access.oidc]\n{provider}\n")
    assert "groups.vison" not in serve("--config", str(config), "--check").stderr


def test_checking_names_a_pull_source_whose_secret_would_never_be_sent(tmp_path: Path) -> None:
    """The board would refuse each of its nodes, and nobody had been told."""
    config = tmp_path / "gpuboard.toml"
    (tmp_path / "token").write_text("t")
    said = []
    for hosts, more in (
        ("gpu01", ""),
        ("gpu01", "tls = true"),
        ("gpu01", "allow_plaintext = true"),
        ("127.0.0.1", ""),
    ):
        config.write_text(
            f'[[source]]\nkind = "pull"\nhosts = ["{hosts}"]\ntoken_file = "{tmp_path}/token"\n{more}\n'
        )
        done = serve("--config", str(config), "--check")
        assert done.returncode == 0
        said.append("write tls = true" in done.stderr)
    assert said == [True, False, False, False]


def test_checking_names_what_is_wrong_in_any_source(tmp_path: Path) -> None:
    """With 2, as for any wrong use."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[[source]]\nkind = "push"\n[[source]]\nkind = "ssh"\nhosts = "gpu01"\n')
    done = serve("--config", str(config), "--check")
    assert done.returncode == 2
    assert '[[source]] 2: hosts = "gpu01": expected a list' in done.stderr


def test_a_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither in the directory of a real board nor anywhere else, once it is stopped."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    here = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary)}
    here.pop("XDG_STATE_HOME", None)
    log, port = tmp_path / "log", free_port()
    with log.open("wb") as out:
        board = subprocess.Popen(
            [*SERVE, "--demo", "1", "--listen", f"127.0.0.1:{port}"], stderr=out, env=here
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/readyz", board, log)
        assert list(temporary.glob("gpuboard-demo-*/gpuboard.sqlite"))
        board.terminate()
        assert board.wait(30) == 0
    finally:
        board.kill()
        board.wait()
    assert not list(temporary.glob("gpuboard-demo-*"))
    assert not list(home.rglob("*.sqlite"))


@pytest.mark.parametrize("option", ["--state-dir", "--config"])
def test_a_demo_that_keeps_its_state_says_whom_it_does_not_invent(option: str, tmp_path: Path) -> None:
    """In one line, with the reason; one that keeps nothing names who one is instead."""
    config = tmp_path / "board.toml"
    config.write_text(f'[board]\nstate_dir = "{tmp_path / "state"}"\n')
    log = tmp_path / "log"
    more = (option, str(config)) if option == "--config" else ()
    with running_board("--demo", "1", *more, log=log):
        said = [line for line in log.read_text().splitlines() if "invented" in line]
    expected = "--config and --state-dir" if option == "--config" else "--state-dir"
    assert len(said) == 1
    assert said[0].startswith(f"gpuboard: with {expected} this demo keeps its state: nobody is invented")


def test_a_demo_of_less_than_nothing_is_refused() -> None:
    """In words."""
    done = serve("--demo", "-1", "--check")
    assert (done.returncode, "from 1 to 10000" in done.stderr) == (2, True)


def test_a_port_in_use_is_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    """And nobody is told to open a board that is not there."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = serve("--listen", f"127.0.0.1:{port}", "--state-dir", str(tmp_path / "state"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert f"port {port} is in use" in done.stderr
    assert "--listen" in done.stderr
    assert "open http" not in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("address", "says"),
    [("192.0.2.77:8042", "has no address 192.0.2.77"), ("no-such-name.invalid:8042", "looked up")],
)
def test_an_address_that_is_not_ours_is_named(address: str, says: str, tmp_path: Path) -> None:
    """It may be ours at the next try, so it is no wrong use."""
    done = serve("--listen", address, "--state-dir", str(tmp_path))
    assert (done.returncode, says in done.stderr) == (1, True), done.stderr


def test_a_free_port_of_the_systems_choice_is_announced(tmp_path: Path) -> None:
    """Port 0: the address that is printed works."""
    command = [*SERVE, "--demo", "2", "--listen", "127.0.0.1:0", "--state-dir", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split("open ")[1].strip()
        try:
            eventually(lambda: _answers(f"{url}healthz"))
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
        urllib.request.urlopen(url, timeout=60).close()
        return True
    return False


def test_a_board_without_settings_and_without_gpus_is_empty(
    environment: dict[str, str], scenario: Path, tmp_path: Path
) -> None:
    """Agents may push to it; it does not show itself as a node in trouble for ever."""
    nvml.no_driver().write(scenario)
    with running_board(log=tmp_path / "log", env=environment) as board:
        # Its agent runs; as a node in trouble it would have been shown before that.
        eventually(lambda: _children_of(board.process.pid) > 0)
        with urllib.request.urlopen(f"{board.url}readyz") as answer:
            ready = json.load(answer)
        assert (ready["ready"], ready["nodes"]) == (True, 0)


def _children_of(pid: int) -> int:
    return len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def test_a_second_board_on_the_same_state_directory_is_refused(tmp_path: Path) -> None:
    """Two would undo what the other writes down; after a kill the next one starts."""
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        done = serve("--demo", "1", "--listen", "127.0.0.1:0", "--state-dir", str(board.state))
        assert (done.returncode, f"another board (process {board.process.pid})" in done.stderr) == (1, True)
        board.process.kill()
        board.process.wait()
    with running_board("--demo", "1", log=tmp_path / "log"):
        pass


def test_a_board_goes_on_while_the_database_that_it_was_told_to_use_is_damaged(tmp_path: Path) -> None:
    """It says so and shows what it reaches itself; a copy that is put back is taken up without a restart."""
    database = tmp_path / "state" / "gpuboard.sqlite"
    with running_board("--demo", "1", log=tmp_path / "log"):
        pass
    whole = database.read_bytes()
    database.write_text("garbage")
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        trouble = _storage(board.url)
        assert trouble["state"] == "trouble"
        assert "it is damaged" in trouble["reason"]
        copy = database.with_suffix(".copy")
        copy.write_bytes(whole)
        copy.replace(database)
        eventually(lambda: _storage(board.url)["state"] == "ok")


def _storage(url: str) -> dict[str, str]:
    with urllib.request.urlopen(f"{url}readyz", timeout=60) as answer:
        parts = json.load(answer)["components"]
    return next(part for part in parts if part["kind"] == "storage")


@pytest.mark.slow
def test_a_board_with_few_descriptors_left_says_so(tmp_path: Path) -> None:
    """Those who look already see it, before anybody is turned away."""
    command = ["prlimit", "--nofile=64:64", *SERVE, "--demo", "1", "--state-dir", str(tmp_path / "state")]
    with (
        subprocess.Popen([*command, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as process,
        contextlib.ExitStack() as visitors,
    ):
        assert process.stderr is not None
        url = process.stderr.readline().split("open ")[1].strip()
        address = ("127.0.0.1", int(url.rsplit(":", 1)[1].strip("/")))
        try:
            eventually(lambda: _answers(f"{url}healthz"))
            looker = http.client.HTTPConnection(*address, timeout=30)
            visitors.callback(looker.close)
            taken = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
            for _ in range(60 - taken):
                visitors.enter_context(socket.create_connection(address, timeout=10))

            def is_said() -> bool:
                looker.request("GET", "/readyz")
                parts = json.loads(looker.getresponse().read())["components"]
                return any(part["code"] == "descriptors" for part in parts)

            eventually(is_said)
        finally:
            process.terminate()
