"""`I need` on the board page: from a wish to a command, in the order of the API and the CLI."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Locator, Page, expect

from gpuboard.model.report import GpuProcess, GpuReading, NodeReport
from gpuboard.model.units import GIB
from gpuboard.wire.drop import encode_drop
from tests.board import RunningBoard, computing, running_board
from tests.browser import DESKTOP, PHONE, assert_fits, keep, visit
from tests.cli.conftest import COMMAND
from tests.pushing import wait_until

LAPTOP: Final = (1280, 720)
# As many as one saw above the first row of this fleet when "Take one of these" stood there, at 460.
MOST_CONTROLS: Final = 55
# What the panel offers: nodes, and the GPUs that are chosen.
OFFERED: Final = """() => [...document.querySelectorAll('[aria-labelledby=need] li')].map((offer) =>
  `${offer.querySelector('a').textContent}:${
    [...offer.querySelectorAll('[aria-pressed=true]')].map((chip) => chip.textContent)}`)"""
# What fits, and the sum of what fits of each model.
ADDED: Final = """() => [
  Number(document.querySelector('.answer strong').textContent),
  [...document.querySelectorAll('.answer + ul b')].reduce((sum, each) => sum + Number(each.textContent), 0),
]"""
ABOVE: Final = """() => {
  const first = document.querySelector('[role=row][data-row]').getBoundingClientRect().top;
  const controls = [...document.querySelectorAll('main :is(a, button, select, input)')];
  return [first, controls.filter((each) => each.checkVisibility({opacityProperty: true}) &&
    each.getBoundingClientRect().bottom <= first).length];
}"""


def panel(page: Page) -> Locator:
    """Where the wish is told."""
    return page.get_by_role("region", name="I need")


def open_board(page: Page, board: RunningBoard, query: str = "") -> None:
    """Open the board and wait for its GPUs."""
    page.goto(f"{board.url}{query}")
    expect(page.locator(".cell[data-uuid]").first).to_be_visible()


def best_of(board: RunningBoard, **wish: str | int) -> list[str]:
    """The three best blocks by the API: nodes, and the GPUs to take."""
    found: dict[str, Any] = httpx.get(f"{board.url}api/v1/free", params=wish).raise_for_status().json()
    blocks = found["blocks"][:3] if found["enough"] else []
    return [f"{block['node']}:{','.join(block['labels'][: block['chosen']])}" for block in blocks]


def expect_best(page: Page, board: RunningBoard, **wish: str | int) -> None:
    """The page offers what the API does, in its order."""
    wait_until(lambda: page.evaluate(OFFERED) == best_of(board, **wish))


def test_the_first_row_stands_high_on_a_small_laptop(browser: Browser, demo: RunningBoard) -> None:
    """It used to begin at 460, below half a screen of preamble, and there are no more controls than then."""
    for locale in ("en-GB", "de-DE", "fr-FR", "zh-TW", "zh-CN"):
        with visit(browser, demo.url, size=LAPTOP, locale=locale) as page:
            open_board(page, demo, "?view=rows")
            top, controls = page.evaluate(ABOVE)
            keep(page, f"need-laptop-{locale}")
            assert (locale, top <= 330, controls <= MOST_CONTROLS) == (locale, True, True), (top, controls)


def test_the_first_offer_shows_how_to_book_the_others_when_one_is_there(
    page: Page, demo: RunningBoard
) -> None:
    """By pointer or focus; who only hears the page hears all of them."""
    open_board(page, demo, "?view=rows")
    books = panel(page).get_by_role("button", name=re.compile("^Book"))
    expect(books).to_have_count(3)
    for place, is_seen in enumerate((True, False, False)):
        expect(books.nth(place)).to_have_css("opacity", str(int(is_seen)))
    books.nth(1).focus()
    expect(books.nth(1)).to_have_css("opacity", "1")
    panel(page).get_by_role("listitem").nth(2).hover()
    expect(books.nth(2)).to_have_css("opacity", "1")


def test_a_wish_is_offered_as_the_api_offers_it(page: Page, demo: RunningBoard) -> None:
    """One for a start; then four large ones on one node, and the address keeps the wish."""
    open_board(page, demo, "?view=rows")
    expect_best(page, demo)
    panel(page).get_by_role("button", name="2", exact=True).click()
    expect(page).to_have_url(re.compile("need=2"))
    expect_best(page, demo, gpus=2)
    # Nobody has 40 GB, and that is what people ask for.
    sizes = panel(page).get_by_role("combobox", name="Memory").get_by_role("option")
    expect(sizes).to_have_text(["any memory", "≥ 24 GB", "≥ 40 GB", "≥ 48 GB", "≥ 80 GB"])
    panel(page).get_by_role("combobox", name="Memory").select_option("48G")
    panel(page).get_by_role("checkbox", name="on one node").check()
    expect(page.locator("#filter")).to_have_value("memory>=48G free>=2")
    expect_best(page, demo, gpus=2, memory="48G", same_node="true")
    keep(page, "need-two")
    page.reload()
    expect(panel(page).get_by_role("checkbox")).to_be_checked()
    expect_best(page, demo, gpus=2, memory="48G", same_node="true")


def test_number_chips_and_rows_follow_the_wish(page: Page, demo: RunningBoard) -> None:
    """The panel used to ignore what was typed, and "All" stayed pressed."""
    open_board(page, demo)
    chips = page.get_by_role("list", name="Verdicts")
    every = chips.get_by_role("button", name="All")
    expect(every).to_have_attribute("aria-pressed", "true")
    page.locator("#filter").fill("model:4090")
    expect(every).to_have_attribute("aria-pressed", "false")

    def fitting() -> int:
        return int(httpx.get(f"{demo.url}api/v1/free?model=4090").json()["free"])

    answer = page.locator(".answer")
    wait_until(lambda: answer.locator("strong").inner_text() == str(fitting()))
    expect(answer).to_contain_text(re.compile(r"of 96 GPUs fit.*\d+ free in all", re.DOTALL))
    wait_until(lambda: f"free {fitting()}" in chips.inner_text().lower().replace("\n", " "))
    # At some hours none of them is free.
    wait_until(
        lambda: (
            {each.split(":")[0][:6] for each in page.evaluate(OFFERED)}
            == ({"vision"} if fitting() else set())
        )
    )
    every.click()
    expect(page.locator("#filter")).to_have_value("")


@pytest.mark.parametrize(
    "query", ["", "?q=free>%3D2", "?q=free>%3D4+memory>%3D40G", "?q=model:4090+free>%3D8"]
)
def test_the_chips_of_the_models_add_up_to_what_fits(page: Page, demo: RunningBoard, query: str) -> None:
    """They counted all that is free of a model, wherever it is: 845 below a 312, and some below a 0."""
    page.goto(f"{demo.url}{query}")
    expect(page.locator(".answer strong")).to_be_visible()
    others = page.get_by_role("button", name=re.compile("more models?$"))
    if others.count():
        others.click()
    wait_until(lambda: len(set(page.evaluate(ADDED))) == 1)


def test_how_long_something_is_idle_is_no_wish(page: Page, demo: RunningBoard) -> None:
    """Nothing free has been idle for an hour: it said that nothing fits."""
    open_board(page, demo, "?q=40+gb")
    large = httpx.get(f"{demo.url}api/v1/free?memory=40G").json()["free"]
    assert large
    page.locator("#filter").fill("40 gb idle>1h")
    expect(page.locator(".answer")).to_contain_text("GPUs fit")
    wait_until(
        lambda: (
            page.locator(".answer strong").inner_text()
            == str(httpx.get(f"{demo.url}api/v1/free?memory=40G").json()["free"])
        )
    )
    expect(panel(page).get_by_role("listitem").first).to_be_visible()


def test_the_chosen_gpus_can_be_changed_and_what_is_copied_is_seen(page: Page, demo: RunningBoard) -> None:
    """One is chosen, not the whole node; each form stands there before it is taken."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    # Of one node that has two: at some hours the first offers of all have one each.
    blocks = httpx.get(f"{demo.url}api/v1/free").json()["blocks"]
    roomy = next(block["node"] for block in blocks if len(block["labels"]) > 1)
    open_board(page, demo, f"?q={roomy}+free>%3D2&need=1")
    panel(page).get_by_role("button", name="1", exact=True).click()
    offer = panel(page).get_by_role("listitem").filter(has=page.locator(".chips button:nth-of-type(2)")).first
    chips = offer.locator(".chips button")
    expect(offer.locator(".chips button[aria-pressed=true]")).to_have_count(1)
    chips.nth(0).click()
    chips.nth(1).click()
    label = chips.nth(1).inner_text()
    node = offer.get_by_role("link").inner_text()
    offer.get_by_role("button", name=re.compile("^Copy")).click()
    sheet = page.get_by_role("dialog")
    gpus = httpx.get(f"{demo.url}api/v1/nodes/{node}").json()["gpus"]
    uuid = next(gpu["uuid"] for gpu in gpus if gpu["label"] == label)
    forms = {
        "Command": f"ssh -t {node} 'env CUDA_VISIBLE_DEVICES={uuid} $SHELL -l'",
        "On the node": f"export CUDA_VISIBLE_DEVICES={uuid}",
        "Docker": f"docker run --gpus '\"device={uuid}\"'",
        "UUIDs": uuid,
    }
    keep(page, "need-forms")
    for form, text in forms.items():
        button = sheet.get_by_role("button", name=re.compile(f"^{form}"))
        expect(button.locator("code")).to_have_text(text)
        button.click()
        expect(button).to_contain_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == text
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)


