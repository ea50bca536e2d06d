"""The equations of least squares: what is missing from them at a point, and corrections by approximate inverses.

    rows         beta_i / C_i + <w, x_i> + b = y_i
    features     sum_i beta_i x_i = delta w
    intercept    sum_i beta_i = b / s^2              (zero for a free intercept, s infinite; b = 0 for none, s = 0)

Eliminating beta and b leaves the normal equations S w = ..., with t = sum_i C_i, m = sum_i C_i x_i / t and
q = 1 / (t + 1 / s^2):

    S = sum_i C_i x_i x_i' - t^2 q m m' + delta I
      = sum_i C_i (x_i - m)(x_i - m)' + (t - t^2 q) m m' + delta I

With a penalty and few rows, w is eliminated instead, which leaves one equation a row:

    M beta + b = y,    M = diag(1 / C_i) + X X' / delta

S and M have the square of the condition number of X, so their solutions alone would lose twice the digits. They only
ever map what is missing in the three equations, taken afresh from the data, to corrections of w, b and beta. There are
four ways to apply their inverses:

    cholesky    S formed in one pass and factored: few features
    svd         a triangle R with R'R = S by orthogonal steps, block by block, without ever squaring; where R is
                singular, its pseudo-inverse, which gives the shortest of all minimisers: few features, ill conditioned
    cg          conjugate gradients, each product one pass forth and back: many rows and features
    gram        M formed and factored: few rows

Ordinary least squares has no penalty, and its dual is finite only where sum_i beta_i x_i is exactly zero, which
rounding never gives. Its answer is therefore certified within a box that holds it well inside (`Equations.box`): the
dual then pays radius_j |sum_i beta_i x_ij| for what is left of each equation, in the right units for every column. A
better point outside the box would show inside it: by convexity, no point at k times the distance from the answer to
the edge of the box is better than the answer by more than k times the gap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular, svd

from maxmargin._types import Matrix, Vector
from maxmargin.certificates import Assessment, assess
from maxmargin.data import as_double
from maxmargin.data.rows import ArrayRows
from maxmargin.penalties import L2, Box
from maxmargin.problems import LinearProblem
from maxmargin.solvers.common.positive_systems import conjugate_gradients

_WELL_CONDITIONED = 1e-10  # smallest squared pivot, of columns of length 1, that leaves no doubt about the rank
_CG_DIGITS = 1e-10
_BLOCK_BYTES = 8 << 20
_EPSILON = float(np.finfo(np.float64).eps)

Inverse: TypeAlias = Callable[[Vector], Vector]
"""A right side to the solution of a linear system."""


class Unknowns(NamedTuple):
    """Weights, intercept and multipliers."""

    w: Vector
    b: float
    beta: Vector


class Missing(NamedTuple):
    """Right side minus left side of each equation."""

    rows: Vector
    features: Vector
    intercept: float


Correct: TypeAlias = Callable[[Missing], Unknowns]
"""What is missing to the correction that supplies it."""


class Equations:
    """The three equations of a problem, with the letters of this file."""

    def __init__(self, problem: LinearProblem, passes: ArrayRows):
        self.problem, self.passes = problem, passes
        self.y, self.C = problem.targets, problem.costs
        self.n, self.d = passes.n_rows, passes.n_features
        self.delta = problem.penalty.strength if isinstance(problem.penalty, L2) else 0.0
        self.scale = problem.intercept.scale
        self.n_passes = 0.0

    @cached_property
    def t(self) -> float:
        """Sum of the costs."""
        return math.fsum(self.C)

    @cached_property
    def q(self) -> float:
        """1 / (t + 1 / s^2)."""
        return 0.0 if self.scale == 0.0 else 1.0 / (self.t + self.scale**-2.0)

    @cached_property
    def m(self) -> Vector:
        """Weighted mean of the rows."""
        return self.combination(self.C) / self.t

    def scores(self, w: Vector) -> Vector:
        """<w, x_i> of every row."""
        self.n_passes += 1.0
        return self.passes.scores(w)

    def combination(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i."""
        self.n_passes += 1.0
        return self.passes.combination(beta)

    def missing(self, at: Unknowns) -> Missing:
        """What is left of the three equations."""
        return Missing(
            rows=self.y - at.beta / self.C - self.scores(at.w) - at.b,
            features=self.delta * at.w - self.combination(at.beta),
            intercept=(at.b * self.scale**-2.0 if self.scale > 0.0 else 0.0) - math.fsum(at.beta),
        )

    def by_features(self, inverse: Inverse) -> Correct:
        """Corrections through the inverse of S."""

        def correct(missing: Missing) -> Unknowns:
            right = self.combination(self.C * missing.rows) - missing.features
            right_b = math.fsum(self.C * missing.rows) - missing.intercept
            w = inverse(right - (self.t * self.q * right_b) * self.m)
            b = self.q * (right_b - self.t * float(self.m @ w))
            return Unknowns(w, b, self.C * (missing.rows - self.scores(w) - b))

        return correct

    def by_rows(self, inverse: Inverse) -> Correct:
        """Corrections through the inverse of M."""
        ones = inverse(np.ones_like(self.C))

        def correct(missing: Missing) -> Unknowns:
            beta = inverse(missing.rows + self.scores(missing.features) / self.delta)
            b = 0.0
            if self.scale > 0.0:
                b = (math.fsum(beta) - missing.intercept) / (math.fsum(ones) + self.scale**-2.0)
            beta = beta - b * ones
            return Unknowns((self.combination(beta) - missing.features) / self.delta, b, beta)

        return correct

    def balanced(self, at: Unknowns) -> Unknowns:
        """The point with sum_i beta_i exactly zero where the intercept is free."""
        if not math.isinf(self.scale):
            return at
        return at._replace(beta=at.beta - self.C * (math.fsum(at.beta) / self.t))

    @cached_property
    def reach(self) -> Vector:
        """Weight with which each column alone would be as long as y; 0 for an empty column."""
        length = np.sqrt(self.passes.squared_combination(self.C))
        target = math.sqrt(float(self.C @ np.square(self.y)))
        self.n_passes += 1.0
        return np.divide(target, length, out=np.zeros_like(length), where=length > 0.0)

    def box(self, weights: Vector) -> Box:
        """A box that holds the weights well inside, whatever the units of the columns.

        To twice the weight of a column is added the one with which the column alone would be as long as y.
        """
        return Box(2.0 * np.abs(weights) + self.reach)

    def assess(self, at: Unknowns) -> Assessment:
        """What the certificate will say of the point."""
        self.n_passes += 2.0
        problem = self.problem
        if isinstance(problem.penalty, Box):
            problem = replace(problem, penalty=self.box(at.w))
        return assess(problem, at.beta, at.w, at.b)


