"""Kernels by name, by function, and from the plain records that a model file holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import isabstract
from typing import Any

from maxmargin.errors import ModelFileError, ParameterError, unknown_name
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.given import PythonFunction, PythonKernel


def as_kernel(
    spec: Kernel | str | Callable[[Any, Any], Any], *, gamma: float = 1.0, degree: float = 3, coef0: float = 0.0
) -> Kernel:
    """Return the kernel that `spec` means.

    Parameters
    ----------
    spec
        A kernel, which is returned as it is; a name, in scikit-learn's spelling or ours; or a function,
        either k(A, B) of two matrices of rows that gives the matrix of values, or k(x, z) of two rows that
        gives a number.
    gamma, degree, coef0
        Parameters for the kernels that are given by name and have them.

    >>> as_kernel("rbf", gamma=0.5)
    Gaussian(gamma=0.5)
    """
    if isinstance(spec, Kernel):
        return spec
    if callable(spec):
        return PythonFunction(spec)
    named = {name: kind for kind in _kinds().values() for name in kind._names}
    if not isinstance(spec, str):
        raise ParameterError(
            f"kernel must be a name, a kernel or a function of two arguments, got kernel={spec!r}. "
            f"Names: {', '.join(map(repr, sorted(named)))}."
        )
    if spec not in named:
        raise unknown_name("kernel", spec, named)
    kind: Any = named[spec]
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    kernel: Kernel = kind(**{field.name: given[field.name] for field in fields(kind)})
    return kernel


def from_record(record: dict[str, Any]) -> Kernel:
    """Kernel whose `to_record` gave `record`.

    >>> from_record({"kind": "Gaussian", "gamma": 0.1})
    Gaussian(gamma=0.1)
    """
    parameters = {name: from_record(value) if isinstance(value, dict) else value for name, value in record.items()}
    kind = parameters.pop("kind", None)
    if not isinstance(kind, str) or kind not in _kinds():
        raise ModelFileError(f"the model file names a kernel {kind!r} that this version does not know.")
    try:
        return _kinds()[kind](**parameters)
    except (TypeError, ParameterError) as error:
        raise ModelFileError(f"the model file describes a kernel {kind} that cannot be: {error}") from error


@cache
def _kinds() -> dict[str, type[Kernel]]:
    """The kernels of this library that are made of plain values, not of Python code."""
    found, bases = {}, [Kernel]
    while bases:
        for kind in bases.pop().__subclasses__():
            if kind.__module__.startswith("maxmargin.kernels.") and not issubclass(kind, PythonKernel):
                bases.append(kind)
                found[kind.__name__] = kind
    return {name: kind for name, kind in found.items() if is_dataclass(kind) and not isabstract(kind)}
