"""What a certificate is about: a specification, a point, and the weights of the rows; all but the data themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.certificates.assessment import Assessment, assess
from maxmargin.data import count_rows
from maxmargin.errors import CertificateError, DataError
from maxmargin.problems import Specification


@dataclass(frozen=True)
class Point:
    """The answer to a problem, as a model holds it."""

    support: RowIndex
    """Positions in the data of the rows with a coefficient other than zero."""
    coefficients: Vector
    """Beta of the support rows."""
    weights: Vector | None
    """w of a linear model, None for a kernel machine."""
    bias: float | Vector
    vectors: Rows | None = None
    """Support rows as a kernel machine keeps them for its predictions."""

    def everywhere(self, n_rows: int) -> Vector:
        """Beta of all rows."""
        beta = np.zeros((n_rows, *self.coefficients.shape[1:]))
        beta[self.support] = self.coefficients
        return beta


@dataclass(frozen=True)
class Claim:
    """That `point` solves the problem of `specification` on data of `n_rows` rows."""

    specification: Specification
    point: Point
    n_rows: int
    sample_weight: Vector | None = None

    def assess(self, X: Rows, y: Labels, sample_weight: Vector | None = None) -> Assessment:
        """Rebuild every number from the data."""
        if count_rows(X) != self.n_rows or len(y) != self.n_rows:
            raise DataError(
                f"the certificate is about {self.n_rows} rows, got X with {count_rows(X)} and y with {len(y)}. "
                "Give the data the model was trained on, in the same order."
            )
        weight = self.sample_weight if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if self.point.vectors is not None and not _same_rows(X[self.point.support], self.point.vectors):
            raise CertificateError(
                "the support vectors of the model are not the rows of X that its certificate is about. Either these "
                "are not the data the model was trained on, or the model was changed after training."
            )
        problem, rows = self.specification.problem(X, y, weight)
        everywhere = self.point.everywhere(self.n_rows)
        beta = everywhere if rows is None else everywhere[rows]
        alpha = problem.loss.multipliers(beta, problem.targets)
        return assess(problem, alpha, self.point.weights, self.point.bias)


def _same_rows(A: Rows, B: Rows) -> bool:
    """Whether two sets of rows are equal, entry by entry."""
    if A.shape != B.shape:
        return False
    return (A != B).nnz == 0 if sparse.issparse(A) and sparse.issparse(B) else bool(np.all(_dense(A) == _dense(B)))


def _dense(A: Rows) -> Rows:
    return A.toarray() if sparse.issparse(A) else A
