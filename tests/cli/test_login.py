"""Signing in on the board's own machine, as the users that the kernel knows."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from gpuboard.accounts.ways.base import SocketEvidence
from gpuboard.accounts.ways.socket import SocketWay
from gpuboard.model.errors import AccessRefused, OutsideError
from gpuboard.outside.peer_socket import MOST_OF_ONE, Peer, PeerSocket, ask_socket
from gpuboard.settings.access import AccessTable
from gpuboard.wire.login import LoginAnswer, LoginQuestion
from tests.board import RunningBoard, free_port, running_board
from tests.pushing import enroll_by_command, wait_until
from tests.signing_in import TestBrowser, signed_in
from tests.started import started

pytestmark = pytest.mark.slow

NEEDS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root")
SOMEBODY = pwd.getpwnam("nobody")
# Two of whom this machine has not heard: somebody, and the account of a service.
ANA_UID, SERVICE_UID = 23_001, 921
USERS = "".join(
    f"{name}:x:{uid}:{uid}::/:/bin/sh\n" for name, uid in (("ana", ANA_UID), ("gpub", SERVICE_UID))
)
AMONG_THEM = 'mount --bind "$1" /etc/passwd && shift && exec "$@"'


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that all users of this machine may enter."""
    made = Path(tempfile.mkdtemp(prefix="gpb-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def here(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A board whose socket everybody on this machine may use, as systemd would have it."""
    log = tmp_path_factory.mktemp("board") / "log"
    env = {"RUNTIME_DIRECTORY": str(folder)}
    with running_board("--demo", "2", "--anonymous", "counts", log=log, env=env) as running:
        wait_until((folder / "board.sock").exists)
        yield running


def command(*words: str, home: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    """What somebody types, with files of its own."""
    return subprocess.run(
        [sys.executable, "-m", "gpuboard", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "XDG_CONFIG_HOME": str(home), **env},
    )


def with_users(folder: Path) -> tuple[str, ...]:
    """What runs a program so that it knows them too, and nobody else does."""
    users = folder / "passwd"
    users.write_text(Path("/etc/passwd").read_text() + USERS)
    return ("unshare", "--mount", "sh", "-c", AMONG_THEM, "sh", str(users))


def gpuboard_as(uid: int, home: Path, **env: str) -> tuple[str, ...]:
    """What runs our program as one of them, who owns `home` and may besides only read what is root's."""
    os.chown(home, uid, uid)
    surroundings = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "STATE_DIRECTORY": str(home), **env}
    given = [f"{name}={value}" for name, value in surroundings.items()]
    who = ("setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups")
    may_read = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    without = ("env", "-u", "RUNTIME_DIRECTORY", "-u", "XDG_RUNTIME_DIR")
    return (*without, *given, *who, *may_read, sys.executable, "-m", "gpuboard")


def as_user(path: Path, user: int, group: int) -> LoginAnswer:
    """What a socket answers this user; with nothing but Python, for our files are not for everybody."""
    ask = (
        "import socket, sys\n"
        "line = socket.socket(socket.AF_UNIX)\n"
        "line.connect(sys.argv[1])\n"
        'line.sendall(b\'{"terminal": "desk"}\')\n'
        "line.shutdown(socket.SHUT_WR)\n"
        "data = b''\n"
        "while part := line.recv(4096):\n"
        "    data += part\n"
        "sys.stdout.buffer.write(data)\n"
    )
    asked = subprocess.run(
        ["/usr/bin/env", "python3", "-I", "-c", ask, str(path)],
        capture_output=True,
        check=True,
        timeout=60,
        user=user,
        group=group,
        extra_groups=[],
        cwd="/",
    )
    return msgspec.json.decode(asked.stdout, type=LoginAnswer)


def test_login_gives_a_link_for_the_browser_and_a_token_for_commands(
    here: RunningBoard, folder: Path, tmp_path: Path
) -> None:
    """Then commands show names by themselves; after logout they do not."""
    done = command("login", "--socket", str(folder / "board.sock"), home=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "gpuboard" / "boards.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    link = done.stdout.strip()
    assert link.startswith(f"{here.url}sign-in/link#")
    browser = TestBrowser(here)
    told = browser.use_link(link.partition("#")[2]).json()
    me = pwd.getpwuid(os.getuid()).pw_name
    assert (told["person"], told["role"], told["way"]) == (me, "admin", "socket")
    who = command("whoami", home=tmp_path)
    assert who.stdout == f"{me} (admin) at {here.url}\n"
    status = command("status", "--json", "--board", here.url, home=tmp_path)
    assert '"tier": "names"' in status.stdout
    assert '"tier": "counts"' in command("status", "--json", "--board", here.url, home=tmp_path / "x").stdout
    token = msgspec.json.decode(kept.read_bytes())["boards"]
    (credential,) = token.values()
    assert command("logout", home=tmp_path).returncode == 0
    refused = httpx.get(f"{here.url}api/v1/fleet", headers={"authorization": f"Bearer {credential['token']}"})
    assert refused.status_code == 401
    assert command("whoami", "--board", here.url, home=tmp_path).returncode == 1
    assert command("logout", home=tmp_path).returncode == 1


@pytest.mark.parametrize(
    "words", [("free",), ("status", "--board"), ("export", "csv", "--board"), ("whoami",)]
)
def test_commands_ask_the_board_of_the_last_login(
    here: RunningBoard, folder: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """As booking does, unless another is named or the environment names one."""
    assert command("login", "--socket", str(folder / "board.sock"), home=tmp_path).returncode == 0
    done = command(*words, home=tmp_path)
    assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
    elsewhere = command(*words, home=tmp_path, GPUBOARD_BOARD="http://127.0.0.1:9/")
    assert (elsewhere.returncode, "http://127.0.0.1:9/" in elsewhere.stderr) == (3, True)
    assert here.process.poll() is None


@NEEDS_ROOT
@pytest.mark.usefixtures("here")
def test_on_the_boards_machine_root_is_admin_and_system_accounts_are_nobody(folder: Path) -> None:
    """The kernel says who asks; what they say themselves counts for nothing."""
    path = folder / "board.sock"
    refused = as_user(path, SOMEBODY.pw_uid, SOMEBODY.pw_gid)
    assert (refused.granted, "is nobody here" in (refused.refused or "")) == (None, True)
    granted = as_user(path, 0, 0).granted
    assert granted is not None
    assert (granted.person, granted.role) == ("root", "admin")
    nameless = as_user(path, 54321, 54321)
    assert nameless.granted is None
    assert "no name" in (nameless.refused or "")


@NEEDS_ROOT
def test_a_board_of_a_service_knows_itself_root_and_people_by_the_kernels_word(folder: Path) -> None:
    """Its own account and root are admins, somebody is a user, and other services are nobody."""
    home = folder / "service"
    home.mkdir()
    serve = gpuboard_as(SERVICE_UID, home, RUNTIME_DIRECTORY=str(home))
    words = ("serve", "--demo", "1", "--listen", f"127.0.0.1:{free_port()}", "--state-dir", str(home))
    with started(*with_users(folder), *serve, *words):
        path = home / "board.sock"
        wait_until(path.exists)
        granted = {uid: as_user(path, uid, uid).granted for uid in (SERVICE_UID, 0, ANA_UID, 33, 54321)}
    assert {uid: one and (one.person, one.role) for uid, one in granted.items()} == {
        SERVICE_UID: ("gpub", "admin"),
        0: ("root", "admin"),
        ANA_UID: ("ana", "user"),
        33: None,
        54321: None,
    }


@NEEDS_ROOT
def test_login_finds_the_agent_that_somebody_runs_in_a_session_of_ones_own(
    here: RunningBoard, folder: Path
) -> None:
    """Without a socket being named to either of them."""
    home = folder / "ana"
    home.mkdir()
    token = home / "node.token"
    enroll_by_command(here, "gpu01", str(token))
    os.chown(token, ANA_UID, ANA_UID)
    ana = (*with_users(folder), *gpuboard_as(ANA_UID, home, XDG_RUNTIME_DIR=str(home)))
    push = ("agent", "--push", here.url, "--token-file", str(token), "--probe", "simulated")
    with started(*ana, *push):
        wait_until((home / "gpuboard" / "agent.sock").exists)
        asked = [
            subprocess.run((*ana, *words), capture_output=True, text=True, timeout=60, check=False)
            for words in (("login",), ("whoami",))
        ]
    assert [one.returncode for one in asked] == [0, 0], asked
    assert asked[0].stdout.startswith(f"{here.url}sign-in/link#")
    assert asked[1].stdout == f"ana (user) at {here.url} through gpu01\n"


@pytest.mark.parametrize(
    ("uid", "role"), [(0, "admin"), (120, "admin"), (1000, "user"), (999, None), (33, None), (65534, None)]
)
async def test_on_the_boards_machine_accounts_of_the_system_are_no_users(uid: int, role: str | None) -> None:
    """But for root and the board's own, which often is one."""
    way = SocketWay(AccessTable, str, own_uid=120)
    evidence = SocketEvidence(uid=uid, name="somebody")
    if role is None:
        with pytest.raises(AccessRefused, match="vouch_from_uid"):
            await way.recognise(evidence)
    else:
        assert (await way.recognise(evidence)).role == role


def test_a_board_of_ones_own_has_its_socket_for_itself_alone(tmp_path: Path) -> None:
    """Without a directory of systemd's it lies with the state, which nobody else may enter."""
    with running_board("--demo", "1", log=tmp_path / "log") as board:
        path = board.state / "board.sock"
        wait_until(path.exists)
        assert path.stat().st_mode & 0o777 == 0o600
        done = command("login", "--link-only", home=tmp_path, STATE_DIRECTORY=str(board.state))
        assert done.stdout.startswith(f"{board.url}sign-in/link#")
        assert not (tmp_path / "gpuboard").exists()
    assert not path.exists()


def test_a_link_for_the_browser_leaves_the_terminals_token_alone(tmp_path: Path) -> None:
    """None is made that nobody has, and none is replaced."""
    with running_board("--demo", "1", "--anonymous", "counts", log=tmp_path / "log") as board:
        wait_until((board.state / "board.sock").exists)
        surroundings = {"STATE_DIRECTORY": str(board.state)}
        assert command("login", home=tmp_path, **surroundings).returncode == 0
        before = command("token", "list", home=tmp_path).stdout
        assert command("login", "--link-only", home=tmp_path, **surroundings).returncode == 0
        assert command("whoami", home=tmp_path).returncode == 0
        assert command("token", "list", home=tmp_path).stdout.count("\n") == before.count("\n")


def test_what_a_token_of_the_environment_lacks_is_said_of_it(here: RunningBoard, tmp_path: Path) -> None:
    """Not that one should sign in or out: that changes nothing as long as it is there."""
    browser = signed_in(here, "ben")
    where = ("--board", here.url)

    def say(token: str, *words: str) -> str:
        done = command(*words, *where, home=tmp_path, GPUBOARD_TOKEN=token)
        assert "login" not in done.stderr
        return done.stderr

    def made(scope: str) -> dict[str, str]:
        answer = browser.post("api/v1/tokens", {"name": scope, "scopes": [scope]})
        return answer.raise_for_status().json()  # type: ignore[no-any-return] # the board's own

    books, reads = made("book"), made("read")
    names = "the token in GPUBOARD_TOKEN sees no names: it lacks the scope read"
    assert names in say(books["token"], "usage", "--by", "person")
    refused = say(reads["token"], "book", "-n", "1", "--for", "1h")
    assert "needs the scope book; the token that was shown is the one in GPUBOARD_TOKEN" in refused
    assert browser.delete(f"api/v1/tokens/{reads['id']}").status_code == 204
    for words in (["whoami"], ["status"]):
        said = say(reads["token"], *words)
        assert ("was revoked" in said, "in GPUBOARD_TOKEN" in said) == (True, True)


def test_where_nobody_listens_login_says_what_to_do(tmp_path: Path) -> None:
    """And where somebody else does, too."""
    empty = {"STATE_DIRECTORY": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = command("login", home=tmp_path, **empty)
    assert done.returncode == 3
    assert "neither a board nor an agent" in done.stderr
    done = command("login", "--socket", str(tmp_path / "no.sock"), home=tmp_path)
    assert (done.returncode, "nobody answers at" in done.stderr) == (3, True)


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """A token in it may be anybody's by now."""
    (tmp_path / "gpuboard").mkdir()
    kept = tmp_path / "gpuboard" / "boards.json"
    kept.write_text("{}")
    kept.chmod(0o644)
    done = command("status", "--board", "http://127.0.0.1:1/", home=tmp_path)
    assert (done.returncode, "chmod o=" in done.stderr) == (2, True)


def test_a_socket_answers_few_at_once_of_one_user(tmp_path: Path) -> None:
    """Whoever keeps lines open is sent away, and takes nobody else's place for long."""
    path = tmp_path / "s"
    peers = PeerSocket(path, lambda peer, data: f"{peer.uid} {len(data)}".encode())
    peers.start()
    try:
        question = msgspec.json.encode(LoginQuestion())
        assert ask_socket(path, question) == f"{os.getuid()} {len(question)}".encode()
        lines = []
        for _ in range(MOST_OF_ONE + 2):
            line = socket.socket(socket.AF_UNIX)
            line.settimeout(20)
            line.connect(str(path))
            lines.append(line)
        # Those beyond are hung up on at once, without a word.
        assert lines[-1].recv(10) == b""
        for line in lines:
            line.close()
        wait_until(lambda: not peers._here)
        assert ask_socket(path, question)
    finally:
        peers.close()
    assert not path.exists()


def test_a_socket_that_an_earlier_run_left_is_taken_over(tmp_path: Path) -> None:
    """After a crash of the board its name is still there."""

    def answer(peer: Peer, _: bytes) -> bytes:
        return peer.name.encode()

    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "s"))
    peers = PeerSocket(tmp_path / "s", answer)
    peers.start()
    assert ask_socket(tmp_path / "s", b"x") == pwd.getpwuid(os.getuid()).pw_name.encode()
    with pytest.raises(OutsideError, match="somebody else listens"):
        PeerSocket(tmp_path / "s", answer).start()
    peers.close()
