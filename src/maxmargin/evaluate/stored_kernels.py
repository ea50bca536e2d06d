"""Kernel values of all rows, computed once for every fold, every pair of classes and every C of a search.

They are single precision. That is enough where the sum of its errors, beta_j times the rounding of k(x_i, x_j), is
small beside the margin, and not where kernel values are large beside the differences that matter: a linear kernel on
rows that are far from the origin, or in large units. So answers are checked. With slopes F = K beta - t formed
from stored values,

    e = max_i |(K - K_double) beta|_i    over a sample of rows, but for what an intercept takes over

an answer that satisfies its conditions of optimality up to v satisfies the true ones up to v + 2 e. Where e is too
large, for the margin or beside the differences of scores, or where pair steps do not lead to the end, the problem is
solved as a plain fit solves it, in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.certificates.assessment import assess
from maxmargin.data import count_rows, take_rows
from maxmargin.kernels import Kernel
from maxmargin.losses import ResidualLoss
from maxmargin.problems import KernelProblem, Specification, Status
from maxmargin.problems.kernel import combine_columns
from maxmargin.solvers.kernel.automatic import Blocks, KernelAutomatic
from maxmargin.solvers.kernel.driver import KernelDriver
from maxmargin.solvers.kernel.values import kernel_matrix, submatrix

LARGEST = 1 << 31  # bytes of a kernel matrix that is formed whole where nobody says more
_FINE = 1e-3  # of the margin, or of the spread of the targets: an error of scores that a search may have
_OF_SPREAD = 0.01  # of the spread of scores, which alone decides where all of them are within the margin
_STEPS, _STEPS_A_ROW = 100_000, 100  # of pairs, after which a plain fit, which knows other ways, is quicker


class Answer(NamedTuple):
    """A machine: coefficients of its rows, intercept, and whether stored values were good enough for it."""

    beta: Vector
    bias: float
    is_single: bool


class StoredKernel:
    """A kernel matrix over rows X, in single precision: to search, not to certify."""

    def __init__(self, kernel: Kernel, X: Rows):
        self.kernel, self.X = kernel, X
        with np.errstate(over="ignore"):  # values beyond single precision are noticed (`are_representable`)
            self.values = kernel_matrix(kernel, X)

    def among(self, rows: RowIndex, columns: RowIndex, name: str) -> NDArray[np.float32]:
        """Values of some rows against some others, in memory that the next of that name may take over."""
        return submatrix(self.values, rows, columns, name)

    def problem(
        self, specification: Specification, y: Labels, sample_weight: Vector | None, used: RowIndex
    ) -> tuple[KernelProblem, RowIndex]:
        """The problem of a specification on some rows, with its part of the matrix, and its rows among those of X."""
        problem, place = self.plain_problem(specification, y, sample_weight, used)
        return replace(problem, stored=self.among(place, place, "rows of a problem")), place

    def plain_problem(
        self, specification: Specification, y: Labels, sample_weight: Vector | None, used: RowIndex
    ) -> tuple[KernelProblem, RowIndex]:
        """The same without stored values."""
        weight = None if sample_weight is None else sample_weight[used]
        problem, rows = specification.problem(_Positions(self.X, used), y[used], weight)
        assert isinstance(problem, KernelProblem)
        place = used if rows is None else used[rows]
        return replace(problem, source=replace(problem.source, X=self.X, rows=place)), place

    def scores(self, found: Sequence[Answer], place: RowIndex, rows: RowIndex) -> Matrix:
        """Scores of some rows by machines whose own rows are at `place`, a row each, as precise as their answers."""
        f = np.empty((len(found), len(rows)))
        single = [k for k, answer in enumerate(found) if answer.is_single]
        if single:  # stored values, but summed up in double precision
            beta = np.array([found[k].beta for k in single])
            support = np.flatnonzero(np.any(beta != 0.0, axis=0))
            values = self.among(rows, place[support], "rows to score").astype(np.float64)
            f[single] = beta[:, support] @ values.T
        for k, answer in enumerate(found):
            if not answer.is_single:
                support = np.flatnonzero(answer.beta)
                few = take_rows(self.X, rows)
                f[k] = combine_columns(self.kernel, few, self.X, place[support], answer.beta[support])
        return np.asarray(f + np.array([[answer.bias] for answer in found]))


class _Positions:
    """Stands for the chosen rows while a specification looks at their labels; the rows themselves are not copied."""

    def __init__(self, X: Rows, used: RowIndex):
        self.shape = (len(used), *getattr(X, "shape", (count_rows(X),))[1:])
        self.ndim = len(self.shape)


def answers(problem: KernelProblem, costs: Sequence[float], tol: float) -> list[Answer]:
    """The problem solved for every C, increasing, each from the answer before it while stored values will do.

    Coefficients, and errors with them, grow with C. So the largest C for which stored values will do is looked for.
    """
    problems = [replace(problem, C=float(C)) for C in costs]
    drivers: list[KernelDriver] = []
    for costly in problems if are_representable(problem) else []:
        driver = stored_fit(costly, tol, drivers[-1] if drivers else None)
        if driver.status is not Status.CONVERGED:
            break
        drivers.append(driver)
    while drivers and not is_precise(drivers[-1]):
        drivers.pop()
    single = [Answer(one.engine.coefficients(), one.intercept(), True) for one in drivers]
    return single + [solved_in_double(costly, tol) for costly in problems[len(drivers) :]]


def stored_fit(problem: KernelProblem, tol: float, before: KernelDriver | None = None) -> KernelDriver:
    """Pair steps on stored values, from zero or from the answer of a smaller C."""
    driver = search_settings(problem, tol).driver(problem)
    driver.is_for_scores = True
    if before is not None:
        driver.begin_near(before)
    driver.run(np.zeros(1, dtype=np.uint8))
    return driver


def search_settings(problem: KernelProblem, tol: float) -> Blocks:
    """Pair steps that give up where a plain fit would be quicker."""
    return Blocks(tol=tol, max_iter=_STEPS + _STEPS_A_ROW * problem.n_rows)


def is_precise(driver: KernelDriver) -> bool:
    """Whether a fit on stored values came to its end, and their rounding matters little there."""
    problem, tol = driver.problem, driver.settings.tol
    if driver.status is not Status.CONVERGED:
        return False
    error = driver.engine.sample_error()
    if isinstance(problem.loss, ResidualLoss):
        return error <= max(_FINE * float(np.std(problem.targets)), tol)
    return error <= min(max(_FINE, tol), _OF_SPREAD * float(np.std(driver.engine.scores())))


def are_representable(problem: KernelProblem) -> bool:
    """Whether the stored values of a problem are not beyond single precision."""
    return problem.stored is not None and bool(np.isfinite(problem.stored.diagonal()).all())


def solved_in_double(problem: KernelProblem, tol: float) -> Answer:
    """The answer of a plain fit."""
    plain = replace(problem, stored=None)
    found = KernelAutomatic(tol=tol).solve(plain)
    bias = found.bias if found.bias is not None else assess(plain, found.alpha, None, None).bias
    return Answer(plain.coefficients(found.alpha), float(np.asarray(bias)), False)
