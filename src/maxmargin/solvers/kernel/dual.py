"""The dual of a kernel machine as a minimum over signed coefficients with bounds and kinks, and who solves it.

    minimise over beta    1/2 beta' K beta - target' beta + sum_i tube_i |beta_i| + 1/2 sum_i ridge_i beta_i^2
    subject to            lower_i <= beta_i <= upper_i, and the sums of beta that the intercept fixes

    hinge                       target = y, beta between 0 and y C
    epsilon-insensitive         target = y, beta between -C and C, tube = epsilon
    squared hinge and tube      the same without an upper bound, ridge = 1 / (2 C)
    any other loss              whatever its `dual_box` says

    free intercept              the sum of all beta is 0
    augmented intercept         no sum is fixed; the kernel is k + s^2
    no intercept                no sum is fixed

A variable without a partner is paired with one that costs nothing and has no bounds: a row of zeros. So every step is a
pair step, whatever the intercept.

The machines with nu (`nu` of the problem, a share of the rows; n is the sum of their weights c_i):

    nu classification    0 <= y_i beta_i <= c_i; the sums over each class are +nu n / 2 and -nu n / 2; target = 0
    one class            0 <= beta_i <= c_i; the sum is nu n; target = 0
    nu regression        two variables a row, one in [0, C c_i], one in [-C c_i, 0]; target = y for both;
                         the sums over each kind are +C nu n / 2 and -C nu n / 2

There each kind of variable is a group: pairs are formed inside groups, and each has an intercept r of its own, the
slope that its free variables share. From the two of them follow the intercept and the margin rho (or the width epsilon
of the tube) that nu stands for:

    classification    b = -(r_1 + r_2) / 2,  rho = (r_1 - r_2) / 2;    one class    rho = r_1
    regression        b = -(r_1 + r_2) / 2,  epsilon = (r_2 - r_1) / 2

`Extremes` and `Terms` are what the slopes of a point tell of it (`solvers.kernel.engine` says which slopes).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin._types import RowIndex, Vector
from maxmargin.errors import ParameterError
from maxmargin.losses import DualBox, ResidualLoss
from maxmargin.problems import KernelProblem, Problem, ProblemKind, Solution
from maxmargin.solvers.common.solver import (
    Solver,
    is_quadratic,
    losses_of,
    not_suited,
    takes_another_intercept,
    words_of,
)
from maxmargin.solvers.registry import KERNEL, takers

_ROUNDOFF = float(np.finfo(np.float64).eps)
_AWAY = 1e-6  # of a bound: how far from it a coefficient is that is not there by rounding
_MAX_EXAMINED = 4000  # rows up to which the eigenvalues of a kernel matrix are computed


@dataclass(frozen=True)
class Variables:
    """Bounds and linear terms, one entry a variable."""

    lower: Vector
    upper: Vector
    target: Vector
    tube: Vector
    ridge: Vector
    start: Vector
    """A feasible point."""
    group: RowIndex
    """The sum over each group is kept; pairs are formed inside."""
    rows: RowIndex
    """The row that each variable belongs to; -1 for the row of zeros, which is the last."""
    n_groups: int = 1
    constant: float = 0.0
    """What the intercept adds to every kernel value."""
    is_free: bool = True
    """Whether each group has an intercept of its own."""

    @classmethod
    def of(cls, problem: KernelProblem) -> Variables:
        """The variables of a problem."""
        if problem.nu is not None:
            return _with_nu(problem, problem.nu)
        box = problem.loss.dual_box(problem.costs)
        if box is None:
            raise ParameterError(
                f"pair steps are for losses whose dual is a quadratic program, not the {problem.loss.name} loss."
            )
        ends = problem.coefficients(box.lower), problem.coefficients(box.upper)
        target = problem.coefficients(box.linear)
        if isinstance(problem.loss, ResidualLoss):
            target = target + problem.targets
        n = problem.n_rows
        variables = cls(
            lower=np.minimum(*ends),
            upper=np.maximum(*ends),
            target=target,
            tube=box.absolute,
            ridge=box.diagonal,
            start=np.zeros(n),
            group=np.zeros(n, dtype=np.int64),
            rows=np.arange(n),
        )
        return variables if problem.intercept.is_free else variables._with_row_of_zeros(problem.intercept.scale)

    def _with_row_of_zeros(self, scale: float) -> Variables:
        more = {"lower": -np.inf, "upper": np.inf, "target": 0.0, "tube": 0.0, "ridge": 0.0, "start": 0.0}
        more |= {"group": 0, "rows": -1}
        longer: dict[str, Any] = {name: np.append(getattr(self, name), value) for name, value in more.items()}
        return replace(self, **longer, constant=scale**2, is_free=False)

    def combined(self, beta: Vector) -> Vector:
        """Coefficients of the rows."""
        given = self.rows >= 0
        n_rows = int(self.rows.max(initial=-1)) + 1
        return np.bincount(self.rows[given], weights=beta[given], minlength=n_rows).astype(np.float64)

    def beginning(self, problem: KernelProblem, start: Solution | None) -> Vector:
        """The coefficients of a start, within bounds and balanced; a feasible point without one, or with nu."""
        if start is None or problem.nu is not None:
            return self.start.copy()
        n = len(start.alpha)
        beta = np.clip(problem.coefficients(start.alpha), self.lower[:n], self.upper[:n])
        if not self.is_free:
            return np.append(beta, 0.0)
        # The heavier side gives way, which no bound forbids.
        positive, negative = float(np.sum(beta[beta > 0.0])), -float(np.sum(beta[beta < 0.0]))
        light = min(positive, negative)
        if abs(positive - negative) <= 64.0 * _ROUNDOFF * light:
            return np.asarray(beta)  # balanced up to rounding: scaling would only move multipliers off their bounds
        scale = np.where(beta > 0.0, light / (positive or 1.0), light / (negative or 1.0))
        return np.asarray(beta * scale)

    def tells_intercept(self, beta: Vector) -> bool:
        """Whether a coefficient lies between its bounds, which leaves one intercept.

        Where all are at bounds, any point of an interval is best. One of them may be off its bound by rounding, because
        the bounds of both classes have the same sum up to rounding only (balanced weights), and it would name an end of
        the interval. A certificate takes the middle (`problems.intercept`).
        """
        n = len(beta)
        lower, upper = self.lower[:n], self.upper[:n]
        reach = _AWAY * np.maximum(np.abs(lower), np.abs(upper))
        away = np.minimum(upper - beta, np.minimum(beta - lower, np.abs(beta)))
        return bool(np.any(away > np.where(np.isfinite(reach), reach, 0.0)))


def _with_nu(problem: KernelProblem, nu: float) -> Variables:
    """The variables of a machine with nu; its start fills the first rows of each group up to their bounds."""
    y, weight, n = problem.targets, problem.source.weight, problem.n_rows
    total = nu * float(np.sum(weight))
    zero = np.zeros(n)
    if isinstance(problem.loss, ResidualLoss):
        bound = problem.costs
        half = _filled(bound, 0.5 * problem.C * total)
        return Variables(
            lower=np.concatenate([zero, -bound]),
            upper=np.concatenate([bound, zero]),
            target=np.concatenate([y, y]),
            tube=np.zeros(2 * n),
            ridge=np.zeros(2 * n),
            start=np.concatenate([half, -half]),
            group=np.repeat([0, 1], n),
            rows=np.tile(np.arange(n), 2),
            n_groups=2,
        )
    start, group = zero.copy(), np.zeros(n, dtype=np.int64)
    signs = (1.0, -1.0) if problem.intercept.is_free else (1.0,)
    share = total / len(signs)
    for number, sign in enumerate(signs):
        members = np.flatnonzero(y == sign)
        most = float(np.sum(weight[members]))
        if share > most * (1.0 + 1e-12):
            raise ParameterError(
                f"specified nu is infeasible: nu={nu:g} asks for multipliers that add up to {share:g} in each class, "
                f"and one class allows no more than {most:g}. The largest nu for these data is "
                f"{nu * most / share:.6g}."
            )
        start[members] = sign * _filled(weight[members], share)
        group[members] = number
    return Variables(
        lower=np.minimum(0.0, y * weight),
        upper=np.maximum(0.0, y * weight),
        target=zero,
        tube=zero,
        ridge=zero,
        start=start,
        group=group,
        rows=np.arange(n),
        n_groups=len(signs),
    )


def _filled(bounds: Vector, total: float) -> Vector:
    """Bounds taken one after the other until their sum is `total`."""
    before = np.cumsum(bounds) - bounds
    return np.asarray(np.clip(total - before, 0.0, bounds))


# What slopes tell of a point ------------------------------------------------------------------------------------------


class Extremes(NamedTuple):
    """What the slopes of a set tell, of each group."""

    low: Vector
    """Smallest rise; infinite where nothing of the group can be raised."""
    high: Vector
    """Largest fall; minus infinite where nothing can be lowered."""

    @property
    def violation(self) -> float:
        """How far the worst pair is from optimal."""
        if len(self.low) == 1:
            return float(self.high[0] - self.low[0])  # small fits ask often
        return float(np.max(self.high - self.low))

    @property
    def middle(self) -> Vector:
        """The slope that separates rises from falls; where all variables are at the same bound, the last of them."""
        middle = 0.5 * (self.low + self.high)
        if math.isfinite(middle[0]) and (len(middle) == 1 or np.all(np.isfinite(middle))):
            return middle
        low = np.where(np.isfinite(self.low), self.low, self.high)
        high = np.where(np.isfinite(self.high), self.high, low)
        return np.where(np.isfinite(high), 0.5 * (low + high), 0.0)


class Terms(NamedTuple):
    """Sums over all variables, at given intercepts b_g of their groups.

    With g_k = F_k - ridge_k beta_k + b the loss of a variable is the largest of -g_k c - tube_k |c| - 1/2 ridge_k c^2
    over lower_k <= c <= upper_k, and the gap is what c = beta_k falls short of it.
    """

    losses: float
    gap: float
    square: float
    """|w|^2 = beta' K beta."""
    gain: float
    """target' beta - tube' |beta| - 1/2 sum_k ridge_k beta_k^2."""
    size: float
    """The sum of |beta|."""
    squares: float
    """The sum of beta^2."""
    steepness: float
    """The sum over beta_k other than 0 of the larger bound of k, or of |beta_k| where there is none."""
    largest: float
    """The largest |F|."""


