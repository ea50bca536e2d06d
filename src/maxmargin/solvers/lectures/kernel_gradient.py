"""The two updates of L4's kernel linear regression.

    full gradient      beta <- beta + eta c (t - M beta)                        all coefficients at once
    one at a time      beta_i <- beta_i + eta c_i (t_i - sum_j M_ij beta_j)     for i in a random order, anew each pass

M = K~ + diag(alpha / c_i) and t are those of `solvers.kernel.equations`. With alpha = 0, weights c_i = 1 and no
intercept M is K and t is y: the lecture's own listing. There it is found by gradient descent on 1/2 sum_i (f_i - y_i)^2
over w, written in the coefficients of w = sum_i beta_i phi(x_i); with a penalty the same descent on 1/2 alpha |w|^2 +
1/2 sum_i c_i (f_i - y_i)^2 gives the updates above. In the dual they are ascent on D(beta), along its slope or along
one coordinate.

Both converge for every learning rate eta below twice the one that is chosen here:

    full gradient      eta = 1 / (alpha + L),    L at least the largest eigenvalue of the matrix c_i^1/2 K~_ij c_j^1/2
    one at a time      eta = 1 / max_i (alpha + c_i K~_ii)

L is the bound of Collatz and Wielandt: for a symmetric A and any x > 0, no eigenvalue of A is larger than
max_i sum_j |A_ij| x_j / x_i. A few x <- |A| x make it sharp where the entries of A are not negative.

Where no function goes through all targets, alpha = 0 has no answer in beta: the coefficients grow on, a little each
pass, and max_iter ends them. The predictions of the full gradient settle at those of least squares all the same; those
of one at a time stay near them, at a distance that falls with eta, as stochastic gradient descent does.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.lectures.dual_steps import update_one_at_a_time
from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.backends.threads import raise_if_interrupted
from maxmargin.errors import ParameterError
from maxmargin.problems import History, Problem, Solution, Status
from maxmargin.solvers.kernel.equations import KernelEquations
from maxmargin.solvers.kernel.least_squares import KernelSquaresSolver, blas_threads, check_fits, solution_at

_BOUND_ROUNDS = 10
_TILE = 1024
_STEP_ENTRIES = 50_000_000  # entries of K that are passed over before the clock is read again
_DIVERGED = 1e6  # growth of the largest violation that no learning rate shows which converges
_SAFE = 0.5  # share of the tolerance at which to stop, because the certificate computes it all again


@dataclass(frozen=True)
class _GradientUpdate(KernelSquaresSolver):
    """What the two updates share; `max_iter` counts passes over all coefficients.

    learning_rate is eta, None for the one chosen above. interpolate puts alpha = 0. memory, in bytes, is for the kernel
    matrix; None means 2 GB.
    """

    learning_rate: float | None = None
    interpolate: bool = False
    memory: int | None = None
    n_jobs: int | None = None
    random_state: int | None = 0
    is_full: ClassVar[bool]
    """Whether all coefficients are updated at once."""

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Update until the gap and the violation are within the tolerance, from beta = 0 or from `start`."""
        kernel_problem = self.checked(problem)
        check_fits(problem.n_rows, self.memory, self.name)
        end = math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        equations = KernelEquations(kernel_problem, interpolate=self.interpolate)
        history = History()
        beta = np.zeros(problem.n_rows) if start is None else np.array(start.alpha, dtype=np.float64)
        try:
            with blas_threads(problem.n_rows, self.n_jobs):
                status = self._run(equations, beta, history, end)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return solution_at(beta, equations, status, history, self.name)

    def _run(self, equations: KernelEquations, beta: Vector, history: History, end: float) -> Status:
        K = equations.matrix()
        rate = self._chosen_rate(equations, K) if self.learning_rate is None else self.learning_rate
        rates, rng = rate * equations.weight, np.random.default_rng(self.random_state)
        begun, n_passes = math.inf, 0
        while True:
            with np.errstate(over="ignore", invalid="ignore"):  # what diverges is told from its values
                missing = equations.right - K @ beta - equations.diagonal * beta
                values = equations.values(beta, missing)
            history.record(n_passes, values.primal, values.dual)
            if values.within(_SAFE * self.tol):
                return Status.CONVERGED
            begun = min(begun, values.violation)
            if not values.violation <= _DIVERGED * begun or not math.isfinite(values.primal):
                raise ParameterError(
                    f"learning_rate={rate:g} is too large for solver={self.name!r}: the updates diverge on these data. "
                    f"learning_rate={self._chosen_rate(equations, K):.3g} converges; None chooses it."
                )
            if (self.max_iter is not None and n_passes >= self.max_iter) or time.perf_counter() > end:
                return Status.BUDGET
            raise_if_interrupted()
            if self.is_full:
                beta += rates * missing
            else:
                _update_in_turn(equations, K, rates, rng.permutation(len(beta)), beta)
            n_passes += 1
            equations.n_products = float(n_passes)

    def _chosen_rate(self, equations: KernelEquations, K: Matrix) -> float:
        """Half the learning rate up to which the updates converge, or less."""
        weight = equations.weight
        largest = eigenvalue_bound(K, np.sqrt(weight)) if self.is_full else float(np.max(weight * np.diagonal(K)))
        bound = equations.alpha + largest
        return 1.0 / bound if bound > 0.0 else 1.0


@dataclass(frozen=True)
class FullGradient(_GradientUpdate):
    """L4's full gradient update: all coefficients at once."""

    name: ClassVar[str] = "full-gradient"
    is_full: ClassVar[bool] = True


@dataclass(frozen=True)
class OneAtATime(_GradientUpdate):
    """L4's update of single coefficients in a random order: stochastic gradient descent on one row at a time."""

    name: ClassVar[str] = "one-at-a-time"
    is_full: ClassVar[bool] = False


def _update_in_turn(equations: KernelEquations, K: Matrix, rates: Vector, order: RowIndex, beta: Vector) -> None:
    """One coefficient after the other, in place."""
    step = max(1, _STEP_ENTRIES // len(beta))
    for begin in range(0, len(order), step):
        update_one_at_a_time(K, equations.right, equations.diagonal, rates, order[begin : begin + step], beta)


def eigenvalue_bound(K: Matrix, root: Vector) -> float:
    """A number that no eigenvalue of the matrix root_i K_ij root_j exceeds."""
    x, bound = root / np.max(root), math.inf
    for _ in range(_BOUND_ROUNDS):
        image = np.empty_like(x)
        for top in range(0, len(x), _TILE):
            rows = slice(top, top + _TILE)
            image[rows] = root[rows] * (np.abs(K[rows]) @ (root * x))
        bound = min(bound, float(np.max(image / x)))
        if bound == 0.0:
            return 0.0
        x = np.maximum(image / np.max(image), 1e-8)  # positive everywhere, so that the quotient means something
    # The sums above are rounded, each by a little less than this.
    return bound * (1.0 + len(x) * float(np.finfo(np.float64).eps))
