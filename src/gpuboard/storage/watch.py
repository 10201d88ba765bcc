"""How the database fares while the board runs."""

import asyncio
import logging
from functools import partial
from typing import Final

from gpuboard.model.verdict import Reason
from gpuboard.outside.threads import off_loop
from gpuboard.storage.database import DAMAGED, Database
from gpuboard.storage.integrity import find_damage

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0
LOOKS_AN_HOUR: Final = 720


class StorageWatch:
    """Looks whether the database is whole, and still in its place."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._damage: Reason | None = None
        # Why what is written down may be lost; None: all is well.
        self.trouble: Reason | None = None

    async def follow(self) -> None:
        """Look again and again, until cancelled; as a whole once an hour."""
        while True:
            damage = await off_loop(partial(find_damage, self._database.path))
            text = f"the database {self._database.path} is damaged ({damage}); {DAMAGED}"
            self._damage = Reason(code="storage-damaged", text=text) if damage else None
            if damage:
                log.error("%s", text)
            for _ in range(LOOKS_AN_HOUR):
                await self._look()
                await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        if await off_loop(self._database.is_in_place):
            self.trouble = self._damage
            return
        text = (
            f"the database {self._database.path} was deleted or replaced while the board runs, and what is "
            "written down now is lost; put the file back and restart the board"
        )
        if self.trouble is None or self.trouble.code != "storage-replaced":
            log.error("%s", text)
        self.trouble = Reason(code="storage-replaced", text=text)
