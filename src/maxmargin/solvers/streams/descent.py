"""Newton's method for one sub-problem of a source, told as the questions that it asks of one pass after the other.

    minimise over w, b    1/2 |w|^2 + 1/2 (b / s)^2 + sum_i C_i l_i(<w, x_i> + b)

With the slopes v_i as multipliers (beta = -C v) and g the gradient in w, h that in b, the gap has two parts:

    apart    1/2 |g|^2 + 1/2 (s h)^2                                       which Newton steps bring to zero
    rows     sum_i C_i (l_{y_i}(f_i) + l_{y_i}*(v_i) - v_i f_i)            zero for a smooth loss

and the larger one is worked on: that of the rows by a move of the centres, with sigma growing. Centres do not move to
slopes with a much lower dual value, as those of a point far from the minimum. A free intercept has no
s; its share is what a Newton step in it would bring, h^2 over twice the curvature.

A step asks for all sums at its whole length, and for the slope of the objective along it at a grid of lengths. Where
the whole step is good, as it is at the end, a step costs one pass. Else the next one goes to the length at which the
slope vanishes between two of the grid, by interpolation, and asks again, at lengths between these two. It may end
rather behind that length than before it: the rows that stop it then have curvature for the next step. Where rows of a
smooth loss stop one step after the other at once, the answers for smaller costs come first, as in `newton`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

import numpy as np

from maxmargin._loops.curves import HINGE, TUBE
from maxmargin._types import Vector
from maxmargin.problems import SharedRows
from maxmargin.solvers.common.curve import curve_of
from maxmargin.solvers.linear.multipliers import GROWTH, MUCH, PATIENCE, RANGE, SHORT, SOFTENED
from maxmargin.solvers.linear.newton import SMALLER
from maxmargin.solvers.linear.newton_directions import ByFeatures, rows_for_one
from maxmargin.solvers.streams.kept import Model
from maxmargin.solvers.streams.questions import Question, Sums

_SLOW = 0.3  # a step that leaves more of the gap says that a sample of the rows is too rough for its matrix
_LENGTHS = np.append(0.3 ** np.arange(24.0)[::-1], 4.0)
_SMOOTH_LENGTHS = np.array([0.01, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0])
"""Lengths of a step at which its slope is asked for first; kinks may stop it very soon."""
_JAMMED = 5  # so many short steps in a row lead nowhere, where sigma cannot be lowered
_ON_THE_WAY = 1e-2  # tolerance for smaller costs
_LOOKS = 5  # at points along a step
_BEFORE, _BEHIND = 0.1, 0.3  # parts of the slope at the beginning of a step: between them, the step may end
_ROUNDING = 1e-9  # of the objective: a step may seem to make it larger by as much
_NEAR = 0.7  # of the tolerance: a violation that will be within it when it is computed again

Asking: TypeAlias = Generator[Question, Sums, None]


class StreamedDescent:
    """Where a sub-problem is, and what it asks for next."""

    def __init__(self, shared: SharedRows, p: int, w: Vector, b: float, dual: float, share: float):
        self.shared, self.p, self.w, self.b = shared, p, w, b
        self.scale = shared.intercept.scale
        self.curve = curve_of(shared.loss)
        self.has_kinks = self.curve.code in (HINGE, TUBE)
        self.height = float(np.std(shared.targets)) or 1.0 if shared.is_regression else 1.0
        self.sigma, self.cost, self.every = 1.0 / self.height, 1.0, 1
        self.is_close = self.is_begun = False
        self.primal, self.gap, self.violation, self.dual = np.inf, np.inf, np.inf, -np.inf
        self.centre_dual = dual
        """D at the coefficients that are the centres now."""
        self.share = share if self.has_kinks else 0.0
        """Of the rows, for which there is room in memory."""

    def run(self, tol: float) -> Asking:
        """Newton steps and moves of the centres, until the gap is within the tolerance or nothing helps."""
        self.is_close = False
        self.every = rows_for_one(self.shared.n_rows, len(self.w))
        seen = yield from self._begin()
        jammed = yield from self._steps(seen, tol, may_jam=not self.has_kinks)
        if not jammed:
            return
        self._before = self.w, self.b, self.primal, self.dual, self.gap, self.violation
        for factor in (*SMALLER, 1.0):
            seen = yield self._question(self.w, self.b)._replace(cost=float(factor))
            self.cost = float(factor)
            yield from self._steps(seen, tol if factor == 1.0 else _ON_THE_WAY, may_jam=False)

    def _steps(self, seen: Sums, tol: float, *, may_jam: bool) -> Generator[Question, Sums, bool]:
        """From a point where the sums are known; returns whether one row after the other stopped the steps at once."""
        least, largest = self.sigma / RANGE, self.sigma * RANGE
        short = 0
        while not self._look(seen, tol):
            if self.has_kinks and (self.apart <= self.rows or short >= PATIENCE):
                is_near = self.apart <= self.rows
                sigma = self.sigma * (GROWTH if is_near else SOFTENED)
                if not least <= sigma <= largest:
                    return False
                asked = self._question(self.w, self.b)._replace(sigma=sigma)
                if is_near or not self._is_worse(MUCH):
                    seen, self.centre_dual = (yield asked._replace(moved_from=self.sigma)), self.dual
                else:
                    seen = yield asked
                self.sigma, short = sigma, 0
                continue
            before, primal = self.gap, self.primal
            p, shift = self._direction(seen)
            slope = float(self.gradient @ p) + self.bias_gradient * shift
            if slope >= 0.0 and self.has_kinks:  # nothing but rounding
                short = PATIENCE
                continue
            lengths = _LENGTHS if self.has_kinks else _SMOOTH_LENGTHS
            seen, t = yield from self._go(seen, (self.w, self.b), slope, (p, shift), lengths)
            if t == 0.0 and not self.has_kinks:
                return may_jam
            short = 0 if t >= SHORT else short + 1 if t > 0.0 else PATIENCE
            self._look(seen, tol)
            if not self.has_kinks and self.every == 1 and self.gap >= before and self.primal >= primal:
                return False
            if may_jam and short >= _JAMMED:
                return True
            is_rough = self.every == 1 or self.gap > _SLOW * before
            self.every = 1 if is_rough else rows_for_one(seen.n_active, len(self.w))
        self.is_close = self.cost == 1.0
        return False

    def leave(self) -> None:
        """End where the steps are, or where they jammed, if they are on the way from smaller costs."""
        if self.cost < 1.0:
            self.w, self.b, self.primal, self.dual, self.gap, self.violation = self._before
            self.cost = 1.0

    def _question(self, w: Vector, b: float) -> Question:
        return Question(w, b, self.sigma, every=self.every, share=self.share, cost=self.cost)

    @property
    def move(self) -> Question | None:
        """What makes the slopes at a point looked at the coefficients; None where the present ones are better."""
        if np.isinf(self.primal) or (not self.is_close and self._is_worse(1.0)):
            return None
        return Question(self.w, self.b, self.sigma, self.sigma, is_last=True)

    def _is_worse(self, times: float) -> bool:
        """Whether the slopes at the point, as multipliers, leave a gap so many times that of the centres.

        Where a free intercept is not settled D is no bound, and can be above P.
        """
        return self.centre_dual <= self.primal and self.primal - self.dual > times * (self.primal - self.centre_dual)

    def _look(self, seen: Sums, tol: float) -> bool:
        """What follows from the sums at the point; whether it is near enough."""
        w, b, s = self.w, self.b, self.scale
        has_penalty = 0.0 < s < np.inf
        self.gradient = w - seen.combination
        self.bias_gradient = -seen.surplus + b / s**2 if s > 0.0 else 0.0
        self.corner = seen.corner + seen.kept_corner + s**-2.0 if s > 0.0 else 0.0
        if np.isinf(s):  # no more than the height of a score at a step, where no row has curvature
            self.corner = max(self.corner, abs(self.bias_gradient) / self.height)
        self.apart = 0.5 * float(self.gradient @ self.gradient)
        if self.corner > 0.0:
            self.apart += 0.5 * (s**2 if has_penalty else 1.0 / self.corner) * self.bias_gradient**2
        self.primal = 0.5 * float(w @ w) + seen.loss + (0.5 * (b / s) ** 2 if has_penalty else 0.0)
        self.rows = 0.0
        if self.has_kinks:
            self.rows = max(0.0, seen.loss + seen.conjugate + float(w @ seen.combination) + b * seen.surplus)
        self.gap = (self.apart + self.rows) / max(abs(self.primal), 1e-300)
        self.dual = self.primal - self.apart - self.rows
        self.violation = seen.violation
        return self.gap <= tol and self.violation <= _NEAR * tol

    def _direction(self, seen: Sums) -> tuple[Vector, float]:
        """Newton's step, or that of the model which knows the rows kept."""
        if not seen.kept:
            return ByFeatures(seen.H, seen.edge, self.corner).solve(self.gradient, self.bias_gradient)
        corner = max(0.0, self.corner - seen.kept_corner)
        model = Model(seen.H, seen.edge, corner, self.gradient, self.bias_gradient, self.scale > 0.0)
        return model.minimum(seen.kept, self.curve._replace(sigma=self.sigma))

    def _begin(self) -> Generator[Question, Sums, Sums]:
        """The sums at the point to begin with: the best between zero and what the rounds have come to.

        These have it from few rows at a time, and it can be very far away where features have large units. Until it is
        known, the point is what they have come to.
        """
        if self.is_begun:
            return (yield self._question(self.w, self.b))
        p, shift, zero = self.w, self.b, np.zeros_like(self.w)
        seen, t = (yield self._question(zero, 0.0)), 0.0
        slope = -float(seen.combination @ p) - (seen.surplus * shift if self.scale > 0.0 else 0.0)
        if slope < 0.0:
            seen, t = yield from self._go(seen, (zero, 0.0), slope, (p, shift), _LENGTHS)
        if t == 0.0:
            self.w, self.b = zero, 0.0
        self.is_begun = True
        return seen

    def _go(
        self, start: Sums, at: tuple[Vector, float], begin: float, step: tuple[Vector, float], first: Vector
    ) -> Generator[Question, Sums, tuple[Sums, float]]:
        """Go from a point along a step to where the slope along it vanishes, which is `begin` at first.

        Returns the sums there, and the length: 0 where no length looked at makes the objective smaller. `first` has the
        lengths to ask for.
        """
        (w, b), (p, shift) = at, step
        linear, square = float(w @ p), float(p @ p)
        if 0.0 < self.scale < np.inf:
            linear += b * shift / self.scale**2
            square += (shift / self.scale) ** 2
        most = _ROUNDING * (0.5 * float(w @ w) + start.loss)
        t, lengths, known = 1.0, first, {0.0: begin}
        for look in range(_LOOKS):
            further = lengths - t
            seen = yield self._question(w + t * p, b + t * shift)._replace(p=p, shift=shift, further=further)
            slopes = linear + lengths * square + seen.along
            known.update(zip(lengths.tolist(), slopes.tolist(), strict=True))
            slope = float(slopes[np.argmin(np.abs(further))])
            is_lower = _climbed(known, t) <= most
            is_flat = (_BEHIND if t >= 1.0 else _BEFORE) * begin <= slope <= -_BEHIND * begin
            if is_lower and (is_flat or look == _LOOKS - 1):
                self.w, self.b = w + t * p, b + t * shift
                return seen, t
            if is_flat:  # far behind a kink so near that the slope before it says nothing
                begin = -abs(slope)
            t, lengths = _narrowed(np.append(0.0, lengths), np.append(begin, slopes), first)
        return start, 0.0


def _climbed(slopes: dict[float, float], t: float) -> float:
    """By how much a function is higher at t than at 0, of which slopes at some lengths are known."""
    lengths = sorted(length for length in slopes if length <= t)
    values = np.array([slopes[length] for length in lengths])
    return 0.5 * float(np.diff(lengths) @ (values[1:] + values[:-1]))


def _narrowed(lengths: Vector, slopes: Vector, first: Vector) -> tuple[float, Vector]:
    """Where the slope is a little above 0 between two of the lengths, and lengths between these two."""
    aim = -0.5 * _BEHIND * slopes[0]
    k = int(np.argmax(slopes > aim))  # slopes grow with the length
    if slopes[k] <= aim:  # nowhere
        return float(lengths[-1]), first * lengths[-1]
    low, high = lengths[k - 1], lengths[k]
    t = low + (high - low) * float((aim - slopes[k - 1]) / (slopes[k] - slopes[k - 1]))
    return t, np.sort(np.append(np.linspace(low, high, len(first) + 1)[1:], t))
