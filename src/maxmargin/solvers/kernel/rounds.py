"""Rounds that solve M beta = t to rounding, given products with M and an approximate inverse G of it.

    rho = t - M beta        p = G rho + (a multiple of the last p)        beta <- beta + p (rho' p) / (p' M p)

These are conjugate gradients, preconditioned by G. With G from the factor of M itself one round is the closed form, and
the next ones are iterative refinement: `refine` goes on until rounding stops it. With G from some rows only, and
products that cost a pass over the kernel matrix, `descend` stops at the tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from maxmargin._types import Vector
from maxmargin.problems import History, Status
from maxmargin.solvers.kernel.equations import KernelEquations, Values

Inverse: TypeAlias = Callable[[Vector], Vector]
"""What is missing to, roughly, the correction that supplies it."""
Product: TypeAlias = Callable[[Vector], Vector]

_REFINEMENTS = 12
_CHECK_EVERY = 50  # steps after which what is missing is computed afresh
_SAFE = 0.5  # share of the tolerance at which to stop, because the certificate computes it all again
_HAIR = 1e-12  # relative difference of primal values that says nothing


class Rounds:
    """Rounds of corrections; the best point seen is kept, whatever interrupts them."""

    def __init__(self, equations: KernelEquations, end: float):
        self.equations, self.end = equations, end
        self.history = History()
        self.best = np.zeros_like(equations.right)
        self._best_primal = self._best_violation = self.relative_gap = math.inf

    def take(self, beta: Vector, product: Product) -> Vector:
        """What is missing at beta, computed afresh; the point is recorded."""
        missing = self.equations.right - product(beta) - self.equations.diagonal * beta
        self._keep(beta, missing)
        return missing

    def _keep(self, beta: Vector, missing: Vector) -> Values:
        values = self.equations.values(beta, missing)
        self.history.record(self.equations.n_products, values.primal, values.dual)
        if self._is_better(values):
            self.best, self._best_primal, self._best_violation = beta.copy(), values.primal, values.violation
            self.relative_gap = values.relative_gap
        return values

    def _is_better(self, values: Values) -> bool:
        """The better model first; among models that are equal up to rounding, the one with the better multipliers."""
        hair = _HAIR * abs(values.primal)
        # Without a penalty each point has a primal value of its own, with its own cost of missing a target.
        same = self.equations.alpha == 0.0 or abs(values.primal - self._best_primal) <= hair
        return values.violation < self._best_violation if same else values.primal < self._best_primal

    def refine(self, inverse: Inverse, product: Product) -> Status:
        """Correct, with what is missing computed afresh in each round, until that no longer helps."""
        beta, direction = np.zeros_like(self.best), None
        missing = self.take(beta, product)
        for _ in range(_REFINEMENTS):
            before = self._best_violation
            step = _step(missing, inverse(missing), direction, lambda p: product(p) + self.equations.diagonal * p)
            if step is None:
                break
            direction = step
            beta = beta + step.length * step.along
            missing = self.take(beta, product)
            if time.perf_counter() > self.end:
                return Status.BUDGET
            if not self._best_violation <= 0.5 * before:
                break
        return Status.CONVERGED

    def descend(self, inverse: Inverse, tol: float, max_iter: int | None) -> Status:
        """Conjugate gradients to the tolerance, with products by tiles."""
        equations, direction = self.equations, None
        beta, missing = np.zeros_like(self.best), self.equations.right
        n_steps, last_fresh, stalls = 0, math.inf, 0
        while max_iter is None or n_steps < max_iter:
            if time.perf_counter() > self.end:
                return Status.BUDGET
            step = _step(missing, inverse(missing), direction, lambda p: equations.product(p) + equations.diagonal * p)
            if step is None:
                return Status.CONVERGED
            direction = step
            beta = beta + step.length * step.along
            missing = missing - step.length * step.image
            n_steps += 1
            values = self._keep(beta, missing)
            if values.within(_SAFE * tol) or n_steps % _CHECK_EVERY == 0:
                self._best_primal = self._best_violation = math.inf  # what is computed afresh counts
                missing = self.take(beta, equations.product)
                if equations.values(beta, missing).within(_SAFE * tol):
                    return Status.CONVERGED
                stalls = stalls + 1 if self._best_violation > 0.9 * last_fresh else 0
                if stalls >= 3:
                    return Status.STALLED
                last_fresh = min(last_fresh, self._best_violation)
        return Status.BUDGET


@dataclass(frozen=True)
class _Step:
    """One step of conjugate gradients."""

    along: Vector
    image: Vector
    """M times the direction."""
    length: float


def _step(missing: Vector, corrected: Vector, last: _Step | None, product: Product) -> _Step | None:
    """The next step, or None where nothing is left to correct."""
    if not float(missing @ corrected) > 0.0:
        return None
    along = corrected
    if last is not None:
        # The direction is made conjugate to the last one by what M does to it: this stands rounding in the inverse.
        along = corrected - (float(corrected @ last.image) / float(last.along @ last.image)) * last.along
    image = product(along)
    curvature = float(along @ image)
    if not curvature > 0.0:
        return None
    return _Step(along, image, float(missing @ along) / curvature)
