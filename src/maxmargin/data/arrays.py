"""Arrays in memory as a source: dense or CSR, float32 or float64, any order, or strings; never copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.data.source import Block
from maxmargin.errors import DataError, DataTypeError

if TYPE_CHECKING:
    from maxmargin._loops.rows import CSRRows, DenseRows

_CHUNK_VALUES = 1 << 22  # doubles in a temporary copy of some rows: 32 MB
_CHUNK_ROWS = 2048
_LOOKED_AT = 1 << 20  # entries, in search of one that is not finite
_BLOCK_BYTES = 8 << 20  # of the block in double precision: fits the outer caches, amortises the Python around it


def count_rows(X: Rows) -> int:
    """Number of rows of an array, a CSR matrix or a sequence of strings."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def as_rows(X: Rows) -> Rows:
    """Rows as a CSR matrix or an array: tables, lists and other sparse layouts are brought into one of these.

    Rows of a CSR matrix come out sorted and without repeated columns, in a copy where they did not come in so.
    """
    if not sparse.issparse(X):
        return np.asarray(X)
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def as_vectors(X: Rows, taker: str, hint: str = "") -> Rows:
    """Rows of real numbers, float32 or float64, or an error in the name of the `taker`; integers become float64."""
    rows = as_rows(X)
    if rows.ndim != 2:
        raise DataError(
            f"{taker} takes a matrix with one row a vector, got an array of shape {rows.shape}. "
            "A single vector x is x.reshape(1, -1)."
        )
    if rows.dtype.kind not in "fiub":
        raise DataTypeError(f"{taker} takes real numbers, got values of type {rows.dtype}.{hint}")
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def take_rows(X: Rows, rows: RowIndex | slice) -> Rows:
    """The chosen rows, in the layout of X."""
    return X[rows] if hasattr(X, "shape") or isinstance(rows, slice) else [X[i] for i in rows]


def with_columns(X: Rows, wanted: int) -> Rows:
    """The rows with so many columns: those further on are left out, and zeros stand for those that are missing."""
    if X.shape[1] == wanted:
        return X
    if X.shape[1] > wanted:
        return X[:, :wanted]
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], wanted))
    return np.pad(X, ((0, 0), (0, wanted - X.shape[1])))


def centred_rows(X: Rows, centre: Vector) -> Rows:
    """The rows x - centre, in double precision; those of CSR get entries only in columns whose centre is not 0."""
    if not sparse.issparse(X):
        return np.subtract(X, centre, dtype=np.float64)
    n_rows, moved = X.shape[0], np.flatnonzero(centre)
    starts = len(moved) * np.arange(n_rows + 1)
    shift = sparse.csr_matrix((np.tile(centre[moved], n_rows), np.tile(moved, n_rows), starts), shape=X.shape)
    return X.astype(np.float64) - shift


def as_double(X: Rows) -> Rows:
    """Vectors in double precision; strings as they are."""
    if sparse.issparse(X):
        return X.astype(np.float64, copy=False)
    array = np.asarray(X)
    return array if array.dtype.kind in "OUS" else array.astype(np.float64, copy=False)


def long_sum(values: Vector) -> float:
    """Sum with the longest numbers the machine has: as good as exact for what double precision can tell."""
    return float(np.sum(values, dtype=np.longdouble))


