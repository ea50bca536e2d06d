"""Clarabel, the interior-point method behind the reference solver, in a worker thread that Ctrl-C can stop.

minimise over x    1/2 x' P x + q' x
subject to         A x + s = b,   s in a product of cones

Clarabel looks at the clock once an iteration, and the first one ends only after the program is set up and factored. So
a program that cannot possibly come that far in its time is not begun.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.problems import Status

_REGULARISATION = (
    1e-10  # clarabel's own 1e-8 makes it give up early at this tolerance: on 8 of 89 problems of the table
)
_ENTRIES_A_SECOND = 1e7  # set up: several times what one core does
_PRODUCTS_A_SECOND = 2e10  # of a factor, likewise
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


def solve_program(program: QuadraticProgram, max_iter: int | None, end: float) -> InteriorPoint:
    """Solve a convex quadratic program as precisely as double precision allows.

    `end` is when, by `time.perf_counter`, the time is up; a point that nobody looked for is zero.
    """
    P, A = sparse.triu(sparse.csc_matrix(program.P), format="csc"), sparse.csc_matrix(program.A)
    if is_hopeless(np.diff(P.indptr), np.diff(A.tocsr().indptr), end):
        return not_begun(len(program.q), len(program.b))
    left = end - time.perf_counter()
    cones = [clarabel.NonnegativeConeT(len(program.b) - program.n_equal)]
    if program.n_equal:
        cones.insert(0, clarabel.ZeroConeT(program.n_equal))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TIGHT
    settings.static_regularization_constant = _REGULARISATION
    settings.max_iter = 200 if max_iter is None else max_iter
    if math.isfinite(left):
        settings.time_limit = left

    def task(stop: StopFlag) -> Any:
        solver = clarabel.DefaultSolver(P, program.q, A, program.b, cones, settings)
        solver.set_termination_callback(lambda _: bool(stop[0]))
        return solver.solve()

    result, interrupted = run_until_interrupted(task)
    return InteriorPoint(
        x=np.asarray(result.x),
        z=np.asarray(result.z),
        status=Status.INTERRUPTED if interrupted else _status(str(result.status)),
        iterations=int(result.iterations),
    )


def is_hopeless(columns: NDArray[Any], rows: NDArray[Any], end: float) -> bool:
    """Whether even a machine several times quicker than usual would not end its first iteration in time.

    Given are the entries in each column of the upper half of P, and in each row of A: the entries are set up, and m of
    them in one place are m^2 products of a factor.
    """
    entries, products = (sum(float(np.sum(counts.astype(float) ** k)) for counts in (columns, rows)) for k in (1, 2))
    return time.perf_counter() + entries / _ENTRIES_A_SECOND + products / _PRODUCTS_A_SECOND > end


def not_begun(n_variables: int, n_constraints: int) -> InteriorPoint:
    """What is there of a program that is not begun."""
    return InteriorPoint(np.zeros(n_variables), np.zeros(n_constraints), Status.BUDGET, 0)


def _status(word: str) -> Status:
    if word == "Solved":
        return Status.CONVERGED
    return Status.BUDGET if word in ("MaxIterations", "MaxTime") else Status.STALLED
