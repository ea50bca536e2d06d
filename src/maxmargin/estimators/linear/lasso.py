"""The lasso."""

from __future__ import annotations

from typing import Any

from maxmargin._types import Labels, Rows, Vector
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.linear.elastic_net import SparseRegressor
from maxmargin.solvers import Solver


class Lasso(SparseRegressor):
    """Linear regression with the penalty |w|_1, which sets weights to exactly zero.

        minimise over w, b    1/(2 n) sum_i c_i (<w, x_i> + b - y_i)^2 + alpha |w|_1        n = sum_i c_i

    with c_i the weight of row i. A drop-in replacement for scikit-learn's `Lasso`, for one target. Lectures write the
    sum form, sum_i (<w, x_i> + b - y_i)^2 + lambda |w|_1: it is 2 n times the form above when lambda = 2 n alpha. In
    the library's notation C = 1/n and the penalty is alpha |w|_1: the certificate's primal value is the objective
    above.

    From alpha = max_j |sum_i c_i x_ij (y_i - b)| / n on, with b the mean target, all weights are zero; `lasso_path`
    begins there. As alpha goes to 0 the lasso becomes least squares: use `LinearRegression` for that.

    The other parameters and the attributes are those of `ElasticNet`.

    Parameters
    ----------
    alpha
        Strength of the penalty, positive.
    solver
        "auto" or "lasso" (working sets of columns), "sparse" (proximal Newton steps, not for positive=True); or a
        `maxmargin.solvers.Solver`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Lasso
    >>> X, y = np.array([[-1.0, 0.1], [0.0, -0.2], [1.0, 0.1]]), np.array([-3.0, 0.0, 3.0])
    >>> model = Lasso(alpha=1.0).fit(X, y)
    >>> bool(np.allclose(model.coef_, [1.5, 0]) and model.coef_[1] == 0.0)
    True
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str | Solver = "auto",
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory: str | int | None = None,
        device: str = "auto",
        verbose: bool | int = 0,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device
        self.verbose = verbose

    def _share(self) -> Any:
        return 1.0

    @all_or_nothing
    def fit(
        self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None, check_input: bool = True
    ) -> Lasso:
        """Train on rows X with targets y; a row of weight 2 is the row twice, of weight 0 its absence.

        `check_input` is accepted for compatibility: the input is always checked.
        """
        before = self._last_fit()
        self._fit_one(*self._checked(X, y, sample_weight), self.alpha, before)
        return self
