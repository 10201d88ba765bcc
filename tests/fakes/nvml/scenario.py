"""What the stand-in driver shall tell, as values; `None` is a reading the device does not support."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

GIB: Final = 1 << 30
MIB: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How calls misbehave; function names as in NVML, `*` for all, without `_v2` for all versions."""

    errors: Mapping[str, int] = field(default_factory=dict)
    """Function to NVML return code."""
    hangs: tuple[str, ...] = ()
    """Functions that do not return until a later scenario no longer names them."""
    delays: Mapping[str, int] = field(default_factory=dict)
    """Function to milliseconds."""

    def lines(self) -> Iterator[str]:
        """Yield the statements of the scenario file."""
        yield from (f"error {function} {code}" for function, code in self.errors.items())
        yield from (f"hang {function}" for function in self.hangs)
        yield from (f"delay {function} {milliseconds}" for function, milliseconds in self.delays.items())


@dataclass(frozen=True, kw_only=True)
class FakeProcess:
    """One process on a GPU; without a name the fakes say what /proc says, as the real ones do."""

    pid: int
    memory: int | None
    """Bytes; None as on Windows, or in a container without rights."""
    kind: Literal["compute", "graphics", "both"] = "compute"
    name: str | bytes | None = None

    def line(self) -> str:
        """Return the statement of the scenario file."""
        memory = "na" if self.memory is None else self.memory
        return f"process {self.pid} {memory} {self.kind} {_escape(self.name or '')}".rstrip()


@dataclass(frozen=True, kw_only=True)
class FakeMig:
    """One MIG device of a GPU."""

    uuid: str
    profile: str = "1g.10gb"
    memory_total: int = 9856 * MIB
    memory_used: int = 12 * MIB
    gpu_instance: int = 7
    compute_instance: int = 0
    multiprocessors: int = 14
    gpu_slices: int = 1
    compute_slices: int = 1
    more: Mapping[str, int | None] = field(default_factory=dict)
    """Any other key of the scenario format."""
    processes: tuple[FakeProcess, ...] = ()
    rules: Rules = field(default_factory=Rules)

    def lines(self, index: int) -> Iterator[str]:
        """Yield the statements of the scenario file."""
        yield f"mig {index}"
        yield from _readings(self)


@dataclass(frozen=True, kw_only=True)
class FakeGpu:
    """One GPU; the defaults are an idle H100."""

    uuid: str
    number: int
    """The minor number; the index is the position in `Scenario.gpus`."""
    pci_bus_id: str = "00000000:1B:00.0"
    name: str | bytes = "NVIDIA H100 80GB HBM3"
    serial: str | None = "1650000000000"
    vbios: str | None = "96.00.A5.00.01"
    memory_total: int | None = 81559 * MIB
    memory_used: int | None = 0
    """Bytes without the reserved ones, as version 2 of the call and nvidia-smi tell it."""
    memory_reserved: int = 479 * MIB
    utilization: int | None = 0
    memory_utilization: int | None = 0
    temperature: int | None = 31
    fan: int | None = None
    power_milliwatts: int | None = 71_150
    power_limit_milliwatts: int | None = 700_000
    clock_graphics: int | None = 345
    clock_sm: int | None = 345
    clock_memory: int | None = 2619
    performance_state: int | None = 0
    throttle_reasons: int | None = 0x1
    ecc_mode: int | None = 1
    ecc_corrected_volatile: int | None = 0
    ecc_uncorrected_volatile: int | None = 0
    ecc_corrected_aggregate: int | None = 0
    ecc_uncorrected_aggregate: int | None = 0
    persistence_mode: int | None = 1
    pcie_generation: int | None = 5
    pcie_width: int | None = 16
    mig_mode: int | None = 0
    more: Mapping[str, int | None] = field(default_factory=dict)
    """Any other key of the scenario format."""
    lost: bool = False
    processes: tuple[FakeProcess, ...] = ()
    migs: tuple[FakeMig, ...] = ()
    rules: Rules = field(default_factory=Rules)

    def lines(self) -> Iterator[str]:
        """Yield the statements of the scenario file."""
        yield f"gpu {self.number}"
        if self.lost:
            yield "lost"
        yield from _readings(self)
        for index, mig in enumerate(self.migs):
            yield from mig.lines(index)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One state of a machine's driver and GPUs."""

    driver: str = "535.104.05"
    cuda: int = 12020
    gpus: tuple[FakeGpu, ...] = ()
    rules: Rules = field(default_factory=Rules)

    def with_rules(self, rules: Rules) -> Self:
        """Return the same machine with other global rules."""
        return replace(self, rules=rules)

    # Any: the keyword arguments are the fields of FakeGpu, which `replace` checks.
    def with_gpu(self, index: int, **changes: Any) -> Self:  # noqa: ANN401
        """Return the same machine with one GPU changed."""
        gpus = list(self.gpus)
        gpus[index] = replace(gpus[index], **changes)
        return replace(self, gpus=tuple(gpus))

    def without_gpu(self, index: int) -> Self:
        """Return the machine with one GPU gone; the ones behind it move up."""
        return replace(self, gpus=self.gpus[:index] + self.gpus[index + 1 :])

    def text(self) -> str:
        """Return the content of the scenario file."""
        lines = [f"driver {_escape(self.driver)}", f"cuda {self.cuda}", *self.rules.lines()]
        for gpu in self.gpus:
            lines.extend(gpu.lines())
        return "\n".join(lines) + "\n"

    def write(self, path: Path) -> None:
        """Replace the file in one step, so that a running process sees the old or the new one, never half."""
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(self.text())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)


def _readings(device: FakeGpu | FakeMig) -> Iterator[str]:
    structure = {"number", "more", "lost", "processes", "migs", "rules"}
    readings = {key: value for key, value in vars(device).items() if key not in structure}
    for key, value in (readings | dict(device.more)).items():
        yield (
            f"na {key}"
            if value is None
            else f"{key} {_escape(value) if isinstance(value, str | bytes) else value}"
        )
    yield from device.rules.lines()
    yield from (process.line() for process in device.processes)


def _escape(text: str | bytes) -> str:
    """Write any bytes as one ASCII value; `na` and every `#` are escaped to lose their meaning."""
    raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    if raw == b"na":
        return "\\x6ea"
    escaped = "".join(
        chr(byte) if 0x20 < byte < 0x7F and byte not in b"\\#" else f"\\x{byte:02x}" for byte in raw
    )
    inner = escaped.replace("\\x20", " ")
    return inner if inner == inner.strip() else escaped
