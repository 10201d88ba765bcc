"""Host lists as people write them, and the node names that come of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.discovery.hosts import read_host, read_targets
from gpuboard.discovery.hosts_file import read_hosts
from gpuboard.model.node import is_node_name
from gpuboard.model.ranges import MAX_HOSTS, expand, expand_all


def names(*patterns: str) -> list[str]:
    """The node names of a host list."""
    return [target.node for target in read_targets(patterns)]


@pytest.mark.parametrize(
    ("pattern", "hosts"),
    [
        ("gpu1", ["gpu1"]),
        ("gpu[1,3-5]", ["gpu1", "gpu3", "gpu4", "gpu5"]),
        ("gpu[08-10].lab.example", ["gpu08.lab.example", "gpu09.lab.example", "gpu10.lab.example"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("[1-2]a", ["1a", "2a"]),
        ("gpu[ 1, 2 ]", ["gpu1", "gpu2"]),
        ("gpu[98-101]", ["gpu98", "gpu99", "gpu100", "gpu101"]),
        ("me@gpu[1-2]:9000", ["me@gpu1:9000", "me@gpu2:9000"]),
        ("[fe80::1]:9000", ["[fe80::1]:9000"]),
        ("192.168.0.[1-2]", ["192.168.0.1", "192.168.0.2"]),
    ],
)
def test_a_pattern_means_these_hosts(pattern: str, hosts: list[str]) -> None:
    """In the order in which people read them, zeros kept."""
    assert expand(pattern) == hosts


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("gpu[1-", "not closed"),
        ("gpu1]", "not opened"),
        ("gpu[]", "no number"),
        ("gpu[a-c]", "no number"),
        ("gpu[1--3]", "no number"),
        ("gpu[1,,2]", "no number"),
        ("gpu[5-1]", "backwards"),
        ("gpu[[1-2]]", "not closed, or not opened"),
        ("gpu[1-10001]", "more than 10000 hosts"),
        ("a[1-1000]b[1-1000]", "more than 10000 hosts"),
        ("a[0-999999999]", "more than 10000 hosts"),
        ("a[1-9999999999999]", "no number"),
    ],
)
def test_a_pattern_without_sense_says_what_is_wrong(pattern: str, why: str) -> None:
    """The text shows the pattern, so that it can be found in the file."""
    with pytest.raises(ValueError, match=why) as caught:
        expand(pattern)
    assert repr(pattern) in str(caught.value)


def test_a_list_has_an_end() -> None:
    """Ten thousand hosts are allowed, one more is a mistake."""
    assert len(expand("gpu[1-10000]")) == MAX_HOSTS
    with pytest.raises(ValueError, match="more than 10000"):
        expand_all(["gpu[1-10000]", "one-more"])


@given(st.integers(0, 2000), st.integers(0, 50), st.integers(1, 6))
def test_a_range_has_as_many_hosts_as_numbers(first: int, more: int, width: int) -> None:
    """Whatever the padding, nobody is named twice."""
    hosts = expand(f"n[{first:0{width}d}-{first + more}]x")
    assert len(set(hosts)) == more + 1


@given(st.text(max_size=60))
def test_any_text_is_hosts_or_a_value_error(text: str) -> None:
    """Nothing else comes out, and every node has a valid name."""
    try:
        targets = read_targets([text])
    except ValueError:
        return
    assert all(is_node_name(target.node) for target in targets)


def test_a_node_is_called_by_its_short_name_where_that_is_unique() -> None:
    """Two machines of the same short name keep their whole names."""
    assert names("GPU1.lab.example", "gpu2.lab.example") == ["gpu1", "gpu2"]
    assert names("gpu1.a", "gpu1.b", "gpu2.b") == ["gpu1.a", "gpu1.b", "gpu2"]
    assert names("gpu1", "gpu1.lab") == ["gpu1", "gpu1.lab"]


def test_an_address_keeps_its_whole_text() -> None:
    """A board that shortened it would call all nodes `192`."""
    assert names("192.168.0.1", "192.168.0.2") == ["192.168.0.1", "192.168.0.2"]
    assert names("[fe80::1]:80", "::1", "2001:db8::7") == ["fe80--1", "0--1", "2001-db8--7"]


def test_one_machine_with_two_ports_is_two_nodes() -> None:
    """And a host that is named twice is one."""
    assert names("gpu1:8043", "gpu1:9000") == ["gpu1-8043", "gpu1-9000"]
    assert names("gpu1", "GPU1", "gpu1:9000") == ["gpu1", "gpu1-9000"]


@pytest.mark.parametrize(
    ("text", "user", "host", "port"),
    [
        ("gpu1", None, "gpu1", None),
        ("ana@gpu1", "ana", "gpu1", None),
        ("gpu1:9000", None, "gpu1", 9000),
        ("ana@gpu1.lab.example:9000", "ana", "gpu1.lab.example", 9000),
        ("gpu1.lab.example.", None, "gpu1.lab.example", None),
        ("[::1]", None, "::1", None),
        ("ana@[fe80::1%eth0]:22", "ana", "fe80::1%eth0", 22),
        ("fe80::1", None, "fe80::1", None),
    ],
)
def test_a_host_may_carry_a_user_and_a_port(text: str, user: str | None, host: str, port: int | None) -> None:
    """As in scp and ssh."""
    target = read_host(text)
    assert (target.user, target.host, target.port) == (user, host, port)


@pytest.mark.parametrize(
    "text",
    ["", " ", "a b", "gpu1:0", "gpu1:65536", "gpu1:x", "-x", "../etc", "a/b", "http://a", "x" * 70, "é"],
)
def test_what_is_no_host_is_refused(text: str) -> None:
    """A host that starts with a dash would be an option to some program."""
    with pytest.raises(ValueError, match=r"no host|cannot name"):
        read_host(text)


def test_a_hosts_file_has_one_host_a_line() -> None:
    """The file of an older board, with what editors and people leave in it."""
    data = b"\xef\xbb\xbf192.168.0.1\r\n\r\n# old rack\n  192.168.0.2  # two\n\tgpu[1-2].lab\n192.168.0.1\n"
    targets, problems = read_hosts(data)
    assert [target.host for target in targets] == ["192.168.0.1", "192.168.0.2", "gpu1.lab", "gpu2.lab"]
    assert problems == []


def test_a_bad_line_costs_only_itself() -> None:
    """The others are still watched, and the message has the line's number."""
    targets, problems = read_hosts(b"gpu1\nno host here\ngpu2\ngpu[2-1]\n")
    assert [target.node for target in targets] == ["gpu1", "gpu2"]
    assert [problem.split(":")[0] for problem in problems] == ["line 2", "line 4"]


def test_a_file_of_garbage_makes_a_short_message() -> None:
    """Control characters in it do nothing to the terminal that shows the log."""
    targets, problems = read_hosts(b"\x1b[31m\xff\n" * 50 + b"x" * 100_000)
    assert targets == ()
    assert len(problems) == 4
    assert all(problem.isprintable() and len(problem) < 400 for problem in problems)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_hosts_file(data: bytes) -> None:
    """Nothing is ever raised; problems are for the log."""
    targets, problems = read_hosts(data)
    assert all(is_node_name(target.node) for target in targets)
    assert all(problem.isprintable() for problem in problems)
