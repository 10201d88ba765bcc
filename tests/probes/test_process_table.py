from hypothesis import given
from hypothesis import strategies as st

from gpuboard.probes.process_table import ProcessTable, Stat, parse_stat

LINE = b"77 (a) b (c) S 1 70 60 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 100"


def process(parent: int, *, group: int = 0, session: int = 0, state: str = "S") -> Stat:
    """One process of a made-up table."""
    return Stat("x", state, parent, group, session, 1)


def test_a_line_of_the_kernel_is_read_by_its_last_bracket() -> None:
    """A program may call itself whatever it likes."""
    assert parse_stat(LINE) == Stat("a) b (c", "S", 1, 70, 60, 4242)


@given(st.binary(max_size=60))
def test_no_line_can_break_the_reading(content: bytes) -> None:
    """A process that ends while it is read leaves half a line, or none."""
    parse_stat(content)
    parse_stat(LINE[: len(content)])


def test_descendants_are_found_through_all_generations() -> None:
    """A circle, which cannot be, does not trap us either."""
    table = ProcessTable({2: process(1), 3: process(2), 4: process(3), 5: process(1), 1: process(4)})
    assert table.descendants(1) == (2, 3, 4, 5)


def test_what_is_left_behind_shares_the_group_or_the_session() -> None:
    """Children of the dead belong to the first process; their group still tells whose they were."""
    table = ProcessTable(
        {
            2: process(1, group=9),
            3: process(1, session=9),
            4: process(2),
            5: process(1, group=9, state="Z"),
            6: process(9),
            7: process(1, group=8),
        }
    )
    assert table.left_behind(9) == (2, 3, 6)
