"""A stand-in nvidia-smi command that tells what the scenario file of the fake driver says."""

import os
from pathlib import Path
from typing import Final, Literal

COMMAND: Final = Path(__file__).with_name("nvidia-smi")


def environment(scenario_path: Path, *, style: Literal["old", "newest"] | None = None) -> dict[str, str]:
    """Return the variables that put the command on the PATH of a new process; add them to its environment.

    The style is the generation of drivers whose output it imitates; the default is about 2023.
    """
    variables = {"GPUBOARD_FAKE_NVML": str(scenario_path), "GPUBOARD_FAKE_SMI_STYLE": style or ""}
    return variables | {"PATH": f"{COMMAND.parent}:{os.environ.get('PATH', os.defpath)}"}
