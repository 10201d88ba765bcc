"""What is booked, written as a PHP board reads it: `comments.json`. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Literal

import msgspec

from gpuboard.model.verdict import Claim, GpuPlace

# A list counts from 0, with `{}` for what is not booked; an object names the numbers.
Form = Literal["list", "object"]


def write_comments(claims: Mapping[GpuPlace, Claim], *, form: Form, zone: tzinfo | None) -> bytes:
    """The whole file; ends are told by the minute, the next one where seconds are over."""
    hosts: dict[str, dict[int, dict[str, str]]] = {}
    for (node, number), claim in sorted(claims.items()):
        hosts.setdefault(node, {})[number] = _entry(claim, zone)
    written = {node: _formed(entries, form) for node, entries in hosts.items()}
    return msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n"


def _formed(entries: dict[int, dict[str, str]], form: Form) -> object:
    if form == "list":
        return [entries.get(number, {}) for number in range(max(entries) + 1)]
    return {str(number): entry for number, entry in entries.items()}


def _entry(claim: Claim, zone: tzinfo | None) -> dict[str, str]:
    end = datetime.fromtimestamp(claim.until or 0.0, zone)
    if end.second or end.microsecond:
        end = end.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return {"name": claim.who, "date": end.strftime("%Y-%m-%d %H:%M"), "comment": claim.comment or ""}