def cholesky_inverse(equations: Equations) -> Inverse | None:
    """S formed and factored; None where it is too close to singular to be trusted."""
    S = equations.passes.products(equations.C)
    equations.n_passes += 1.0
    S -= (equations.t**2 * equations.q) * np.outer(equations.m, equations.m)
    S[np.diag_indices_from(S)] += equations.delta
    diagonal = np.diag(S)
    if not np.all(diagonal > 0.0):
        return None
    unit = 1.0 / np.sqrt(diagonal)
    try:
        R = cholesky(S * unit * unit[:, None], overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return _two_triangles(R, unit) if np.min(np.diag(R)) ** 2 >= _WELL_CONDITIONED else None


def gram_inverse(equations: Equations) -> Inverse:
    """M formed and factored. It is positive definite: what rounding can do to it, refinement undoes."""
    X = equations.problem.source.take(slice(None))
    if sparse.issparse(X):
        M = (as_double(X) @ as_double(X).T).toarray()
    else:  # a few columns at a time: X may be in single precision, and large
        M = np.zeros((len(X), len(X)))
        width = max(1, _BLOCK_BYTES // (8 * len(X)))
        for left in range(0, X.shape[1], width):
            columns = as_double(X[:, left : left + width])
            M += columns @ columns.T
    equations.n_passes += 1.0
    M /= equations.delta
    M[np.diag_indices_from(M)] += 1.0 / equations.C
    unit = 1.0 / np.sqrt(np.diag(M))
    M *= unit * unit[:, None]
    M[np.diag_indices_from(M)] += len(M) * _EPSILON
    return _two_triangles(cholesky(M, overwrite_a=True, check_finite=False), unit)


def _two_triangles(R: Matrix, unit: Vector) -> Inverse:
    """The inverse of S = U^-1 R'R U^-1 with U = diag(unit)."""

    def inverse(right: Vector) -> Vector:
        half = solve_triangular(R, unit * right, trans="T", check_finite=False)
        whole: Vector = unit * solve_triangular(R, half, check_finite=False)
        return whole

    return inverse


def triangle_inverse(equations: Equations) -> Inverse:
    """A triangle of S from orthogonal steps over centred rows; the pseudo-inverse of S where it is singular."""
    n, d = equations.n, equations.d
    mean = math.sqrt(max(0.0, equations.t - equations.t**2 * equations.q))
    parts = [mean * equations.m[None, :]] if mean > 0.0 else []
    if equations.delta > 0.0:
        parts.append(math.sqrt(equations.delta) * np.eye(d))
    R = np.vstack(parts) if parts else np.zeros((0, d))
    root = np.sqrt(equations.C)
    rows = max(2 * d, _BLOCK_BYTES // (8 * d))
    for top in range(0, n, rows):
        span = slice(top, min(top + rows, n))
        X = as_double(equations.problem.source.take(span))
        X = X.toarray() if sparse.issparse(X) else X
        R = np.vstack([R, root[span, None] * (X - equations.m)])
        if len(R) > d:
            R = qr(R, mode="r", overwrite_a=True, check_finite=False)[0][:d]
    equations.n_passes += 1.0
    length = np.linalg.norm(R, axis=0)
    negligible = max(n, d) * _EPSILON
    if len(R) == d and np.all(length > 0.0):
        unit = 1.0 / length
        if svd(R * unit, compute_uv=False, check_finite=False)[-1] > negligible:
            return _two_triangles(R * unit, unit)
    _, sigma, V = svd(R, full_matrices=False, check_finite=False)
    kept = sigma > negligible * sigma[0]
    sigma, V = sigma[kept], V[kept]
    return lambda right: V.T @ ((V @ right) / np.square(sigma))


class GradientInverse:
    """S^-1 by conjugate gradients, to half of the digits or more; the next round of refinement sees what is left.

    Scaled by the diagonal where there is a penalty and no lack of rows. Unscaled, the iterates stay among the
    combinations of rows. With fewer rows than features these are few; without a penalty they lead to the shortest
    minimiser.
    """

    def __init__(self, equations: Equations, max_iter: int | None, end: float):
        self.equations, self.end = equations, end
        self.left = max_iter or 10 * equations.d + 1000
        self.shift = equations.t**2 * equations.q
        self.scale = np.ones_like(equations.m)
        if equations.delta > 0.0 and equations.n >= equations.d:
            spread = equations.passes.squared_combination(equations.C) - self.shift * np.square(equations.m)
            self.scale = 1.0 / (equations.delta + np.maximum(spread, 0.0))

    @property
    def is_exhausted(self) -> bool:
        """Whether the budget of iterations or of time is spent."""
        return self.left <= 0 or time.perf_counter() > self.end

    def __call__(self, right: Vector) -> Vector:
        """S^-1 right."""
        return conjugate_gradients(self._product, right, self.scale, _CG_DIGITS, lambda _: not self.is_exhausted)

    def _product(self, p: Vector) -> Vector:
        """S p."""
        self.left -= 1
        equations = self.equations
        product = equations.combination(equations.C * equations.scores(p))
        return product - (self.shift * float(equations.m @ p)) * equations.m + equations.delta * p
