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
        "bookings-unread",
        "stray-process",
        "new",
        "past",
        "not-observed",
        "unwritable",
    }
)
# Why something cannot be booked, or what is worth a word though it is.
OF_BOOKINGS: Final = frozenset(
    {
        "booking-ahead",
        "booking-backwards",
        "booking-begun",
        "booking-broken",
        "booking-broken-now",
        "booking-chosen-smallest",
        "booking-chosen-spread",
        "booking-conflict",
        "booking-gpus-at-once",
        "booking-hours-per-week",
        "booking-in-use",
        "booking-longest",
        "booking-no-such-place",
        "booking-not-enough",
        "booking-not-yours",
        "booking-nothing",
        "booking-outdated",
        "booking-over",
        "booking-past",
        "booking-stale",
        "booking-stale-now",
        "booking-too-far",
        "booking-too-many",
        "booking-too-many-open",
        "booking-twice",
        "booking-unknown",
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
        "booked-gpus",
        "booked-hosts",
        "certificate-ends",
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
        "folder-waits",
        "history",
        "history-damaged",
        "history-hung",
        "history-paused",
        "hosts-file",
        "settings",
        "storage",
        "storage-damaged",
        "storage-hung",
        "storage-lost",
        "storage-replaced",
        "storage-shared",
        "too-many",
        "unmatched-names",
    }
)
# Why a request is not done: told to whoever asked, in the words of the page that did.
OF_REQUESTS: Final = frozenset(
    {
        "bad-password",
        "csrf",
        "history-too-much",
        "link-over",
        "link-unknown",
        "link-used",
        "needs-https",
        "needs-password",
        "too-many-guesses",
        "wrong-password",
    }
)
# Of whom the board's log tells: the provider that people sign in by, and its own socket. And why the board
# lets in nobody whom that provider knows, as the page for signing in says.
OF_SIGNING_IN: Final = frozenset(
    {"oidc-address", "oidc-groups", "oidc-issuer", "oidc-nobody", "oidc-nonsense", "oidc-refused", "socket"}
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
    "bookings-unread": "the bookings cannot be read, so it may be booked",
    "new": "just arrived",
    "past": "as it was then; why is not kept",
    "not-observed": "nothing is known of this moment",
    "never": "no report has arrived yet",
    "left": "its source no longer lists it; it will be forgotten",
    "revoked": "its token was revoked; it will be forgotten",
    "unwritable": "what is known of it cannot be shown; the board's log says why",
}


def plain_reason(*, code: str) -> Reason:
    """One of the plain reasons, in its words."""
    return Reason(code=code, text=PLAIN[code])
