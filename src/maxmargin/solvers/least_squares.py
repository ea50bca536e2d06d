"""Least squares with and without an L2 penalty, to the last digits.

    minimise over w, b    delta/2 |w|^2 + 1/2 (b / s)^2 + 1/2 sum_i C_i (<w, x_i> + b - y_i)^2

delta = 1 is ridge regression, delta = 0 ordinary least squares. With beta the multipliers of the rows, the conditions
of optimality are linear equations:

    rows         beta_i / C_i + <w, x_i> + b = y_i
    features     sum_i beta_i x_i = delta w
    intercept    sum_i beta_i = b / s^2              (zero for a free intercept, s infinite; b = 0 for none, s = 0)

Eliminating beta and b leaves the normal equations S w = ..., with t = sum_i C_i, m = sum_i C_i x_i / t and
q = 1 / (t + 1 / s^2):

    S = sum_i C_i x_i x_i' - t^2 q m m' + delta I
      = sum_i C_i (x_i - m)(x_i - m)' + (t - t^2 q) m m' + delta I

S has the square of the condition number of X, so its solution alone would lose twice the digits. It only ever maps what
is missing in the three equations, taken afresh from the data, to corrections of w, b and beta. A few rounds of this
make all three hold to rounding (Björck, BIT 1967; Higham, Accuracy and Stability, chapter 20). S is inverted by

    cholesky    S formed in one pass and factored: few features
    svd         a triangle R with R'R = S by orthogonal steps, block by block, without ever squaring; where R is
                singular, its pseudo-inverse, which gives the shortest of all minimisers: few features, ill conditioned
    cg          conjugate gradients, each product one pass forth and back: many rows and features

With a penalty and few rows, w is eliminated instead, which leaves one equation a row (method "gram"):

    M beta + b = y,    M = diag(1 / C_i) + X X' / delta

Ordinary least squares has no penalty, and its dual is finite only where sum_i beta_i x_i is exactly zero, which
rounding never gives. Its answer is therefore certified within a box that holds it well inside (`box_around`): the dual
then pays radius_j |sum_i beta_i x_ij| for what is left of each equation, in the right units for every column. A better
point outside the box would show inside it: by convexity, no point at k times the distance from the answer to the edge
of the box is better than the answer by more than k times the gap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular, svd

from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import one_blas_thread
from maxmargin.certificates import Assessment, assess
from maxmargin.data import as_double
from maxmargin.data.passes import Passes
from maxmargin.errors import ParameterError
from maxmargin.losses import Squared
from maxmargin.penalties import L2, Box
from maxmargin.problems import History, LinearProblem, Problem, Solution, Status
from maxmargin.solvers.solver import Solver

Inverse: TypeAlias = Callable[[Vector], Vector]
Method: TypeAlias = Literal["auto", "cholesky", "svd", "gram", "cg"]

_MAX_FACTORED = 2000  # features or rows up to which S or M is formed
_ROUNDS = 8
_WELL_CONDITIONED = 1e-10  # smallest squared pivot, of columns of length 1, that leaves no doubt about the rank
_SETTLED = 1e-8  # relative change of w at which corrections may stop shrinking
_CG_DIGITS = 1e-10
_BLOCK_BYTES = 8 << 20
_EPSILON = float(np.finfo(np.float64).eps)


def box_around(problem: LinearProblem, weights: Vector) -> Box:
    """A box that holds the weights well inside, whatever the units of the columns.

    To twice the weight of a column is added the one with which the column alone would be as long as y.
    """
    return _Equations(problem, Passes(problem.source)).box(weights)


@dataclass(frozen=True)
class LeastSquares(Solver):
    """Normal equations, refined until rounding stops them; `max_iter` bounds the conjugate gradients of a round."""

    method: Method = "auto"
    n_jobs: int | None = None
    name: ClassVar[str] = "least-squares"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve to the last digits; a closed form has no use for a start."""
        if not (isinstance(problem, LinearProblem) and isinstance(problem.loss, Squared) and _has_equations(problem)):
            raise ParameterError(
                "solver='least-squares' is for linear problems with the squared loss and an L2 penalty or none, "
                f"not: {problem.objective}."
            )
        if self.method not in get_args(Method):
            known = ", ".join(map(repr, get_args(Method)))
            raise ParameterError(f"method must be one of {known}, got method={self.method!r}.")
        end = math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        rounds = _Refinement(_Equations(problem, Passes(problem.source, self.n_jobs)), end)
        try:
            with one_blas_thread():  # passes have threads of their own, and small factorisations lose by them
                status = self._run(rounds)
                rounds.consider_silence()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Solution(
            alpha=rounds.best.beta,
            weights=rounds.best.w,
            bias=rounds.best.b,
            status=status,
            history=rounds.history,
            solver=f"{self.name} ({rounds.method})",
            passes=rounds.equations.n_passes,
            seconds=rounds.history.elapsed,
        )

    def _run(self, rounds: _Refinement) -> Status:
        equations = rounds.equations
        method = self._method(equations)
        if method == "cg":
            gradients = _ConjugateGradients(equations, self.max_iter, rounds.end)
            finished = rounds.run("cg", equations.by_features(gradients)) and not gradients.is_exhausted
            return Status.CONVERGED if finished else Status.BUDGET
        if method == "gram":
            return rounds.ended(rounds.run("gram", equations.by_rows(_gram_inverse(equations))))
        inverse = None if method == "svd" else _cholesky_inverse(equations)
        finished = inverse is not None and rounds.run("cholesky", equations.by_features(inverse))
        if not finished and time.perf_counter() <= rounds.end:
            finished = rounds.run("svd", equations.by_features(_triangle_inverse(equations)))
        return rounds.ended(finished)

    def _method(self, equations: _Equations) -> Method:
        n, d = equations.passes.n_rows, equations.passes.n_features
        if self.method not in ("auto", "gram") or (self.method == "gram" and equations.delta > 0.0):
            return self.method
        if n < d and n <= _MAX_FACTORED and equations.delta > 0.0:
            return "gram"
        return "cholesky" if d <= _MAX_FACTORED else "cg"


