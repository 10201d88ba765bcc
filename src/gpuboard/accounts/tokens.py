"""Nodes' tokens and enrolment codes. Every call blocks: never from the event loop, always in a thread."""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, delete, func, insert, or_, select, update

from gpuboard.model.errors import AccessRefused, UsageError
from gpuboard.model.node import is_node_name
from gpuboard.storage.base import Database, read_row, set_fact
from gpuboard.storage.tables import ENROLMENT_CODES, FACTS, NODE_PLACES, NODE_POSITIONS, NODE_TOKENS
from gpuboard.wire.enrolment import CODE_ALPHABET, CODE_LETTERS, digest, make_token, read_code

CODE_SECONDS: Final = 3600.0
# After a new enrolment the old token works on, so that nothing stops while the file is exchanged.
OVERLAP_SECONDS: Final = 24 * 3600.0
_GENERATION: Final = "node_tokens_generation"
_FORGET: Final = "forget_node "


class KnownToken(Struct, frozen=True, kw_only=True):
    """One token that is good, as its digest."""

    node: str
    digest: str
    expires_at: float | None


class NodeRecord(Struct, frozen=True, kw_only=True):
    """One enrolled node, or one whose code has not been used yet."""

    node: str
    # When its newest token was made; None while it has only a code.
    enrolled_at: float | None = None
    last_used_at: float | None = None
    tokens: int = 0
    code_expires_at: float | None = None


