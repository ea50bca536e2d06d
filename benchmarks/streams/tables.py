"""Tables that look like those of the lecture's experiments, made block by block.

    ocr          dense, 1,156 features
    dna          sequences of 200 letters, each place four features, one of them 1: 800 features, a quarter not zero;
                 three rows in a thousand are positive
    webspam-t    16.6 million features, 0.022 % not zero
    kddb         29.9 million features, 0.0001 % not zero

Labels come from a planted plane with noise. The sparse tables have fewer columns where they are asked to be small; rows
do not get shorter. Low columns are frequent and high ones rare, as words are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.features import KMers

FULL = 4000.0  # megabytes at which the sparse tables have all their columns
LETTERS = 200
EXPANSION = KMers(1, length=LETTERS, norm="l2")
_BATCH = 4 << 20  # bytes made at a time
_NOISE = 0.3  # of the spread of the scores


class LookAlike(NamedTuple):
    """Shape of a table of the lecture."""

    n_features: int
    entries: int
    """In a row."""
    positive: float
    """Share of the rows."""
    C: float = 1.0


TABLES = {
    "ocr": LookAlike(1156, 1156, 0.49),
    "dna": LookAlike(4 * LETTERS, LETTERS, 0.003),
    "webspam-t": LookAlike(16_610_000, 3700, 0.61),
    "kddb": LookAlike(29_890_000, 29, 0.86),
}


def batches(name: str, megabytes: float, *, expanded: bool = True) -> Iterator[tuple[Any, np.ndarray]]:
    """Rows that take about that many megabytes in all; of dna also the sequences they are expanded from."""
    table, rng = TABLES[name], np.random.default_rng(0)
    is_dense, few = name == "ocr", name in ("ocr", "dna")
    columns = table.n_features if few else max(10 * table.entries, int(table.n_features * min(1.0, megabytes / FULL)))
    bytes_a_row = table.entries * (4 if is_dense else 8)
    planted = rng.standard_normal(columns, dtype=np.float32)
    n = max(200, int(megabytes * 1e6 / bytes_a_row))
    size = max(1, _BATCH // bytes_a_row)
    cut: float | None = None
    for top in range(0, n, size):
        m = min(size, n - top)
        given = None
        if name == "ocr":
            X: Any = rng.standard_normal((m, columns), dtype=np.float32) / np.float32(np.sqrt(columns))
        elif name == "dna":
            given = np.frombuffer(b"ACGT", dtype=np.uint8)[rng.integers(4, size=(m, LETTERS))]
            X = EXPANSION(given)
        else:
            X = _words(rng, m, columns, table.entries)
        scores = np.asarray(X @ planted).ravel()
        scores += _NOISE * np.std(scores) * rng.standard_normal(m)
        cut = float(np.quantile(scores, 1.0 - table.positive)) if cut is None else cut
        yield (X if expanded or given is None else given), np.where(scores > cut, 1, -1)


def _words(rng: np.random.Generator, m: int, columns: int, entries: int) -> sparse.csr_matrix:
    """Rows with entries drawn from columns of which the low ones are frequent."""
    chosen = np.minimum((columns * rng.random((m, entries)) ** 3.0).astype(np.int32), columns - 1)
    values = rng.random((m, entries), dtype=np.float32) / np.float32(np.sqrt(entries))
    starts = np.arange(0, m * entries + 1, entries)
    X = sparse.csr_matrix((values.ravel(), chosen.ravel(), starts), shape=(m, columns))
    X.sum_duplicates()
    return X
