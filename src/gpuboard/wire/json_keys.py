"""Keys that stand twice in a JSON object: who writes them hopes that two readers take different values."""

from typing import Any, Final

from gpuboard.model.errors import WireError
from gpuboard.wire.clean import clean_text

_KEY_LENGTH: Final = 80


def refuse_twice(data: bytes | str) -> None:
    """Refuse a document in which any object has a key twice, however deep and however it is spelled.

    The decoder proper does not see this: the last one would win. Call this after it, so that its limits and
    its words for damaged documents stay. Slow (milliseconds for the largest report): for JSON only, which
    comes from files, from foreign tools and from people. Our own programs speak msgpack, where a report is
    about its sender alone and has one reader, so that a key said twice deceives nobody.

    Raises:
        WireError: a key stands twice, or this is no JSON at all.
    """
    import json  # noqa: PLC0415 - agents read no JSON, and are to stay small

    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    try:
        # Numbers are not looked at: one with thousands of digits would take its time.
        json.loads(
            text.removeprefix("\ufeff"),
            strict=False,
            object_pairs_hook=_check,
            parse_int=_skip,
            parse_float=_skip,
            parse_constant=_skip,
        )
    except RecursionError:
        raise WireError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise WireError(f"not whole JSON: {error.msg} at character {error.pos}") from None


def _check(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) == len(pairs):
        return
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise WireError(f"the key {clean_text(key[:_KEY_LENGTH])!r} stands twice in one object")
        seen.add(key)


def _skip(_text: str) -> None:
    return None
