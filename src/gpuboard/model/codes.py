"""The codes of all reasons: why a GPU has its word, a node its state, a part of the board its trouble.

The page has a sentence for each in every language; tests compare. Kinds of problems are codes too, and have
their own table (`model/problems.py`).
"""

from typing import Final

from gpuboard.model.verdict import Reason

# Why a GPU has its word.
OF_GPUS: Final = frozenset(
    {
        "free",
        "utilization",
        "recent-utilization",
        "process",
        "memory",
        "orphaned-memory",
        "idle",
        "booked",
        "divided",
        "mig-empty",
        "unknown-processes",
        "unknown-memory",
        "numbers-moved",
        "number-unread",
        "stray-process",
        "new",
        "unwritable",
    }
)
# Why a node is not live, whatever its source.
OF_NODES: Final = frozenset(
    {
        "late",
        "lost",
        "never",
        "left",
        "revoked",
        "refused",
        "error",
        "internal",
        "bad-report",
        "token-shared",
        "agent-ended",
        "file-refused",
    }
)
# Why a node cannot be read over ssh.
OF_SSH: Final = frozenset(
    {
        "auth-failed",
        "connection-lost",
        "flood",
        "host-key-changed",
        "host-key-refused",
        "host-key-unknown",
        "key-unreadable",
        "no-samples",
        "no-user-name",
        "session-refused",
        "silent",
        "ssh-config",
        "ssh-protocol",
    }
)
# Why an agent that is asked cannot be read.
OF_PULL: Final = frozenset(
    {
        "age-unknown",
        "frozen",
        "not-an-agent",
        "not-ready",
        "password-refused",
        "redirected",
        "replayed",
        "token-refused",
    }
)
# Why a server or a file outside cannot be used, for a node or a part of the board.
OF_THE_OUTSIDE: Final = frozenset(
    {
        "address-here",
        "bad-ca-file",
        "bad-secret",
        "certificate",
        "compressed",
        "connection-refused",
        "cut-off",
        "file-hung",
        "file-missing",
        "file-open",
        "file-too-large",
        "file-unreadable",
        "network",
        "not-http",
        "secret-in-clear",
        "timeout",
        "tls",
        "too-large",
        "unknown-host",
        "unreachable",
    }
)
# Why a part of the board is in trouble.
OF_PARTS: Final = frozenset(
    {
        "booked-hosts",
        "comments-entries",
        "comments-json",
        "consul-empty",
        "consul-error",
        "consul-filtered",
        "consul-refused",
        "descriptors",
        "failed",
        "folder-hung",
        "folder-overfull",
        "folder-unreadable",
        "hosts-file",
        "settings",
        "storage",
        "storage-damaged",
        "storage-hung",
        "storage-replaced",
        "storage-shared",
        "too-many",
    }
)
CODES: Final = OF_GPUS | OF_NODES | OF_SSH | OF_PULL | OF_THE_OUTSIDE | OF_PARTS
# Reasons whose sentence holds nothing but itself: the same for whoever asks, names or not.
PLAIN: Final = {
    "free": "nobody is on it",
    "divided": "divided into MIG instances; take one of those",
    "mig-empty": "MIG is on, and no instance has been made",
    "unknown-processes": "its processes cannot be read, so it may be in use",
    "unknown-memory": "its memory cannot be read, so it may be in use",
    "numbers-moved": "a GPU of this node is booked, and the numbers may have moved: it may be this one",
    "number-unread": "a booking of this node has no number that can be read: it may be this GPU",
    "new": "just arrived",
    "never": "no report has arrived yet",
    "left": "its source no longer lists it; it will be forgotten",
    "revoked": "its token was revoked; it will be forgotten",
    "unwritable": "what is known of it cannot be shown; the board's log says why",
}


def plain_reason(*, code: str) -> Reason:
    """One of the plain reasons, in its words."""
    return Reason(code=code, text=PLAIN[code])
