"""Groups from what a list says of a node."""

from hypothesis import given
from hypothesis import strategies as st

from gpuboard.discovery.tags import MAX_GROUP_LENGTH, MAX_GROUPS, groups_from


def test_site_cluster_and_rack_come_first_then_plain_tags() -> None:
    """As metadata or in a tag, in any case; other pairs are for other programs."""
    tags = ["vision", "rack=a7", "traefik.enable=true", "Site=zrh"]
    assert groups_from(tags, {"cluster": "dgx", "owner": "it"}) == ("zrh", "dgx", "a7", "vision")


def test_one_is_said_once_and_what_says_nothing_is_none() -> None:
    """A rack that is a tag too is one group."""
    assert groups_from(["a7", " a7 ", "", "  ", "rack="], {"rack": "a7"}) == ("a7",)


def test_what_is_too_long_or_too_many_is_left_out() -> None:
    """Whoever registers a node writes these; nobody has so many racks."""
    assert groups_from(["x" * (MAX_GROUP_LENGTH + 1), "ok"], {}) == ("ok",)
    assert len(groups_from([f"tag-{number}" for number in range(1000)], {})) == MAX_GROUPS


@given(st.lists(st.text()), st.dictionaries(st.sampled_from(["rack", "site", "x"]), st.text()))
def test_hostile_text_becomes_harmless(tags: list[str], meta: dict[str, str]) -> None:
    """Printable, not blank, and within the bounds."""
    groups = groups_from(tags, meta)
    assert len(groups) <= MAX_GROUPS
    assert all(group.isprintable() and group.strip() and len(group) <= MAX_GROUP_LENGTH for group in groups)
