"""Names of solvers, and the one place that picks the default."""

from __future__ import annotations

from maxmargin.errors import ParameterError, unknown_name
from maxmargin.problems import Problem
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


def check_device(device: str) -> None:
    """Refuse devices that have no engine."""
    if device not in ("auto", "cpu"):
        raise ParameterError(f"device={device!r} is not available in this version. Known: 'auto', 'cpu'.")


__all__ = ["Problem", "check_device", "solver_named"]
