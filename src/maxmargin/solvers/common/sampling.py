"""Some rows in place of all: those that count for much, and every k-th of the others k times.

A sum over rows of a_i x_i x_i', or of losses, is dominated where features are rare by the few rows that have them: left
out, their directions would be missing altogether. So rows much longer than the others are always taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import RowIndex, Vector
from maxmargin.data import ArraySource
from maxmargin.data.rows import ArrayRows
from maxmargin.problems import LinearProblem

_LONG = 3.0  # times the mean square is a long row
_MOST_LONG = 16  # at most this part of the rows are long
_SAMPLE_PER_FEATURE = 50
_MIN_SAMPLE = 2000
_LARGEST_SHARE = 5  # a sample of a fifth of the rows saves nothing
_SMALLEST_SHARE = 16  # a sample of fewer rows than this part would be far off; it rather has a sample of its own


def long_rows(squares: Vector) -> NDArray[np.bool_]:
    """Whether each row is always taken, by its squared length."""
    most = len(squares) // _MOST_LONG
    bound = _LONG * float(np.mean(squares))
    found = squares > bound
    if np.count_nonzero(found) > most:
        found = squares > float(np.partition(squares, -most)[-most]) if most else np.zeros(len(squares), dtype=bool)
    return found


def sampled(rows: RowIndex, is_long: NDArray[np.bool_], every: int) -> tuple[RowIndex, Vector]:
    """The long ones of the given rows and every k-th of the others, with the number of rows that each stands for."""
    picked = is_long[rows]
    long, others = rows[picked], rows[~picked][::every]
    return np.concatenate([long, others]), np.concatenate([np.ones(len(long)), np.full(len(others), float(every))])


def is_tall(problem: LinearProblem) -> bool:
    """Whether there are so many rows for each feature that a small sample of them says almost all."""
    return problem.n_rows >= _SMALLEST_SHARE * _sample_size(problem)


def _sample_size(problem: LinearProblem) -> int:
    return max(_MIN_SAMPLE, _SAMPLE_PER_FEATURE * problem.source.n_features)


def sample_of(problem: LinearProblem) -> LinearProblem | None:
    """A sample as a problem, whose answer is near that of all rows at a fraction of the cost; None for few rows."""
    n = problem.n_rows
    every = n // max(_sample_size(problem), n // _SMALLEST_SHARE)
    if every < _LARGEST_SHARE:
        return None
    is_long = long_rows(ArrayRows(problem.source).squared_lengths())
    chosen, count = sampled(np.arange(n), is_long, every)
    source = ArraySource(problem.source.take(chosen), problem.targets[chosen], problem.costs[chosen] * count)
    return LinearProblem(source, problem.loss, 1.0, problem.intercept)
