"""What the estimators share: the way from specifications to certified solutions, and files."""

from __future__ import annotations

import copy
import functools
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from maxmargin import errors
from maxmargin._types import Labels, Rows, Vector
from maxmargin.backends.threads import thread_count
from maxmargin.certificates import Certificate, Point
from maxmargin.certificates.html import as_html
from maxmargin.errors import TOO_LARGE, DataError, ParameterError
from maxmargin.estimators.fitting.callbacks import CallbackSupportMixin, FitCallbacks
from maxmargin.estimators.fitting.parameters import (
    check_choice,
    check_max_iter,
    check_max_seconds,
    check_memory,
    check_positive,
    check_seed,
    check_verbose,
)
from maxmargin.estimators.fitting.progress import Watch, watching
from maxmargin.estimators.fitting.starting import starting_points
from maxmargin.estimators.fitting.training import Certified, Trainer, Training, as_it_is
from maxmargin.problems import History, Solution, Specification, Status, Task, is_source
from maxmargin.solvers import Solver, solver_named

__all__ = ["Machine", "Training", "all_or_nothing"]

Self = TypeVar("Self")
Given = ParamSpec("Given")
Result = TypeVar("Result")


def all_or_nothing(fit: Callable[Concatenate[Self, Given], Result]) -> Callable[Concatenate[Self, Given], Result]:
    """A fit that is refused, or stopped before it has an answer, leaves the estimator exactly as it was."""

    @functools.wraps(fit)
    def wrapped(self: Self, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:  # Ctrl-C, too: whatever ended the fit, the model is the old one or a whole new one
            attributes = vars(self)
            if attributes.get("_certificate") is before.get("_certificate"):  # there is no new answer to keep
                for name in attributes.keys() - before.keys():
                    del attributes[name]
                attributes.update(before)
            raise

    return wrapped


class NotConvergedWarning(errors.NotConvergedWarning, ConvergenceWarning):  # type: ignore[misc]  # scikit-learn is untyped
    """`maxmargin.errors.NotConvergedWarning` that filters for scikit-learn's `ConvergenceWarning` also catch."""


# The fields of an estimator are its parameters, and a dataclass writes `__init__`; what a fit finds has init=False.
@dataclass(eq=False, repr=False, kw_only=True)
class Machine(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the estimators that are trained by a solver and end with a certificate."""

    solver: str | Solver = "auto"
    max_seconds: float | None = None
    n_jobs: int | None = None
    memory: str | int | None = None
    device: str = "auto"
    history_: History | list[History] = field(init=False)
    _certificate: Certificate = field(init=False)
    _linear: ClassVar[bool]
    _makes_no_claim: bool = field(default=False, init=False)
    """Whether the model came from a file of another library, which holds no certificate."""

    def _settings(self, solver: str | Solver | None = None) -> Solver:
        """The solver asked for, or another by its name; every parameter that is not about the model is checked here."""
        thread_count(self.n_jobs)
        memory = self._memory()
        check_verbose(self.verbose)
        if isinstance(self.device, str) and self.device == "cuda":
            raise ParameterError("device='cuda' is not there yet. Known: 'auto', 'cpu'.")
        check_choice("device", self.device, ("auto", "cpu"))
        return solver_named(
            self.solver if solver is None else solver,
            linear=self._linear,
            tol=check_positive("tol", self.tol),
            max_iter=check_max_iter(self.max_iter),
            max_seconds=check_max_seconds(self.max_seconds),
            n_jobs=self.n_jobs,
            memory=memory,
            shrinking=bool(getattr(self, "shrinking", True)),
            random_state=check_seed(self.random_state),
        )

    def _memory(self) -> int | None:
        """Byte budget of the fit; None where the solver decides."""
        return check_memory(self.memory)

    def _train(
        self,
        specifications: Sequence[Specification],
        X: Rows,
        y: Labels,
        sample_weight: Vector | None,
        *,
        solver: Solver | None = None,
        start_model: Any = None,
        certified: Certified = as_it_is,
    ) -> Training:
        """Build, solve and certify every sub-problem; after Ctrl-C the remaining ones stay untrained.

        `solver` takes the place of the one asked for; `start_model` is a fitted one, where this fit begins; `certified`
        tells what the certificate is about, where that is known only with the answer.
        """
        solver = self._settings() if solver is None else solver
        starts: list[Solution | None] = [None] * len(specifications)
        if start_model is not None:
            starts = starting_points(start_model, specifications, X, y, sample_weight)
        in_turn = specifications[:1] if is_source(X) else specifications  # on a source all share one line of progress
        with self._watched(in_turn, solver.tol, X, y, sample_weight) as (watch, callbacks):
            checkpoint = getattr(self, "checkpoint", None)
            trainer = Trainer(X, y, sample_weight, solver, self.n_jobs, watch, certified, checkpoint=checkpoint)
            training = trainer.train(specifications, starts)
        return training if callbacks is None else replace(training, on_end=callbacks.finish)

    @contextmanager
    def _watched(
        self,
        specifications: Sequence[Specification],
        tol: float,
        X: Rows,
        y: Labels,
        sample_weight: Vector | None,
    ) -> Iterator[tuple[Watch, FitCallbacks | None]]:
        """The progress line of `verbose`, and the callbacks, whose fit ends later: when the answer is stored."""
        tasks = [str(specification.task) for specification in specifications]
        callbacks = FitCallbacks(self, tasks, X, y, sample_weight) if hasattr(self, "_skl_callbacks") else None
        others = [] if callbacks is None else [callbacks]
        verbose = check_verbose(self.verbose)
        try:
            with watching(type(self).__name__, tasks, tol, verbose=verbose, others=others, source=X) as watch:
                yield watch, callbacks
        except BaseException:  # also after Ctrl-C the callbacks are told that the fit is over
            if callbacks is not None:
                callbacks.abandon()
            raise

    def _conclude(self, training: Training) -> None:
        """Store certificate and history, say once what is short of the tolerance, and let Ctrl-C go on."""
        if math.isnan(training.certificate.primal):
            training.on_end()
            raise DataError(f"the objective is not a number: {TOO_LARGE}")
        self.__dict__.pop("_makes_no_claim", None)  # of an earlier model
        self._certificate = training.certificate.about(self._points())
        self.history_ = training.histories[0] if len(training.histories) == 1 else list(training.histories)
        self.n_iter_ = self._iterations([int(part.passes) for part in training.certificates])
        training.on_end()
        status = self._certificate.status
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if status is not Status.CONVERGED:
            warnings.warn(
                f"{type(self).__name__} ended {status.name}: relative gap {self.certificate_.relative_gap:.2g} and KKT "
                f"violation {self.certificate_.kkt_violation:.2g} for tol={self.certificate_.tol:g}. {status.value}"
                f"{self._advice(status)}",
                NotConvergedWarning,
                stacklevel=level_of_user(),
            )

    def _iterations(self, passes: list[int]) -> Any:
        """`n_iter_` from the passes of every sub-problem: the most of them."""
        return max(passes, default=0)

    def _advice(self, status: Status) -> str:
        """What the warning of a fit that fell short ends with."""
        return ""

    @property
    def certificate_(self) -> Certificate:
        """How far the model is from optimal, bound to the attributes as they are now: `verify` finds any change.

        None for a model read from a file of LIBSVM or LIBLINEAR: such a file says nothing about how it was trained.
        """
        if not hasattr(self, "_certificate"):
            if self._makes_no_claim:
                return None  # type: ignore[return-value]  # every model that was fitted has one, and these are the rule
            raise AttributeError(f"{type(self).__name__} has no certificate_ before fit")
        return self._certificate.about(self._points(), self._tasks())

    def _claimed(self) -> Certificate:
        """The certificate, for what is known only from it."""
        if self.certificate_ is None:
            raise AttributeError(
                f"this {type(self).__name__} came from a file without a certificate, and this is known only from it"
            )
        return self.certificate_

    def save(self, path: str | os.PathLike[str], format: str = "native") -> None:  # noqa: A002 - the word users look for
        """Write the fitted model to a file that `maxmargin.load` reads: arrays and text, never code.

        Parameters
        ----------
        path
            Its name; an old file of that name is replaced when the new one is complete.
        format
            "native": the whole model with its certificate. "libsvm" or "liblinear": the text file of that library,
            which predicts the same there, and holds no certificate.
        """
        from maxmargin.estimators.files.saving import save

        model = copy.copy(self)
        model.__dict__.pop("_skl_callbacks", None)  # not part of the model, and nothing a file could hold
        save(model, path, format)

    def _tasks(self) -> Sequence[Task] | None:
        """The sub-problems that the labels of a classifier stand for; None for a regressor."""
        return None

    def _points(self) -> list[Point]:
        """The answers as the fitted attributes hold them, one a sub-problem."""
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        return self._with_certificate(super()._repr_html_inner())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._with_certificate(bundle["text/html"])
        return bundle

    def _with_certificate(self, diagram: str) -> str:
        """The diagram, and the certificate where there is one."""
        certificate = getattr(self, "certificate_", None)
        return diagram if certificate is None else f"{diagram}{as_html(certificate, folded=True)}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def level_of_user() -> int:
    """How far up the stack, seen from the caller, the first frame is that is not of this library."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("maxmargin."):
        level, frame = level + 1, frame.f_back
    return level
