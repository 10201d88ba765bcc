"""As whom this program runs, in words: whoever cannot read a file has to know for whom to open it."""

import os
import pwd


def own_account() -> str:
    """The user that we are."""
    try:
        return f"user {pwd.getpwuid(os.geteuid()).pw_name}"
    except KeyError:
        return f"uid {os.geteuid()}"
