"""What is wrong with the body of a request, in words."""

from typing import Any

import pytest
from litestar import Litestar, Request, post
from litestar.exceptions import HTTPException
from litestar.testing import TestClient

from gpuboard.web.bodies import check_keys
from gpuboard.web.problems import http_problem
from gpuboard.wire.bookings import BookingWish


@post("/")
async def book(request: Request[Any, Any, Any], data: BookingWish) -> None:  # noqa: ARG001 - as a route has it
    """Take what somebody wants to book."""
    await check_keys(request)


# A newer way to name the body, which the oldest version that we allow does not have.
@pytest.mark.filterwarnings("ignore::litestar.exceptions.LitestarDeprecationWarning")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"coment": "x"}, "data: there is no key 'coment'; did you mean 'comment'?"),
        ({"places": [{"node": "a", "gpu": [1]}]}, "places[0]: there is no key 'gpu'; did you mean 'gpus'?"),
        ({"any": {"\x1b[31m": 1}}, "any: there is no key '\\\\x1b[31m'; known are: any, comment"),
    ],
)
def test_a_key_that_nobody_knows_is_refused_with_the_one_that_was_meant(
    body: dict[str, Any], words: str
) -> None:
    """Left out in silence, it would look as if it had been heard."""
    with TestClient(Litestar([book], exception_handlers={HTTPException: http_problem})) as client:
        answer = client.post("/", json=body)
    assert (answer.status_code, answer.json()["detail"].startswith(words)) == (400, True), answer.text


@pytest.mark.filterwarnings("ignore::litestar.exceptions.LitestarDeprecationWarning")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "data: the request has no body; write what you want as JSON"),
        (b'{"comment": "a", "comment": "b"}', "the key 'comment' stands twice in one object"),
    ],
)
def test_what_is_no_wish_is_refused_in_words(body: bytes, words: str) -> None:
    """Of two values nobody knows which was meant, and of nothing what is missing."""
    with TestClient(Litestar([book], exception_handlers={HTTPException: http_problem})) as client:
        answer = client.post("/", content=body)
    assert (answer.status_code, answer.json()["detail"]) == (400, words)
