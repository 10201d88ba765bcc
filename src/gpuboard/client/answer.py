"""What a board says, made harmless: whoever runs it may be anybody, and its words go to a terminal."""

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from gpuboard.model.identity import Tier
from gpuboard.model.report import UnixTime
from gpuboard.model.verdict import Reason
from gpuboard.wire.clean import clean_text
from gpuboard.wire.prose import show_prose
from gpuboard.wire.views import FleetView, NodeView

Expected = TypeVar("Expected")


class _LooseFleet(Struct):
    """A fleet whose nodes have yet to be read."""

    at: UnixTime
    tier: Tier
    nodes: list[dict[str, Any]]
    sources_unknown: int = 0
    title: str | None = None


class _Named(Struct):
    name: str


def decode_fleet(body: bytes) -> FleetView:
    """Read all nodes; one that cannot be read costs no other.

    Raises:
        msgspec.MsgspecError, UnicodeDecodeError, RecursionError: it is no fleet.
    """
    try:
        return decode_answer(body, FleetView)
    except msgspec.ValidationError:
        loose = decode_answer(body, _LooseFleet)
    nodes = tuple(map(_node, loose.nodes))
    return FleetView(
        at=loose.at,
        tier=loose.tier,
        nodes=nodes,
        sources_unknown=loose.sources_unknown,
        title=loose.title,
    )


def _node(told: dict[str, Any]) -> NodeView:
    try:
        return msgspec.convert(told, NodeView)
    except msgspec.ValidationError as error:
        name = msgspec.convert(told, _Named).name
        text = f"what the board says of it cannot be read here ({clean_text(str(error))})"
        return NodeView(
            name=name,
            display_name=None,
            state="error",
            reason=Reason(code="unwritable", text=text),
            source="",
            sampled_at=None,
            received_at=None,
            interval_seconds=0.0,
            clock_offset_seconds=None,
            problems=(),
            host=None,
            gpus_known=False,
            gpus=(),
        )


def decode_answer(body: bytes, kind: type[Expected]) -> Expected:
    """Read a board's JSON, every text in it cleaned.

    Raises:
        msgspec.MsgspecError, UnicodeDecodeError, RecursionError: it is none.
    """
    # What cannot be printed is escaped in JSON, or no ASCII.
    if body.isascii() and b"\\" not in body and b"\x7f" not in body:
        return msgspec.json.decode(body, type=kind)
    return msgspec.convert(_clean(msgspec.json.decode(body)), kind)


def _clean(value: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    match value:
        case str():
            return show_prose(value)
        case list():
            return [_clean(each) for each in value]
        case dict():
            return {clean_text(key): _clean(each) for key, each in value.items()}
    return value
