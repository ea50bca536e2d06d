"""Solvers: one algorithm a file, each a frozen record of settings with `solve(problem, start)`."""

from maxmargin.solvers.choose import solver_named
from maxmargin.solvers.qp import QP
from maxmargin.solvers.solver import Solver, untrained

__all__ = ["QP", "Solver", "solver_named", "untrained"]
