"""The nodes of gpu-monitor, each of which serves the folder with its files over HTTP."""

import re
from typing import Final

from msgspec.structs import replace

from gpuboard.model.errors import SourceError, WireError
from gpuboard.model.node import short_name
from gpuboard.outside.answer import HttpAnswer
from gpuboard.sources.formats.gpu_monitor import MEMBERS, read_family
from gpuboard.sources.pull.node_time import header_time
from gpuboard.sources.pull.protocols import OK, AskServer, PulledReport, Question, not_an_agent
from gpuboard.wire.text import decode_text

# Both loops on a node write a round every 20 s.
ROUND_SECONDS: Final = 20.0
_MISSING: Final = 404
# Only names that such a node writes are ever asked for.
_LINK: Final = re.compile(rf'href="(?:\./)?([A-Za-z0-9][A-Za-z0-9._-]{{0,99}}?)_({"|".join(MEMBERS)})\.csv"')


class GpuMonitorProtocol:
    """GET / lists the files, and GET /HOST_gpus.csv and its siblings are the sample."""

    def __init__(self, node: str) -> None:
        self._node = node
        # Member → path; the list is read again when a file is no longer there.
        self._paths: dict[str, str] = {}

    async def sample(self, ask: AskServer, secret: str | None) -> PulledReport:  # noqa: ARG002 - such a node knows no secret
        """Fetch the files; their age is by the node's own clock."""
        self._paths = self._paths or read_listing(await ask(_get("/")), self._node)
        answers = {member: await ask(_get(path)) for member, path in self._paths.items()}
        found = {member: answer for member, answer in answers.items() if answer.status == OK}
        if len(found) < len(answers):
            self._paths = {}
        main = found.get("gpus")
        if main is None:
            raise not_an_agent(answers["gpus"], "a node of gpu-monitor")
        return self._read({member: answer.body for member, answer in found.items()}, main)

    def _read(self, files: dict[str, bytes], main: HttpAnswer) -> PulledReport:
        clock, written = header_time(main, "date"), header_time(main, "last-modified")
        if clock is None or written is None:
            raise WireError("the server there does not say when its files were written")
        family = read_family(files, self._node, written_at=written)
        report = replace(
            family.report,
            age_seconds=family.report.age_seconds + max(0.0, clock - written),
            interval_seconds=ROUND_SECONDS,
        )
        # A sentence of the driver has no time; it is as old as its file.
        mark = str(written if family.newest is None else family.newest)
        return PulledReport(report, mark, is_age_known=family.is_age_known)


def read_listing(answer: HttpAnswer, node: str) -> dict[str, str]:
    """The paths of one host's files in the listing of a folder, by member.

    Raises:
        SourceError: this is no such listing.
    """
    if answer.status != OK:
        raise not_an_agent(answer, "a node of gpu-monitor")
    hosts: dict[str, dict[str, str]] = {}
    for host, member in _LINK.findall(decode_text(answer.body)):
        hosts.setdefault(host, {})[member] = f"/{host}_{member}.csv"
    whole = {host: paths for host, paths in hosts.items() if "gpus" in paths}
    if not whole:
        text = "the folder that it serves holds no file about GPUs (…_gpus.csv): are its loops running?"
        raise SourceError(text, code="not-ready")
    # A node may be called otherwise there; of several, its own name wins.
    return whole.get(node) or whole.get(short_name(node)) or whole[min(whole)]


def _get(path: str) -> Question:
    return Question("GET", path, {"Accept": "*/*"})
