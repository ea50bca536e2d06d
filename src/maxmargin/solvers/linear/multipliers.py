"""The method of multipliers, for losses with kinks: a few smooth problems in a row, each solved by Newton's method.

Hinge and tube have no curvature, so Newton's method has nothing to hold on to. Their conjugates are strongly convex as
soon as 1/(2 sigma) (v - u)^2 is added; with centres u_i that changes the loss of a row to

    max over v of    v f - l_y*(v) - 1/(2 sigma) (v - u_i)^2        slope v_i, curvature sigma or 0

    hinge    -y v_i = clip(-y u_i + sigma (1 - y f_i), 0, 1)
    tube        v_i = clip(shrink(u_i + sigma (f_i - y_i), sigma epsilon), -1, 1)

The centres then move to the slopes found, u <- v: this is the proximal-point method on the dual. Its fixed point is the
optimum whatever sigma is, and a larger sigma needs fewer moves. Each smooth problem has slopes that are feasible
multipliers of the original one, so every step has a duality gap. Of its two parts (`newton_descent`) the larger one is
worked on: that of the gradient by a Newton step, that of the rows by moving the centres, with sigma growing. Where the
steps become short, because a stiff row stops each of them, sigma falls instead; the centres then stay where they are if
the slopes at hand are much worse.

Only rows within about 1/sigma of a kink have curvature, at the end hardly more rows than features: the Newton equations
are small however many rows there are.

Rockafellar, Math. Oper. Res. 1976; semismooth Newton inside: Li, Sun and Toh, SIAM J. Optim. 2018, for the lasso.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._loops.loss_curve import Curve
from maxmargin.data.passes import Passes
from maxmargin.problems import LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.sampling import sample_of
from maxmargin.solvers.common.solver import Solver, is_plain
from maxmargin.solvers.linear.newton_descent import Descent

GROWTH = 3.0
SOFTENED = 0.03  # the factor on sigma where kinks stop step after step
SHORT, PATIENCE = 0.001, 15
MUCH = 10.0  # times the gap: multipliers are not given up for such worse ones
RANGE = 1e12  # of sigma, either way from the first
_HAIR = 1e-9  # slopes so near to an end are at it
_SAMPLE_TOL = 1e-2
_MAX_STEPS = 1000


@dataclass(frozen=True)
class Multipliers(Solver):
    """Method of multipliers with Newton steps, for hinge and epsilon-insensitive loss."""

    n_jobs: int | None = None
    name: ClassVar[str] = "multipliers"
    suits: ClassVar[str] = "linear problems with hinge or epsilon-insensitive loss and an L2 penalty"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the slope of the loss jumps."""
        curve = problem.loss.curve
        return is_plain(problem) and curve is not None and curve.has_kinks

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from the multipliers and weights of `start`, or from those of a sample where there are many rows."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        end = np.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        descent = Descent(problem, Passes(problem.source, self.n_jobs), _untouched(problem))
        if start is not None and start.weights is not None:
            self._take_up(descent, start)
        else:
            self._begin_at_sample(descent, sample_of(problem), end)
        return descent.solution(self._run(descent, end), self.name)

    def _take_up(self, descent: Descent, start: Solution) -> None:
        """Centres at the given multipliers, and a sigma that lets a free one cross its interval in a few moves."""
        descent.begin(start.weights, float(np.asarray(start.bias)) if start.bias is not None else 0.0)
        problem = descent.problem
        u = -problem.coefficients(start.alpha) / problem.costs
        descent.curve = descent.curve._replace(centre=u)
        descent.look()
        slope = descent.curve.turned(u, problem.targets)
        is_free = (np.abs(u) > _HAIR) & (slope > descent.curve.low + _HAIR) & (slope < descent.curve.high - _HAIR)
        off = problem.loss.score_value(descent.f + descent.b, problem.targets)[is_free]
        if len(off):
            typical = max(float(np.sqrt(np.mean(np.square(off)))), 1e-6 * _height(problem))
            descent.curve = descent.curve._replace(sigma=max(descent.curve.sigma, 0.2 / typical))

    def _begin_at_sample(self, descent: Descent, sample: LinearProblem | None, end: float) -> None:
        if sample is None:
            descent.begin(None)
            return
        inner = Descent(sample, Passes(sample.source, self.n_jobs), _untouched(sample))
        inner.begin(None)
        Multipliers(_SAMPLE_TOL)._run(inner, end)
        descent.begin(inner.w, inner.b)
        descent.curve = descent.curve._replace(sigma=inner.curve.sigma / GROWTH)

    def _run(self, descent: Descent, end: float) -> Status:
        """Newton steps and moves of the centres until gap and violation are within the tolerance."""
        least, largest = descent.curve.sigma / RANGE, RANGE * descent.curve.sigma
        descent.look()
        short, centre_dual = 0, -np.inf
        for _ in range(self.max_iter or _MAX_STEPS):
            if descent.gap <= self.tol and descent.violation <= 0.7 * self.tol:
                return Status.CONVERGED
            if time.perf_counter() > end:
                return Status.BUDGET
            try:
                if descent.apart <= descent.primal - descent.dual - descent.apart:
                    if descent.curve.sigma >= largest:
                        return Status.STALLED
                    centre_dual = _move_centres(descent, GROWTH)
                elif short >= PATIENCE:
                    if descent.curve.sigma <= least:
                        return Status.STALLED
                    if descent.primal - descent.dual <= MUCH * (descent.primal - centre_dual):
                        centre_dual = _move_centres(descent, SOFTENED)
                    else:  # slopes of a point far from the minimum
                        _set_stiffness(descent, SOFTENED)
                    short = 0
                else:
                    descent.directions.forget()
                    t = descent.step(min(0.01, max(descent.gap, 1e-8)))
                    short = short + 1 if t < SHORT else 0
            except KeyboardInterrupt:
                return Status.INTERRUPTED
        return Status.BUDGET


def _height(problem: LinearProblem) -> float:
    """Size of a score: 1 for margins, the spread of the targets for a tube."""
    return 1.0 if problem.curve.is_margin else float(np.std(problem.targets)) or 1.0


def _untouched(problem: LinearProblem) -> Curve:
    """The first smooth problem: centres in the middle, and kinks rounded off over the size of a score."""
    curve = problem.curve
    middle = np.full(problem.n_rows, 0.5 * (curve.low + curve.high))
    return curve._replace(sigma=1.0 / _height(problem), centre=curve.turned(middle, problem.targets))


def _move_centres(descent: Descent, growth: float) -> float:
    """Move the centres to the slopes, and change sigma by a factor; returns the dual value of the slopes."""
    dual = descent.dual
    descent.curve = descent.curve._replace(centre=descent.slope / descent.C)
    _set_stiffness(descent, growth)
    return dual


def _set_stiffness(descent: Descent, growth: float) -> None:
    descent.curve = descent.curve._replace(sigma=growth * descent.curve.sigma)
    descent.look()
