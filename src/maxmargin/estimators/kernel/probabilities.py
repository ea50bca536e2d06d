"""Probabilities of classes from scores, such that the most probable class is always the predicted one.

A pair of classes. f is the score of the pair's machine, positive where it decides for its positive class. The
probability of that class is a sigmoid of the score,

    p(f) = 1 / (1 + exp(-a f)),    a >= 0,

with one parameter. Platt's sigmoid has a second one, which moves p = 1/2 away from f = 0: it then contradicts
`predict` for the rows in between. Who wants the agreement has to give that parameter up, and this is what is done
here. It costs little where C, the weights and the intercept are chosen well; with a boundary in the wrong place the
probabilities are as wrong as the predictions. Rows count by their weights, so with class weights these are the
probabilities of a population in which the classes are as frequent as their weights say.

The slope a is fitted to scores of rows that the scoring machine has not seen: five folds, every class spread evenly.
Equal rows of a class share a fold, and what a row holds decides which, not where it stands: so a row of weight 2 is the
row twice, the order of the rows does not matter, and no machine scores a copy of what it was trained on. Of a pair one
of whose classes is all in one fold, the rows of that fold have no score. The slope minimises the convex function

    F(a) = -sum_i w_i (t_i log p(f_i) + (1 - t_i) log(1 - p(f_i)))

by Newton's method, with Platt's targets: (N+ + 1) / (N+ + 2) for the N+ positive rows and 1 / (N- + 2) for the others,
which keep a finite where the scores separate the classes. Where scores say the opposite of the truth, a = 0.
Lin, Lin and Weng, Machine Learning 68 (2007), have the method for two parameters.

Many classes. r_ij is the probability of class i in the pair of i and j. The probabilities p of all classes are those
that minimise

    sum_{i < j} (r_ji p_i - r_ij p_j)^2    subject to    sum_i p_i = 1,

which is one linear system a row (Wu, Lin and Weng, JMLR 5 (2004), second method). The pairs' votes decide what is
predicted; where p has another favourite than the votes, the nearest p that agrees is taken: the probabilities above a
level come down to it, and that of the predicted class goes up to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.certificates import Point
from maxmargin.data import as_double
from maxmargin.problems import Specification, combine_columns

N_FOLDS = 5
_STEPS = 200
_LEAST = 1e-7  # of the probabilities of pairs that are coupled: a pair alone never rules a class out
_BLOCK_ENTRIES = 1 << 22
_BLOCK_ROWS = 4096

Solve = Callable[[Sequence[Specification], Vector], Sequence[Point | None]]
"""Answers of sub-problems under given weights of the rows, None where there is none; weight zero is absence."""


def fit_slopes(
    pairs: Sequence[Specification],
    X: Rows,
    y: Labels,
    sample_weight: Vector | None,
    classes: Labels,
    solve: Solve,
    seed: int,
) -> Vector:
    """Slopes of the sigmoids, one a pair of classes."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    on_matrix = any(pair.kernel is not None and pair.kernel.on == "matrix" for pair in pairs)
    folds = _folds(None if on_matrix else X, y, weight, classes, seed)
    scores = _out_of_fold_scores(X, y, weight, pairs, solve, folds)
    slopes = np.zeros(len(pairs))
    for k, pair in enumerate(pairs):
        rows = np.flatnonzero(~np.isnan(scores[:, k]))
        factor = np.ones(len(rows))
        for label, of_class in pair.class_weight:
            factor[y[rows] == label] = of_class
        slopes[k] = sigmoid_slope(scores[rows, k], pair.task.targets(y[rows]) > 0.0, weight[rows], factor)
    return slopes


