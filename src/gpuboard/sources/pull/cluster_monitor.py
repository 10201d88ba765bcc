"""The nodes of gpu-cluster-monitor (`node_info.py`): asked as that board asked them."""

import msgspec
from msgspec.structs import replace

from gpuboard.model.errors import SourceError
from gpuboard.sources.formats.node_info import decode_node_info, sample_mark
from gpuboard.sources.pull.node_time import header_time, own_age
from gpuboard.sources.pull.protocols import OK, AskServer, PulledReport, Question, not_an_agent


class ClusterMonitorProtocol:
    """POST /get-status with a password."""

    def __init__(self, node: str) -> None:
        self._node = node

    async def sample(self, ask: AskServer, secret: str | None) -> PulledReport:
        """Ask for a sample; its age is by the node's own clock."""
        body = msgspec.json.encode({"passwd": secret or ""})
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        answer = await ask(Question("POST", "/get-status", headers, body))
        if answer.status in {401, 403, 404}:  # a wrong password is answered with 404
            text = "the node refuses the password: put the PASSWD of its node_info.py into password_file"
            raise SourceError(f"{text} (HTTP {answer.status})", state="refused", code="password-refused")
        if answer.status != OK:
            raise not_an_agent(answer, "a node of gpu-cluster-monitor")
        report = decode_node_info(answer.body, self._node)
        updated = sample_mark(answer.body)
        clock = header_time(answer, "date")
        age = own_age(updated, clock)
        taken = None if clock is None else max(0.0, clock - age.seconds)
        report = replace(report, node=self._node, age_seconds=age.seconds, taken_at=taken)
        return PulledReport(report, updated, is_age_known=age.is_known)
