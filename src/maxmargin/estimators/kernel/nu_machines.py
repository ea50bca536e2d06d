"""Machines with nu: a share of the rows in place of a cost.

nu is at once an upper bound on the share of margin errors and a lower bound on the share of support vectors; rows
count by their weights c_i. The solver finds the margin rho, or the width epsilon of the tube, that nu leads to. Divided
by rho the answer is that of a machine with a cost:

    NuSVC          SVC with C = 1 / rho
    NuSVR          SVR with the epsilon that was found, and the same C
    OneClassSVM    the hinge max(0, 1 - <w, phi(x_i)>) on every row, without an intercept, C = 1 / rho

The certificate is about that machine: gap and KKT violation are those of a problem that is written out in full, and

    sum_i alpha_i = nu C sum_i c_i

ties its multipliers to nu.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.data import count_rows
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_choice, check_finite_cost, check_nu
from maxmargin.estimators.fitting.validation import check_weights
from maxmargin.estimators.kernel.kernel_classifier import KernelClassifier, tasks_of
from maxmargin.estimators.kernel.kernel_machine import SupportVectorMachine, known_complaints
from maxmargin.estimators.kernel.svr import KernelRegressor
from maxmargin.losses import EpsilonInsensitive, Hinge
from maxmargin.problems import Intercept, KernelProblem, OneClass, Problem, Regression, Solution, Specification
from maxmargin.solvers import Solver
from maxmargin.solvers.kernel.automatic import Blocks


@dataclass(eq=False, repr=False, kw_only=True)
class NuMachine(SupportVectorMachine):
    """A kernel machine with `nu`."""

    nu: float = 0.5

    def _settings(self, solver: str | Solver | None = None) -> Solver:
        given = self.solver if solver is None else solver
        if isinstance(given, Solver):
            if not isinstance(given, Blocks):
                raise ParameterError(f"solver={given!r} knows no nu. Use solver='auto'.")
            return super()._settings(given)
        check_choice("solver", given, ("auto",))
        asked = super()._settings(given)
        return Blocks(tol=asked.tol, max_iter=asked.max_iter, max_seconds=asked.max_seconds, memory=self._memory())


def machine_with_a_cost(
    specification: Specification, problem: Problem, solution: Solution
) -> tuple[Specification, Problem]:
    """The machine that nu led to; one that was stopped before it began keeps its cost."""
    assert isinstance(problem, KernelProblem)
    change: dict[str, Any] = {"nu": None}
    if solution.margin is not None and isinstance(specification.loss, EpsilonInsensitive):
        change["loss"] = EpsilonInsensitive(solution.margin)
    elif solution.margin is not None:
        change["C"] = 1.0 / solution.margin
    return replace(specification, **change), replace(problem, **change)


@dataclass(eq=False, repr=False, kw_only=True)
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


@dataclass(eq=False, repr=False, kw_only=True)
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

    C: float = 1.0

    @all_or_nothing
    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> NuSVR:
        """Train on rows X with targets y; `sample_weight` is a factor on C of each row."""
        C, nu = check_finite_cost(self.C), check_nu(self.nu)
        X, y, weight, kernel = self._check_all(X, y, sample_weight)
        specification = Specification(Regression(), EpsilonInsensitive(0.0), C, Intercept.FREE, kernel, nu=nu)
        training = self._train([specification], X, y, weight, certified=machine_with_a_cost)
        self._store(training, X, kernel)
        self._conclude(training)
        return self

    @property
    def epsilon_(self) -> float:
        """Half-width of the tube that nu led to."""
        claim = self._claimed().claim
        assert claim is not None
        assert isinstance(claim.specification.loss, EpsilonInsensitive)
        return claim.specification.loss.epsilon


@dataclass(eq=False, repr=False, kw_only=True)
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

    @all_or_nothing
    def fit(self, X: Rows, y: Any = None, sample_weight: Vector | None = None) -> OneClassSVM:
        """Train on rows X; y is ignored, and `sample_weight` is the weight c_i of each row."""
        nu = check_nu(self.nu)
        X = self._check_kernel_input(X, reset=True)
        same = np.zeros(count_rows(X))
        with known_complaints(sample_weight, same):
            weight = check_weights(sample_weight, len(same))
        kernel = self._make_kernel(X, weight)
        specification = Specification(OneClass(), Hinge(), 1.0, Intercept.NONE, kernel, nu=nu)
        training = self._train([specification], X, same, weight, certified=machine_with_a_cost)
        claim = training.certificates[0].claim
        assert claim is not None
        rho = 1.0 / claim.specification.C
        self._kernel = kernel
        point = claim.point
        self._store_support(X, point.support, rho * point.coefficients[None, :], np.array([-rho]))
        self.offset_: Vector = np.array([rho])
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