def _has_equations(problem: LinearProblem) -> bool:
    """Whether optimality is a system of linear equations."""
    penalty = problem.penalty
    return isinstance(penalty, L2) or (isinstance(penalty, Box) and bool(np.all(np.isinf(penalty.radius))))


@dataclass(frozen=True)
class _Point:
    w: Vector
    b: float
    beta: Vector


class _Missing(NamedTuple):
    """Right side minus left side of each equation."""

    rows: Vector
    features: Vector
    intercept: float


Correct: TypeAlias = Callable[[_Missing], _Point]


class _Equations:
    """The three equations of a problem, and the letters of this file."""

    def __init__(self, problem: LinearProblem, passes: Passes):
        self.problem, self.passes = problem, passes
        self.y, self.C = problem.targets, problem.costs
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

    def missing(self, at: _Point) -> _Missing:
        """What is left of the three equations."""
        return _Missing(
            rows=self.y - at.beta / self.C - self.scores(at.w) - at.b,
            features=self.delta * at.w - self.combination(at.beta),
            intercept=(at.b * self.scale**-2.0 if self.scale > 0.0 else 0.0) - math.fsum(at.beta),
        )

    def by_features(self, inverse: Inverse) -> Correct:
        """Corrections through the inverse of S."""

        def correct(missing: _Missing) -> _Point:
            right = self.combination(self.C * missing.rows) - missing.features
            right_b = math.fsum(self.C * missing.rows) - missing.intercept
            w = inverse(right - (self.t * self.q * right_b) * self.m)
            b = self.q * (right_b - self.t * float(self.m @ w))
            return _Point(w, b, self.C * (missing.rows - self.scores(w) - b))

        return correct

    def by_rows(self, inverse: Inverse) -> Correct:
        """Corrections through the inverse of M."""
        ones = inverse(np.ones_like(self.C))

        def correct(missing: _Missing) -> _Point:
            beta = inverse(missing.rows + self.scores(missing.features) / self.delta)
            b = 0.0
            if self.scale > 0.0:
                b = (math.fsum(beta) - missing.intercept) / (math.fsum(ones) + self.scale**-2.0)
            beta = beta - b * ones
            return _Point((self.combination(beta) - missing.features) / self.delta, b, beta)

        return correct

    def balanced(self, at: _Point) -> _Point:
        """The point with sum_i beta_i exactly zero where the intercept is free."""
        if not math.isinf(self.scale):
            return at
        return replace(at, beta=at.beta - self.C * (math.fsum(at.beta) / self.t))

    @cached_property
    def reach(self) -> Vector:
        """Weight with which each column alone would be as long as y; 0 for an empty column."""
        length = np.sqrt(self.passes.squared_combination(self.C))
        target = math.sqrt(float(self.C @ np.square(self.y)))
        self.n_passes += 1.0
        return np.divide(target, length, out=np.zeros_like(length), where=length > 0.0)

    def box(self, weights: Vector) -> Box:
        """See `box_around`."""
        return Box(2.0 * np.abs(weights) + self.reach)

    def assess(self, at: _Point) -> Assessment:
        """What the certificate will say of the point."""
        self.n_passes += 2.0
        problem = self.problem
        if isinstance(problem.penalty, Box):
            problem = replace(problem, penalty=self.box(at.w))
        return assess(problem, at.beta, at.w, at.b)


