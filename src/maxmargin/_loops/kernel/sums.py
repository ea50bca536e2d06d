"""Kernel values that are used once: from inner products straight into a weighted sum, never stored.

    total_i += sum_j weight_j k(a_i, b_j)

In single precision the exponentials are; products with the weights and their sums are double.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import search_loop
from maxmargin._loops.exponential import exp_double, exp_single
from maxmargin._loops.extremes import smaller


@search_loop
def gaussian_sums_single(
    products: NDArray[np.float32],
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    weights: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Weighted sums of a tile of a Gaussian kernel, in single precision."""
    kept = np.empty(products.shape[1], dtype=np.float32)  # two loops, because one would be as wide as its doubles
    for i in range(products.shape[0]):
        values, shift, sum_ = products[i], left[i], 0.0
        for j in range(values.shape[0]):
            kept[j] = exp_single(smaller(values[j] - shift - right[j], np.float32(0.0)))
        for j in range(values.shape[0]):
            sum_ += weights[j] * np.float64(kept[j])
        total[i] += sum_


@search_loop
def gaussian_sums_double(
    products: NDArray[np.float64],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    weights: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Weighted sums of a tile of a Gaussian kernel, in double precision."""
    for i in range(products.shape[0]):
        values, shift, sum_ = products[i], left[i], 0.0
        for j in range(values.shape[0]):
            sum_ += weights[j] * exp_double(smaller(values[j] - shift - right[j], 0.0))
        total[i] += sum_
