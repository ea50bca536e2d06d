"""Sums over all coefficients of a streamed problem, without the rows: the dual's share of the loss, and the balance.

The loops take the number of each row's class, or its target, and the weights of the rows where these are not all 1; no
vector with one entry a row is made.

    cost_i = C (weight_i factor_class)        factors has one entry in regression
"""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin._loops.compiling import loop
from maxmargin._loops.coordinate_steps import row_dual
from maxmargin._loops.curves import conjugate_value
from maxmargin._loops.loss_curve import Curve


class RowFacts(NamedTuple):
    """Targets and costs of all rows."""

    target: Any
    """Number of the class, or the number to be predicted."""
    weight: Any
    """One a row, or empty where all are 1."""
    factors: Any
    """Factor on C of each class; one number in regression."""
    C: float


@loop
def _facts(facts: RowFacts, signs: Any, i: int) -> Any:
    """Cost and target of a row."""
    weight = facts.weight[i] if len(facts.weight) > 0 else 1.0
    if len(signs) == 0:
        return facts.C * (weight * facts.factors[0]), facts.target[i]
    number = int(facts.target[i])
    return facts.C * (weight * facts.factors[number]), signs[number]


@loop
def conjugate_sum(curve: Curve, facts: RowFacts, signs: Any, beta: Any) -> float:
    """sum_i C_i l*(-beta_i / C_i) over the rows with a coefficient; the others add nothing."""
    total = 0.0
    for i in range(len(beta)):
        if beta[i] != 0.0:
            cost, y = _facts(facts, signs, i)
            total += cost * conjugate_value(curve, -beta[i] / cost, y)
    return total


@loop
def exact_sum(beta: Any) -> Any:
    """sum_i beta_i as good as in twice the precision, and the largest |beta_i|."""
    total, missed, largest = 0.0, 0.0, 0.0
    for i in range(len(beta)):
        new = total + beta[i]
        missed += (total - new) + beta[i] if abs(total) >= abs(beta[i]) else (beta[i] - new) + total
        total = new
        largest = max(largest, abs(beta[i]))
    return total + missed, largest


@loop
def _room(curve: Curve, facts: RowFacts, signs: Any, beta: Any, i: int, surplus: float) -> Any:
    """How far a coefficient between its bounds can move against the surplus without leaving its side of zero."""
    cost, y = _facts(facts, signs, i)
    low, high, _, _ = row_dual(curve, cost, y)
    a = beta[i]
    if a <= low or a >= high:
        return 0.0
    if (a > 0.0) == (surplus > 0.0):  # towards zero
        return abs(a)
    return min(abs(a), high - a if a > 0.0 else a - low)


@loop
def take_surplus(curve: Curve, facts: RowFacts, signs: Any, beta: Any, surplus: float) -> None:
    """Move sum_i beta_i by -surplus: coefficients between their bounds first, else the heavier side as a whole."""
    free, heavier = 0.0, 0.0
    for i in range(len(beta)):
        if beta[i] != 0.0:
            free += _room(curve, facts, signs, beta, i, surplus)
            if (beta[i] > 0.0) == (surplus > 0.0):
                heavier += abs(beta[i])
    if free >= 2.0 * abs(surplus):
        share = surplus / free
        for i in range(len(beta)):
            if beta[i] != 0.0:
                beta[i] -= share * _room(curve, facts, signs, beta, i, surplus)
    elif heavier > 0.0:
        share = min(abs(surplus) / heavier, 1.0)
        for i in range(len(beta)):
            if beta[i] != 0.0 and (beta[i] > 0.0) == (surplus > 0.0):
                beta[i] -= share * beta[i]