# Who solves it --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelSolver(Solver):
    """A solver of the dual of a kernel machine, which is a quadratic program."""

    @abstractmethod
    def takes(self, problem: ProblemKind) -> bool:
        """Whether the solver is for problems of this kind."""

    def refusal(self, problem: ProblemKind) -> str:
        """What does not suit: no kernel, the loss, or the intercept; and the solvers that it suits."""
        from maxmargin.solvers.kernel.automatic import KernelAutomatic

        if problem.kernel is None:
            return f"this solver={self.name!r} is for kernel problems, not for: {problem.objective}."
        if not is_quadratic(problem.loss):
            known = ", ".join(sorted(losses_of(KernelAutomatic(), problem)))
            return f"the dual of the {problem.loss.name} loss is no quadratic program; kernel solvers know: {known}."
        what = words_of(problem.loss)
        if takes_another_intercept(self, problem):
            article = "an" if problem.intercept.scale > 0.0 else "a problem with"
            what = f"{article} {problem.intercept.words}"
        return not_suited(self.name, what, takers(KERNEL, problem))

    def checked(self, problem: Problem) -> KernelProblem:
        """The problem, if the solver takes it."""
        self.check(problem)
        assert isinstance(problem, KernelProblem)
        return problem


def is_soft(problem: ProblemKind) -> bool:
    """Whether it is a kernel machine with a finite cost, and its dual a quadratic program."""
    return problem.kernel is not None and problem.loss.curve is not None and is_quadratic(problem.loss)


def is_definite(problem: KernelProblem) -> bool:
    """Whether the kernel matrix has no negative eigenvalue: by the kernel, or else by the matrix where it is small."""
    return problem.is_convex or (problem.n_rows <= _MAX_EXAMINED and problem.is_convex_here())


def box_with_maximum(solver: str, problem: KernelProblem) -> DualBox:
    """The bounds of a dual that has a maximum; of a loss whose multipliers have none it may not."""
    box = problem.loss.dual_box(problem.costs)
    assert box is not None  # the solver takes the loss
    if np.any(np.isinf(box.upper)) and not is_definite(problem):
        raise ParameterError(
            f"solver={solver!r} needs a kernel matrix without negative eigenvalues for the {problem.loss.name} loss, "
            f"whose multipliers have no bounds: the dual of {problem.objective} may have no maximum. Use the "
            "hinge or the epsilon-insensitive loss, or another kernel. See `maxmargin.kernels.mercer_check`."
        )
    return box
