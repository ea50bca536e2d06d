"""exp for arguments that are not positive, in plain arithmetic, so that a loop over it uses vector instructions.

x = k log 2 + r with a whole k and |r| <= log(2) / 2; exp(r) is a polynomial, and 2^k goes into the exponent's bits. The
result is within 2 units in the last place. Arguments so small that the result would be denormal give the smallest
normal number instead.

k is found by adding 1.5 times 2^(bits of the mantissa), which rounds to a whole number: so these loops must not be
compiled with reassociation, which would take the number away again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import elementwise_loop

_SINGLE = tuple(np.float32(c) for c in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2))
_DOUBLE = tuple(1.0 / float(f) for f in (6227020800, 479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24))


@elementwise_loop
def exp_single(x: Any) -> Any:
    """exp(x) of a float32 x <= 0."""
    x = max(x, np.float32(-87.0))
    shifted = x * np.float32(1.44269504) + np.float32(12582912.0)
    k = shifted - np.float32(12582912.0)
    r = x - k * np.float32(0.693359375)
    r = r - k * np.float32(-2.12194440e-4)
    p = _SINGLE[0]
    p = p * r + _SINGLE[1]
    p = p * r + _SINGLE[2]
    p = p * r + _SINGLE[3]
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * (r * r) + r + np.float32(1.0)
    power = np.int32(np.float32(shifted).view(np.int32)) << np.int32(23)
    return np.int32(np.float32(p).view(np.int32) + power).view(np.float32)


@elementwise_loop
def exp_double(x: Any) -> Any:
    """exp(x) of a float64 x <= 0."""
    x = max(x, -708.0)
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    r = x - k * 6.93145751953125e-1
    r = r - k * 1.42860682030941723212e-6
    p = _DOUBLE[0]
    p = p * r + _DOUBLE[1]
    p = p * r + _DOUBLE[2]
    p = p * r + _DOUBLE[3]
    p = p * r + _DOUBLE[4]
    p = p * r + _DOUBLE[5]
    p = p * r + _DOUBLE[6]
    p = p * r + _DOUBLE[7]
    p = p * r + _DOUBLE[8]
    p = p * r + _DOUBLE[9]
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * (r * r) + r + 1.0
    power = np.int64(np.float64(shifted).view(np.int64)) << np.int64(52)
    return np.int64(np.float64(p).view(np.int64) + power).view(np.float64)
