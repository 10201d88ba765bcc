"""What can be wrong with a node or a GPU: each kind in words, with what to do, how grave, if it breaks."""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, get_args

from msgspec.structs import replace

from gpuboard.model.report import Problem

# Heaviest first: something is out of work; somebody should look; good to know.
Severity = Literal["critical", "serious", "minor"]
ProblemKind = Literal[
    "no-driver",
    "no-devices",
    "driver-mismatch",
    "driver-hung",
    "driver-error",
    "no-permission",
    "gpu-lost",
    "gpu-needs-reset",
    "gpus-missing",
    "ecc-uncorrected",
    "sensor-error",
    "truncated-output",
    "unreadable-output",
    "unattributed-process",
    "no-device-access",
    "slow-driver",
    "vendor-unreadable",
    "too-many-gpus",
    "gpus-unrecorded",
    "too-many-processes",
    "report-too-large",
    "disk-hung",
    "processes-hung",
    "no-process-ids",
    "xid",
    "clock-off",
    "duplicate-node",
    "token-shared",
    "duplicate-gpu",
    "gpu-missing",
    "gpu-replaced",
    "gpu-renumbered",
    "numbers-moved",
    "unknown-age",
    "second-file",
    "file-owner",
    "unreadable-file",
    "silent-push",
    "silent-ssh",
    "silent-pull",
    "silent-folder",
    "silent-local",
    "silent-simulated",
    "not-listed",
]


class _Words(NamedTuple):
    text: str
    remedy: str
    severity: Severity = "serious"
    # Whether the GPU, or all of the node, cannot be used while it lasts; others only say less.
    breaks: bool = False


