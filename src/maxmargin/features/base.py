"""The feature maps as scikit-learn's pipelines and searches take them, without scikit-learn; checks of parameters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin._types import Rows
from maxmargin.data import as_vectors
from maxmargin.errors import ParameterError, unknown_name


class ParametricMap(ABC):
    """Base of the feature maps, which are dataclasses with parameters; `__post_init__` checks these."""

    learned: ClassVar[tuple[str, ...]] = ()
    """Attributes that `fit` sets: what a map is made of besides its parameters."""
    takes_letters: ClassVar[bool] = False
    """Whether rows are texts or sequences, and columns their letters."""

    def fit(self, X: Rows, y: Any = None) -> Self:
        """Learn nothing, because this map follows from its parameters; return the map."""
        return self

    @abstractmethod
    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X."""

    @abstractmethod
    def output_features(self, d: int) -> int:
        """Count the features made of d columns; d does not matter where columns are letters."""

    def fit_transform(self, X: Rows, y: Any = None) -> Rows:
        """Features of the rows of X, by the map fitted to them."""
        return self.fit(X, y).transform(X)

    def __call__(self, X: Rows) -> Rows:
        """Features of the rows of X."""
        return self.transform(X)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # subclasses are dataclasses

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters and check them together; return the map, which may have to be fitted again."""
        names = self.get_params()
        for name in parameters:
            if not names:
                raise ParameterError(f"{type(self).__name__} has no parameters, got {name!r}.")
            if name not in names:
                raise unknown_name("parameter", name, names)
        before = dict(vars(self))
        vars(self).update(parameters)
        try:
            self.__post_init__()
        except Exception:  # whatever was refused, the map stays as it was
            vars(self).clear()
            vars(self).update(before)
            raise
        return self

    def __post_init__(self) -> None:  # noqa: B027 - not every map has parameters to be checked
        """Check the parameters, and forget what was learned with others."""


def as_vector_rows(X: Rows) -> Rows:
    """X as a dense array or a CSR matrix of float32 or float64."""
    return as_vectors(X, "a feature map")


def number_from(name: str, value: object, least: float, *, included: bool) -> float:
    """`value` as a float, or an error when it is not a finite number from `least` on."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or not (number > least or (included and number == least)):
        allowed = f"{'at least' if included else 'more than'} {least:g}"
        raise ParameterError(f"{name} must be a finite number, {allowed}, got {name}={value!r}.")
    return number


def integer_from(name: str, value: object, least: int) -> int:
    """`value` as an int, or an error when it is not an integer from `least` on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be an integer, at least {least}, got {name}={value!r}.")
    return int(value)


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False: most words would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {name}={value!r}.")
