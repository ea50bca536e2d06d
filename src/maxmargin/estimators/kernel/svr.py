"""Support vector regression with kernels."""

from __future__ import annotations

from typing import Any, Literal

from maxmargin._types import Labels, Rows, Vector
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_choice, check_epsilon, check_finite_cost, check_intercept
from maxmargin.estimators.fitting.starting import starting_points
from maxmargin.estimators.kernel.kernel_regressor import KernelRegressor
from maxmargin.kernels import Kernel
from maxmargin.losses import EpsilonInsensitive, Loss, Pinball
from maxmargin.problems import Regression, Specification
from maxmargin.solvers import Solver
from maxmargin.solvers.registry import check_kernel_name

_LOSSES = {"epsilon_insensitive": EpsilonInsensitive, "pinball": Pinball}


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

    def __init__(
        self,
        *,
        kernel: str | Kernel | Any = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        loss: Literal["epsilon_insensitive", "pinball"] = "epsilon_insensitive",
        quantile: float = 0.5,
        shrinking: bool = True,
        cache_size: float | None = None,
        verbose: bool | int = False,
        max_iter: int | None = -1,
        random_state: Any = None,
        solver: str | Solver = "auto",
        intercept: Literal["free", "augmented", "none"] = "free",
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory: str | int | None = None,
        device: str = "auto",
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.quantile = quantile
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.solver = solver
        self.intercept = intercept
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device

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
        start = starting_points(start_model, specifications, X, y, weight)
        training = self._train(specifications, X, y, weight, start=start)
        self._store(training, X, kernel)
        self._conclude(training)
        return self

    def _loss(self) -> Loss:
        """The loss that the parameters ask for."""
        kind = _LOSSES[check_choice("loss", self.loss, _LOSSES)]
        return kind(self.quantile if kind is Pinball else check_epsilon(self.epsilon))