def test_where_nothing_fits_it_says_what_would(page: Page, demo: RunningBoard) -> None:
    """Who holds idle ones, and which wish to drop; dropping it brings the offers back."""
    # As many as one model has on a node at this hour; of another there are fewer.
    blocks = httpx.get(f"{demo.url}api/v1/free").json()["blocks"]
    sizes = {
        word: max((len(block["labels"]) for block in blocks if word in block["model"]), default=0)
        for word in ("H100", "A100", "A6000", "4090")
    }
    most, scarce = max(sizes.values()), min(sizes, key=lambda word: sizes[word])
    page.goto(f"{demo.url}?q=model:{scarce}+free>%3D{most}")
    expect(panel(page)).to_contain_text(re.compile(rf"Not enough for this right now: \d of {most}\."))
    expect(panel(page)).to_contain_text(re.compile(r"held but idle; ask:.*\(\d+"))
    keep(page, "need-nothing")
    panel(page).get_by_role("button", name=f"without model:{scarce}").click()
    expect(page.locator("#filter")).to_have_value(f"free>={most}")
    expect_best(page, demo, gpus=most, same_node="true")


def test_who_holds_idle_ones_is_one_click_away(page: Page, demo: RunningBoard) -> None:
    """Where the admin says no way to ask, the name leads to the person: what they hold, and since when."""
    model = re.search("H100|A100|A6000|4090", computing(demo, "idle")[1]["model"])[0]  # type: ignore[index]
    # More than any node has.
    page.goto(f"{demo.url}?q=model:{model}+free>%3D9")
    holder = panel(page).locator("p", has_text="ask:").get_by_role("link").first
    name = holder.inner_text()
    holder.click()
    expect(page.get_by_role("heading", name="People", level=1)).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr th")).to_contain_text(name)


