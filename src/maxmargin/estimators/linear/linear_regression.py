"""Ordinary least squares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from maxmargin._types import Labels, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_positive
from maxmargin.estimators.fitting.sources import Regressor
from maxmargin.estimators.fitting.validation import check_targets
from maxmargin.estimators.linear.linear_machine import LinearMachine
from maxmargin.losses import Squared
from maxmargin.penalties import Box
from maxmargin.problems import LinearProblem, Problem, Regression, Solution, Specification
from maxmargin.solvers import Solver
from maxmargin.solvers.linear.least_squares import LeastSquares, Method, box_around
from maxmargin.solvers.registry import check_linear_name

_LEAST_ALPHA = 1e-100


@dataclass(eq=False, repr=False, kw_only=True)
class LeastSquaresMachine(Regressor, LinearMachine):
    """A number predicted by <w, x> + b, trained on squared errors."""

    _methods: ClassVar[dict[str, Method]]
    """Names of solvers that are a closed form, or conjugate gradients, for the normal equations."""
    copy_X: bool = True  # noqa: N815 - scikit-learn's name
    positive: bool = False

    def _checked(self, X: Rows, y: Labels | None, sample_weight: Vector | None) -> tuple[Rows, Vector, Vector | None]:
        """Input as a problem takes it."""
        self._check_choices()
        X = self._check_linear_input(X, reset=True)
        return X, *check_targets(X, y, sample_weight)

    def _check_choices(self) -> None:
        """Refuse what no solver here can do."""
        if self.positive:
            raise ParameterError(f"positive={self.positive!r}: weights that must not be negative are not available.")

    def _solver(self, specification: Specification) -> Solver:
        """The solver asked for; the names of `_methods` are those of `LeastSquares`."""
        check_linear_name(self.solver, specification, self._methods)
        if not (isinstance(self.solver, str) and self.solver in self._methods):
            return self._settings()
        checked = self._settings("auto")
        return LeastSquares(checked.tol, checked.max_iter, checked.max_seconds, self._methods[self.solver], self.n_jobs)

    def _store_points(self, points: list[Point]) -> None:
        point = points[0]
        self.coef_ = np.asarray(point.weights)
        self.intercept_ = float(np.asarray(point.bias))
        self._support, self._coefficients = [point.support], [point.coefficients]

    def _points(self) -> list[Point]:
        return [Point(self._support[0], self._coefficients[0], self.coef_, self.intercept_)]

    def predict(self, X: Rows) -> Vector:
        """Predicted targets of rows."""
        scores: Vector = np.ascontiguousarray(self._linear_scores(X)[:, 0])
        return scores


def check_alpha(alpha: Any, excess: str = "") -> float:
    """The strength of a penalty, which must not be zero; `excess` says for what a strength can be too small."""
    if isinstance(alpha, Real) and alpha == 0.0:
        raise ParameterError("alpha must be positive, got alpha=0. Without a penalty use LinearRegression.")
    strength = check_positive("alpha", alpha)
    if strength < _LEAST_ALPHA:
        raise ParameterError(
            f"alpha={alpha!r} is too small{excess}; at least {_LEAST_ALPHA:g} is allowed. Without a penalty use "
            "LinearRegression."
        )
    return strength


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegression(LeastSquaresMachine):
    """Ordinary least squares.

        minimise over w, b    1/2 sum_i c_i (<w, x_i> + b - y_i)^2        c_i the weight of row i

    A drop-in replacement for scikit-learn's `LinearRegression`, for one target. Where several w are best, as with fewer
    rows than features, the shortest is found. Every fit ends with a certificate; what it states without a penalty, and
    why inside a box, is told in `maxmargin.solvers.linear.least_squares`.

    Parameters
    ----------
    fit_intercept
        Whether there is an intercept, which is free.
    tol
        Relative duality gap and KKT violation beyond which the fit warns. The answer is exact up to rounding anyway.
    solver
        "auto" or "least-squares"; "cholesky" or "svd" (few features) or "cg" (many); or a `maxmargin.solvers.Solver`,
        which brings its own tol, max_iter, max_seconds and n_jobs: those of the estimator are not used then.
    max_iter, max_seconds
        Budgets of "cg"; None means no limit.
    n_jobs
        Threads; None means all cores.
    memory
        For data larger than memory, which this version cannot train on yet; None.
    device
        "auto" or "cpu".
    verbose
        1 shows the progress of the fit in one line; 0 is silent.
    copy_X
        Accepted for compatibility: X is never changed.
    positive
        False.

    Attributes
    ----------
    certificate_ : Certificate
        How far the model is from optimal.
    history_ : History
        Primal, dual and gap after each round of refinement.
    coef_, intercept_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 4.0, 5.0])
    >>> model = LinearRegression().fit(X, y)
    >>> bool(np.allclose(model.coef_, 1.4) and np.isclose(model.intercept_, 0.9))
    True
    """

    _methods: ClassVar[dict[str, Method]] = {"auto": "auto", "cholesky": "cholesky", "svd": "svd", "cg": "cg"}
    # What other machines let the user choose.
    intercept: ClassVar[str] = "free"
    intercept_scaling: ClassVar[float] = 1.0
    random_state: ClassVar[None] = None

    tol: float = 1e-6

    @all_or_nothing
    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> LinearRegression:
        """Train on rows X with targets y; a row of weight 2 is the row twice, of weight 0 its absence."""
        intercept = self._intercept()
        X, y, weight = self._checked(X, y, sample_weight)
        nowhere = Box(np.full(X.shape[1], np.inf))
        specification = Specification(Regression(), Squared(), 1.0, intercept, penalty=nowhere)
        solver = self._solver(specification)
        training = self._train([specification], X, y, weight, solver=solver, certified=_inside_a_box)
        self._store_points(training.points)
        self._conclude(training)
        return self


def _inside_a_box(specification: Specification, problem: Problem, solution: Solution) -> tuple[Specification, Problem]:
    """What the certificate is about: the same problem in a box, which can only be drawn once the answer is known."""
    assert isinstance(problem, LinearProblem)
    box = box_around(problem, np.asarray(solution.weights))
    return replace(specification, penalty=box), replace(problem, penalty=box)
