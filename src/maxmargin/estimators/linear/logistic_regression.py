"""Classes with probabilities: logistic regression for two classes, softmax regression for any number."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.parameters import check_dual, check_finite_cost, check_penalty
from maxmargin.estimators.fitting.sources import Classifier, block_by_block
from maxmargin.estimators.fitting.streaming import FitData, carry, labelled_data, trainer_of
from maxmargin.estimators.linear.linear_machine import CostMachine, SparseCoefficients
from maxmargin.losses import Logistic, Loss, Softmax
from maxmargin.penalties import L1
from maxmargin.problems import AllClasses, Intercept, Pair, Specification, Task
from maxmargin.solvers import Solver
from maxmargin.solvers.registry import check_linear_name


class ProbabilityMachine(Classifier, CostMachine):
    """Linear scores that are logarithms of probabilities: one problem for all classes together."""

    _peer_solvers: ClassVar[tuple[str, ...]] = ()
    """Names that mean "auto": scikit-learn's, of solvers that give the same answer."""
    classes_: Labels
    # What other machines let the user choose.
    stream: str | None = None
    checkpoint: Any = None

    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> ProbabilityMachine:
        """Train on rows X with labels y; `sample_weight` is a factor on C of each row.

        For two classes and the L2 penalty `LogisticRegression` takes a source alone as well.
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

    @property
    def _one_versus_rest(self) -> bool:
        """Whether the model is LIBLINEAR's, which has a model of its own for each of several classes."""
        return self._makes_no_claim and len(self.classes_) > 2

    @block_by_block
    def predict(self, X: Rows) -> Labels:
        """Labels of rows, or of all rows of a source: the most probable class."""
        f = self.decision_function(X)
        return np.asarray(self.classes_[np.argmax(f, axis=1) if f.ndim == 2 else (f > 0.0).astype(np.intp)])

    @block_by_block
    def predict_proba(self, X: Rows) -> Matrix:
        """Probabilities of the classes, one row a row of X, which may be a source."""
        f = self.decision_function(X)
        if f.ndim == 1:
            return np.column_stack([expit(-f), expit(f)])
        p: Matrix = expit(f) / np.sum(expit(f), axis=1, keepdims=True) if self._one_versus_rest else softmax(f, axis=1)
        return p

    @block_by_block
    def predict_log_proba(self, X: Rows) -> Matrix:
        """Logarithms of the probabilities, also where these are too small for a double."""
        f = self.decision_function(X)
        if f.ndim == 1:
            return np.column_stack([log_expit(-f), log_expit(f)])
        if not self._one_versus_rest:
            return np.asarray(log_softmax(f, axis=1))
        log: Matrix = log_expit(f) - logsumexp(log_expit(f), axis=1, keepdims=True)
        return log


