"""One fleet, one answer: every output says the same of the golden fleet, as `expected.json` has it.

The page's own figures are compared with the same file by frontend/tests/golden.test.ts.
"""

import csv
import io
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx
import msgspec
import pytest
import uvicorn
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from gpuboard.cli import main
from gpuboard.fleet.views import fleet_view
from gpuboard.web.routes import health
from gpuboard.web.routes.preview import in_words
from gpuboard.wire.redact import hide_names
from gpuboard.wire.summary import Summary
from tests.golden.fleet import EXPECTED, FREE, NOW, SNAPSHOT, Golden, lab
from tests.parts import free_ports
from tests.serving import serving
from tests.web.conftest import guarded

VERDICTS: dict[str, int] = EXPECTED["by_verdict"]
ANSWER = f"{VERDICTS['free']} of {EXPECTED['gpus']}"


@pytest.fixture(scope="module")
def golden() -> Golden:
    """The fleet."""
    return Golden()


@pytest.fixture(scope="module")
def url(golden: Golden) -> Iterator[str]:
    """Where it is served."""
    (port,) = free_ports(1)
    config = uvicorn.Config(guarded(golden.services), port=port, lifespan="off", log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://localhost:{port}/"
    server.should_exit = True
    thread.join()


@pytest.fixture
def http(url: str) -> Iterator[httpx.Client]:
    """Somebody who asks."""
    with httpx.Client(base_url=url) as client:
        yield client


def say(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints."""
    main([*words])
    return capsys.readouterr().out


def verdicts_of(view: dict[str, Any], *, counted: bool = True) -> dict[str, str]:
    """The verdicts of a whole view by what people call the GPUs."""
    return {
        f"{node['name']}:{gpu['label']}": gpu["verdict"]["word"]
        for node in view["nodes"]
        for gpu in node["gpus"]
        if gpu["counted"] is counted
    }


def holders_of(view: dict[str, Any]) -> dict[str, list[str]]:
    """Who is on which GPU, by a whole view."""
    found: dict[str, list[str]] = {}
    for node in view["nodes"]:
        for gpu in node["gpus"]:
            if gpu["counted"] and gpu["verdict"]["word"] != "stale":
                booker = [gpu["claim"]["who"]] if gpu["verdict"]["word"] == "booked" else []
                for name in [user["name"] for user in gpu["users"] or ()] + booker:
                    found.setdefault(name, []).append(f"{node['name']}:{gpu['label']}")
    return {name: sorted(places) for name, places in found.items()}


def test_the_expected_figures_agree_with_themselves() -> None:
    """A table with a mistake proves nothing."""
    assert Counter(EXPECTED["verdicts"].values()) == VERDICTS
    assert sum(VERDICTS.values()) == len(EXPECTED["verdicts"]) == EXPECTED["gpus"]
    offered = {f"{block['node']}:{label}" for block in EXPECTED["free"] for label in block["labels"]}
    assert offered == {place for place, word in EXPECTED["verdicts"].items() if word == "free"}


def test_the_snapshot_that_the_page_reads_is_what_the_stream_tells(golden: Golden) -> None:
    """If this fails and should: python -m tests.golden.fleet."""
    assert json.loads(SNAPSHOT.read_text(encoding="utf-8")) == json.loads(json.dumps(golden.snapshot()))


def test_the_offers_that_the_page_reads_are_what_the_board_answers(golden: Golden) -> None:
    """If this fails and should: python -m tests.golden.fleet."""
    assert json.loads(FREE.read_text(encoding="utf-8")) == json.loads(msgspec.json.encode(golden.free()))


def test_the_summary(http: httpx.Client) -> None:
    """Counts by verdict, and the node that nobody has read."""
    summary = http.get("api/v1/summary").json()
    assert summary["by_verdict"] == VERDICTS
    assert (summary["gpus"], summary["nodes_unknown"]) == (EXPECTED["gpus"], EXPECTED["nodes_unknown"])
    by_model = summary["by_model"]
    assert sum(each["gpus"] for each in by_model) == EXPECTED["gpus"]
    assert sum(each["free"] for each in by_model) == VERDICTS["free"]


def test_the_whole_fleet(http: httpx.Client) -> None:
    """Each GPU under its label."""
    view = http.get("api/v1/fleet").json()
    assert verdicts_of(view) == EXPECTED["verdicts"]
    assert sorted(verdicts_of(view, counted=False)) == EXPECTED["not_counted"]
    assert holders_of(view) == EXPECTED["held"]
    assert not [
        gpu for node in view["nodes"] for gpu in node["gpus"] if "trespass" in gpu["verdict"]["flags"]
    ]


def test_each_node_and_each_gpu(http: httpx.Client) -> None:
    """Asked for alone, they are as in the whole."""
    whole = http.get("api/v1/fleet").json()
    assert [http.get(f"api/v1/nodes/{node['name']}").json() for node in whole["nodes"]] == whole["nodes"]
    for node in whole["nodes"]:
        for gpu in node["gpus"]:
            assert http.get(f"api/v1/gpus/{gpu['uuid']}").json() == gpu


def test_scripts_of_an_older_board(http: httpx.Client) -> None:
    """All cards of all nodes, and on them whoever is said to hold them."""
    whole = http.get("api/v1/fleet").json()["nodes"]
    told = http.get("get-status").json()["Nodes"]
    assert [[gpu["name"] for gpu in node["gpus"]] for node in told] == [
        [gpu["model"] for gpu in node["gpus"]] for node in whole
    ]
    (owners,) = {
        tuple(process["username"] for process in node["gpus"][0]["users"])
        for node in told
        if node["hostname"] == "lab-01"
    }
    assert owners == ("uid 4711",)


def test_without_names_the_counts_are_the_same(golden: Golden) -> None:
    """Who may not see names sees the same verdicts, and nobody's name."""
    hidden = hide_names(fleet_view(golden.fleet))
    view = json.loads(msgspec.json.encode(hidden))
    assert verdicts_of(view) == EXPECTED["verdicts"]
    assert sorted(verdicts_of(view, counted=False)) == EXPECTED["not_counted"]
    text = msgspec.json.encode(hidden).decode()
    assert not [name for name in EXPECTED["held"] if f'"{name}"' in text]


def test_what_is_free(http: httpx.Client) -> None:
    """The best fit first, what was just freed last, and sizes as on the box."""
    found = http.get("api/v1/free").json()
    shown = [{key: block[key] for key in ("node", "labels", "just_freed")} for block in found["blocks"]]
    assert (shown, found["free"]) == (EXPECTED["free"], VERDICTS["free"])
    of_80 = http.get("api/v1/free", params={"memory": "80G"}).json()["blocks"]
    places = [f"{block['node']}:{label}" for block in of_80 for label in block["labels"]]
    assert sorted(places) == sorted(EXPECTED["free_80G"])


def places(block: dict[str, Any]) -> str:
    """What to take of a block, as people say it."""
    return f"{block['node']}:{','.join(block['labels'][: block['chosen']])}"


@pytest.mark.parametrize("wish", EXPECTED["wishes"], ids=str)
def test_what_to_take_for_a_wish(
    http: httpx.Client, url: str, capsys: pytest.CaptureFixture[str], wish: dict[str, Any]
) -> None:
    """By the API and by the command, block by block; the page's own tests read the same table."""
    asked = {key: wish[key] for key in ("gpus", "memory", "same_node")}
    found = http.get("api/v1/free", params=asked).json()
    assert ([places(block) for block in found["blocks"]], found["enough"]) == (wish["take"], wish["enough"])
    words = ["-n", str(wish["gpus"]), "--memory", wish["memory"], *["--same-node"] * wish["same_node"]]
    printed = json.loads(say(capsys, "free", "--board", url, "--format", "json", *words))
    assert [places(block) for block in printed["blocks"]] == wish["take"]
    listed = say(capsys, "free", "--board", url, *words).splitlines()
    assert [line.split(":")[0] for line in listed] == [block["node"] for block in found["blocks"]]


def test_as_many_blocks_as_somebody_wants_to_hear_of(http: httpx.Client) -> None:
    """The best ones; whether there is enough does not depend on it."""
    everything = http.get("api/v1/free", params={"gpus": 6}).json()
    two = http.get("api/v1/free", params={"gpus": 6, "limit": 2}).json()
    assert two["blocks"] == everything["blocks"][:2]
    assert {**two, "blocks": 0, "at": 0} == {**everything, "blocks": 0, "at": 0}


def test_people(http: httpx.Client) -> None:
    """By their names, and GPUs by their labels: those that they use apart from those booked for them."""
    people = http.get("api/v1/people").json()["people"]
    for kind, count, expected in (("holdings", "gpus", "used"), ("booked", "booked_gpus", "booked")):
        places = {
            person["user"]: sorted(
                f"{holding['node']}:{label}" for holding in person[kind] for label in holding["labels"]
            )
            for person in people
            if person[count]
        }
        assert places == EXPECTED[expected]
        assert [person[count] for person in people] == [
            len(places.get(person["user"], ())) for person in people
        ]


def test_badge_and_preview(http: httpx.Client) -> None:
    """In pictures and in words."""
    title = re.search(r"<title[^>]*>([^<]*)</title>", http.get("badge.svg").text)
    assert title is not None
    assert title[1] == f"GPUs: {ANSWER} free"
    summary = msgspec.json.decode(http.get("api/v1/summary").content, type=Summary)
    assert in_words(summary).startswith(f"{ANSWER} GPUs are free now: ")
    assert http.get("preview.png").headers["content-type"] == "image/png"


def _metrics(golden: Golden) -> str:
    return health._write_metrics(golden.services).decode()


def test_metrics(golden: Golden) -> None:
    """The sums, and each GPU for itself; not by HTTP, for the guard of this process knows no /proc."""
    text = _metrics(golden)
    families = {family.name: family.samples for family in text_string_to_metric_families(text)}
    assert {sample.labels["verdict"]: sample.value for sample in families["gpuboard_gpus"]} == VERDICTS
    each = {
        f"{sample.labels['node']}:{sample.labels['gpu']}": sample.labels["verdict"]
        for sample in families["gpuboard_gpu_verdict"]
    }
    assert each == EXPECTED["verdicts"]


def test_the_page_has_the_mean_of_a_minute_and_all_others_the_sample(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What people read may not jump; what alarms and scripts read may not lag."""
    golden = Golden()
    at_work = tuple(
        replace(gpu, utilization_percent=20.0) if gpu.index == 9 else gpu for gpu in lab(freed=True)
    )
    golden.say_again(NOW + 30.0, {"lab-01": at_work})
    told = golden.snapshot()["gpus"]
    place = told["uuid"].index("GPU-lab-01-9")
    assert (told["utilization_percent"][place], told["utilization_minute_percent"][place]) == (20.0, 50)
    families = {family.name: family.samples for family in text_string_to_metric_families(_metrics(golden))}
    measured = families["gpuboard_gpu_utilization_ratio"]
    assert [each.value for each in measured if each.labels["uuid"] == "GPU-lab-01-9"] == [0.2]
    with serving(guarded(golden.services)) as port:
        listed = say(capsys, "status", "--board", f"http://localhost:{port}/")
    assert re.search(r"\[9\] .* busy +20 % ", listed)


def test_status_of_the_board(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of the terminal."""
    said = say(capsys, "status", "--board", url)
    unsure = VERDICTS["stale"] + VERDICTS["unknown"]
    assert f"{ANSWER} GPUs free, {unsure} cannot be judged, those of 1 node not known" in said
    assert "[0:1]" in said
    assert "uid 4711" in said
    by_process = say(capsys, "status", "-p", "--board", url)
    assert re.search(r"\d+ \S+ uid 4711", by_process)


def test_status_of_the_board_for_scripts(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON and as CSV, GPU by GPU."""
    view = json.loads(say(capsys, "status", "--json", "--board", url))
    assert (verdicts_of(view), holders_of(view)) == (EXPECTED["verdicts"], EXPECTED["held"])
    rows = list(csv.DictReader(io.StringIO(say(capsys, "status", "--csv", "--board", url))))
    counted = {f"{row['node']}:{row['gpu']}": row["verdict"] for row in rows if row["counted"] == "true"}
    assert counted == EXPECTED["verdicts"]


def test_whether_the_board_is_ready(http: httpx.Client) -> None:
    """Nodes by how they are, as the fleet has them."""
    nodes = http.get("api/v1/fleet").json()["nodes"]
    told = http.get("readyz").json()
    assert told["nodes"] == len(nodes)
    assert told["nodes_live"] == sum(node["state"] == "live" for node in nodes)


def test_free_in_the_terminal(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same blocks in the same order."""
    lines = say(capsys, "free", "--board", url).splitlines()
    assert [line.split("\t")[0] for line in lines] == [
        f"{block['node']}:{','.join(block['labels'])}" for block in EXPECTED["free"]
    ]


def test_a_node_with_a_display_name_is_called_so_everywhere(
    golden: Golden, url: str, http: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside its own name, by which it is reached."""
    snapshot = golden.snapshot()["nodes"]
    [called] = [name for name in snapshot["display_name"] if name is not None]
    assert called == "Red One"
    assert "Red One (amd-01)" in say(capsys, "status", "--board", url)
    assert "Red One (amd-01)" in say(capsys, "export", "html", "--board", url)
    rows = list(csv.DictReader(io.StringIO(say(capsys, "export", "csv", "--board", url))))
    assert {row["node"] for row in rows if row["display_name"] == "Red One"} == {"amd-01"}
    [line] = [line for line in say(capsys, "free", "--board", url).splitlines() if "Red One" in line]
    assert line.startswith("amd-01:0\t")
    blocks = http.get("api/v1/free").json()["blocks"]
    assert {block["node"] for block in blocks if block["display_name"] == "Red One"} == {"amd-01"}
    people = http.get("api/v1/people").json()["people"]
    held = {(each["node"], each["display_name"]) for person in people for each in person["holdings"]}
    assert ("amd-01", "Red One") in held
    assert 'gpuboard_node_info{node="amd-01",display_name="Red One"} 1' in _metrics(golden)


def test_a_node_is_found_by_both_its_names(http: httpx.Client) -> None:
    """Whatever the case; what is said is the same."""
    told = [http.get(f"api/v1/nodes/{name}").json()["name"] for name in ("amd-01", "Red One", "red%20ONE")]
    assert told == ["amd-01"] * 3
    hours = [
        http.get("api/v1/activity", params={"node": name}).json()["gpus"] for name in ("amd-01", "red one")
    ]
    assert hours[0].keys() == hours[1].keys() == {"GPU-amd-01-0", "GPU-amd-01-1"}
    assert http.get("api/v1/nodes/Red").status_code == 404


@pytest.mark.parametrize("model", ["big red", "MI300X", "AMD Instinct"])
def test_a_model_is_found_by_both_its_names(
    model: str, url: str, http: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the admin calls it, and as the driver does; page: filter.test.ts."""
    assert say(capsys, "free", "--model", model, "--board", url).startswith("amd-01:0\t1 x Big Red")
    assert [each["node"] for each in http.get("api/v1/free", params={"model": model}).json()["blocks"]] == [
        "amd-01"
    ]
    assert "1 of 2" in http.get("badge.svg", params={"model": model}).text


def test_exports(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As a page, as JSON and as CSV."""
    page = unescape(
        re.sub(
            r"<style>.*?</style>|<script>.*?</script>|<[^>]+>",
            "",
            say(capsys, "export", "html", "--board", url),
            flags=re.DOTALL,
        )
    )
    assert f"{ANSWER} GPUs free" in page
    for word, count in VERDICTS.items():
        assert f"{count} {word}" in page
    assert not [name for name in EXPECTED["used"] if name not in page]
    assert "0:1" in page
    view = json.loads(say(capsys, "export", "json", "--board", url))
    assert (verdicts_of(view), holders_of(view)) == (EXPECTED["verdicts"], EXPECTED["held"])
    rows = list(csv.DictReader(io.StringIO(say(capsys, "export", "csv", "--board", url))))
    counted = {f"{row['node']}:{row['gpu']}": row["verdict"] for row in rows if row["counted"] == "true"}
    assert counted == EXPECTED["verdicts"]
    assert "uid 4711" in {row["users"] for row in rows}
