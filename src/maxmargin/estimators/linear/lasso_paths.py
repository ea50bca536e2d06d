"""The lasso along a grid of alphas, from the one at which all weights are zero downwards.

Each alpha begins with the weights, the working set, its products and the dual point of the one before. Where the
columns that are needed were foreseen, one pass over the data finds that they were, and the duality gap with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.backends.threads import at_most, one_blas_thread, thread_count
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.parameters import check_flag, check_max_iter, check_positive, check_precompute
from maxmargin.estimators.fitting.validation import check_finite, check_targets, our_errors
from maxmargin.solvers.sparse.lasso_design import design_of
from maxmargin.solvers.sparse.lasso_search import LassoSearch, Strength

_LEAST = float(np.finfo(np.float64).resolution)
_MOST_LINES = 20  # alphas that a notebook shows


class _Three(NamedTuple):
    alphas: Vector
    coefs: Matrix
    dual_gaps: Vector


class LassoPath(_Three):
    """Alphas, decreasing; weights, one column an alpha; duality gaps, in the units of the objective of `Lasso`.

    It unpacks into these three. `intercepts` has the intercept of each alpha, `n_iters` the looks at all columns.
    """

    intercepts: Vector
    n_iters: list[int]

    def _repr_html_(self) -> str:
        """Some of the alphas as a table in a notebook, the first and the last among them."""
        n = len(self.alphas)
        shown = np.unique(np.linspace(0, n - 1, min(n, _MOST_LINES)).round().astype(int)).tolist()
        lines = ["<tr><th>alpha</th><th>weights that are not zero</th><th>duality gap</th></tr>"]
        for k in shown:
            cells = (f"{self.alphas[k]:.4g}", str(np.count_nonzero(self.coefs[..., k])), f"{self.dual_gaps[k]:.1e}")
            lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        count = f"{n} alphas" if len(shown) == n else f"{n} alphas, of which {len(shown)} are shown"
        return f"<p><strong>{type(self).__name__}: {count}</strong></p><table>{''.join(lines)}</table>"


def lasso_path(
    X: Rows,
    y: Labels,
    *,
    eps: float = 1e-3,
    n_alphas: int | None = None,
    alphas: int | Sequence[float] | Vector | None = None,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Vector | None = None,
    verbose: bool | int = False,
    return_n_iter: bool = False,
    positive: bool = False,
    fit_intercept: bool = False,
    sample_weight: Vector | None = None,
    tol: float = 1e-4,
    max_iter: int | None = 1000,
    n_jobs: int | None = None,
) -> Any:
    """Weights of the lasso for every alpha of a grid, with a duality gap at each.

    Parameters
    ----------
    X, y, sample_weight
        As for `Lasso.fit`. Dense rows in C order and sparse columns (CSC) are used as they are, without a copy.
    eps
        Smallest alpha of the grid by the largest, which is the smallest at which all weights are zero.
    n_alphas, alphas
        How many alphas the grid has (100), or the grid itself, in any order.
    positive, fit_intercept
        As for `Lasso`; without an intercept unless asked, as in scikit-learn.
    tol
        Relative duality gap at which an alpha is left.
    max_iter
        Most looks at all columns for one alpha.
    n_jobs
        Threads; None means all cores.
    coef_init
        Weights to begin with.
    return_n_iter
        Whether to return a fourth value, the looks at all columns for each alpha.
    precompute, Xy, copy_X, verbose
        Accepted for compatibility: the solver decides what to form, and never changes X.

    Returns
    -------
    LassoPath
        `alphas, coefs, dual_gaps`, and `intercepts` as an attribute.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import lasso_path
    >>> X, y = np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([4.0, 1.0])
    >>> alphas, coefs, dual_gaps = lasso_path(X, y, alphas=[4.0, 2.0, 0.5])
    >>> np.round(coefs, 4)
    array([[0.  , 1.  , 1.75],
           [0.  , 0.  , 0.25]])
    """
    check_precompute(precompute)
    X, y, weight = check_path_data(X, y, sample_weight)
    with one_blas_thread(), at_most(n_jobs):
        walk = PathWalk(X, y, weight, fit_intercept=fit_intercept, positive=positive, n_jobs=n_jobs)
        if coef_init is not None:
            walk.start(np.asarray(coef_init, dtype=np.float64))
        grid = walk.grid(eps, count_or_grid(n_alphas, alphas))
        looks = check_max_iter(max_iter) or 1000
        steps = list(walk.along(grid, check_positive("tol", tol), looks))
    found = LassoPath(grid, np.column_stack([step.weights for step in steps]), np.array([step.gap for step in steps]))
    found.intercepts = np.array([step.bias for step in steps])
    found.n_iters = [step.looks for step in steps]
    return (*found, found.n_iters) if return_n_iter else found


class Step(NamedTuple):
    """The answer at one alpha."""

    weights: Vector
    bias: float
    gap: float
    looks: int


class PathWalk:
    """A walk down the alphas on checked data."""

    def __init__(
        self,
        X: Rows,
        y: Vector,
        weight: Vector | None,
        *,
        fit_intercept: bool,
        positive: bool,
        n_jobs: int | None = None,
    ):
        weight = np.ones(len(y)) if weight is None else weight
        if np.any(weight == 0.0):
            kept = np.flatnonzero(weight)
            X, y, weight = (X.tocsr() if sparse.issparse(X) else X)[kept], y[kept], weight[kept]
        thread_count(n_jobs)
        free = check_flag("fit_intercept", fit_intercept)
        self.design = design_of(X, y, weight / float(np.sum(weight)), free=free, n_jobs=n_jobs)
        self.search = LassoSearch(self.design, positive=check_flag("positive", positive))
        self.largest = self.search.largest

    def start(self, w: Vector) -> None:
        """Begin at these weights."""
        if w.shape != (self.design.n_features,):
            raise ParameterError(f"coef_init must have one weight a feature, {self.design.n_features}, got {w.shape}.")
        self.search.start(np.maximum(w, 0.0) if self.search.positive else w)

    def grid(self, eps: float, alphas: int | Vector) -> Vector:
        """The grid itself, decreasing, or so many alphas from the largest that matters down to eps times it."""
        if not isinstance(alphas, int):
            return np.sort(alphas)[::-1]
        if self.largest <= _LEAST:
            return np.full(alphas, _LEAST)
        return np.geomspace(self.largest, self.largest * check_positive("eps", eps), num=alphas)

    def along(self, grid: Vector, tol: float, max_iter: int) -> Iterator[Step]:
        """One step an alpha."""
        search = self.search
        for alpha in grid:
            before = len(search.history)
            search.run(Strength(float(alpha), 0.0), tol, math.inf, max_iter)
            used = search.set.u != 0.0
            bias = self.design.bias(search.set.columns[used], search.set.u[used])
            yield Step(search.set.weights(), bias, search.gap, len(search.history) - before)


def count_or_grid(n_alphas: Any, alphas: Any) -> int | Vector:
    """Number of alphas, or the alphas."""
    if alphas is None or (isinstance(alphas, Integral) and not isinstance(alphas, bool)):
        count = 100 if alphas is None and n_alphas is None else alphas if alphas is not None else n_alphas
        if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
            raise ParameterError(f"alphas must be a positive number of alphas or a list of them, got {count!r}.")
        return int(count)
    given = np.asarray(alphas)
    grid = given.astype(np.float64) if given.dtype.kind in "fiu" else np.zeros(0)
    if grid.ndim != 1 or len(grid) == 0 or not np.all(np.isfinite(grid) & (grid > 0.0)):
        raise ParameterError(
            f"alphas must be a positive number of alphas or a list of positive numbers, got {alphas!r}. Without a "
            "penalty use LinearRegression."
        )
    return grid


def check_path_data(X: Rows, y: Labels, sample_weight: Any) -> tuple[Rows, Vector, Vector | None]:
    """Rows or columns as a walk takes them."""
    with our_errors():
        X = check_array(X, accept_sparse=["csc", "csr"], dtype=[np.float64, np.float32], ensure_all_finite=False)
    check_finite(X.tocsr() if sparse.issparse(X) and X.format == "csc" and not np.isfinite(X.data.sum()) else X)
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X, *check_targets(X, y, sample_weight)
