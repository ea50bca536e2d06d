"""All products of two features, written out: the feature maps behind <x, z>^2 and 1 + <x, z> + <x, z>^2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.features.rows import as_rows, children
from maxmargin.features.transformer import Transformer


@dataclass(unsafe_hash=True)  # by its parameters, as kernels are
class Quadratic(Transformer):
    """phi(x) = all d^2 products x_i x_j, so that <phi(x), phi(z)> = <x, z>^2.

    x_i x_j and x_j x_i both appear; `Monomials(2, coef0=0)` has them once, with the factor sqrt(2).

    >>> import numpy as np
    >>> Quadratic()(np.array([[1.0, 3.0]]))
    array([[1., 3., 3., 9.]])
    """

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; CSR stays CSR."""
        rows = as_rows(X)
        if sparse.issparse(rows):
            return _sparse_products(rows)
        n_rows, d = rows.shape
        return (rows[:, :, None] * rows[:, None, :]).reshape(n_rows, d * d)

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return d * d


@dataclass(unsafe_hash=True)
class LinearQuadratic(Transformer):
    """phi(x) = (1, x_i, x_i x_j), 1 + d + d^2 long, so that <phi(x), phi(z)> = 1 + <x, z> + <x, z>^2.

    >>> import numpy as np
    >>> LinearQuadratic()(np.array([[1.0, 3.0]]))
    array([[1., 1., 3., 1., 3., 3., 9.]])
    """

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; CSR stays CSR."""
        rows = as_rows(X)
        one = np.ones((rows.shape[0], 1), dtype=rows.dtype)
        parts = [one, rows, Quadratic().transform(rows)]
        return sparse.hstack(parts, format="csr") if sparse.issparse(rows) else np.hstack(parts)

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return 1 + d + d * d


def _sparse_products(X: Rows) -> Rows:
    """All products of two entries of the same row; a row with r entries gets r^2."""
    n_rows, d = X.shape
    lengths = np.diff(X.indptr).astype(np.int64)
    row_of, _ = children(lengths)
    first, place = children(lengths[row_of])  # every entry meets as many as its row has
    second = X.indptr[row_of[first]] + place
    columns = X.indices[first].astype(np.int64) * d + X.indices[second]
    starts = np.concatenate([[0], np.cumsum(lengths**2)])
    return type(X)((X.data[first] * X.data[second], columns, starts), shape=(n_rows, d * d))
