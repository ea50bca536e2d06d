"""The Gaussian kernel as a power series, cut off."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.errors import ParameterError
from maxmargin.features.monomials import count_monomials, weighted_monomials
from maxmargin.features.rows import as_rows, integer_from, number_from
from maxmargin.features.transformer import Transformer


@dataclass(unsafe_hash=True)  # by its parameters, as kernels are
class GaussianSeries(Transformer):
    """Features of the Gaussian kernel's Taylor series, of total degree below `terms`.

        exp(-gamma |x - z|^2) = exp(-gamma |x|^2) exp(-gamma |z|^2) sum_k (2 gamma <x, z>)^k / k!

    phi(x) is exp(-gamma |x|^2) times the monomials of x, those of degree k weighted so that they give
    (2 gamma)^k <x, z>^k / k!. With T terms, <phi(x), phi(z)> differs from the kernel by at most

        (2 gamma |x| |z|)^T / T!

    so T has to grow with the square of the data's radius, and phi(x) has binom(d + T - 1, T - 1) features.

    >>> import numpy as np
    >>> phi = GaussianSeries(gamma=0.5, terms=12)
    >>> x, z = np.array([[0.3, -1.0]]), np.array([[0.5, 0.2]])
    >>> error = phi(x) @ phi(z).T - np.exp(-0.5 * np.sum((x - z) ** 2))
    >>> bool(abs(error[0, 0]) < 1e-12)
    True
    """

    gamma: float
    terms: int

    def __post_init__(self) -> None:
        self.gamma = number_from("gamma", self.gamma, least=0.0, included=False)
        self.terms = integer_from("terms", self.terms, least=1)
        if not math.isfinite(max(self._series())):
            raise ParameterError(
                f"the coefficients of the series are too large to be computed with, got gamma={self.gamma:g} and "
                f"terms={self.terms}. Give smaller ones."
            )

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; CSR stays CSR."""
        rows = as_rows(X)
        features = weighted_monomials(rows, self._series())
        if sparse.issparse(rows):
            bell = np.exp(-self.gamma * rows.power(2).sum(axis=1)).ravel()
            features.data *= np.repeat(np.asarray(bell).ravel(), np.diff(features.indptr))
        else:
            features *= np.exp(-self.gamma * np.vecdot(rows, rows))[:, None]
        return features

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return count_monomials(d, self._series())

    def _series(self) -> list[float]:
        """(2 gamma)^k / k! for k = 0 to terms - 1."""
        return list(itertools.accumulate(range(1, self.terms), lambda c, k: c * 2 * self.gamma / k, initial=1.0))
