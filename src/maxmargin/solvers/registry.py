"""Names of solvers: for each family of problems where the classes of a name are. What they take they say themselves.

A class is imported when it is used, or when an error lists all solvers that take a problem.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, TypeAlias

from maxmargin.errors import ParameterError, unknown_name
from maxmargin.penalties import L1, L2
from maxmargin.problems import ProblemKind
from maxmargin.solvers.common.solver import Solver, not_suited, takes_another_intercept, words_of

Family: TypeAlias = dict[str, tuple[str, ...]]
"""File and class of each name; several where each takes other problems."""

LINEAR: Family = {
    "auto": ("linear.automatic:Automatic",),
    "asgd": ("lectures.stochastic:AveragedSGD",),
    "dcd": ("linear.dcd:DualDescent", "linear.multiclass_descent:MulticlassDescent"),
    "implicit": ("lectures.stochastic:Implicit",),
    "interior": ("linear.multiclass_interior:MulticlassInterior",),
    "lasso": ("sparse.lasso:LassoDescent",),
    "least-squares": ("linear.least_squares:LeastSquares",),
    "multipliers": ("linear.multipliers:Multipliers",),
    "newton": ("linear.newton:Newton",),
    "pairs": ("lectures.pairs:Pairs",),
    "pegasos": ("lectures.stochastic:Pegasos",),
    "qp": ("reference.qp:QP",),
    "softmax-newton": ("linear.softmax_newton:SoftmaxNewton",),
    "sparse": ("sparse.sparse_newton:SparseNewton",),
    "subgradient": ("lectures.subgradient:Subgradient",),
}
KERNEL: Family = {
    "auto": ("kernel.automatic:KernelAutomatic",),
    "blocks": ("kernel.automatic:Blocks",),
    "dcd": ("lectures.kernel_listings:KernelDescent",),
    "osuna": ("lectures.osuna:Osuna",),
    "qp": ("reference.qp:QP",),
    "smo": ("kernel.smo:SMO",),
    "smo-simple": ("lectures.kernel_listings:SimpleSMO",),
}
KERNEL_REGRESSION: Family = {
    "auto": ("kernel.least_squares:KernelLeastSquares",),
    "closed-form": ("kernel.least_squares:KernelLeastSquares",),
    "conjugate-gradients": ("kernel.least_squares:KernelLeastSquares",),
    "full-gradient": ("lectures.kernel_gradient:FullGradient",),
    "one-at-a-time": ("lectures.kernel_gradient:OneAtATime",),
    "qp": ("reference.qp:QP",),
}
"""For the squared loss with a kernel, which is a system of linear equations."""
STREAM: Family = {
    "block": ("streams.trainers:BlockMinimisation",),
    "cached-loops": ("streams.cached_loops:CachedLoops",),
    "selective-block": ("streams.trainers:SelectiveBlockMinimisation",),
}
"""Trainers of data larger than memory."""

_OF_ARRAYS = (LINEAR, KERNEL, KERNEL_REGRESSION)
SOLVERS = {
    place.partition(":")[2]: place.partition(":")[0]
    for family in _OF_ARRAYS
    for places in family.values()
    for place in places
}
"""Class of each solver and the file it is in."""


def solver_class(name: str) -> type[Solver]:
    """The class of that name, imported now."""
    found: type[Solver] = _imported(f"{SOLVERS[name]}:{name}")
    return found


def _imported(place: str) -> Any:
    file, _, name = place.partition(":")
    return getattr(importlib.import_module(f"maxmargin.solvers.{file}"), name)


def classes_of(family: Family, name: str) -> Iterator[Any]:
    """The classes of that name, each imported when it is asked for."""
    return (_imported(place) for place in family[name])


def takers(family: Family, problem: ProblemKind) -> list[str]:
    """Names of the solvers that take the problem; all are imported."""
    return [name for name in family if any(kind().takes(problem) for kind in classes_of(family, name))]


def check_linear_name(name: object, problem: ProblemKind, also: Iterable[str] = ()) -> None:
    """Refuse the name of a solver that cannot do the loss with the penalty; a `Solver` speaks for itself.

    `also` are names that an estimator understands besides. Nothing is imported for "auto", which takes whatever
    another one takes. What an intercept forbids the solver says itself, and what would help.
    """
    if isinstance(name, Solver) or (isinstance(name, str) and name in ("auto", *also)):
        return
    is_known = isinstance(name, str) and name in LINEAR
    if is_known and any(takes_another_intercept(kind(), problem) for kind in classes_of(LINEAR, str(name))):
        return
    names = {*takers(LINEAR, problem), *also}
    if not is_known:
        raise unknown_name("solver", name, names)
    penalty = "" if isinstance(problem.penalty, L2) else " with the L1 penalty"
    penalty = penalty if isinstance(problem.penalty, (L1, L2)) else " without a penalty"
    raise ParameterError(not_suited(str(name), f"{words_of(problem.loss)}{penalty}", names))


def check_kernel_name(name: object, problem: ProblemKind) -> None:
    """Refuse a name that no solver of arrays has, with those that take the problem.

    What has a name but cannot do the problem says so itself, and what would help.
    """
    if isinstance(name, Solver) or any(isinstance(name, str) and name in family for family in _OF_ARRAYS):
        return
    raise unknown_name("solver", name, takers(KERNEL, problem))


def solver_named(name: str | Solver, *, linear: bool, **settings: Any) -> Solver:
    """The solver of that name, with those of the settings that it has; a `Solver` is taken as it is."""
    if isinstance(name, Solver):
        return name
    known = LINEAR if linear else KERNEL
    for family, machines in ((LINEAR, "linear machines such as LinearSVC"), (KERNEL_REGRESSION, "KernelRegression")):
        if isinstance(name, str) and name in family and name not in known:
            raise ParameterError(f"solver={name!r} is for {machines}. Known here: {', '.join(known)}.")
    if not isinstance(name, str) or name not in known:
        raise unknown_name("solver", name, known)
    return _with_settings(next(classes_of(known, name)), settings)


def kernel_regression_solver(name: str | Solver, **settings: Any) -> Solver:
    """The solver of that name for kernel least squares, likewise."""
    if isinstance(name, Solver):
        return name
    known = KERNEL_REGRESSION
    if isinstance(name, str) and name not in known and any(name in family for family in _OF_ARRAYS):
        raise ParameterError(not_suited(name, "the squared loss with a kernel", known))
    if not isinstance(name, str) or name not in known:
        raise unknown_name("solver", name, known)
    return _with_settings(next(classes_of(known, name)), {**settings, "method": name})


def that_takes(solver: Solver, problem: ProblemKind) -> Solver:
    """The linear solver, or the other one of its name that takes the problem, with the same settings."""
    if solver.takes(problem):
        return solver
    for kind in classes_of(LINEAR, solver.name) if solver.name in LINEAR else ():
        if kind().takes(problem):
            return _with_settings(kind, vars(solver))
    raise ParameterError(not_suited(solver.name, words_of(problem.loss), takers(LINEAR, problem)))


def _with_settings(kind: Any, settings: dict[str, Any]) -> Solver:
    """A solver with those of the settings that it has."""
    has = {field.name for field in fields(kind)}
    solver: Solver = kind(**{key: value for key, value in settings.items() if key in has})
    return solver
