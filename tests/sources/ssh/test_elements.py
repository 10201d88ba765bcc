"""What driver.awk lets through over ssh is what the board reads, no less and no more."""

import re
from importlib.resources import files
from pathlib import Path

from gpuboard.probes import nvidia_smi
from gpuboard.probes.nvidia_smi.readings import ECC, NAMES, THROTTLE


def chosen() -> set[str]:
    """The elements that driver.awk keeps."""
    program = files("gpuboard.sources.ssh.remote").joinpath("driver.awk").read_text()
    (names,) = re.findall(r'split\((".*?"), names', program, re.DOTALL)
    return set(re.sub(r'["\\\n]', "", names).split())


def read_from_documents() -> set[str]:
    """The elements on the way to every figure; a name with a dot is a column of a table."""
    paths = [names[0] for names in NAMES.values()]
    paths += [name for names in (*NAMES.values(), ECC) for name in names if "/" in name]
    return {element for path in paths for element in path.split("/")} | {
        path.split("/")[0] for path in THROTTLE if "/" in path
    }


def test_every_element_that_the_board_reads_comes_over_ssh() -> None:
    """A figure that is read but not sent would be unknown over ssh alone, and nobody would see why."""
    assert read_from_documents() - chosen() == set()


def test_no_element_comes_over_ssh_that_nobody_reads() -> None:
    """Each costs its bytes with every sample."""
    source = "".join(path.read_text() for path in Path(nvidia_smi.__path__[0]).glob("*.py"))
    words = set(re.findall(r"\w+", source))
    # The instances stand in it; what is around them has no name in the reader.
    assert chosen() - words == {"mig_devices"}
