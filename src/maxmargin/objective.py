"""The two ways of weighing the loss against the margin.

The product writes sums, with C before the loss:

    1/2 |w|^2 + C sum_i l_i

Some lectures write means, with lambda before the norm:

    lambda/2 |w|^2 + 1/n sum_i l_i

The second is lambda times the first when C = 1 / (lambda n), so the same w minimises both.
"""

from __future__ import annotations

from maxmargin.errors import ParameterError


def C_from_lambda(lam: float, n: int) -> float:  # noqa: N802 - C is a letter of the notation
    """C of the sum form that has the same solution as `lam` of the mean form on `n` rows.

    >>> C_from_lambda(0.01, 200)
    0.5
    """
    _check_positive("lam", lam)
    _check_positive("n", n)
    return 1.0 / (lam * n)


def lambda_from_C(C: float, n: int) -> float:  # noqa: N802 - C is a letter of the notation
    """Lambda of the mean form that has the same solution as `C` of the sum form on `n` rows.

    >>> lambda_from_C(0.5, 200)
    0.01
    """
    _check_positive("C", C)
    _check_positive("n", n)
    return 1.0 / (C * n)


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ParameterError(f"{name} must be positive, got {name}={value!r}.")
