"""`gpuboard person`: accounts and roles of people; also while the board runs."""

import argparse
import sys
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from gpuboard.cli.board_database import board_database, deed_here, person_here
from gpuboard.cli.exits import DONE, FAILED
from gpuboard.cli.logs import say_warnings
from gpuboard.cli.tables import print_table
from gpuboard.cli.which_board import add_which
from gpuboard.model.booking import Booking, place_words
from gpuboard.model.errors import UsageError
from gpuboard.model.identity import is_nobodys_name
from gpuboard.wire.login import LINK_PATH
from gpuboard.wire.people import LONGEST_NAME, person_name

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from gpuboard.storage.base import Database

ROLES: Final = ("viewer", "user", "admin")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    adding = actions.add_parser("add", help="add an account, and print a link to set its password")
    adding.add_argument("name", metavar="NAME")
    adding.add_argument("--role", choices=ROLES, help="what it may do (default: as before; at first user)")
    adding.add_argument("--again", action="store_true", help="another password for one that is there")
    adding.add_argument("--url", help="where people reach the board (default: where it listens)")
    listing = actions.add_parser("list", help="show who has an account or a role here")
    listing.add_argument("--json", action="store_true", help="print JSON")
    giving = actions.add_parser("role", help="give somebody a role; it holds at once")
    giving.add_argument("name", metavar="NAME")
    giving.add_argument("role", choices=ROLES, metavar="ROLE", help="viewer, user or admin")
    removing = actions.add_parser(
        "remove", help="take away account, sessions, tokens and what is booked, at once"
    )
    removing.add_argument("name", metavar="NAME")
    for action in (adding, listing, giving, removing):
        add_which(action)


def run(arguments: argparse.Namespace) -> int:
    """Do one thing to the board's accounts."""
    say_warnings()
    if "name" in arguments:
        arguments.name = _name(arguments.name)
        if arguments.action != "remove":
            arguments.name = person_here(arguments, arguments.name)
    with board_database(arguments) as database:
        return _ACTIONS[arguments.action](database, arguments)


def _name(text: str) -> str:
    name = person_name(text)
    if name is None or name != text.strip():
        raise UsageError(f"{text!r} cannot name a person; at most {LONGEST_NAME} printable characters")
    return name


def _add(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.admin import AccountAdmin  # noqa: PLC0415 - the light install lacks it
    from gpuboard.storage.tables import BOARD_URL  # noqa: PLC0415 - the same

    if is_nobodys_name(arguments.name):
        raise UsageError(f"{arguments.name!r} is an account that is nobody's, and no person's name")
    admin, deed = AccountAdmin(database), deed_here("person-add")
    make = admin.invite if arguments.again else admin.add
    code = make(arguments.name, arguments.role, deed)
    url: str = arguments.url or database.fact(BOARD_URL) or ""
    print(f"{url if url.endswith('/') else url + '/'}{LINK_PATH}{code}")
    print(
        f"gpuboard: with this link {arguments.name} chooses a password, once, within the hour",
        file=sys.stderr,
    )
    return DONE


def _list(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.admin import AccountAdmin  # noqa: PLC0415 - the light install lacks it

    people = AccountAdmin(database).people()
    if arguments.json:
        rows = [
            {"name": one.name, "role": one.role, "has_password": one.password is not None} for one in people
        ]
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
    elif not people:
        print(
            "gpuboard: nobody has an account here; begin with: gpuboard person add NAME",
            file=sys.stderr,
        )
    else:
        rows_shown = [(one.name, one.role, "yes" if one.password else "no") for one in people]
        print_table([("PERSON", "ROLE", "PASSWORD"), *rows_shown])
    return DONE


def _role(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.admin import AccountAdmin  # noqa: PLC0415 - the light install lacks it

    AccountAdmin(database).set_role(arguments.name, arguments.role, deed_here("person-role"))
    # What a node says is believed for users at most.
    by_node = "; from a node, user" if arguments.role == "admin" else ", from a node too"
    print(f"{arguments.name} is {arguments.role} from now on{by_node}")
    return DONE


def _remove(database: "Database", arguments: argparse.Namespace) -> int:
    from gpuboard.accounts.admin import AccountAdmin  # noqa: PLC0415 - the light install lacks it
    from gpuboard.accounts.audit import write_deed  # noqa: PLC0415 - the same
    from gpuboard.bookings.store import BookingStore  # noqa: PLC0415 - the same
    from gpuboard.storage.tables import PROXY_HEADER  # noqa: PLC0415 - the same

    admin = AccountAdmin(database)
    # What was given to an account before it was joined with others can be taken away by its own name.
    if all(one.name != arguments.name for one in admin.people()):
        arguments.name = person_here(arguments, arguments.name)

    def note(connection: "Connection", _: object, what: str, detail: str, now: float) -> None:
        write_deed(connection, replace(deed_here(what), detail=detail), now)

    ended: list[Booking] = []

    def cancel_all(connection: "Connection") -> None:
        ended.extend(BookingStore(database, note).cancel_all(connection, arguments.name))

    is_gone = admin.remove(arguments.name, deed_here("person-remove"), also=cancel_all)
    if is_gone:
        print(
            f"{arguments.name} has no account, session or token here any more; who has an account on a node "
            "that vouches, or at the provider, can sign in anew"
        )
    if ended:
        places = ", ".join(place_words(one.places) for one in ended)
        print(f"what {arguments.name} had booked is free again: {places}")
    if is_gone or ended:
        return DONE
    if database.fact(PROXY_HEADER):
        # Nobody here knows who has come by the proxy alone; who has is shown out by what was just noted.
        print(
            f"{arguments.name} has no account, session or token here; pages that the proxy's word has opened "
            "for that name are closed, and can be opened anew as long as the proxy lets them in"
        )
        return DONE
    print(f"gpuboard: nobody here is called {arguments.name!r}; see: gpuboard person list", file=sys.stderr)
    return FAILED


_ACTIONS: Final = {"add": _add, "list": _list, "role": _role, "remove": _remove}
