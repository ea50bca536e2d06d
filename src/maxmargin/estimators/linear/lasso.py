"""The lasso, and the lasso with alpha chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import check_cv

from maxmargin._types import Labels, Rows, Vector
from maxmargin.backends.threads import at_most, one_blas_thread, run_apart, thread_count
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_max_iter, check_positive
from maxmargin.estimators.linear.elastic_net import SparseRegressor, check_flag
from maxmargin.estimators.linear.lasso_paths import PathWalk, count_or_grid
from maxmargin.problems import linear_scores


@dataclass(eq=False, repr=False, kw_only=True)
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

    l1_ratio: ClassVar[float] = 1.0
    alpha: float = field(default=1.0, kw_only=False)
    warm_start: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class LassoCV(SparseRegressor):
    """The lasso with the alpha whose mean squared error on held-out rows is smallest.

    Each fold walks down the same grid of alphas, every alpha beginning where the one before ended. Then the model is
    trained on all rows with the best alpha; the certificate is about this last fit. A drop-in replacement for
    scikit-learn's `LassoCV`. The other parameters and attributes are those of `Lasso`.

    Parameters
    ----------
    eps
        Smallest alpha of the grid by the largest, which is the smallest at which all weights are zero.
    alphas
        How many alphas the grid has, or the grid itself, in any order.
    cv
        Number of folds (None means 5), a splitter, or a list of pairs of training and test positions.
    n_jobs
        Folds that are walked at the same time, each in a thread; None means all cores.
    max_seconds
        Time budget of the last fit; None means no limit. The walks have none but `max_iter`.

    Attributes
    ----------
    alpha_
        The alpha chosen.
    alphas_
        The grid, decreasing.
    mse_path_
        Mean squared error on the held-out rows, one row an alpha and one column a fold.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LassoCV
    >>> model = LassoCV(cv=5).fit(*load_diabetes(return_X_y=True))
    >>> model.mse_path_.shape
    (100, 5)
    """

    l1_ratio: ClassVar[float] = 1.0
    eps: float = 1e-3
    alphas: Any = 100
    precompute: Any = "auto"
    cv: Any = None

    @all_or_nothing
    def fit(  # type: ignore[override]  # scikit-learn's has no check_input either
        self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None
    ) -> LassoCV:
        """Choose alpha, then train on all rows; a row of weight 2 counts twice, also among those held out."""
        check_flag("fit_intercept", self.fit_intercept)
        X, y, weight = self._checked(X, y, sample_weight)
        given = count_or_grid(None, self.alphas)
        folds = [(np.asarray(train), np.asarray(test)) for train, test in check_cv(self.cv).split(X, y)]
        with one_blas_thread(), at_most(self.n_jobs):
            grid = self._walk(X, y, weight).grid(self.eps, given) if isinstance(given, int) else np.sort(given)[::-1]
            jobs = [self._fold(X, y, weight, train, test, grid) for train, test in folds]
            errors = run_apart(jobs, min(thread_count(self.n_jobs), len(jobs)))
        self.alphas_ = grid
        self.mse_path_ = np.column_stack(errors)
        self.alpha_ = float(grid[np.argmin(np.mean(self.mse_path_, axis=1))])
        self._fit_one(X, y, weight, self.alpha_)
        return self

    def _walk(self, X: Rows, y: Vector, weight: Vector | None) -> PathWalk:
        return PathWalk(X, y, weight, fit_intercept=self.fit_intercept, positive=self.positive, n_jobs=1)

    def _fold(
        self, X: Rows, y: Vector, weight: Vector | None, train: Vector, test: Vector, grid: Vector
    ) -> Callable[[], Vector]:
        """The errors of one fold, alpha by alpha."""
        tol, looks = check_positive("tol", self.tol), check_max_iter(self.max_iter) or 1000

        def errors() -> Vector:
            walk = self._walk(X[train], y[train], None if weight is None else weight[train])
            steps = list(walk.along(grid, tol, looks))
            weights = np.column_stack([step.weights for step in steps])
            predicted = linear_scores(X[test], weights) + np.array([step.bias for step in steps])
            shares = None if weight is None else weight[test]
            return np.asarray(np.average(np.square(predicted - y[test][:, None]), axis=0, weights=shares))

        return errors
