"""What the linear machines share: weights one can read, and multipliers kept for the certificate."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.errors import TOO_LARGE, DataError, ParameterError
from maxmargin.estimators.fitting.machine import Machine
from maxmargin.estimators.fitting.parameters import check_intercept
from maxmargin.estimators.fitting.sources import AcceptsSources, block_by_block
from maxmargin.estimators.fitting.validation import check_rows
from maxmargin.problems import Intercept, linear_scores

Model = TypeVar("Model", bound="SparseCoefficients")


def _sum_of_squares(X: Rows) -> float:
    """Of all entries, without a copy of them."""
    values = X.data if sparse.issparse(X) else X.T if X.flags.f_contiguous else X
    with np.errstate(over="ignore"):
        if values.flags.c_contiguous:
            return float(np.vdot(values, values))
        return float(np.einsum("ij,ij->", values, values))


@dataclass(eq=False, repr=False, kw_only=True)
class LinearMachine(AcceptsSources, Machine):
    """A machine with one weight a feature."""

    _linear: ClassVar[bool] = True
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int | None = None
    verbose: bool | int = 0
    coef_: Matrix = field(init=False)
    intercept_: Any = field(init=False)
    _support: list[RowIndex] = field(init=False)
    _coefficients: list[Vector] = field(init=False)

    def _check_linear_input(self, X: Rows, *, reset: bool) -> Rows:
        if not reset and self.feature_map_ is not None and getattr(X, "ndim", 0) == 2:
            known, found = self.n_features_in_, X.shape[1]
            if found != known:
                raise DataError(
                    f"X has {found:,} columns, but the {type(self).__name__} was trained on {known:,} features that "
                    "were made of its rows: give it model.feature_map_.transform(X)."
                )
        rows = check_rows(self, X, on="vectors", reset=reset)
        if reset and rows.dtype == np.float64 and not np.isfinite(_sum_of_squares(rows)):
            raise DataError(TOO_LARGE)
        return rows

    def _intercept(self) -> Intercept:
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise ParameterError(f"fit_intercept must be True or False, got {self.fit_intercept!r}.")
        return check_intercept(self.intercept if self.fit_intercept else "none", self.intercept_scaling)

    def _check_streamable(self) -> None:
        """Refuse what no trainer of sources can do, before anything is read."""

    def _last_fit(self) -> Any:
        """The model as the last fit left it, where `warm_start` asks to begin there; else None."""
        if not isinstance(self.warm_start, (bool, np.bool_)):
            raise ParameterError(f"warm_start must be True or False, got {self.warm_start!r}.")
        return copy.copy(self) if self.warm_start and hasattr(self, "_certificate") else None

    def _store_points(self, points: list[Point]) -> None:
        """Weights and intercepts, one row a score; multipliers of the support rows for the certificate."""
        self.coef_ = np.ascontiguousarray(np.vstack([np.asarray(point.weights).T for point in points]))
        self.intercept_ = np.concatenate([np.array(point.bias, dtype=np.float64).reshape(-1) for point in points])
        self._support = [point.support for point in points]
        self._coefficients = [point.coefficients for point in points]

    def _points(self) -> list[Point]:
        weights = self._dense_coef()
        if self._coefficients[0].ndim == 2:  # one machine with a score for every class
            return [Point(self._support[0], self._coefficients[0], weights.T, self.intercept_)]
        return [
            Point(support, beta, weights[k], self.intercept_[k : k + 1])
            for k, (support, beta) in enumerate(zip(self._support, self._coefficients, strict=True))
        ]

    def _dense_coef(self) -> Matrix:
        """`coef_` as a matrix with one row a score, also after `sparsify`."""
        coef: Any = self.coef_
        return np.atleast_2d(coef.toarray() if sparse.issparse(coef) else coef)

    @block_by_block
    def _linear_scores(self, X: Rows) -> Matrix:
        """<w, x> + b, one column a machine, in double precision; of all rows, or of all of a source."""
        check_is_fitted(self)
        X = self._check_linear_input(X, reset=False)
        scores: Matrix = linear_scores(X, self._dense_coef().T) + self.intercept_
        return scores


@dataclass(eq=False, repr=False, kw_only=True)
class CostMachine(LinearMachine):
    """A linear machine with a cost, of which a fit may begin where the last one ended."""

    C: float = 1.0
    intercept: Literal["free", "augmented"] = "free"
    intercept_scaling: float = 1.0
    random_state: Any = None
    warm_start: bool = False


class SparseCoefficients(CostMachine):
    """Weights that can be kept as a sparse matrix, which is smaller where the L1 penalty made most of them zero."""

    def sparsify(self: Model) -> Model:
        """Turn `coef_` into a CSR matrix; predictions and the certificate stay as they are. Returns the model."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self: Model) -> Model:
        """Turn `coef_` back into an array. Returns the model."""
        check_is_fitted(self)
        self.coef_ = self._dense_coef()
        return self