def test_names_of_idle_holders_are_told_only_where_names_are(browser: Browser, tmp_path: Path) -> None:
    """How many are idle, all the same."""
    with (
        running_board("--demo", "12", "--anonymous", "counts", log=tmp_path / "log") as board,
        visit(browser, board.url) as page,
    ):
        page.goto(f"{board.url}?q=model:H100+free>%3D8")
        expect(panel(page)).to_contain_text(re.compile(r"\d+ GPUs are held but idle\."))
        assert panel(page).get_by_role("link").count() == 0


def test_old_data_offers_nothing(page: Page, demo: RunningBoard) -> None:
    """Neither a command nor a choice; the heading is of the past."""
    open_board(page, demo)
    page.keyboard.press("p")
    asked = page.get_by_role("region", name="Asked for")
    expect(asked).to_be_visible()
    expect(asked.get_by_role("button", name=re.compile("^Copy")).first).to_be_disabled()
    expect(asked.locator(".chips button").first).to_be_disabled()
    expect(page.get_by_role("heading", name="Who had the others")).to_be_visible()
    page.locator(".cell.fill-busy[data-uuid]").first.click()
    detail = page.get_by_role("dialog")
    expect(detail).to_contain_text(re.compile(r"last known \d+ %"))
    assert "now " not in detail.inner_text()
    page.goto(f"{demo.url}people")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_text(re.compile(r"\d+ people held \d+ GPUs"))).to_be_visible()