class NodeTokens:
    """Makes, exchanges and revokes; the board and the command line may both do so at once."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self._clock = clock

    def invite(self, node: str) -> str:
        """Make a code that one node can exchange for its token, once, within the hour.

        Raises:
            UsageError: this cannot be a node's name.
        """
        _check_name(node)
        code = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LETTERS))
        now = self._clock()
        with self.database.write() as connection:
            # A second code for the same node replaces the first.
            connection.execute(
                delete(ENROLMENT_CODES).where(
                    or_(ENROLMENT_CODES.c.node == node, ENROLMENT_CODES.c.expires_at <= now)
                )
            )
            connection.execute(
                insert(ENROLMENT_CODES).values(
                    digest=digest(code), node=node, created_at=now, expires_at=now + CODE_SECONDS
                )
            )
            self._changed(connection)
        return code

    def redeem(self, code: str) -> tuple[str, str]:
        """Exchange a code: the node it was made for, and the node's new token.

        Raises:
            AccessRefused: the code is unknown, used or too old.
        """
        now = self._clock()
        secret = secrets.token_urlsafe(32)
        with self.database.write() as connection:
            node = self._use_code(connection, read_code(code), now)
            token = make_token(node, secret)
            # One that already has an end ends sooner than this.
            connection.execute(
                update(NODE_TOKENS)
                .where(NODE_TOKENS.c.node == node, NODE_TOKENS.c.expires_at.is_(None))
                .values(expires_at=now + OVERLAP_SECONDS)
            )
            connection.execute(insert(NODE_TOKENS).values(digest=digest(token), node=node, created_at=now))
            self._changed(connection)
        return node, token

    def revoke(self, node: str) -> bool:
        """Take all tokens and codes from a node at once; False when it had none."""
        with self.database.write() as connection:
            return self._revoke(connection, node)

    def knows(self, node: str) -> bool:
        """Whether a node has a token or a code, or the board has noted anything of it."""
        noted = (NODE_TOKENS.c.node, ENROLMENT_CODES.c.node, NODE_POSITIONS.c.node, NODE_PLACES.c.name)
        with self.database.read() as connection:
            return any(
                connection.scalar(select(column).where(column == node).limit(1)) is not None
                for column in noted
            )

    def forget(self, node: str) -> None:
        """Revoke a node, and let the board forget it, now or when it starts.

        Raises:
            UsageError: this cannot be a node's name.
        """
        _check_name(node)
        with self.database.write() as connection:
            self._revoke(connection, node)
            set_fact(connection, f"{_FORGET}{node}", "")

    def forgotten(self) -> list[str]:
        """The nodes that shall be forgotten."""
        query = select(FACTS.c.name).where(FACTS.c.name.startswith(_FORGET, autoescape=True))
        with self.database.read() as connection:
            return [name.removeprefix(_FORGET) for name in connection.scalars(query)]

    def note_forgotten(self, nodes: Iterable[str]) -> None:
        """Note that the board has forgotten these nodes."""
        names = [f"{_FORGET}{node}" for node in nodes]
        with self.database.write() as connection:
            connection.execute(delete(FACTS).where(FACTS.c.name.in_(names)))

    def end_others(self, newest: KnownToken) -> None:
        """Delete all tokens of a node that this one has replaced."""
        with self.database.write() as connection:
            connection.execute(
                delete(NODE_TOKENS).where(
                    NODE_TOKENS.c.node == newest.node,
                    NODE_TOKENS.c.digest != newest.digest,
                    NODE_TOKENS.c.expires_at.is_not(None),
                )
            )

    def codes(self) -> frozenset[str]:
        """The digests of all codes that were made and not used; `redeem` knows whether they are too old."""
        with self.database.read() as connection:
            return frozenset(connection.scalars(select(ENROLMENT_CODES.c.digest)))

    def known(self) -> list[KnownToken]:
        """All tokens that are good now."""
        now = self._clock()
        good = or_(NODE_TOKENS.c.expires_at.is_(None), NODE_TOKENS.c.expires_at > now)
        query = select(NODE_TOKENS.c.node, NODE_TOKENS.c.digest, NODE_TOKENS.c.expires_at).where(good)
        with self.database.read() as connection:
            return [read_row(KnownToken, row) for row in connection.execute(query)]

    def records(self) -> list[NodeRecord]:
        """Every node that is enrolled or has a code, by name."""
        now = self._clock()
        good = or_(NODE_TOKENS.c.expires_at.is_(None), NODE_TOKENS.c.expires_at > now)
        tokens = (
            select(
                NODE_TOKENS.c.node,
                func.max(NODE_TOKENS.c.created_at).label("enrolled_at"),
                func.max(NODE_TOKENS.c.last_used_at).label("last_used_at"),
                func.count().label("tokens"),
            )
            .where(good)
            .group_by(NODE_TOKENS.c.node)
        )
        codes = select(ENROLMENT_CODES.c.node, ENROLMENT_CODES.c.expires_at).where(
            ENROLMENT_CODES.c.expires_at > now
        )
        with self.database.read() as connection:
            waiting = {row.node: row.expires_at for row in connection.execute(codes)}
            records = {
                row.node: NodeRecord(
                    node=row.node,
                    enrolled_at=row.enrolled_at,
                    last_used_at=row.last_used_at,
                    tokens=row.tokens,
                    code_expires_at=waiting.get(row.node),
                )
                for row in connection.execute(tokens)
            }
        for node, expires_at in waiting.items():
            records.setdefault(node, NodeRecord(node=node, code_expires_at=expires_at))
        return [records[node] for node in sorted(records)]

    def note_use(self, used_at: Mapping[str, float]) -> None:
        """Note when tokens were last used, by digest; tokens whose time is over are dropped."""
        with self.database.write() as connection:
            for known, at in used_at.items():
                connection.execute(
                    update(NODE_TOKENS).where(NODE_TOKENS.c.digest == known).values(last_used_at=at)
                )
            connection.execute(delete(NODE_TOKENS).where(NODE_TOKENS.c.expires_at <= self._clock()))

    def generation(self) -> str:
        """Changes whenever a code or token is made or revoked, by whichever process."""
        return self.database.fact(_GENERATION) or ""

    @staticmethod
    def _use_code(connection: Connection, code: str, now: float) -> str:
        used = digest(code)
        query = select(ENROLMENT_CODES.c.node, ENROLMENT_CODES.c.digest, ENROLMENT_CODES.c.expires_at)
        row = connection.execute(query.where(ENROLMENT_CODES.c.digest == used)).first()
        if row is None or not secrets.compare_digest(row.digest, used) or row.expires_at <= now:
            raise AccessRefused(
                "this enrolment code is unknown, used or more than an hour old; "
                "make a new one on the board with: gpuboard node enroll NAME"
            )
        connection.execute(delete(ENROLMENT_CODES).where(ENROLMENT_CODES.c.digest == used))
        node: str = row.node
        return node

    def _revoke(self, connection: Connection, node: str) -> bool:
        codes = connection.execute(delete(ENROLMENT_CODES).where(ENROLMENT_CODES.c.node == node))
        tokens = connection.execute(delete(NODE_TOKENS).where(NODE_TOKENS.c.node == node))
        self._changed(connection)
        return codes.rowcount + tokens.rowcount > 0

    @staticmethod
    def _changed(connection: Connection) -> None:
        set_fact(connection, _GENERATION, secrets.token_hex(8))


def _check_name(node: str) -> None:
    if not is_node_name(node):
        raise UsageError(f"{node!r} cannot name a node; use at most 63 of a-z, 0-9, dot, dash and underscore")
