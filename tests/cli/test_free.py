"""`gpuboard free` and `status --board`, against a real board."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuboard.cli import free, read_words
from gpuboard.cli.moments import show_moment
from gpuboard.model.errors import UsageError
from gpuboard.wire.summary import FreeAnswer, FreeBlock
from tests.board import RunningBoard, free_port, running_board
from tests.cli.conftest import COMMAND
from tests.tls import Authority


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBoard]:
    """A demo board."""
    with running_board("--demo", "40", log=tmp_path_factory.mktemp("board") / "log") as running:
        yield running


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run `gpuboard`."""
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False, timeout=30)


def test_enough_free_gpus_are_listed(board: RunningBoard) -> None:
    """The smallest block first, what was just freed last, and 0."""
    done = run("free", "--board", board.url)
    found = [
        re.fullmatch(r"\S+\t(\d+) x .*?(?:, (\d+) just freed)?", line) for line in done.stdout.splitlines()
    ]
    sizes = [(int(line[1]), int(line[2] or 0)) for line in found if line]
    ranks = [(fresh == size, size if fresh == size else size - fresh) for size, fresh in sizes]
    assert (done.returncode, len(ranks), ranks) == (0, len(found), sorted(ranks))


def test_the_environment_form_names_one_node_and_as_many_uuids_as_wanted(board: RunningBoard) -> None:
    """What a script can evaluate."""
    done = run("free", "--board", board.url, "--format", "env", "-n", "2")
    values = dict(line.removeprefix("export ").split("=", 1) for line in done.stdout.splitlines())
    assert (done.returncode, set(values)) == (0, {"GPUBOARD_NODE", "CUDA_VISIBLE_DEVICES"})
    assert len(values["CUDA_VISIBLE_DEVICES"].split(",")) == 2


