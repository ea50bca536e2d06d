"""What scikit-learn's pipelines and searches ask of a feature map, without scikit-learn."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from maxmargin._types import Rows
from maxmargin.errors import unknown_name

Map = TypeVar("Map", bound="Transformer")


class Transformer:
    """Base of the feature maps that are dataclasses with parameters; `__post_init__` checks these."""

    def fit(self: Map, X: Rows, y: Any = None) -> Map:
        """Learn nothing, because this map follows from its parameters; return the map."""
        return self

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X."""
        raise NotImplementedError

    def fit_transform(self, X: Rows, y: Any = None) -> Rows:
        """Features of the rows of X, by the map fitted to them."""
        return self.fit(X, y).transform(X)

    def __call__(self, X: Rows) -> Rows:
        """Features of the rows of X."""
        return self.transform(X)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Map, **parameters: Any) -> Map:
        """Change parameters and check them together; return the map, which may have to be fitted again."""
        names = self._names()
        for name in parameters:
            if name not in names:
                raise unknown_name("parameter", name, names)
        for name, value in parameters.items():
            setattr(self, name, value)
        self.__post_init__()
        return self

    def __post_init__(self) -> None:
        """Check the parameters, and forget what was learned with others."""

    def _names(self) -> list[str]:
        return [field.name for field in fields(self) if field.init]  # type: ignore[arg-type]  # subclasses are dataclasses
