import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given

from gpuboard.bookings import comments_json
from gpuboard.bookings.comments_json import Comments
from gpuboard.fleet.claims import ClaimBook
from gpuboard.model.errors import WireError
from gpuboard.model.verdict import ENDED_CLAIM_SECONDS, NO_NUMBER, Claim
from tests.mutations import anything

NOW = 1_530_400_000.0  # 2018-06-30 23:06:40 UTC
MIDNIGHT = 1_530_403_200.0  # 2018-07-01 00:00 UTC
SANTA = {"name": "sclaus", "date": "2018-07-01 00:00", "comment": "booked by Santa Claus"}
LIST = json.dumps({"gputest001-pa4": [SANTA, {**SANTA, "name": "pnoel"}], "gputest002-pa4": []}).encode()
OBJECT = json.dumps({"gputest001-pa4": {"3": SANTA, "07": {**SANTA, "name": "pnoel"}}}).encode()


def parse(data: bytes, now: float, *, written_at: float | None = None) -> Comments:
    """Read a file on a board whose zone is UTC."""
    return comments_json.parse_comments(data, now, written_at=written_at, zone=UTC)


def parse_comments(
    data: bytes, now: float, *, written_at: float | None = None
) -> dict[tuple[str, int], Claim]:
    """The claims of a file."""
    return parse(data, now, written_at=written_at).claims


def claims(entry: object, now: float = NOW) -> dict[tuple[str, int], Claim]:
    """The claims of a file with one entry."""
    return parse_comments(json.dumps({"box": [entry]}).encode(), now)


def test_a_list_counts_its_gpus_from_zero() -> None:
    """PHP writes one when no number is missing."""
    found = parse_comments(LIST, NOW)
    assert list(found) == [("gputest001-pa4", 0), ("gputest001-pa4", 1)]
    assert found["gputest001-pa4", 0] == Claim(who="sclaus", until=MIDNIGHT, comment="booked by Santa Claus")


def test_an_object_names_its_gpus() -> None:
    """PHP writes one as soon as a number is missing."""
    assert list(parse_comments(OBJECT, NOW)) == [("gputest001-pa4", 3), ("gputest001-pa4", 7)]


def test_the_date_is_the_end_and_without_a_zone_it_is_the_boards() -> None:
    """Three labs independently stumbled over the zone."""
    assert claims(SANTA)["box", 0].until == MIDNIGHT
    there = timezone(timedelta(hours=2))
    data = json.dumps({"box": [SANTA]}).encode()
    found = comments_json.parse_comments(data, NOW - 86400, zone=there).claims
    assert found["box", 0].until == MIDNIGHT - 2 * 3600
    assert claims({**SANTA, "date": "2018-07-01T02:00:00+02:00"})["box", 0].until == MIDNIGHT
    assert claims({**SANTA, "date": "2018-07-01 +0200"})["box", 0].until == MIDNIGHT + 22 * 3600 - 1


def test_a_claim_that_has_ended_is_told_for_three_days() -> None:
    """It holds until its end, and not a second longer."""
    for now, holds in ((MIDNIGHT - 1, True), (MIDNIGHT, False), (MIDNIGHT + 3 * 86400 - 1, False)):
        assert claims(SANTA, now=now)["box", 0].holds_at(now) is holds
    assert not claims(SANTA, now=MIDNIGHT + 3 * 86400)


@pytest.mark.parametrize(
    ("text", "hours"), [("2d", 48), ("5h", 5), ("1d 12h", 36), ("1D12H", 36), (" 3h ", 3), ("0d 1h", 1)]
)
def test_a_duration_in_the_dates_place_counts_from_when_the_file_was_written(text: str, hours: int) -> None:
    """Counted from the reading, it would never end."""
    data = json.dumps({"box": [{**SANTA, "date": text}]}).encode()
    found = parse_comments(data, NOW, written_at=NOW - 600)
    assert found["box", 0].until == NOW - 600 + hours * 3600
    assert parse_comments(data, NOW)["box", 0].until == NOW + hours * 3600


@pytest.mark.parametrize(
    "entry",
    [
        {**SANTA, "name": ""},
        {**SANTA, "date": ""},
        {"name": "", "date": "", "comment": ""},
        {**SANTA, "date": "0000-00-00 00:00"},
        {**SANTA, "date": None},
        {"user": "", "until": " "},
        {},
        None,
        [],
        "",
    ],
)
def test_an_entry_with_an_empty_name_or_end_is_no_claim(entry: object) -> None:
    """Deleting a booking only empties its entry; the other board shows nothing either."""
    found = parse(json.dumps({"box": [entry]}).encode(), NOW)
    assert (found.claims, found.unread) == ({}, [])


END = "2018-07-01 00:00"
UNREADABLE = "somebody (unreadable date)"


