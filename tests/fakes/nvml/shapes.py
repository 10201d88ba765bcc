"""Ready-made machines: the ones that real trouble reports are about."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from tests.fakes.nvml.scenario import GIB, MIB, FakeGpu, FakeMig, FakeProcess, Rules, Scenario

NO_PERMISSION: Final = 4
DRIVER_NOT_LOADED: Final = 9
MISMATCH: Final = 18

# Where an eight-way board has its GPUs.
BUSES: Final = ("1B", "43", "52", "61", "9D", "C3", "D1", "DF")
FICTIONAL_PIDS: Final = range(4_000_001, 4_000_017)


def eight_busy_datacenter(pids: Sequence[int] = FICTIONAL_PIDS) -> Scenario:
    """Return eight H100 at work, two processes each; peers that look pids up need real ones."""
    ids = cycle(pids)
    return Scenario(
        gpus=tuple(
            FakeGpu(
                uuid=_uuid("GPU", f"datacenter-{index}"),
                number=index,
                pci_bus_id=f"00000000:{bus}:00.0",
                serial=f"165252300{index:04}",
                memory_used=(41 + index) * GIB,
                utilization=90 + index,
                memory_utilization=40 + index,
                temperature=60 + index,
                power_milliwatts=600_500 + 1_000 * index,
                clock_graphics=1980,
                clock_sm=1980,
                throttle_reasons=0,
                more={"nvlinks": 18, "nvlinks_active": 16},
                processes=(
                    FakeProcess(pid=next(ids), memory=40 * GIB, name="/opt/conda/bin/python"),
                    FakeProcess(pid=next(ids), memory=index * GIB + 300 * MIB, name="python3"),
                ),
            )
            for index, bus in enumerate(BUSES)
        ),
    )


def four_consumer_cards() -> Scenario:
    """Return four RTX 4090, no ECC, serial, power limit or MIG; GPU 0 has the display, GPU 2 no fan."""
    desktop = FakeProcess(pid=4_000_101, memory=410 * MIB, kind="graphics", name="/usr/lib/xorg/Xorg")
    browser = FakeProcess(
        pid=4_000_102, memory=183 * MIB, kind="both", name="/usr/lib/chromium/chromium --type=gpu,x"
    )
    trainer = FakeProcess(pid=4_000_103, memory=18 * GIB, name="python")
    return Scenario(
        gpus=tuple(
            FakeGpu(
                uuid=_uuid("GPU", f"consumer-{index}"),
                number=index,
                pci_bus_id=f"00000000:{0x21 + 0x20 * index:02X}:00.0",
                name="NVIDIA GeForce RTX 4090",
                serial=None,
                memory_total=24564 * MIB,
                memory_used=(700 * MIB, 18 * GIB, 0, 0)[index],
                memory_reserved=346 * MIB,
                utilization=(3, 99, 0, 0)[index],
                temperature=(45, 71, 33, 34)[index],
                fan=(30, 64, None, 0)[index],
                power_milliwatts=(38_200, 389_910, 18_000, 21_500)[index],
                power_limit_milliwatts=None,
                performance_state=(8, 2, 8, 8)[index],
                ecc_mode=None,
                ecc_corrected_volatile=None,
                ecc_uncorrected_volatile=None,
                ecc_corrected_aggregate=None,
                ecc_uncorrected_aggregate=None,
                persistence_mode=0,
                pcie_generation=4,
                mig_mode=None,
                more={"display_active": int(index == 0), "brand": 5, "compute_capability": 89},
                processes=((desktop, browser), (trainer,), (), ())[index],
            )
            for index in range(4)
        ),
    )


def one_lost_of_eight(index: int = 3) -> Scenario:
    """Return eight busy GPUs of which one has fallen off the bus."""
    return eight_busy_datacenter().with_gpu(index, lost=True)


def mig_a100() -> Scenario:
    """Return an A100 cut into four MIG devices, and one left whole."""
    profiles = (
        ("3g.40gb", 3, 40448, 42),
        ("2g.20gb", 2, 19968, 28),
        ("1g.10gb", 1, 9728, 14),
        ("1g.10gb", 1, 9728, 14),
    )
    migs = tuple(
        FakeMig(
            uuid=_uuid("MIG", f"a100-{index}"),
            profile=profile,
            memory_total=mebibytes * MIB,
            memory_used=(11 * GIB if index == 0 else 12 * MIB),
            gpu_instance=(2, 3, 9, 10)[index],
            multiprocessors=multiprocessors,
            gpu_slices=slices,
            compute_slices=slices,
            processes=(FakeProcess(pid=4_000_201, memory=10 * GIB, name="./train"),) if index == 0 else (),
        )
        for index, (profile, slices, mebibytes, multiprocessors) in enumerate(profiles)
    )
    whole = FakeGpu(
        uuid=_uuid("GPU", "a100-whole"),
        number=1,
        pci_bus_id="00000000:43:00.0",
        name="NVIDIA A100-SXM4-80GB",
        memory_total=81920 * MIB,
        power_limit_milliwatts=500_000,
        pcie_generation=4,
    )
    cut = replace(
        whole,
        uuid=_uuid("GPU", "a100-cut"),
        number=0,
        pci_bus_id="00000000:01:00.0",
        memory_used=11 * GIB + 36 * MIB,
        # A GPU in MIG mode cannot tell how busy it is.
        utilization=None,
        memory_utilization=None,
        mig_mode=1,
        more={"encoder_utilization": None, "decoder_utilization": None},
        migs=migs,
    )
    return Scenario(driver="535.54.03", gpus=(cut, whole))


def sixteen_cut(name: str = "cut") -> Scenario:
    """Return sixteen GPUs of seven MIG devices each, which is as many as there are; somebody is on each."""
    first = mig_a100().gpus[0]
    device = first.migs[2]

    def migs(gpu: int) -> tuple[FakeMig, ...]:
        return tuple(
            replace(
                device,
                uuid=_uuid("MIG", f"{name}-{gpu}-{place}"),
                memory_used=8 * GIB,
                gpu_instance=7 + place,
                processes=(FakeProcess(pid=4_100_000 + 10 * gpu + place, memory=8 * GIB, name="./train"),),
            )
            for place in range(7)
        )

    return Scenario(
        driver="535.54.03",
        gpus=tuple(
            replace(
                first,
                uuid=_uuid("GPU", f"{name}-{gpu}"),
                number=gpu,
                pci_bus_id=f"00000000:{gpu + 1:02X}:00.0",
                migs=migs(gpu),
            )
            for gpu in range(16)
        ),
    )


def mismatch() -> Scenario:
    """Return a machine whose library was upgraded under a running driver."""
    return eight_busy_datacenter().with_rules(Rules(errors={"nvmlInit": MISMATCH}))


def no_driver() -> Scenario:
    """Return a machine without a loaded driver."""
    return Scenario(rules=Rules(errors={"nvmlInit": DRIVER_NOT_LOADED}))


def no_permission() -> Scenario:
    """Return a machine whose device files we may not open."""
    return Scenario(rules=Rules(errors={"nvmlInit": NO_PERMISSION}))


def zero_gpus() -> Scenario:
    """Return a machine with a driver and no GPU."""
    return Scenario()


def everything_hangs() -> Scenario:
    """Return eight GPUs behind a driver that no longer answers anything."""
    return eight_busy_datacenter().with_rules(Rules(hangs=("*",)))


def one_gpu_hangs(index: int = 3) -> Scenario:
    """Return eight GPUs of which one can be found, but any question to it hangs."""
    return eight_busy_datacenter().with_gpu(index, rules=Rules(hangs=("*",)))


def _uuid(prefix: str, name: str) -> str:
    return f"{prefix}-{uuid5(NAMESPACE_OID, name)}"