_WORDS: Final[dict[ProblemKind, _Words]] = {
    "no-driver": _Words(
        "no NVIDIA driver is running here",
        "install the NVIDIA driver and load it (modprobe nvidia); a new kernel may need its module rebuilt",
        severity="critical",
        breaks=True,
    ),
    "no-devices": _Words(
        "the NVIDIA driver runs but sees no GPU",
        "check that the GPU is seated, powered and not passed through to a virtual machine (lspci, dmesg)",
    ),
    "driver-mismatch": _Words(
        "the driver's library and its loaded kernel module have different versions",
        "reboot, or stop everything on the GPUs and reload the module (rmmod nvidia_uvm nvidia)",
        severity="critical",
        breaks=True,
    ),
    "driver-hung": _Words(
        "the driver does not answer",
        "look for Xid errors in dmesg; a hung driver mostly needs a reboot",
        severity="critical",
        breaks=True,
    ),
    "driver-error": _Words(
        "the driver answered with an error",
        "look for Xid errors in dmesg; in a container, restart it",
        severity="critical",
        breaks=True,
    ),
    "no-permission": _Words(
        "the driver refuses to answer this user",
        "give this user access to /dev/nvidia* (often the group video or render), or run as root",
    ),
    "gpu-lost": _Words(
        "fallen off the bus",
        "reboot; if it comes back lost, check its power, seating and temperature, and dmesg for Xid 79",
        severity="critical",
        breaks=True,
    ),
    "gpu-needs-reset": _Words(
        "the GPU must be reset before it can work again",
        "stop its processes and run nvidia-smi --gpu-reset as root, or reboot",
        severity="critical",
        breaks=True,
    ),
    "gpus-missing": _Words(
        "not all GPUs answer",
        "see the problem of each missing GPU; one that was taken out is forgotten at the next start",
        severity="minor",
    ),
    "ecc-uncorrected": _Words(
        "the GPU's memory has had errors that could not be corrected",
        "results computed on it may be wrong: reset it, and have it replaced if the errors return",
        severity="critical",
        breaks=True,
    ),
    "sensor-error": _Words(
        "the GPU cannot tell some of its own values",
        "a broken fan or sensor shows like this; if more values go, look for Xid errors in dmesg",
        severity="minor",
    ),
    "truncated-output": _Words(
        "the output ends in the middle",
        "the next sample should be whole; if not, see whether the command is killed or the disk full",
        severity="minor",
    ),
    "unreadable-output": _Words(
        "the output is not what nvidia-smi writes",
        "run nvidia-smi by hand and compare; a wrapper or a very new driver may have changed it",
    ),
    "unattributed-process": _Words(
        "a process runs on a device that is not in the list",
        "a MIG instance may have just changed: nvidia-smi -L lists them",
        severity="minor",
    ),
    "no-device-access": _Words(
        "the driver runs, but its devices cannot be opened from here",
        "in a container, restart it (with --gpus); elsewhere run nvidia-modprobe, and check /dev/nvidia*",
    ),
    "slow-driver": _Words(
        "the driver takes seconds to answer",
        "enable persistence mode: nvidia-smi -pm 1 as root, or the service nvidia-persistenced",
        severity="minor",
    ),
    "vendor-unreadable": _Words(
        "the GPUs of one vendor cannot be read, those of others can",
        "mend that vendor's driver; what is wrong with it stands behind the colon",
    ),
    "too-many-gpus": _Words(
        "there are more GPUs and instances here than a report can hold",
        "the first are shown; those left out are neither counted nor offered as free",
    ),
    "gpus-unrecorded": _Words(
        "this node has named more different GPUs than the history keeps",
        "all are shown, but the newest have no past; after thirty days there is room again. See which node "
        "makes and removes so many instances",
        severity="minor",
    ),
    "too-many-processes": _Words(
        "more processes are on the GPUs than a report can hold",
        "those with the most memory are shown",
        severity="minor",
    ),
    "report-too-large": _Words(
        "this node has more to say than a report can hold, which leaves out",
        "nothing else is lost; see which processes or problems are so many or so long",
        severity="minor",
    ),
    "disk-hung": _Words(
        "a disk does not answer, so nothing is known of the GPUs either",
        "find it with df and dmesg; a hung disk mostly needs a reboot",
        severity="critical",
    ),
    "processes-hung": _Words(
        "the list of processes or of users does not answer, so nothing is known of the GPUs either",
        "try ps aux and getent passwd there; a directory server (LDAP) may be down",
        severity="critical",
    ),
    "no-process-ids": _Words(
        "the file names processes without their ids, so who they are is left out",
        "write it with gpustat -pcu",
        severity="minor",
    ),
    "xid": _Words(
        "the driver has reported an error of the GPU",
        "look its number up in NVIDIA's list of Xid errors; reset the GPU or reboot, and see if it returns",
        severity="critical",
        breaks=True,
    ),
    "clock-off": _Words(
        "the node's clock is wrong",
        "set it, best by NTP (timedatectl set-ntp true); until then the board corrects the node's times",
        severity="minor",
    ),
    "duplicate-node": _Words(
        "two sources have a node of this name",
        "remove the node from one of the two sources, or give the machines different names",
    ),
    "token-shared": _Words(
        "two agents use the token of this node, and only the one that came last is shown",
        "if both run on this machine, stop one; otherwise enroll the node anew on the machine that it is "
        "(gpuboard node enroll), which ends the old token, and enroll the other under a name of its own",
    ),
    "duplicate-gpu": _Words(
        "GPUs of this node have the same identity as those of another, and both are shown",
        "if it is one machine under two names, remove one from its source; otherwise look which node lies",
    ),
    "gpu-missing": _Words(
        "missing: the node no longer mentions it",
        "look for it with nvidia-smi and dmesg (Xid 79), and reboot; a card that was taken out is forgotten "
        "in time (forget_after), or at once with gpuboard node forget",
        severity="critical",
        breaks=True,
    ),
    "gpu-replaced": _Words(
        "replaced by another",
        "nothing, if somebody changed the card; bookings of this number hold for the new one",
        severity="minor",
    ),
    "gpu-renumbered": _Words(
        "another number than before",
        "bookings hold for numbers, and so for other cards now: tell those who booked, and book anew; for a "
        "day no card counts as free whose earlier number is booked",
    ),
    "numbers-moved": _Words(
        "the numbers of the GPUs may have moved",
        "let the node tell UUIDs (an agent, ssh, gpustat --json), so that each card keeps its number; the "
        "old numbers are forgotten in time (forget_after), or at once with gpuboard node forget",
    ),
    "unknown-age": _Words(
        "how old the lines of the node's file are cannot be told, so they do not count as fresh",
        "they have local times: HOST_status.csv with the line of uptime tells which; a board that runs knows "
        "with the next new line",
    ),
    "second-file": _Words(
        "there is a second file about this node; it is not shown",
        "find out who writes it, and remove the wrong one",
    ),
    "file-owner": _Words(
        "the node's file belongs to another user than before",
        "if nobody moved the job that writes it to another account, find out who does; chmod +t on the "
        "folder keeps users from replacing others' files",
    ),
    "unreadable-file": _Words(
        "the node's file cannot be read now",
        "run the command that writes it by hand, as the same user; see whether the disk is full",
    ),
    "silent-push": _Words(
        "the agent of this node has fallen silent",
        "see whether the node is up, and on it whether the agent runs: systemctl status gpuboard-agent, "
        "journalctl -u gpuboard-agent",
        severity="critical",
    ),
    "silent-ssh": _Words(
        "nothing new comes from this node over ssh",
        "see whether the node is up and its driver answers: as the board's user, ssh HOST nvidia-smi",
        severity="critical",
    ),
    "silent-pull": _Words(
        "nothing new comes from the agent of this node",
        "see whether the node is up, the agent runs on it, and its port can be reached from the board: "
        "curl http://HOST:PORT/healthz (https: with tls = true); that a token is needed is an answer too",
        severity="critical",
    ),
    "silent-folder": _Words(
        "the file of this node is no longer written",
        "see on the node whether the job that writes it still runs (crontab -l, or systemctl status "
        "gpuboard-agent), and whether the folder is mounted there and not full",
        severity="critical",
    ),
    "silent-local": _Words(
        "the agent on the board's own machine has fallen silent",
        "see the board's log, and what gpuboard doctor says there",
        severity="critical",
    ),
    "silent-simulated": _Words(
        "nothing new comes from this simulated node",
        "nothing: it shows how a silent node looks; of a real one it is said here where to look",
        severity="critical",
    ),
    "not-listed": _Words(
        "the source of this node no longer lists it",
        "nothing, if it was taken away: it is forgotten in time (forget_after), or at once with gpuboard "
        "node forget; otherwise put it back into the list, or see why its file is no longer in the folder",
        severity="minor",
    ),
}
# A kind that is not known here: the node's program is newer, or lies.
OTHER: Final = "other"
_OTHER: Final = _Words("something is wrong", "ask whoever runs this board; signed-in people see what it is")
# How a node is read → what it is called when nothing comes any more.
SILENT: Final[dict[str, ProblemKind]] = {
    "push": "silent-push",
    "ssh": "silent-ssh",
    "pull": "silent-pull",
    "folder": "silent-folder",
    "local": "silent-local",
    "simulated": "silent-simulated",
}
# What the board says of a node because nothing comes from it.
ABSENCES: Final[tuple[ProblemKind, ...]] = (*SILENT.values(), "not-listed", "unreadable-file")
BREAKING: Final = frozenset(kind for kind, words in _WORDS.items() if words.breaks)
# The states of nodes that are trouble by themselves. Late is one that may only be slow.
_STATES: Final[dict[str, Severity]] = {
    "lost": "critical",
    "refused": "critical",
    "error": "critical",
    "late": "minor",
}
# Heaviest first, each with its kinds of problems and states of nodes: what every output sorts by.
SEVERITIES: Final[dict[Severity, tuple[str, ...]]] = {
    severity: (
        *(state for state, grave in _STATES.items() if grave == severity),
        *(kind for kind, words in _WORDS.items() if words.severity == severity),
    )
    for severity in get_args(Severity)
}
_RANKS: Final = {kind: rank for rank, kinds in enumerate(SEVERITIES.values()) for kind in kinds}


