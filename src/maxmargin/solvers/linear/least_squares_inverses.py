"""Inverses of the matrices of least squares, S and M of `least_squares_equations`: four ways to apply one.

cholesky    S formed in one pass and factored: few features
svd         a triangle R with R'R = S by orthogonal steps, block by block, without ever squaring; where R is
            singular, its pseudo-inverse, which gives the shortest of all minimisers: few features, ill conditioned
cg          conjugate gradients, each product one pass forth and back: many rows and features
gram        M formed and factored: few rows
"""

from __future__ import annotations

import math
import time

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular, svd

from maxmargin._types import Matrix, Vector
from maxmargin.data import as_double
from maxmargin.solvers.linear.least_squares_equations import Equations, Inverse

_WELL_CONDITIONED = 1e-10  # smallest squared pivot, of columns of length 1, that leaves no doubt about the rank
_CG_DIGITS = 1e-10
_BLOCK_BYTES = 8 << 20
_EPSILON = float(np.finfo(np.float64).eps)


def cholesky_inverse(equations: Equations) -> Inverse | None:
    """S formed and factored; None where it is too close to singular to be trusted."""
    S = equations.passes.products(equations.C)
    equations.n_passes += 1.0
    S -= (equations.t**2 * equations.q) * np.outer(equations.m, equations.m)
    S[np.diag_indices_from(S)] += equations.delta
    diagonal = np.diag(S)
    if not np.all(diagonal > 0.0):
        return None
    unit = 1.0 / np.sqrt(diagonal)
    try:
        R = cholesky(S * unit * unit[:, None], overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return _two_triangles(R, unit) if np.min(np.diag(R)) ** 2 >= _WELL_CONDITIONED else None


def gram_inverse(equations: Equations) -> Inverse:
    """M formed and factored. It is positive definite: what rounding can do to it, refinement undoes."""
    X = equations.problem.source.take(slice(None))
    if sparse.issparse(X):
        M = (as_double(X) @ as_double(X).T).toarray()
    else:  # a few columns at a time: X may be in single precision, and large
        M = np.zeros((len(X), len(X)))
        width = max(1, _BLOCK_BYTES // (8 * len(X)))
        for left in range(0, X.shape[1], width):
            columns = as_double(X[:, left : left + width])
            M += columns @ columns.T
    equations.n_passes += 1.0
    M /= equations.delta
    M[np.diag_indices_from(M)] += 1.0 / equations.C
    unit = 1.0 / np.sqrt(np.diag(M))
    M *= unit * unit[:, None]
    M[np.diag_indices_from(M)] += len(M) * _EPSILON
    return _two_triangles(cholesky(M, overwrite_a=True, check_finite=False), unit)


def _two_triangles(R: Matrix, unit: Vector) -> Inverse:
    """The inverse of S = U^-1 R'R U^-1 with U = diag(unit)."""

    def inverse(right: Vector) -> Vector:
        half = solve_triangular(R, unit * right, trans="T", check_finite=False)
        whole: Vector = unit * solve_triangular(R, half, check_finite=False)
        return whole

    return inverse


def triangle_inverse(equations: Equations) -> Inverse:
    """A triangle of S from orthogonal steps over centred rows; the pseudo-inverse of S where it is singular."""
    d = equations.passes.n_features
    mean = math.sqrt(max(0.0, equations.t - equations.t**2 * equations.q))
    parts = [mean * equations.m[None, :]] if mean > 0.0 else []
    if equations.delta > 0.0:
        parts.append(math.sqrt(equations.delta) * np.eye(d))
    R = np.vstack(parts) if parts else np.zeros((0, d))
    root, n = np.sqrt(equations.C), equations.passes.n_rows
    rows = max(2 * d, _BLOCK_BYTES // (8 * d))
    for top in range(0, n, rows):
        span = slice(top, min(top + rows, n))
        X = as_double(equations.problem.source.take(span))
        X = X.toarray() if sparse.issparse(X) else X
        R = np.vstack([R, root[span, None] * (X - equations.m)])
        if len(R) > d:
            R = qr(R, mode="r", overwrite_a=True, check_finite=False)[0][:d]
    equations.n_passes += 1.0
    length = np.linalg.norm(R, axis=0)
    negligible = max(n, d) * _EPSILON
    if len(R) == d and np.all(length > 0.0):
        unit = 1.0 / length
        if svd(R * unit, compute_uv=False, check_finite=False)[-1] > negligible:
            return _two_triangles(R * unit, unit)
    _, sigma, V = svd(R, full_matrices=False, check_finite=False)
    kept = sigma > negligible * sigma[0]
    sigma, V = sigma[kept], V[kept]
    return lambda right: V.T @ ((V @ right) / np.square(sigma))


class ConjugateGradients:
    """S^-1 by conjugate gradients, scaled by the diagonal where there is a penalty and no lack of rows.

    Unscaled, the iterates stay among the combinations of rows. With fewer rows than features these are few; without a
    penalty they lead to the shortest minimiser.
    """

    def __init__(self, equations: Equations, max_iter: int | None, end: float):
        self.equations, self.end = equations, end
        self.left = max_iter or 10 * equations.passes.n_features + 1000
        self.shift = equations.t**2 * equations.q
        self.scale = np.ones_like(equations.m)
        if equations.delta > 0.0 and equations.passes.n_rows >= equations.passes.n_features:
            spread = equations.passes.squared_combination(equations.C) - self.shift * np.square(equations.m)
            self.scale = 1.0 / (equations.delta + np.maximum(spread, 0.0))

    @property
    def is_exhausted(self) -> bool:
        """Whether the budget of iterations or of time is spent."""
        return self.left <= 0 or time.perf_counter() > self.end

    def _product(self, p: Vector) -> Vector:
        """S p."""
        equations = self.equations
        product = equations.combination(equations.C * equations.scores(p))
        return product - (self.shift * float(equations.m @ p)) * equations.m + equations.delta * p

    def __call__(self, right: Vector) -> Vector:
        """S^-1 right, to half of the digits or more; the next round of refinement sees what is left."""
        x, residual = np.zeros_like(right), right
        z = self.scale * residual
        p, rho = z, float(residual @ z)
        goal = _CG_DIGITS**2 * rho
        while rho > goal and not self.is_exhausted:
            self.left -= 1
            Sp = self._product(p)
            curvature = float(p @ Sp)
            if not curvature > 0.0:  # p has left the range of a singular S by rounding
                break
            x, residual = x + (rho / curvature) * p, residual - (rho / curvature) * Sp
            z = self.scale * residual
            rho, before = float(residual @ z), rho
            p = z + (rho / before) * p
        return x
