"""What a list says of where a node belongs, turned into groups. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gpuboard.wire.clean import clean_text, is_blank

# The words under which people say where a machine is: as keys of metadata, or in tags (`rack=a7`).
KEYS: Final = ("site", "cluster", "rack")
# Whoever may register a node writes these: more, or longer ones, are nobody's racks.
MAX_GROUPS: Final = 8
MAX_GROUP_LENGTH: Final = 64


def groups_from(tags: Iterable[str], meta: Mapping[str, str]) -> tuple[str, ...]:
    """The groups of a node: its site, cluster and rack, then its plain tags; each once, and not too many."""
    named = [*_named(tags, meta), *(tag for tag in tags if "=" not in tag)]
    cleaned = (clean_text(text.strip()) for text in named if len(text) <= MAX_GROUP_LENGTH)
    fitting = [text for text in cleaned if len(text) <= MAX_GROUP_LENGTH and not is_blank(text)]
    return tuple(dict.fromkeys(fitting))[:MAX_GROUPS]


def _named(tags: Iterable[str], meta: Mapping[str, str]) -> Iterator[str]:
    said = [tag.partition("=") for tag in tags]
    for key in KEYS:
        yield from (value for name, value in meta.items() if name.lower() == key)
        yield from (value for name, sign, value in said if sign and name.strip().lower() == key)
