"""Features whose inner products are nearly a kernel: random Fourier features, and Nystroem's.

The Gaussian kernel is the mean of cosines (Bochner's theorem):

    exp(-gamma |x - z|^2) = E cos(<omega, x - z>),    omega normal with mean 0 and variance 2 gamma in every direction.

With D frequencies drawn once, and cos(a - b) = cos a cos b + sin a sin b,

    phi(x) = D^(-1/2) (cos <omega_1, x>, ..., cos <omega_D, x>, sin <omega_1, x>, ..., sin <omega_D, x>)

has E <phi(x), phi(z)> = exp(-gamma |x - z|^2), and |phi(x)| = 1 without any error. The mean of D cosines is
within epsilon of its expectation for a given pair of rows but for a probability of at most

    2 exp(-D epsilon^2 / 2)        (Hoeffding)

so the error falls like D^(-1/2), whatever the number of columns of x.
Rahimi and Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007.

Of any kernel, let L be m rows of the data, the landmarks, K_LL the kernel matrix of them, k_L(x) the values of x
against them. Then

    phi(x) = K_LL^(-1/2) k_L(x),        <phi(x), phi(z)> = k_L(x)' K_LL^(-1) k_L(z)

which is the inner product of the projections of x and z, in the space of the kernel, onto what the landmarks span. So
it is exact where x or z is a landmark, everywhere if all rows are, and never makes |phi(x)|^2 larger than k(x, x).

K_LL = U diag(lambda) U' gives K_LL^(-1/2) = U diag(lambda^(-1/2)) U'. Landmarks that are repeated, or nearly
combinations of others, make eigenvalues that are zero up to rounding; these, up to m times the rounding unit
times the largest, are left out together with their directions. All of it is done in double precision, because small
eigenvalues would blow up the errors of single precision.
Williams and Seeger, Using the Nystroem Method to Speed Up Kernel Machines, NIPS 2000.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Matrix, RowIndex, Rows
from maxmargin.backends.threads import over_ranges
from maxmargin.data import as_double, as_rows, count_rows, take_rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.features.base import ParametricMap, as_vector_rows, integer_from, number_from

_ANGLES = 1 << 19  # in memory at a time: 4 MB in double precision
_KERNEL_VALUES = 1 << 20  # in memory at a time: 8 MB


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
        from maxmargin.data.rows import loop_rows

        rows = as_vector_rows(X)
        n_rows, d = rows.shape
        frequencies = self.frequencies(d, rows.dtype)
        half = frequencies.shape[1]
        features = np.empty((n_rows, 2 * half), dtype=rows.dtype)
        series = cosines.SINE_SINGLE if rows.dtype == np.float32 else cosines.SINE_DOUBLE
        factor = rows.dtype.type(half**-0.5)
        step = max(1, _ANGLES // half)
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


@dataclass
class Nystroem(ParametricMap):
    """Features whose inner products are a kernel, projected onto the span of some rows.

    Parameters
    ----------
    kernel
        An object of `maxmargin.kernels`, positive semidefinite.
    n_components
        Number m of landmarks, and of features; where fewer rows are fitted, all of them.
    random_state
        Seed of the choice of landmarks.

    Attributes
    ----------
    components_
        The landmarks, in double precision.
    component_indices_
        Where they stand in the rows that were fitted.
    normalization_
        K_LL^(-1/2).

    >>> import numpy as np
    >>> from maxmargin.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> phi = Nystroem(Gaussian(gamma=0.5), n_components=3).fit(X)
    >>> bool(np.allclose(phi(X) @ phi(X).T, Gaussian(gamma=0.5)(X)))
    True
    """

    learned: ClassVar[tuple[str, ...]] = ("components_", "component_indices_", "normalization_")
    kernel: Any
    n_components: int = 100
    random_state: int = 0

    def __post_init__(self) -> None:
        if not callable(getattr(self.kernel, "block", None)):
            raise ParameterError(
                f"Nystroem takes a kernel object such as maxmargin.kernels.Gaussian(gamma=0.1), got "
                f"kernel={self.kernel!r}."
            )
        self.n_components = integer_from("n_components", self.n_components, least=1)
        self.random_state = integer_from("random_state", self.random_state, least=0)
        for name in self.learned:
            vars(self).pop(name, None)

    def fit(self, X: Rows, y: Any = None) -> Nystroem:
        """Choose landmarks among the rows of X, an array or a source, every row with the same probability."""
        from_source = hasattr(type(X), "scan")
        rows = X if from_source else as_rows(X)
        n_rows = len(X) if from_source else count_rows(rows)
        if n_rows == 0:
            raise DataError("Nystroem chooses landmarks among the rows of X, and X has none.")
        drawn = np.random.default_rng(self.random_state).permutation(n_rows)[: self.n_components]
        self.component_indices_: RowIndex = np.sort(drawn)
        chosen = _rows_of_source if from_source else take_rows
        self.components_ = as_double(chosen(rows, self.component_indices_))
        self.normalization_ = _inverse_root(np.asarray(self.kernel.block(self.components_, self.components_)))
        return self

    def transform(self, X: Rows) -> NDArray[Any]:
        """Features of the rows of X: a dense array, float32 where X is."""
        if not hasattr(self, "normalization_"):
            raise DataError("Nystroem has no landmarks yet. Call fit(X) with rows to choose them from, then transform.")
        rows = as_rows(X)
        n_rows, m = count_rows(rows), len(self.normalization_)
        features = np.empty((n_rows, m), dtype=np.float32 if rows.dtype == np.float32 else np.float64)
        step = max(1, _KERNEL_VALUES // m)
        for top in range(0, n_rows, step):
            part = as_double(rows[top : top + step])
            # NumPy and BLAS let go of the interpreter for the products and the exponentials, and bring their threads.
            features[top : top + step] = self.kernel.block(part, self.components_) @ self.normalization_
        return features

    def output_features(self, d: int) -> int:
        """Count the features, which do not depend on d: one a landmark."""
        return len(self.normalization_) if hasattr(self, "normalization_") else self.n_components


def _rows_of_source(source: Any, chosen: RowIndex) -> Rows:
    """The chosen rows, whose numbers increase, in one pass over a source."""
    parts = []
    for block in source.scan():
        first, last = np.searchsorted(chosen, [block.start, block.start + block.X.shape[0]])
        if last > first:
            parts.append(take_rows(block.X, chosen[first:last] - block.start))  # copied: the block is overwritten
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _inverse_root(K: Matrix) -> Matrix:
    """K^(-1/2) on the span of the eigenvectors whose eigenvalues are more than rounding."""
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    rounding = len(K) * float(np.finfo(float).eps) * float(np.max(np.abs(values)))
    if values[0] < -64.0 * rounding:
        raise DataError(
            f"the kernel matrix of the landmarks has the eigenvalue {values[0]:.3g}, so it holds no inner products and "
            "there are no features. Use a kernel that is positive semidefinite; kernels.mercer_check looks for that."
        )
    kept = values > rounding
    inverse: Matrix = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return inverse
