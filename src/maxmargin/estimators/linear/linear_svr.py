"""Linear support vector regression."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import ClassVar, Literal

import numpy as np

from maxmargin._types import Labels, Rows, Vector
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_choice, check_dual, check_epsilon, check_finite_cost
from maxmargin.estimators.fitting.sources import Regressor
from maxmargin.estimators.fitting.streaming import carry, numeric_data, trainer_of
from maxmargin.estimators.linear.linear_machine import CostMachine
from maxmargin.losses import EpsilonInsensitive, Loss, Pinball, SquaredEpsilonInsensitive
from maxmargin.problems import Regression, Specification
from maxmargin.solvers.registry import check_linear_name

_LOSSES: dict[str, type[EpsilonInsensitive | SquaredEpsilonInsensitive | Pinball]] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "pinball": Pinball,
}


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVR(Regressor, CostMachine):
    """Linear support vector regression.

        minimise over w, b    1/2 |w|^2 + sum_i C_i l(<w, x_i> + b - y_i)

    A drop-in replacement for scikit-learn's `LinearSVR`, except that the intercept is free (not penalised) unless
    `intercept="augmented"` says otherwise. Parameters and attributes not named here are those of `LinearSVC`.

    Parameters
    ----------
    epsilon
        Half-width of the tube inside which errors cost nothing, in the units of y; the pinball loss has none.
    loss
        "epsilon_insensitive", "squared_epsilon_insensitive", or "pinball", which estimates a quantile of y.
    quantile
        Share of the targets that shall lie below the predictions, between 0 and 1; of the pinball loss alone.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVR
    >>> X = np.arange(10.0)[:, None]
    >>> model = LinearSVR(C=100).fit(X, 3 * X.ravel() + 2)
    >>> bool(np.allclose(model.coef_, 3) and np.allclose(model.intercept_, 2))
    True
    """

    _trains_on_sources: ClassVar[bool] = True

    epsilon: float = 0.0
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive", "pinball"] = "epsilon_insensitive"
    quantile: float = 0.5
    dual: bool | Literal["auto"] = "auto"
    stream: str | None = None
    checkpoint: str | PathLike[str] | None = None

    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> LinearSVR:
        """Train on rows X with targets y, or on a source alone; `sample_weight` is a factor on C of each row."""
        return self._fit_from(X, y, sample_weight, self._last_fit())

    @all_or_nothing
    def _fit_from(
        self, X: Rows, y: Labels | None, sample_weight: Vector | None, start_model: LinearSVR | None
    ) -> LinearSVR:
        """Train from where `start_model` ended, if it has the same features."""
        check_dual(self.dual)
        specifications = [Specification(Regression(), self._loss(), check_finite_cost(self.C), self._intercept())]
        check_linear_name(self.solver, specifications[0])
        data = numeric_data(self, X, y, sample_weight, start_model)
        solver = trainer_of(self) if data.is_streamed else self._settings()
        training = self._train(specifications, data.X, data.y, data.weight, solver=solver, start_model=start_model)
        self._store_points(training.points)
        self.coef_ = self.coef_[0]
        carry(self, data.carried)
        self._conclude(training)
        return self

    def _loss(self) -> Loss:
        """The loss that the parameters ask for."""
        kind = _LOSSES[check_choice("loss", self.loss, _LOSSES)]
        return kind(self.quantile if kind is Pinball else check_epsilon(self.epsilon))

    def predict(self, X: Rows) -> Vector:
        """Predicted targets of rows, or of all rows of a source."""
        scores: Vector = np.ascontiguousarray(self._linear_scores(X)[:, 0])
        return scores
