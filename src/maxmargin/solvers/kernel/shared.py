"""A kernel matrix that several fits on the same rows share: those of a path over C.

Inside `sharing`, a problem with the same kernel on rows of the same X is given its part of the matrix, which is formed
when first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.data import count_rows
from maxmargin.kernels import Kernel
from maxmargin.problems import KernelProblem
from maxmargin.solvers.kernel.values import kernel_matrix, submatrix

_LARGEST = 1 << 30  # bytes of a matrix where nobody says more


class _Shared:
    def __init__(self, kernel: Kernel, X: Rows):
        self.kernel, self.X = kernel, X

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        return kernel_matrix(self.kernel, self.X)


_shared: ContextVar[_Shared | None] = ContextVar("shared", default=None)


@contextmanager
def sharing(kernel: Kernel, X: Rows, memory: int | None) -> Iterator[None]:
    """Let fits inside the block share the kernel matrix of X, if it fits the memory."""
    fits = 4 * count_rows(X) ** 2 <= (memory or _LARGEST)
    token = _shared.set(_Shared(kernel, X) if fits else None)
    try:
        yield
    finally:
        _shared.reset(token)


def with_shared_values(problem: KernelProblem) -> KernelProblem:
    """The problem, with its part of the shared matrix where there is one for it."""
    shared = _shared.get()
    if shared is None or problem.stored is not None or shared.kernel != problem.kernel:
        return problem
    if not _same(shared.X, problem.source.X):
        return problem
    rows = problem.source.rows
    if rows is None:
        return replace(problem, stored=shared.matrix)
    return replace(problem, stored=submatrix(shared.matrix, rows, rows))


def _same(A: Rows, B: Rows) -> bool:
    """Whether two sets of rows are the same numbers in the same memory."""
    if A is B:
        return True
    if not hasattr(A, "shape") or not hasattr(B, "shape") or A.shape != B.shape:
        return False
    left: Any = A.data if sparse.issparse(A) else A
    right: Any = B.data if sparse.issparse(B) else B
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray) or left.dtype != right.dtype:
        return False
    return left.ctypes.data == right.ctypes.data and left.strides == right.strides
