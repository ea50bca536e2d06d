"""Clarabel, the interior-point method behind the reference solver, in a worker thread that Ctrl-C can stop.

minimise over x    1/2 x' P x + q' x
subject to         A x + s = b,   s in a product of cones
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from maxmargin._types import Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.problems import Status

_REGULARISATION = (
    1e-10  # clarabel's own 1e-8 makes it give up early at this tolerance: on 8 of 89 problems of the table
)
_TIGHT = 1e-13  # asked for always; the method takes what double precision gives and the certificate says what it was


@dataclass(frozen=True)
class QuadraticProgram:
    """1/2 x'Px + q'x subject to rows of A: the first `n_equal` as equations A x = b, the others as A x <= b."""

    P: Any
    q: Vector
    A: Any
    b: Vector
    n_equal: int


@dataclass(frozen=True)
class InteriorPoint:
    """Where the method ended: variables, multipliers of the rows of A, and how."""

    x: Vector
    z: Vector
    status: Status
    iterations: int


def solve_program(program: QuadraticProgram, max_iter: int | None, max_seconds: float | None) -> InteriorPoint:
    """Solve a convex quadratic program as precisely as double precision allows."""
    cones = [clarabel.NonnegativeConeT(len(program.b) - program.n_equal)]
    if program.n_equal:
        cones.insert(0, clarabel.ZeroConeT(program.n_equal))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TIGHT
    settings.static_regularization_constant = _REGULARISATION
    settings.max_iter = 200 if max_iter is None else max_iter
    if max_seconds is not None:
        settings.time_limit = max_seconds
    P = sparse.triu(sparse.csc_matrix(program.P), format="csc")

    def task(stop: StopFlag) -> Any:
        solver = clarabel.DefaultSolver(P, program.q, sparse.csc_matrix(program.A), program.b, cones, settings)
        solver.set_termination_callback(lambda _: bool(stop[0]))
        return solver.solve()

    result, interrupted = run_until_interrupted(task)
    return InteriorPoint(
        x=np.asarray(result.x),
        z=np.asarray(result.z),
        status=Status.INTERRUPTED if interrupted else _status(str(result.status)),
        iterations=int(result.iterations),
    )


def _status(word: str) -> Status:
    if word == "Solved":
        return Status.CONVERGED
    return Status.BUDGET if word in ("MaxIterations", "MaxTime") else Status.STALLED