@pytest.mark.parametrize(
    ("entry", "claim", "missing"),
    [
        ({"user": "ana", "date": END}, ("somebody", MIDNIGHT, "user: ana."), "name"),
        ({"comment": "ana paper", "date": END}, ("somebody", MIDNIGHT, "ana paper"), "name"),
        ({"name": ["ana"], "date": END}, ("somebody", MIDNIGHT, None), "name"),
        ({"name": "\u3164", "date": END}, ("somebody", MIDNIGHT, None), "name"),
        ({"name": "ana"}, (UNREADABLE, None, "name: ana."), "end"),
        ({"name": "ana", "until": END}, (UNREADABLE, None, f"name: ana. until: {END}."), "end"),
        ({"user": "ana"}, (UNREADABLE, None, "user: ana."), "name and no end"),
        ("ana", (UNREADABLE, None, "ana"), "name and no end"),
        (True, (UNREADABLE, None, "True"), "name and no end"),
    ],
)
@pytest.mark.parametrize("form", ["list", "object"])
def test_an_entry_of_another_shape_holds_its_gpu_and_is_said(
    entry: object, claim: tuple[str, float | None, str | None], missing: str, form: str
) -> None:
    """Somebody wrote it to book the GPU; nobody is told that it is free."""
    entries = [entry] if form == "list" else {"0": entry}
    found = parse(json.dumps({"box": entries}).encode(), NOW)
    who, until, comment = claim
    assert found.claims == {("box", 0): Claim(who=who, until=until, comment=comment)}
    assert (found.unread, found.entries) == ([f"box:0 has no {missing} that can be read"], 1)


@pytest.mark.parametrize("entries", ["ana", 5, True])
def test_a_host_without_entries_by_gpu_is_said(entries: object) -> None:
    """Which GPU it means cannot be told."""
    assert parse(json.dumps({"box": entries}).encode(), NOW).unread == ["box: names no GPU of a node"]
    assert parse(b'{"box": null}', NOW).unread == []


@pytest.mark.parametrize(
    "text",
    [
        "2018/07/01 9:05",
        "2018-07-01 09:05",
        "2018-07-01 9:05",
        "2018-7-1 9:05:00",
        "2018-07-01T09:05:00Z",
        "2018-07-01 11:05 +0200",
        "2018.07.01 9:05",
        "01.07.2018 09:05",
        "Jul 1 2018 9:05",
        "July 1st, 2018, 9:05 am",
        "1 Jul 2018 09:05",
        "Sun, 1 July 2018 09:05:00 GMT",
    ],
)
def test_dates_that_php_writes_and_accepts_are_read(text: str) -> None:
    """An unused booking must not vanish for the way in which its date is written."""
    assert claims({**SANTA, "date": text})["box", 0].until == MIDNIGHT + 9 * 3600 + 5 * 60


@pytest.mark.parametrize(
    "text", ["Jul 1 2018", "1 July 2018", "2018/07/01", "2018/7/1", "2018-07-01", "01.07.2018"]
)
def test_a_date_without_a_time_ends_with_that_day(text: str) -> None:
    """PHP takes its first second, but people mean the day too; its last second is of that day."""
    assert claims({**SANTA, "date": text})["box", 0].until == MIDNIGHT + 86400 - 1


@pytest.mark.parametrize(
    "date",
    ["tomorrow", "next week", "07/01/2018", "18:00", "2018-13-45", "Foo 1 2018", "2018-07-01 25:00", 5, True],
)
def test_a_date_that_is_not_sure_holds_without_an_end_and_is_said(date: object) -> None:
    """Nobody is told that the GPU is free on its account; what stands there is shown."""
    found = parse(json.dumps({"box": [{**SANTA, "date": date}]}).encode(), NOW)
    claim = found.claims["box", 0]
    assert (claim.who, claim.until) == (UNREADABLE, None)
    assert (claim.comment or "").startswith(f"name: sclaus. End not known: {date}.")
    assert found.unread == ["box:0 has no end that can be read"]


@pytest.mark.parametrize(("host", "index"), [(" ", "0"), ("", "0"), ("box", "x"), ("box", "-1")])
def test_an_entry_that_names_no_gpu_is_said(host: str, index: str) -> None:
    """Somebody counts on it: where its node is known, it holds without a number."""
    found = parse(json.dumps({host: {index: SANTA}}).encode(), NOW)
    assert (found.unread, found.entries) == ([f"{host.strip()}:{index} names no GPU of a node"], 1)
    assert list(found.claims) == ([("box", NO_NUMBER)] if host == "box" else [])


