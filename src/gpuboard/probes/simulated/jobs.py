"""Who computes what on simulated GPUs, and when."""

from functools import lru_cache
from random import Random
from typing import Final

from msgspec import Struct

PEOPLE: Final = (
    "ana", "becker", "chen", "dupont", "garcia", "ito", "khan", "lin", "martin", "mueller", "nguyen", "rossi",
    "roy", "tsai", "wang", "weber",
)  # fmt: skip
PROGRAMS: Final = (
    "python train.py", "python finetune.py", "python eval.py", "python diffusion.py", "python serve.py",
    "python -m torch.distributed.run", "jupyter-lab", "gmx mdrun",
)  # fmt: skip
HOUR: Final = 3600.0


class Job(Struct, frozen=True):
    """What somebody does on some GPUs of one node for some hours."""

    user: str
    uid: int
    program: str
    style: str
    started_at: float
    ends_at: float
    memory_share: float
    pid: int


@lru_cache(maxsize=65536)
def _job(seed: int, node: str, index: int, slot: int, load: float) -> Job | None:
    """Who has a GPU in one slot of time; blocks of 1, 2 or 4 neighbours belong together."""
    width = Random(f"{seed}/{node}/{slot}/width").choice((1, 1, 2, 2, 4, 4, 8))
    random = Random(f"{seed}/{node}/{slot}/{index // width}")
    length = _slot_seconds(seed, node)
    start = slot * length + random.uniform(0, 0.03) * length
    if random.random() > load:
        return None
    person = random.randrange(len(PEOPLE))
    return Job(
        user=PEOPLE[person],
        uid=2001 + person,
        program=random.choice(PROGRAMS),
        style=random.choices(("train", "infer", "idle"), (0.7, 0.15, 0.15))[0],
        started_at=start,
        ends_at=start + random.uniform(0.85, 0.97) * length,
        memory_share=random.uniform(0.15, 0.96),
        pid=random.randrange(2_000, 4_000_000) + index,
    )


@lru_cache(maxsize=8192)
def _slot_seconds(seed: int, node: str) -> float:
    return Random(f"{seed}/{node}/slot").uniform(3, 14) * HOUR


# Every lab has somebody who forgot a notebook, and GPUs that nobody has found yet; the demo must show how
# both look, whenever it is started.
FORGOTTEN: Final = ("vision-01", 0)
UNTOUCHED: Final = frozenset(("nlp-02", index) for index in range(2, 8))


def _forgotten(now: float) -> Job:
    """A notebook that has been open for hours, and does nothing."""
    start = now - now % (12 * HOUR) - 3 * HOUR
    return Job(
        user=PEOPLE[0], uid=2001, program="jupyter-lab", style="idle",
        started_at=start, ends_at=now + HOUR, memory_share=0.34, pid=31_337,
    )  # fmt: skip


def current_job(seed: int, node: str, index: int, load: float, now: float) -> Job | None:
    """Who has a GPU at a moment."""
    if (node, index) == FORGOTTEN:
        return _forgotten(now)
    if (node, index) in UNTOUCHED:
        return None
    job = _job(seed, node, index, int(now // _slot_seconds(seed, node)), load)
    return job if job is not None and job.started_at <= now < job.ends_at else None


def jobs_between(seed: int, node: str, index: int, load: float, span: tuple[float, float]) -> list[Job]:
    """Who had a GPU in a span, one after the other; as `current_job` says it of each moment until its end."""
    if (node, index) in UNTOUCHED:
        return []
    start, end = span
    length = _slot_seconds(seed, node)
    slots = range(int(start // length), int(end // length) + 1)
    found = [job for slot in slots if (job := _job(seed, node, index, slot, load)) is not None]
    found = [job for job in found if job.started_at < end and job.ends_at > start]
    if (node, index) != FORGOTTEN:
        return found
    # Before somebody forgot the notebook there, others had the GPU.
    notebook = _forgotten(end)
    return [*(job for job in found if job.ends_at <= notebook.started_at), notebook]


def percent(job: Job | None, now: float, jitter: Random) -> float:
    """How busy a job keeps its GPU at a moment."""
    if job is None or job.style == "idle":
        return 0.0
    if job.style == "infer":
        return float(max(0, round(jitter.gauss(35, 20))))
    # Training stops for a moment now and then, to write a checkpoint.
    at_checkpoint = (now - job.started_at) % 1800 < 40
    return 3.0 if at_checkpoint else float(min(100, max(60, round(jitter.gauss(93, 6)))))
