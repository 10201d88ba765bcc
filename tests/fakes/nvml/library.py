"""Compiling the stand-in library and pointing a process at it."""

import hashlib
import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

LIBRARY_NAME: Final = "libnvidia-ml.so.1"
SOURCES: Final = tuple(Path(__file__).with_name(name) for name in ("nvml.c", "scenario.h"))
COMPILE: Final = (
    "cc",
    "-shared",
    "-fPIC",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    f"-Wl,-soname,{LIBRARY_NAME}",
)


def build(directory: Path) -> Path:
    """Return the folder of the compiled library, below `directory`; compiled anew only if the source changed.

    Safe to call from several test processes at once.
    """
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()[:16]
    folder = directory / f"nvml-{digest}"
    if not (folder / LIBRARY_NAME).exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            compiled = Path(scratch) / LIBRARY_NAME
            # The command is ours alone, from first to last word.
            subprocess.run([*COMPILE, "-o", compiled, SOURCES[0], "-lpthread"], check=True)
            compiled.replace(folder / LIBRARY_NAME)
    return folder


def environment(scenario_path: Path, library_dir: Path, *, calls: Path | None = None) -> dict[str, str]:
    """Return the variables that make a new process see the scenario as its driver.

    With `calls`, each NVML call is noted in that file: see `count_calls`.
    """
    search_path = [str(library_dir), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    variables = {"GPUBOARD_FAKE_NVML": str(scenario_path), "LD_LIBRARY_PATH": ":".join(search_path)}
    return variables | ({"GPUBOARD_FAKE_NVML_CALLS": str(calls)} if calls else {})


def count_calls(calls: Path) -> Counter[str]:
    """Return how often each NVML function was called so far."""
    return Counter(calls.read_text(encoding="ascii").split()) if calls.exists() else Counter()
