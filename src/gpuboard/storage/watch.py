"""How the database fares while the board runs."""

import asyncio
import logging
from typing import Final

from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.storage.base import DAMAGED, Database

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0
LOOKS_AN_HOUR: Final = 720


class StorageWatch:
    """Looks whether the database is whole, and still ours."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._damage: Reason | None = None
        # Why what is written down may be lost; None: all is well.
        self.trouble: Reason | None = None

    async def follow(self) -> None:
        """Look again and again, until cancelled; as a whole once an hour."""
        while True:
            self._damage = await self._look_whole()
            for _ in range(LOOKS_AN_HOUR):
                self._note(await self._look() or self._damage)
                await asyncio.sleep(LOOK_SECONDS)

    async def _look_whole(self) -> Reason | None:
        try:
            damage = await self._database.run(self._database.find_damage)
        except StorageError:
            # Unknown is not damaged; the looks that follow say what is the matter.
            return None
        text = f"the database {self._database.name} is damaged ({damage}); {DAMAGED}"
        return Reason(code="storage-damaged", text=text) if damage else None

    async def _look(self) -> Reason | None:
        try:
            return await self._database.run(self._database.find_loss)
        except StorageError as error:
            return error.reason

    def _note(self, trouble: Reason | None) -> None:
        if trouble is not None and (self.trouble is None or self.trouble.code != trouble.code):
            log.error("%s", trouble.text)
        elif trouble is None and self.trouble is not None:
            log.info("database works again: database=%s", self._database.name)
        self.trouble = trouble
