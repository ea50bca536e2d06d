"""Feature maps phi(x), written out, with the kernels they equal; objects with `transform`, most with nothing to fit.

Quadratic()                                 <x, z>^2
LinearQuadratic()                           1 + <x, z> + <x, z>^2
Monomials(degree, gamma, coef0)             (gamma <x, z> + coef0)^degree
GaussianSeries(gamma, terms)                exp(-gamma |x - z|^2), nearly
RandomFourier(gamma, n_components)          exp(-gamma |x - z|^2), on average
Nystroem(kernel, n_components).fit(X)       a kernel, projected onto the span of some rows
HashedNGrams(n_features, ngram_range)       common n-grams of texts, on average
KMers(k)                                    common k-mers of DNA sequences
"""

from maxmargin.features.approximation import Nystroem, RandomFourier
from maxmargin.features.kmers import KMers
from maxmargin.features.monomials import GaussianSeries, LinearQuadratic, Monomials, Quadratic
from maxmargin.features.texts import HashedNGrams

__all__ = [
    "GaussianSeries",
    "HashedNGrams",
    "KMers",
    "LinearQuadratic",
    "Monomials",
    "Nystroem",
    "Quadratic",
    "RandomFourier",
]
