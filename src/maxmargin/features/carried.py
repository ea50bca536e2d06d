"""The map that a model carries: what expanded the rows of its training expands all later rows alike.

A map tells how features are made of columns. It does not tell how many columns the rows of the training had, and LIBSVM
text ends at its last column that is not zero, so that later rows may have fewer and other features would be made of
them. Nor does it tell in which precision the rows were read, which a certificate depends on. Rows of letters are
expanded as they come: some may be longer than any in training.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

from scipy import sparse

from maxmargin._types import Rows
from maxmargin.data.arrays import as_vectors, with_columns
from maxmargin.data.sources.derived import DerivedSource, MappedSource
from maxmargin.errors import DataError, ParameterError
from maxmargin.features.base import ParametricMap

_MOST_FEATURES = 1 << 31  # 16 GB of weights


@dataclass(frozen=True)
class CarriedMap:
    """A feature map, with number and type of the columns that it was given in training.

    Attributes
    ----------
    feature_map
        The map.
    n_features
        Columns of the rows in training, before they were expanded; None where columns are letters.
    dtype
        Type of their values; a source has to be opened with it to compute a certificate again.

    >>> from scipy import sparse
    >>> from maxmargin.features import Monomials
    >>> CarriedMap(Monomials(1), n_features=3).transform(sparse.csr_matrix([[5.0, 7.0]])).toarray()
    array([[1., 5., 7., 0.]])
    """

    feature_map: ParametricMap
    n_features: int | None = None
    dtype: str = "float64"

    @property
    def takes_letters(self) -> bool:
        """Whether rows are texts or sequences, and columns their letters."""
        return self.feature_map.takes_letters

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; sparse ones may end at another column than those of the training."""
        wanted = self.n_features
        if wanted is None:
            return self.feature_map.transform(X)
        rows = as_vectors(X, "a feature map")
        if rows.shape[1] == wanted:
            return self.feature_map.transform(rows)
        if not sparse.issparse(rows):
            raise DataError(f"the feature map was given rows of {wanted:,} columns in training, got {rows.shape[1]:,}.")
        return self.feature_map.transform(with_columns(rows, wanted))

    def fitted(self, source: Any) -> CarriedMap:
        """The map for models that are trained on this source, fitted to its rows where it learns something of them."""
        feature_map, columns = self.feature_map, _columns(self.feature_map, source)
        made = feature_map.output_features(columns or 0)
        if made > _MOST_FEATURES:
            raise ParameterError(
                f"{type(feature_map).__name__} makes {made:,} features of a row, and a weight is kept for each. Choose "
                "a smaller map."
            )
        fitted = feature_map.fit(source) if feature_map.learned else feature_map
        return replace(self, feature_map=fitted, n_features=columns)


def carried_by(X: Any) -> CarriedMap | None:
    """What expands other rows as those of a mapped source; None for other rows, and for foreign maps or several."""
    mapped = [source for source in _layers(X) if isinstance(source, MappedSource)]
    if len(mapped) != 1:
        return None
    feature_map, below = mapped[0].feature_map, mapped[0].source
    if isinstance(feature_map, CarriedMap):
        return copy.deepcopy(feature_map)
    if not isinstance(feature_map, ParametricMap) or not type(feature_map).__module__.startswith("maxmargin.features."):
        return None
    X.require_labels()  # what is asked for next may be a long read
    dtype = "float32" if below.block(0).X.dtype == "float32" else "float64"
    # A copy, because its owner may change it.
    own, columns = copy.deepcopy(feature_map), _columns(feature_map, below)
    return CarriedMap(own, columns, "uint8" if own.takes_letters else dtype)


def _layers(X: Any) -> list[Any]:
    """A source and those that it is made of, one after the other."""
    layers = [X]
    while isinstance(layers[-1], DerivedSource):
        layers.append(layers[-1].source)
    return layers


def _columns(feature_map: ParametricMap, source: Any) -> int | None:
    return None if feature_map.takes_letters else int(source.n_features)
