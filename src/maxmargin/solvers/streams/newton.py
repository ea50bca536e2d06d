"""Newton steps on a source with few features, for problems on which coordinate steps creep.

Where C is large for the scale of the rows, the dual is a long narrow valley, and steps in one coefficient after the
other go along it for ever. The primal has few variables however many rows there are, and a pass over the source gives
all that Newton's method (`solvers.linear.newton_method`) asks of it. Nothing is kept of a row but its coefficient,
which the dual trainers have as well; so a training can go from one method to the other.

`newton_passes` has what one pass tells of a point, and steps that see kinks coming, because the rows nearest to theirs
are copied into memory.

A step asks for all sums at its whole length, and for the slope of the objective along it at a grid of lengths. Where
the whole step is good, as it is at the end, a step costs one pass. Else the next one goes to the length at which the
slope vanishes between two of the grid, by interpolation, and asks again, at lengths between these two. It may end
rather behind that length than before it: the rows that stop it then have curvature for the next step.

Columns far from zero are centred (`solvers.common.centring`), block by block.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import StopFlag, one_blas_thread, run_together, thread_count
from maxmargin.data import ArraySource
from maxmargin.data.arrays import centred_rows
from maxmargin.data.rows import ArrayRows
from maxmargin.problems import SharedRows, Status
from maxmargin.problems.shared import SharedBlock, rows_of
from maxmargin.solvers.linear.newton_directions import MAX_FACTORED, ByFeatures, rows_for_one
from maxmargin.solvers.linear.newton_method import (
    Along,
    Asking,
    At,
    AtCost,
    Begin,
    Direction,
    Evaluation,
    NewtonMethod,
    Pace,
    Proximal,
    Question,
)
from maxmargin.solvers.streams.newton_passes import NearKinkModel, PassQuestion, PassSums

if TYPE_CHECKING:
    from maxmargin.solvers.streams.training import StreamTraining

_MATRICES = 4  # over the features, in hand at a time for a sub-problem, where one thread adds up
_SMALL = 1 << 24  # bytes: less is never too much
_NEAR_KINKS = 4  # this part of the memory is for near-kink rows
_ROWS_PER_FEATURE, _STEPS_IN_MEMORY = 4, 4e9  # rows, and multiplications for a matrix of theirs, at most
_SLOW = 0.3  # a step that leaves more of the gap says that a sample of the rows is too rough for its matrix
_LENGTHS = np.append(0.3 ** np.arange(24.0)[::-1], 4.0)
_SMOOTH_LENGTHS = np.array([0.01, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0])
"""Lengths of a step at which its slope is asked for first; kinks may stop it very soon."""
_EVALUATIONS = 5  # at points along a step
_BEFORE, _BEHIND = 0.1, 0.3  # parts of the slope at the beginning of a step: between them, the step may end
_ROUNDING = 1e-9  # of the objective: a step may seem to make it larger by as much

PassAsking: TypeAlias = Generator[PassQuestion, PassSums, Any]


def has_room(shared: SharedRows, memory: int) -> bool:
    """Whether there are few enough features, not none, and matrices over them fit into half of the memory."""
    return 0 < shared.n_features <= MAX_FACTORED and _most_matrices(shared, memory) >= _MATRICES


def _most_matrices(shared: SharedRows, memory: int) -> int:
    """How many matrices there is room for in each sub-problem."""
    matrix = 8 * shared.n_features**2
    return max(memory // 2, _SMALL) // (matrix * len(shared.specifications))


class RowsInPasses:
    """The rows of one sub-problem, as its method asks of them; what takes a pass is a question of its own."""

    pace = Pace(short=0.001, patience=5)

    def __init__(self, shared: SharedRows, share: float):
        self.shared, self.scale, self.curve = shared, shared.intercept.scale, shared.curve
        self.height = float(np.std(shared.targets)) or 1.0 if shared.is_regression else 1.0
        self.sigma, self.cost, self.every = 1.0 / self.height, 1.0, 1
        self.share = share if self.curve.has_kinks else 0.0
        """Of the rows, for which there is room in memory."""

    def asked_by(self, asking: Asking) -> Generator[PassQuestion, PassSums, Status]:
        """What a method asks, told as the questions that it takes of one pass after the other."""
        self.every = rows_for_one(self.shared.n_rows, self.shared.n_features)
        question = next(asking)
        while True:
            answer = yield from self._answer(question)
            try:
                question = asking.send(answer)
            except StopIteration as ended:
                status: Status = ended.value
                return status

    def _answer(self, question: Question) -> PassAsking:
        match question:
            case Begin(w, b):
                return (yield from self._begin(w, b))
            case At(w, b):
                return self._stand_at(w, b, (yield self._asked(w, b)))
            case Proximal(sigma, moves):
                moved_from = self.sigma if moves else None
                seen = yield self._asked(self.w, self.b)._replace(sigma=sigma, moved_from=moved_from)
                self.sigma = sigma  # only now: a budget may end before the pass does
                return self._stand_at(self.w, self.b, seen)
            case AtCost(cost):
                seen = yield self._asked(self.w, self.b)._replace(cost=cost)
                self.cost = cost
                return self._stand_at(self.w, self.b, seen)
            case Direction():
                return self._direction(question)
            case Along(p, shift, slope):
                lengths = _LENGTHS if self.curve.has_kinks else _SMOOTH_LENGTHS
                return (yield from self._go(self.seen, (self.w, self.b), slope, (p, shift), lengths))

    def _asked(self, w: Vector, b: float) -> PassQuestion:
        return PassQuestion(w, b, self.sigma, every=self.every, share=self.share, cost=self.cost)

    def _stand_at(self, w: Vector, b: float, seen: PassSums) -> Evaluation:
        """The sums at a point, where the next direction begins."""
        self.w, self.b, self.seen, s = w, b, seen, self.scale
        bias_gradient = -seen.surplus + b / s**2 if s > 0.0 else 0.0
        self.corner = seen.corner + seen.near_corner + s**-2.0 if s > 0.0 else 0.0
        if np.isinf(s):  # no more than the height of a score at a step, where no row has curvature
            self.corner = max(self.corner, abs(bias_gradient) / self.height)
        return Evaluation(w, b, seen.loss, seen.conjugate, seen.surplus, seen.violation, seen.combination, self.corner)

    def _direction(self, asked: Direction) -> tuple[Vector, float, bool]:
        """Newton's step, or that of the model which knows the near-kink rows."""
        seen, was_exact = self.seen, self.every == 1
        if seen.near:
            corner = max(0.0, self.corner - seen.near_corner)
            model = NearKinkModel(seen.H, seen.edge, corner, asked.gradient, asked.bias_gradient, self.scale > 0.0)
            step = model.minimum(seen.near, self.curve._replace(sigma=self.sigma))
        else:
            step = ByFeatures(seen.H, seen.edge, self.corner).solve(asked.gradient, asked.bias_gradient)
        if np.isfinite(asked.left):
            is_rough = was_exact or asked.left > _SLOW
            self.every = 1 if is_rough else rows_for_one(seen.n_active, len(self.w))
        return (*step, was_exact)

    def _begin(self, w: Vector, b: float) -> PassAsking:
        """The best point between zero and what the rounds have come to.

        These have it from few rows at a time, and it can be very far away where features have large units.
        """
        zero = np.zeros_like(w)
        seen = yield self._asked(zero, 0.0)
        evaluation = self._stand_at(zero, 0.0, seen)
        slope = -float(seen.combination @ w) - (seen.surplus * b if self.scale > 0.0 else 0.0)
        if slope < 0.0:
            evaluation, _ = yield from self._go(seen, (zero, 0.0), slope, (w, b), _LENGTHS)
        return evaluation

    def _go(
        self, start: PassSums, at: tuple[Vector, float], begin: float, step: tuple[Vector, float], first: Vector
    ) -> PassAsking:
        """Go from a point along a step to where the slope along it vanishes, which is `begin` at first.

        Returns the evaluation there, and the length: 0 where no length tried makes the objective smaller. `first`
        has the lengths to ask for.
        """
        (w, b), (p, shift) = at, step
        linear, square = float(w @ p), float(p @ p)
        if 0.0 < self.scale < np.inf:
            linear += b * shift / self.scale**2
            square += (shift / self.scale) ** 2
        most = _ROUNDING * (0.5 * float(w @ w) + start.loss)
        t, lengths, known = 1.0, first, {0.0: begin}
        for k in range(_EVALUATIONS):
            further = lengths - t
            seen = yield self._asked(w + t * p, b + t * shift)._replace(p=p, shift=shift, further=further)
            slopes = linear + lengths * square + seen.along
            known.update(zip(lengths.tolist(), slopes.tolist(), strict=True))
            slope = float(slopes[np.argmin(np.abs(further))])
            is_lower = _climbed(known, t) <= most
            is_flat = (_BEHIND if t >= 1.0 else _BEFORE) * begin <= slope <= -_BEHIND * begin
            if is_lower and (is_flat or k == _EVALUATIONS - 1):
                return self._stand_at(w + t * p, b + t * shift, seen), t
            if is_flat:  # far behind a kink so near that the slope before it says nothing
                begin = -abs(slope)
            t, lengths = _narrowed(np.append(0.0, lengths), np.append(begin, slopes), first)
        return self._stand_at(w, b, start), 0.0


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