@dataclass(eq=False, repr=False)
class LogisticRegression(ProbabilityMachine, SparseCoefficients):
    """Logistic regression.

        two classes     minimise over w, b    1/2 |w|^2 + sum_i C_i log(1 + exp(-y_i (<w, x_i> + b)))
        more            minimise over W, b    1/2 |W|^2 + sum_i C_i (log sum_k exp(f_ik) - f_iy)

    The objectives of scikit-learn's `LogisticRegression`, which this replaces: the coefficients agree. Every fit ends
    with a certificate. Parameters and attributes not named here are those of `LinearSVC`.

    Parameters
    ----------
    penalty, l1_ratio
        "l2" or 0; for two classes also "l1" or 1: |w|_1 in place of 1/2 |w|^2, which makes most weights exactly zero.
        Either of scikit-learn's ways to say so. An augmented intercept keeps its 1/2 (b / intercept_scaling)^2.
    C
        Cost of the losses, positive and finite.
    solver
        "auto"; "sparse" for the L1 penalty; for L2 and two classes "dcd", "newton", "asgd", "pegasos" or
        "subgradient", for more "softmax-newton"; or a `maxmargin.solvers.Solver`, which brings its own tol, max_iter,
        max_seconds, n_jobs and random_state: those of the estimator are not used then.
        Scikit-learn's names "lbfgs", "newton-cg", "newton-cholesky", "sag" and "saga" mean "auto": they name ways to
        the same answer.
    max_iter, max_seconds
        Budgets; None means no limit. The model so far, with its certificate, is the result.
    stream, memory
        For data larger than memory and two classes: the trainer of a fit from a source, as in `LinearSVC`, and the
        bytes of rows that it keeps at a time.
    random_state
        Accepted for compatibility; a solver that has no use for it ignores it.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn: one row for two classes, otherwise one a class.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = LogisticRegression().fit(X, y)
    >>> bool(np.allclose(model.predict_proba([[1.5]]), 0.5))
    True
    >>> model.certificate_.status.name
    'CONVERGED'
    """

    _trains_on_sources: ClassVar[bool] = True
    _peer_solvers: ClassVar[tuple[str, ...]] = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")

    penalty: str = "l2"
    _: KW_ONLY
    l1_ratio: float | None = 0.0
    dual: bool = False
    class_weight: Any = None
    stream: str | None = None
    checkpoint: str | PathLike[str] | None = None

    def _check_choices(self) -> None:
        if not (
            isinstance(self.penalty, str) and self.penalty == "deprecated"
        ):  # scikit-learn 1.8's way of not giving one
            check_penalty(self.penalty)
        check_dual(self.dual)
        if self.l1_ratio is not None and not (isinstance(self.l1_ratio, Real) and self.l1_ratio in (0, 1)):
            raise ParameterError(
                f"l1_ratio must be 0 (only the L2 penalty) or 1 (only the L1 penalty), got l1_ratio={self.l1_ratio!r}."
            )
        if isinstance(self.solver, str) and self.solver == "liblinear":
            raise ParameterError(
                "solver='liblinear' penalises the intercept; say so with intercept='augmented' and solver='auto'."
            )

    def _specification(self, data: FitData, C: float, intercept: Intercept) -> Specification:
        is_sparse, n_classes = self.penalty == "l1" or self.l1_ratio == 1, len(data.classes)
        if data.is_streamed and (n_classes > 2 or is_sparse):
            raise ParameterError(
                f"a source is trained for two classes and the L2 penalty, got {n_classes} classes and "
                f"penalty={self.penalty!r}, l1_ratio={self.l1_ratio!r}. Where all rows fit in memory, "
                "`source.head(source.n_rows)` gives arrays, which have no such limit."
            )
        if is_sparse and self._is_softmax(n_classes):
            raise ParameterError(
                f"the L1 penalty is for two classes here, got {n_classes}. For more of them fit one model a class, "
                "for example with sklearn.multiclass.OneVsRestClassifier, or use penalty='l2'."
            )
        specification = super()._specification(data, C, intercept)
        return replace(specification, penalty=L1()) if is_sparse else specification

    def _is_softmax(self, n_classes: int) -> bool:
        return n_classes > 2


@dataclass(eq=False, repr=False, kw_only=True)
class SoftmaxRegression(ProbabilityMachine):
    """Softmax regression, also for two classes.

        minimise over W, b    1/2 |W|^2 + sum_i C_i (log sum_k exp(f_ik) - f_iy)        f_ik = <w_k, x_i> + b_k

    The probability of class k is exp(f_k) / sum_l exp(f_l). With two classes it is logistic regression with half the
    penalty, because each class carries half of the difference. Every fit ends with a certificate. Parameters and
    attributes not named here are those of `LogisticRegression`.

    Parameters
    ----------
    solver
        "auto" or "softmax-newton"; or a `maxmargin.solvers.Solver`, which brings its own tol, max_iter, max_seconds,
        n_jobs and random_state: those of the estimator are not used then.
    memory
        For data larger than memory, which this version cannot train on yet; None.

    Attributes
    ----------
    coef_, intercept_
        One row and one number a class.

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

    class_weight: Any = None
