"""Each rule has one room: what has to be decided once is written in one file."""

import re
import tomllib

import pytest

from tests.parts import ROOT

SOURCE = ROOT / "src" / "gpuboard"
# What may stand in one file alone, and where.
ROOMS = {
    "a reader of XML": (r"import.*\b(?:ElementTree|expat|minidom|lxml)\b", "probes/nvidia_smi/document.py"),
    "how a certificate is trusted": (r"create_default_context", "outside/tls.py"),
    "chips without memory of their own": (r"\b(?:GB10|N1X|Xavier|nvgpu)\b", "model/chips.py"),
    "how much longer to wait each time": (r"\b2(?:\.0)? ?\*\* ?(?!\d)|\*= 2\b", "outside/backoff.py"),
    "what is a machine's own loop": (r"\.is_loopback\b|[\"']127\.[\"']", "model/address.py"),
    "how a file is written whole": (r"\bfsync\(|\bNamedTemporaryFile\b", "outside/files.py"),
}


@pytest.mark.parametrize("what", ROOMS)
def test_a_rule_has_one_room(what: str) -> None:
    """A second copy would be mended later, or never."""
    pattern, room = ROOMS[what]
    files = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    found = [str(path.relative_to(SOURCE)) for path, text in files.items() if re.search(pattern, text)]
    assert found == [room]


def test_what_is_overridden_is_not_changed_under_us() -> None:
    """We build on parts of uvicorn that it does not promise to keep."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = [project["dependencies"], *project["optional-dependencies"].values()]
    assert [need for part in parts for need in part if re.match(r"uvicorn\b", need) and "<" in need]
