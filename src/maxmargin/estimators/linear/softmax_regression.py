"""Softmax regression, and what it shares with logistic regression: classes with probabilities."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_finite_cost
from maxmargin.estimators.fitting.sources import Classifier
from maxmargin.estimators.fitting.streaming import FitData, carry, labelled_data, trainer_of
from maxmargin.estimators.linear.linear_machine import LinearMachine
from maxmargin.losses import Logistic, Loss, Softmax
from maxmargin.problems import AllClasses, Intercept, Pair, Specification, Task
from maxmargin.solvers import Solver
from maxmargin.solvers.registry import check_linear_name


class ProbabilityMachine(Classifier, LinearMachine):
    """Linear scores that are logarithms of probabilities: one problem for all classes together."""

    _peer_solvers: ClassVar[tuple[str, ...]] = ()
    """Names that mean "auto": scikit-learn's, of solvers that give the same answer."""
    classes_: Labels
    # What other machines let the user choose.
    stream: str | None = None
    checkpoint: Any = None

    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> ProbabilityMachine:
        """Train on rows X with labels y.

        Parameters
        ----------
        X
            Dense or CSR rows, float32 or float64.
        y
            Labels of any kind, at least two of them.
        sample_weight
            Factor on C of each row; weight 2 is the row twice, weight 0 its absence. A class of which all rows have
            weight 0 is absent.
        """
        return self._fit_from(X, y, sample_weight, self._last_fit())

    @all_or_nothing
    def _fit_from(
        self, X: Rows, y: Labels | None, sample_weight: Vector | None, start_model: ProbabilityMachine | None
    ) -> ProbabilityMachine:
        """Train from where `start_model` ended, if it has the same classes and features."""
        self._check_choices()
        C, intercept = check_finite_cost(self.C), self._intercept()
        data = labelled_data(self, X, y, sample_weight, start_model)
        specification = self._specification(data, C, intercept)
        solver = self._solver(specification, is_streamed=data.is_streamed)
        training = self._train([specification], data.X, data.y, data.weight, solver=solver, start_model=start_model)
        self.classes_ = data.classes
        carry(self, data.carried)
        self._store_points(training.points)
        self._conclude(training)
        return self

    def _check_choices(self) -> None:
        """Refuse what no solver here can do."""

    def _is_softmax(self, n_classes: int) -> bool:
        return True

    def _specification(self, data: FitData, C: float, intercept: Intercept) -> Specification:
        classes = data.classes.tolist()
        task: Task = AllClasses(tuple(classes)) if self._is_softmax(len(classes)) else Pair(*classes)
        loss: Loss = Softmax(len(classes)) if self._is_softmax(len(classes)) else Logistic()
        return Specification(task, loss, C, intercept, class_weight=data.factors)

    def _solver(self, specification: Specification, *, is_streamed: bool) -> Solver:
        """The solver asked for, if this loss can be given to it."""
        if is_streamed:
            return trainer_of(self)
        check_linear_name(self.solver, specification, self._peer_solvers)
        is_peer = isinstance(self.solver, str) and self.solver in self._peer_solvers
        return self._settings("auto" if is_peer else None)

    def _tasks(self) -> list[Task]:
        classes = self.classes_.tolist()
        return [AllClasses(tuple(classes)) if self._is_softmax(len(classes)) else Pair(*classes)]

    def decision_function(self, X: Rows) -> Vector:
        """Logarithm of the odds of the second class for two classes, otherwise one score a class."""
        f = self._linear_scores(X)
        if len(self.classes_) > 2:
            return f
        return f[:, 0] if f.shape[1] == 1 else f[:, 1] - f[:, 0]

    def predict(self, X: Rows) -> Labels:
        """Labels of rows: the most probable class."""
        f = self.decision_function(X)
        return np.asarray(self.classes_[np.argmax(f, axis=1) if f.ndim == 2 else (f > 0.0).astype(np.intp)])

    def predict_proba(self, X: Rows) -> Matrix:
        """Probabilities of the classes, one row a row of X."""
        f = self.decision_function(X)
        p: Matrix = softmax(f, axis=1) if f.ndim == 2 else np.column_stack([expit(-f), expit(f)])
        return p

    def predict_log_proba(self, X: Rows) -> Matrix:
        """Logarithms of the probabilities, also where these are too small for a double."""
        f = self.decision_function(X)
        log: Matrix = log_softmax(f, axis=1) if f.ndim == 2 else np.column_stack([log_expit(-f), log_expit(f)])
        return log


class SoftmaxRegression(ProbabilityMachine):
    """Softmax regression, also for two classes.

        minimise over W, b    1/2 |W|^2 + sum_i C_i (log sum_k exp(f_ik) - f_iy)        f_ik = <w_k, x_i> + b_k

    The probability of class k is exp(f_k) / sum_l exp(f_l). With two classes it is logistic regression with half the
    penalty, because each class carries half of the difference. Every fit ends with a certificate.

    Parameters
    ----------
    C
        Cost of the losses, positive and finite.
    tol
        Relative duality gap and KKT violation at which the fit may stop.
    fit_intercept, intercept, intercept_scaling
        Whether there is an intercept; "free" or "augmented" (penalised, with a constant feature of that size).
    class_weight
        None, "balanced", or a dictionary from label to a factor on C.
    max_iter, max_seconds
        Budgets; None means no limit. The model so far, with its certificate, is the result.
    warm_start
        Whether to begin where the last fit ended.
    solver
        "auto" or "softmax-newton"; or a `maxmargin.solvers.Solver`, which brings its own tol, max_iter, max_seconds,
        n_jobs and random_state: those of the estimator are not used then.
    n_jobs
        Threads; None means all cores.
    memory
        For data larger than memory, which this version cannot train on yet; None.
    device
        "auto" or "cpu".
    verbose
        1 shows the progress of the fit in one line; 0 is silent.
    random_state
        Accepted for compatibility; a solver that has no use for it ignores it.

    Attributes
    ----------
    certificate_ : Certificate
        How far the model is from optimal.
    history_ : History
        Primal, dual and gap at each check.
    coef_, intercept_
        One row and one number a class.
    classes_
        The labels that have rows with positive weights.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SoftmaxRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), np.array(["a", "a", "b", "b", "c", "c"])
    >>> model = SoftmaxRegression(C=10).fit(X, y)
    >>> model.predict([[0.2], [2.4], [4.9]]).tolist()
    ['a', 'b', 'c']
    >>> bool(np.allclose(model.predict_proba(X).sum(axis=1), 1))
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        verbose: bool | int = 0,
        random_state: Any = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        intercept: Literal["free", "augmented"] = "free",
        solver: str | Solver = "auto",
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory: str | int | None = None,
        device: str = "auto",
    ):
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.intercept = intercept
        self.solver = solver
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory = memory
        self.device = device
