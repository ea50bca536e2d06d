"""What the estimators share: the way from specifications to certified solutions, and files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._types import Labels, Rows, Vector
from maxmargin.backends.threads import thread_count
from maxmargin.certificates import Certificate, Point, certify, combine
from maxmargin.errors import NotConvergedWarning, NotSeparableError, ParameterError, unknown_name
from maxmargin.estimators.validation import check_max_iter, check_max_seconds, check_memory, check_positive, check_seed
from maxmargin.problems import History, Solution, Specification, Status, Task
from maxmargin.solvers import Solver, solver_named, untrained
from maxmargin.solvers.hard_margin import SeparabilityProof


@dataclass(frozen=True)
class Training:
    """Certified solutions of a fit, one a sub-problem."""

    certificates: tuple[Certificate, ...]
    histories: tuple[History, ...]

    @property
    def points(self) -> list[Point]:
        """The answers."""
        return [part.claim.point for part in self.certificates if part.claim is not None]


class Machine(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the estimators that are trained by a solver and end with a certificate."""

    history_: History | list[History]
    _certificate: Certificate
    _linear: ClassVar[bool]

    def _settings(self, solver: str | Solver | None = None) -> Solver:
        """The solver asked for, or another by its name; every parameter that is not about the model is checked here."""
        thread_count(self.n_jobs)
        check_memory(self.memory)
        if self.device == "cuda":
            raise ParameterError("device='cuda' is not there yet. Known: 'auto', 'cpu'.")
        if self.device not in ("auto", "cpu"):
            raise unknown_name("device", self.device, ("auto", "cpu"))
        return solver_named(
            self.solver if solver is None else solver,
            linear=self._linear,
            tol=check_positive("tol", self.tol),
            max_iter=check_max_iter(self.max_iter),
            max_seconds=check_max_seconds(self.max_seconds),
            n_jobs=self.n_jobs,
            random_state=check_seed(self.random_state),
        )

    def _train(
        self,
        specifications: Sequence[Specification],
        X: Rows,
        y: Labels,
        sample_weight: Vector | None,
        *,
        solver: Solver | None = None,
        start: Solution | None = None,
    ) -> Training:
        """Build, solve and certify every sub-problem; after Ctrl-C the remaining ones stay untrained.

        `solver` takes the place of the one asked for; `start` is where it begins.
        """
        solver = self._settings() if solver is None else solver
        certificates: list[Certificate] = []
        histories: list[History] = []
        interrupted = False
        for specification in specifications:
            problem, rows = specification.problem(X, y, sample_weight)
            try:
                solution = None if interrupted else solver.solve(problem, start)
            except KeyboardInterrupt:  # outside the loops that know how to stop: nothing was found yet
                solution = None
            except NotSeparableError as error:
                multipliers = np.zeros(len(y))
                multipliers[slice(None) if rows is None else rows] = error.multipliers
                proof = SeparabilityProof(specification, len(y), sample_weight)
                raise NotSeparableError(str(error), multipliers, error.margin_bound, proof) from None
            if solution is None:
                solution = untrained(problem, solver.name, Status.INTERRUPTED)
            interrupted = interrupted or solution.status is Status.INTERRUPTED
            certificates.append(
                certify(
                    specification,
                    problem,
                    solution,
                    tol=solver.tol,
                    rows=rows,
                    n_rows=len(y),
                    sample_weight=sample_weight,
                )
            )
            histories.append(solution.history)
        return Training(tuple(certificates), tuple(histories))

    def _conclude(self, training: Training, points: Sequence[Point]) -> None:
        """Store certificate and history, say once what is short of the tolerance, and let Ctrl-C go on."""
        self._certificate = combine(training.certificates).about(points)
        self.history_ = training.histories[0] if len(training.histories) == 1 else list(training.histories)
        self.n_iter_ = int(max((part.passes for part in training.certificates), default=0.0))
        status = self.certificate_.status
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if status is not Status.CONVERGED:
            warnings.warn(
                f"{type(self).__name__} ended {status.name}: relative gap {self.certificate_.relative_gap:.2g} and KKT "
                f"violation {self.certificate_.kkt_violation:.2g} for tol={self.certificate_.tol:g}. {status.value}",
                NotConvergedWarning,
                stacklevel=3,
            )

    @property
    def certificate_(self) -> Certificate:
        """How far the model is from optimal, bound to the attributes as they are now: `verify` finds any change."""
        if not hasattr(self, "_certificate"):
            raise AttributeError(f"{type(self).__name__} has no certificate_ before fit")
        return self._certificate.about(self._points(), self._tasks())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `maxmargin.load` reads: arrays and text, never code."""
        from maxmargin.estimators.files import save

        save(self, path)

    def _tasks(self) -> Sequence[Task] | None:
        """The sub-problems that the labels of a classifier stand for; None for a regressor."""
        return None

    def _points(self) -> list[Point]:
        """The answers as the fitted attributes hold them, one a sub-problem."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