class _Refinement:
    """Rounds of corrections; the best point seen is kept, whatever interrupts them."""

    def __init__(self, equations: _Equations, end: float):
        self.equations, self.end = equations, end
        self.best = _Point(np.zeros(equations.passes.n_features), 0.0, np.zeros(equations.passes.n_rows))
        self.best_gap = math.inf
        self.history = History()
        self.method = "none"

    def ended(self, finished: bool) -> Status:
        """How a closed form ended."""
        if finished:
            return Status.CONVERGED
        return Status.BUDGET if time.perf_counter() > self.end else Status.STALLED

    def run(self, method: str, correct: Correct) -> bool:
        """Correct until it no longer helps; False where time ran out or the corrections did not vanish."""
        self.method = method
        at, before = _Point(np.zeros_like(self.best.w), 0.0, np.zeros_like(self.best.beta)), math.inf
        for _ in range(_ROUNDS):
            if time.perf_counter() > self.end:
                return False
            step = correct(self.equations.missing(at))
            at = self.equations.balanced(_Point(at.w + step.w, at.b + step.b, at.beta + step.beta))
            improved = self._keep(at)
            change = float(np.linalg.norm(step.w)) / max(float(np.linalg.norm(at.w)), 1e-300)
            if change <= 4.0 * _EPSILON or (change > 0.1 * before and not improved):
                return change <= _SETTLED
            before = change
        return before <= _SETTLED

    def consider_silence(self) -> None:
        """Try multipliers zero, where those found are nothing but rounding: at rows that are fitted perfectly."""
        equations, best = self.equations, self.best
        silent = np.zeros_like(best.beta)
        if math.isinf(equations.scale) and np.ptp(equations.y) == 0.0:  # a free intercept alone fits constant targets
            fits = _Point(np.zeros_like(best.w), float(equations.y[0]), silent)
        elif equations.delta == 0.0:
            fits = replace(best, beta=silent)
        else:
            return
        if equations.assess(fits).difference <= max(0.0, self.best_gap):
            self.best = fits

    def _keep(self, at: _Point) -> bool:
        seen = self.equations.assess(at)
        self.history.record(self.equations.n_passes, seen.primal, seen.dual)
        improved = seen.difference < self.best_gap
        if improved:
            self.best, self.best_gap = at, seen.difference
        return improved


def _cholesky_inverse(equations: _Equations) -> Inverse | None:
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


def _gram_inverse(equations: _Equations) -> Inverse:
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


def _triangle_inverse(equations: _Equations) -> Inverse:
    """A triangle of S from orthogonal steps over centred rows; the pseudo-inverse of S where it is singular."""
    d = equations.passes.n_features
    mean = math.sqrt(max(0.0, equations.t - equations.t**2 * equations.q))
    parts = [mean * equations.m[None, :]] if mean > 0.0 else []
    if equations.delta > 0.0:
        parts.append(math.sqrt(equations.delta) * np.eye(d))
    R = np.vstack(parts) if parts else np.zeros((0, d))
    root, n = np.sqrt(equations.C), equations.passes.n_rows
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


class _ConjugateGradients:
    """S^-1 by conjugate gradients, scaled by the diagonal where there is a penalty and no lack of rows.

    Unscaled, the iterates stay among the combinations of rows. With fewer rows than features these are few; without a
    penalty they lead to the shortest minimiser.
    """

    def __init__(self, equations: _Equations, max_iter: int | None, end: float):
        self.equations, self.end = equations, end
        self.left = max_iter or 10 * equations.passes.n_features + 1000
        self.shift = equations.t**2 * equations.q
        self.scale = np.ones_like(equations.m)
        if equations.delta > 0.0 and equations.passes.n_rows >= equations.passes.n_features:
            spread = equations.passes.squared_combination(equations.C) - self.shift * np.square(equations.m)
            self.scale = 1.0 / (equations.delta + np.maximum(spread, 0.0))

    @property
    def is_exhausted(self) -> bool:
        """Whether the budget of iterations or of time is spent."""
        return self.left <= 0 or time.perf_counter() > self.end

    def _product(self, p: Vector) -> Vector:
        """S p."""
        equations = self.equations
        product = equations.combination(equations.C * equations.scores(p))
        return product - (self.shift * float(equations.m @ p)) * equations.m + equations.delta * p

    def __call__(self, right: Vector) -> Vector:
        """S^-1 right, to half of the digits or more; the next round of refinement sees what is left."""
        x, residual = np.zeros_like(right), right
        z = self.scale * residual
        p, rho = z, float(residual @ z)
        goal = _CG_DIGITS**2 * rho
        while rho > goal and not self.is_exhausted:
            self.left -= 1
            Sp = self._product(p)
            curvature = float(p @ Sp)
            if not curvature > 0.0:  # p has left the range of a singular S by rounding
                break
            x, residual = x + (rho / curvature) * p, residual - (rho / curvature) * Sp
            z = self.scale * residual
            rho, before = float(residual @ z), rho
            p = z + (rho / before) * p
        return x
