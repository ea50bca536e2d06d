"""The race of kernel machines: seconds until the relative duality gap is at most 1e-3, and 1e-6.

A tolerance means something else in every library, so none is compared at a tolerance: each climbs down a ladder of
them, and after each rung `judge.py` measures the gap. The figure is the smallest time of any fit that reached
the level. Rungs are ten times apart while the gap is far from the next level and half as far near it. The ladder ends
when the last level is reached, when a smaller tolerance no longer lowers the gap, or when a fit exceeds the limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.common.data import DataSet
from benchmarks.common.peers import OverLimitError, PeerError, Worker
from benchmarks.common.ratios import LEVELS, OURS
from benchmarks.common.worker import first_rows
from benchmarks.kernel.data import EPSILON, Case
from benchmarks.kernel.judge import Judge
from maxmargin.estimators.kernel.kernel_machine import kernel_width

FIRST_TOL, LAST_TOL = 1e-1, 1e-8
FAR = 10.0
"""A gap that many levels above the level is far from it."""
MAY_STALL_BELOW = 1e-4
"""Tolerances above it are too coarse for the gap to say that a library stalls."""
STALLED = 0.8
REPEATS, REPEATED_BELOW = 3, 1.0
"""Fits under a second are run three times."""


@dataclass(frozen=True)
class Setting:
    """What all contestants are set to."""

    data: DataSet
    case: Case
    C: float
    limit: float
    rows: int
    memory: int | None
    gamma: float
    judge: Judge

    @classmethod
    def of(cls, case: Case, C: float, limit: float, most_rows: int | None = None, memory: int | None = None) -> Setting:
        """The case on its rows, or fewer of them."""
        data = case.load()
        rows = min(count for count in (case.rows, most_rows, len(data.y)) if count is not None)
        X, y = first_rows(data.X, data.y, rows)
        gamma = kernel_width("scale", X, None)
        judge = Judge(X, y, case.machine, C, gamma, EPSILON)
        return cls(data, case, C, limit, rows, memory, gamma, judge)

    @property
    def description(self) -> str:
        """In words."""
        X = self.judge.X
        layout = f"{self.rows:,} x {X.shape[1]:,}, {self.data.layout}"
        return f"{self.case.name} ({layout}), {self.case.machine}, C = {self.C:g}, gamma = {self.gamma:.4g}"

    @property
    def label(self) -> str:
        """Short name."""
        return f"{self.case.name} C={self.C:g}"

    def worker(self, library: str, job: str = "fit", **more: Any) -> Worker:
        """A process in which the library is set to this."""
        task = {"job": job, "machine": self.case.machine, "C": self.C, "gamma": self.gamma, "epsilon": EPSILON}
        task |= {"memory": self.memory} | more
        return Worker("kernel.contestants", self.data.folder, library, task, self.rows)


@dataclass
class Climb:
    """What one library did in one case: tolerance, time, gap and primal value of every fit."""

    library: str
    levels: Sequence[float] = LEVELS
    fits: list[tuple[float, float, float, float]] = field(default_factory=list)
    own_gap: float | None = None
    n_support: int | None = None
    extra_mb: float | None = None
    note: str = ""
    over_limit: bool = False

    @property
    def seconds(self) -> dict[float, float | None]:
        """To each level; None where it was never reached."""
        return {
            level: min((seconds for _, seconds, gap, _ in self.fits if gap <= level), default=None)
            for level in self.levels
        }

    @property
    def best_gap(self) -> float:
        """Smallest gap of any fit."""
        return min((gap for _, _, gap, _ in self.fits), default=math.inf)

    @property
    def primal(self) -> float | None:
        """Best value of the objective."""
        return min((primal for *_, primal in self.fits), default=None)

    def tol_to(self, level: float) -> float | None:
        """The tolerance of the fastest fit that reached the level."""
        reached = [(seconds, tol) for tol, seconds, gap, _ in self.fits if gap <= level]
        return min(reached)[1] if reached else None

    def next_level(self) -> float | None:
        """The largest level that is not reached yet."""
        return next((level for level in self.levels if self.best_gap > level), None)


def climb(library: str, setting: Setting, levels: Sequence[float] = LEVELS) -> Climb:
    """Fit at smaller and smaller tolerances until the last level is reached, or no more is to be had."""
    seen = Climb(library, levels)
    tol = FIRST_TOL
    try:
        with setting.worker(library) as worker:
            if library == OURS:  # what is compiled for this size is then in the cache
                worker.run(setting.limit, tol=tol)
            before = math.inf
            while True:
                gap = _rung(worker, tol, seen, setting)
                level = seen.next_level()
                if level is None:
                    break
                if tol < MAY_STALL_BELOW and gap > STALLED * before:
                    seen.note = f"stalls at {seen.best_gap:.1e} (tol {tol:.0e}) {seen.note}"
                    break
                before = gap
                tol /= 10.0 if gap > FAR * level else math.sqrt(10.0)
                if tol < 0.99 * LAST_TOL:
                    seen.note = f"the ladder ends at tol {LAST_TOL:g} {seen.note}"
                    break
    except OverLimitError:
        seen.note, seen.over_limit = f"over {setting.limit:g} s at tol {tol:.0e} {seen.note}", True
    except PeerError as error:
        seen.note = str(error)
    return seen


def _rung(worker: Worker, tol: float, seen: Climb, setting: Setting) -> float:
    """Fits at one tolerance; the gap of the last."""
    for _ in range(REPEATS):
        fit = worker.run(setting.limit, tol=tol)
        verdict = setting.judge.judge(fit.arrays)
        seen.fits.append((tol, fit.seconds, verdict.gap, verdict.primal))
        seen.own_gap, seen.note = fit.words["gap"], fit.words["note"]
        seen.n_support = len(fit.arrays["support"])
        if fit.extra_mb is not None:
            seen.extra_mb = max(seen.extra_mb or 0.0, fit.extra_mb)
        if fit.seconds >= REPEATED_BELOW:
            break
    return verdict.gap
