"""Kernel regression: least squares in the space of a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.data import count_rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_intercept, check_positive, check_seed
from maxmargin.estimators.fitting.sources import Regressor
from maxmargin.estimators.fitting.validation import check_targets
from maxmargin.estimators.kernel.kernel_machine import KernelMachine
from maxmargin.losses import Absolute, Squared
from maxmargin.problems import Problem, Regression, Solution, Specification
from maxmargin.solvers import Solver
from maxmargin.solvers.kernel.equations import covering_cost
from maxmargin.solvers.registry import kernel_regression_solver

_LEAST_ALPHA = 1e-100


@dataclass(eq=False, repr=False)
class KernelRegression(Regressor, KernelMachine):
    """Kernel ridge regression, and the kernel linear regression of the lectures.

        minimise over w, b    alpha |w|^2 + sum_i c_i (<w, phi(x_i)> + b - y_i)^2        c_i the weight of row i

    `alpha` means what it means in scikit-learn's `KernelRidge`, which has no intercept: intercept="none" gives its
    answers. The certificate speaks of the same problem in the library's notation, 1/2 |w|^2 + C sum_i c_i 1/2 (f_i -
    y_i)^2 with C = 1 / alpha: the objective above divided by 2 alpha.

    alpha = 0 asks for the flattest function through all targets. The updates "full-gradient" and "one-at-a-time" are
    then those of the lecture, which knows no penalty. The certificate is about 1/2 |w|^2 + C sum_i c_i |f_i - y_i| with
    a C larger than every multiplier, which has the same minimum (`maxmargin.solvers.kernel.equations` says why). Where
    no function of the kernel goes through all targets, as for two equal rows with different ones, the closed form
    refuses, and the updates run until `max_iter`: their predictions come to least squares, or near it, but no
    certificate says CONVERGED. Parameters and attributes not named here are those of `SVR`.

    Parameters
    ----------
    alpha
        Strength of the penalty, zero or positive. `alpha` is scikit-learn's name; it has nothing to do with the
        multipliers, to which these pages give that letter.
    intercept
        "free" (not penalised), "augmented" (the kernel k + 1) or "none".
    solver
        "closed-form", to the last digits, in 8 n^2 bytes; "conjugate-gradients", which keeps no matrix; "auto", the
        first of these two that fits into `memory`; "full-gradient" or "one-at-a-time", the updates of the lecture, also
        with a matrix; "qp"; or a `maxmargin.solvers.Solver`, which brings its own tol, max_iter, max_seconds, n_jobs,
        memory and random_state: those of the estimator are not used then.
    learning_rate
        That of the two updates; None chooses one with which they converge.
    tol
        Relative duality gap and KKT violation at which iterations stop, and beyond which the fit warns.
    max_iter
        Limit on the passes of the two updates and on the steps of conjugate gradients; None or -1 means none.
    random_state
        Seed of the order of "one-at-a-time" and of the preconditioner of "conjugate-gradients".
    memory
        Bytes for the kernel matrix, a number or a text such as "4GB"; None means 2 GB.

    Attributes
    ----------
    dual_coef_
        beta_i of every row, w = sum_i beta_i phi(x_i); as in `KernelRidge`.
    X_fit_
        The rows of the training data, as in `KernelRidge`; none for a precomputed kernel.
    intercept_
        b, a number.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import KernelRegression
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> model = KernelRegression(alpha=0.01).fit(X, np.sin(X).ravel())
    >>> bool(np.max(np.abs(model.predict(X) - np.sin(X).ravel())) < 0.05)
    True
    """

    alpha: float = 1.0
    _: KW_ONLY
    tol: float = 1e-4
    max_iter: int | None = 10_000
    learning_rate: float | None = None
    intercept: Literal["free", "augmented", "none"] = "free"

    @all_or_nothing
    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> KernelRegression:
        """Train on rows X with targets y; a row of weight 2 is the row twice, of weight 0 its absence."""
        alpha, intercept = _strength(self.alpha), check_intercept(self.intercept)
        solver = self._solver(alpha)
        X = self._check_kernel_input(X, reset=True)
        y, weight = check_targets(X, _one_target(y), sample_weight)
        self._kernel = self._make_kernel(X, weight)
        specification = Specification(Regression(), Squared(), 1.0, intercept, self._kernel)
        if alpha > 0.0:
            training = self._train([replace(specification, C=1.0 / alpha)], X, y, weight, solver=solver)
        else:
            through = replace(specification, loss=Absolute())
            training = self._train([through], X, y, weight, solver=solver, certified=_at_a_covering_cost)
        self._store(training.points[0], X)
        self._conclude(training)
        return self

    def _solver(self, alpha: float) -> Solver:
        """The solver asked for, for a problem with or without a penalty."""
        checked = self._settings("auto" if isinstance(self.solver, str) else self.solver)
        solver = kernel_regression_solver(
            self.solver,
            tol=checked.tol,
            max_iter=checked.max_iter,
            max_seconds=checked.max_seconds,
            learning_rate=None if self.learning_rate is None else check_positive("learning_rate", self.learning_rate),
            interpolate=alpha == 0.0,
            memory=self._memory(),
            n_jobs=self.n_jobs,
            random_state=check_seed(self.random_state),
        )
        if getattr(solver, "interpolate", False) != (alpha == 0.0):
            raise ParameterError(
                f"solver={self.solver!r} and alpha={self.alpha!r} do not go together: alpha=0 is for 'auto', "
                "'closed-form', 'full-gradient', 'one-at-a-time' and for solver objects with interpolate=True, which "
                "are for nothing else."
            )
        return solver

    def _store(self, point: Point, X: Rows) -> None:
        n_rows = count_rows(X)
        self.support_ = np.arange(n_rows)
        self.shape_fit_ = tuple(int(size) for size in X.shape)
        self.support_vectors_ = np.empty((0, 0)) if self._kernel.on == "matrix" else X.copy()
        self.dual_coef_ = point.everywhere(n_rows)
        self.intercept_: Any = float(np.asarray(point.bias))

    @property
    def X_fit_(self) -> Rows:  # noqa: N802 - scikit-learn's name
        """The rows of the training data."""
        check_is_fitted(self)
        return self.support_vectors_

    def _machine_coefficients(self) -> Matrix:
        return np.asarray(self.dual_coef_)[:, None]

    def _points(self) -> list[Point]:
        support = np.flatnonzero(self.dual_coef_)
        members = None if len(support) == len(self.dual_coef_) else support
        return [Point(support, self.dual_coef_[support], None, self.intercept_, self._kept_vectors(members))]

    def predict(self, X: Rows) -> Vector:
        """Predicted targets of rows."""
        check_is_fitted(self)
        predicted: Vector = self._scores(X, self._machine_coefficients())[:, 0] + self.intercept_
        return predicted


def _strength(alpha: Any) -> float:
    """Alpha as a number that is zero or has a reciprocal."""
    if isinstance(alpha, Real) and not isinstance(alpha, bool) and float(alpha) == 0.0:
        return 0.0
    strength = check_positive("alpha", alpha)
    if strength < _LEAST_ALPHA:
        raise ParameterError(
            f"alpha={alpha!r} is too small for the squares of its reciprocal; at least {_LEAST_ALPHA:g} is allowed, or "
            "0 for the flattest function through all targets."
        )
    return strength


def _one_target(y: Any) -> Any:
    """Refuse several targets a row in words that say what to do."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise DataError(
            f"y should be a 1d array, got an array of shape {shape} instead: a certificate is about one target. Fit "
            "one model a column, for example with scikit-learn's MultiOutputRegressor."
        )
    return y


def _at_a_covering_cost(
    specification: Specification, problem: Problem, solution: Solution
) -> tuple[Specification, Problem]:
    """What the certificate of alpha = 0 is about: missing a target costs more than any multiplier is worth."""
    cost = covering_cost(solution.alpha, problem.source.weight)
    return replace(specification, C=cost), replace(problem, C=cost)
