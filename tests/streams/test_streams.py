"""Training on data larger than memory: three trainers, their certificates, and checkpoints."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

import maxmargin
from maxmargin import LinearSVC, LinearSVR, LogisticRegression, Status, evaluate, load
from maxmargin._loops.rows import DenseRows
from maxmargin._loops.streams import screen_rows
from maxmargin.data import ArraySource, Block
from maxmargin.errors import (
    CertificateError,
    CheckpointError,
    DataError,
    DataTypeError,
    NotConvergedWarning,
    ParameterError,
)
from maxmargin.losses import Hinge, Squared
from maxmargin.problems import Intercept, Pair, SharedRows, Specification
from maxmargin.solvers.streams.cache import RowCache, State
from maxmargin.solvers.streams.cached_loops import CachedLoops
from maxmargin.solvers.streams.state import StreamedPoint, new_sweep
from maxmargin.solvers.streams.trainers import BlockMinimisation, SelectiveBlockMinimisation

ROUNDING = 1e-12  # a trainer may end at the optimum to the last digit
STREAMS = ("block", "selective-block", "cached-loops")
TRAINERS = (BlockMinimisation, SelectiveBlockMinimisation, CachedLoops)


class MemorySource:
    """Arrays as a source of blocks of a given number of rows, whose buffers are reused as those of files are."""

    def __init__(self, X, y, weight=None, block_rows=50, reuse=False):
        self.X, self.y, self._weight, self.block_rows = X, y, weight, block_rows
        self.n_rows, self.n_features = X.shape
        self.n_blocks = -(-self.n_rows // block_rows)
        self.classes, codes = np.unique(y, return_inverse=True)
        self.codes = codes.astype(np.int8)
        self.reads = []
        if reuse:
            self.buffers = lambda: np.full((block_rows, self.n_features), np.nan, dtype=X.dtype)
            self.read = self._read

    def block(self, k):
        self.reads.append(k)
        rows = slice(k * self.block_rows, min((k + 1) * self.block_rows, self.n_rows))
        weight = np.ones(rows.stop - rows.start) if self._weight is None else self._weight[rows]
        return Block(self.X[rows], self.y[rows], weight, rows.start)

    def _read(self, k, buffers):
        block = self.block(k)
        buffers[:] = np.nan  # what was read before is gone
        buffers[: len(block.y)] = block.X
        return block._replace(X=buffers[: len(block.y)])

    def fingerprint(self):
        return f"{self.n_rows} rows, {float(np.sum(self.X)):.17g}"


def table(n=400, d=10, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.3
    return X, np.where(X[:, 0] - X[:, 1] + noise * rng.normal(size=n) > 0.4, 1, -1)


def rows_with(X, y, loss, C):
    return SharedRows(MemorySource(X, y), [Specification(Pair(-1, 1), loss, C, Intercept.FREE)], None)


def a_tenth(X):
    """Bytes in which about a tenth of the rows fit."""
    X = sparse.csr_matrix(X) if sparse.issparse(X) else X
    entries = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
    return int(0.1 * (entries + 40 * X.shape[0]))


@pytest.mark.parametrize("intercept", ["free", "augmented"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("stream", STREAMS)
def test_every_trainer_reaches_the_optimum_of_the_fit_in_memory_with_a_tenth_of_the_rows(stream, loss, intercept):
    X, y = table()
    settings = {"loss": loss, "C": 0.02, "intercept": intercept}
    optimum = LinearSVC(tol=1e-8, **settings).fit(X, y).certificate_
    source = MemorySource(X, y)
    model = LinearSVC(stream=stream, memory=a_tenth(X), tol=1e-3, **settings).fit(source)
    certificate = model.certificate_
    assert certificate.status is Status.CONVERGED
    assert optimum.dual - ROUNDING <= certificate.primal <= optimum.primal * (1.0 + 1.1e-3)
    assert certificate.solver == stream
    again, in_memory = certificate.verify(source), certificate.verify(X, y)
    assert again.primal == pytest.approx(in_memory.primal, rel=1e-12)
    assert again.dual == pytest.approx(in_memory.dual, rel=1e-12)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.slow
def test_every_trainer_reaches_the_optimum_of_regression(stream, loss):
    X, _ = table()
    y = X[:, 0] - 2.0 * X[:, 1] + 3.0 + 0.3 * np.random.default_rng(1).normal(size=len(X))
    settings = {"loss": loss, "C": 0.05, "epsilon": 0.2}
    optimum = LinearSVR(tol=1e-8, **settings).fit(X, y).certificate_
    model = LinearSVR(stream=stream, memory=2 * a_tenth(X), tol=1e-3, **settings).fit(MemorySource(X, y))
    assert model.certificate_.status is Status.CONVERGED
    assert optimum.dual - ROUNDING <= model.certificate_.primal <= optimum.primal * (1.0 + 1.1e-3)
    model.certificate_.verify(X, y)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.slow
def test_sparse_rows_of_uneven_length_in_single_precision_give_the_optimum(stream):
    X, y = table(n=300, d=40)
    rng = np.random.default_rng(2)
    X[rng.random(X.shape) < np.linspace(0.2, 0.98, len(X))[:, None]] = 0.0
    X[5] = 0.0
    A = sparse.csr_matrix(X.astype(np.float32))
    optimum = LinearSVC(loss="hinge", C=0.1, tol=1e-8).fit(A, y).certificate_
    source = MemorySource(A, y)
    model = LinearSVC(loss="hinge", C=0.1, tol=1e-3, stream=stream, memory=8000).fit(source)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(optimum.primal, rel=1e-3)
    model.certificate_.verify(source)
    model.certificate_.verify(A, y)


@pytest.mark.parametrize("block_rows", [1, 7, 400])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.slow
def test_blocks_of_any_size_give_the_same_model(stream, block_rows):
    X, y = table(n=200, d=5)
    model = LinearSVC(C=0.1, tol=1e-6, stream=stream, memory=2 * a_tenth(X)).fit(
        MemorySource(X, y, block_rows=block_rows)
    )
    whole = LinearSVC(C=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, atol=2e-3)


@pytest.mark.parametrize("eviction", [True, False])
@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_optimum_does_not_depend_on_eviction(trainer, eviction):
    X, y = table(n=300, d=5)
    problem = rows_with(X, y, Hinge(), 0.02).problems[0]
    optimum = LinearSVC(loss="hinge", C=0.02, tol=1e-8).fit(X, y).certificate_.primal
    solution = trainer(tol=1e-3, memory=3 * a_tenth(X), eviction=eviction).solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.assessment.primal == pytest.approx(optimum, rel=1e-3)


@pytest.mark.parametrize("stream", STREAMS)
def test_several_classes_with_words_for_labels_share_the_passes(stream):
    X, _ = table(n=300, d=6)
    y = np.array(["ash", "birch", "cedar"])[np.digitize(X[:, 0] + X[:, 1], [0.0, 1.2])]
    source = MemorySource(X, y, block_rows=30)
    model = LinearSVC(loss="hinge", C=0.05, tol=1e-3, stream=stream, memory=3 * a_tenth(X)).fit(source)
    whole = LinearSVC(loss="hinge", C=0.05, tol=1e-6).fit(X, y)
    assert model.classes_.tolist() == ["ash", "birch", "cedar"]
    for part, best in zip(model.certificate_.parts, whole.certificate_.parts, strict=True):
        assert part.primal == pytest.approx(best.primal, rel=1.1e-3)
    # A pass reads every block once, whatever the number of classes. Before it come one for the weights, and a block.
    assert len(source.reads) == 1 + (1 + model.certificate_.parts[0].passes) * source.n_blocks
    model.certificate_.verify(source)
    model.certificate_.verify(X, y)


@pytest.mark.parametrize("stream", STREAMS)
def test_weights_of_blocks_count_as_repeated_and_absent_rows(stream):
    X, y = table(n=240, d=5)
    weight = np.random.default_rng(3).integers(0, 3, size=len(y)).astype(float)
    times = weight.astype(int)
    model = LinearSVC(C=0.05, tol=1e-6, stream=stream, memory=3 * a_tenth(X)).fit(MemorySource(X, y, weight))
    repeated = LinearSVC(C=0.05, tol=1e-9).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert model.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-6)
    model.certificate_.verify(X, y)
    model.certificate_.verify(MemorySource(X, y, weight))


@pytest.mark.parametrize("class_weight", ["balanced", {1: 3.0}])
def test_class_weights_are_those_of_a_fit_in_memory(class_weight):
    X, y = table(n=200, d=4)
    settings = {"C": 0.05, "class_weight": class_weight}
    model = LinearSVC(tol=1e-6, memory=3 * a_tenth(X), **settings).fit(MemorySource(X, y))
    whole = LinearSVC(tol=1e-9, **settings).fit(X, y)
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-6)


HARD = {
    "duplicated rows": lambda X, y: (np.repeat(X[:40], 6, axis=0), np.repeat(y[:40], 6)),
    "constant and zero columns": lambda X, y: (np.column_stack([X, np.ones(len(X)), np.zeros(len(X))]), y),
    "tiny scale": lambda X, y: (1e-6 * X, y),
    "large scale": lambda X, y: (1e3 * X, y),
    "one row of a class": lambda X, y: (X, np.where(np.arange(len(y)) == 17, 1, -1)),
    "fewer rows than columns": lambda X, y: (np.hstack([X[:30], X[30:60], X[60:90]]), y[:30]),
    "zero rows": lambda X, y: (np.where((np.arange(len(X)) % 3 == 0)[:, None], 0.0, X), y),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("stream", STREAMS)
def test_hard_tables_end_at_the_optimum(stream, case):
    X, y = HARD[case](*table(n=240, d=12))
    size = np.sqrt(np.mean(np.sum(X * X, axis=1)))
    settings = {"loss": "hinge", "C": 0.3 / size**2}
    optimum = LinearSVC(tol=1e-8, **settings).fit(X, y).certificate_.primal
    model = LinearSVC(tol=1e-3, stream=stream, memory=max(3 * a_tenth(X), 6000), **settings).fit(MemorySource(X, y))
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal <= optimum * (1.0 + 1.1e-3)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.slow
def test_buffers_that_are_overwritten_change_nothing(stream):
    X, y = table(n=200, d=5)
    fits = [
        LinearSVC(C=0.1, tol=1e-6, stream=stream, memory=3 * a_tenth(X)).fit(MemorySource(X, y, reuse=reuse))
        for reuse in (False, True)
    ]
    assert fits[1].certificate_.status is Status.CONVERGED
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=2e-3)


@pytest.mark.parametrize("stream", STREAMS)
def test_rows_that_all_fit_are_read_once_and_for_the_check(stream):
    X, y = table(n=200, d=5)
    source = MemorySource(X, y, block_rows=20)
    model = LinearSVC(loss="hinge", C=0.1, tol=1e-5, stream=stream, memory="1MB").fit(source)
    checks = sum(not estimated for estimated in model.history_.estimated)
    assert len(source.reads) == 1 + source.n_blocks * (2 + checks)  # one for weights


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.slow
def test_arrays_are_a_source_for_a_trainer_by_its_name(stream):
    X, y = table(n=150, d=4)
    model = LinearSVC(C=0.1, tol=1e-5, stream=stream, memory=10_000).fit(X, y, sample_weight=np.full(150, 2.0))
    same = LinearSVC(C=0.2, tol=1e-9).fit(X, y)
    assert model.certificate_.primal == pytest.approx(same.certificate_.primal, rel=2e-5)
    assert model.n_features_in_ == 4
    LinearSVC(C=0.1, memory=10_000).fit(ArraySource(X, y, np.ones(150))).certificate_.verify(X, y)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.slow
def test_a_file_is_trained_on_and_certified(stream, tmp_path):
    X, y = table(n=300, d=6)
    X = X.astype(np.float32)
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()))
        for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "train.svm").write_text("\n".join(lines) + "\n")
    with maxmargin.open(tmp_path / "train.svm", memory="4KB") as source:
        assert source.n_blocks > 3
        model = LinearSVC(C=0.05, tol=1e-4, stream=stream, memory="5KB").fit(source)
        model.certificate_.verify(source)
    model.certificate_.verify(X, y)
    best = LinearSVC(C=0.05, tol=1e-8).fit(X, y).certificate_.primal
    assert model.certificate_.primal == pytest.approx(best, rel=2e-4)


def test_a_path_does_not_go_through_a_trainer_of_sources():
    X, y = table(n=60, d=4)
    with pytest.raises(ParameterError, match="stream='block'"):
        evaluate.path(LinearSVC(stream="block"), X, y, C=[0.1, 1.0])


def test_history_says_which_checks_are_estimates_and_ends_with_an_exact_one():
    X, y = table()
    history = LinearSVC(C=0.02, memory=a_tenth(X)).fit(MemorySource(X, y)).history_
    assert history.estimated[-1] is False
    assert history.estimated[0] is True
    assert len(history.estimated) == len(history.gap)


def test_a_certificate_does_not_hold_for_other_rows():
    X, y = table(n=200, d=4)
    model = LinearSVC(C=0.1, memory=10_000).fit(MemorySource(X, y))
    with pytest.raises(CertificateError):
        model.certificate_.verify(MemorySource(X[::-1].copy(), y))
    with pytest.raises(DataError, match="200 rows"):
        model.certificate_.verify(MemorySource(X[:100], y[:100]))
    with pytest.raises(DataError, match="nothing but the source"):
        model.certificate_.verify(MemorySource(X, y), y)


def test_a_saved_model_is_verified_from_the_source(tmp_path):
    X, y = table(n=200, d=4)
    source = MemorySource(X, y)
    LinearSVC(C=0.1, memory=10_000, checkpoint=tmp_path / "directory").fit(source).save(tmp_path / "model")
    model = load(tmp_path / "model")
    model.certificate_.verify(source)
    assert model.history_.estimated[-1] is False


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.alone
def test_a_budget_ends_the_fit_with_an_honest_certificate(stream):
    X, y = table(n=2000, d=20)
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model = LinearSVC(C=10.0, tol=1e-12, stream=stream, memory=a_tenth(X), max_iter=2).fit(MemorySource(X, y))
    assert model.certificate_.status is Status.BUDGET
    model.certificate_.verify(X, y)
    X, y = table(n=200_000, d=20)
    begin = time.perf_counter()
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        LinearSVC(C=10.0, tol=1e-12, stream=stream, memory=a_tenth(X), max_seconds=0.3).fit(MemorySource(X, y))
    assert time.perf_counter() - begin < 5.0


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.alone
def test_control_c_leaves_a_certified_model(stream):
    X, y = table(n=200_000, d=20)
    model = LinearSVC(C=10.0, tol=1e-12, stream=stream, memory=a_tenth(X))
    timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(MemorySource(X, y))
    timer.join()
    assert model.certificate_.status is Status.INTERRUPTED
    model.certificate_.verify(X, y)


def test_an_error_of_the_source_reaches_the_caller_and_leaves_no_thread():
    X, y = table(n=300, d=4)
    source = MemorySource(X, y)
    whole, count = source.block, iter(range(1000))

    def failing(k):
        if next(count) == 9:
            raise DataError("block 3 is damaged")
        return whole(k)

    source.block = failing
    model = LinearSVC(C=1.0, tol=1e-9, memory=a_tenth(X))
    with pytest.raises(DataError, match="block 3 is damaged"):
        model.fit(source)
    assert not hasattr(model, "coef_")
    assert not any(thread.name == "maxmargin-reader" for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"stream": "cached"}, "Did you mean 'cached-loops'"),
        ({"solver": "dcd"}, "solver='dcd'"),
        ({"penalty": "l1"}, "penalty='l1'"),
        ({"multi_class": "crammer_singer"}, "crammer_singer"),
        ({"C": np.inf}, "finite"),
        ({"warm_start": True}, "checkpoint="),
        ({"memory": 100}, "to keep rows in"),
        ({"checkpoint": 3}, "checkpoint must be"),
    ],
)
def test_what_a_source_cannot_be_trained_with_is_refused(parameters, words):
    X, y = table(n=50, d=4)
    with pytest.raises(ParameterError, match=words):
        LinearSVC(**parameters).fit(MemorySource(X, y))


def test_targets_beside_a_source_and_a_checkpoint_beside_arrays_are_refused(tmp_path):
    X, y = table(n=50, d=4)
    with pytest.raises(ParameterError, match="nothing but the source"):
        LinearSVC().fit(MemorySource(X, y), y)
    with pytest.raises(ParameterError, match="checkpoint"):
        LinearSVC(checkpoint=tmp_path).fit(X, y)
    with pytest.raises(DataError, match="at least two classes"):
        LinearSVC().fit(MemorySource(X, np.ones(50)))
    with pytest.raises(ParameterError, match="Load the data as arrays"):
        CachedLoops().solve(rows_with(X, y, Squared(), 1.0).problems[0])


def rows_in(cache):
    """Numbers of the rows in the cache, and the rows."""
    places = np.concatenate([segment.places for segment in cache.segments])
    rows = cache.cached.rows
    if not cache.is_sparse:
        return cache.cached.number[places], rows.values[places]
    X = np.zeros((len(places), 20), dtype=rows.values.dtype)
    for k, i in enumerate(places):
        X[k, rows.columns[rows.starts[i] : rows.starts[i + 1]]] = rows.values[rows.starts[i] : rows.starts[i + 1]]
    return cache.cached.number[places], X


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_the_cache_keeps_to_its_bytes_and_never_holds_a_row_twice(sparse_rows):
    X, y = table(n=500, d=20)
    A = sparse.csr_matrix(X.astype(np.float32)) if sparse_rows else X
    memory = 40_000
    cache = RowCache(memory, A, len(y))
    used = sum(array.nbytes for array in (*cache.cached.rows, *cache.cached[1:]))
    assert 0.6 * memory <= used <= memory
    block = rows_with(A, y, Hinge(), 1.0).read(0)
    segment, other = cache.segments[:2]
    end = cache.fill(segment, block, 0, cache.wanted(block))
    assert len(segment.places) == end < len(block.cost)
    assert cache.fill(other, block, 0, cache.wanted(block)) > end  # those before `end` are not wanted any more
    assert cache.cached.number[other.places[0]] == end
    assert np.flatnonzero(cache.present).tolist() == sorted(rows_in(cache)[0])
    cache.empty(segment)
    assert cache.wanted(block)[:end].all()


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_rows_with_the_most_slack_leave_and_those_that_stay_are_whole(sparse_rows):
    X, y = table(n=500, d=20)
    X = X.astype(np.float32)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    A = sparse.csr_matrix(X) if sparse_rows else X
    cache = RowCache(40_000, A, len(y))
    rows, rng = rows_with(A, y, Hinge(), 1.0), np.random.default_rng(1)
    spare, k = cache.keep_spare(), 0
    for segment in cache.of_state(State.FREE):
        first, block = 0, rows.read(k)
        while first < len(block.cost):
            first = cache.fill(segment, block, first, cache.wanted(block))
            if first < len(block.cost):
                break
            k += 1
            first, block = 0, rows.read(k)
        segment.state = State.VISITED
    numbers, _ = rows_in(cache)
    slack = rng.permutation(len(y)).astype(float)
    places = np.concatenate([segment.places for segment in cache.segments])
    cache.cached.slack[places] = slack[numbers]
    most = len(cache.segments) // 2
    spare = cache.make_room(most, spare, rng)
    kept, rows = rows_in(cache)
    assert len(cache.of_state(State.VISITED)) <= most
    assert len(spare.places) == 0
    assert spare.state is State.BUSY
    assert 0.7 * most / len(cache.segments) <= len(kept) / len(numbers) < 0.6
    assert np.max(slack[kept]) < np.min(slack[np.setdiff1d(numbers, kept)])
    assert np.flatnonzero(cache.present).tolist() == sorted(kept)
    np.testing.assert_array_equal(rows, X[kept])


def test_where_all_rows_have_something_to_tell_segments_leave_at_random():
    X, y = table(n=500, d=20)
    cache = RowCache(40_000, X, len(y))
    rows, rng = rows_with(X, y, Hinge(), 1.0), np.random.default_rng(1)
    spare = cache.keep_spare()
    for k, segment in enumerate(cache.of_state(State.FREE)):
        cache.fill(segment, rows.read(k), 0, cache.wanted(rows.read(k)))
        segment.state = State.VISITED
    full = {tuple(cache.cached.number[segment.places]) for segment in cache.of_state(State.VISITED)}
    cache.make_room(3, spare, rng)
    left = {tuple(cache.cached.number[segment.places]) for segment in cache.of_state(State.VISITED)}
    assert len(left) == 3
    assert left < full  # nothing was copied


def test_screening_leaves_out_settled_rows_and_measures_none_twice():
    X, y = table(n=200, d=5)
    point = StreamedPoint.zero(rows_with(X, y, Hinge(), 1.0), 1.0, 0)
    point.weights[0] = np.random.default_rng(0).normal(size=5)
    sweep = new_sweep(point)
    sweep.limit[:] = 0.1
    sweep.seen[:100] = 1
    rows, codes, wanted = DenseRows(X), (y > 0).astype(float), np.ones(200, dtype=np.uint8)
    screen_rows(rows, codes, np.ones(200), 0, point.duals, sweep, np.empty(1), wanted)
    margin = y * (X @ point.weights[0])
    np.testing.assert_array_equal(wanted == 0, margin - 1.0 > 0.1)  # all coefficients are zero
    assert sweep.loss[0] == 0.0
    point.beta[0] = y  # all at the other bound
    wanted[:] = 1
    sweep.seen[100:] = 0
    screen_rows(rows, codes, np.ones(200), 0, point.duals, sweep, np.empty(1), wanted)
    settled = 1.0 - margin > 0.1
    np.testing.assert_array_equal(wanted == 0, settled)
    assert sweep.loss[0] == pytest.approx(np.sum((1.0 - margin)[100:][settled[100:]]))


@pytest.mark.parametrize("intercept", ["free", "augmented"])
@pytest.mark.parametrize("stream", STREAMS)
def test_logistic_regression_of_two_classes_is_that_of_a_fit_in_memory(stream, intercept):
    X, y = table(n=300, d=8)
    labels = np.array(["no", "yes"])[(y > 0).astype(int)]
    weight = np.random.default_rng(4).integers(0, 3, size=len(y)).astype(float)
    settings = {"C": 0.3, "intercept": intercept}
    whole = LogisticRegression(tol=1e-9, **settings).fit(X, labels, weight)
    source = MemorySource(X, labels, weight)
    model = LogisticRegression(tol=1e-4, stream=stream, memory=3 * a_tenth(X), **settings).fit(source)
    assert model.certificate_.status is Status.CONVERGED
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-4)
    model.certificate_.verify(source)


def test_logistic_regression_of_a_source_is_for_two_classes_and_the_l2_penalty():
    X, y = table(n=60, d=4)
    with pytest.raises(ParameterError, match="3 classes"):
        LogisticRegression().fit(MemorySource(X, np.arange(60) % 3))
    with pytest.raises(ParameterError, match="penalty='l1'"):
        LogisticRegression("l1").fit(MemorySource(X, y))


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.slow
def test_any_number_of_threads_reaches_the_optimum_of_each_class(stream, n_jobs):
    X, _ = table(n=300, d=6)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.6, 1.5])
    model = LinearSVC(loss="hinge", C=0.05, tol=1e-3, stream=stream, memory="20KB", n_jobs=n_jobs)
    model.fit(MemorySource(X, y, block_rows=20))
    whole = LinearSVC(loss="hinge", C=0.05, tol=1e-6).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    for part, best in zip(model.certificate_.parts, whole.certificate_.parts, strict=True):
        assert part.primal == pytest.approx(best.primal, rel=1.1e-3)
    model.certificate_.verify(X, y)


@pytest.mark.parametrize("stream", STREAMS)
def test_rows_sorted_by_class_take_few_passes(stream):
    X, y = table(n=600, d=6)
    order = np.argsort(y, kind="stable")
    passes = [
        LinearSVC(loss="hinge", C=0.01, tol=1e-3, stream=stream, memory=4 * a_tenth(X))
        .fit(MemorySource(X[rows], y[rows]))
        .certificate_.passes
        for rows in (order, np.random.default_rng(0).permutation(len(y)))
    ]
    assert passes[0] <= 4 * passes[1]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.slow
def test_a_fit_goes_on_from_its_checkpoint(stream, tmp_path):
    X, y = table(n=600, d=10)
    settings = {"C": 0.1, "loss": "hinge", "stream": stream, "memory": 2 * a_tenth(X), "checkpoint": tmp_path}
    with pytest.warns(NotConvergedWarning):
        first = LinearSVC(tol=1e-4, max_iter=3, **settings).fit(MemorySource(X, y))
    whole = LinearSVC(C=0.1, loss="hinge", tol=1e-8).fit(X, y).certificate_
    second = LinearSVC(tol=1e-4, **settings).fit(MemorySource(X, y))
    assert second.certificate_.passes > first.certificate_.passes
    assert second.certificate_.primal == pytest.approx(whole.primal, rel=2e-4)
    third = LinearSVC(tol=1e-4, **settings).fit(MemorySource(X, y))
    assert third.certificate_.passes <= second.certificate_.passes + 3  # nothing was left to do


def test_a_checkpoint_of_other_data_or_settings_or_a_damaged_one_is_refused(tmp_path):
    X, y = table(n=100, d=4)
    settings = {"C": 0.1, "memory": 10_000, "checkpoint": tmp_path}
    LinearSVC(**settings).fit(MemorySource(X, y))
    with pytest.raises(CheckpointError, match="its C is"):
        LinearSVC(**{**settings, "C": 0.2}).fit(MemorySource(X, y))
    with pytest.raises(CheckpointError, match="its loss is 'SquaredHinge', here it is 'Hinge'"):
        LinearSVC(loss="hinge", **settings).fit(MemorySource(X, y))
    with pytest.raises(CheckpointError, match="its intercept is 'free', here it is 'augmented by 1'"):
        LinearSVC(intercept="augmented", **settings).fit(MemorySource(X, y))
    with pytest.raises(CheckpointError, match="fingerprint"):
        LinearSVC(**settings).fit(MemorySource(X + 1.0, y))
    with pytest.raises(CheckpointError, match="number of rows"):
        LinearSVC(**settings).fit(MemorySource(X[:90], y[:90]))
    file = next(tmp_path.iterdir())
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:200] + b"x" + whole[201:]):
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="Delete it to begin anew") as told:
            LinearSVC(**settings).fit(MemorySource(X, y))
        assert str(told.value).count(str(file)) == 1  # one message, and not one inside another
        assert "model" not in str(told.value).replace(str(file), "")


def test_verbose_shows_one_line_a_fit(capsys):
    X, y = table(n=200, d=4)
    LinearSVC(C=0.1, memory=10_000, verbose=1).fit(MemorySource(X, y))
    assert "converged" in capsys.readouterr().out


@pytest.mark.parametrize("stream", STREAMS)
def test_one_row_a_class_converges_with_a_free_intercept(stream):
    X = np.array([[0.0, 1.3, 0.0, 1.0], [-0.7, 0.4, 0.0, 1.0]])
    model = LinearSVC(stream=stream, memory="20KB").fit(X, ["a", "b"])
    assert model.certificate_.status is Status.CONVERGED
    assert list(model.predict(X)) == ["a", "b"]


@pytest.mark.parametrize(
    "name",
    ["LinearSVC", "LinearSVR", "LogisticRegression", "GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB"],
)
def test_rows_without_labels_are_refused_before_they_are_read(name, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\nthis would be an error\n")
    with maxmargin.open(tmp_path / "rows.csv") as source:
        with pytest.raises(DataError, match=r"has no labels\. Open it with label='name'"):
            getattr(maxmargin, name)().fit(source)
        assert source.bytes_read == 0


@pytest.mark.parametrize("factor", [1.0, 1e2, 1e4])
def test_a_source_that_fits_in_memory_is_trained_on_like_arrays(factor):
    X, y = table(n=400, d=5)
    with maxmargin.open([(factor * X, y)], dtype="float64", memory="2KB") as source:
        assert source.n_blocks > 1
        model = LinearSVC(tol=1e-6).fit(source)
        model.certificate_.verify(source)
    whole = LinearSVC(tol=1e-6).fit(factor * X, y)
    assert model.certificate_.solver == whole.certificate_.solver
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)


def test_memory_decides_whether_a_source_is_streamed():
    X, y = table(n=400, d=5)
    with maxmargin.open([(X, y)], memory="2KB") as source:
        solvers = [LinearSVC(memory=memory).fit(source).certificate_.solver for memory in (10**6, 2 * source.n_bytes)]
        asked = LinearSVC(stream="block", memory=10**6, tol=1e-2).fit(source).certificate_.solver
    assert solvers[0] not in STREAMS
    assert [*solvers[1:], asked] == ["cached-loops", "block"]


def test_more_memory_than_rows_takes_no_more_passes():
    X, y = table(n=400, d=5)
    with maxmargin.open([(X, y)], memory="2KB") as source:
        some, ample = (
            [
                LinearSVC(loss="hinge", C=0.1, stream="cached-loops", memory=memory, tol=1e-4).fit(source).n_iter_
                for _ in range(3)  # reader and trainer meet in another order each time: 7 to 14 passes, mostly 9 or 10
            ]
            for memory in (source.n_bytes // 2, 10 * source.n_bytes)
        )
    assert min(ample) <= max(some) + 2


def test_passes_that_classes_share_are_counted_once():
    X, _ = table(n=300, d=5)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = LinearSVC(loss="hinge", C=0.1, stream="cached-loops", tol=1e-3).fit(X, y)
    assert len(model.certificate_.parts) == 3
    assert model.certificate_.passes == model.certificate_.parts[0].passes
    assert model.certificate_.seconds == model.certificate_.parts[0].seconds
    assert model.certificate_.verify(X, y).passes == model.certificate_.passes


def test_labels_of_a_source_that_are_no_classes_are_refused():
    X, _ = table(n=50, d=3)
    with maxmargin.open([(X, X[:, 0])], memory="1KB") as source:
        for stream in (None, "cached-loops"):
            with pytest.raises(DataError, match="continuous"):
                LinearSVC(stream=stream).fit(source)
    with (
        maxmargin.open([(X, np.where(X[:, 0] > 0, "yes", "no"))], memory="1KB") as source,
        pytest.raises(DataTypeError, match="a regression needs numbers as targets, found 'yes'"),
    ):
        LinearSVR(stream="block").fit(source)


def test_memory_for_no_row_is_refused():
    X, y = table(n=50, d=3)
    with (
        maxmargin.open([(X, y)], memory="1KB") as source,
        pytest.raises(ParameterError, match="times as much memory"),
    ):
        LinearSVC(memory=1).fit(source)


@pytest.mark.parametrize("stream", STREAMS)
def test_a_small_cost_moves_the_intercept_by_little_but_to_the_end(stream):
    X, y = table(n=240, d=8)
    whole = LinearSVC(loss="hinge", C=1e-4, tol=1e-8).fit(X, y).certificate_
    model = LinearSVC(loss="hinge", C=1e-4, tol=1e-4, stream=stream, memory=4 * a_tenth(X)).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(whole.primal, rel=1e-4)
