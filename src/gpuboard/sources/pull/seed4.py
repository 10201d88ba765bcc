"""The node program of an older board (`node_info.py`): asked as that board asked it."""

from email.utils import parsedate_to_datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from gpuboard.model.errors import SourceError
from gpuboard.outside.answer import Answer
from gpuboard.sources.formats.node_info import decode_seed4, sample_mark
from gpuboard.sources.pull.protocols import OK, Question, Sample, not_an_agent
from gpuboard.sources.pull.seed4_age import own_age

# As far as the times of a report go.
_LAST_MOMENT: Final = 1e11


class Seed4Protocol:
    """The node program of an older board: POST /get-status with a password."""

    def question(self, secret: str | None) -> Question:
        """What to send."""
        body = msgspec.json.encode({"passwd": secret or ""})
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        return Question("POST", "/get-status", headers, body)

    def read(self, answer: Answer, node: str) -> Sample:
        """Turn the answer into a sample; its age is by the node's own clock."""
        if answer.status in {401, 403, 404}:  # a wrong password is answered with 404
            text = "the node refuses the password: put the PASSWD of its node_info.py into password_file"
            raise SourceError(f"{text} (HTTP {answer.status})", state="refused", code="password-refused")
        if answer.status != OK:
            raise not_an_agent(answer, "a node of the old board")
        report = decode_seed4(answer.body, node)
        updated = sample_mark(answer.body)
        clock = _date(answer)
        age = 0.0 if updated is None or clock is None else own_age(updated, clock)
        taken = None if clock is None else max(0.0, clock - age)
        return Sample(replace(report, node=node, age_seconds=age, taken_at=taken), updated)


def _date(answer: Answer) -> float | None:
    """The node's own clock, from the header that every server of Python's sends."""
    try:
        clock = parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        return None
    return clock if 0 <= clock <= _LAST_MOMENT else None
