"""Support vector classification with kernels.

Two classes are one problem. K classes are K (K - 1) / 2 problems, one a pair, whose predictions vote; the attributes
have scikit-learn's layout.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.kernel_machine import KernelMachine, sorted_by_class
from maxmargin.estimators.machine import all_or_nothing
from maxmargin.estimators.margins import Margins, margins_of
from maxmargin.estimators.parameters import check_choice, check_cost, check_intercept
from maxmargin.estimators.validation import check_known_labels, check_labels, check_same_length, check_weights
from maxmargin.estimators.weights import present_classes
from maxmargin.kernels import Kernel
from maxmargin.losses import HardMargin, Hinge
from maxmargin.problems import Pair, Specification
from maxmargin.solvers import Solver


class SVC(ClassifierMixin, KernelMachine):  # type: ignore[misc]  # scikit-learn is untyped
    """Support vector classifier.

        minimise over w, b    1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (<w, phi(x_i)> + b))

    A drop-in replacement for scikit-learn's `SVC`, whose parameters keep their meaning; every fit ends with a
    certificate.

    Parameters
    ----------
    C
        Cost of slack, positive; infinity asks for a hard margin and raises `NotSeparableError` where there is none.
    kernel
        "rbf", "linear", "poly", "sigmoid", "laplacian", "precomputed", a `maxmargin.kernels` object, or a callable.
        The solver of this version needs a kernel matrix without negative eigenvalues, which "sigmoid" rarely has.
    degree, gamma, coef0
        Parameters of the kernels that are given by name; gamma is "scale", "auto" or a number.
    tol
        Relative duality gap and KKT violation at which the fit may stop.
    class_weight
        None, "balanced", or a dictionary from label to a factor on C.
    solver
        "auto" or "qp"; or a `maxmargin.solvers.Solver`, which brings its own tol, max_iter, max_seconds, n_jobs and
        random_state: those of the estimator are not used then.
    intercept
        "free", "augmented" (penalised: the kernel k + 1) or "none".
    max_iter, max_seconds
        Budgets, the seconds for the whole fit; -1 and None mean no limit. The model so far, with its certificate, is
        the result.
    memory, cache_size
        Byte budget for kernel rows, as "2GB" or a number; `cache_size` is scikit-learn's name for it, in megabytes.
    n_jobs
        Threads; None means all cores.
    device
        "auto" or "cpu".
    decision_function_shape, break_ties
        As in scikit-learn, for more than two classes.
    probability
        False: this version has no probabilities.
    verbose
        1 shows the progress of the fit in one line; 0 is silent.
    shrinking, random_state
        Accepted for compatibility; a solver that has no use for them ignores them.

    Attributes
    ----------
    certificate_ : Certificate
        How far the model is from optimal; `.parts` has one a pair of classes where there are more than two.
    history_ : History
        Primal, dual and gap at each check (a list of them for more than two classes).
    support_, support_vectors_, n_support_, dual_coef_, intercept_
        As in scikit-learn.
    classes_
        The labels that have rows with positive weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10).fit(X, y)
    >>> model.certificate_.relative_gap < 1e-8
    True
    """

    classes_: Labels

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Kernel | Any = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool | int = False,
        max_iter: int | None = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        solver: str | Solver = "auto",
        intercept: Literal["free", "augmented", "none"] = "free",
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory: str | int | None = None,
        device: str = "auto",
    ):
        self.C = C
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
        self.intercept = intercept
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device

    @all_or_nothing
    def fit(self, X: Rows, y: Labels, sample_weight: Vector | None = None) -> SVC:
        """Train on rows X with labels y.

        Parameters
        ----------
        X
            Dense or CSR rows, float32 or float64; a list of strings for a kernel on strings; the square kernel matrix
            for `kernel="precomputed"`.
        y
            Labels of any kind, at least two of them.
        sample_weight
            Factor on C of each row; weight 2 is the row twice, weight 0 its absence. A class of which all rows have
            weight 0 is absent.
        """
        self._check_choices()
        C, intercept = check_cost(self.C), check_intercept(self.intercept)
        X = self._check_kernel_input(X, reset=True)
        y, labels = check_labels(y)
        check_same_length(X, y)
        weight = check_weights(sample_weight, len(y))
        kernel = self._make_kernel(X, weight)
        classes, factors = present_classes(self.class_weight, labels, y, weight)
        specifications = [
            Specification(
                task=task,
                loss=HardMargin() if np.isinf(C) else Hinge(),
                C=C,
                intercept=intercept,
                kernel=kernel,
                class_weight=factors,
            )
            for task in _tasks_of(classes)
        ]
        training = self._train(specifications, X, y, weight)
        self.classes_, self._kernel = classes, kernel
        self._store(training.points, X, y)
        self._conclude(training, self._points())
        return self

    def _check_choices(self) -> None:
        if self.probability not in (False, "deprecated"):
            raise ParameterError("probability=True is not there yet; decision_function gives scores.")
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))

    def _tasks(self) -> list[Pair]:
        return _tasks_of(self.classes_)

    def _pair_numbers(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes_)), 2))

    def _store(self, points: list[Point], X: Rows, y: Labels) -> None:
        n_classes = len(self.classes_)
        support = sorted_by_class(np.unique(np.concatenate([p.support for p in points])), y, self.classes_)
        self._store_support(X, support)
        self._support_class = np.searchsorted(self.classes_, y[support])
        self.n_support_ = np.bincount(self._support_class, minlength=n_classes).astype(np.int32)
        self.intercept_ = np.array([float(np.asarray(p.bias)) for p in points])
        self.dual_coef_ = np.zeros((n_classes - 1, len(support)))
        for (first, second), point in zip(self._pair_numbers(), points, strict=True):
            beta = point.everywhere(len(y))[support]
            for row, members in self._places(first, second):
                self.dual_coef_[row, members] = beta[members]

    def _places(self, first: int, second: int) -> list[tuple[int, RowIndex]]:
        """Where `dual_coef_` keeps the coefficients of a pair: (row, support rows) of its first and second class."""
        of_first = np.flatnonzero(self._support_class == first)
        of_second = np.flatnonzero(self._support_class == second)
        return [(second - 1, of_first), (first, of_second)]

    def _machine_coefficients(self) -> Matrix:
        """One column a pair, one row a support vector."""
        if len(self.classes_) == 2:
            return self.dual_coef_.T
        columns = np.zeros((len(self.support_), len(self.intercept_)))
        for k, (first, second) in enumerate(self._pair_numbers()):
            for row, members in self._places(first, second):
                columns[members, k] = self.dual_coef_[row, members]
        return columns

    def _points(self) -> list[Point]:
        if len(self.classes_) == 2:
            return [Point(self.support_, self.dual_coef_[0], None, self.intercept_[0:1], self._kept_vectors())]
        columns = self._machine_coefficients()
        points = []
        for k, pair in enumerate(self._pair_numbers()):
            members = np.flatnonzero(np.isin(self._support_class, pair) & (columns[:, k] != 0.0))
            vectors = self._kept_vectors(members)
            points.append(Point(self.support_[members], columns[members, k], None, self.intercept_[k : k + 1], vectors))
        return points

    def decision_function(self, X: Rows) -> Vector:
        """Scores: one a row for two classes, otherwise one a class ("ovr") or one a pair ("ovo")."""
        check_is_fitted(self)
        f = self._scores(X, self._machine_coefficients()) + self.intercept_
        if len(self.classes_) == 2:
            return f[:, 0]
        if self.decision_function_shape == "ovo":
            return f
        scores: Matrix = _ovr_decision_function(f < 0.0, -f, len(self.classes_))
        return scores

    def predict(self, X: Rows) -> Labels:
        """Labels of rows: the side of the boundary for two classes, otherwise the class with most votes."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError("break_ties must be False when decision_function_shape is 'ovo'")
        f = self._scores(X, self._machine_coefficients()) + self.intercept_
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(f[:, 0] > 0.0).astype(np.intp)])
        if self.break_ties:
            return np.asarray(self.classes_[np.argmax(_ovr_decision_function(f < 0.0, -f, len(self.classes_)), axis=1)])
        votes = np.zeros((len(f), len(self.classes_)), dtype=np.intp)
        for k, (first, second) in enumerate(self._pair_numbers()):
            votes[:, first] += f[:, k] > 0.0
            votes[:, second] += f[:, k] <= 0.0
        return np.asarray(self.classes_[np.argmax(votes, axis=1)])

    def margins(self, X: Rows, y: Labels) -> Margins:
        """Functional and geometric margin, slack and category of each row; for two classes."""
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise DataError(f"margins are those of two classes; this model has {len(self.classes_)}.")
        targets = self._tasks()[0].targets(check_known_labels(y, self.classes_))
        length = float(self._weight_lengths(self._machine_coefficients())[0])
        return margins_of(self.decision_function(X), targets, length)


def _tasks_of(classes: Labels) -> list[Pair]:
    """The sub-problems. Two classes: the second is positive. More: the first of each pair is, as in LIBSVM."""
    labels = classes.tolist()
    if len(labels) == 2:
        return [Pair(negative=labels[0], positive=labels[1])]
    return [Pair(negative=later, positive=earlier) for earlier, later in combinations(labels, 2)]
