"""No cache on what nodes can write without a bound in bytes."""

import re
import sys
from pathlib import Path
from typing import Final, cast

import pytest

import gpuboard
import gpuboard.verdict.judge
from gpuboard.sources.ssh.changes.effects import Effect
from gpuboard.sources.ssh.changes.places import _SHARED_LETTERS, _SHARED_LINES, LinePlace, _is_modest
from gpuboard.web import pages
from tests.web.test_unwritable import House

# The package has a function of the same name.
judging: Final = sys.modules["gpuboard.verdict.judge"]
SOURCE: Final = Path(gpuboard.__file__).parent
# Every cache that forgets only by count, with what bounds the size of an entry.
BOUNDED: Final = {
    "model/names.py": "models are at most 256 characters",
    "model/node.py": "names of at most 253 characters",
    "storage/rows.py": "tables of our own",
    "sources/ssh/changes/places.py": "lines and letters of a plan are counted",
    "probes/nvidia_smi/values.py": "texts of at most 64 characters",
    "probes/simulated/jobs.py": "names of our own",
    "probes/simulated/node.py": "names of our own",
    "web/access.py": "addresses",
    "web/pages.py": "files of our own",
    "wire/clean.py": "types of our own",
}


def test_every_cache_has_a_bound_in_bytes() -> None:
    """A new one says here what keeps its entries small; a dict in its place is not seen by this test."""
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(
            r"^ *@(?:functools\.)?(?:lru_)?cache\b|= (?:functools\.)?(?:lru_)?cache\(",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert found == BOUNDED.keys()


def test_reasons_are_remembered_up_to_a_number_and_only_with_short_names() -> None:
    """Whoever is on a GPU may be called anything, and another thing in every report."""
    for number in range(2 * judging._REMEMBERED):
        judging._shared(judging._present, number, ("ana",))
        judging._shared(judging._present, number, ("x" * 33,))
        judging._shared(judging._present, number, ("a", "b", "c", "d", "e"))
        assert len(judging._remembered) <= judging._REMEMBERED
    assert {users for _, _, users in judging._remembered} == {("ana",)}


def test_a_document_of_a_size_that_no_driver_writes_is_not_kept_for_others() -> None:
    """Each node chooses its lines, and how far they are indented."""
    line = LinePlace(start=" " * 100, device=0, process=None, effect=cast("Effect", None))
    assert _is_modest((line,) * 2000)
    assert not _is_modest((None,) * (_SHARED_LINES + 1))
    assert not _is_modest((line,) * (_SHARED_LETTERS // 100 + 1))


def test_paths_that_visitors_write_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those that lead to our files by a detour, nor those of pages far below the top."""
    monkeypatch.setattr(pages, "_FILES", {"index.html": b"<html></html>", "favicon.svg": b"<svg/>"})
    kept = (pages._compress, pages._digest_of_file)
    for cache in kept:
        cache.cache_clear()
    detours = [f"/assets/{'x/%2e%2e/' * depth}%2e%2e/favicon.svg" for depth in range(20)]
    deep = [f"/nodes{'/x' * depth}" for depth in range(1, 20)]
    answers = House().get(*detours, *deep)
    assert [answer.status_code for answer in answers] == [404] * len(detours) + [200] * len(deep)
    assert [cache.cache_info().currsize for cache in kept] == [0, 0]
