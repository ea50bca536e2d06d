"""Linear regression with the penalty |w|_1: elastic net, lasso, and the lasso with alpha chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv

from maxmargin._types import Labels, Rows, Vector
from maxmargin.backends.threads import at_most, one_blas_thread, run_apart, thread_count
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import (
    check_choice,
    check_flag,
    check_max_iter,
    check_positive,
    check_precompute,
)
from maxmargin.estimators.linear.lasso_paths import PathWalk, count_or_grid
from maxmargin.estimators.linear.linear_regression import LeastSquaresMachine, check_alpha
from maxmargin.losses import Squared
from maxmargin.penalties import L1, L2, Penalty, PositiveElasticNet
from maxmargin.penalties import ElasticNet as ElasticNetPenalty
from maxmargin.problems import Regression, Specification, linear_scores
from maxmargin.solvers import Solver
from maxmargin.solvers.linear.least_squares import LeastSquares, Method
from maxmargin.solvers.registry import check_linear_name


def penalty_of(alpha: Any, l1_ratio: Any, *, positive: bool) -> Penalty:
    """The penalty alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2); `positive` forbids negative weights."""
    strength, share = check_alpha(alpha), check_share(l1_ratio)
    l1, l2 = strength * share, strength * (1.0 - share)
    if positive:
        if l1 == 0.0:
            raise ParameterError(
                "positive=True is not available for l1_ratio=0, where the penalty is |w|^2 alone. Use a small "
                "l1_ratio such as 1e-3."
            )
        return PositiveElasticNet(l1, l2)
    if l1 == 0.0:
        return L2(l2)
    return L1(l1) if l2 == 0.0 else ElasticNetPenalty(l1, l2)


def check_share(l1_ratio: Any) -> float:
    """A share from 0 to 1."""
    if not isinstance(l1_ratio, Real) or isinstance(l1_ratio, bool) or not 0.0 <= float(l1_ratio) <= 1.0:
        raise ParameterError(
            f"l1_ratio must be between 0 (|w|^2 alone) and 1 (|w|_1 alone), got l1_ratio={l1_ratio!r}."
        )
    return float(l1_ratio)


@dataclass(eq=False, repr=False, kw_only=True)
class SparseRegressor(LeastSquaresMachine):
    """What lasso and elastic net share: a penalty, and the fit of one alpha."""

    _methods: ClassVar[dict[str, Method]] = {}
    # What other machines let the user choose.
    intercept: ClassVar[str] = "free"
    intercept_scaling: ClassVar[float] = 1.0

    precompute: Any = False
    max_iter: int | None = 1000
    random_state: Any = None
    selection: str = "cyclic"
    dual_gap_: float = field(init=False)

    @all_or_nothing
    def fit(
        self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None, check_input: bool = True
    ) -> Self:
        """Train on rows X with targets y; a row of weight 2 is the row twice, of weight 0 its absence.

        `check_input` is accepted for compatibility: the input is always checked.
        """
        before = self._last_fit()
        self._fit_one(*self._checked(X, y, sample_weight), self.alpha, before)
        return self

    def _check_choices(self) -> None:
        check_flag("positive", self.positive)
        check_choice("selection", self.selection, ("cyclic", "random"))
        check_precompute(self.precompute)

    def _solver(self, specification: Specification) -> Solver:
        """The solver asked for: `LassoDescent`, for |w|^2 alone `LeastSquares`."""
        if isinstance(self.solver, Solver):
            return self._settings()
        penalty = specification.penalty
        if isinstance(penalty, L2):
            check_linear_name(self.solver, specification, ("lasso",))
            if self.solver not in ("auto", "lasso"):
                return self._settings()
            checked = self._settings("auto")
            return LeastSquares(checked.tol, checked.max_iter, checked.max_seconds, n_jobs=self.n_jobs)
        check_choice(
            "solver", self.solver, ("auto", "lasso", "sparse") if isinstance(penalty, L1) else ("auto", "lasso")
        )
        return self._settings("lasso" if self.solver == "auto" else self.solver)

    def _fit_one(self, X: Rows, y: Vector, weight: Vector | None, alpha: Any, before: Any = None) -> None:
        """Train with this alpha, from a fitted model where there is one."""
        penalty = penalty_of(alpha, getattr(self, "l1_ratio", 1.0), positive=self.positive)  # the lasso has none
        mass = float(len(y)) if weight is None else float(np.sum(weight))
        specification = Specification(Regression(), Squared(), 1.0 / mass, self._intercept(), penalty=penalty)
        training = self._train([specification], X, y, weight, solver=self._solver(specification), start_model=before)
        self._store_points(training.points)
        self.dual_gap_ = training.certificates[0].gap
        self._conclude(training)

    def _iterations(self, passes: list[int]) -> Any:
        """At least one: the weights were looked at."""
        return max(1, *passes)

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a sparse matrix with one row."""
        return sparse.csr_matrix(np.atleast_2d(self.coef_))


@dataclass(eq=False, repr=False)
class ElasticNet(SparseRegressor):
    """Linear regression with a penalty that sets weights to zero and shrinks the others.

        minimise over w, b    1/(2 n) sum_i c_i (<w, x_i> + b - y_i)^2
                              + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)        n = sum_i c_i

    with c_i the weight of row i. A drop-in replacement for scikit-learn's `ElasticNet`, for one target. In the
    library's notation C = 1/n and the penalty is the second line: the certificate's primal value is the objective
    above. Every fit ends with a certificate, and weights that are zero are exactly zero. Parameters and attributes not
    named here are those of `LinearRegression`.

    Parameters
    ----------
    alpha
        Strength of the penalty, positive; without one use `LinearRegression`. Has nothing to do with the multipliers,
        to which these pages give that letter.
    l1_ratio
        Share of |w|_1 in the penalty: 1 is the lasso, 0 ridge regression with strength alpha n.
    fit_intercept
        Whether there is an intercept, which is free. Sparse rows stay sparse: they are centred in thought only.
    precompute, selection, random_state
        Accepted for compatibility: the solver decides what to form, never changes X, and leaves nothing to chance.
    max_iter
        Most looks at all columns, each a pass over the data.
    tol
        Relative duality gap and KKT violation at which a fit may stop. A working set is solved to the last digits
        whatever tol is, so that the answer is mostly far better.
    warm_start
        Begin at the weights of the last fit.
    positive
        Whether weights must not be negative.
    solver
        "auto" or "lasso" (working sets of columns); or a `maxmargin.solvers.Solver`, which brings its own tol,
        max_iter, max_seconds and n_jobs: those of the estimator are not used then.
    max_seconds
        Time budget; None means no limit.

    Attributes
    ----------
    coef_, sparse_coef_, intercept_, n_iter_
        As in scikit-learn; `n_iter_` counts passes over the data.
    dual_gap_
        The gap of the certificate, in the units of the objective above.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ElasticNet
    >>> X, y = np.array([[-1.0, 0.1], [0.0, -0.2], [1.0, 0.1]]), np.array([-3.0, 0.0, 3.0])
    >>> model = ElasticNet(alpha=1.0, l1_ratio=0.5).fit(X, y)
    >>> bool(np.allclose(model.coef_, [9 / 7, 0]))
    True
    """

    alpha: float = 1.0
    _: KW_ONLY
    l1_ratio: float = 0.5
    warm_start: bool = False


@dataclass(eq=False, repr=False)
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

    alpha: float = 1.0
    _: KW_ONLY
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
