"""A source whose features are expanded while they are read."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.data.arrays import as_rows, count_rows
from maxmargin.data.derived import DerivedSource, combined
from maxmargin.data.pulled import PulledSource
from maxmargin.data.source import Block
from maxmargin.errors import DataError, ParameterError

_TRACED_ROWS = 16


class Transformer(Protocol):
    """A feature map."""

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X."""


class MappedSource(DerivedSource):
    """The rows of `source` as `feature_map` makes them; each block is expanded by the thread that reads it."""

    def __init__(self, source: PulledSource, feature_map: Transformer):
        if not callable(getattr(feature_map, "transform", None)):
            raise ParameterError(f"feature_map must have a method transform(X), got {type(feature_map).__name__}.")
        super().__init__(source)
        self.feature_map = feature_map

    def __repr__(self) -> str:
        return f"{self.source!r}.map({self.feature_map!r})"

    def block(self, k: int) -> Block:
        """Block k, expanded."""
        return self._expanded(self.source.block(k))

    def read(self, k: int, buffers: Any) -> Block:
        """Block k, expanded; valid until the next read into the same buffers."""
        return self._expanded(self.source.read(k, buffers))

    def _expanded(self, block: Block) -> Block:
        return block._replace(X=self._features(block.X))

    def _features(self, rows: Rows) -> Rows:
        X = as_rows(self.feature_map.transform(rows))
        if X.ndim != 2 or count_rows(X) != count_rows(rows):
            raise DataError(f"the feature map must make one row of each, got shape {X.shape} from {rows.shape}.")
        return X

    @cached_property
    def _trace(self) -> Rows:
        """Features of the first rows: their number is known from them, and one map from another."""
        return self._features(self.source.block(0).X[:_TRACED_ROWS])

    @property
    def n_features(self) -> int:
        """Number of columns, as the first rows have them."""
        return int(self._trace.shape[1])

    def fingerprint(self) -> str:
        """That of the rows, and of what the map makes of the first of them."""
        X = self._trace
        parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        digest = hashlib.sha256()
        for part in parts:
            digest.update(np.ascontiguousarray(part).data)
        return combined(self.source.fingerprint(), self.n_features, digest.hexdigest())
