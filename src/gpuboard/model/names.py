"""What models and people are called."""

import re
from functools import lru_cache
from typing import Final

_NOISE: Final = re.compile(
    r"\b(NVIDIA|GeForce|Tesla|Quadro|Corporation|Graphics|SXM\d?|PCIe?|HBM\d\w?|NVL)\b", re.IGNORECASE
)
_SIZE: Final = re.compile(r"(\d+) ?GB\b", re.IGNORECASE)


@lru_cache(maxsize=1024)
def short_model(model: str) -> str:
    """Shorten `NVIDIA A100-SXM4-80GB` to `A100 80G`; text without anything known stays as it is."""
    words = _SIZE.sub(r"\1G", _NOISE.sub(" ", model.replace("-", " ")))
    return " ".join(words.split()) or model


def holder_name(user: str | None, uid: int | None) -> str:
    """What to call somebody on a GPU: by number where no name is known."""
    if user:
        return user
    return "unknown" if uid is None else f"uid {uid}"
