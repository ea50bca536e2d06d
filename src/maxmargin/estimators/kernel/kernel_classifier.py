"""Classification by kernel machines: pairs of classes, their votes, and probabilities.

Two classes are one problem. K classes are K (K - 1) / 2 problems, one a pair, whose predictions vote; the attributes
have scikit-learn's layout. `estimators.kernel.probabilities` says what the probabilities are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.machine import NotConvergedWarning, level_of_user
from maxmargin.estimators.fitting.margins import Margins, margins_of
from maxmargin.estimators.fitting.parameters import check_choice, check_seed
from maxmargin.estimators.fitting.progress import Watch
from maxmargin.estimators.fitting.sources import Classifier
from maxmargin.estimators.fitting.training import Certified, Trainer, Training, as_it_is
from maxmargin.estimators.fitting.validation import (
    Factors,
    check_known_labels,
    check_labels,
    check_same_length,
    check_weights,
    present_classes,
)
from maxmargin.estimators.kernel.kernel_machine import SupportVectorMachine, known_complaints
from maxmargin.estimators.kernel.probabilities import (
    N_FOLDS,
    coupled_probabilities,
    fit_slopes,
    shifted_probabilities,
    two_class_logarithms,
    two_class_probabilities,
)
from maxmargin.kernels import Kernel
from maxmargin.problems import Pair, Specification, Status
from maxmargin.solvers import Solver

_LEAST_SECONDS = 1e-9  # a budget must be positive


def _has_probability(model: KernelClassifier) -> bool:
    if not _wants_probability(model.probability):
        raise AttributeError("predict_proba is not available when probability=False")
    return True


def _wants_probability(probability: Any) -> bool:
    return not isinstance(probability, str) and bool(probability)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelClassifier(Classifier, SupportVectorMachine):
    """Base of the classifiers with kernels; a subclass has the parameters and says what is minimised."""

    probability: bool = False
    class_weight: Any = None
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False
    classes_: Labels = field(init=False)
    class_weight_: Vector = field(init=False)
    n_support_: RowIndex = field(init=False)
    _slopes: Vector = field(init=False)
    _shifts: Vector | None = field(default=None, init=False)
    """B of the sigmoids of a model that LIBSVM wrote; those fitted here have none."""

    def _check_choices(self) -> None:
        asked: Any = self.probability
        if asked != "deprecated" and not isinstance(asked, (bool, np.bool_)):
            raise ParameterError(f"probability must be True or False, got probability={asked!r}.")
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))

    def _tasks(self) -> list[Pair]:
        return tasks_of(self.classes_)

    def _pair_numbers(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes_)), 2))

    def _check_all(
        self, X: Rows, y: Labels | None, sample_weight: Vector | None, words: str = ""
    ) -> tuple[Rows, Labels, Vector | None, Labels, Factors]:
        """Rows, labels and weights as a solver takes them, the classes, and the factors on their weights.

        `words` are what scikit-learn says of weights that leave a single class.
        """
        X = self._check_kernel_input(X, reset=True)
        y, labels = check_labels(y)
        check_same_length(X, y)
        with known_complaints(sample_weight, y, words):
            weight = check_weights(sample_weight, len(y))
            classes, factors = present_classes(self.class_weight, labels, y, weight)
        return X, y, weight, classes, factors

    def _store(self, training: Training, X: Rows, y: Labels, classes: Labels, factors: Factors, kernel: Kernel) -> None:
        """Keep the machines that were trained, one a pair of classes."""
        self.classes_, self._kernel = classes, kernel
        factor = dict(factors)
        self.class_weight_ = np.array([factor.get(label, 1.0) for label in classes.tolist()])
        self._slopes, self._shifts = np.empty(0), None
        self._store_pairs(training.points, X, y)

    def _fit_probabilities(
        self,
        specifications: Sequence[Specification],
        X: Rows,
        y: Labels,
        weight: Vector | None,
        solver: Solver,
        begun: float,
        certified: Certified = as_it_is,
    ) -> None:
        """The slopes of the sigmoids, where they are asked for, in what is left of the time of this fit."""
        if not _wants_probability(self.probability):
            return
        short = 0

        def solve(parts: Sequence[Specification], seen: Vector) -> Sequence[Point]:
            nonlocal short
            in_time = solver
            if solver.max_seconds is not None:
                left = begun + solver.max_seconds - time.perf_counter()
                in_time = replace(solver, max_seconds=max(left, _LEAST_SECONDS))
            trainer = Trainer(X, y, seen, in_time, self.n_jobs, Watch([]), certified)
            training = trainer.train(parts, [None] * len(parts))
            if any(part.status is Status.INTERRUPTED for part in training.certificates):
                raise KeyboardInterrupt  # the machine stays fitted and certified, without probabilities
            short += sum(part.status is not Status.CONVERGED for part in training.certificates)
            return training.points

        def solve_each(parts: Sequence[Specification], seen: Vector) -> Sequence[Point | None]:
            points: list[Point | None] = []
            for part in parts:
                try:
                    points.extend(solve([part], seen))
                except ParameterError:  # nu suits the whole, but not what is left without a fold
                    points.append(None)
            return points

        how = solve if specifications[0].nu is None else solve_each
        self._slopes = fit_slopes(specifications, X, y, weight, self.classes_, how, check_seed(self.random_state))
        if short:
            warnings.warn(
                f"{short} of the {N_FOLDS * len(specifications)} machines whose scores the probabilities are fitted to "
                f"ended short of tol={solver.tol:g}, so these scores are rough; the certificate is about the machine "
                "that predicts.",
                NotConvergedWarning,
                stacklevel=level_of_user(),
            )

    def _store_pairs(self, points: Sequence[Point], X: Rows, y: Labels) -> None:
        """Support rows in scikit-learn's order: by class, then by position."""
        n_classes = len(self.classes_)
        support = points[0].support if n_classes == 2 else np.unique(np.concatenate([p.support for p in points]))
        number = np.searchsorted(self.classes_, y[support])
        order = np.argsort(number, kind="stable")
        self.n_support_ = np.bincount(number, minlength=n_classes).astype(np.int32)
        if n_classes == 2:
            coefficients = points[0].coefficients[None, order]
        else:
            coefficients = np.zeros((n_classes - 1, len(support)))
            for (first, second), point in zip(self._pair_numbers(), points, strict=True):
                beta = point.everywhere(len(y))[support[order]]
                for row, members in self._places(first, second):
                    coefficients[row, members] = beta[members]
        intercept = np.array([float(np.asarray(p.bias)) for p in points])
        self._store_support(X, support[order], coefficients, intercept)

    def _places(self, first: int, second: int) -> list[tuple[int, slice]]:
        """Where `dual_coef_` keeps the coefficients of a pair: (row, support rows) of its first and second class."""
        ends = np.cumsum(self.n_support_).tolist()
        of_first, of_second = (slice(ends[k] - int(self.n_support_[k]), ends[k]) for k in (first, second))
        return [(second - 1, of_first), (first, of_second)]

    def _machine_coefficients(self) -> Matrix:
        """One column a pair, one row a support vector."""
        dual = self._dual()
        if len(self.classes_) == 2:
            return dual.T
        columns = np.zeros((len(self.support_), len(self.intercept_)))
        for k, (first, second) in enumerate(self._pair_numbers()):
            for row, members in self._places(first, second):
                columns[members, k] = dual[row, members]
        return columns

    def _points(self) -> list[Point]:
        if len(self.classes_) == 2:
            return [self._only_point()]
        points = []
        for k, column in enumerate(self._machine_coefficients().T):
            members = np.flatnonzero(column)
            vectors = self._kept_vectors(members)
            points.append(Point(self.support_[members], column[members], None, self.intercept_[k : k + 1], vectors))
        return points

    def _iterations(self, passes: list[int]) -> RowIndex:
        return np.array(passes, dtype=np.int32)

    def _pair_scores(self, X: Rows) -> Matrix:
        """Scores of the machines, one column a pair: positive for the first class, for two classes the second."""
        check_is_fitted(self)
        return self._scores(X, self._machine_coefficients()) + self.intercept_

    def _chosen(self, f: Matrix) -> RowIndex:
        """Numbers of the predicted classes."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return (f[:, 0] > 0.0).astype(np.intp)
        if self.break_ties:
            return np.asarray(np.argmax(_ovr_decision_function(f < 0.0, -f, n_classes), axis=1))
        votes = np.zeros((len(f), n_classes), dtype=np.intp)
        for k, (first, second) in enumerate(self._pair_numbers()):
            votes[:, first] += f[:, k] > 0.0
            votes[:, second] += f[:, k] <= 0.0
        return np.asarray(np.argmax(votes, axis=1))

    def _check_ties(self) -> None:
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError("break_ties must be False when decision_function_shape is 'ovo'")

    def decision_function(self, X: Rows) -> Vector:
        """Scores: one a row for two classes, otherwise one a class ("ovr") or one a pair ("ovo")."""
        f = self._pair_scores(X)
        if len(self.classes_) == 2:
            return f[:, 0]
        if self.decision_function_shape == "ovo":
            return f
        scores: Matrix = _ovr_decision_function(f < 0.0, -f, len(self.classes_))
        return scores

    def predict(self, X: Rows) -> Labels:
        """Labels of rows: the side of the boundary for two classes, otherwise the class with most votes."""
        self._check_ties()
        return np.asarray(self.classes_[self._chosen(self._pair_scores(X))])

    @available_if(_has_probability)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_proba(self, X: Rows) -> Matrix:
        """Probability of every class, one column a class; the largest is that of the class that `predict` gives.

        A model that LIBSVM wrote keeps the probabilities it has there, which need not agree.
        """
        self._check_ties()
        self._check_slopes()
        f = self._pair_scores(X)
        if self._shifts is not None:
            return shifted_probabilities(f, self._slopes, self._shifts, len(self.classes_))
        if len(self.classes_) == 2:
            return two_class_probabilities(f[:, 0], float(self._slopes[0]))
        return coupled_probabilities(f, self._slopes, self._chosen(f), len(self.classes_))

    @available_if(_has_probability)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_log_proba(self, X: Rows) -> Matrix:
        """Logarithms of `predict_proba`."""
        self._check_ties()
        self._check_slopes()
        if len(self.classes_) == 2 and self._shifts is None:
            return two_class_logarithms(self._pair_scores(X)[:, 0], float(self._slopes[0]))
        logarithms: Matrix = np.log(self.predict_proba(X))
        return logarithms

    def _check_slopes(self) -> None:
        if not len(self._slopes):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, nor when the fit was stopped "
                "before it came to the probabilities. Fit again with probability=True."
            )

    @property
    def probA_(self) -> Vector:  # noqa: N802 - scikit-learn's name
        """A of 1 / (1 + exp(A f + B)), the probability of the first class of a pair with the score f for it."""
        check_is_fitted(self)
        return -self._slopes

    @property
    def probB_(self) -> Vector:  # noqa: N802 - scikit-learn's name
        """B of the same formula: 0, so that the probability is 1/2 where the score is 0; as it came from LIBSVM."""
        check_is_fitted(self)
        return np.zeros(len(self._slopes)) if self._shifts is None else self._shifts

    def margins(self, X: Rows, y: Labels) -> Margins:
        """Functional and geometric margin, slack and category of each row; for two classes."""
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise DataError(f"margins are those of two classes; this model has {len(self.classes_)}.")
        targets = self._tasks()[0].targets(check_known_labels(y, self.classes_))
        length = float(self._weight_lengths(self._machine_coefficients())[0])
        return margins_of(self.decision_function(X), targets, length)


def tasks_of(classes: Labels) -> list[Pair]:
    """The sub-problems. Two classes: the second is positive. More: the first of each pair is, as in LIBSVM."""
    labels = classes.tolist()
    if len(labels) == 2:
        return [Pair(negative=labels[0], positive=labels[1])]
    return [Pair(negative=later, positive=earlier) for earlier, later in combinations(labels, 2)]
