"""Names of solvers, and the one place that picks the default."""

from __future__ import annotations

from maxmargin.errors import unknown_name
from maxmargin.solvers.qp import QP
from maxmargin.solvers.solver import Solver

_LINEAR: dict[str, type[Solver]] = {"qp": QP}
_KERNEL: dict[str, type[Solver]] = {"qp": QP}


def solver_named(
    name: str | Solver, *, linear: bool, tol: float, max_iter: int | None, max_seconds: float | None
) -> Solver:
    """The solver of that name with these settings; a `Solver` is taken as it is."""
    if isinstance(name, Solver):
        return name
    known = _LINEAR if linear else _KERNEL
    if not isinstance(name, str) or name not in (*known, "auto"):
        raise unknown_name("solver", name, (*known, "auto"))
    return known["qp" if name == "auto" else name](tol=tol, max_iter=max_iter, max_seconds=max_seconds)
