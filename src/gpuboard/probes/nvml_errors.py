"""NVML's errors in our words."""

import os
from pathlib import Path
from typing import Final

import pynvml

from gpuboard.model.errors import ProbeError, ProbeFailed, ProbeUnavailable
from gpuboard.model.problems import ProblemKind, problem
from gpuboard.probes.nvml_values import library_version, module_version

# Not failures: this device, this driver or this moment simply has no such value.
QUIET: Final = frozenset(
    {
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
        pynvml.NVML_ERROR_VGPU_ECC_NOT_SUPPORTED,
        pynvml.NVML_ERROR_DEPRECATED,
        pynvml.NVML_ERROR_NO_DATA,
        pynvml.NVML_ERROR_NOT_FOUND,
    }
)
# Nothing else that this device says can be trusted, or would even come.
FATAL: Final = frozenset({pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_GPU_NOT_FOUND})
# Not this device but the session is over; it must be opened again.
SESSION_OVER: Final = frozenset({pynvml.NVML_ERROR_UNINITIALIZED, pynvml.NVML_ERROR_DRIVER_NOT_LOADED})
_DEVICE_KINDS: Final[dict[int, ProblemKind]] = {
    pynvml.NVML_ERROR_GPU_IS_LOST: "gpu-lost",
    pynvml.NVML_ERROR_GPU_NOT_FOUND: "gpu-lost",
    pynvml.NVML_ERROR_RESET_REQUIRED: "gpu-needs-reset",
    pynvml.NVML_ERROR_NO_PERMISSION: "no-device-access",
}


def device_kind(code: int) -> ProblemKind:
    """What it means when a device answers with nothing but this error."""
    return _DEVICE_KINDS.get(code, "driver-error")


def explain(  # noqa: PLR0911 - one return per kind
    error: pynvml.NVMLError, *, root: Path
) -> ProbeError:
    """Turn an error of the driver as a whole into ours, with both versions where they differ."""
    match error.value:
        case pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
            return ProbeUnavailable(problem("no-driver", "the library libnvidia-ml.so.1 is not installed"))
        case pynvml.NVML_ERROR_DRIVER_NOT_LOADED:
            return ProbeUnavailable(problem("no-driver", "its kernel module is not loaded"))
        case pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
            return ProbeFailed(problem("driver-mismatch", _versions(root)))
        case pynvml.NVML_ERROR_NO_PERMISSION:
            return ProbeFailed(problem("no-permission", str(error)))
        case pynvml.NVML_ERROR_GPU_IS_LOST | pynvml.NVML_ERROR_RESET_REQUIRED:
            return ProbeFailed(
                problem(device_kind(error.value), f"the driver answers nothing else ({error})")
            )
    closed = _closed_device(root)
    if closed is not None:
        return ProbeFailed(problem("no-device-access", closed))
    return ProbeFailed(problem("driver-error", f"{error} (NVML error {error.value})"))


def _versions(root: Path) -> str:
    try:
        # This one answers without a session.
        library = library_version(pynvml.nvmlSystemGetNVMLVersion())
    except (pynvml.NVMLError, UnicodeDecodeError):
        library = None
    try:
        module = module_version((root / "proc/driver/nvidia/version").read_text(errors="replace"))
    except OSError:
        module = None
    return f"library {library or 'unknown'}, kernel module {module or 'unknown'}"


def _closed_device(root: Path) -> str | None:
    """Why the driver's own device cannot be opened; None when it can, or when there is none.

    A container whose rights were taken away while it ran only ever hears "unknown error" from NVML.
    """
    device = root / "dev/nvidiactl"
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except FileNotFoundError:
        return "/dev/nvidiactl is missing"
    except OSError as error:
        return f"/dev/nvidiactl: {error.strerror}"
    return None
