"""Regression by kernel machines: one problem, one row of coefficients."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.estimators.fitting.sources import Regressor
from maxmargin.estimators.fitting.training import Training
from maxmargin.estimators.fitting.validation import check_numbers, check_same_length, check_weights
from maxmargin.estimators.kernel.kernel_machine import KernelMachine, known_complaints
from maxmargin.kernels import Kernel


class KernelRegressor(Regressor, KernelMachine):
    """Base of the regressors with kernels and a tube; a subclass has the parameters."""

    def _check_all(
        self, X: Rows, y: Labels | None, sample_weight: Vector | None
    ) -> tuple[Rows, Vector, Vector | None, Kernel]:
        """Rows, targets and weights as a solver takes them, and the kernel."""
        X = self._check_kernel_input(X, reset=True)
        y = check_numbers(y)
        check_same_length(X, y)
        with known_complaints(sample_weight, y):
            weight = check_weights(sample_weight, len(y))
        return X, y, weight, self._make_kernel(X, weight)

    def _store(self, training: Training, X: Rows, kernel: Kernel) -> None:
        """Keep the machine that was trained."""
        point = training.points[0]
        self._kernel = kernel
        self._store_support(X, point.support, point.coefficients[None, :], np.array([float(np.asarray(point.bias))]))
        self.n_support_ = np.array([len(point.support)], dtype=np.int32)

    def _machine_coefficients(self) -> Matrix:
        return self._dual().T

    def _points(self) -> list[Point]:
        return [self._only_point()]

    def predict(self, X: Rows) -> Vector:
        """Predicted targets of rows."""
        check_is_fitted(self)
        return (self._scores(X, self._machine_coefficients()) + self.intercept_)[:, 0]
