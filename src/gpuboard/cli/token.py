"""`gpuboard token`: personal tokens, for programs like Prometheus; also while the board runs."""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Final

import msgspec

from gpuboard.cli.board_database import board_database, deed_here, person_here
from gpuboard.cli.environment import seconds
from gpuboard.cli.exits import DONE, FAILED
from gpuboard.cli.logs import say_warnings
from gpuboard.cli.tables import print_table
from gpuboard.cli.which_board import add_which
from gpuboard.model.errors import UsageError
from gpuboard.model.identity import ROLE_FOR, ROLES, SCOPES, is_at_least
from gpuboard.model.units import format_duration
from gpuboard.wire.people import person_name

if TYPE_CHECKING:
    from gpuboard.accounts.records import PersonToken
    from gpuboard.model.identity import Role, Scope
    from gpuboard.storage.base import Database

SHORTEST_SECONDS: Final = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    adding = actions.add_parser("add", help="make a token, and print it this once")
    adding.add_argument("name", metavar="NAME", help="what it is for, like prometheus")
    adding.add_argument("--person", metavar="WHO", help="whose it is (default: NAME)")
    adding.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what it is good for (default: read), or several",
    )
    adding.add_argument("--for", dest="lasts", metavar="TIME", help="when it ends, like 90d (default: never)")
    listing = actions.add_parser("list", help="show all tokens of people, never the tokens themselves")
    listing.add_argument("--json", action="store_true", help="print JSON")
    revoking = actions.add_parser("revoke", help="take a token away; it is out at once")
    revoking.add_argument("ident", metavar="ID", help="as gpuboard token list shows it")
    for action in (adding, listing, revoking):
        add_which(action)


def run(arguments: argparse.Namespace) -> int:
    """Do one thing to people's tokens."""
    say_warnings()
    with board_database(arguments) as database:
        return _ACTIONS[arguments.action](database, arguments)


def _add(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.desk import AccountDesk  # noqa: PLC0415 - the light install lacks it
    from gpuboard.accounts.records import Vouched  # noqa: PLC0415 - the same

    name, person = person_name(arguments.name), person_name(arguments.person or arguments.name)
    if name is None or person is None:
        raise UsageError("NAME and WHO are at most 64 printable characters")
    person = person_here(arguments, person)
    scopes = arguments.scope or ["read"]
    lasts = seconds("--for", arguments.lasts, least=SHORTEST_SECONDS) if arguments.lasts else None
    made, token = AccountDesk(database).add_token(
        Vouched(person=person, way="token"),
        _role_of(database, person, scopes),
        name=name,
        scopes=scopes,
        seconds=lasts,
        deed=deed_here("token-made"),
    )
    print(token)
    print(
        f"gpuboard: token {made.id} of {person} for {', '.join(made.scopes)}; it is not shown again",
        file=sys.stderr,
    )
    return DONE


def _role_of(database: "Database", person: str, scopes: list["Scope"]) -> "Role":
    """The most that the token gives: as much as its owner has, and no more than it needs."""
    from gpuboard.accounts.admin import AccountAdmin  # noqa: PLC0415 - the light install lacks it

    given = next((one.role for one in AccountAdmin(database).people() if one.name == person), None)
    scope = max(scopes, key=lambda one: ROLES.index(ROLE_FOR[one]))
    needed = ROLE_FOR[scope]
    # Whoever has no account here may be made a user, and no admin.
    if not is_at_least(given or "user", needed):
        raise UsageError(
            f"{person} is no {needed}, which --scope {scope} needs; "
            f"first: gpuboard person role {person} {needed}"
        )
    return given or needed


def _list(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.desk import AccountDesk  # noqa: PLC0415 - the light install lacks it

    tokens = AccountDesk(database).known().tokens
    if arguments.json:
        rows = [
            {key: value for key, value in msgspec.to_builtins(one).items() if key != "digest"}
            for one in tokens
        ]
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
    elif not tokens:
        print("gpuboard: people have no tokens; make one with: gpuboard token add NAME", file=sys.stderr)
    else:
        heading = ("ID", "PERSON", "NAME", "SCOPES", "LAST USED", "ENDS")
        print_table([heading, *(_row(one, time.time()) for one in tokens)])
    return DONE


def _row(one: "PersonToken", now: float) -> tuple[str, ...]:
    used = "never" if one.last_used_at is None else f"{format_duration(max(0.0, now - one.last_used_at))} ago"
    ends = "never" if one.expires_at is None else f"in {format_duration(max(0.0, one.expires_at - now))}"
    return one.id, one.person, one.name, ",".join(one.scopes), used, ends


def _revoke(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.desk import AccountDesk  # noqa: PLC0415 - the light install lacks it

    gone = AccountDesk(database).end_token(arguments.ident, deed_here("token-revoked"))
    if gone is None:
        print(f"gpuboard: there is no token {arguments.ident!r}; see: gpuboard token list", file=sys.stderr)
        return FAILED
    print(f"the token {gone.id} ({gone.name} of {gone.person}) is not good any more")
    return DONE


_ACTIONS: Final = {"add": _add, "list": _list, "revoke": _revoke}
