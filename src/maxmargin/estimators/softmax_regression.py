"""Softmax regression, and what it shares with logistic regression: classes with probabilities."""

from __future__ import annotations

from copy import copy
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from maxmargin._types import Labels, Rows, Vector
from maxmargin.errors import DataError
from maxmargin.estimators.linear_machine import LinearMachine
from maxmargin.estimators.validation import check_labels, check_same_length, check_weights
from maxmargin.estimators.weights import class_factors, classes_with_weight
from maxmargin.losses import Logistic, Softmax
from maxmargin.problems import AllClasses, Pair, Specification
from maxmargin.solvers import Solver
from maxmargin.solvers.softmax_newton import SoftmaxNewton


class ProbabilityMachine(ClassifierMixin, LinearMachine):  # type: ignore[misc]  # scikit-learn is untyped
    """Linear scores that are logarithms of probabilities: one problem for all classes together."""

    _peer_solvers: ClassVar[tuple[str, ...]] = ()
    classes_: Labels

    def fit(self, X: Rows, y: Labels, sample_weight: Vector | None = None) -> ProbabilityMachine:
        """Train on rows X with labels y.

        Parameters
        ----------
        X
            Dense or CSR rows, float32 or float64.
        y
            Labels of any kind, at least two of them.
        sample_weight
            Factor on C of each row; weight 2 is the row twice, weight 0 its absence.
        """
        return self._fit_from(X, y, sample_weight, self if self.warm_start and hasattr(self, "coef_") else None)

    def _fit_from(
        self, X: Rows, y: Labels, sample_weight: Vector | None, start_model: ProbabilityMachine | None
    ) -> ProbabilityMachine:
        """Train, beginning where another model of the same classes and features ended."""
        self._check_choices()
        C, intercept = _check_finite_cost(self.C), self._intercept()
        X = self._check_linear_input(X, reset=True)
        y = check_labels(y)
        check_same_length(X, y)
        weight = check_weights(sample_weight, len(y))
        start = None if start_model is None else _Start.of(start_model)
        # A class whose rows all have weight zero is absent: its probability would be a free intercept of minus infinity.
        labels = np.unique(y)
        present = labels[np.isin(labels, classes_with_weight(labels, y, weight, ()))]
        factors = class_factors(self.class_weight, present, y, weight)
        weighty = classes_with_weight(present, y, weight, factors)
        if len(weighty) < 2:
            raise DataError(f"at least two classes need rows with positive weights; only {weighty} do.")
        self.classes_ = present[np.isin(present, weighty)]
        known = self.classes_.tolist()
        task = AllClasses(tuple(known)) if self._is_softmax() else Pair(negative=known[0], positive=known[1])
        loss = Softmax() if self._is_softmax() else Logistic()
        specification = Specification(task, loss, C, intercept, class_weight=factors)
        self._starting_point = None if start is None else start.on(specification, X, y, weight, self.classes_)
        training = self._train([specification], X, y, weight)
        del self._starting_point
        self._store_points(training.points)
        self._conclude(training, self._points())
        return self

    def _check_choices(self) -> None:
        """Refuse parameters that no problem here has."""

    def _is_softmax(self) -> bool:
        return True

    def _settings(self) -> Solver:
        """The solver asked for, with the default of this loss, and the point it starts from."""
        automatic = isinstance(self.solver, str) and self.solver in ("auto", *self._peer_solvers)
        plain = copy(self)
        if automatic:
            plain.solver = "auto"
        solver = LinearMachine._settings(plain)
        if automatic and self._is_softmax():
            solver = SoftmaxNewton(solver.tol, solver.max_iter, solver.max_seconds, n_jobs=self.n_jobs)
        if self._starting_point is None:
            return solver
        return _Continued(solver.tol, solver.max_iter, solver.max_seconds, solver, self._starting_point)
