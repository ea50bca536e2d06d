"""Logistic regression for two classes, softmax regression for more."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from maxmargin._types import Labels, Matrix, Rows
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.parameters import check_dual, check_penalty
from maxmargin.estimators.fitting.sources import block_by_block
from maxmargin.estimators.fitting.streaming import FitData
from maxmargin.estimators.linear.linear_machine import SparseCoefficients
from maxmargin.estimators.linear.softmax_regression import ProbabilityMachine
from maxmargin.penalties import L1
from maxmargin.problems import Intercept, Specification
from maxmargin.solvers import Solver


class LogisticRegression(ProbabilityMachine, SparseCoefficients):
    """Logistic regression.

        two classes     minimise over w, b    1/2 |w|^2 + sum_i C_i log(1 + exp(-y_i (<w, x_i> + b)))
        more            minimise over W, b    1/2 |W|^2 + sum_i C_i (log sum_k exp(f_ik) - f_iy)

    The objectives of scikit-learn's `LogisticRegression`, which this replaces: the coefficients agree. Every fit ends
    with a certificate.

    Parameters
    ----------
    penalty, l1_ratio
        "l2" or 0; for two classes also "l1" or 1: |w|_1 in place of 1/2 |w|^2, which makes most weights exactly zero.
        Either of scikit-learn's ways to say so. An augmented intercept keeps its 1/2 (b / intercept_scaling)^2.
    C
        Cost of the losses, positive and finite.
    dual
        Accepted for compatibility: the solver decides.
    tol
        Relative duality gap and KKT violation at which the fit may stop.
    fit_intercept, intercept, intercept_scaling
        Whether there is an intercept; "free" or "augmented" (penalised, with a constant feature of that size).
    class_weight
        None, "balanced", or a dictionary from label to a factor on C.
    solver
        "auto"; "sparse" for the L1 penalty; for L2 and two classes "dcd", "newton", "asgd", "pegasos" or
        "subgradient", for more "softmax-newton"; or a `maxmargin.solvers.Solver`, which brings its own tol, max_iter,
        max_seconds, n_jobs and random_state: those of the estimator are not used then.
        Scikit-learn's names "lbfgs", "newton-cg", "newton-cholesky", "sag" and "saga" mean "auto": they name ways to
        the same answer.
    max_iter, max_seconds
        Budgets; None means no limit. The model so far, with its certificate, is the result.
    warm_start
        Whether to begin where the last fit ended.
    n_jobs
        Threads; None means all cores.
    stream, memory
        For data larger than memory and two classes: the trainer of a fit from a source, as in `LinearSVC`, and the
        bytes of rows that it keeps at a time.
    checkpoint
        Directory where a fit from a source is saved every so often, and from which it goes on after it was killed.
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
        As in scikit-learn: one row for two classes, otherwise one a class.
    classes_
        The labels that have rows with positive weights.
    feature_map_
        Where the rows were expanded by `source.map`, what expands others alike: `source.map(model.feature_map_)`. It
        is in the model's file. None where they were not, or by a map that is not of `maxmargin.features`.

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

    def __init__(
        self,
        penalty: str = "l2",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str | Solver = "auto",
        max_iter: int | None = None,
        verbose: bool | int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        intercept: Literal["free", "augmented"] = "free",
        max_seconds: float | None = None,
        stream: str | None = None,
        memory: str | int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        device: str = "auto",
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.intercept = intercept
        self.max_seconds = max_seconds
        self.stream = stream
        self.memory = memory
        self.checkpoint = checkpoint
        self.device = device

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

    @property
    def _one_versus_rest(self) -> bool:
        """Whether the model is LIBLINEAR's, which has a model of its own for each of several classes."""
        return self._makes_no_claim and len(self.classes_) > 2

    @block_by_block
    def predict(self, X: Rows) -> Labels:
        """Labels of rows, or of all rows of a source: the most probable class."""
        return super().predict(X)

    @block_by_block
    def predict_proba(self, X: Rows) -> Matrix:
        """Probabilities of the classes, one row a row of X, which may be a source."""
        if not self._one_versus_rest:
            return super().predict_proba(X)
        p = expit(self.decision_function(X))
        probabilities: Matrix = p / np.sum(p, axis=1, keepdims=True)
        return probabilities

    @block_by_block
    def predict_log_proba(self, X: Rows) -> Matrix:
        """Logarithms of the probabilities, also where these are too small for a double."""
        if not self._one_versus_rest:
            return super().predict_log_proba(X)
        log = log_expit(self.decision_function(X))
        logarithms: Matrix = log - logsumexp(log, axis=1, keepdims=True)
        return logarithms
