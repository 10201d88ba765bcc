"""Who we are, where the system cannot tell: a service may run as an account without a name and a home."""

import getpass
import os
from pathlib import Path
from typing import Final

from gpuboard.sources.ssh.words import SshError

# asyncssh gives up without a name and a home, even where it needs neither.
_NO_NAME: Final = "account-without-name"
_NO_HOME: Final = "/nonexistent"


def make_up_account() -> None:
    """Give ourselves a name and a home for asyncssh, if the system knows none. Blocks."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = _NO_HOME
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = _NO_NAME


def refuse_made_up(user: str) -> None:
    """Log in nowhere by a name that we made up.

    Raises:
        SshError: nobody has said who we are; says what to set.
    """
    if user == _NO_NAME:
        raise SshError(
            f"the account that the board runs as (uid {os.getuid()}) has no name on this machine",
            'set user = "…" in the [[source]] table, or User in its ssh_config; key_file and known_hosts too',
            code="no-user-name",
            state="refused",
        )
