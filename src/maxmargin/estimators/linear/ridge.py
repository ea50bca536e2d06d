"""Ridge regression, and along a grid of alphas from one factorisation.

With Z the rows times the roots of their weights, centred where there is an intercept, and Z = U diag(s) V',

    w(alpha) = V diag(s / (s^2 + alpha)) U' t        t the targets, treated likewise

so that one singular value decomposition serves every alpha. The sparse rows of many columns are not decomposed
themselves: Z Z', or Z'Z where there are fewer columns than rows, has the squares of s.

The gap comes from the weights and the data, not from the factors. Residuals r_i = y_i - f_i give multipliers
beta_i = c_i r_i, and the duality gap of alpha |w|^2 + sum_i c_i r_i^2 is then |alpha w - sum_i beta_i x_i|^2 / alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, svd

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_flag, check_positive
from maxmargin.estimators.linear.lasso_paths import LassoPath, check_path_data, count_or_grid
from maxmargin.estimators.linear.linear_regression import LeastSquaresMachine, check_alpha
from maxmargin.losses import Squared
from maxmargin.problems import Regression, Specification
from maxmargin.solvers.linear.least_squares import Method

_MAX_FACTORED = 8000  # rows or columns, whichever are fewer, whose products are decomposed
_ABOVE = 10.0  # times the largest square of s that the grid begins with


@dataclass(eq=False, repr=False)
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

    alpha: float = 1.0
    _: KW_ONLY
    random_state: Any = None
    intercept: Literal["free", "augmented"] = "free"
    intercept_scaling: float = 1.0

    @all_or_nothing
    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> Ridge:
        """Train on rows X with targets y; a row of weight 2 is the row twice, of weight 0 its absence."""
        C, intercept = 1.0 / check_alpha(self.alpha, " for the squares of its reciprocal"), self._intercept()
        X, y, weight = self._checked(X, y, sample_weight)
        specification = Specification(Regression(), Squared(), C, intercept)
        training = self._train([specification], X, y, weight, solver=self._solver(specification))
        self._store_points(training.points)
        self._conclude(training)
        return self


class RidgePath(LassoPath):
    """Alphas, decreasing; weights, one column an alpha; duality gaps, in the units of the objective of `Ridge`.

    It unpacks into these three. `intercepts` has the intercept of each alpha.
    """


def ridge_path(
    X: Rows,
    y: Labels,
    *,
    eps: float = 1e-6,
    alphas: int | Sequence[float] | Vector | None = None,
    fit_intercept: bool = False,
    sample_weight: Vector | None = None,
) -> RidgePath:
    """Weights of ridge regression for every alpha of a grid, with a duality gap at each.

        minimise over w, b    alpha |w|^2 + sum_i c_i (<w, x_i> + b - y_i)^2        c_i the weight of row i

    Parameters
    ----------
    X, y, sample_weight
        As for `Ridge.fit`.
    eps
        Smallest alpha of the grid by the largest, which is ten times the largest squared singular value of the rows.
    alphas
        How many alphas the grid has (100), or the grid itself, in any order.
    fit_intercept
        Whether there is an intercept, which is free; without one unless asked, as for `lasso_path`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ridge_path
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([-3.0, 0.0, 3.0])
    >>> alphas, coefs, dual_gaps = ridge_path(X, y, alphas=[4.0, 1.0])
    >>> np.round(coefs, 4)
    array([[1., 2.]])
    """
    X, y, weight = check_path_data(X, y, sample_weight)
    weight = np.ones(len(y)) if weight is None else weight
    centre, middle = np.zeros(X.shape[1]), 0.0
    if check_flag("fit_intercept", fit_intercept):
        centre = np.asarray(X.T @ weight, dtype=np.float64) / np.sum(weight)
        middle = float(weight @ y) / float(np.sum(weight))
    t = y - middle
    factor = _sparse_factor if sparse.issparse(X) else _dense_factor
    squares, weights_at = factor(X, t, weight, centre)
    given = count_or_grid(None, alphas)
    grid = _grid(squares, eps, given) if isinstance(given, int) else np.sort(given)[::-1]
    coefs = np.column_stack([weights_at(alpha) for alpha in grid])
    residuals = t[:, None] - (np.asarray(X @ coefs) - centre @ coefs)
    sums = np.asarray(X.T @ (weight[:, None] * residuals)) - np.outer(centre, weight @ residuals)
    gaps = np.sum(np.square(grid * coefs - sums), axis=0) / grid
    found = RidgePath(grid, coefs, gaps)
    found.intercepts = middle - centre @ coefs
    return found


def _grid(squares: Vector, eps: float, count: int) -> Vector:
    largest = _ABOVE * float(np.max(squares, initial=0.0)) or 1.0
    return np.geomspace(largest, largest * check_positive("eps", eps), num=count)


def _dense_factor(X: Matrix, t: Vector, weight: Vector, centre: Vector) -> tuple[Vector, Callable[[float], Vector]]:
    """Squares of the singular values, and w of alpha."""
    root = np.sqrt(weight)
    Z = (np.asarray(X, dtype=np.float64) - centre) * root[:, None]
    U, s, V = svd(Z, full_matrices=False, overwrite_a=True, check_finite=False)
    seen = s * (U.T @ (root * t))
    return s**2, lambda alpha: np.asarray(V.T @ (seen / (s**2 + alpha)))


def _sparse_factor(X: Any, t: Vector, weight: Vector, centre: Vector) -> tuple[Vector, Callable[[float], Vector]]:
    """The same from the products of rows, or of columns, which are dense."""
    n, d = X.shape
    if min(n, d) > _MAX_FACTORED:
        raise ParameterError(
            f"ridge_path decomposes the products of rows or of columns, whichever are fewer, up to {_MAX_FACTORED}; "
            f"these are {n} x {d}. Use maxmargin.evaluate.path(Ridge(), X, y, alpha=[...])."
        )
    root = np.sqrt(weight)
    Z = sparse.diags(root) @ X.astype(np.float64)
    right = root * t
    if d <= n:
        H = (Z.T @ Z).toarray() - np.sum(weight) * np.outer(centre, centre)
        squares, Q = eigh(H, check_finite=False)
        squares = np.maximum(squares, 0.0)
        seen = Q.T @ (Z.T @ right - centre * float(root @ right))
        return squares, lambda alpha: np.asarray(Q @ (seen / (squares + alpha)))
    across = np.asarray(Z @ centre)
    K = (Z @ Z.T).toarray() - np.outer(root, across) - np.outer(across, root)
    K += float(centre @ centre) * np.outer(root, root)
    squares, Q = eigh(K, check_finite=False)
    squares = np.maximum(squares, 0.0)
    seen = Q.T @ right

    def weights_at(alpha: float) -> Vector:
        beta = Q @ (seen / (squares + alpha))
        return np.asarray(Z.T @ beta - centre * float(root @ beta))

    return squares, weights_at
