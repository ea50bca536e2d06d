"""Kernels: similarities k(x, z) = <phi(x), phi(z)>, as small values that compose.

>>> similarity = 0.5 * Gaussian(gamma=0.1) + Linear()
>>> similarity
0.5 * Gaussian(gamma=0.1) + Linear()
>>> print(similarity)
0.5 exp(-0.1 |x - z|^2) + <x, z>
"""

from maxmargin.kernels.base import Kernel, exp
from maxmargin.kernels.given import FeatureMap, Precomputed, from_function
from maxmargin.kernels.mercer import MercerReport, mercer_check
from maxmargin.kernels.strings import EditDistance
from maxmargin.kernels.vectors import Gaussian, Laplacian, Linear, Polynomial, Sigmoid, as_kernel, from_record

__all__ = [
    "EditDistance",
    "FeatureMap",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "MercerReport",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "as_kernel",
    "exp",
    "from_function",
    "from_record",
    "mercer_check",
]