def test_on_a_phone_the_wish_is_one_line_that_opens(browser: Browser, demo: RunningBoard) -> None:
    """And everything in it can be hit with a thumb."""
    with visit(browser, demo.url, size=PHONE) as page:
        open_board(page, demo)
        expect(panel(page).get_by_role("listitem")).to_have_count(0)
        panel(page).get_by_role("button", name=re.compile("^I need 1 GPU")).tap()
        expect(panel(page).get_by_role("listitem").first).to_be_visible()
        assert_fits(page)
        keep(page, "need-phone")
        small = panel(page).evaluate(
            """(panel) => [...panel.querySelectorAll('button, select, label')]
              .filter((each) => each.offsetHeight < 44 && !each.closest('[role=group]:not(.chips)'))
              .map((each) => each.textContent)"""
        )
        assert small == []


def test_a_link_to_a_wish_is_open_on_a_phone(browser: Browser, demo: RunningBoard) -> None:
    """With its offer, and its size as the choices write it."""
    with visit(browser, demo.url, size=PHONE) as page:
        open_board(page, demo, "?need=2&q=memory>=40G")
        button = panel(page).get_by_role("button", name=re.compile("^I need 2 GPUs ≥ 40 GB"))
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(panel(page).get_by_role("listitem").first).to_be_visible()
        expect(panel(page).get_by_label("Memory")).to_contain_text("≥ 40 GB")


def test_on_a_phone_a_node_is_shared(browser: Browser, demo: RunningBoard) -> None:
    """By the phone's own means, or copied where it has none: an ssh line helps nobody there."""
    with visit(browser, demo.url, size=PHONE) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.add_init_script(
            "navigator.share = (what) => { window.shared = what; return Promise.resolve(); }"
        )
        open_board(page, demo, "?q=free")
        page.get_by_role("button", name=re.compile("^Share · ")).first.tap()
        wait_until(lambda: page.evaluate("window.shared !== undefined"))
        shared = page.evaluate("window.shared")
        assert shared["url"].startswith(f"{demo.url}nodes/")
        assert re.fullmatch(r"[\w-]+: 8 . .*\d+ free \(GPU \d.*\)", shared["text"])
        page.evaluate("delete navigator.share; navigator.share = undefined")
        page.get_by_role("button", name=re.compile("^Share · ")).first.tap()
        expect(page.get_by_role("button", name=re.compile("^Share · ")).first).to_contain_text("Copied")
        assert shared["url"] in page.evaluate("navigator.clipboard.readText()")


HARDWARE: Final = {"n1": "AAAA", "n2": "AABB", "n3": "B", "n4": "BBBB"}
MODELS: Final = {"A": ("NVIDIA A100-SXM4-80GB", 80), "B": ("NVIDIA GeForce RTX 4090", 24)}
PLACES: Final = [f"{node}:{number}" for node, kinds in HARDWARE.items() for number in range(len(kinds))]


def drop(share: Path, busy: set[str]) -> None:
    """What the nodes say: somebody is on some of their GPUs."""
    process = GpuProcess(pid=1, user="ana", uid=1, memory_used_bytes=GIB)
    for node, kinds in HARDWARE.items():
        gpus = tuple(
            GpuReading(
                uuid=f"GPU-{node}-{number}",
                index=number,
                model=MODELS[kind][0],
                memory_total_bytes=MODELS[kind][1] * GIB,
                memory_used_bytes=GIB if f"{node}:{number}" in busy else 0,
                processes=(process,) if f"{node}:{number}" in busy else (),
            )
            for number, kind in enumerate(kinds)
        )
        report = NodeReport(node=node, taken_at=time.time(), interval_seconds=3600, gpus=gpus)
        (share / f"{node}.new").write_bytes(encode_drop(report))
        (share / f"{node}.new").rename(share / f"{node}.json")


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningBoard, Path]]:
    """A board and the folder that its nodes write to."""
    folder = tmp_path_factory.mktemp("changing")
    share = folder / "share"
    share.mkdir()
    drop(share, set())
    config = folder / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n')
    with running_board("--config", str(config), log=folder / "log") as board:
        yield board, share


