"""The badge, fetched as a README fetches it."""

from pathlib import Path
from xml.etree import ElementTree as ET

import httpx
import pytest

from gpuboard.web.routes.badge import BLUE, GREEN, GREY, Badge, draw
from tests.board import running_board

SVG = "{http://www.w3.org/2000/svg}"


def title_of(picture: str) -> str:
    """What a screen reader says."""
    return ET.fromstring(picture).findtext(f"{SVG}title") or ""


def test_the_badge_counts_what_the_summary_counts(http: httpx.Client) -> None:
    """And is asked for anew each time."""
    for _ in range(5):
        counts = http.get("api/v1/summary").json()
        answer = http.get("badge.svg")
        if f"{counts['by_verdict']['free']} of" in answer.text:
            break
    assert title_of(answer.text) == f"GPUs: {counts['by_verdict']['free']} of {counts['gpus']} free"
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.headers["cache-control"] == "no-cache"
    assert GREEN in answer.text


def test_a_badge_of_one_model(http: httpx.Client) -> None:
    """Part of the name, as for `gpuboard free`."""
    models = http.get("api/v1/summary").json()["by_model"]
    total = sum(each["gpus"] for each in models if "a100" in (each["model"] or "").lower())
    title = title_of(http.get("badge.svg", params={"model": "a100"}).text)
    assert title.startswith("a100 GPUs: ")
    assert title.endswith(f" of {total} free")


def test_a_model_that_nobody_has_is_grey(http: httpx.Client) -> None:
    """No figure is invented."""
    answer = http.get("badge.svg", params={"model": "abacus"})
    assert title_of(answer.text) == "abacus GPUs: none"
    assert GREY in answer.text


@pytest.mark.parametrize(
    "model", ["<script>alert(1)</script>", '"onload="alert(1)', "&lt;\x00\x1b[1m\u202eA"]
)
def test_a_hostile_model_stays_text(http: httpx.Client, model: str) -> None:
    """The picture is well-formed and has none but its own parts."""
    answer = http.get("badge.svg", params={"model": model})
    parts = {each.tag.removeprefix(SVG) for each in ET.fromstring(answer.text).iter()}
    assert parts == {"svg", "title", "clipPath", "rect", "g", "text"}
    shown = "".join(letter for letter in model if letter.isprintable())
    assert title_of(answer.text) == f"{shown} GPUs: none"


def test_who_may_see_nothing_is_told_to_sign_in(tmp_path: Path) -> None:
    """As a picture: an error would be shown as a broken image."""
    with running_board("--demo", "1", "--anonymous", "nothing", log=tmp_path / "log") as board:
        answer = httpx.get(f"{board.url}badge.svg", params={"model": "a100"})
    assert answer.status_code == 200
    assert title_of(answer.text) == "GPUs: not shown"


def test_nothing_free_is_not_green() -> None:
    """Colour says it at a glance, the words say it to everybody."""
    picture = draw(Badge(label="GPUs", text="0 of 8 free", colour=BLUE))
    assert GREEN not in picture
    assert title_of(picture) == "GPUs: 0 of 8 free"


def test_head_answers_like_get_without_a_body(http: httpx.Client) -> None:
    """Link checkers and proxies ask this way."""
    for path in ("", "people", "nodes/dgx-01", "favicon.svg", "badge.svg", "api/v1/summary"):
        head, get = http.head(path), http.get(path)
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head.headers["content-type"] == get.headers["content-type"]
        assert "content-security-policy" in head.headers


@pytest.mark.parametrize("path", ["", "nodes/dgx-01", "favicon.svg", "theme.js"])
def test_a_page_that_is_known_is_not_sent_again(http: httpx.Client, path: str) -> None:
    """Compressed or not, alone or in a list."""
    tag = http.get(path).headers["etag"]
    assert http.get(path, headers={"accept-encoding": "identity"}).headers["etag"] == tag
    again = http.get(path, headers={"if-none-match": f'"other", {tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag
    assert http.get(path, headers={"if-none-match": '"other"'}).status_code == 200


def test_a_uuid_with_slashes_leads_to_the_page(http: httpx.Client) -> None:
    """Older drivers name a MIG instance so; the page's own files are looked for from where the browser is."""
    assert '<base href="../" />' in http.get("gpus/MIG-GPU-5c89%2F1%2F0").text
    assert '<base href="../../../" />' in http.get("gpus/MIG-GPU-5c89/1/0").text
    assert "MIG-GPU-5c89/1/0" in http.get("api/v1/gpus/MIG-GPU-5c89%2F1%2F0").json()["detail"]


def test_the_page_travels_compressed_and_whole(http: httpx.Client) -> None:
    """Once compressed, not twice, and plain for those who cannot unpack."""
    packed, plain = http.get("licenses.md"), http.get("licenses.md", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content)


@pytest.mark.parametrize(("path", "base"), [("blah", "./"), ("blah/blubb", "../"), ("admin/x.php", "../")])
def test_a_path_that_names_nothing_is_a_page_for_people(http: httpx.Client, path: str, base: str) -> None:
    """In the board's look, with the way back; programs get the problem document."""
    answer = http.get(path, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert f'<base href="{base}" />' in answer.text
    for accept in ("*/*", "application/json"):
        answer = http.get(path, headers={"accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("path", ["api/v1/blah", "api/v1/nodes/blah", "api/blah/blubb", "assets/blah.js"])
def test_what_programs_ask_for_is_never_a_page(http: httpx.Client, path: str) -> None:
    """Whoever asks: a person who looks at the API, or a page whose script is gone."""
    answer = http.get(path, headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("below", ["readyz", "healthz", "metrics", "api/v1/summary"])
@pytest.mark.parametrize("prefix", ["gpus", "nodes", "tools/board"])
def test_what_a_proxy_passes_on_under_its_own_path_is_no_page(
    http: httpx.Client, prefix: str, below: str
) -> None:
    """A monitor behind it would take the page for a board that is well."""
    answer = http.get(f"{prefix}/{below}")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert "base_path" in answer.json()["detail"]


def test_a_node_may_be_called_like_what_programs_ask_for(http: httpx.Client) -> None:
    """To people its address is the page."""
    assert http.get("nodes/metrics", headers={"accept": "text/html"}).status_code == 200
