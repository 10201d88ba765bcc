"""What an agent and a board say to each other; msgpack, the same over a WebSocket and over plain POST.

The agent says hello and hears through which sample the board has everything. Then it sends each new sample
to be shown (`live`), and beside that whatever the board has missed (`backfill`), oldest first. Every message
is answered by one acknowledgement. The agent keeps a sample until `taken` covers it.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gpuboard.model.errors import NOT_DECODED, WireError
from gpuboard.model.node import NodeName
from gpuboard.model.report import Count, NodeReport, Seconds, ShortText, Text
from gpuboard.wire.report import MAX_REPORT_BYTES, encode_report

INGEST_VERSION: Final = 1
OLDEST_VERSION: Final = 1

MAX_BATCH_SAMPLES: Final = 64
# Small, so that live samples get through beside it, on a slow line too.
MAX_BATCH_BYTES: Final = 64 * 1024
# One whole report and what is written around it.
MAX_MESSAGE_BYTES: Final = MAX_REPORT_BYTES + 4096

# Why the board closed the connection. The reason that comes with it is for people.
CLOSE_BAD_MESSAGE: Final = 4400
CLOSE_TOKEN_GONE: Final = 4401
CLOSE_REFUSED: Final = 4403
CLOSE_SILENT: Final = 4408
CLOSE_REPLACED: Final = 4409
CLOSE_FAILED: Final = 1011
CLOSE_TRY_LATER: Final = 1013


# A sequence; -1 before the first.
Follows = Annotated[int, Meta(ge=-1, le=2**53)]


class Sample(Struct, frozen=True, kw_only=True, gc=False):
    """One encoded report; when it was made it may have had an age already, to which the wait is added."""

    sequence: Count
    waited_seconds: Seconds
    report: msgspec.Raw


class Hello(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="hello"):
    """The first message: who speaks, since which boot, in which version."""

    node: NodeName
    boot_id: ShortText
    version: int = INGEST_VERSION
    agent_version: ShortText | None = None


class Live(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="live"):
    """The newest sample, to be shown; history takes it when it follows on the last one that it got."""

    sample: Sample
    # The sample that was handed over before this one; None: there are others in between, it comes again.
    follows: Follows | None


class ReadSample(Struct, frozen=True, kw_only=True, gc=False):
    """The same as a sample whose report has been read with it."""

    sequence: Count
    waited_seconds: Seconds
    report: NodeReport


class ReadLive(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="live"):
    """The same as a live message, read in one go; its report has yet to be checked."""

    sample: ReadSample
    follows: Follows | None


class Backfill(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="backfill"):
    """Samples that the board has missed, oldest first; never shown."""

    follows: Follows
    samples: Annotated[tuple[Sample, ...], Meta(min_length=1, max_length=MAX_BATCH_SAMPLES)]


class Welcome(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="welcome"):
    """What the board has of this boot of the node: shown and taken through these samples."""

    node: NodeName
    version: int = INGEST_VERSION
    shown: Count | None = None
    taken: Count | None = None


class Refusal(Struct, frozen=True, kw_only=True, gc=False):
    """A sample that the board will not have, ever; it need not be sent again."""

    sequence: Count
    reason: Text


class Acknowledgement(Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag="acknowledgement"):
    """The answer to one message: the live sample or the batch that arrived, and how far all is taken."""

    live: Count | None = None
    batch: Count | None = None
    # Through this sample nothing will be asked for again.
    taken: Count | None = None
    refused: Annotated[tuple[Refusal, ...], Meta(max_length=MAX_BATCH_SAMPLES)] = ()
    # History cannot take anything just now: whatever is not taken yet has to come again, after a while.
    again: bool = False


AgentMessage = Hello | Live | Backfill
BoardMessage = Welcome | Acknowledgement

_agent_decoder: Final[msgspec.msgpack.Decoder[AgentMessage]] = msgspec.msgpack.Decoder(AgentMessage)
_live_decoder: Final[msgspec.msgpack.Decoder[ReadLive]] = msgspec.msgpack.Decoder(ReadLive)
_board_decoder: Final[msgspec.msgpack.Decoder[BoardMessage]] = msgspec.msgpack.Decoder(BoardMessage)
_encoder: Final = msgspec.msgpack.Encoder()


def encode(message: AgentMessage | BoardMessage) -> bytes:
    """Write a message."""
    return _encoder.encode(message)


def encode_sample(report: NodeReport) -> bytes:
    """Write the report of a sample; how long it waits is added when it is sent."""
    return encode_report(report, "msgpack")


def decode_from_agent(data: bytes) -> AgentMessage:
    """Read what an agent sent; the reports inside are still unread.

    Raises:
        WireError: too large, no message, or of a version that we cannot read.
    """
    if len(data) > MAX_MESSAGE_BYTES:
        raise WireError(f"message of {len(data)} bytes refused: at most {MAX_MESSAGE_BYTES} are allowed")
    message: AgentMessage = _decode(_agent_decoder, data)
    if isinstance(message, Hello):
        _check_version(message.version)
    return message


def decode_live(data: bytes) -> ReadLive | None:
    """Read a good live message with its report; None: it is another one, or `decode_from_agent` says why not.

    Most messages are these. To read the message first and its report then would be to read it twice.
    """
    if len(data) > MAX_REPORT_BYTES:
        return None
    try:
        return _live_decoder.decode(data)
    except NOT_DECODED:
        return None


def decode_from_board(data: bytes) -> BoardMessage:
    """Read what a board sent.

    Raises:
        WireError: no message, or of a version that we cannot read.
    """
    message: BoardMessage = _decode(_board_decoder, data)
    if isinstance(message, Welcome):
        _check_version(message.version)
    return message


def _decode(decoder: "msgspec.msgpack.Decoder[Any]", data: bytes) -> Any:  # noqa: ANN401 - the decoder's type
    try:
        return decoder.decode(data)
    except NOT_DECODED as error:
        raise WireError(f"not a valid message: {str(error) or type(error).__name__}") from None


def _check_version(version: int) -> None:
    if not OLDEST_VERSION <= version <= INGEST_VERSION:
        raise WireError(
            f"version {version} of the agents' protocol cannot be read here (versions {OLDEST_VERSION} to "
            f"{INGEST_VERSION} can): install the same gpuboard version on node and board"
        )
