"""What a chat shows under a link to the board."""

import re
import struct
import zlib
from html import unescape
from pathlib import Path

import httpx
import pytest

from gpuboard.fleet.summary import WORDS
from gpuboard.web.pages import UI
from gpuboard.web.picture import Picture
from gpuboard.web.routes.preview import draw, in_words
from gpuboard.wire.summary import ModelSummary, Summary
from tests.board import running_board

GREEN = (0x00, 0x85, 0x60)
WHITE = (0xFF, 0xFF, 0xFF)
needs_page = pytest.mark.skipif(not (UI / "index.html").is_file(), reason="the page is not built")


def summary_of(*models: ModelSummary, busy: int = 0, nodes_unknown: int = 0) -> Summary:
    """A fleet whose GPUs are free or busy."""
    free = sum(each.free for each in models)
    return Summary(
        at=0.0,
        nodes=1,
        nodes_live=1,
        nodes_unknown=nodes_unknown,
        gpus_known=nodes_unknown == 0,
        gpus=free + busy,
        by_verdict=dict.fromkeys(WORDS, 0) | {"free": free, "busy": busy},
        by_model=models,
        memory_used_bytes=0,
        memory_total_bytes=0,
        power_watts=0.0,
        gpus_with_power=0,
    )


def points_of(png: bytes) -> list[list[tuple[int, ...]]]:
    """The colours of a picture, line by line, read as the standard says."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, place = {}, 8
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        kind, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", png, place + 8 + length) == (zlib.crc32(kind + data),)
        chunks[kind] = data
        place += 12 + length
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 3, 0, 0, 0]
    palette = [tuple(chunks[b"PLTE"][at : at + 3]) for at in range(0, len(chunks[b"PLTE"]), 3)]
    raw = zlib.decompress(chunks[b"IDAT"])
    assert len(raw) == height * (width + 1)
    lines = [raw[at : at + width + 1] for at in range(0, len(raw), width + 1)]
    return [[palette[point] for point in line[1:]] for line in lines]


def meta(page: str) -> dict[str, str]:
    """The lines of a page's head that chats read."""
    found = re.findall(r'<meta (?:property|name)="((?:og|twitter):[^"]+)" content="([^"]*)" />', page)
    return {name: unescape(content) for name, content in found}


def test_a_picture_has_what_was_drawn() -> None:
    """Also at its edge, where a rectangle ends early."""
    sheet = Picture(8, 8, ("#ffffff", "#008560"))
    sheet.fill(6, 6, 9, 9, 1)
    sheet.write("1", 0, 0, 1, 1)
    points = points_of(sheet.png())
    assert {points[6][6], points[7][7], points[0][2]} == {GREEN}
    assert {points[5][7], points[7][5], points[0][0]} == {WHITE}


@pytest.mark.parametrize("free", [1, 27, 999, 10_000])
def test_the_picture_of_any_fleet_fits(free: int) -> None:
    """Its margins stay white, however long the number is."""
    points = points_of(draw(summary_of(ModelSummary(model="H100", gpus=free, free=free), busy=5)))
    assert (len(points[0]), len(points)) == (600, 315)
    assert {colour for line in points for colour in line[:40] + line[560:]} == {WHITE}
    assert any(GREEN in line for line in points)


def test_nothing_free_and_nothing_to_see_are_not_green() -> None:
    """Colour says it at a glance."""
    for picture in (draw(summary_of(busy=8)), draw(None), draw(summary_of())):
        assert not any(GREEN in line for line in points_of(picture))


def test_the_answer_in_words() -> None:
    """As much as fits under a link."""
    models = [ModelSummary(model=name, gpus=9, free=count) for name, count in (("H100", 3), ("A100", 1))]
    assert in_words(summary_of(*models, busy=4)) == "4 of 8 GPUs are free now: 3 H100, 1 A100."
    assert in_words(summary_of(models[1])) == "1 of 1 GPUs is free now: 1 A100."
    assert in_words(summary_of(busy=2)) == "0 of 2 GPUs are free now."
    assert in_words(summary_of()) == "No GPU reports to this board yet."


def test_nodes_that_were_never_read_are_no_zero() -> None:
    """Not known yet is neither 0 of 0 nor none."""
    unread = summary_of(nodes_unknown=3)
    assert in_words(unread) == "Which GPUs are free is not known yet."
    assert draw(unread) != draw(summary_of())


@needs_page
def test_the_page_tells_chats_what_the_badge_tells(http: httpx.Client) -> None:
    """With the address of a picture that is there."""
    for _ in range(5):
        free = http.get("api/v1/summary").json()["by_verdict"]["free"]
        said = meta(http.get("nodes/dgx-01").text)
        if said["og:description"].startswith(f"{free} of"):
            break
    assert said["og:description"].startswith(f"{free} of 64 GPUs are free now: ")
    assert said["twitter:card"] == "summary_large_image"
    assert said["og:image"] == f"{http.base_url}preview.png"
    picture = http.get(said["og:image"])
    assert picture.headers["content-type"] == "image/png"
    assert len(points_of(picture.content)) == int(said["og:image:height"])


@needs_page
def test_who_may_see_nothing_reads_no_figure(tmp_path: Path) -> None:
    """Not in words, not in the picture, and not the name of the board either."""
    with running_board("--demo", "1", "--anonymous", "nothing", log=tmp_path / "log") as board:
        said = meta(httpx.get(board.url).text)
        picture = httpx.get(f"{board.url}preview.png").content
    assert not re.search(r"\d", said["og:description"])
    assert said["og:title"] == "gpuboard"
    assert picture == draw(None)


@needs_page
@pytest.mark.parametrize("host", ['localhost:80"><script>', "localhost:99999", "[::1"])
def test_a_hostile_host_is_no_part_of_the_page(http: httpx.Client, host: str) -> None:
    """There is no page then: it is named in words alone, which no browser takes for a page."""
    answer = http.get("", headers={"host": host})
    assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json")
    assert answer.headers["x-content-type-options"] == "nosniff"


@needs_page
def test_the_picture_is_found_below_a_path(tmp_path: Path) -> None:
    """With the way the reader came, as far as the proxy is trusted."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[board]\nbase_path = "/lab/gpus/"\n[access]\ntrusted_proxies = ["127.0.0.1"]\n')
    proxied = {"x-forwarded-proto": "https", "x-forwarded-for": "10.0.0.7", "host": "localhost"}
    with running_board("--demo", "1", "--config", str(config), log=tmp_path / "log") as board:
        said = meta(httpx.get(f"{board.url}lab/gpus/", headers=proxied).text)
        there = httpx.get(f"{board.url}lab/gpus/preview.png")
    assert said["og:image"] == "https://localhost/lab/gpus/preview.png"
    assert there.status_code == 200


@needs_page
def test_a_board_with_a_title_is_called_by_it(tmp_path: Path) -> None:
    """On the stream for the page, and under links to the board."""
    config = tmp_path / "gpuboard.toml"
    config.write_text('[board]\ntitle = "GPUs <of> the lab"\ncopy = "ssh {address}"\n')
    with running_board("--demo", "1", "--config", str(config), log=tmp_path / "log") as board:
        page = httpx.get(board.url).text
        assert meta(page)["og:title"] == "GPUs <of> the lab"
        assert "<title>GPUs &lt;of&gt; the lab</title>" in page
