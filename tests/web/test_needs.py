"""What whoever asks must have, by who they are alone."""

from typing import Any, cast

import pytest
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException

from gpuboard.model.identity import Identity, Role, Scope, Tier
from gpuboard.web.needs import (
    IDENTITY,
    AnyConnection,
    Need,
    bookings_tier,
    check_names,
    check_needs,
    needs,
)
from gpuboard.web.openapi import whole_document
from tests.web.conftest import web_app


def asked_by(tier: Tier | None, *scopes: Scope, role: Role = "user") -> AnyConnection:
    """A question of somebody with a token of these scopes; without any, of a visitor."""
    person = Identity(
        address=None,
        counted_as=None,
        tier=tier,
        role=role,
        person="ana" if scopes else None,
        way="token" if scopes else None,
        scopes=frozenset(scopes),
    )
    scope = {"type": "http", "method": "GET", "state": {IDENTITY: person}}
    return ASGIConnection(cast("Any", scope))


class _Route:
    def __init__(self, need: Need) -> None:
        self.opt = needs(need)


def status(connection: AnyConnection, need: Need) -> int:
    """How a route that needs this answers."""
    try:
        check_needs(connection, cast("Any", _Route(need)))
    except HTTPException as refused:
        return refused.status_code
    return 200


@pytest.mark.parametrize(
    ("scopes", "role", "answer"),
    [
        ((), "anonymous", 401),
        (("book",), "user", 200),
        (("book",), "viewer", 403),
        (("metrics",), "user", 403),
    ],
)
def test_whoever_may_book_may_read_bookings_where_visitors_see_nothing(
    scopes: tuple[Scope, ...], role: Role, answer: int
) -> None:
    """And nothing else that needs to be seen."""
    connection = asked_by(None, *scopes, role=role)
    assert status(connection, "bookings") == answer
    assert status(connection, "counts") == (403 if scopes else 401)


def test_bookings_of_others_have_no_names_for_a_token_that_does_not_read() -> None:
    """It learns that something is booked, and until when."""
    assert bookings_tier(asked_by(None, "book")) == "counts"
    assert bookings_tier(asked_by("names", "book", "read")) == "names"


@pytest.mark.parametrize(("scopes", "answer"), [((), 401), (("book",), 403), (("metrics",), 403)])
def test_a_token_that_sees_no_names_is_refused_and_a_visitor_asked_to_sign_in(
    scopes: tuple[Scope, ...], answer: int
) -> None:
    """To sign in helps the one and not the other."""
    with pytest.raises(HTTPException) as refused:
        check_names(asked_by("counts", *scopes))
    assert refused.value.status_code == answer


def test_the_api_says_where_a_personal_token_is_needed_and_where_it_lets_one_see_more() -> None:
    """As the routes declare it; what is open to all says nothing."""
    app = web_app()
    document = whole_document(app.openapi_schema.to_schema(), app)
    assert document["components"]["securitySchemes"]["personal_token"]["scheme"] == "bearer"
    must: list[dict[str, list[str]]] = [{"personal_token": []}]
    may: list[dict[str, list[str]]] = [*must, {}]
    said: dict[tuple[str, str], list[dict[str, list[str]]] | None] = {
        ("/api/v1/bookings", "post"): must,
        ("/api/v1/tokens", "get"): must,
        ("/api/v1/fleet", "get"): may,
        ("/api/v1/bookings", "get"): may,
        ("/api/v1/reports", "post"): [{"node_token": []}],
        ("/healthz", "get"): None,
    }
    assert {cell: document["paths"][cell[0]][cell[1]].get("security") for cell in said} == said


def test_a_viewer_who_books_is_told_that_it_is_the_role() -> None:
    """Another token would not help; one without the scope is told so."""
    for connection, words in (
        (asked_by("names", "book", role="viewer"), "an admin of the board gives the role"),
        (asked_by("names", "read"), "a token needs the scope book"),
    ):
        with pytest.raises(HTTPException, match=words):
            check_needs(connection, cast("Any", _Route("book")))
