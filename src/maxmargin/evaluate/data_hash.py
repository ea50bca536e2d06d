"""A number that tells data apart: SHA-256 over the values, for every layout of rows.

The hash is about values and their types, not about the order in which memory holds them. Strings hash alike in a list
and in an array; a dense and a sparse matrix, or single and double precision, do not.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data import as_rows

_CHUNK_BYTES = 1 << 22


def data_hash(*parts: Any) -> str:
    """Hash of rows, labels, weights and the like, in this order; None is a part, too."""
    digest = hashlib.sha256()
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, part: Any) -> None:
    if part is None:
        digest.update(b"none;")
    elif sparse.issparse(part):
        rows = as_rows(part)
        digest.update(f"sparse {rows.shape};".encode())
        for array, kind in ((rows.indptr, np.int64), (rows.indices, np.int64), (rows.data, rows.data.dtype)):
            _feed_array(digest, array, np.dtype(kind))
    elif hasattr(part, "iloc") and hasattr(part, "columns"):  # a table: columns may be of different kinds
        digest.update(f"table {part.shape};".encode())
        _feed_array(digest, np.asarray(list(part.columns), dtype=object))
        for k in range(part.shape[1]):
            _feed_array(digest, part.iloc[:, k].to_numpy())
    else:
        _feed_array(digest, np.asarray(part))


def _feed_array(digest: hashlib._Hash, array: np.ndarray[Any, Any], kind: np.dtype[Any] | None = None) -> None:
    """Feed the values, as another type where that is asked for; a part at a time, so that nothing is copied whole."""
    if array.dtype.kind in "OUS":
        digest.update(f"objects {array.shape};".encode())
        for value in array.ravel().tolist():
            digest.update(f"{value!r};".encode(errors="surrogatepass"))
        return
    kind = (array.dtype if kind is None else kind).newbyteorder("<")
    digest.update(f"{kind.str} {array.shape};".encode())
    rows = np.atleast_1d(array)
    at_once = max(1, _CHUNK_BYTES * len(rows) // max(1, rows.size * kind.itemsize))
    for first in range(0, len(rows), at_once):
        digest.update(np.ascontiguousarray(rows[first : first + at_once], dtype=kind).tobytes())
