"""The page about what agents and boards say: each field, each code, and a program that says it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct

from gpuboard.wire import ingest
from tests.board import running_board
from tests.docs.blocks import texts_of
from tests.parts import ROOT
from tests.pushing import enrol

PAGE = ROOT / "docs" / "reference" / "push.md"
MESSAGES: dict[str, type[Struct]] = {
    "hello": ingest.Hello,
    "live": ingest.Live,
    "backfill": ingest.Backfill,
    "sample": ingest.Sample,
    "welcome": ingest.Welcome,
    "acknowledgement": ingest.Acknowledgement,
    "refusal": ingest.Refusal,
}


@pytest.mark.parametrize("name", list(MESSAGES))
def test_every_field_of_a_message_has_its_row(name: str) -> None:
    """In its order: the format is a contract."""
    section = re.split(r"\n##+ ", PAGE.read_text().split(f"### {name}\n", 1)[1], maxsplit=1)[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == list(MESSAGES[name].__struct_fields__)


def test_every_message_is_on_the_page() -> None:
    """A new one needs its heading, under the word by which it is known."""
    tagged = {
        kind.__struct_config__.tag: kind for kind in vars(ingest).values()
        if isinstance(kind, type) and issubclass(kind, Struct) and kind.__struct_config__.tag
    }  # fmt: skip
    assert tagged.keys() <= set(re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE))


def test_every_code_and_figure_is_the_programs() -> None:
    """What a board closes with, and how much a message may be."""
    page = PAGE.read_text()
    codes = {value for name, value in vars(ingest).items() if name.startswith("CLOSE_")}
    assert set(map(int, re.findall(r"^\| (\d{4}) \|", page, re.MULTILINE))) == codes
    assert f"1 to {ingest.MAX_BATCH_SAMPLES} [samples]" in page
    assert f"{ingest.MAX_BATCH_BYTES // 1024} KiB together" in page
    assert f"at most {ingest.MAX_MESSAGE_BYTES // 1024} KiB" in page
    assert page.count(f"of this protocol: {ingest.INGEST_VERSION} |") == 2


def test_the_program_of_the_page_is_a_node(tmp_path: Path) -> None:
    """As it is printed, against a board: it says hello, and its sample is shown; soon it is kept."""
    (program,) = texts_of(PAGE, "python")
    token = enrol(tmp_path / "state", "gpu01")["gpu01"]
    with running_board(log=tmp_path / "log", until="healthz") as board:
        command = [sys.executable, "-c", program, board.url, token, "gpu01"]
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    welcome, taken = told.splitlines()
    assert welcome.startswith("{'kind': 'welcome', 'node': 'gpu01',")
    assert "'live': 0" in taken
    assert "'taken': None" in taken
