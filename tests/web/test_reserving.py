"""What was booked, beside what was used."""

from collections.abc import Mapping

from gpuboard.bookings.reserved import Reserved
from gpuboard.web.reserving import with_reserved, with_reserved_means
from gpuboard.wire.usage import (
    PersonMeans,
    UsageAnswer,
    UsageAveragesAnswer,
    UsageBy,
    UsageMean,
    UsageRow,
    UsageTotal,
    UsageWindow,
)

TOTAL = UsageTotal(span_ms=21, used_ms=1, idle_ms=2, booked_ms=3, free_ms=4, broken_ms=5, unobserved_ms=6)
FOUND = {"ana": Reserved(who="Ana", booked=7000, used=5000), "zoe": Reserved(who="zoe", booked=1000)}
GROUPS = {"ana": "vision", "Ana": "vision", "zoe": "robots"}


def reserved_in(_start: float, _end: float) -> Mapping[str, Reserved]:
    """The same in every span."""
    return FOUND


def person(name: str) -> UsageRow:
    """Somebody who used something."""
    return UsageRow(name=name, used_ms=1, idle_ms=2, booked_ms=3)


def answer(by: UsageBy, rows: list[UsageRow]) -> UsageAnswer:
    """GPU-hours of an hour."""
    return UsageAnswer(
        start=0.0, end=3600.0, by=by, gpus=1, observed_percent=50.0, text="t", total=TOTAL, rows=rows
    )


def test_people_have_what_they_booked_also_if_they_used_nothing() -> None:
    """Case says nothing; whoever booked nothing has booked nothing, which is not unknown."""
    asked = answer("person", [person("ana"), person("ben")])
    found = with_reserved(asked, reserved_in, GROUPS.get, with_names=True)
    assert [(row.name, row.reserved_ms, row.reserved_used_ms) for row in found.rows] == [
        ("ana", 7000, 5000),
        ("ben", 0, 0),
        ("zoe", 1000, 0),
    ]
    assert (found.rows[-1].group, found.rows[-1].used_ms) == ("robots", 0)
    assert (found.total.reserved_ms, found.total.reserved_used_ms) == (8000, 5000)


def test_groups_have_what_their_people_booked() -> None:
    """Group by group, and person by person within it."""
    vision = UsageRow(name="vision", used_ms=1, idle_ms=2, booked_ms=3, people=[person("ana")])
    nobody = UsageRow(name=None, used_ms=1, idle_ms=2, booked_ms=3, people=[person("ben")])
    asked = answer("group", [vision, nobody])
    found = with_reserved(asked, reserved_in, GROUPS.get, with_names=True)
    assert [(row.name, row.reserved_ms) for row in found.rows] == [
        ("vision", 7000),
        (None, 0),
        ("robots", 1000),
    ]
    assert [[one.name for one in row.people or ()] for row in found.rows] == [["ana"], ["ben"], ["zoe"]]


def test_who_sees_no_names_sees_what_all_have_booked() -> None:
    """And no row of anybody who booked."""
    found = with_reserved(answer("person", []), reserved_in, GROUPS.get, with_names=False)
    assert (found.rows, found.total.reserved_ms) == ([], 8000)
    nodes = with_reserved(answer("node", [person("n1")]), reserved_in, GROUPS.get, with_names=True)
    assert nodes.rows[0].reserved_ms is None


def test_means_say_how_many_gpus_were_booked() -> None:
    """Of each, and of all together; a span without length has no mean."""
    windows = [UsageWindow(hours=2, start=0.0, end=4.0), UsageWindow(hours=24, start=4.0, end=4.0)]
    means = [UsageMean(hours=2, used=1.0, trend="up"), UsageMean(hours=24, used=None)]
    people = [PersonMeans(name="ANA", group="vision", means=means)]
    asked = UsageAveragesAnswer(at=4.0, windows=windows, total=means, free=[1.0, None], people=people)
    found = with_reserved_means(asked, reserved_in, GROUPS.get, with_names=True)
    told = {one.name: [(mean.used, mean.reserved, mean.trend) for mean in one.means] for one in found.people}
    assert told == {
        "ANA": [(1.0, 1.75, "up"), (None, None, None)],
        "zoe": [(0.0, 0.25, None), (None, None, None)],
    }
    assert [mean.reserved for mean in found.total] == [2.0, None]
    hidden = with_reserved_means(
        UsageAveragesAnswer(at=4.0, windows=windows, total=means, free=[1.0, None], people=[]),
        reserved_in,
        GROUPS.get,
        with_names=False,
    )
    assert (hidden.people, hidden.total) == ([], found.total)
