"""Which solvers, by name, a kernel problem can be given to: the list that an error shows is the list that works."""

from __future__ import annotations

from maxmargin.errors import ParameterError, unknown_name
from maxmargin.losses import (
    EpsilonInsensitive,
    HardMargin,
    Hinge,
    Loss,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.problems import Intercept, KernelProblem, Problem
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.registry import is_known_elsewhere, not_suited

_BOXED: tuple[type[Loss], ...] = (Hinge, SquaredHinge, EpsilonInsensitive, SquaredEpsilonInsensitive)
_LOSSES: dict[str, tuple[type[Loss], ...]] = {
    "auto": (HardMargin, Squared, *_BOXED),
    "blocks": (Squared, *_BOXED),
    "dcd": (Squared, *_BOXED),
    "osuna": _BOXED,
    "qp": (HardMargin, Squared, *_BOXED),
    "smo": _BOXED,
    "smo-simple": (Hinge,),
}
"""Losses that each solver knows."""

_MAX_EXAMINED = 4000  # rows up to which the eigenvalues of a kernel matrix are computed


def kernel_solvers(loss: Loss, intercept: Intercept) -> list[str]:
    """Names of the solvers that can do this loss with this intercept."""
    return [name for name in _LOSSES if isinstance(loss, _LOSSES[name]) and _knows_intercept(name, intercept)]


def _knows_intercept(name: str, intercept: Intercept) -> bool:
    if name == "dcd":
        return not intercept.is_free
    return intercept.is_free or name != "smo-simple"


def check_kernel_name(name: object, loss: Loss, intercept: Intercept) -> None:
    """Refuse a name that no kernel solver has, with those that can do this loss and intercept.

    What has a name but cannot do the problem says so itself, and what would help.
    """
    if isinstance(name, Solver) or (isinstance(name, str) and (name in _LOSSES or is_known_elsewhere(name))):
        return
    raise unknown_name("solver", name, kernel_solvers(loss, intercept))


def checked_kernel_problem(name: str, problem: Problem) -> KernelProblem:
    """The problem, if it is one of a kernel, with a loss and an intercept that the solver knows."""
    if not isinstance(problem, KernelProblem):
        raise ParameterError(f"this solver={name!r} is for kernel problems, not for: {problem.objective}.")
    loss, intercept = problem.loss, problem.intercept
    if not isinstance(loss, _LOSSES["auto"]):
        known = ", ".join(sorted(kind.name for kind in _LOSSES["auto"]))
        raise ParameterError(f"the dual of the {loss.name} loss is no quadratic program; kernel solvers know: {known}.")
    if not isinstance(loss, _LOSSES[name]):
        what = "a hard margin" if isinstance(loss, HardMargin) else f"the {loss.name} loss"
        raise not_suited(name, what, kernel_solvers(loss, intercept))
    if not _knows_intercept(name, intercept):
        article = "an" if intercept.scale > 0.0 else "a problem with"
        raise not_suited(name, f"{article} {intercept.words}", kernel_solvers(loss, intercept))
    return problem


def is_definite(problem: KernelProblem) -> bool:
    """Whether the kernel matrix has no negative eigenvalue: by the kernel, or else by the matrix where it is small."""
    return problem.is_convex or (problem.n_rows <= _MAX_EXAMINED and problem.is_convex_here())
