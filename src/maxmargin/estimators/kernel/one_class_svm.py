"""One class: where most of the rows are, and what is far from them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.data import count_rows
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_nu
from maxmargin.estimators.fitting.validation import check_weights
from maxmargin.estimators.kernel.kernel_machine import known_complaints
from maxmargin.estimators.kernel.nu_machine import NuMachine, machine_with_a_cost
from maxmargin.kernels import Kernel
from maxmargin.losses import Hinge
from maxmargin.problems import Intercept, OneClass, Specification
from maxmargin.solvers import Solver


class OneClassSVM(OutlierMixin, NuMachine):  # type: ignore[misc]  # scikit-learn is untyped
    """One-class machine: the hyperplane that keeps most rows away from the origin, as far as it can.

        minimise over w, rho    1/2 |w|^2 - nu n rho + sum_i c_i max(0, rho - <w, phi(x_i)>)

    with weights c_i that add up to n. A drop-in replacement for scikit-learn's `OneClassSVM`, whose scale it keeps:
    multipliers between 0 and c_i that add up to nu n, scores <w, phi(x)> - rho. Divided by rho this is the machine that
    the certificate is about: 1/2 |w|^2 + C sum_i c_i max(0, 1 - <w, phi(x_i)>) with C = 1 / rho.
    Parameters and attributes not named here are those of `SVC`.

    Parameters
    ----------
    nu
        Upper bound on the share of rows that count as outliers, lower bound on that of support vectors; in (0, 1].
    solver
        "auto".

    Attributes
    ----------
    offset_
        rho, in an array: `score_samples` minus it is `decision_function`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import OneClassSVM
    >>> X = np.array([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> OneClassSVM(gamma="auto").fit_predict(X)
    array([-1,  1,  1,  1, -1])
    """

    offset_: Vector

    def __init__(
        self,
        *,
        kernel: str | Kernel | Any = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
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
    def fit(self, X: Rows, y: Any = None, sample_weight: Vector | None = None) -> OneClassSVM:
        """Train on rows X; y is ignored, and `sample_weight` is the weight c_i of each row."""
        nu = check_nu(self.nu)
        X = self._check_kernel_input(X, reset=True)
        same = np.zeros(count_rows(X))
        with known_complaints(sample_weight, same):
            weight = check_weights(sample_weight, len(same))
        kernel = self._make_kernel(X, weight)
        specification = Specification(
            task=OneClass(), loss=Hinge(), C=1.0, intercept=Intercept.NONE, kernel=kernel, nu=nu
        )
        training = self._train([specification], X, same, weight, certified=machine_with_a_cost)
        claim = training.certificates[0].claim
        assert claim is not None
        rho = 1.0 / claim.specification.C
        self._kernel = kernel
        point = claim.point
        self._store_support(X, point.support, rho * point.coefficients[None, :], np.array([-rho]))
        self.offset_ = np.array([rho])
        self.n_support_ = np.array([len(point.support)], dtype=np.int32)
        self._conclude(training)
        return self

    def _machine_coefficients(self) -> Matrix:
        return self._dual().T

    def _points(self) -> list[Point]:
        coefficients = self._dual()[0] / self.offset_[0]
        return [Point(self.support_, coefficients, None, np.zeros(1), self._kept_vectors())]

    def score_samples(self, X: Rows) -> Vector:
        """<w, phi(x)> of rows: the larger, the more like the training rows."""
        check_is_fitted(self)
        return self._scores(X, self._machine_coefficients())[:, 0]

    def decision_function(self, X: Rows) -> Vector:
        """Scores less the offset: positive for rows like the training rows, negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Rows) -> RowIndex:
        """1 for rows like the training rows, -1 for outliers."""
        return np.where(self.decision_function(X) > 0.0, 1, -1).astype(np.intp)
