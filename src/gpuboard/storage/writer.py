"""What changes in memory, written down every few seconds, beside everything else and never in its way."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Generic, Protocol, TypeVar

from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.storage.base import Database

log = logging.getLogger(__name__)

Value = TypeVar("Value")


class Store(Protocol[Value]):
    """A table with one row per name. Every call blocks."""

    database: Database

    def load(self) -> Mapping[str, Value]:
        """All rows.

        Raises:
            StorageError: they cannot be read.
        """

    def save(self, changed: Mapping[str, Value], gone: frozenset[str]) -> None:
        """Write these rows in one transaction, and delete those that are gone.

        Raises:
            StorageError: they cannot be written.
        """


class ChangeWriter(Generic[Value]):
    """Writes down what has changed every few seconds."""

    def __init__(
        self,
        store: Store[Value],
        read: Callable[[], dict[str, Value]],
        written: Mapping[str, Value],
        *,
        what: str,
        seconds: float,
    ) -> None:
        self._store = store
        self._read = read
        self._written = dict(written)
        self._what = what
        self._seconds = seconds
        self._writing = threading.Lock()
        # Why nothing can be written at the moment; None: all is well.
        self.trouble: Reason | None = None

    async def follow(self) -> None:
        """Write every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(self._seconds)
            # Read here, where nothing changes meanwhile; written in a thread, where waiting harms nobody.
            now = self._read()
            try:
                await self._store.database.run(partial(self._write, now), is_write=True)
            except StorageError as error:
                self._note(error)

    def start_from(self, written: Mapping[str, Value]) -> None:
        """Take this for what stands in the table."""
        self._written = dict(written)

    def write_last(self) -> None:
        """Write what came last before the board stops. Blocks."""
        self._write(self._read())

    def _write(self, now: dict[str, Value]) -> None:
        """Write what differs from the last time; what cannot be written now comes with the next."""
        # One at a time: the last one must not be overtaken by one that was under way.
        with self._writing:
            changed = {name: value for name, value in now.items() if self._differs(name, value)}
            gone = frozenset(self._written.keys() - now.keys())
            if not changed and not gone and self.trouble is None:
                return
            try:
                self._store.save(changed, gone)
            except StorageError as error:
                self._note(error)
                return
            self._written = now
            self.trouble = None

    def _note(self, error: StorageError) -> None:
        if self.trouble is None:
            log.warning("%s not written: reason=%s", self._what, error)
        self.trouble = error.reason

    def _differs(self, name: str, value: Value) -> bool:
        # Most are the very same, of thousands: to see that costs next to nothing.
        written = self._written.get(name)
        return written is not value and written != value
