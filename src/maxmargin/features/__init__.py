"""Feature maps phi(x), written out, with the kernels they equal; objects with `transform` and nothing to fit.

Quadratic()                        <x, z>^2
LinearQuadratic()                  1 + <x, z> + <x, z>^2
Monomials(degree, gamma, coef0)    (gamma <x, z> + coef0)^degree
GaussianSeries(gamma, terms)       exp(-gamma |x - z|^2), nearly
"""

from maxmargin.features.monomials import Monomials
from maxmargin.features.products import LinearQuadratic, Quadratic
from maxmargin.features.series import GaussianSeries

__all__ = ["GaussianSeries", "LinearQuadratic", "Monomials", "Quadratic"]
