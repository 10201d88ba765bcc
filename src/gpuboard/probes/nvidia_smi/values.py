"""What nvidia-smi writes for one value, as a number, a word, or the reason why there is none."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal

from gpuboard.model.units import MIB
from gpuboard.wire.clean import clean_text

Silence = Literal["unsupported", "error", "refused", "reset", "lost"]

# In brackets or not, in any case, depending on the driver's age and the output's form.
_SILENCES: Final[dict[str, Silence]] = {
    "": "unsupported",
    "-": "unsupported",
    "n/a": "unsupported",
    "none": "unsupported",
    "not found": "unsupported",
    "not available": "unsupported",
    "not supported": "unsupported",
    "requested functionality has been deprecated": "unsupported",
    "unknown": "error",
    "err!": "error",
    "error": "error",
    "unknown error": "error",
    "timeout": "error",
    "insufficient permissions": "refused",
    "no permission": "refused",
    "gpu requires reset": "reset",
    "gpu is lost": "lost",
    "gpu access blocked by the operating system": "refused",
}
# Drivers repeat themselves: what short texts mean is remembered, for so many of them.
_REMEMBERED: Final = 4096
_LONGEST: Final = 64
_NUMBER: Final = re.compile(r"([+-]?\d{1,20}(?:\.\d{1,20})?)\s*([A-Za-z%]*)")
_SIZES: Final = {
    "": MIB,
    "b": 1,
    "bytes": 1,
    "kib": 1024,
    "kb": 1024,
    "mib": MIB,
    "mb": MIB,
    "m": MIB,
    "gib": MIB * 1024,
    "gb": MIB * 1024,
}
_SWITCHES: Final = {"enabled": True, "yes": True, "on": True, "disabled": False, "no": False, "off": False}
# 16 TiB: more is no memory but a driver's way of saying that it does not know.
_LARGEST_SIZE: Final = 2**44
_LENGTH: Final = 256
_WINDOWS_PROGRAM: Final = re.compile(r"[A-Za-z]:\\(?:[^\\]*\\)*?([^\\]*?\.exe)", re.IGNORECASE)


def silence(text: str) -> Silence | None:
    """Why this text is no value; None when it is one."""
    return _silence(text if len(text) <= _LONGEST else text.strip()[:_LONGEST])


@lru_cache(_REMEMBERED)
def _silence(text: str) -> Silence | None:
    return _SILENCES.get(text.strip().strip("[]").strip().rstrip(".").lower())


@lru_cache(_REMEMBERED)
def _figure(text: str) -> tuple[float, str] | None:
    """The number in a text and its unit."""
    match = _NUMBER.fullmatch(text.strip())
    return None if match is None else (float(match[1]), match[2].lower())


def number(text: str | None, *, low: float = 0, high: float) -> float | None:
    """The number in `37 C`, `98 %`, `16x` or `250.00 W`; None when unknown or out of all reason."""
    figure = None if text is None or len(text) > _LONGEST else _figure(text)
    if figure is None:
        return None
    value, _ = figure
    # Drivers have been seen to print 4294967295 and the like for "unknown".
    return value if low <= value <= high else None


def count(text: str | None, *, high: int = 2**53) -> int | None:
    """The whole number in a text; None when unknown or out of all reason."""
    value = number(text, high=high)
    return None if value is None else int(value)


def size(text: str | None) -> int | None:
    """The bytes in `11172 MiB`; a bare number is MiB, as nvidia-smi writes without units."""
    figure = None if text is None or len(text) > _LONGEST else _figure(text)
    if figure is None or figure[1] not in _SIZES:
        return None
    value = figure[0] * _SIZES[figure[1]]
    return int(value) if 0 <= value <= _LARGEST_SIZE else None


def switch(text: str | None) -> bool | None:
    """Whether something is on; None when unknown."""
    return _SWITCHES.get((text or "").strip().lower())


def word(text: str | None) -> str | None:
    """A short text, harmless and within a report's limit; None when the driver could not tell."""
    plain = (text or "").strip()
    return None if silence(plain) else _short(plain)


def program_name(text: str | None) -> str | None:
    """The program in what may be a whole command line: never an argument, they hold secrets."""
    plain = (text or "").strip()[:4096]
    if silence(plain):
        return None
    windows = _WINDOWS_PROGRAM.match(plain)
    name = windows[1] if windows else plain.split()[0].rsplit("/", 1)[-1]
    return _short(name) or None


def _short(text: str) -> str:
    # Escapes make a text longer, so it is cut after cleaning; before it too, to save the work.
    return clean_text(text[:_LENGTH])[:_LENGTH]


class DeviceTexts:
    """The texts that one device gave, by field; remembers which fields it would not tell, and why."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.silent: dict[Silence, list[str]] = {}

    def first(self, names: tuple[str, ...]) -> str | None:
        """The first of these fields that holds a value; drivers rename fields over the years."""
        for name in names:
            text = self._texts.get(name)
            if text is not None and silence(text) is None:
                return text
        self._note_silence(names)
        return None

    def _note_silence(self, names: tuple[str, ...]) -> None:
        for name in names:
            reason = silence(self._texts[name]) if name in self._texts else None
            if reason is not None:
                self.silent.setdefault(reason, []).append(name)

    def total(self, names: Iterable[str]) -> int | None:
        """The sum of those counters that are known; None when none is."""
        known = [value for name in names if (value := count(self.first((name,)))) is not None]
        return sum(known) if known else None

    def starting(self, *prefixes: str) -> dict[str, str]:
        """The fields whose names start so, by the rest of the name."""
        found = [name for name in self._texts if name.startswith(prefixes)]
        return {
            name.removeprefix(prefix): self._texts[name]
            for prefix in prefixes
            for name in found
            if name.startswith(prefix)
        }
