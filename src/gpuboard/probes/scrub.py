"""Command lines without their secrets, for nodes whose owner lets arguments leave the machine."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

HIDDEN: Final = "***"

# The parts of an option's or variable's name that promise a secret.
_SECRET_PARTS: Final = frozenset(
    {
        *("auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials", "creds"),
        *("otp", "pass", "passphrase", "passwd", "password", "passwords", "pat", "pw", "pwd"),
        *("secret", "secrets", "sig", "signature", "token"),
    }
)
_SECRET_ENDINGS: Final = (
    *("password", "passwd", "passphrase", "secret", "token", "credentials"),
    *("apikey", "accesskey", "authkey", "privatekey", "secretkey"),
)
# Kinds of key that are secret; a cache key or a sort key is not.
_KEY_KINDS: Final = frozenset(
    {
        *("access", "account", "api", "app", "auth", "client", "consumer", "deploy", "encryption", "license"),
        *("master", "private", "secret", "service", "shared", "signing", "ssh", "storage", "subscription"),
        "wandb",
    }
)
# Options that carry a secret without saying so, for the programs where they do.
_OPTIONS: Final = {
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mariadb", "mongo", "mongosh", "sshpass"), ("-p",)),
    **dict.fromkeys(("docker", "podman", "7z"), ("-p",)),
    **dict.fromkeys(("zip", "unzip", "sqlcmd"), ("-P",)),
    **dict.fromkeys(("ldapsearch", "ldapmodify"), ("-w",)),
    "curl": ("-u", "-U", "--user", "--proxy-user"),
    "redis-cli": ("-a",),
    "smbclient": ("-U",),
}
_SCHEMES: Final = ("bearer", "basic", "negotiate")
_PATTERNS: Final = tuple(
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        # What stands before the @ of an address: user and password, or a bare token.
        (r"(\b[A-Za-z][A-Za-z0-9+.-]*://)\S+@", rf"\1{HIDDEN}@"),
        (r"(?i)(\b(?:bearer|basic|negotiate)\s+)[^\s\"']+", rf"\1{HIDDEN}"),
        # The forms that services give their keys.
        (r"(?<![A-Za-z0-9])A(?:KIA|SIA|ROA|IDA)[A-Z0-9]{12,}", HIDDEN),
        (r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][\w-]{12,}", HIDDEN),
        (r"(?<![A-Za-z0-9])(?:gh[oprsu]|hf|npm)_[A-Za-z0-9]{12,}", HIDDEN),
        (r"(?<![A-Za-z0-9])(?:github_pat_|glpat-|nvapi-|pypi-|xox[a-z]-)[\w-]{12,}", HIDDEN),
        (r"(?<![A-Za-z0-9])AIza[\w-]{30,}", HIDDEN),
        (r"(?<![A-Za-z0-9])eyJ[\w-]{8,}(?:\.[\w-]*)*", HIDDEN),
        (r"(?<![A-Za-z0-9])(?:[0-9a-f]{32,}|[0-9A-F]{32,})(?![A-Za-z0-9])", HIDDEN),
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", HIDDEN),
    )
)
# A name and what joins it to its value: `API_KEY=`, `"password": `, `X-Api-Key: `, `?token=`, `--password `.
_NAME: Final = re.compile(r"""([?&]|-*)([A-Za-z_][\w.-]*)(["']?\s*(?:=|:(?!//))\s*|\s+)""")
_QUERY_END: Final = re.compile(r"[&#\s]")


def scrub(argv: Sequence[str]) -> list[str]:
    """Return the command line with whatever looks like a secret replaced by `***`.

    It errs on the side of hiding; what does not look like a secret it cannot hide.
    """
    options = _OPTIONS.get(argv[0].rpartition("/")[2], ()) if argv else ()
    scrubbed: list[str] = []
    hide_next = False
    for word in argv:
        if hide_next and not word.startswith("--"):
            scrubbed.append(HIDDEN)
            # `Authorization: Bearer x` may come as three words.
            hide_next = word.lower() in _SCHEMES
        else:
            hide_next = word in options or _announces_secret(word)
            scrubbed.append(_scrub_word(word, options))
    return scrubbed


def is_secret_name(name: str) -> bool:
    """Whether an option or a variable of this name holds a secret: `--hf-token`, `apiKey`, `DB_PASSWORD`."""
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    words = [word for word in re.split(r"[^a-z0-9]+", separated) if word]
    if not words:
        return False
    if _SECRET_PARTS.intersection(words) or "".join(words).endswith(_SECRET_ENDINGS):
        return True
    return words[-1] in ("key", "keys") and (len(words) == 1 or not _KEY_KINDS.isdisjoint(words))


def _announces_secret(word: str) -> bool:
    """Whether the next word is a secret."""
    if word.lower() in _SCHEMES:
        return True
    if word.endswith((":", "=")):
        return is_secret_name(word[:-1])
    return word.startswith("-") and not re.search(r"[=:\s]", word) and is_secret_name(word)


def _scrub_word(word: str, options: tuple[str, ...]) -> str:
    for option in options:
        attached = word.removeprefix(option)
        # Attached to a short option directly, to a long one by an equals sign.
        if attached and attached != word and (not option.startswith("--") or attached.startswith("=")):
            return option + HIDDEN
    for pattern, replacement in _PATTERNS:
        word = pattern.sub(replacement, word)
    return "".join(_without_values(word))


def _without_values(word: str) -> Iterator[str]:
    """Yield the word in pieces, each value with a secret's name replaced."""
    kept = position = 0
    while match := _NAME.search(word, position):
        position = match.end()
        # A blank joins only an option to its value, in a command within a command.
        joins = match[1].startswith("-") or not match[3].isspace()
        if joins and is_secret_name(match[2]) and position < len(word):
            yield word[kept:position]
            yield HIDDEN
            kept = position = _end_of_value(word, position, in_query=match[1] in ("?", "&"))
    yield word[kept:]


def _end_of_value(word: str, start: int, *, in_query: bool) -> int:
    if in_query:
        end = _QUERY_END.search(word, start)
        return end.start() if end else len(word)
    if word[start] in "\"'":
        closing = re.compile(rf"(?<!\\){word[start]}").search(word, start + 1)
        return closing.end() if closing else len(word)
    # Without quotes nobody can tell where a secret ends, so nothing after it is shown.
    return len(word)
