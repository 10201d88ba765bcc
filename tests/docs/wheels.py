"""A folder of wheels, made of what is installed here: an installation needs no network then."""

import re
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

# What an installer adds, and what it makes anew.
_ADDED = {"INSTALLER", "REQUESTED", "direct_url.json"}


def make_wheels(folder: Path, *wanted: str) -> None:
    """Put wheels of these packages, and of all that they need, into a folder; of gpuboard itself none."""
    left, seen = [Requirement(one) for one in wanted], set[tuple[str, frozenset[str]]]()
    folder.mkdir()
    while left:
        one = left.pop()
        key = (re.sub(r"[-_.]+", "-", one.name).lower(), frozenset(one.extras))
        if key in seen:
            continue
        seen.add(key)
        found = distribution(one.name)
        extras = [*one.extras, ""]
        for text in found.requires or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                left.append(needed)
        if key[0] != "gpuboard":
            _write(found, folder)


def _write(found: Distribution, folder: Path) -> None:
    tags = re.findall(r"^Tag: (\S+)", found.read_text("WHEEL") or "", re.MULTILINE)
    # One that is for several Pythons names each of them in a line of its own.
    tag = next((one for one in tags if not one.startswith("py2-")), tags[0])
    name = re.sub(r"[-_.]+", "_", found.metadata["Name"])
    with zipfile.ZipFile(folder / f"{name}-{found.version}-{tag}.whl", "w") as wheel:
        for file in found.files or ():
            # Scripts lie elsewhere; the installer makes them of the entry points.
            is_ours = ".." not in file.parts and file.suffix != ".pyc" and file.name not in _ADDED
            if is_ours:
                wheel.write(str(file.locate()), file.as_posix())
