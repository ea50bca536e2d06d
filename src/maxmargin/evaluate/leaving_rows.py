"""One sub-problem without each of its rows: short solves on stored kernel values, or plain fits.

The machine of all rows is found once. Rows whose multiplier is zero have its score. A support row's coefficient is
handed to other rows, which leaves a feasible point near the answer, and pair steps go on
(`solvers.kernel.driver.KernelDriver.score_without`).

Where stored values are too coarse for the machine of all rows (`evaluate.stored_kernels`), it is a plain fit, and so is
every machine without a support row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels, RowIndex, Vector
from maxmargin.backends.threads import run_apart, thread_count
from maxmargin.evaluate.progress import Tick
from maxmargin.evaluate.stored_kernels import (
    Answer,
    StoredKernel,
    are_representable,
    is_precise,
    search_settings,
    solved_in_double,
)
from maxmargin.problems import Specification
from maxmargin.solvers.kernel.dual_variables import Variables

_BATCH = 32  # support rows that are left out by one job
_STEPS, _STEPS_A_ROW = 20_000, 20  # for one row left out, after which a plain fit is quicker


class LeavingOut:
    """A sub-problem on all rows, which can do without each."""

    def __init__(
        self,
        stored: StoredKernel,
        specification: Specification,
        y: Labels,
        sample_weight: Vector | None,
        tol: float,
        n_jobs: int | None,
        tick: Tick,
    ):
        self.stored, self.specification, self.y, self.sample_weight = stored, specification, y, sample_weight
        self.tol, self.n_jobs, self.tick = tol, n_jobs, tick
        self.n_solved = 0
        """Rows that needed a solve."""
        self._plainly: list[int] = []
        self.problem, self.place = stored.problem(specification, y, sample_weight, np.arange(len(y)))
        whole = replace(search_settings(self.problem, tol), whole=self.problem.n_rows)
        self._driver = whole.driver(self.problem)

    @property
    def n_plain(self) -> int:
        """Rows that needed a plain fit."""
        return len(self._plainly)

    def scores(self, rows: RowIndex) -> Vector:
        """Score of each of the given rows by the machine without it."""
        answer = self._whole()
        scores = np.empty(len(self.y))
        scores[rows] = self.stored.scores([answer], self.place, rows)[0]
        if answer.is_single:
            scores[self.place] = self._own_scores(answer.bias)
        support = np.flatnonzero(self._matter(answer) & np.isin(self.place, rows))
        without = self._by_short_solve if answer.is_single else self._by_plain_fit
        self.n_solved = len(support)
        self.tick(len(rows) - len(support))

        def job(some: RowIndex) -> Callable[[], Vector]:
            return lambda: self._ticked(np.array([without(int(i)) for i in some]))

        size = _BATCH if answer.is_single else 1
        parts = [support[first : first + size] for first in range(0, len(support), size)]
        if parts:
            found = run_apart([job(part) for part in parts], thread_count(self.n_jobs))
            scores[self.place[support]] = np.concatenate(found)
        return scores[rows]

    def _whole(self) -> Answer:
        """The machine of all rows."""
        driver, never = self._driver, np.zeros(1, dtype=np.uint8)
        driver.is_for_scores = True
        if are_representable(self.problem):
            driver.run(never)
        if not is_precise(driver):
            return solved_in_double(self.problem, self.tol)
        driver.is_for_scores = False  # stored values will do for steps; slopes are formed in double where it matters
        driver.run(never)
        return Answer(driver.engine.coefficients(), driver.intercept(), True)

    def _matter(self, answer: Answer) -> NDArray[np.bool_]:
        """Rows without which the machine is another: those with a multiplier, and all where the intercept is not told.

        Then it is the middle of an interval, and any row may be what ends the interval.
        """
        variables = Variables.of(self.problem)
        is_told = not variables.is_free or variables.tells_intercept(answer.beta)
        return np.asarray((answer.beta != 0.0) | (not is_told))

    def _own_scores(self, bias: float) -> Vector:
        """Scores of the rows of the problem; those of the driver know of an intercept that is not free."""
        return self._driver.engine.scores() + (bias if self._driver.engine.is_free else 0.0)

    def _ticked(self, scores: Vector) -> Vector:
        self.tick(len(scores))
        return scores

    def _by_plain_fit(self, i: int) -> float:
        """Score of row i of the problem by the machine without it, fitted afresh."""
        self._plainly.append(i)
        row = self.place[i]
        rest = np.delete(np.arange(len(self.y)), row)
        problem, place = self.stored.plain_problem(self.specification, self.y, self.sample_weight, rest)
        return float(self.stored.scores([solved_in_double(problem, self.tol)], place, np.array([row]))[0, 0])

    def _by_short_solve(self, i: int) -> float:
        """The same from the machine of all rows, by pair steps."""
        score = self._driver.score_without(i, _STEPS + _STEPS_A_ROW * len(self.place))
        return self._by_plain_fit(i) if score is None else score