def row_chunks(X: Rows) -> Iterator[slice]:
    """Consecutive rows, few enough to be copied in double precision."""
    n_values = X.nnz if sparse.issparse(X) else X.size
    width = max(1, n_values // max(1, X.shape[0]))
    step = min(_CHUNK_ROWS, max(1, _CHUNK_VALUES // width))
    for start in range(0, X.shape[0], step):
        yield slice(start, min(start + step, X.shape[0]))


def in_double(X: Rows, centre: Vector | None) -> Rows:
    """X in double precision, with the row `centre` subtracted from every row of a dense X."""
    return X.astype(np.float64, copy=False) if centre is None else np.subtract(X, centre, dtype=np.float64)


def squared_norms(X: Rows, centre: Vector | None = None) -> Vector:
    """|x|^2, or |x - centre|^2, of every row in double precision."""
    norms = np.empty(X.shape[0])
    for chunk in row_chunks(X):
        rows = in_double(X[chunk], centre)
        if sparse.issparse(rows):
            row_of_value = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            norms[chunk] = np.bincount(row_of_value, weights=rows.data**2, minlength=rows.shape[0])
        else:
            norms[chunk] = np.vecdot(rows, rows)
    return norms


class NotFinite(NamedTuple):
    """The first entry that is NaN or infinite, and how many there are."""

    row: int
    column: int
    value: float
    n_such: int


def first_not_finite(X: Rows) -> NotFinite | None:
    """The first entry of dense or CSR rows that is NaN or infinite; None where all are numbers.

    The sum of all entries is finite only if they are, up to overflow; so only rows that are suspicious are looked at
    entry by entry, a block at a time.
    """
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):
            return None
    count, first = 0, None
    step = max(1, _LOOKED_AT // max(1, int(np.prod(values.shape[1:]))))
    for top in range(0, len(values), step):
        found = np.argwhere(~np.isfinite(values[top : top + step]))
        count += len(found)
        if first is None and len(found):
            first = (top + int(found[0, 0]), *found[0, 1:].tolist())
    if first is None:
        return None
    row, column = place_of_entry(X, first[0]) if sparse.issparse(X) else first
    return NotFinite(row, column, values[first], count)


def place_of_entry(X: Rows, entry: int) -> tuple[int, int]:
    """Row and column of entry number `entry`: of those stored where rows are CSR, of all where they are dense."""
    if not sparse.issparse(X):
        return divmod(entry, int(X.shape[1]))
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])


@dataclass(frozen=True)
class ArraySource:
    """Rows of X, or those named by `rows`, with a target and a weight each.

    `y` and `weight` have one entry a used row: the first belongs to `X[rows[0]]`.
    """

    X: Rows
    y: Vector
    weight: Vector
    rows: RowIndex | None = None
    block_rows: int = field(init=False)

    def __post_init__(self) -> None:
        width = 1 if self.n_features == 0 else self.n_features
        if sparse.issparse(self.X):
            width = max(1, int(1.5 * self.X.nnz / max(1, self.X.shape[0])))
        object.__setattr__(self, "block_rows", max(1, _BLOCK_BYTES // (8 * width)))

    @property
    def n_rows(self) -> int:
        """Number of used rows."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """Number of columns; 0 for strings."""
        return int(self.X.shape[1]) if getattr(self.X, "ndim", 1) == 2 else 0

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""
        return -(-self.n_rows // self.block_rows)

    def block(self, k: int) -> Block:
        """Rows k * block_rows and on, in the user's layout and precision."""
        start = k * self.block_rows
        end = min(start + self.block_rows, self.n_rows)
        return Block(self.take(slice(start, end)), self.y[start:end], self.weight[start:end], start)

    @cached_property
    def kept(self) -> dict[str, Vector]:
        """Vectors that follow from the rows alone, one entry a used row, kept for whoever asks next."""
        return {}

    @cached_property
    def loop_rows(self) -> DenseRows | CSRRows:
        """The used rows as compiled loops take them; where that needs a copy there is one for all of them."""
        from maxmargin.data.rows import loop_rows  # the compiler is loaded by the first fit, not by an import

        return loop_rows(self.take(slice(None)))

    def take(self, which: RowIndex | slice) -> Rows:
        """The used rows at the given positions."""
        if isinstance(which, slice) and which.indices(self.n_rows) == (0, self.n_rows, 1):
            return self.X if self.rows is None else take_rows(self.X, self.rows)  # a slice of a CSR matrix is a copy
        return take_rows(self.X, which if self.rows is None else self.rows[which])
