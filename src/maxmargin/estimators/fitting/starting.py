"""Where a fit begins when there was one before: the multipliers, weights and intercepts of a fitted machine.

A multiplier that stays at its bound grows with C, and so do all of them while C is small: multipliers are taken times
C_new / C_old and clipped to their new bounds. A solver that has a better use for them is free to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._types import Labels, Rows, Vector
from maxmargin.certificates import Claim, Point
from maxmargin.problems import History, Problem, Solution, Specification, Status
from maxmargin.solvers.common.feasible import carried_over


def starting_points(
    model: Any,
    specifications: Sequence[Specification],
    X: Rows,
    y: Labels,
    sample_weight: Vector | None,
) -> list[Solution | None]:
    """A start for each sub-problem from a fitted model, or None where that has other features or another task.

    With another number of rows than the model had only the weights and intercepts of a linear machine serve, and a
    kernel machine has none.
    """
    starts: list[Solution | None] = [None] * len(specifications)
    certificate = model.certificate_
    claims = [part.claim for part in certificate.parts or (certificate,)]
    if [claim.specification.task for claim in claims] != [one.task for one in specifications]:
        return starts
    is_linear = specifications[0].kernel is None
    if is_linear and np.shape(model.coef_)[-1] != X.shape[1]:
        return starts
    if not is_linear and any(claim.n_rows != len(y) for claim in claims):
        return starts
    for k, (specification, claim, point) in enumerate(zip(specifications, claims, model._points(), strict=True)):
        problem, rows = specification.problem(X, y, sample_weight)
        beta = np.zeros((problem.n_rows, *point.coefficients.shape[1:]))
        if claim.n_rows == len(y):
            beta = point.everywhere(len(y))[slice(None) if rows is None else rows]
        if is_linear:
            alpha = _multipliers(problem, beta, specification, claim)
        else:
            alpha = problem.loss.multipliers(beta, problem.targets)
            alpha = carried_over(alpha, problem.source.weight, claim.specification.C, specification.C)
        starts[k] = Solution(
            alpha=alpha,
            weights=np.array(point.weights, dtype=np.float64) if is_linear else None,
            bias=_bias(point) if is_linear else None,
            status=Status.BUDGET,
            history=History(),
            solver=certificate.solver,
            passes=0.0,
            seconds=0.0,
        )
    return starts


def _multipliers(problem: Problem, beta: Vector, specification: Specification, claim: Claim) -> Vector:
    """Multipliers of the coefficients, times C_new / C_old and inside their bounds."""
    alpha = problem.loss.multipliers(beta, problem.targets)
    if np.isfinite(specification.C) and np.isfinite(claim.specification.C):  # a hard margin has no cost
        alpha = alpha * (specification.C / claim.specification.C)
    if alpha.ndim == 2:  # the bounds of several multipliers a row are not a box
        return alpha
    box = problem.loss.domain(problem.costs)
    return np.asarray(np.clip(alpha, box.lower, box.upper))


def _bias(point: Point) -> float | Vector:
    bias = np.array(point.bias, dtype=np.float64)
    return float(bias.item()) if np.asarray(point.weights).ndim == 1 else bias
