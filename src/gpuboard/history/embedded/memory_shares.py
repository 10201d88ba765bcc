"""Whose the memory of a shared GPU was: by what each had run there, and how much that held at most."""

from typing import Final

from gpuboard.history.embedded import notes
from gpuboard.history.embedded.reading import Look
from gpuboard.history.embedded.usage import Cut
from gpuboard.history.figures import MIB

_NO_LIMIT: Final = -1


class MemoryShares:
    """What people held on GPUs within a span, looked up for those GPUs that several shared."""

    def __init__(self, look: Look, cut: Cut) -> None:
        self._look = look
        self._span = (cut.start_ms / 1000, cut.end_ms / 1000)
        # GPU → person → MiB times seconds.
        self._held: dict[str, dict[str, int]] = {}

    def of(self, gpu: str, parts: dict[str, int]) -> dict[str, int]:
        """By what the memory is divided: what each held; where that is not known of all, these parts."""
        if len(parts) <= 1:
            return parts
        held = self._held.get(gpu)
        if held is None:
            held = self._held[gpu] = self._look_up(gpu)
        return {name: held[name] for name in parts} if all(held.get(name) for name in parts) else parts

    def _look_up(self, gpu: str) -> dict[str, int]:
        start, end = self._span
        found: dict[str, int] = {}
        for one in notes.read_episodes(self._look.connection, start, end, gpu=gpu, limit=_NO_LIMIT):
            seconds = min(end, end if one.end is None else one.end) - max(start, one.start)
            held = round((one.memory_peak_bytes or 0) / MIB * max(0.0, seconds))
            found[one.person] = found.get(one.person, 0) + held
        return found
