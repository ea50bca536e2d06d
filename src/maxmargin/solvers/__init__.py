"""Solvers: one algorithm a file, each a frozen record of settings with `solve(problem, start)`.

Those with compiled loops are imported when they are first used, so that the compiler is not loaded before it is needed.
"""

from __future__ import annotations

from typing import Any

from maxmargin.solvers.common.solver import Solver, untrained
from maxmargin.solvers.registry import SOLVERS, solver_class, solver_named

__all__ = ["Solver", "solver_named", "untrained", *SOLVERS]


def __getattr__(name: str) -> Any:
    if name in SOLVERS:
        return solver_class(name)
    raise AttributeError(f"module 'maxmargin.solvers' has no attribute {name!r}")
