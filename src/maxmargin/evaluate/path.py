"""Models along a grid of C, each found from the one before it, each with its own certificate.

From small C to large: a small C is an easy problem, and its answer lies near that of the next. A hard margin, C =
infinity, is a problem of another kind and begins afresh.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.certificates import Certificate
from maxmargin.data import count_rows
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.validation import check_weights
from maxmargin.estimators.kernel.svc import SVC
from maxmargin.estimators.kernel.svr import SVR
from maxmargin.evaluate.sample import check_estimator, check_rows_and_labels
from maxmargin.evaluate.tables import ShownAsTable, Table
from maxmargin.solvers.kernel.values import sharing


@dataclass(frozen=True)
class Path(ShownAsTable):
    """Fitted models for increasing C; iteration gives them in that order, and `str()` is a table.

    Attributes
    ----------
    C
        The grid, increasing; 1 / alpha for estimators that have an alpha.
    models
        One fitted clone of the estimator for each C.
    """

    C: Vector
    models: tuple[Any, ...]

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Certificate of every model."""
        return tuple(model.certificate_ for model in self.models)

    @property
    def coefs(self) -> Matrix:
        """`coef_` of every model, stacked."""
        return np.stack([model.coef_ for model in self.models])

    @property
    def intercepts(self) -> Matrix:
        """`intercept_` of every model, stacked."""
        return np.stack([np.asarray(model.intercept_) for model in self.models])

    def __len__(self) -> int:
        return len(self.models)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.models)

    def table(self) -> Table:
        """What the certificate of every model says."""
        rows = [
            (f"{C:g}", f"{one.primal:.6g}", f"{one.relative_gap:.1e}", str(one.n_support), one.status.name)
            for C, one in zip(self.C, self.certificates, strict=True)
        ]
        title = f"Path: {len(self.models)} fits of {type(self.models[0]).__name__}"
        return Table(title, ("C", "primal", "relative gap", "support rows", "status"), rows)


def path(
    estimator: Any,
    X: Rows,
    y: Labels,
    *,
    C: Sequence[float] | Vector | None = None,
    alpha: Sequence[float] | Vector | None = None,
    sample_weight: Vector | None = None,
) -> Path:
    """Fit an estimator for every C of a grid, each fit starting from the previous answer where the solver can.

    Parameters
    ----------
    estimator
        An estimator of this library with a parameter `C`, or `alpha` (`Ridge`). It is cloned, not changed.
    X, y, sample_weight
        As for `fit`.
    C
        The grid, in any order.
    alpha
        The grid for estimators that have `alpha` instead; C = 1 / alpha.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LogisticRegression
    >>> from maxmargin.evaluate import path
    >>> found = path(LogisticRegression(), *load_iris(return_X_y=True), C=[0.01, 0.1, 1])
    >>> [certificate.status.name for certificate in found.certificates]
    ['CONVERGED', 'CONVERGED', 'CONVERGED']
    """
    check_estimator(estimator)
    name, grid = _grid(estimator, C, alpha)
    X, y = check_rows_and_labels(X, y)
    models: list[Any] = []
    with _shared_kernel(estimator, X, sample_weight):
        for value in grid:
            model = clone(estimator).set_params(**{name: value})
            if models and hasattr(model, "_fit_from") and np.isfinite(value):
                model._fit_from(X, y, sample_weight, models[-1])
            else:
                model.fit(X, y, sample_weight)
            models.append(model)
    costs = np.array(grid) if name == "C" else 1.0 / np.array(grid)
    return Path(costs, tuple(models))


def _shared_kernel(estimator: Any, X: Rows, sample_weight: Vector | None) -> AbstractContextManager[None]:
    """One kernel matrix for all fits of a kernel machine on these rows."""
    if not isinstance(estimator, (SVC, SVR)):
        return nullcontext()
    model = clone(estimator)
    rows = model._check_kernel_input(X, reset=True)
    weight = check_weights(sample_weight, count_rows(rows))
    return sharing(model._make_kernel(rows, weight), rows, model._memory())


def _grid(estimator: Any, C: Any, alpha: Any) -> tuple[str, list[float]]:
    """Name of the parameter, and its values in the order of increasing C."""
    if (C is None) == (alpha is None):
        raise ParameterError("path needs a grid: give C=[...], or alpha=[...] for an estimator that has alpha.")
    name, given = ("C", C) if alpha is None else ("alpha", alpha)
    if name not in estimator.get_params(deep=False):
        raise ParameterError(f"{type(estimator).__name__} has no parameter {name}; see get_params().")
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} must be a list of numbers, got {given!r}.") from error
    if values.ndim != 1 or len(values) == 0:
        raise ParameterError(f"{name} must be a list of at least one number, got {given!r}.")
    values = np.sort(values)
    return name, (values if name == "C" else values[::-1]).tolist()
