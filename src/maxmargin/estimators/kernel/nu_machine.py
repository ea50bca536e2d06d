"""What the machines with nu share: a share of the rows in place of a cost.

nu is at once an upper bound on the share of margin errors and a lower bound on the share of support vectors; rows
count by their weights c_i. The solver finds the margin rho, or the width epsilon of the tube, that nu leads to. Divided
by rho the answer is that of a machine with a cost:

    NuSVC          SVC with C = 1 / rho
    NuSVR          SVR with the epsilon that was found, and the same C
    OneClassSVM    the hinge max(0, 1 - <w, phi(x_i)>) on every row, without an intercept, C = 1 / rho

The certificate is about that machine: gap and KKT violation are those of a problem that is written out in full, and

    sum_i alpha_i = nu C sum_i c_i

ties its multipliers to nu.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.machine import Training
from maxmargin.estimators.fitting.parameters import check_choice
from maxmargin.estimators.kernel.kernel_machine import KernelMachine
from maxmargin.losses import EpsilonInsensitive
from maxmargin.problems import KernelProblem, Problem, Solution, Specification
from maxmargin.solvers import Solver
from maxmargin.solvers.kernel.automatic import Blocks


class NuMachine(KernelMachine):
    """A kernel machine with `nu`."""

    def _settings(self, solver: str | Solver | None = None) -> Solver:
        given = self.solver if solver is None else solver
        if isinstance(given, Solver):
            if not isinstance(given, Blocks):
                raise ParameterError(f"solver={given!r} knows no nu. Use solver='auto'.")
            return super()._settings(given)
        check_choice("solver", given, ("auto",))
        asked = super()._settings(given)
        return Blocks(tol=asked.tol, max_iter=asked.max_iter, max_seconds=asked.max_seconds, memory=self._memory())

    def _train(self, *args: Any, **kwargs: Any) -> Training:
        return super()._train(*args, **kwargs, certified=machine_with_a_cost)

    def _certified(self) -> Callable[[Specification, Problem, Solution], tuple[Specification, Problem]]:
        return machine_with_a_cost


def machine_with_a_cost(
    specification: Specification, problem: Problem, solution: Solution
) -> tuple[Specification, Problem]:
    """The machine that nu led to; one that was stopped before it began keeps its cost."""
    assert isinstance(problem, KernelProblem)
    change: dict[str, Any] = {"nu": None}
    if solution.margin is not None and isinstance(specification.loss, EpsilonInsensitive):
        change["loss"] = EpsilonInsensitive(solution.margin)
    elif solution.margin is not None:
        change["C"] = 1.0 / solution.margin
    return replace(specification, **change), replace(problem, **change)