class NewtonSteps:
    """The steps of all sub-problems of a training, in the same passes."""

    def __init__(self, training: StreamTraining):
        self.training, self.shared = training, training.shared
        weights, self.centre = training.certified, training.centre
        intercepts = training.point.intercepts + self._shifts(weights)
        share = self._share_near()
        self.rows = [RowsInPasses(self.shared, share) for _ in weights]
        for rows, sigma in zip(self.rows, training.place.stiffness, strict=False):  # none, unless they go on
            rows.sigma = sigma
        self.methods = [
            NewtonMethod(
                weights[p].copy(),
                float(intercepts[p]),
                scale=self.shared.intercept.scale,
                has_kinks=self.shared.curve.has_kinks,
                pace=RowsInPasses.pace,
                sigma=self.rows[p].sigma,
                centre_dual=float(dual),
            )
            for p, dual in enumerate(training.point.dual_values())
        ]
        for method in self.methods[: len(training.place.stiffness)]:
            method.is_begun = True
        n_more = _most_matrices(self.shared, training.memory) - _MATRICES
        n_threads = min(thread_count(training.solver.n_jobs), 1 + n_more, self.shared.n_blocks)
        self.buffers = [training.buffers[0], *(self.shared.buffers() for _ in range(n_threads - 1))]

    def _share_near(self) -> float:
        """The share of the rows that each sub-problem copies: what a part of the memory holds, and steps stay short."""
        n_rows, d = self.shared.n_rows, self.shared.n_features
        room = max(self.training.memory, _SMALL) / (_NEAR_KINKS * len(self.training.certified))
        row = self.training.cache.row_bytes * (1 if self.centre is None else 2)  # in double precision
        most = max(_ROWS_PER_FEATURE * d, _STEPS_IN_MEMORY / d**2)
        return float(min(1.0, room / row / n_rows, most / n_rows))

    def _shifts(self, weights: Matrix) -> Vector:
        """What a free intercept has more where rows are centred."""
        return np.zeros(len(weights)) if self.centre is None else weights @ self.centre

    def run(self, tol: float, stop: StopFlag) -> bool:
        """Step until all gaps are within the tolerance; False where a budget is spent, or nothing helps any more.

        Weights and intercepts of the training are then those of the points reached, and so are the coefficients unless
        those before are better.
        """
        running = {p: rows.asked_by(self.methods[p].run(tol)) for p, rows in enumerate(self.rows)}
        questions = {p: next(one) for p, one in running.items()}
        while questions and not self.training.is_spent(stop):
            answers = self._pass(questions, stop)
            questions = {}
            for p, answer in answers.items():
                try:
                    questions[p] = running[p].send(answer)
                except StopIteration:
                    continue
            if answers and self._are_begun:
                self._record()
                self._take_over()
                self.training.keep()
        for method in self.methods:
            method.leave()
        moves = {p: self._last(p) for p, method in enumerate(self.methods) if self._may_move(method)}
        if moves:
            self._pass(moves, stop)
        for p in moves:
            self.methods[p].centre_dual = self.methods[p].dual
        self._take_over()
        return all(method.is_close for method in self.methods)

    def _may_move(self, method: NewtonMethod) -> bool:
        """Whether the slopes at the point become the coefficients: unless the present ones are better."""
        return np.isfinite(method.primal) and (method.is_close or not method.is_worse(1.0))

    def _last(self, p: int) -> PassQuestion:
        method, sigma = self.methods[p], self.rows[p].sigma
        return PassQuestion(method.w, method.b, sigma, sigma, is_last=True)

    def _pass(self, questions: dict[int, PassQuestion], stop: StopFlag) -> dict[int, PassSums]:
        """The answers to the questions of sub-problems; none where time is up before the end, unless centres move.

        Each thread has blocks next to each other and sums of its own, so that the result is the same every time.
        """
        n_blocks, n_threads = self.shared.n_blocks, len(self.buffers)
        may_end = all(asked.moved_from is None for asked in questions.values())

        def add_up(thread: int, _: StopFlag) -> dict[int, PassSums] | None:
            answers = {p: PassSums.of(self.shared.n_features, len(asked.further)) for p, asked in questions.items()}
            for k in range(thread * n_blocks // n_threads, (thread + 1) * n_blocks // n_threads):
                if may_end and self.training.is_over(stop):
                    return None
                self._add(self.shared.read(k, self.buffers[thread]), questions, answers)
            return answers

        with one_blas_thread():
            found = run_together([partial(add_up, thread) for thread in range(n_threads)])
        if any(answers is None for answers in found):
            return {}
        totals: dict[int, PassSums] = found[0]
        for p, total in totals.items():
            for answers in found[1:]:
                total.add_sums(answers[p])
        self.training.place.passes += 1.0
        return totals

    def _add(self, block: SharedBlock, questions: dict[int, PassQuestion], answers: dict[int, PassSums]) -> None:
        """The rows of a block that count."""
        counted = block.cost > 0.0
        if not np.any(counted):
            return
        X = rows_of(block.X) if np.all(counted) else rows_of(block.X)[counted]
        if self.centre is not None:
            X = centred_rows(X, self.centre)
        target, cost = block.target[counted], block.cost[counted]
        rows = ArrayRows(ArraySource(X, target, cost), n_jobs=1)
        for p, question in questions.items():
            coefficients = self.training.point.beta[p, block.span]
            beta = coefficients[counted]
            y = self.shared.sub_targets(p, target)
            answers[p].add(rows, y, cost, beta, self.shared.curve, question)
            if question.moved_from is not None:
                coefficients[counted] = beta

    def _take_over(self) -> None:
        """The training's point, as a checkpoint or a certificate takes it, is the one reached."""
        training, is_free = self.training, self.shared.intercept.is_free
        bias = training.point.bias
        for p, one in enumerate(self.methods):
            training.point.weights[p] = one.w
            bias[p, 0] = one.b - float(self._shifts(one.w[None, :])[0]) if is_free else 0.0
            bias[p, 2] = one.b / bias[p, 1] if not is_free and bias[p, 1] > 0.0 else 0.0
        if self._are_begun:
            training.place.stiffness = tuple(one.sigma for one in self.methods)

    @property
    def _are_begun(self) -> bool:
        """Whether every sub-problem has a point of its own for its costs, and not that of the rounds before."""
        return all(method.is_begun and method.cost == 1.0 for method in self.methods)

    def _record(self) -> None:
        primal, dual = (np.array([getattr(one, name) for one in self.methods]) for name in ("primal", "dual"))
        best = np.maximum(dual, [one.centre_dual for one in self.methods])
        self.training.record(primal, best, max(one.violation for one in self.methods), estimated=True)
