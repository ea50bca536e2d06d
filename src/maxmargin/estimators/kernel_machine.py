"""What `SVC` and `SVR` share: a kernel, support rows, and prediction from them alone."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.data import count_rows
from maxmargin.errors import DataError
from maxmargin.estimators.machine import Machine
from maxmargin.estimators.validation import check_rows
from maxmargin.estimators.weights import kernel_width
from maxmargin.kernels import Kernel, Linear, as_kernel
from maxmargin.problems import combine_columns, linear_scores


class KernelMachine(Machine):
    """A machine whose weight vector is a combination of support rows seen through a kernel."""

    _linear: ClassVar[bool] = False
    _kernel: Kernel
    support_: RowIndex
    support_vectors_: Rows
    dual_coef_: Matrix
    intercept_: Vector

    def _check_kernel_input(self, X: Rows, *, reset: bool) -> Rows:
        # gamma needs the data and the data's check needs to know what the kernel works on: a draft kernel tells that.
        on = as_kernel(self.kernel).on if reset else self._kernel.on
        # How many columns a precomputed kernel may have at prediction is known here better than by scikit-learn.
        X = check_rows(self, X, on=on, reset=reset, count_columns=reset or on != "matrix")
        if reset and on == "matrix" and X.shape[0] != X.shape[1]:
            raise DataError(
                f"Precomputed matrix must be a square matrix: kernel='precomputed' takes k(x_i, x_j) of all training "
                f"rows, got shape {X.shape}."
            )
        return X

    def _make_kernel(self, X: Rows, sample_weight: Vector | None) -> Kernel:
        if not isinstance(self.kernel, str):
            return as_kernel(self.kernel)
        if self.kernel in ("linear", "precomputed"):
            return as_kernel(self.kernel)
        return as_kernel(
            self.kernel, gamma=kernel_width(self.gamma, X, sample_weight), degree=self.degree, coef0=self.coef0
        )

    def _store_support(self, X: Rows, support: RowIndex) -> None:
        self.support_ = support
        self._n_train = count_rows(X)
        self.support_vectors_ = np.empty((0, 0)) if self._kernel.on == "matrix" else X[support]

    def _kept_vectors(self, members: RowIndex | None = None) -> Rows | None:
        """Support vectors that predictions use; a precomputed kernel has none."""
        if self._kernel.on == "matrix":
            return None
        return self.support_vectors_ if members is None else self.support_vectors_[members]

    def _scores(self, X: Rows, coefficients: Matrix) -> Matrix:
        """sum_j coefficients_jk k(x, support vector j), one column a machine."""
        check_is_fitted(self)
        X = self._check_kernel_input(X, reset=False)
        if self._kernel.on == "matrix":
            return linear_scores(X[:, self._columns_of_support(X)], coefficients)
        columns = np.arange(count_rows(self.support_vectors_))
        return combine_columns(self._kernel, X, self.support_vectors_, columns, coefficients)

    def _columns_of_support(self, X: Rows) -> RowIndex | slice:
        """Columns of k(x, x_j) that belong to support rows; only these may be given in the first place."""
        if X.shape[1] == self._n_train:
            return self.support_
        if X.shape[1] == len(self.support_):
            return slice(None)
        raise DataError(
            f"kernel='precomputed' takes k(x, x_j) for the {self._n_train} training rows x_j, or for the "
            f"{len(self.support_)} support rows alone; got {X.shape[1]} columns."
        )

    def _weight_lengths(self, coefficients: Matrix) -> Vector:
        """|w| of each machine, from the support vectors."""
        if self._kernel.on == "matrix":
            raise DataError(
                "geometric margins need |w|, which a precomputed kernel cannot give after training; "
                "functional margins are y times decision_function."
            )
        columns = np.arange(count_rows(self.support_vectors_))
        f = combine_columns(self._kernel, self.support_vectors_, self.support_vectors_, columns, coefficients)
        lengths: Vector = np.sqrt(np.maximum(np.sum(coefficients * f, axis=0), 0.0))
        return lengths

    @property
    def coef_(self) -> Matrix:
        """Weights in the space of the features; only for a linear kernel."""
        kernel = getattr(self, "_kernel", self.kernel)  # what was fitted, whatever `kernel` says today
        if not isinstance(kernel, Linear) and not (isinstance(kernel, str) and kernel == "linear"):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        weights = self._machine_coefficients().T @ self.support_vectors_
        return np.asarray(weights.todense() if sparse.issparse(weights) else weights)

    def _machine_coefficients(self) -> Matrix:
        """One column of coefficients a machine."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def sorted_by_class(rows: RowIndex, y: Labels, classes: Labels) -> RowIndex:
    """Support rows in the order of scikit-learn: by class, then by position."""
    return rows[np.lexsort((rows, np.searchsorted(classes, y[rows])))]
