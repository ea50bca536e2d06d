"""A kernel on strings, which are no vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from maxmargin._types import Rows, Vector
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.errors import DataError, DataTypeError
from maxmargin.kernels.arithmetic import KernelMatrix
from maxmargin.kernels.base import Domain
from maxmargin.kernels.vectors import DistanceKernel

if TYPE_CHECKING:
    from maxmargin._loops.kernel.distances import Strings


@dataclass(frozen=True, repr=False)
class EditDistance(DistanceKernel):
    """k(x, z) = exp(-gamma edit(x, z)), the edit distance being Levenshtein's.

    The distance is the least number of characters to insert, delete or replace that turns x into z.
    Characters are code points of Unicode: an accent written as a character of its own counts.
    A and B are lists, tuples or one-dimensional arrays of strings.

    >>> print(EditDistance(gamma=0.5))
    exp(-0.5 edit(x, z))
    >>> EditDistance().block(["kitten"], ["sitting"]) == np.exp(-3)
    array([[ True]])
    """

    on: ClassVar[Domain] = "strings"
    _distance = "edit(x, z)"
    _hint = "A small gamma makes longer edits count as similar; try 1 / mean length of the strings."
    positive_semidefinite = False
    """The 31 strings of a and b up to length 4 contradict it at gamma = 1, see `mercer_check`."""

    def _distances(self, A: Rows, B: Rows) -> KernelMatrix:
        from maxmargin._loops.kernel.distances import fill_edit_distances  # compiled code is loaded when it is needed

        left = _encoded(_as_strings(A))
        right = left if B is A else _encoded(_as_strings(B))
        distances = np.empty((len(left.starts) - 1, len(right.starts) - 1))
        longest = int(np.diff(left.starts).max(initial=0))

        def work(start: int, end: int, stop: StopFlag) -> int:
            return fill_edit_distances(left, right, start, end, stop, np.empty(longest + 1, dtype=np.int64), distances)

        over_ranges(work, distances.shape[1])
        return distances

    def diag(self, A: Rows) -> Vector:
        """One for every string."""
        return np.ones(len(_as_strings(A)))


def _as_strings(X: Rows) -> list[str]:
    """X as a list of strings, or an error that says what else it is."""
    if isinstance(X, str) or getattr(X, "ndim", 1) != 1:
        found = f"the single string {X!r}" if isinstance(X, str) else f"an array with shape {X.shape}"
        raise DataError(f"a kernel on strings takes a list or one-dimensional array of strings, got {found}.")
    strings = list(X)
    for i, string in enumerate(strings):
        if not isinstance(string, str):
            raise DataTypeError(
                f"a kernel on strings takes strings, got {string!r} of type {type(string).__name__} at position {i}."
            )
    return strings


def _encoded(strings: list[str]) -> Strings:
    """Code points of all strings in one array, and where each string starts."""
    from maxmargin._loops.kernel.distances import Strings

    starts = np.zeros(len(strings) + 1, dtype=np.int64)
    np.cumsum([len(string) for string in strings], out=starts[1:])
    # A lone surrogate is no character, but Python lets it stand in a string, so it is compared like one.
    encoded = "".join(strings).encode("utf-32-le", "surrogatepass")
    return Strings(np.frombuffer(encoded, dtype="<u4").astype(np.uint32), starts)
