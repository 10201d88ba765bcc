"""What models, GPUs and people are called, and in which order GPUs stand."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from gpuboard.model.report import GpuReading

_NOISE: Final = re.compile(
    r"\b(NVIDIA|GeForce|Tesla|Quadro|Corporation|Graphics|SXM\d?|PCIe?|HBM\d\w?|NVL)\b", re.IGNORECASE
)
# Not the end of a profile like `1g.10gb`: that is a name.
_SIZE: Final = re.compile(r"(?<![.\d])(\d+) ?GB\b", re.IGNORECASE)
_PROFILE: Final = re.compile(r"(?:\bMIG\b)? *\b\d+[cg]\.[\w.+]+", re.IGNORECASE)
_SLICES: Final = re.compile(r"\b(\d)[cg]\.", re.IGNORECASE)

# Between the UUID of a GPU and its node, where several nodes have the same; no UUID has it in itself.
NODE_MARK: Final = "@"
# Where a node has GPUs of several vendors, those of the second are numbered from here on, and so forth.
# More than any report may hold, so that a number always tells the driver's.
NUMBERS_PER_VENDOR: Final = 1000


@lru_cache(maxsize=1024)
def short_model(model: str) -> str:
    """Shorten `NVIDIA A100-SXM4-80GB` to `A100 80G`; text without anything known stays as it is."""
    words = _SIZE.sub(r"\1G", _NOISE.sub(" ", model.replace("-", " ")))
    return " ".join(words.split()) or model


def without_profile(model: str) -> str:
    """A model without the MIG profile that some drivers write into it: `A100 MIG 1g.10gb` is an `A100`."""
    return _PROFILE.sub("", model).strip()


def compute_slices(model: str) -> int | None:
    """How many of a card's compute slices the MIG profile in a name has: 3 of `A100 3g.40gb`; None: none."""
    found = _SLICES.search(model)
    return None if found is None else int(found[1])


def is_part_of_model(part: str, *models: str | None) -> bool:
    """Whether a part is in one of the names that a model has; case says nothing."""
    wanted = part.lower()
    return any(wanted in (model or "").lower() for model in models)


def holder_name(user: str | None, uid: int | None) -> str:
    """What to call somebody on a GPU: by number where no name is known."""
    if user:
        return user
    return "unknown" if uid is None else f"uid {uid}"


def node_title(name: str, display_name: str | None) -> str:
    """A node for people who read: what they call it, and the name by which it is reached."""
    return name if display_name is None or display_name == name else f"{display_name} ({name})"


def gpu_labels(gpus: Sequence[GpuReading]) -> list[str]:
    """The numbers that people say: `0`, and `0:1` for an instance of GPU 0, `?:1` if its card is missing."""
    if all(gpu.mig_parent_uuid is None for gpu in gpus):
        return [str(gpu.index) for gpu in gpus]
    cards = {gpu.uuid: str(gpu.index) for gpu in gpus}
    return [
        str(gpu.index)
        if gpu.mig_parent_uuid is None
        else f"{cards.get(gpu.mig_parent_uuid, '?')}:{gpu.index}"
        for gpu in gpus
    ]


def in_order(gpus: Iterable[GpuReading]) -> tuple[GpuReading, ...]:
    """GPUs by their index, each followed by its instances."""
    found = list(gpus)
    places = {gpu.uuid: gpu.index for gpu in found}

    def place(gpu: GpuReading) -> tuple[int, str, int]:
        if gpu.mig_parent_uuid is None:
            return gpu.index, gpu.uuid, -1
        return places.get(gpu.mig_parent_uuid, gpu.index), gpu.mig_parent_uuid, gpu.index

    return tuple(sorted(found, key=place))


def slot_of(bus_id: str | None) -> str:
    """A PCI address as it can be compared: some write its domain with four digits, some with eight."""
    return (bus_id or "").lower()[-12:]


def driver_index(index: int) -> int:
    """The number by which the vendor's own driver and programs know a GPU."""
    return index % NUMBERS_PER_VENDOR


def place_key(label: str) -> tuple[int, ...]:
    """Labels in the order of their numbers: `2`, `10`, `10:0`."""
    return tuple(int(part) if part.isdigit() else -1 for part in label.split(":"))


def device_uuid(uuid: str) -> str:
    """What the driver calls a GPU that the board calls so."""
    return uuid.partition(NODE_MARK)[0]
