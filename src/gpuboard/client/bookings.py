"""Bookings of a board over HTTP, for commands; standard library only."""

import re
import urllib.parse
from typing import Final

import msgspec

from gpuboard.client.answer import decode_answer
from gpuboard.client.board import BoardClient
from gpuboard.model.errors import UsageError
from gpuboard.wire.bookings import BookingAnswer, BookingChange, BookingList, BookingWish, FeedView
from gpuboard.wire.views import NodeView

_PATH = "api/v1/bookings"
_FEED = f"{_PATH}/feed"
# Other words behind that path mean other things, like the feed.
_ID: Final = re.compile(r"[0-9a-f]{8,64}")


class BookingClient(BoardClient):
    """One board, as people book there.

    Every call raises BookingRefused where others have it, BoardRefusedError where a policy or the board does
    not allow it, UsageError for what makes no sense, BoardUnreachableError where nobody answers.
    """

    def book(self, wish: BookingWish) -> BookingAnswer:
        """Book."""
        return self._ask(_PATH, _answer, body=_encode(wish))

    def change(self, ident: str, change: BookingChange) -> BookingAnswer:
        """Change a booking."""
        return self._ask(_path_of(ident), _answer, body=_encode(change), method="PATCH")

    def cancel(self, ident: str) -> BookingAnswer:
        """Cancel a booking."""
        return self._ask(_path_of(ident), _answer, method="DELETE")

    def bookings(
        self, *, mine: bool, node: str | None = None, start: float | None = None, end: float | None = None
    ) -> BookingList:
        """What is booked."""
        query = {"mine": str(mine).lower(), "node": node, "from": start, "to": end}
        given = urllib.parse.urlencode({key: value for key, value in query.items() if value is not None})
        named = None if node is None else f"node {node!r}"
        return self._ask(f"{_PATH}?{given}", lambda body: decode_answer(body, BookingList), named=named)

    def feed(self) -> FeedView:
        """What is known of one's calendar feed."""
        return self._ask(_FEED, _feed)

    def make_feed(self) -> str:
        """Make one's calendar feed anew: its address."""
        return f"{self._base}{self._ask(_FEED, _feed, method='POST').path}"

    def end_feed(self) -> None:
        """Revoke one's calendar feed."""
        self._ask(_FEED, lambda _: None, method="DELETE")

    def node(self, name: str) -> NodeView:
        """One node with its GPUs."""
        path = f"api/v1/nodes/{urllib.parse.quote(name, safe='')}"
        return self._ask(path, lambda body: decode_answer(body, NodeView))


def _path_of(ident: str) -> str:
    if _ID.fullmatch(ident) is None:
        raise UsageError(f"{ident!r} is no booking's id; gpuboard bookings shows them")
    return f"{_PATH}/{ident}"


def _encode(body: BookingWish | BookingChange) -> bytes:
    # What is null is as if it were not there.
    told = msgspec.to_builtins(body)
    return msgspec.json.encode({key: value for key, value in told.items() if value is not None})


def _feed(body: bytes) -> FeedView:
    return decode_answer(body, FeedView)


def _answer(body: bytes) -> BookingAnswer:
    return decode_answer(body, BookingAnswer)
