"""Newton steps on a source with few features, for problems on which coordinate steps creep.

Where C is large for the scale of the rows, the dual is a long narrow valley, and steps in one coefficient after the
other go along it for ever. The primal has few variables however many rows there are, and a pass over the source gives
all that Newton's method wants of it: the gradient, and the matrix over the features. The method is that of
`multipliers` for a loss with kinks and of `newton` for a smooth one, which keep scores, slopes and curvatures of all
rows. Here nothing is kept but the coefficients, which the dual trainers have as well; so a training can go from one
method to the other.

    stream_questions    what a pass tells
    stream_kept         steps that know some of the rows
    stream_descent      what a sub-problem asks for

All sub-problems ask their questions in the same passes. Columns far from zero are looked at from nearby
(`solvers.common.centring`), block by block.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import StopFlag, one_blas_thread, run_together, thread_count
from maxmargin.data import ArraySource
from maxmargin.data.arrays import centred_rows
from maxmargin.data.passes import Passes
from maxmargin.problems import SharedRows
from maxmargin.problems.shared import SharedBlock, rows_of
from maxmargin.solvers.linear.newton_directions import MAX_FACTORED
from maxmargin.solvers.streams.descent import StreamedDescent
from maxmargin.solvers.streams.questions import Question, Sums

if TYPE_CHECKING:
    from maxmargin.solvers.streams.training import Training

_MATRICES = 4  # over the features, in hand at a time for a sub-problem, where one thread adds up
_SMALL = 1 << 24  # bytes: less is never too much
_KEPT = 4  # this part of the memory is for rows that are kept
_ROWS_PER_FEATURE, _STEPS_IN_MEMORY = 4, 4e9  # rows, and multiplications for a matrix of theirs, at most


def has_room(shared: SharedRows, memory: int) -> bool:
    """Whether there are few enough features, not none, and matrices over them fit into half of the memory."""
    return 0 < shared.n_features <= MAX_FACTORED and _most_matrices(shared, memory) >= _MATRICES


def _most_matrices(shared: SharedRows, memory: int) -> int:
    """How many matrices there is room for in each sub-problem."""
    matrix = 8 * shared.n_features**2
    return max(memory // 2, _SMALL) // (matrix * len(shared.specifications))


class NewtonSteps:
    """The steps of all sub-problems of a training."""

    def __init__(self, training: Training):
        self.training, self.shared = training, training.shared
        weights, self.centre = training.certified, training.centre
        share = self._share_kept()
        intercepts = training.point.intercepts + self._shifts(weights)
        self.descents = [
            StreamedDescent(self.shared, p, weights[p].copy(), float(intercepts[p]), float(dual), share)
            for p, dual in enumerate(training.point.dual_values())
        ]
        for descent, sigma in zip(self.descents, training.place.stiffness, strict=False):  # none, unless they go on
            descent.sigma, descent.is_begun = sigma, True
        n_more = _most_matrices(self.shared, training.memory) - _MATRICES
        n_threads = min(thread_count(training.solver.n_jobs), 1 + n_more, self.shared.n_blocks)
        self.buffers = [training.buffers[0], *(self.shared.buffers() for _ in range(n_threads - 1))]

    def _share_kept(self) -> float:
        """The share of the rows that each sub-problem keeps: what a part of the memory holds, and steps stay short."""
        n_rows, d = self.shared.n_rows, self.shared.n_features
        room = max(self.training.memory, _SMALL) / (_KEPT * len(self.training.certified))
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
        running = {descent.p: descent.run(tol) for descent in self.descents}
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
        for one in self.descents:
            one.leave()
        moves = {one.p: move for one in self.descents if (move := one.move) is not None}
        if moves:
            self._pass(moves, stop)
        for p in moves:
            self.descents[p].centre_dual = self.descents[p].dual
        self._take_over()
        return all(descent.is_close for descent in self.descents)

    def _pass(self, questions: dict[int, Question], stop: StopFlag) -> dict[int, Sums]:
        """The answers to the questions of sub-problems; none where time is up before the end, unless centres move.

        Each thread has blocks next to each other and sums of its own, so that the result is the same every time.
        """
        n_blocks, n_threads = self.shared.n_blocks, len(self.buffers)
        may_end = all(asked.moved_from is None for asked in questions.values())

        def add_up(turn: int, _: StopFlag) -> dict[int, Sums] | None:
            answers = {p: Sums.of(self.shared.n_features, len(asked.further)) for p, asked in questions.items()}
            for k in range(turn * n_blocks // n_threads, (turn + 1) * n_blocks // n_threads):
                if may_end and self.training.is_over(stop):
                    return None
                self._add(self.shared.read(k, self.buffers[turn]), questions, answers)
            return answers

        with one_blas_thread():
            found = run_together([partial(add_up, turn) for turn in range(n_threads)])
        if any(answers is None for answers in found):
            return {}
        totals: dict[int, Sums] = found[0]
        for p, total in totals.items():
            for answers in found[1:]:
                total.add_sums(answers[p])
        self.training.place.passes += 1.0
        return totals

    def _add(self, block: SharedBlock, questions: dict[int, Question], answers: dict[int, Sums]) -> None:
        """The rows of a block that count."""
        counted = block.cost > 0.0
        if not np.any(counted):
            return
        X = rows_of(block.X) if np.all(counted) else rows_of(block.X)[counted]
        if self.centre is not None:
            X = centred_rows(X, self.centre)
        target, cost = block.target[counted], block.cost[counted]
        rows = Passes(ArraySource(X, target, cost), n_jobs=1)
        for p, question in questions.items():
            coefficients = self.training.point.beta[p, block.span]
            beta = coefficients[counted]
            y = self.shared.sub_targets(p, target)
            answers[p].add(rows, y, cost, beta, self.descents[p].curve, question)
            if question.moved_from is not None:
                coefficients[counted] = beta

    def _take_over(self) -> None:
        """The training's point, as a checkpoint or a certificate takes it, is the one reached."""
        training, is_free = self.training, self.shared.intercept.is_free
        bias = training.point.bias
        for one in self.descents:
            training.point.weights[one.p] = one.w
            bias[one.p, 0] = one.b - float(self._shifts(one.w[None, :])[0]) if is_free else 0.0
            bias[one.p, 2] = one.b / bias[one.p, 1] if not is_free and bias[one.p, 1] > 0.0 else 0.0
        if self._are_begun:
            training.place.stiffness = tuple(one.sigma for one in self.descents)

    @property
    def _are_begun(self) -> bool:
        """Whether every sub-problem has a point of its own for its costs, and not that of the rounds before."""
        return all(descent.is_begun and descent.cost == 1.0 for descent in self.descents)

    def _record(self) -> None:
        primal, dual = (np.array([getattr(one, name) for one in self.descents]) for name in ("primal", "dual"))
        best = np.maximum(dual, [one.centre_dual for one in self.descents])
        self.training.record(primal, best, max(one.violation for one in self.descents), estimated=True)
