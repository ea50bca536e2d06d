"""Support vector classification in which nu finds the cost."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np

from maxmargin._types import Labels, Rows, Vector
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_nu
from maxmargin.estimators.kernel.kernel_classifier import KernelClassifier, tasks_of
from maxmargin.estimators.kernel.nu_machine import NuMachine, machine_with_a_cost
from maxmargin.kernels import Kernel
from maxmargin.losses import Hinge
from maxmargin.problems import Intercept, Specification
from maxmargin.solvers import Solver


class NuSVC(NuMachine, KernelClassifier):
    """Support vector classifier with nu: a share of the rows may be margin errors, and the margin follows.

        minimise over w, b, rho >= 0    1/2 |w|^2 - nu n rho + sum_i c_i max(0, rho - y_i (<w, phi(x_i)> + b))

    with weights c_i that add up to n. A drop-in replacement for scikit-learn's `NuSVC`. The answer, divided by rho, is
    that of `SVC` with C = 1 / rho, and the certificate is about that machine. Parameters and attributes not named here
    are those of `SVC`.

    Parameters
    ----------
    nu
        Upper bound on the share of margin errors, lower bound on that of support vectors; in (0, 1]. A nu that is too
        large for the smaller of two classes, or so small that nothing can be separated, is refused.
    class_weight
        Factor on the weights c_i of each class, where LIBSVM, and with it scikit-learn, ignores it.
    solver
        "auto".

    Attributes
    ----------
    rho_
        The margins that nu led to, one a pair of classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: str | Kernel | Any = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float | None = None,
        class_weight: Any = None,
        verbose: bool | int = False,
        max_iter: int | None = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
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
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.solver = solver
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device

    @all_or_nothing
    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> NuSVC:
        """Train on rows X with labels y; `sample_weight` is the weight c_i of each row."""
        begun = time.perf_counter()
        self._check_choices()
        nu = check_nu(self.nu)
        X, y, weight, classes, factors = self._check_all(X, y, sample_weight, words="specified nu is infeasible. ")
        kernel = self._make_kernel(X, weight)
        solver = self._settings()
        specifications = [
            Specification(task, Hinge(), 1.0, Intercept.FREE, kernel, class_weight=factors, nu=nu)
            for task in tasks_of(classes)
        ]
        training = self._train(specifications, X, y, weight, solver=solver, certified=machine_with_a_cost)
        self._store(training, X, y, classes, factors, kernel)
        self._conclude(training)
        self._fit_probabilities(specifications, X, y, weight, solver, begun, machine_with_a_cost)
        return self

    @property
    def rho_(self) -> Vector:
        """Margin of each pair of classes before it was scaled to 1."""
        certificate = self._claimed()
        claims = [part.claim for part in certificate.parts or (certificate,)]
        return np.array([1.0 / claim.specification.C for claim in claims if claim is not None])
