"""A database that was gone when its board started: the mark that says so until somebody has taken notice."""

import logging
from pathlib import Path
from typing import Final

from gpuboard.model.errors import StorageError
from gpuboard.model.verdict import Reason
from gpuboard.outside.state_directory import hand_over

log = logging.getLogger(__name__)

_ENDING: Final = ".lost"


class LostMark:
    """A file beside the database. It stays over restarts, and goes when it is no longer true or wanted."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self.path = database.with_name(f"{database.name}{_ENDING}")

    @property
    def reason(self) -> Reason:
        """What has happened, and what can be done."""
        text = (
            f"the database {self._database} was gone when the board started, and was made anew: the tokens "
            "of nodes that push and all that was remembered are lost; stop the board, put a copy back "
            "(gpuboard restore FILE) and start it again; or go on without: enroll the nodes anew (gpuboard "
            f"node enroll), or remove {self.path}"
        )
        return Reason(code="storage-lost", text=text)

    def leave(self, made: str) -> None:
        """Say it from now on, of this file that was made in the place of the one that was there.

        Raises:
            StorageError: it cannot be written.
        """
        log.error("%s", self.reason.text)
        try:
            self.path.touch(mode=0o600)
            self.path.write_text(f"{made}\n{self.reason.text}\n")
            hand_over(self.path)
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written: {error.strerror}") from None

    def is_there(self) -> bool:
        """Whether it is to be said."""
        return self.path.exists()

    def check(self, identity: str) -> None:
        """Take it away if another file than the one that was made then has the name: a copy was put back."""
        try:
            is_of_this = self.path.read_text().split("\n", 1)[0] == identity
        except (OSError, UnicodeDecodeError):
            return
        if not is_of_this:
            self.take_away()

    def take_away(self) -> None:
        """Say it no longer."""
        self.path.unlink(missing_ok=True)
