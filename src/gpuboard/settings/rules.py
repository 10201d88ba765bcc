"""What must hold for single settings, besides their type; each check raises ValueError in words."""

import ipaddress
import re
from typing import Final
from urllib.parse import parse_qs, urlsplit

from gpuboard.model.address import is_address, is_loopback, split_address
from gpuboard.model.errors import UsageError
from gpuboard.model.identity import is_nobodys_name
from gpuboard.model.node import spoken
from gpuboard.model.ranges import expand

_FILLED_IN: Final = ("address", "node", "devices", "uuids", "indexes", "person")
_HOW_TO_STORE: Final = (
    'write "postgresql://USER@HOST/DATABASE", or "sqlite:////var/lib/gpuboard/gpuboard.sqlite" for a file'
)
_PATTERN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-*")
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_OWN_HEADERS: Final = frozenset(
    {"authorization", "cookie", "host", "origin", "referer", "user-agent", "accept", "connection", "upgrade"}
    | {"x-forwarded-for", "x-forwarded-proto", "x-real-ip", "forwarded", "x-csrf-token", "content-type"}
)
_LONGEST_GROUP: Final = 64
_HOW_TO_REACH: Final = (
    'write "mailto:{person}@lab.example" or "https://chat.lab.example/ask?who={person}&text={text}"; '
    "{person} must be there, but not in the name of the host"
)
_LARGEST_WEIGHT: Final = 1_000_000
# What a minute can be made of, in seconds.
GRIDS: Final = (1, 2, 5, 10, 15, 20, 30, 60)
LEAST_HISTORY_BYTES: Final = 64 * 1024**2
# The memory of small cards: no driver holds so much for itself.
MOST_MEMORY_FLOOR: Final = 8 * 1024**3
# By version of IP, in bits: 10.0.0.0/8 and fc00::/7 are the widest that can be all one's own.
_WIDEST_NETWORK: Final = {4: 8, 6: 7}
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?")


def check_listen(value: str) -> None:
    """An address to listen on."""
    try:
        split_address(value)
    except UsageError as error:
        raise ValueError(str(error)) from None


def check_base_path(value: str) -> None:
    """A path alone."""
    segments = value.strip("/").split("/")
    is_path = "//" not in value and not {".", ".."} & set(segments) and value.isprintable()
    if not is_path or any(char in value for char in "?#* \\"):
        path = urlsplit(value).path if "://" in value else "/gpus/"
        raise ValueError(f'it is the path alone, like base_path = "{path or "/"}"')


def check_copy(value: str) -> None:
    """One line, and only what the board can fill in."""
    unknown = [name for name in re.findall(r"\{([^{}]*)\}", value) if name not in _FILLED_IN]
    is_open = re.search(r"[{}]", re.sub(r"\{[^{}]*\}", "", value))
    if unknown or is_open or not value.isprintable():
        wrong = "a brace is open" if is_open else "it must be one line"
        wrong = f"nothing is known as {{{unknown[0]}}}" if unknown else wrong
        known = ", ".join(f"{{{name}}}" for name in _FILLED_IN)
        raise ValueError(f'{wrong}; {known} are filled in, as in "ssh {{address}}"')


def check_groups(value: dict[str, tuple[str, ...]]) -> None:
    """Names that can be typed, and ranges that make sense."""
    for group, patterns in value.items():
        if not group.strip() or not group.isprintable() or len(group) > _LONGEST_GROUP:
            raise ValueError(f"{group!r} is no name of a group; write one of 1 to {_LONGEST_GROUP} letters")
        if not patterns:
            raise ValueError(f'{group!r} has no node; write {group} = ["gpu[01-16]"], or leave it out')
        for pattern in patterns:
            expand(pattern)


def check_people(value: dict[str, tuple[str, ...]]) -> None:
    """Names that can be typed, of groups and of people."""
    for group, people in value.items():
        for name in (group, *people):
            if not name.strip() or not name.isprintable() or len(name) > _LONGEST_GROUP:
                raise ValueError(f"{name!r} is no name; write one of 1 to {_LONGEST_GROUP} letters")


def check_accounts(value: dict[str, str]) -> None:
    """No account is joined to a name that no person has: whoever signs in with it would be root to all."""
    for account, person in value.items():
        if is_nobodys_name(person.strip()):
            raise ValueError(
                f"{account} would be {person.strip()}, which is the name of nobody; write the name of a "
                "person, or leave it out"
            )


def check_display_names(value: dict[str, str]) -> None:
    """One name for one node: whoever books or looks for it means just this one."""
    owners = {spoken(node): node for node in value}
    for node, name in value.items():
        if not name.strip():
            raise ValueError(f"{node} would have an empty name; write how it is called, or leave it out")
        other = owners.setdefault(spoken(name), node)
        if other != node:
            raise ValueError(
                f"{other} and {node} would both be known as {name!r}, and nobody could tell which is meant; "
                "give each a name of its own"
            )


def check_contact(value: str) -> None:
    """An address that mail programs or browsers open, with a place for whom it is."""
    if not value:
        return
    unknown = [name for name in re.findall(r"\{([^{}]*)\}", value) if name not in ("person", "text")]
    filled = re.sub(r"\{(person|text)\}", "x", value)
    known = filled.startswith(("mailto:", "https://")) and filled.isascii() and filled.isprintable()
    # Names come from the nodes: none of them decides to which host a browser goes.
    before_path = value.removeprefix("https://").partition("/")[0] if value.startswith("https://") else ""
    if unknown or not known or re.search(r"[{}\s]", filled) or "{" in before_path or "{person}" not in value:
        raise ValueError(
            f"nothing is known as {{{unknown[0]}}}; {_HOW_TO_REACH}" if unknown else _HOW_TO_REACH
        )