LARGE: Final = {"held": 2, "booked": 2, "later": 2}


def drop_held(share: Path) -> None:
    """One node is held idle, two are free but booked, and a small one is free."""
    process = GpuProcess(pid=1, user="ana", uid=1, memory_used_bytes=GIB)
    for node, count in {**LARGE, "small": 1}.items():
        gpus = tuple(
            GpuReading(
                uuid=f"GPU-{node}-{number}",
                index=number,
                model=MODELS["A" if node in LARGE else "B"][0],
                memory_total_bytes=MODELS["A" if node in LARGE else "B"][1] * GIB,
                memory_used_bytes=GIB if node == "held" else 0,
                utilization_percent=0.0,
                processes=(process,) if node == "held" else (),
            )
            for number in range(count)
        )
        report = NodeReport(node=node, taken_at=time.time(), interval_seconds=3600, gpus=gpus)
        (share / f"{node}.json").write_bytes(encode_drop(report))


def test_where_the_rest_is_booked_it_says_until_when(browser: Browser, tmp_path: Path) -> None:
    """The first end of a booking; who holds idle ones and for how long; and which wish to drop."""
    share = tmp_path / "share"
    share.mkdir()
    ends = {node: datetime.now(UTC) + timedelta(hours=hours) for node, hours in (("booked", 2), ("later", 5))}
    claims = {node: [{"name": "santa", "date": f"{end:%Y-%m-%d %H:%M}"}] * 2 for node, end in ends.items()}
    (tmp_path / "comments.json").write_text(json.dumps(claims))
    config = tmp_path / "gpuboard.toml"
    config.write_text(
        f'[verdict]\nidle_after = "1s"\n[bookings]\ncomments_json = "{tmp_path}/comments.json"\n'
        f'[[source]]\nkind = "folder"\npath = "{share}"\ninterval = "1s"\n'
    )
    drop_held(share)

    def idle() -> int:
        """Whether somebody idles is judged with what the node says next."""
        drop_held(share)
        return int(httpx.get(f"{board.url}api/v1/summary").json()["by_verdict"]["idle"])

    with (
        running_board("--config", str(config), log=tmp_path / "log") as board,
        visit(browser, board.url, zone="UTC") as page,
    ):
        wait_until(lambda: idle() == 2)
        page.goto(board.url)
        expect_best(page, board)
        panel(page).get_by_role("combobox", name="Memory").select_option("80G")
        expect(panel(page)).to_contain_text("Nothing fits right now.")
        expect(panel(page)).to_contain_text(
            re.compile(rf"booked will have enough from .*{ends['booked']:%H:%M}, as bookings end")
        )
        expect(panel(page)).to_contain_text(
            re.compile(r"2 GPUs are held but idle; ask:\s+ana\s+2 \(\d+ (s|min)\)")
        )
        keep(page, "need-booked")
        panel(page).get_by_role("button", name="without memory>=80G").click()
        expect_best(page, board)


def test_after_a_start_a_free_gpu_is_said_to_be_seen_free_since_then(
    browser: Browser, changing: tuple[RunningBoard, Path]
) -> None:
    """Nobody knows how long it has been free, and that nobody was seen to leave it is no news."""
    board, _ = changing
    for locale, words in (("en-GB", "seen free since the board started"), ("de-DE", "frei gesehen seit dem")):
        with visit(browser, board.url, locale=locale) as page:
            page.goto(f"{board.url}gpus/GPU-n3-0")
            expect(page.get_by_role("banner").or_(page.locator("header")).get_by_text(words)).to_be_visible()