# A GPU that was there and is not, as its node or as the board says it.
_GONE: Final = frozenset({"gpu-lost", "gpu-missing"})


def missing_gpus(problems: Iterable[Problem]) -> int:
    """How many GPUs are said to be missing; one of which two say it is missing once."""
    named, nameless = lost_gpus(problems)
    return len(named) + nameless


def lost_gpus(problems: Iterable[Problem]) -> tuple[frozenset[str], int]:
    """The GPUs that are said to be missing, and how many more without saying which."""
    gone = [problem.gpu_uuid for problem in problems if problem.kind in _GONE]
    return frozenset(uuid for uuid in gone if uuid is not None), gone.count(None)


# While one of these lasts, programs on the node may number the GPUs otherwise than the board: CUDA counts
# only what it sees, and people know cards by the numbers that they had.
MOVES_NUMBERS: Final = frozenset({"gpu-lost", "gpu-missing", "gpus-missing", "numbers-moved"})
# While one of these lasts, a node may have GPUs that are not in its list.
HIDES_GPUS: Final = MOVES_NUMBERS | {
    "no-driver",
    "no-devices",
    "driver-mismatch",
    "driver-hung",
    "driver-error",
    "no-permission",
    "no-device-access",
    "truncated-output",
    "unreadable-output",
    "vendor-unreadable",
    "too-many-gpus",
    "report-too-large",
    "disk-hung",
    "processes-hung",
}


