from contextlib import suppress

import msgspec
from hypothesis import given

from gpuboard.model.errors import ProbeError
from gpuboard.model.report import GpuReading, Problem
from gpuboard.probes.base import Devices
from gpuboard.probes.nvidia_smi.listing import name_instances, parse_list
from gpuboard.probes.nvidia_smi.tables import attach_apps, parse_apps_csv, parse_gpu_csv
from gpuboard.probes.nvidia_smi.xml import parse_xml
from tests.mutations import anything
from tests.probes.nvidia_smi.logs import MIG, NEW, OLD
from tests.probes.nvidia_smi.test_messages import SENTENCES
from tests.probes.nvidia_smi.test_tables import APP_FIELDS, FIELDS, HEADER, WITH_UNITS, WITHOUT_UNITS

LOGS = (NEW, OLD, MIG, *(text.encode() for text, *_ in SENTENCES))
TABLES = (HEADER + WITH_UNITS, WITHOUT_UNITS * 2, *(text.encode() for text, *_ in SENTENCES))
APPS = (
    b"timestamp, gpu_uuid, used_gpu_memory [MiB], process_name, pid\n2026/03/07 10:00, GPU-a, 5 MiB, a, 1\n",
    b"2026/03/07 10:00:00.000, GPU-a, 2296, /opt/a, b, and c/run --x=1,2, 21180\n",
    b"x, GPU-a, [Not Supported], [Not Supported], [Not Supported]\n",
)
LISTS = (b"GPU 0: A100 (UUID: GPU-a)\n  MIG 1g.5gb Device 0: (UUID: MIG-GPU-a/7/0)\n",)


def check(devices: Devices) -> None:
    """Whatever was read fits a report: every value within its type and range."""
    for gpu in devices.gpus:
        msgspec.convert(msgspec.to_builtins(gpu), GpuReading)
    for problem in devices.problems:
        msgspec.convert(msgspec.to_builtins(problem), Problem)


@given(anything(LOGS))
def test_no_document_breaks_the_parser(data: bytes) -> None:
    """It answers with devices or with an error of ours."""
    with suppress(ProbeError):
        check(parse_xml(data))


@given(anything(TABLES))
def test_no_table_breaks_the_parser(data: bytes) -> None:
    """With a header or with given fields."""
    for fields in (None, FIELDS):
        with suppress(ProbeError):
            check(parse_gpu_csv(data, fields))


@given(anything(APPS), anything(LISTS))
def test_no_list_of_processes_or_devices_breaks_the_parsers(apps: bytes, listing: bytes) -> None:
    """Joined with whole devices they still fit a report."""
    devices = parse_gpu_csv(WITHOUT_UNITS, FIELDS)
    check(name_instances(devices, parse_list(listing)))
    with suppress(ProbeError):
        check(attach_apps(devices, parse_apps_csv(apps, APP_FIELDS)))
