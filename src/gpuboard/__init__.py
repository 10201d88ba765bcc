"""gpuboard: which GPU is free now, and who has the others."""

from typing import Final

__version__: Final = "0.1.0"
