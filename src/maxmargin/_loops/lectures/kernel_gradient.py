"""L4's update of one coefficient at a time, for kernel regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop


@fast_loop
def update_one_at_a_time(
    K: NDArray[np.float64],
    right: NDArray[np.float64],
    diagonal: NDArray[np.float64],
    rates: NDArray[np.float64],
    order: NDArray[np.int64],
    beta: NDArray[np.float64],
) -> None:
    """beta_i <- beta_i + rate_i (t_i - sum_j K_ij beta_j - diagonal_i beta_i) for the rows i of `order`, in place."""
    n = len(beta)
    for i in order:
        score = 0.0
        for j in range(n):
            score += K[i, j] * beta[j]
        beta[i] += rates[i] * (right[i] - score - diagonal[i] * beta[i])