def test_an_open_page_follows_what_fits(browser: Browser, changing: tuple[RunningBoard, Path]) -> None:
    """It asks again as soon as that has changed, and keeps to the order of the API."""
    board, share = changing
    drop(share, set())
    wait_until(lambda: busy_on(board) == set())
    with visit(browser, board.url) as page:
        open_board(page, board, "?need=2&view=rows")
        expect_best(page, board, gpus=2)
        page.evaluate("window.stayed = true")
        for busy in ({"n2:0", "n4:0"}, {"n1:0", "n1:1", "n2:0", "n2:1"}, set(PLACES), {"n2:2"}):
            before = page.evaluate(OFFERED)
            drop(share, busy)
            wait_until(lambda busy=busy: busy_on(board) == busy)  # type: ignore[misc]
            # Sooner than the minute after which it asks anyhow.
            wait_until(lambda: page.evaluate(OFFERED) == best_of(board, gpus=2), seconds=10)
            assert page.evaluate(OFFERED) != before
        assert page.evaluate("window.stayed")


def test_many_models_do_not_push_the_first_row_down(browser: Browser, tmp_path: Path) -> None:
    """It used to begin at 515 where there were eight."""
    share = tmp_path / "share"
    share.mkdir()
    kinds = ("A100", "A40", "H100", "L4", "L40S", "RTX A6000", "T4", "V100")
    for number, kind in enumerate(kinds):
        gpu = GpuReading(uuid=f"GPU-{number}", index=0, model=f"NVIDIA {kind}", memory_total_bytes=48 * GIB)
        report = NodeReport(node=f"n{number}", taken_at=time.time(), interval_seconds=3600, gpus=(gpu,))
        (share / f"n{number}.json").write_bytes(encode_drop(report))
    config = tmp_path / "gpuboard.toml"
    config.write_text(f'[[source]]\nkind = "folder"\npath = "{share}"\n')
    with (
        running_board("--config", str(config), log=tmp_path / "log") as board,
        visit(browser, board.url, size=LAPTOP) as page,
    ):
        open_board(page, board, "?view=rows")
        expect(page.locator(".cell[data-uuid]")).to_have_count(len(kinds))
        assert page.evaluate(ABOVE)[0] <= 330


def busy_on(board: RunningBoard) -> set[str]:
    """What the board calls busy."""
    nodes = httpx.get(f"{board.url}api/v1/fleet").json()["nodes"]
    return {
        f"{node['name']}:{gpu['label']}"
        for node in nodes
        for gpu in node["gpus"]
        if gpu["verdict"]["word"] == "busy"
    }


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    busy=st.sets(st.sampled_from(PLACES)),
    count=st.sampled_from([1, 2, 4]),
    memory=st.sampled_from(["", "40G"]),
    one_node=st.booleans(),
)
def test_page_api_and_command_offer_the_same_of_any_fleet(
    browser: Browser,
    changing: tuple[RunningBoard, Path],
    busy: set[str],
    count: int,
    memory: str,
    *,
    one_node: bool,
) -> None:
    """In the same order, with what was freed between two examples last."""
    board, share = changing
    drop(share, busy)
    wait_until(lambda: busy_on(board) == busy)
    query: dict[str, str | int] = {
        "gpus": count,
        "same_node": str(one_node and count > 1).lower(),
        **({"memory": memory} if memory else {}),
    }
    terms = [f"memory>={memory}"] * bool(memory) + [f"free>={count}"] * (one_node and count > 1)
    with visit(browser, board.url, size=DESKTOP) as page:
        page.goto(
            str(httpx.URL(board.url, params={"q": " ".join(terms), "need": str(count), "view": "rows"}))
        )
        expect(panel(page)).to_be_visible()
        expect_best(page, board, **query)
        assert page.evaluate(OFFERED) == best_of(board, **query)
    words = ["-n", str(count), *["--same-node"] * (one_node and count > 1), "--memory", memory or "0"]
    done = subprocess.run(
        [*COMMAND, "free", "--board", board.url, "--format", "json", *words],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    said = json.loads(done.stdout)
    blocks = said["blocks"][:3] if said["enough"] else []
    taken = [f"{block['node']}:{','.join(block['labels'][: block['chosen']])}" for block in blocks]
    assert taken == best_of(board, **query)
