"""Linear support vector classification.

K classes are K problems, each class against the rest, or one problem after Crammer and Singer.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Rows, Vector
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.margins import Margins, margins_of
from maxmargin.estimators.fitting.parameters import (
    check_choice,
    check_cost,
    check_dual,
    check_finite_cost,
    check_penalty,
)
from maxmargin.estimators.fitting.sources import Classifier, block_by_block
from maxmargin.estimators.fitting.streaming import carry, labelled_data, trainer_of
from maxmargin.estimators.fitting.validation import check_known_labels
from maxmargin.estimators.linear.linear_machine import SparseCoefficients
from maxmargin.losses import CrammerSinger, HardMargin, Hinge, Loss, SquaredHinge
from maxmargin.penalties import L1, L2, Penalty
from maxmargin.problems import AllClasses, OneVersusRest, Pair, Specification, Task
from maxmargin.solvers import Solver
from maxmargin.solvers.registry import check_linear_name, that_takes

_LOSSES: dict[str, Loss] = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}
_PENALTIES: dict[str, Penalty] = {"l1": L1(), "l2": L2()}


@dataclass(eq=False, repr=False)
class LinearSVC(Classifier, SparseCoefficients):
    """Linear support vector classifier.

        minimise over w, b    1/2 |w|^2 + sum_i C_i l(y_i (<w, x_i> + b))

    A drop-in replacement for scikit-learn's `LinearSVC`, with one difference that users ask for: the intercept is free
    (not penalised) unless `intercept="augmented"` says otherwise. Every fit ends with a certificate.

    Parameters
    ----------
    penalty
        "l2"; or "l1", |w|_1 in place of 1/2 |w|^2, which makes most weights exactly zero. An augmented intercept keeps
        its 1/2 (b / intercept_scaling)^2, where scikit-learn has abs(b / intercept_scaling); a free one costs nothing.
    loss
        "squared_hinge" or "hinge". With the L1 penalty the hinge is a linear program, solved by the slow solver "qp".
    dual
        Accepted for compatibility: the solver decides.
    tol
        Relative duality gap and KKT violation at which the fit may stop.
    C
        Cost of slack, positive; infinity asks for a hard margin and raises `NotSeparableError` where there is none.
    multi_class
        "ovr": each class against the rest. "crammer_singer": all classes at once, with the loss
        max(0, 1 + max_{k != y} f_k - f_y) whatever `loss` says; with two classes `coef_` is w_1 - w_0.
    fit_intercept, intercept, intercept_scaling
        Whether there is an intercept; "free" or "augmented" (penalised, with a constant feature of that size).
    class_weight
        None, "balanced", or a dictionary from label to a factor on C.
    solver
        "auto" or the name of a solver that can do the loss (an unknown name is answered with the list), or a
        `maxmargin.solvers.Solver`, which brings its own tol, max_iter, max_seconds, n_jobs and random_state: those of
        the estimator are not used then.
    max_iter, max_seconds
        Budgets, the seconds for the whole fit; None leaves them to the solver: "auto" goes on until it is done, the
        lectures' solvers end after a number of passes. The model so far, with its certificate, is the
        result.
    stream, memory
        For data larger than memory: the trainer of a fit from a source, "cached-loops", "selective-block" or "block",
        and the bytes of rows that it keeps at a time, such as "2GB"; 1 GB when None. The multipliers of all rows are
        kept besides. None trains in memory where a third of `memory` holds all rows, else by "cached-loops". A trainer
        by its name takes arrays, too. It ends after 1,000 passes where `max_iter` says nothing.
    checkpoint
        Directory where a fit from a source is saved every so often, and from which it goes on after it was killed.
    n_jobs
        Threads; None means all cores.
    device
        "auto" or "cpu".
    verbose
        1 shows the progress of the fit in one line; 0 is silent.
    random_state
        Seed of the solvers that draw rows; None means 0.
    warm_start
        Whether to begin where the last fit ended, if it had the same classes and features.

    Attributes
    ----------
    certificate_ : Certificate
        How far the model is from optimal; `.parts` has one a class where there are more than two.
    history_ : History
        Primal, dual and gap at each check (a list of them for more than two classes).
    coef_, intercept_
        As in scikit-learn.
    classes_
        The labels that have rows with positive weights.
    feature_map_
        Where the rows were expanded by `source.map`, what expands others alike: `source.map(model.feature_map_)`. It
        is in the model's file. None where they were not, or by a map that is not of `maxmargin.features`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVC
    >>> X = np.array([[0.2, -1.4], [-2.1, 1.7], [0.9, 1.0], [-1.0, -3.1], [-0.2, -1.0], [-0.2, 1.3], [2.0, -1.0]])
    >>> y = np.array([-1, 1, 1, -1, -1, 1, -1])
    >>> model = LinearSVC(C=np.inf).fit(X, y)
    >>> bool(np.allclose(model.coef_, [[0, 1]]) and np.allclose(model.intercept_, 0))
    True
    """

    _trains_on_sources: ClassVar[bool] = True
    penalty: str = "l2"
    loss: Literal["hinge", "squared_hinge"] = "squared_hinge"
    _: KW_ONLY
    dual: bool | Literal["auto"] = "auto"
    multi_class: str = "ovr"
    class_weight: Any = None
    stream: str | None = None
    checkpoint: str | PathLike[str] | None = None
    classes_: Labels = field(init=False)

    def fit(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> LinearSVC:
        """Train on rows X with labels y, or on a source alone.

        Parameters
        ----------
        X
            Dense or CSR rows, float32 or float64; or a source, such as `maxmargin.open` gives, with its own labels.
        y
            Labels of any kind, at least two of them.
        sample_weight
            Factor on C of each row; weight 2 is the row twice, weight 0 its absence. A class of which all rows have
            weight 0 is absent.
        """
        return self._fit_from(X, y, sample_weight, self._last_fit())

    @all_or_nothing
    def _fit_from(
        self, X: Rows, y: Labels | None, sample_weight: Vector | None, start_model: LinearSVC | None
    ) -> LinearSVC:
        """Train from where `start_model` ended, if it has the same classes and features."""
        self._check_choices()
        C, intercept = check_cost(self.C), self._intercept()
        data = labelled_data(self, X, y, sample_weight, start_model)
        loss, C = self._loss_and_cost(C, len(data.classes))
        penalty = _PENALTIES[self.penalty]
        specifications = [
            Specification(task, loss, C, intercept, penalty=penalty, class_weight=data.factors)
            for task in _tasks_of(data.classes, together=self.multi_class == "crammer_singer")
        ]
        solver = self._solver(specifications[0], is_streamed=data.is_streamed)
        training = self._train(specifications, data.X, data.y, data.weight, solver=solver, start_model=start_model)
        self.classes_ = data.classes
        carry(self, data.carried)
        self._store_points(training.points)
        self._conclude(training)
        return self

    def _check_choices(self) -> None:
        check_choice("loss", self.loss, _LOSSES)
        check_penalty(self.penalty)
        check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer"))
        check_dual(self.dual)
        if self.penalty == "l1" and self.multi_class == "crammer_singer":
            raise ParameterError(
                "multi_class='crammer_singer' is only there with penalty='l2'. For the L1 penalty use "
                "multi_class='ovr', each class against the rest."
            )
        if self.penalty == "l1" and check_cost(self.C) == np.inf:
            raise ParameterError(
                "penalty='l1' needs a finite C, got C=inf. A large C such as 1e6 leaves as little slack."
            )

    def _check_streamable(self) -> None:
        check_finite_cost(self.C)
        if self.penalty != "l2" or self.multi_class != "ovr":
            raise ParameterError(
                f"a source is trained with penalty='l2' and multi_class='ovr', got penalty={self.penalty!r} and "
                f"multi_class={self.multi_class!r}."
            )

    def _loss_and_cost(self, C: float, n_classes: int) -> tuple[Loss, float]:
        """Loss and cost of the sub-problems. Crammer and Singer's machine has its own loss, whatever `loss` says.

        With two classes w_1 = -w_0 = w / 2, so its value is half that of the hinge with twice the cost at w.
        """
        if self.multi_class == "ovr" or n_classes == 2:
            if np.isinf(C):
                return HardMargin(), C
            return (_LOSSES[self.loss], C) if self.multi_class == "ovr" else (Hinge(), 2.0 * C)
        if np.isinf(C):
            raise ParameterError(
                "multi_class='crammer_singer' needs a finite C for more than two classes, got C=inf. "
                "A large C such as 1e6 leaves as little slack."
            )
        return CrammerSinger(n_classes), C

    def _solver(self, specification: Specification, *, is_streamed: bool) -> Solver:
        """The solver asked for; for all classes at once the one of that name that takes them."""
        if is_streamed:
            return trainer_of(self)
        check_linear_name(self.solver, specification)
        settings = self._settings()
        return that_takes(settings, specification) if isinstance(specification.loss, CrammerSinger) else settings

    def _tasks(self) -> list[Task]:
        # What was fitted, whatever `multi_class` says today: all classes together have several multipliers a row.
        return _tasks_of(self.classes_, together=self._coefficients[0].ndim == 2)

    def decision_function(self, X: Rows) -> Vector:
        """<w, x> + b: one a row for two classes, otherwise one a class; X may be a source."""
        f = self._linear_scores(X)
        return f[:, 0] if len(self.classes_) == 2 else f

    @block_by_block
    def predict(self, X: Rows) -> Labels:
        """Labels of rows, or of all rows of a source: the class with the largest score."""
        f = self._linear_scores(X)
        number = (f[:, 0] > 0.0).astype(np.intp) if len(self.classes_) == 2 else np.argmax(f, axis=1)
        return np.asarray(self.classes_[number])

    def margins(self, X: Rows, y: Labels) -> Margins:
        """Functional and geometric margin, slack and category of each row; for two classes."""
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise DataError(f"margins are those of two classes; this model has {len(self.classes_)}.")
        targets = self._tasks()[0].targets(check_known_labels(y, self.classes_))
        return margins_of(self.decision_function(X), targets, float(np.linalg.norm(self._dense_coef())))


def _tasks_of(classes: Labels, *, together: bool) -> list[Task]:
    """The sub-problems: one for two classes or for all classes together, otherwise each class against the rest."""
    labels = classes.tolist()
    if len(labels) == 2:
        return [Pair(negative=labels[0], positive=labels[1])]
    return [AllClasses(tuple(labels))] if together else [OneVersusRest(label) for label in labels]
