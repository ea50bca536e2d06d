"""What a certificate is about: a specification, a point, and the weights of the rows; all but the data themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.certificates.assessment import Assessment, assess
from maxmargin.data import as_rows, as_vectors, count_rows
from maxmargin.errors import CertificateError, DataError, DataTypeError
from maxmargin.losses import HardMargin
from maxmargin.penalties import L2
from maxmargin.problems import AllClasses, OneClass, Regression, SharedRows, Specification, is_source


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

    def assess(self, X: Rows, y: Labels | None, sample_weight: Vector | None = None) -> Assessment:
        """Rebuild every number from the data, arrays or a source."""
        if is_source(X):
            return self._assess_source(X, y, sample_weight)
        X, y = self._rows(X), self._targets(y)
        if count_rows(X) != self.n_rows or len(y) != self.n_rows:
            raise DataError(
                f"the certificate is about {self.n_rows} rows, got X with {count_rows(X)} and y with {len(y)}. "
                "Give the data the model was trained on, in the same order."
            )
        self._check_columns(X)
        weight = self.sample_weight if sample_weight is None else _weights(sample_weight, self.n_rows)
        self._check_labels(y, weight)
        if self.point.vectors is not None and not _same_rows(X[self.point.support], self.point.vectors):
            raise CertificateError(
                "the support vectors of the model are not the rows of the data that stand at their places. Either "
                "these are not the data the model was trained on, or the model was changed after training."
            )
        problem, rows = self.specification.problem(X, y, weight)
        everywhere = self.point.everywhere(self.n_rows)
        beta = everywhere if rows is None else everywhere[rows]
        alpha = problem.loss.multipliers(beta, problem.targets)
        return assess(problem, alpha, self.point.weights, self.point.bias)

    @property
    def takes_source(self) -> bool:
        """Whether a source will do in place of arrays: for linear machines with one score a row."""
        weights = self.point.weights
        is_soft = not isinstance(self.specification.loss, HardMargin)
        return weights is not None and weights.ndim == 1 and self.specification.penalty == L2() and is_soft

    def _assess_source(self, source: Any, y: Labels | None, sample_weight: Vector | None) -> Assessment:
        """The same from a source, in one pass."""
        if y is not None or sample_weight is not None:
            raise DataError("a source brings its own targets and weights; give verify nothing but the source.")
        weights = self.point.weights
        if weights is None or not self.takes_source:
            raise DataError("a source serves the certificates of linear machines with one score a row; give X and y.")
        problem = SharedRows.of(source, [self.specification]).problems[0]
        if problem.n_rows != self.n_rows or problem.source.n_features != len(weights):
            raise DataError(
                f"the certificate is about {self.n_rows} rows with {len(weights)} columns, got a source of "
                f"{problem.n_rows} rows with {problem.source.n_features}. Give the data the model was trained on."
            )
        bias = float(np.asarray(self.point.bias).item())
        return assess(problem, self.point.everywhere(self.n_rows), weights, bias)

    def _rows(self, X: Rows) -> Rows:
        """Rows of numbers, or whatever else the kernel works on."""
        kernel = self.specification.kernel
        rows = as_rows(X)
        if kernel is not None and kernel.on in ("strings", "anything"):
            return rows
        if rows.dtype.kind == "O":  # a table with columns of several kinds
            rows = _doubles(rows, "X")
        return as_vectors(rows, "a certificate")

    def _targets(self, y: Labels | None) -> Labels:
        """One label or number a row; a single column will do, and for one class nothing at all."""
        if y is None and isinstance(self.specification.task, OneClass):
            return np.zeros(self.n_rows)
        given = np.asarray(y)
        if given.ndim == 2 and given.shape[1] == 1:
            given = given[:, 0]
        if given.ndim != 1:
            raise DataError(f"y must have one entry a row, got an array of shape {given.shape}.")
        return _doubles(given, "y") if isinstance(self.specification.task, Regression) else given

    def _check_columns(self, X: Rows) -> None:
        """Refuse rows that the model cannot have been trained on."""
        kernel, point = self.specification.kernel, self.point
        if kernel is not None and kernel.on == "matrix":
            expected = self.n_rows
        elif point.weights is not None:
            expected = len(point.weights)
        elif point.vectors is not None and point.vectors.ndim == 2:
            expected = int(point.vectors.shape[1])
        else:
            return
        found = X.shape[1] if X.ndim == 2 else 0
        if found != expected:
            raise DataError(
                f"the certificate is about rows with {expected} columns, got {found}. Give the data the model was "
                "trained on."
            )

    def _check_labels(self, y: Labels, weight: Vector | None) -> None:
        """Refuse labels that have no number among all classes, except those of rows that do not count."""
        task = self.specification.task
        if not isinstance(task, AllClasses):
            return  # these compare labels with their own, so that any label has a meaning
        silent = [label for label, factor in self.specification.class_weight if factor == 0.0]
        unknown = ~np.isin(y, np.asarray([*task.classes, *silent]))
        if weight is not None:
            unknown &= weight > 0.0
        if np.any(unknown):
            first = y[unknown].tolist()[0]
            raise DataError(
                f"y holds the label {first!r}; the certificate is about the classes {list(task.classes)}. Give the "
                "labels the model was trained on."
            )


def _weights(given: Vector, n_rows: int) -> Vector:
    """Weights as `fit` takes them: one a row, or one number for all."""
    weight = _doubles(given, "sample_weight")
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise DataError(
            f"the certificate is about {n_rows} rows, got sample_weight of shape {weight.shape}. Give one weight a "
            "row, or one number for all."
        )
    if not np.all(np.isfinite(weight) & (weight >= 0.0)):
        raise DataError("sample_weight must be zero or positive for every row.")
    return weight


def _doubles(values: Any, name: str) -> Vector:
    """Numbers in double precision."""
    try:
        doubles: Vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataTypeError(f"{name} must hold real numbers: {error}.") from error
    return doubles


def _same_rows(A: Rows, B: Rows) -> bool:
    """Whether two sets of rows are equal, entry by entry."""
    if A.shape != B.shape:
        return False
    return (A != B).nnz == 0 if sparse.issparse(A) and sparse.issparse(B) else bool(np.all(_dense(A) == _dense(B)))


def _dense(A: Rows) -> Rows:
    return A.toarray() if sparse.issparse(A) else A
