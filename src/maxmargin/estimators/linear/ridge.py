"""Ridge regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

from maxmargin._types import Labels, Rows, Vector
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_positive
from maxmargin.estimators.linear.linear_regression import LeastSquaresMachine
from maxmargin.losses import Squared
from maxmargin.problems import Regression, Specification
from maxmargin.solvers import Solver
from maxmargin.solvers.linear.least_squares import Method

_LEAST_ALPHA = 1e-100


class Ridge(LeastSquaresMachine):
    """Ridge regression.

        minimise over w, b    alpha |w|^2 + sum_i c_i (<w, x_i> + b - y_i)^2        c_i the weight of row i

    A drop-in replacement for scikit-learn's `Ridge`, for one target. The certificate speaks of the same problem in the
    library's notation, 1/2 |w|^2 + C sum_i c_i 1/2 (<w, x_i> + b - y_i)^2 with C = 1 / alpha: the objective above
    divided by 2 alpha. The other parameters and the attributes are those of `LinearRegression`.

    Parameters
    ----------
    alpha
        Strength of the penalty, positive; without one use `LinearRegression`. `alpha` is scikit-learn's name; it has
        nothing to do with the multipliers, to which these pages give that letter.
    tol
        Relative duality gap and KKT violation beyond which the fit warns. The answer is exact up to rounding anyway.
    intercept, intercept_scaling
        "free" or "augmented" (penalised, with a constant feature of that size).
    solver
        "auto" or "least-squares"; "cholesky" or "svd" (few features), "gram" (few rows) or "cg", which scikit-learn
        calls "lsqr" and "sparse_cg"; "dcd", "newton" or "qp"; or a `maxmargin.solvers.Solver`, which brings its own
        tol, max_iter, max_seconds, n_jobs and random_state: those of the estimator are not used then.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Ridge
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([-3.0, 0.0, 3.0])
    >>> model = Ridge(alpha=1.0).fit(X, y)
    >>> bool(np.allclose(model.coef_, 2.0))
    True
    """

    _methods: ClassVar[dict[str, Method]] = {
        "auto": "auto",
        "cholesky": "cholesky",
        "svd": "svd",
        "gram": "gram",
        "cg": "cg",
        "lsqr": "cg",
        "sparse_cg": "cg",
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str | Solver = "auto",
        positive: bool = False,
        random_state: Any = None,
        intercept: Literal["free", "augmented"] = "free",
        intercept_scaling: float = 1.0,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory: str | int | None = None,
        device: str = "auto",
        verbose: bool | int = 0,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Rows, y: Labels, sample_weight: Vector | None = None) -> Ridge:
        """Train on rows X with targets y; a row of weight 2 is the row twice, of weight 0 its absence."""
        C, intercept = _cost(self.alpha), self._intercept()
        X, y, weight = self._checked(X, y, sample_weight)
        specification = Specification(Regression(), Squared(), C, intercept)
        training = self._train([specification], X, y, weight, solver=self._solver(specification))
        self._store_points(training.points)
        self._conclude(training, self._points())
        return self


def _cost(alpha: Any) -> float:
    """C = 1 / alpha."""
    if isinstance(alpha, Real) and alpha == 0.0:
        raise ParameterError("alpha must be positive, got alpha=0. Without a penalty use LinearRegression.")
    penalty = check_positive("alpha", alpha)
    if penalty < _LEAST_ALPHA:
        raise ParameterError(
            f"alpha={alpha!r} is too small for the squares of its reciprocal; at least {_LEAST_ALPHA:g} is allowed. "
            "Without a penalty use LinearRegression."
        )
    return 1.0 / penalty
