"""What scikit-learn's pipelines and searches ask of a feature map, without scikit-learn."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, TypeVar

from maxmargin._types import Rows
from maxmargin.errors import ParameterError, unknown_name

Map = TypeVar("Map", bound="Transformer")


class Transformer:
    """Base of the feature maps, which are dataclasses with parameters; `__post_init__` checks these."""

    learned: ClassVar[tuple[str, ...]] = ()
    """Attributes that `fit` sets: what a map is made of besides its parameters."""
    takes_letters: ClassVar[bool] = False
    """Whether rows are texts or sequences, and columns their letters."""

    def fit(self: Map, X: Rows, y: Any = None) -> Map:
        """Learn nothing, because this map follows from its parameters; return the map."""
        return self

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X."""
        raise NotImplementedError

    def output_features(self, d: int) -> int:
        """Count the features made of d columns; d does not matter where columns are letters."""
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
            if not names:
                raise ParameterError(f"{type(self).__name__} has no parameters, got {name!r}.")
            if name not in names:
                raise unknown_name("parameter", name, names)
        before = dict(vars(self))
        for name, value in parameters.items():
            setattr(self, name, value)
        try:
            self.__post_init__()
        except Exception:  # whatever was refused, the map stays as it was
            vars(self).clear()
            vars(self).update(before)
            raise
        return self

    def __post_init__(self) -> None:
        """Check the parameters, and forget what was learned with others."""

    def _names(self) -> list[str]:
        return [field.name for field in fields(self) if field.init]  # type: ignore[arg-type]  # subclasses are dataclasses
