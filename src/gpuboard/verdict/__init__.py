"""The verdict: one word per GPU with its evidence. Pure; the only place that decides it."""

from gpuboard.verdict.holders import Holder, PersonOf, holders
from gpuboard.verdict.judge import (
    LIVE,
    ONE_SHOT,
    Activity,
    Freshness,
    judge,
    stray,
)
from gpuboard.verdict.thresholds import Thresholds

__all__ = [
    "LIVE",
    "ONE_SHOT",
    "Activity",
    "Freshness",
    "Holder",
    "PersonOf",
    "Thresholds",
    "holders",
    "judge",
    "stray",
]