def rank_of(kind: str) -> int:
    """How grave a kind of problem or a state of a node is: 0 is the gravest, strange ones come last."""
    return _RANKS.get(kind, len(SEVERITIES))


def heaviest_first(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The same problems by weight; equally grave ones stay as they are, strange ones come last."""
    return tuple(sorted(problems, key=lambda one: rank_of(one.kind)))


def says_no_gpu(problems: Iterable[Problem]) -> bool:
    """Whether a node that lists no GPU says that it has none that can be used; others only cannot tell."""
    return any(one.kind in ("no-driver", "no-devices") for one in problems)


def rules_out_gpus(problems: Iterable[Problem]) -> bool:
    """Whether a node that lists no GPU has none, for all that it says."""
    # Where the driver's own program cannot reach it (that is the detail), there may be any number.
    return any(
        one.kind == "no-devices" or (one.kind == "no-driver" and one.detail is None) for one in problems
    )


def without_details(found: Problem) -> Problem:
    """The same problem in words of ours alone: nothing of what the node has to say about it."""
    words = _WORDS.get(found.kind)  # type: ignore[call-overload]
    kind = found.kind if words is not None else OTHER
    known = words or _OTHER
    return replace(found, kind=kind, text=known.text, remedy=known.remedy, detail=None, place=None)


def place_name(number: int, uuid: str, model: str | None = None, *, what: str = "GPU") -> str:
    """A GPU as a sentence names it: `GPU 3 (NVIDIA A100, GPU-…)`."""
    return f"{what} {number} ({model}, {uuid})" if model else f"{what} {number} ({uuid})"


def sentence_of(found: Problem) -> str:
    """A problem in one English sentence, for where it does not stand beside its GPU."""
    return f"{found.place}: {found.text}" if found.place else found.text


def problem(
    kind: ProblemKind,
    detail: str | None = None,
    *,
    gpu_uuid: str | None = None,
    place: str | None = None,
    since: float | None = None,
) -> Problem:
    """Put one kind of trouble into words; the detail (which versions, how many) follows a colon."""
    return problem_of(kind, detail, gpu_uuid=gpu_uuid, place=place, since=since)


def problem_of(
    kind: str,
    detail: str | None = None,
    *,
    gpu_uuid: str | None = None,
    place: str | None = None,
    since: float | None = None,
) -> Problem:
    """The same for a kind that may be strange: it was written down, by an earlier version perhaps."""
    words = _WORDS.get(kind, _OTHER)  # type: ignore[call-overload]
    text = f"{words.text}: {detail}" if detail else words.text
    return Problem(
        kind=kind,
        text=text[:4096],
        remedy=words.remedy,
        detail=None if detail is None else detail[:4096],
        gpu_uuid=gpu_uuid,
        place=None if place is None else place[:4096],
        since=since,
    )


def public_kind(kind: str) -> str:
    """A kind that may be told to everybody: those of ours, and states of nodes; a node invents any other."""
    return kind if kind in _RANKS else OTHER
