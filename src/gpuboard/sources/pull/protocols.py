"""What is asked of a node and how its answer is read, and our own agents' way of it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from gpuboard.model.errors import SourceError
from gpuboard.model.report import NodeReport
from gpuboard.outside.answer import HttpAnswer
from gpuboard.wire.json_keys import refuse_twice
from gpuboard.wire.report import Encoding, decode_report

OK: Final = 200
NOT_READY: Final = 503
_ENCODINGS: Final[Mapping[str, Encoding]] = {
    "application/msgpack": "msgpack",
    "application/x-msgpack": "msgpack",
    "application/vnd.msgpack": "msgpack",
    "application/json": "json",
}


class Question(NamedTuple):
    """What is sent to a node."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class PulledReport(NamedTuple):
    """What a node said, and the mark by which the same sample is known again."""

    report: NodeReport
    mark: int | str | None
    # What the node calls itself, where it says so.
    said_name: str | None = None
    # Whether the report's age is one; if not, only a change of the mark tells that a sample is new.
    is_age_known: bool = True


AskServer = Callable[[Question], Awaitable[HttpAnswer]]


class NodeProtocol(Protocol):
    """One way of asking one node how it is."""

    async def sample(self, ask: AskServer, secret: str | None) -> PulledReport:
        """Ask what there is to ask, and turn the answers into a sample.

        Raises:
            SourceError: the node refuses, or the answer is none of a node.
            WireError: the answer is damaged or hostile.
            OutsideError: there is no answer.
        """


class AgentProtocol:
    """Our own agents: GET /report with a bearer token."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._question: tuple[str | None, Question] | None = None

    async def sample(self, ask: AskServer, secret: str | None) -> PulledReport:
        """Ask for a sample; a node can speak only for itself, so its name is ours."""
        return self.read(await ask(self._ask_with(secret)))

    def _ask_with(self, secret: str | None) -> Question:
        """What to send; the same object as long as the secret stays, so that it is written once."""
        if self._question is None or self._question[0] != secret:
            headers = {"Accept": "application/msgpack, application/json;q=0.5"}
            if secret is not None:
                headers["Authorization"] = f"Bearer {secret}"
            self._question = (secret, Question("GET", "/report", headers))
        return self._question[1]

    def read(self, answer: HttpAnswer) -> PulledReport:
        """Turn an answer into a sample."""
        if answer.status in {401, 403}:
            text = "the agent refuses the token: put its own into token_file, or its file in token_folder"
            raise SourceError(f"{text} (HTTP {answer.status})", state="refused", code="token-refused")
        if answer.status == NOT_READY:
            raise SourceError("the agent has no sample yet (HTTP 503)", code="not-ready")
        encoding = _ENCODINGS.get(answer.media_type)
        if answer.status != OK or encoding is None:
            raise not_an_agent(answer, "a gpuboard agent")
        report = decode_report(answer.body, encoding)
        if encoding == "json":
            refuse_twice(answer.body)
        return PulledReport(replace(report, node=self._node), report.sequence, report.node)


def not_an_agent(answer: HttpAnswer, expected: str) -> SourceError:
    """Say who answers there instead of whom we expected."""
    if 300 <= answer.status < 400:  # noqa: PLR2004 - HTTP's redirects
        text = f"it redirects elsewhere (HTTP {answer.status}), which is not followed"
        remedy = "name the right host and port"
        return SourceError(f"{text}: {remedy}", code="redirected", remedy=remedy)
    said = f"HTTP {answer.status}" if answer.status != OK else (answer.media_type[:40] or "no content type")
    return SourceError(f"something answers there, but not {expected} ({said})", code="not-an-agent")
