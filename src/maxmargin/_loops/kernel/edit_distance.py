"""Levenshtein's distance between strings.

With D[p, q] the distance between the first p characters of a and the first q of b,

    D[p, 0] = p,   D[0, q] = q
    D[p, q] = min(D[p - 1, q] + 1, D[p, q - 1] + 1, D[p - 1, q - 1] + (a_p != b_q))

One line of D is kept at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import loop
from maxmargin._types import Matrix, RowIndex


class Strings(NamedTuple):
    """Strings one after the other; string i is codes[starts[i]:starts[i + 1]]."""

    codes: NDArray[np.uint32]
    starts: RowIndex


@loop
def edit_distance(a: NDArray[np.uint32], b: NDArray[np.uint32], row: RowIndex) -> int:
    """Distance of a and b; `row` has room for len(a) + 1 numbers and is overwritten."""
    for p in range(len(a) + 1):
        row[p] = p
    for q in range(len(b)):
        before = row[0]  # D[p - 1, q - 1] of the row that is being overwritten
        row[0] = q + 1
        for p in range(len(a)):
            replaced = before + (a[p] != b[q])
            before = row[p + 1]
            row[p + 1] = min(min(row[p], before) + 1, replaced)
    return int(row[len(a)])


@loop
def fill_distances(
    A: Strings,
    B: Strings,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
    row: RowIndex,
    distances: Matrix,
) -> int:
    """Fill columns start to end - 1 of `distances`; returns the number of pairs done, short if stopped."""
    done = 0
    for j in range(start, end):
        b = B.codes[B.starts[j] : B.starts[j + 1]]
        for i in range(len(A.starts) - 1):
            if stop[0] != 0:
                return done
            distances[i, j] = edit_distance(A.codes[A.starts[i] : A.starts[i + 1]], b, row)
            done += 1
    return done
