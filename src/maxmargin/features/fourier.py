"""Random Fourier features: cosines and sines whose inner products are nearly the Gaussian kernel.

The Gaussian kernel is the mean of cosines (Bochner's theorem):

    exp(-gamma |x - z|^2) = E cos(<omega, x - z>),    omega normal with mean 0 and variance 2 gamma in every direction.

With D frequencies drawn once, and cos(a - b) = cos a cos b + sin a sin b,

    phi(x) = D^(-1/2) (cos <omega_1, x>, ..., cos <omega_D, x>, sin <omega_1, x>, ..., sin <omega_D, x>)

has E <phi(x), phi(z)> = exp(-gamma |x - z|^2), and |phi(x)| = 1 without any error. The mean of D cosines is
within epsilon of its expectation for a given pair of rows but for a probability of at most

    2 exp(-D epsilon^2 / 2)        (Hoeffding)

so the error falls like D^(-1/2), whatever the number of columns of x.
Rahimi and Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.backends.threads import over_ranges
from maxmargin.errors import ParameterError
from maxmargin.features.base import ParametricMap, as_rows, integer_from, number_from

_TILE_VALUES = 1 << 19  # angles that are in memory at a time: 4 MB in double precision


@dataclass
class RandomFourier(ParametricMap):
    """Random Fourier features of the Gaussian kernel: E <phi(x), phi(z)> = exp(-gamma |x - z|^2).

    A linear machine on these features is nearly a kernel machine, and can be trained on data of any size.
    The frequencies follow from `random_state` and the number of columns, so nothing has to be fitted.

    Parameters
    ----------
    gamma
        That of the kernel.
    n_components
        Number of features, even: a cosine and a sine of each frequency. The error of the kernel falls like
        n_components^(-1/2).
    random_state
        Seed of the frequencies.

    >>> import numpy as np
    >>> phi = RandomFourier(gamma=0.5, n_components=20000)
    >>> x, z = np.array([[0.3, -1.0]]), np.array([[0.5, 0.2]])
    >>> error = phi(x) @ phi(z).T - np.exp(-0.5 * np.sum((x - z) ** 2))
    >>> bool(abs(error[0, 0]) < 0.02)
    True
    """

    gamma: float = 1.0
    n_components: int = 100
    random_state: int = 0

    def __post_init__(self) -> None:
        self.gamma = number_from("gamma", self.gamma, least=0.0, included=False)
        self.n_components = integer_from("n_components", self.n_components, least=2)
        self.random_state = integer_from("random_state", self.random_state, least=0)
        if self.n_components % 2:
            raise ParameterError(
                f"n_components must be even, because every frequency has a cosine and a sine, got "
                f"n_components={self.n_components}."
            )
        self._drawn: dict[tuple[Any, ...], NDArray[Any]] = {}

    def transform(self, X: Rows) -> NDArray[Any]:
        """Features of the rows of X, dense or CSR: a dense array of the precision of X."""
        from maxmargin._loops.features import cosines  # compiled code is loaded when it is needed
        from maxmargin.data.loop_rows import loop_rows

        rows = as_rows(X)
        n_rows, d = rows.shape
        frequencies = self.frequencies(d, rows.dtype)
        half = frequencies.shape[1]
        features = np.empty((n_rows, 2 * half), dtype=rows.dtype)
        series = cosines.SINE_SINGLE if rows.dtype == np.float32 else cosines.SINE_DOUBLE
        factor = rows.dtype.type(half**-0.5)
        step = max(1, _TILE_VALUES // half)
        angles = np.empty((min(step, n_rows), half), dtype=rows.dtype)
        sparse_rows = loop_rows(rows) if sparse.issparse(rows) else None
        for top in range(0, n_rows, step):
            tile = angles[: min(step, n_rows - top)]
            if sparse_rows is None:
                # What is not finite becomes NaN, for whoever trains on it to refuse.
                with np.errstate(invalid="ignore", over="ignore"):
                    np.matmul(rows[top : top + step], frequencies, out=tile)
            else:
                fill = partial(cosines.angles_of_sparse_rows, sparse_rows, frequencies, top, tile)
                over_ranges(fill, len(tile), brief=True)
            write = partial(cosines.cosines_and_sines, tile, factor, series, features[top : top + step])
            over_ranges(write, len(tile), brief=True)
        return features

    def frequencies(self, d: int, dtype: Any = np.float64) -> NDArray[Any]:
        """Frequencies omega / (2 pi), one column each, for rows of d columns: angles are in turns."""
        key = (d, np.dtype(dtype).str, self.gamma, self.n_components, self.random_state)
        found = self._drawn.get(key)
        if found is None:
            normal = np.random.default_rng(self.random_state).standard_normal((d, self.n_components // 2))
            normal *= np.sqrt(2.0 * self.gamma) / (2.0 * np.pi)
            found = normal.astype(dtype, copy=False)
            self._drawn = {key: found}  # rows of one kind come many times in a row; readers may do this at once
        return found

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return self.n_components
