"""A point that may become the answer, with the numbers that its certificate will have."""

from __future__ import annotations

import math
from dataclasses import dataclass

from maxmargin._types import Vector
from maxmargin.certificates import Assessment, assess
from maxmargin.problems import History, Problem, Solution, Status


@dataclass(frozen=True)
class Candidate:
    """Multipliers, weights and intercept, and what a fresh look at the data says of them."""

    alpha: Vector
    weights: Vector | None
    bias: float | Vector | None
    seen: Assessment

    @classmethod
    def evaluated(
        cls, problem: Problem, alpha: Vector, weights: Vector | None, bias: float | Vector | None = None
    ) -> Candidate:
        """The point, evaluated by the certificate's own arithmetic."""
        return cls(alpha, weights, bias, assess(problem, alpha, weights, bias))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return self.seen.difference / max(abs(self.seen.primal), 1e-300)

    @property
    def worst(self) -> float:
        """The larger of relative gap and violation, which a tolerance bounds; infinite where they are not numbers."""
        worst = max(self.gap, self.seen.kkt_violation)
        return worst if math.isfinite(worst) else math.inf

    def solution(self, status: Status, history: History, solver: str, passes: float) -> Solution:
        """The point as the answer of a solver."""
        return Solution(self.alpha, self.weights, self.bias, status, history, solver, passes, history.elapsed)
