"""Kernels from the plain records that a model file holds."""

from __future__ import annotations

from typing import Any

from maxmargin.errors import ModelFileError, ParameterError
from maxmargin.kernels.algebra import Exp, Power, Product, Scaled, Shifted, Sum
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.precomputed import Precomputed
from maxmargin.kernels.strings import EditDistance
from maxmargin.kernels.vectors import Gaussian, Laplacian, Linear, Polynomial, Sigmoid

_KINDS: dict[str, type[Kernel]] = {
    kind.__name__: kind
    for kind in (
        EditDistance,
        Exp,
        Gaussian,
        Laplacian,
        Linear,
        Polynomial,
        Power,
        Precomputed,
        Product,
        Scaled,
        Shifted,
        Sigmoid,
        Sum,
    )
}


def from_record(record: dict[str, Any]) -> Kernel:
    """Kernel whose `to_record` gave `record`.

    >>> from_record({"kind": "Gaussian", "gamma": 0.1})
    Gaussian(gamma=0.1)
    """
    parameters = {name: from_record(value) if isinstance(value, dict) else value for name, value in record.items()}
    kind = parameters.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ModelFileError(f"the model file names a kernel {kind!r} that this version does not know.")
    try:
        return _KINDS[kind](**parameters)
    except (TypeError, ParameterError) as error:
        raise ModelFileError(f"the model file describes a kernel {kind} that cannot be: {error}") from error
