"""Support vector regression with kernels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.estimators.kernel_machine import KernelMachine
from maxmargin.estimators.machine import all_or_nothing
from maxmargin.estimators.parameters import check_epsilon, check_finite_cost, check_intercept
from maxmargin.estimators.validation import check_numbers, check_same_length, check_weights
from maxmargin.kernels import Kernel
from maxmargin.losses import EpsilonInsensitive
from maxmargin.problems import Regression, Specification
from maxmargin.solvers import Solver


class SVR(RegressorMixin, KernelMachine):  # type: ignore[misc]  # scikit-learn is untyped
    """Epsilon-insensitive support vector regression.

        minimise over w, b    1/2 |w|^2 + sum_i C_i max(0, |<w, phi(x_i)> + b - y_i| - epsilon)

    A drop-in replacement for scikit-learn's `SVR`, whose parameters keep their meaning; every fit ends with a
    certificate. Parameters and attributes not named here are those of `SVC`.

    Parameters
    ----------
    epsilon
        Half-width of the tube inside which errors cost nothing, in the units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> model = SVR(C=10, epsilon=0.05).fit(X, np.sin(X).ravel())
    >>> bool(np.max(np.abs(model.predict(X) - np.sin(X).ravel())) < 0.06)
    True
    """

    def __init__(
        self,
        *,
        kernel: str | Kernel | Any = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int | None = -1,
        random_state: Any = None,
        solver: str | Solver = "auto",
        intercept: Literal["free", "augmented", "none"] = "free",
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory: str | int | None = None,
        device: str = "auto",
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.solver = solver
        self.intercept = intercept
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device

    @all_or_nothing
    def fit(self, X: Rows, y: Labels, sample_weight: Vector | None = None) -> SVR:
        """Train on rows X with targets y; `sample_weight` is a factor on C of each row."""
        C, intercept = check_finite_cost(self.C), check_intercept(self.intercept)
        X = self._check_kernel_input(X, reset=True)
        y = check_numbers(y)
        check_same_length(X, y)
        weight = check_weights(sample_weight, len(y))
        kernel = self._make_kernel(X, weight)
        loss = EpsilonInsensitive(check_epsilon(self.epsilon))
        specification = Specification(task=Regression(), loss=loss, C=C, intercept=intercept, kernel=kernel)
        training = self._train([specification], X, y, weight)
        self._kernel = kernel
        self._store(training.points[0], X)
        self._conclude(training, self._points())
        return self

    def _store(self, point: Point, X: Rows) -> None:
        self._store_support(X, point.support)
        self.n_support_ = np.array([len(point.support)], dtype=np.int32)
        self.dual_coef_ = point.coefficients[None, :]
        self.intercept_ = np.array([float(np.asarray(point.bias))])

    def _machine_coefficients(self) -> Matrix:
        return self.dual_coef_.T

    def _points(self) -> list[Point]:
        return [Point(self.support_, self.dual_coef_[0], None, self.intercept_[0:1], self._kept_vectors())]

    def predict(self, X: Rows) -> Vector:
        """Predicted targets of rows."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return (self._scores(X, self._machine_coefficients()) + self.intercept_)[:, 0]