def _folds(X: Rows | None, y: Labels, weight: Vector, classes: Labels, seed: int) -> RowIndex:
    """Fold of every row, -1 for rows that are absent; the different rows of each class are spread evenly.

    Without X, for a precomputed kernel, whose rows do not show what is equal, every row counts as different.
    """
    kept = np.flatnonzero(weight > 0.0)
    digests = _digests(np.arange(len(kept))[:, None] if X is None else X[kept], seed)
    folds = np.full(len(y), -1)
    placed = 0
    for label in classes:
        of_class = y[kept] == label
        different, number = np.unique(digests[of_class], return_inverse=True)
        folds[kept[of_class]] = (placed + number) % N_FOLDS
        placed += len(different)  # the next class goes on where this one ended, so that the folds are equally large
    return folds


def _digests(X: Rows, seed: int) -> NDArray[np.uint64]:
    """A number for every row that depends on what it holds and on the seed, and looks random otherwise."""
    key = str(seed).encode()
    if getattr(X, "ndim", 1) == 1:
        contents = [str(word).encode() for word in X]
    else:
        contents = [row for top in range(0, X.shape[0], _BLOCK_ROWS) for row in _bytes_of(X[top : top + _BLOCK_ROWS])]
    words = [hashlib.blake2b(row, digest_size=8, key=key).digest() for row in contents]
    return np.frombuffer(b"".join(words), dtype="<u8").astype(np.uint64)


def _bytes_of(X: Rows) -> list[bytes]:
    """Places and values of the entries of each row that are not zero: the same for dense and sparse rows."""
    rows = sparse.csr_array(as_double(X))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    places, values = rows.indices.astype("<i8"), rows.data.astype("<f8")
    spans = [slice(start, end) for start, end in pairwise(rows.indptr.tolist())]
    return [places[span].tobytes() + values[span].tobytes() for span in spans]


def _out_of_fold_scores(
    X: Rows, y: Labels, weight: Vector, pairs: Sequence[Specification], solve: Solve, folds: RowIndex
) -> Matrix:
    """Score of every row by the machine of every pair it belongs to, trained without the row's fold; else nan.

    The kernel is that of the whole fit, gamma included.
    """
    scores = np.full((len(y), len(pairs)), np.nan)
    for fold in range(N_FOLDS):
        held = folds == fold
        seen = np.where(held | (folds < 0), 0.0, weight)
        rows = [_of(pair, y, held) for pair in pairs]
        with_both = [
            k for k, pair in enumerate(pairs) if len(rows[k]) and np.ptp(pair.task.targets(y[_of(pair, y, seen > 0)]))
        ]
        points = solve([pairs[k] for k in with_both], seen) if with_both else []
        for k, point in zip(with_both, points, strict=True):
            if point is None:
                continue
            kernel = pairs[k].kernel
            assert kernel is not None
            f = combine_columns(kernel, X[rows[k]], X, point.support, point.coefficients)
            scores[rows[k], k] = f + float(np.asarray(point.bias))
    return scores


def _of(pair: Specification, y: Labels, some: NDArray[np.bool_]) -> RowIndex:
    """Those of some rows that belong to a pair."""
    rows = pair.task.rows(y)
    return np.flatnonzero(some) if rows is None else rows[some[rows]]