@pytest.mark.parametrize(
    ("uuids", "labels", "lines"),
    [
        (["GPU-a@n", "GPU-b", "GPU-c"], "012", ["CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"]),
        (["n:4", "n:5"], "45", ["CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=4,5"]),
        (["GPU-a", "n:1"], "01", ["CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=0,1"]),
        (["n:0", "GPU-b", "GPU-c"], "012", ["CUDA_VISIBLE_DEVICES=GPU-b,GPU-c"]),
        (["MIG-a", "MIG-GPU-b/1/0"], ["0:0", "0:1"], ["CUDA_VISIBLE_DEVICES=MIG-a,MIG-GPU-b/1/0"]),
        (["GPU-n:0/0", "GPU-n:0/1"], ["0:0", "0:1"], None),
        # Another vendor's, on a node that has NVIDIA's too: to CUDA the numbers are those of others.
        (["a-0", "a-1"], ["1000", "1001"], None),
    ],
)
def test_the_environment_form_says_what_cuda_takes(
    uuids: list[str], labels: list[str], lines: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """UUIDs or numbers, never a mix; it used to say `node:index`, which CUDA does not know."""
    block = FreeBlock(
        node="n", model=None, labels=tuple(labels), just_freed=0, memory_total_bytes=None,
        indexes=tuple(range(len(uuids))), uuids=tuple(uuids),
    )  # fmt: skip
    answer = FreeAnswer(
        at=0.0, wanted=2, free=len(uuids), cannot_tell=0, nodes_unknown=0, enough=True, could_be_enough=True,
        blocks=(block,),
    )  # fmt: skip
    is_told = free._print(answer, "env")
    printed = capsys.readouterr().out.splitlines()
    assert (is_told, printed) == (
        (False, []) if lines is None else (True, [f"export {line}" for line in ["GPUBOARD_NODE=n", *lines]])
    )


def test_why_numbers_do_not_name_them_is_said() -> None:
    """Whose card is missing, so that somebody looks."""
    block = FreeBlock(
        node="gpu07", model=None, labels=("1",), just_freed=0, memory_total_bytes=None, indexes=(1,),
        uuids=("card-b",), numbers_known=False,
    )  # fmt: skip
    answer = FreeAnswer(
        at=0.0, wanted=1, free=1, cannot_tell=0, nodes_unknown=0, enough=True, could_be_enough=True,
        blocks=(block,),
    )  # fmt: skip
    assert not free._print(answer, "env")
    assert "a GPU of gpu07 is missing" in free._why_unnamed(answer)


def test_a_group_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """With those that are: a typing mistake must not look as if nobody could tell."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[groups]\nnodes = { rack-a = ["dgx-*"], rack-b = ["nlp-*"] }\n')
    with running_board("--config", str(config), "--demo", "4", log=tmp_path / "log") as board:
        done = run("free", "--board", board.url, "--group", "rack-z")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no group 'rack-z'; there are rack-a, rack-b" in done.stderr


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize(
    "question", ["free --model abacus", "free --model 4090 -n 299", "free -n 0", "free", "env"]
)
def test_the_recipe_does_not_go_on_without_an_answer(board: RunningBoard, shell: str, question: str) -> None:
    """What an earlier answer has set is somebody else's by now; without any a program takes all GPUs."""
    asked = f"http://127.0.0.1:{free_port()}/" if question in ("free", "env") else board.url
    form = "" if question == "env" else "--format env"
    command = f'eval "$({" ".join(COMMAND)} {question} {form} --board {asked})" && echo went on'
    done = subprocess.run([shell, "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, "gpuboard: " in done.stderr) == (1, "", True)


def test_json_is_the_boards_own_answer(board: RunningBoard) -> None:
    """For programs."""
    done = run("free", "--board", board.url, "--format", "json", "--model", "a100")
    assert all(block["model"] == "A100 80G" for block in json.loads(done.stdout)["blocks"])


def test_a_wish_that_nothing_can_meet_is_a_no(board: RunningBoard) -> None:
    """1: there is no such GPU, on no node."""
    done = run("free", "--board", board.url, "--model", "abacus")
    assert (done.returncode, done.stdout) == (1, "")


def test_a_wish_that_a_silent_node_might_meet_cannot_be_told(board: RunningBoard) -> None:
    """3: vision-02 has eight RTX 4090s and does not report."""
    wish = ("free", "--board", board.url, "--model", "4090")
    free = json.loads(run(*wish, "--format", "json").stdout)["free"]
    done = run(*wish, "-n", str(free + 4))
    assert (done.returncode, "do not tell" in done.stderr) == (3, True)


def test_more_than_all_nodes_have_is_a_no_although_one_is_silent(board: RunningBoard) -> None:
    """1: there are 80 RTX 4090s, those of vision-02 included."""
    done = run("free", "--board", board.url, "--model", "4090", "-n", "300")
    assert (done.returncode, "300 wanted" in done.stderr) == (1, True)


def test_enough_but_not_on_one_node_says_so(board: RunningBoard) -> None:
    """1: no node has nine, and the words do not say `33 of 9`."""
    done = run("free", "--board", board.url, "-n", "9", "--same-node")
    assert (done.returncode, "on one node; 9 are wanted" in done.stderr) == (1, True)


@pytest.mark.parametrize(("node", "where"), [(None, ""), ("gpu07", " on gpu07")])
def test_when_bookings_leave_enough_is_said(node: str | None, where: str) -> None:
    """Whoever is refused knows when to ask again."""
    answer = FreeAnswer(
        at=0.0, wanted=4, free=1, cannot_tell=0, nodes_unknown=0, enough=False, could_be_enough=False,
        blocks=(), fits_from=7200.0, fits_on=node,
    )  # fmt: skip
    assert f"; bookings that end leave enough{where} from {show_moment(7200.0)}" in free._why_not(answer)


def test_no_board_is_not_a_no() -> None:
    """3, with the address."""
    url = f"http://127.0.0.1:{free_port()}/"
    done = run("free", "--board", url)
    assert (done.returncode, url in done.stderr) == (3, True)
    assert ("Connection refused" in done.stderr, "Errno" in done.stderr) == (True, False)


@pytest.mark.parametrize(
    "address",
    [
        "nonsense",
        "gpus.lab.example:8042",
        "http://",
        "ftp://gpus",
        "http://gpus:99999",
        "http://a b",
        "h\tt",
    ],
)
@pytest.mark.parametrize("command", [["free"], ["status"], ["export", "json"]], ids="-".join)
def test_what_is_no_address_of_a_board_is_a_usage_error(command: list[str], address: str) -> None:
    """A wrong argument, and not a board that cannot tell: the sentence says what is expected."""
    arguments = read_words([*command, "--board", address])
    with pytest.raises(UsageError, match="is no address of a board; write it like http://"):
        arguments[0].run(arguments[1])


def test_a_word_for_a_board_ends_with_2() -> None:
    """As every wrong argument does."""
    done = run("free", "--board", "nonsense")
    assert (done.returncode, "'nonsense' is no address of a board" in done.stderr) == (2, True)


def test_something_else_that_answers_is_no_board(board: RunningBoard) -> None:
    """A page is no API."""
    done = run("free", "--board", f"{board.url}nodes/x/")
    assert done.returncode == 3


@pytest.mark.parametrize("words", [["-n", "0"], ["-n", "2000"], ["--memory", "lots"]])
def test_a_wish_that_makes_no_sense_is_a_usage_error(words: list[str]) -> None:
    """2."""
    assert run("free", *words).returncode == 2


def test_status_shows_what_a_board_knows(board: RunningBoard, tmp_path: Path) -> None:
    """All nodes, those that do not report with their reason."""
    done = run("status", "--board", board.url)
    (tmp_path / "status").write_text(done.stdout)
    assert (done.returncode, "of 320 GPUs free" in done.stdout) == (0, True)
    assert "vision-02  lost" in done.stdout


def test_more_than_any_node_has_is_a_no_on_one_node(board: RunningBoard) -> None:
    """1, though a silent node has GPUs that would fit: it has eight, and nine are wanted."""
    done = run("free", "--board", board.url, "-n", "9", "--same-node")
    assert (done.returncode, "on one node; 9 are wanted" in done.stderr) == (1, True), done.stderr


def test_a_board_with_a_certificate_of_its_own_is_asked(tmp_path: Path) -> None:
    """By free, status and export, with a flag or by the environment; without, the words name the flag."""
    authority = Authority(tmp_path)
    certificate, key = authority.certificate("127.0.0.1")
    tls = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    trusted = {**os.environ, "GPUBOARD_CA_FILE": str(authority.ca_file)}
    with running_board("--demo", "2", *tls, log=tmp_path / "log", ca_file=authority.ca_file) as board:
        for words in (["free"], ["status"], ["export", "csv"]):
            ask = [*COMMAND, *words, "--board", board.url]
            given = subprocess.run(
                [*ask, "--ca-file", str(authority.ca_file)], capture_output=True, check=False, timeout=30
            )
            by_environment = subprocess.run(ask, env=trusted, capture_output=True, check=False, timeout=30)
            without = run(*words, "--board", board.url)
            assert (given.returncode, by_environment.returncode, without.returncode) == (0, 0, 3)
            assert "--ca-file" in without.stderr


@pytest.mark.parametrize(
    ("cannot_tell", "unread", "says"),
    [
        (11, 11, "; 11 more would fit, but the bookings cannot be read"),
        (3, 0, "; 3 more would fit, but their nodes do not tell"),
        (3, 1, "; 2 more would fit, but their nodes do not tell; 1 more would fit, but the bookings cannot"),
    ],
)
def test_nodes_that_do_tell_are_not_blamed(cannot_tell: int, unread: int, says: str) -> None:
    """Where only a booking cannot be read, looking at the node would be in vain."""
    answer = FreeAnswer(
        at=0.0, wanted=12, free=0, cannot_tell=cannot_tell, bookings_unread=unread, nodes_unknown=0,
        enough=False, could_be_enough=True, blocks=(),
    )  # fmt: skip
    assert f"0 fitting GPUs are free, 12 wanted{says}" in free._why_not(answer)


def test_one_node_that_was_never_read_is_one() -> None:
    """Not "1 nodes"."""
    answer = FreeAnswer(
        at=0.0,
        wanted=2,
        free=0,
        cannot_tell=0,
        nodes_unknown=1,
        enough=False,
        could_be_enough=True,
        blocks=(),
    )
    assert "1 node was never read or cannot be read now" in free._why_not(answer)


def test_what_the_shell_starts_has_the_gpus_too(board: RunningBoard) -> None:
    """A script that evaluates the answer does so for the program behind it."""
    answer = shlex.join([*COMMAND, "free", "--board", board.url, "--format", "env"])
    recipe = f'eval "$({answer})" && sh -c \'printf "%s %s" "$GPUBOARD_NODE" "$CUDA_VISIBLE_DEVICES"\''
    done = subprocess.run(["sh", "-c", recipe], capture_output=True, text=True, check=True, timeout=60)
    node, devices = done.stdout.split()
    assert node
    assert devices.startswith(("GPU-", "MIG-"))
