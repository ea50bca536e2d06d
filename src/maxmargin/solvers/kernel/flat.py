"""A kernel machine with the linear kernel and fewer features than rows: the solvers of linear machines are for it.

The kernel matrix of d features has rank d at most. With many more rows than that, most pairs have next to no curvature
left by the others, and pair steps wander; the same problem in d weights is small. Multipliers of the one problem are
multipliers of the other, with a difference: a linear machine keeps its weights, a kernel machine has none but

    w = sum_i beta_i x_i,

so its multipliers must tell them. A duality gap of g leaves |w - sum_i beta_i x_i|^2 <= 2 g, which can be as large as
|w|^2 itself where C is large. So the linear problem is solved further than was asked for, and Newton steps on the free
multipliers (`polish`) end the fit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.data.passes import Passes
from maxmargin.kernels import Linear
from maxmargin.problems import KernelProblem, LinearProblem, Solution, Status
from maxmargin.solvers.common.polish import polish
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.linear.automatic import Automatic

_MOST_FEATURES = 1500  # whose equations are factored in a moment
_TOL = 1e-8


def is_flat(problem: KernelProblem) -> bool:
    """Whether phi(x) = x, with fewer features than rows."""
    few = problem.source.n_features <= min(_MOST_FEATURES, problem.n_rows // 2)
    return few and isinstance(problem.kernel, Linear) and problem.nu is None and problem.stored is None


def solve_flat(problem: KernelProblem, settings: Solver) -> Solution:
    """The answer in multipliers; CONVERGED where they are as good as was asked for."""
    linear = LinearProblem(problem.source, problem.loss, problem.C, problem.intercept)
    found = Automatic(min(settings.tol, _TOL), max_seconds=settings.max_seconds).solve(linear)
    box = linear.loss.dual_box(linear.costs)
    if box is None or found.status is Status.INTERRUPTED:
        return replace(found, weights=None, bias=None)
    alpha, seen = polish(linear, found.alpha, box, Passes(linear.source, 1).squared_lengths())
    is_good = seen.gap <= settings.tol * abs(seen.primal) and seen.kkt_violation <= settings.tol
    status = Status.CONVERGED if is_good else found.status if found.status is not Status.CONVERGED else Status.STALLED
    found.history.record(found.history.passes[-1] if len(found.history) else 0, seen.primal, seen.dual)
    return replace(found, alpha=np.asarray(alpha), weights=None, bias=None, status=status)