def sigmoid_slope(f: Vector, is_positive: NDArray[np.bool_], weight: Vector, factor: Vector | float = 1.0) -> float:
    """The a >= 0 that minimises F; 0 where no score says anything.

    `weight` counts rows, also for the targets; `factor` is what else a row counts in F.
    """
    size = float(np.max(np.abs(f), initial=0.0))
    if size == 0.0 or not np.isfinite(size):
        return 0.0
    positive, negative = float(np.sum(weight[is_positive])), float(np.sum(weight[~is_positive]))
    t = np.where(is_positive, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    g = f / size  # a is of the order of 1 / |f|: the search is for u = a size
    mass = weight * factor
    if float(np.sum(mass * g * (0.5 - t))) >= 0.0:
        return 0.0
    u, low, high = 0.0, 0.0, np.inf
    for _ in range(_STEPS):
        p = expit(u * g)
        slope = float(np.sum(mass * g * (p - t)))
        low, high = (u, high) if slope < 0.0 else (low, u)
        curvature = float(np.sum(mass * g * g * p * (1.0 - p)))
        following = u - slope / curvature if curvature > 0.0 else np.inf
        following = min(following, 2.0 * u + 4.0)  # far out the curve is nearly straight, and Newton's step endless
        if not low < following < high:
            following = 0.5 * (low + high) if np.isfinite(high) else 2.0 * u + 4.0
        if abs(following - u) <= 4.0 * np.finfo(float).eps * u:
            break
        u = following
    return u / size


def two_class_probabilities(f: Vector, slope: float) -> Matrix:
    """Probabilities of the first and the second class for scores f of the second; the favourite is where f > 0."""
    p = np.column_stack([expit(-slope * f), expit(slope * f)])
    level = (f > 0.0) & (p[:, 1] <= p[:, 0])  # a score so small, or a slope, that rounding makes them equal
    p[level] = 1.0 - np.nextafter(0.5, 1.0), np.nextafter(0.5, 1.0)
    return p


def two_class_logarithms(f: Vector, slope: float) -> Matrix:
    """Logarithms of `two_class_probabilities`, finite also where the probability is too small for a double."""
    return np.column_stack([log_expit(-slope * f), log_expit(slope * f)])


def shifted_probabilities(f: Matrix, slopes: Vector, shifts: Vector, n_classes: int) -> Matrix:
    """Probabilities as LIBSVM has them: p(f) = 1 / (1 + exp(-a f + B)) for each pair, whatever is predicted."""
    pairs = np.clip(expit(slopes * f - shifts), _LEAST, 1.0 - _LEAST)
    return np.column_stack([1.0 - pairs, pairs]) if n_classes == 2 else _coupled(pairs, n_classes)


def coupled_probabilities(f: Matrix, slopes: Vector, chosen: RowIndex, n_classes: int) -> Matrix:
    """Probabilities of all classes for the scores f of pairs, positive for the first of a pair; `chosen` is largest."""
    p = np.empty((len(f), n_classes))
    step = max(1, _BLOCK_ENTRIES // (n_classes + 1) ** 2)
    for top in range(0, len(f), step):
        rows = slice(top, top + step)
        p[rows] = agreeing(_coupled(expit(slopes * f[rows]), n_classes), chosen[rows])
    return p


def _coupled(pairs: Matrix, n_classes: int) -> Matrix:
    """Probabilities of classes from those of the first class of each pair: the linear system of the optimum.

    With Q_ii = sum_j r_ji^2 and Q_ij = -r_ij r_ji it reads Q p + b = 0, sum_i p_i = 1.
    """
    first, second = np.triu_indices(n_classes, 1)
    r = np.zeros((len(pairs), n_classes, n_classes))
    r[:, first, second] = np.clip(pairs, _LEAST, 1.0 - _LEAST)
    r[:, second, first] = 1.0 - r[:, first, second]
    system = np.ones((len(pairs), n_classes + 1, n_classes + 1))
    system[:, -1, -1] = 0.0
    system[:, :-1, :-1] = -r * r.transpose(0, 2, 1)
    every = np.arange(n_classes)
    system[:, every, every] = np.sum(np.square(r), axis=1)
    right = np.zeros((len(pairs), n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 0.0)
    probabilities: Matrix = p / np.sum(p, axis=1, keepdims=True)
    return probabilities


def agreeing(p: Matrix, chosen: RowIndex) -> Matrix:
    """The nearest probabilities of which the chosen class has the largest, in the eyes of `argmax`."""
    p = p.copy()
    wrong = np.flatnonzero(np.argmax(p, axis=1) != chosen)
    for i in wrong:
        own, k = p[i], chosen[i]
        others = np.sort(np.delete(own, k))[::-1]
        # The level at which the chosen class and the m largest others meet; the others below it stay.
        levels = (own[k] + np.cumsum(others)) / np.arange(2, len(own) + 1)
        level = levels[int(np.argmax(levels >= np.append(others[1:], -np.inf)))]
        own[:] = np.minimum(own, level)
        own[k] = max(level, np.nextafter(np.max(np.delete(own, k)), 1.0))
    return p
