"""Variables with their slopes in arrays of this process: what the engines that run here have in common."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.pair_steps import PairBox, pair_steps
from maxmargin._loops.kernel.working_sets import extremes, terms
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.problems import KernelProblem
from maxmargin.solvers.kernel.dual_variables import Variables
from maxmargin.solvers.kernel.engine import Extremes, KernelEngine, KernelWorkingSet, Terms, VariableSet

_SAMPLE = 64  # slopes that are compared with double precision


class HostSet(VariableSet):
    """Some of the variables; where there is a row of zeros, it is the last of them."""

    def __init__(self, box: PairBox, beta: Vector, F: Vector, rows: RowIndex, n_groups: int):
        self.box, self.beta, self.F, self.rows, self.n_groups = box, beta, F, rows, n_groups
        self.size = len(beta)
        self.has_zeros = bool(rows[-1] < 0)
        self.rising, self.falling = np.empty(self.size), np.empty(self.size)

    def extremes(self) -> Extremes:
        """Smallest rise and largest fall of each group."""
        low, high = np.empty(self.n_groups), np.empty(self.n_groups)
        extremes(self.F, self.beta, self.box, self.rising, self.falling, low, high)
        return Extremes(low, high)

    def are_between(self) -> NDArray[np.bool_]:
        """Which variables are at no bound and no kink."""
        beta, box = self.beta, self.box
        return np.asarray((beta > box.lower) & (beta < box.upper) & (beta != 0.0))

    def unsettled(self, at: Extremes, margin: float) -> RowIndex:
        """Variables but those whose slopes are further than `margin` from those that a violating pair would have."""
        low, high = self._of_groups(at.low), self._of_groups(at.high)
        return np.flatnonzero((self.rising <= high + margin) | (self.falling >= low - margin))

    def most_violating(self, at: Extremes, count: int, carried: RowIndex) -> RowIndex:
        """`count` variables, the carried ones first, the others the worst: half to be raised, half lowered."""
        if self.has_zeros and not np.any(carried == self.size - 1):
            carried = np.append(self.size - 1, carried)
        middle = self._of_groups(at.middle)
        gain_up, gain_down = middle - self.rising, self.falling - middle
        gain_up[carried], gain_down[carried] = -np.inf, -np.inf
        wanted = count - len(carried)
        up = _largest(gain_up, wanted // 2)
        gain_down[up] = -np.inf
        down = _largest(gain_down, wanted - len(up))
        gain_up[up], gain_up[down] = -np.inf, -np.inf
        more = _largest(gain_up, wanted - len(up) - len(down))  # where few can be lowered
        return np.concatenate([carried, up, down, more])

    def gain(self, at: Extremes) -> Vector:
        """How much moving each variable would gain, a slope."""
        middle = self._of_groups(at.middle)
        return np.asarray(np.maximum(middle - self.rising, self.falling - middle))

    def _of_groups(self, values: Vector) -> Any:
        """A value of each group, for each variable."""
        return values[self.box.group] if self.n_groups > 1 else values[0]

    def update_slopes(self, moved: RowIndex, steps: Vector) -> None:
        """All slopes after the coefficients of some variables moved, which `beta` does not have yet."""
        raise NotImplementedError


class SquareSet(HostSet, KernelWorkingSet):
    """Variables whose square of the kernel matrix is at hand; where they are all of a set, they are its arrays."""

    def __init__(self, around: HostSet, which: RowIndex | None, square: NDArray[Any], coarsest: float = 0.0):
        """`coarsest` is a violation to which steps go at most, whatever is asked for."""
        self._around, self._which, self._square, self._coarsest = around, which, square, coarsest
        box, beta, F, rows = around.box, around.beta, around.F, around.rows
        if which is not None:
            box, beta, F, rows = box.only(which), beta[which], F[which], rows[which]
            self._before = beta.copy()
        super().__init__(box, beta, F, rows, around.n_groups)

    def pair_steps(self, goal: float, limit: int, stop: StopFlag) -> tuple[int, bool]:
        """Pair steps on the square."""
        slots, goal = np.arange(self.size), max(goal, self._coarsest)
        taken = pair_steps(self._square, slots, self.beta, self.F, self.box, goal, limit, stop)[0]
        return taken, taken < limit

    def close(self) -> None:
        """Hand on what moved."""
        if self._which is None:
            return
        steps = self.beta - self._before
        moved = np.flatnonzero(steps)
        self._around.update_slopes(self._which[moved], steps[moved])
        self._around.beta[self._which] = self.beta


class HostEngine(HostSet, KernelEngine):
    """All variables; engines say what they have of the kernel, and begin."""

    def __init__(self, problem: KernelProblem, variables: Variables, curvature: Vector):
        v = variables
        self.problem, self.variables = problem, variables
        self.is_free, self.is_exact = v.is_free, True
        box = PairBox(v.lower, v.upper, v.tube, v.ridge, curvature, v.group)
        super().__init__(box, np.zeros(len(v.lower)), -v.target, v.rows, v.n_groups)

    def terms(self, b: Vector) -> Terms:
        """Sums over all variables."""
        return Terms(*terms(self.F, self.beta, self.box, self.variables.target, b))

    def refine(self) -> None:
        """Form all slopes in double precision, from the rows."""
        v = self.variables
        combined = v.combined(self.beta)
        scores = self.problem.scores(combined) + v.constant * float(np.sum(combined))
        self.F = np.where(v.rows >= 0, scores[v.rows], 0.0) - v.target + v.ridge * self.beta
        self.is_exact = True

    def sample_error(self) -> float:
        """The largest error of a sample of slopes."""
        v, n = self.variables, self.problem.n_rows
        combined = v.combined(self.beta)
        sample = np.arange(0, n, max(1, n // _SAMPLE))
        exact = self.problem.scores_at(sample, combined) + v.constant * float(np.sum(combined))
        error = self.scores()[sample] - exact
        if self.problem.intercept.is_free:
            error -= np.median(error)
        return float(np.max(np.abs(error)))

    def begin_near(self, other: HostEngine, scale: float) -> None:
        """Begin at scaled coefficients; slopes follow without the kernel."""
        v, was = self.variables, other.variables
        scores = other.F + was.target - was.ridge * other.beta
        self.beta = np.clip(scale * other.beta, v.lower, v.upper)
        self.F = scale * scores - v.target + v.ridge * self.beta
        self.is_exact = other.is_exact

    @cached_property
    def largest_value(self) -> float:
        """The largest |K_kk + ridge_k|."""
        return float(np.max(np.abs(self.box.curvature)))

    @cached_property
    def diameter(self) -> float:
        """How far rows are from the first, or from the origin."""
        diagonal = self.problem.diagonal()
        if self.problem.intercept.is_free:
            diagonal = diagonal + diagonal[0] - 2.0 * self.problem.kernel_rows(np.array([0]))[0]
        return math.sqrt(float(np.max(np.abs(diagonal))))

    def coefficients(self) -> Vector:
        """Coefficients of the rows."""
        return self.variables.combined(self.beta)

    def scores(self) -> Vector:
        """Scores of the rows; variable i belongs to row i, as long as i is below their number."""
        v = self.variables
        return np.asarray(self.F + v.target - v.ridge * self.beta)[: self.problem.n_rows]

    def tells_intercept(self) -> bool:
        """Whether a coefficient lies between its bounds."""
        return self.variables.tells_intercept(self.beta)


def _largest(values: Vector, count: int) -> RowIndex:
    """Places of the largest values, except those that are minus infinity."""
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    places = np.argpartition(-values, count - 1)[:count] if count < len(values) else np.arange(len(values))
    return places[values[places] > -np.inf]