@pytest.mark.parametrize(
    ("key", "why"), [("first", "'first' is no GPU's number"), (" ", "unreadable number")]
)
def test_whose_number_cannot_be_read_has_no_gpu_by_that_name(key: str, why: str) -> None:
    """Nobody asks them about a GPU that is not theirs: which entry it is stands in the name's place."""
    found = parse(json.dumps({"box": {key: {**SANTA, "comment": "gifts"}}}).encode(), NOW)
    claim = found.claims["box", NO_NUMBER]
    assert (claim.who, claim.comment) == (f"somebody ({why})", "name: sclaus. gifts")


def test_hosts_may_have_their_domain() -> None:
    """Each stands under the name that is written; the book of claims knows which nodes are meant."""
    data = json.dumps(
        {"box.lab.example": [SANTA, {**SANTA, "name": "pnoel"}], "box": {"1": {**SANTA, "name": "ana"}}}
    )
    found = {place: claim.who for place, claim in parse_comments(data.encode(), NOW).items()}
    assert found == {
        ("box", 1): "ana",
        ("box.lab.example", 0): "sclaus",
        ("box.lab.example", 1): "pnoel",
    }


def test_a_comment_is_optional() -> None:
    """An empty one is none."""
    assert claims({"name": "a", "date": "2018-07-01 00:00"})["box", 0].comment is None
    assert claims({**SANTA, "comment": ""})["box", 0].comment is None


def test_hosts_are_lower_case_and_an_odd_one_stays_as_it_is_written() -> None:
    """It may be what the admin calls a node; one that is empty costs the others nothing."""
    data = json.dumps(
        {
            "Box.": [SANTA],
            " Big One ": [SANTA],
            "": [SANTA],
            "ok": {"x": SANTA, "-1": SANTA, "1e3": SANTA},
        }
    )
    assert list(parse_comments(data.encode(), NOW)) == [("box", 0), ("big one", 0), ("ok", NO_NUMBER)]


@pytest.mark.parametrize(
    "data", [b"", b"null", b"3", b"[1]", b'"x"', LIST[:-9], b"[" * 50_000, b"{" * 50_000]
)
def test_a_corrupt_file_is_refused_so_that_the_old_claims_stay(data: bytes) -> None:
    """The original took it for an empty one, and erased every booking with the next save."""
    with pytest.raises(WireError):
        parse_comments(data, NOW)


def test_a_file_that_is_too_large_is_refused() -> None:
    """Nobody has that many bookings."""
    with pytest.raises(WireError, match="refused"):
        parse_comments(LIST + b" " * 2_000_000, NOW)


def test_no_hosts_at_all_is_an_empty_file_and_not_a_corrupt_one() -> None:
    """PHP writes an empty object as a list."""
    assert parse_comments(b"[]", NOW) == parse_comments(b"{}", NOW) == {}


def test_bytes_that_are_no_utf8_cost_only_themselves() -> None:
    """The example of the original itself is Latin-1."""
    data = LIST.replace(b"Santa Claus", b"P\xe8re No\xebl")
    assert parse_comments(data, NOW)["gputest001-pa4", 0].comment == "booked by P\ufffdre No\ufffdl"


def test_hostile_text_comes_out_harmless() -> None:
    """Anyone could write into the original's form."""
    claim = claims({**SANTA, "name": "e\u202evil\x1b[0m", "comment": "x" * 10_000})["box", 0]
    assert claim.who.isprintable()
    assert len(claim.comment or "") == 4096


@given(anything((LIST, OBJECT)))
def test_no_file_breaks_the_reader(data: bytes) -> None:
    """Claims or a sentence; nothing else."""
    with suppress(WireError):
        for (node, index), claim in parse_comments(data, NOW).items():
            assert node
            assert index >= 0
            assert claim.until is None or claim.until > NOW - ENDED_CLAIM_SECONDS


@pytest.mark.parametrize("hosts", [("gpu01", "gpu01.lab.example"), ("gpu01.lab.example.", "GPU01")])
@pytest.mark.parametrize("ended_first", [True, False])
def test_an_entry_that_has_ended_hides_none_that_holds(hosts: tuple[str, str], *, ended_first: bool) -> None:
    """People spell a host in several ways, and old entries stay."""
    ended, holds = {"name": "ana", "date": "2018-01-01 00:00"}, {"name": "bob", "date": "2018-07-01 00:00"}
    both = (ended, holds) if ended_first else (holds, ended)
    data = json.dumps({host: {"0": entry} for host, entry in zip(hosts, both, strict=True)})
    now = datetime(2018, 1, 1, 1, tzinfo=UTC).timestamp()
    book = ClaimBook()
    book.write(
        "comments-json", comments_json.parse_comments(data.encode(), now, zone=UTC).claims.items(), now
    )
    held = [book.at((node, 0), now) for node in ("gpu01", "gpu01.lab.example")]
    assert [claim and claim.who for claim in held] == ["bob", "bob"]
