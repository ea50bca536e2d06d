"""The last digits: active-set Newton steps on the free multipliers.

At the optimum every multiplier is at a bound, at zero (where the loss has an absolute term) or free, and the free ones
satisfy linear equations. Close to the optimum a coordinate step from alpha tells which is which:

    t_i = alpha_i - g_i / (k_ii + diagonal_i)        g_i the slope of -D at alpha, including the intercept

and t_i, soft-thresholded by the absolute term and clipped to the box, is where multiplier i is heading. With the others
put where they are heading, the free ones and the intercept solve

    [ Q_FF + diagonal_F   s_F ] [ change of alpha_F ]   [ -g_F                      ]
    [ s_F'                0   ] [ change of b       ] = [ -sum_i s_i alpha_i        ]

This is a semismooth Newton step. It is taken only while the duality gap falls, so a wrong guess costs time, not truth.
"""

from __future__ import annotations

import numpy as np

from maxmargin._types import Vector
from maxmargin.certificates import Assessment, assess
from maxmargin.losses import DualBox, ResidualLoss
from maxmargin.problems import Problem
from maxmargin.solvers.feasible import balanced

_MAX_ROUNDS = 12
_MAX_FREE = 2500  # a dense least-squares solve of this size takes seconds


def polish(problem: Problem, alpha: Vector, box: DualBox, diagonal: Vector) -> tuple[Vector, Assessment]:
    """Improve feasible multipliers until the gap no longer falls; returns the best seen and its assessment."""
    best, seen = alpha, assess(problem, alpha, None, None)
    for _ in range(_MAX_ROUNDS):
        trial = _step(problem, best, float(np.asarray(seen.bias)), box, diagonal)
        if trial is None:
            break
        trial_seen = assess(problem, trial, None, None)
        if not trial_seen.difference < seen.difference:
            break
        best, seen = trial, trial_seen
    return best, seen


def _step(problem: Problem, alpha: Vector, b: float, box: DualBox, diagonal: Vector) -> Vector | None:
    signs = problem.coefficients(np.ones_like(alpha))
    offsets = problem.targets if isinstance(problem.loss, ResidualLoss) else 0.0
    scale = problem.intercept.scale
    curvature = diagonal + box.diagonal + (0.0 if problem.intercept.is_free else scale**2)
    curvature = np.where(curvature > 0.0, curvature, max(float(np.mean(curvature)), 1e-300))

    def slope(at: Vector) -> Vector:
        f = problem.combination_scores(signs * at)
        shift = b if problem.intercept.is_free else scale**2 * float(np.sum(signs * at))
        gradient: Vector = signs * (f + shift) - box.linear - offsets + box.diagonal * at
        return gradient

    heading = alpha - slope(alpha) / curvature
    heading = np.sign(heading) * np.maximum(np.abs(heading) - box.absolute / curvature, 0.0)
    heading = np.clip(heading, box.lower, box.upper)
    resting = (heading == box.lower) | (heading == box.upper) | ((heading == 0.0) & (box.absolute > 0.0))
    free = np.flatnonzero(~resting)
    if not 0 < len(free) <= _MAX_FREE:
        return None
    moved = np.where(resting, heading, alpha)
    missing = -(slope(moved) + box.absolute * np.sign(heading))[free]

    Q = problem.gram(free)
    if not problem.intercept.is_free:
        Q = Q + scale**2
    Q = Q * np.outer(signs[free], signs[free]) + np.diag(box.diagonal[free])
    if problem.intercept.is_free:
        edge = signs[free][:, None]
        system = np.block([[Q, edge], [edge.T, np.zeros((1, 1))]])
        right = np.append(missing, -float(np.sum(signs * moved)))
    else:
        system, right = Q, missing
    # Symmetric scaling first: the rows of kernels and of the balance can differ by many orders of magnitude.
    unit = 1.0 / np.sqrt(np.maximum(np.max(np.abs(system), axis=1), 1e-300))
    change = unit * np.linalg.lstsq(system * np.outer(unit, unit), unit * right, rcond=1e-14)[0]
    moved[free] += change[: len(free)]
    moved = np.clip(moved, box.lower, box.upper)
    return balanced(moved, signs, box) if problem.intercept.is_free else moved