def check_ignored(value: tuple[str, ...]) -> None:
    """Parts of names: an empty one is part of every name."""
    if not all(part.strip() for part in value):
        raise ValueError(
            'an empty text is a part of every name; write parts of models\' names, like ["GT 710"]'
        )


def check_weights(value: dict[str, float]) -> None:
    """Parts of names, and numbers that an hour may count for."""
    for part, weight in value.items():
        if not part.strip() or not part.isprintable():
            raise ValueError(f'{part!r} is no model; write parts of names, like {{ "H100" = 3 }}')
        if not 0 <= weight <= _LARGEST_WEIGHT:
            raise ValueError(f"{part} = {weight:g}: an hour counts for 0 to {_LARGEST_WEIGHT:g}")


def check_currency(value: str) -> None:
    """A word on one line."""
    if not value.isprintable():
        raise ValueError('it must be one line, like "EUR"')


def check_lines(value: tuple[float, float]) -> None:
    """The lower line first."""
    if not value[0] < value[1]:
        raise ValueError("the lower line comes first, as in [35, 70]")


def check_grid(value: float) -> None:
    """A whole part of a minute: minutes are made of it."""
    if value not in GRIDS:
        raise ValueError(f"must be a whole part of a minute: {', '.join(f'{one}s' for one in GRIDS)}")


def check_memory_floor(value: int) -> None:
    """Less than people's work takes: what is below it is nobody's, and the GPU free."""
    if value > MOST_MEMORY_FLOOR:
        raise ValueError('must be "8G" or less: GPUs on which somebody works would be called free')


def check_history_size(value: int) -> None:
    """Enough for a day of a small fleet; less would be pruned as soon as it is written."""
    if value < LEAST_HISTORY_BYTES:
        raise ValueError('must be "64M" or more; to keep nothing, write kind = "none"')


def check_hostnames(value: tuple[str, ...]) -> None:
    """Names alone: what a browser sends as Host, without scheme, port and path."""
    for name in value:
        if not _HOST_NAME.fullmatch(name) and not is_address(name.removeprefix("[").removesuffix("]")):
            raise ValueError(_how_to_name(name))


def check_proxies(value: tuple[str, ...]) -> None:
    """Addresses and networks: a proxy is known by where its connection comes from."""
    for proxy in value:
        try:
            network = ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise ValueError(
                f"{proxy!r} is no address: a proxy is known by the address that it comes from; write "
                'addresses or networks, like ["127.0.0.1", "10.1.0.0/16"]'
            ) from None
        if network.prefixlen < _WIDEST_NETWORK[network.version]:
            raise ValueError(
                f"{proxy!r} would make a proxy of anybody, who could then say to be on this machine, or to "
                'be whom they like; write where the proxy comes from, like ["127.0.0.1", "10.1.0.0/16"]'
            )


def check_patterns(value: tuple[str, ...]) -> None:
    """Names of nodes, with * for any."""
    for pattern in value:
        if not pattern or not set(pattern) <= _PATTERN:
            raise ValueError(f'{pattern!r} is no name of a node; write names, like ["login*", "gpu01"]')


def check_header(value: str) -> None:
    """The name of a header that a proxy sets; never one that browsers or the board use themselves."""
    if value and (not _HEADER.fullmatch(value) or value.lower() in _OWN_HEADERS):
        raise ValueError(f'{value!r} cannot be it; write the name of a header alone, like "X-Remote-User"')


def check_issuer(value: str) -> None:
    """The address of a provider, as its own documents give it."""
    if not value:
        return
    try:
        parts = urlsplit(value)
        is_clear = parts.scheme == "http" and is_loopback(parts.hostname)
    except ValueError:
        raise ValueError('write the issuer\'s address, like "https://login.lab.example/realms/lab"') from None
    if not (parts.scheme == "https" or is_clear) or not parts.hostname or parts.query or parts.fragment:
        raise ValueError('write the issuer\'s address, like "https://login.lab.example/realms/lab"')


def check_storage_url(value: str) -> None:
    """The address of a database, without a password: this file is read by many, and shown in errors."""
    try:
        parts = urlsplit(value)
        given, password = parse_qs(parts.query), parts.password
    except ValueError:
        raise ValueError(_HOW_TO_STORE) from None
    if parts.scheme == "sqlite" and not parts.netloc and parts.path.startswith(("//", "/~/")):
        return
    # One with a slash in it ends up in the path.
    if password is not None or "@" in parts.path or any(key.endswith("password") for key in given):
        raise ValueError(
            "no password belongs here; write it to a file of its own, and name that with password_file"
        )
    names_database = parts.path.strip("/") or "dbname" in given
    if value and not (parts.scheme in ("postgresql", "postgres") and names_database):
        raise ValueError(_HOW_TO_STORE)


def _how_to_name(name: str) -> str:
    if "*" in name:
        return f"{name!r} would let any name in; list each name that people type, like gpus.lab.example"
    if not name.isascii():
        return f"{name!r}: write it as browsers send it, in ASCII (xn--…)"
    try:
        alone = urlsplit(name if "//" in name else f"//{name}").hostname
    except ValueError:
        alone = None
    alone = alone or "gpus.lab.example"
    return f"{name!r} is no name; write the name alone, without https://, port and path: {alone!r}"
