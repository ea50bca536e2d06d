"""The duality gap of anybody's kernel machine, by the arithmetic of our certificates in double precision.

Multipliers of a library are first made feasible: taken into 0 <= alpha_i <= C (for regression |alpha_i| <= C), then
balanced, so that sum_i alpha_i y_i = 0. The intercept of the primal value is the best one for the scores, for
everybody. Scores, primal and dual value are then rebuilt from the data (`certificates.assess`).

Several classes are several problems, one a pair. Their primal values are added, and so are their dual values; the
relative gap is (sum of P - sum of D) / sum of P.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from maxmargin.certificates import assess
from maxmargin.kernels import Gaussian
from maxmargin.losses import EpsilonInsensitive, Hinge
from maxmargin.problems import Intercept, Pair, Regression, Specification
from maxmargin.solvers.common.feasible import balanced


@dataclass(frozen=True)
class Verdict:
    """Primal and dual value of an answer."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.primal - self.dual) / abs(self.primal)


@dataclass(frozen=True)
class Judge:
    """One problem: rows, targets and what the machines are set to."""

    X: Any
    y: np.ndarray
    machine: str
    C: float
    gamma: float
    epsilon: float

    def judge(self, answer: Mapping[str, np.ndarray]) -> Verdict:
        """Primal and dual value of what a library found."""
        verdicts = [self._verdict(*part) for part in self._parts(answer)]
        return Verdict(sum(part.primal for part in verdicts), sum(part.dual for part in verdicts))

    def _specification(self, task: Pair | Regression) -> Specification:
        loss = EpsilonInsensitive(self.epsilon) if isinstance(task, Regression) else Hinge()
        return Specification(task=task, loss=loss, C=self.C, intercept=Intercept.FREE, kernel=Gaussian(self.gamma))

    def _parts(self, answer: Mapping[str, np.ndarray]) -> Iterator[tuple[Specification, np.ndarray]]:
        """Sub-problems, and the multiplier of every row in each."""
        support, coefficients = answer["support"], np.asarray(answer["coefficients"], dtype=np.float64)
        if self.machine == "SVR":
            alpha = np.zeros(len(self.y))
            alpha[support] = coefficients[0]
            yield self._specification(Regression()), alpha
            return
        classes = answer["classes"]
        for first, second in combinations(range(len(classes)), 2):
            alpha = np.zeros(len(self.y))
            # Which class of a pair is the positive one differs between libraries; a multiplier is never negative.
            for line, label in ((second - 1, classes[first]), (first, classes[second])):
                members = np.flatnonzero(self.y[support] == label)
                alpha[support[members]] = np.abs(coefficients[line, members])
            yield self._specification(Pair(negative=classes[first], positive=classes[second])), alpha

    def _verdict(self, specification: Specification, alpha: np.ndarray) -> Verdict:
        problem, rows = specification.problem(self.X, self.y)
        alpha = alpha if rows is None else alpha[rows]
        box = problem.loss.dual_box(problem.costs)
        assert box is not None
        signs = problem.coefficients(np.ones_like(alpha))
        found = assess(problem, balanced(np.clip(alpha, box.lower, box.upper), signs, box), None, None)
        return Verdict(found.primal, found.dual)
