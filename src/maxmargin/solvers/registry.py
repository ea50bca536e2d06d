"""Names of solvers, and where their classes are."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from maxmargin.errors import ParameterError, unknown_name
from maxmargin.solvers.common.solver import Solver

SOLVERS = {
    "Automatic": "linear.automatic",
    "AveragedSGD": "lectures.averaged_sgd",
    "Blocks": "kernel.automatic",
    "DualDescent": "linear.dcd",
    "FullGradient": "lectures.kernel_gradient",
    "Implicit": "lectures.implicit",
    "KernelAutomatic": "kernel.automatic",
    "KernelDescent": "lectures.kernel_descent",
    "KernelLeastSquares": "kernel.least_squares",
    "LassoDescent": "sparse.lasso",
    "LeastSquares": "linear.least_squares",
    "MulticlassDescent": "linear.multiclass_descent",
    "MulticlassInterior": "linear.multiclass_interior",
    "Multipliers": "linear.multipliers",
    "Newton": "linear.newton",
    "OneAtATime": "lectures.kernel_gradient",
    "Osuna": "lectures.osuna",
    "Pairs": "lectures.pairs",
    "Pegasos": "lectures.pegasos",
    "QP": "reference.qp",
    "SMO": "kernel.smo",
    "SimpleSMO": "lectures.smo_simple",
    "SoftmaxNewton": "linear.softmax_newton",
    "SparseNewton": "sparse.sparse_newton",
    "Subgradient": "lectures.subgradient",
}
"""Class of each solver and the file it is in."""

_LINEAR = {
    "auto": "Automatic",
    "asgd": "AveragedSGD",
    "dcd": "DualDescent",
    "implicit": "Implicit",
    "interior": "MulticlassInterior",
    "lasso": "LassoDescent",
    "least-squares": "LeastSquares",
    "multipliers": "Multipliers",
    "newton": "Newton",
    "pairs": "Pairs",
    "pegasos": "Pegasos",
    "qp": "QP",
    "softmax-newton": "SoftmaxNewton",
    "sparse": "SparseNewton",
    "subgradient": "Subgradient",
}
_KERNEL = {
    "auto": "KernelAutomatic",
    "blocks": "Blocks",
    "dcd": "KernelDescent",
    "osuna": "Osuna",
    "qp": "QP",
    "smo": "SMO",
    "smo-simple": "SimpleSMO",
}

_KERNEL_REGRESSION = {
    "auto": "KernelLeastSquares",
    "closed-form": "KernelLeastSquares",
    "conjugate-gradients": "KernelLeastSquares",
    "full-gradient": "FullGradient",
    "one-at-a-time": "OneAtATime",
    "qp": "QP",
}
"""For the squared loss with a kernel, which is a system of linear equations."""


def solver_class(name: str) -> type[Solver]:
    """The class of that name, imported now."""
    found: type[Solver] = getattr(importlib.import_module(f"maxmargin.solvers.{SOLVERS[name]}"), name)
    return found


def is_linear_name(name: object) -> bool:
    """Whether a solver of linear problems has this name."""
    return isinstance(name, str) and name in _LINEAR


def is_known_elsewhere(name: str) -> bool:
    """Whether a solver of other problems than those of `SVC` and `SVR` has this name."""
    return name in _LINEAR or name in _KERNEL_REGRESSION


def not_suited(name: str, problem: str, known: Iterable[str]) -> ParameterError:
    """Error for a solver that exists but cannot do the problem, with those that can."""
    names = ", ".join(map(repr, sorted(known)))
    return ParameterError(f"solver={name!r} does not do {problem}; those that do: {names}.")


def solver_named(name: str | Solver, *, linear: bool, **settings: Any) -> Solver:
    """The solver of that name, with those of the settings that it has; a `Solver` is taken as it is."""
    if isinstance(name, Solver):
        return name
    known = _LINEAR if linear else _KERNEL
    if not linear and is_linear_name(name) and name not in known:
        raise ParameterError(
            f"solver={name!r} is for linear machines such as LinearSVC. Known here: {', '.join(known)}."
        )
    if isinstance(name, str) and name in _KERNEL_REGRESSION and name not in known:
        raise ParameterError(f"solver={name!r} is for KernelRegression. Known here: {', '.join(known)}.")
    if not isinstance(name, str) or name not in known:
        raise unknown_name("solver", name, known)
    kind = solver_class(known[name])
    has = {field.name for field in fields(kind)}
    return kind(**{key: value for key, value in settings.items() if key in has})


def kernel_regression_solver(name: str | Solver, **settings: Any) -> Solver:
    """The solver of that name for kernel least squares, likewise."""
    if isinstance(name, Solver):
        return name
    if isinstance(name, str) and name not in _KERNEL_REGRESSION and name in {**_LINEAR, **_KERNEL}:
        raise not_suited(name, "the squared loss with a kernel", _KERNEL_REGRESSION)
    if not isinstance(name, str) or name not in _KERNEL_REGRESSION:
        raise unknown_name("solver", name, _KERNEL_REGRESSION)
    kind = solver_class(_KERNEL_REGRESSION[name])
    has = {field.name for field in fields(kind)}
    return kind(**{key: value for key, value in {**settings, "method": name}.items() if key in has})


def for_all_classes(solver: Solver) -> Solver:
    """The solver of the same name for Crammer and Singer's machine; one that chooses for itself is taken as it is."""
    twins = {"dcd": "MulticlassDescent", "interior": "MulticlassInterior"}
    if solver.name == "auto" or type(solver).__name__ in twins.values():
        return solver
    if solver.name not in twins:
        raise not_suited(solver.name, "the Crammer-Singer loss", ["auto", *twins])
    kind = solver_class(twins[solver.name])
    return kind(**{field.name: getattr(solver, field.name) for field in fields(kind)})
