"""Regression by kernel machines with a tube: one problem, one row of coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_choice, check_epsilon, check_finite_cost, check_intercept
from maxmargin.estimators.fitting.sources import Regressor
from maxmargin.estimators.fitting.training import Training
from maxmargin.estimators.fitting.validation import check_numbers, check_same_length, check_weights
from maxmargin.estimators.kernel.kernel_machine import SupportVectorMachine, known_complaints
from maxmargin.kernels import Kernel
from maxmargin.losses import EpsilonInsensitive, Loss, Pinball
from maxmargin.problems import Regression, Specification
from maxmargin.solvers.registry import check_kernel_name

_LOSSES = {"epsilon_insensitive": EpsilonInsensitive, "pinball": Pinball}


class KernelRegressor(Regressor, SupportVectorMachine):
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


@dataclass(eq=False, repr=False, kw_only=True)
class SVR(KernelRegressor):
    """Support vector regression, epsilon-insensitive or of a quantile.

        minimise over w, b    1/2 |w|^2 + sum_i C_i l(<w, phi(x_i)> + b - y_i)

    A drop-in replacement for scikit-learn's `SVR`, whose parameters keep their meaning; every fit ends with a
    certificate. Parameters and attributes not named here are those of `SVC`.

    Parameters
    ----------
    epsilon
        Half-width of the tube inside which errors cost nothing, in the units of y; the pinball loss has none.
    loss
        "epsilon_insensitive", l(r) = max(0, |r| - epsilon), or "pinball", which estimates a quantile of y.
    quantile
        Share of the targets that shall lie below the predictions, between 0 and 1; of the pinball loss alone.
    solver
        The algorithm, by name:

        "auto"          "blocks"
        "blocks"        working sets within working sets, for few rows and for many
        "smo"           LIBSVM's method: pair steps among all rows, a cache of kernel rows, shrinking
        "qp"            the reference, to the last digits, for up to a few thousand rows
        "osuna"         the lectures' working sets, each a small quadratic program
        "dcd"           the lectures' coordinate ascent; intercept "augmented" or "none"

        or a `maxmargin.solvers.Solver`, as in `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> model = SVR(C=10, epsilon=0.05).fit(X, np.sin(X).ravel())
    >>> bool(np.max(np.abs(model.predict(X) - np.sin(X).ravel())) < 0.06)
    True
    """

    C: float = 1.0
    epsilon: float = 0.1
    loss: Literal["epsilon_insensitive", "pinball"] = "epsilon_insensitive"
    quantile: float = 0.5
    intercept: Literal["free", "augmented", "none"] = "free"

    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> SVR:
        """Train on rows X with targets y; `sample_weight` is a factor on C of each row."""
        return self._fit_from(X, y, sample_weight, None)

    @all_or_nothing
    def _fit_from(self, X: Rows, y: Labels | None, sample_weight: Vector | None, start_model: SVR | None) -> SVR:
        """Train from where `start_model` ended, if it had the same rows."""
        C, intercept = check_finite_cost(self.C), check_intercept(self.intercept)
        loss = self._loss()
        X, y, weight, kernel = self._check_all(X, y, sample_weight)
        specifications = [Specification(Regression(), loss, C, intercept, kernel)]
        check_kernel_name(self.solver, specifications[0])
        training = self._train(specifications, X, y, weight, start_model=start_model)
        self._store(training, X, kernel)
        self._conclude(training)
        return self

    def _loss(self) -> Loss:
        """The loss that the parameters ask for."""
        kind = _LOSSES[check_choice("loss", self.loss, _LOSSES)]
        return kind(self.quantile if kind is Pinball else check_epsilon(self.epsilon))
