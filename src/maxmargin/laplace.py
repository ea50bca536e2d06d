"""The Laplace density, and the lasso as the most probable weights under it.

    p(x) = 1 / (2 b) exp(-|x - mean| / b)        b the scale; the variance is 2 b^2

Take targets y_i = <w, x_i> + noise, the noise normal with standard deviation sigma, and weights w_j drawn independently
from the Laplace density with mean 0 and scale b. Up to a constant, minus the logarithm of the posterior of w is

    1/(2 sigma^2) sum_i (y_i - <w, x_i>)^2 + 1/b |w|_1

The most probable w (maximum a posteriori) minimises it. Times 2 sigma^2 it is the sum form of the lasso,
sum_i (y_i - <w, x_i>)^2 + lambda |w|_1 with lambda = 2 sigma^2 / b. Times sigma^2 / n it is the objective of `Lasso`
with alpha = sigma^2 / (n b). A normal prior gives ridge regression in the same way; the peak of the Laplace density at
0 is what makes weights exactly zero.
"""

from __future__ import annotations

import numpy as np

from maxmargin._types import Vector
from maxmargin.errors import ParameterError


def pdf(x: Vector | float, mean: float = 0.0, scale: float = 1.0) -> Vector:
    """Density at x.

    >>> float(pdf(0.0, scale=2.0))
    0.25
    """
    return np.exp(logpdf(x, mean, scale))


def logpdf(x: Vector | float, mean: float = 0.0, scale: float = 1.0) -> Vector:
    """Logarithm of the density at x."""
    _check_positive("scale", scale)
    distance = np.abs(np.asarray(x, dtype=np.float64) - mean)
    return np.asarray(-distance / scale - np.log(2.0 * scale))


def cdf(x: Vector | float, mean: float = 0.0, scale: float = 1.0) -> Vector:
    """Probability of a value of at most x."""
    _check_positive("scale", scale)
    z = (np.asarray(x, dtype=np.float64) - mean) / scale
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0.0, tail, 1.0 - tail)


def fit(x: Vector) -> tuple[float, float]:
    """Mean and scale under which the sample is most probable: its median, and the mean distance from it.

    >>> fit([1.0, 2.0, 6.0])
    (2.0, 1.6666666666666667)
    """
    sample = np.asarray(x, dtype=np.float64)
    if sample.ndim != 1 or len(sample) == 0:
        raise ParameterError(f"x must be a list of at least one number, got an array of shape {sample.shape}.")
    mean = float(np.median(sample))
    return mean, float(np.mean(np.abs(sample - mean)))


def lambda_from_prior(sigma: float, scale: float) -> float:
    """Lambda of the lasso's sum form whose minimum is most probable: noise sigma, prior of that scale.

    >>> lambda_from_prior(sigma=2.0, scale=0.5)
    16.0
    """
    _check_positive("sigma", sigma)
    _check_positive("scale", scale)
    return 2.0 * sigma**2 / scale


def alpha_from_prior(sigma: float, scale: float, n: int) -> float:
    """The `alpha` of `Lasso` on n rows (the sum of their weights) whose weights are most probable.

    >>> alpha_from_prior(sigma=2.0, scale=0.5, n=100)
    0.08
    """
    _check_positive("n", n)
    return lambda_from_prior(sigma, scale) / (2.0 * n)


def negative_log_posterior(w: Vector, X: Vector, y: Vector, sigma: float, scale: float) -> float:
    """Minus the logarithm of likelihood times prior of weights w, with its constants.

    The likelihood is that of targets y with normal noise of standard deviation sigma around X w; the prior of every
    weight is the Laplace density of that scale around 0.
    """
    _check_positive("sigma", sigma)
    residual = (np.asarray(y, dtype=np.float64) - X @ np.asarray(w, dtype=np.float64)) / sigma
    noise = 0.5 * float(residual @ residual) + len(residual) * float(np.log(sigma * np.sqrt(2.0 * np.pi)))
    return noise - float(np.sum(logpdf(w, 0.0, scale)))


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < np.inf:
        raise ParameterError(f"{name} must be a positive number, got {name}={value!r}.")
