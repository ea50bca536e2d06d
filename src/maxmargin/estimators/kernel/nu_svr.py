"""Support vector regression in which nu finds the width of the tube."""

from __future__ import annotations

from typing import Any, Literal

from maxmargin._types import Labels, Rows, Vector
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_finite_cost, check_nu
from maxmargin.estimators.kernel.kernel_regressor import KernelRegressor
from maxmargin.estimators.kernel.nu_machine import NuMachine
from maxmargin.kernels import Kernel
from maxmargin.losses import EpsilonInsensitive
from maxmargin.problems import Intercept
from maxmargin.solvers import Solver


class NuSVR(NuMachine, KernelRegressor):
    """Support vector regression with nu: a share of the rows may lie outside the tube, whose width follows.

        minimise over w, b, epsilon >= 0
            1/2 |w|^2 + C (nu n epsilon + sum_i c_i max(0, |<w, phi(x_i)> + b - y_i| - epsilon))

    with weights c_i that add up to n. A drop-in replacement for scikit-learn's `NuSVR`. The answer is that of `SVR`
    with the `epsilon_` that was found, and the certificate is about that machine. Parameters and attributes not named
    here are those of `SVC` and `SVR`.

    Parameters
    ----------
    nu
        Upper bound on the share of rows outside the tube, lower bound on that of support vectors; in (0, 1].
    C
        Cost of errors outside the tube, positive.
    solver
        "auto".

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import NuSVR
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> model = NuSVR(C=10, nu=0.2).fit(X, np.sin(X).ravel())
    >>> bool(np.mean(np.abs(model.predict(X) - np.sin(X).ravel()) > model.epsilon_ + 1e-3) <= 0.2)
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: str | Kernel | Any = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | None = None,
        verbose: bool | int = False,
        max_iter: int | None = -1,
        random_state: Any = None,
        solver: str | Solver = "auto",
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory: str | int | None = None,
        device: str = "auto",
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.solver = solver
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device

    @all_or_nothing
    def fit(self, X: Rows, y: Labels, sample_weight: Vector | None = None) -> NuSVR:
        """Train on rows X with targets y; `sample_weight` is a factor on C of each row."""
        C, nu = check_finite_cost(self.C), check_nu(self.nu)
        X, y, weight, kernel = self._check_all(X, y, sample_weight)
        loss, intercept = EpsilonInsensitive(0.0), Intercept.FREE  # the solver finds the width
        self._train_rows(X, y, weight, kernel=kernel, loss=loss, C=C, intercept=intercept, nu=nu)
        return self

    @property
    def epsilon_(self) -> float:
        """Half-width of the tube that nu led to."""
        claim = self._claimed().claim
        assert claim is not None
        assert isinstance(claim.specification.loss, EpsilonInsensitive)
        return claim.specification.loss.epsilon
