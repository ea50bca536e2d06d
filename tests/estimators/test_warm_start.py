"""A fit that begins where another ended: the same answer in fewer passes. And fits side by side: the same bits."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

from maxmargin import SVC, LinearSVC, LinearSVR, LogisticRegression, SoftmaxRegression
from maxmargin.backends.threads import run_apart, run_together, run_until_interrupted
from maxmargin.errors import NotSeparableError, ParameterError
from maxmargin.evaluate import path
from maxmargin.problems import Status

iris = load_iris(return_X_y=True)


def _noisy(n=400, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) + 1.0


X, numbers = _noisy()
y = np.where(numbers > 0.0, 1, -1)
# As many features as support rows: bounds hold few multipliers, so that what was found for one C serves the next.
Wide = np.hstack([X, np.random.default_rng(1).normal(size=(len(X), 200))])
MODELS = [
    (LinearSVC(solver="dcd"), y),
    (LinearSVC(solver="dcd", loss="hinge"), y),
    (LinearSVC(solver="dcd", loss="hinge", intercept="augmented"), y),
    (LinearSVC(), y),
    (LinearSVR(solver="dcd", epsilon=0.1), numbers),
    (LogisticRegression(), y),
]


def name(value):
    return str(value) if hasattr(value, "fit") else ""


def passes(model):
    certificate = model.certificate_
    return sum(part.passes for part in certificate.parts or (certificate,))


@pytest.mark.parametrize("model, target", MODELS, ids=name)
def test_a_refit_of_the_same_data_has_nothing_to_do(model, target):
    warm = clone(model).set_params(warm_start=True, C=0.1).fit(X, target)
    before, first = passes(warm), warm.certificate_
    warm.fit(X, target)
    assert passes(warm) <= 2.0 < before
    allowed = first.gap + warm.certificate_.gap + first.rounding
    assert abs(warm.certificate_.primal - first.primal) <= allowed
    assert warm.certificate_.verify(X, target).relative_gap <= model.tol


@pytest.mark.parametrize("model, target", MODELS, ids=name)
@pytest.mark.slow
def test_a_path_needs_fewer_passes_than_separate_fits_and_every_point_is_certified(model, target):
    C = np.geomspace(0.05, 0.2, 8)
    data = Wide if model.solver == "dcd" and target is y else X
    found = path(model, data, target, C=C)
    alone = [clone(model).set_params(C=cost).fit(data, target) for cost in C]
    assert sum(map(passes, found)) < 0.9 * sum(map(passes, alone))
    for one, other in zip(found, alone, strict=True):
        again = one.certificate_.verify(data, target)
        assert again.relative_gap <= model.tol
        assert again.primal <= other.certificate_.primal + again.gap + again.rounding


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("shape", [(60, 5), (24, 60)], ids=["tall", "wide"])
@pytest.mark.parametrize("costs", [(1e-4, 1e3), (1e3, 1e-4), (1.0, 1.0)], ids=str)
def test_any_start_leads_to_the_same_optimum(loss, shape, costs):
    Xs, values = _noisy(*shape, seed=1)
    Xs = np.repeat(Xs, 2, axis=0)
    Xs[:, 0], Xs[:, 1] = 0.0, 1.0
    labels = np.where(np.repeat(values, 2) > 0.5, "a", "b")
    weight = np.tile([1.0, 0.0, 2.0, 0.5], len(labels) // 4)
    warm = LinearSVC(loss=loss, C=costs[0], warm_start=True).fit(Xs, labels, weight)
    warm.set_params(C=costs[1]).fit(Xs, labels, weight)
    cold = LinearSVC(loss=loss, C=costs[1]).fit(Xs, labels, weight)
    one, other = warm.certificate_.verify(Xs, labels), cold.certificate_
    assert one.relative_gap <= 1e-4
    assert abs(one.primal - other.primal) <= abs(one.gap) + abs(other.gap) + one.rounding + other.rounding


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, np.asfortranarray], ids=["rows", "csr", "columns"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_starts_serve_in_every_layout_and_precision(layout, dtype):
    data = layout(iris[0].astype(dtype))
    warm = LinearSVC(loss="hinge", C=0.1, warm_start=True, solver="dcd").fit(data, iris[1])
    warm.set_params(C=0.11).fit(data, iris[1])
    cold = LinearSVC(loss="hinge", C=0.11, solver="dcd").fit(data, iris[1])
    assert passes(warm) < passes(cold)
    assert warm.certificate_.verify(data, iris[1]).relative_gap <= 1e-4


@pytest.mark.parametrize("change", ["rows", "features", "classes", "labels", "loss", "hard margin"])
def test_a_start_that_does_not_fit_changes_nothing_but_the_way(change):
    data, labels = iris[0][:100, :3], iris[1][:100]
    model = LinearSVC(C=0.5, warm_start=True).fit(data, labels)
    if change == "rows":
        data, labels = data[10:90], labels[10:90]
    elif change == "features":
        data = iris[0][:100]
    elif change == "classes":
        data, labels = iris[0][:, :3], iris[1]
    elif change == "labels":
        labels = 1 - labels
    elif change == "loss":
        model.set_params(loss="hinge")
    else:
        model.set_params(C=np.inf)
    model.fit(data, labels)
    alone = clone(model).fit(data, labels)
    assert_array_equal(model.classes_, alone.classes_)
    assert_allclose(model.coef_, alone.coef_, rtol=1e-3, atol=1e-3)
    assert model.certificate_.verify(data, labels).relative_gap <= 1e-4


def test_a_fit_without_warm_start_forgets():
    model = LinearSVC(solver="dcd").fit(X, y)
    expected = model.coef_.copy()
    assert_array_equal(model.set_params(C=5.0).fit(X, y).set_params(C=1.0).fit(X, y).coef_, expected)
    with pytest.raises(ParameterError, match="warm_start must be True or False"):
        LinearSVC(warm_start="yes").fit(X, y)


def test_softmax_begins_where_it_ended():
    model = SoftmaxRegression(warm_start=True).fit(*iris)
    before = passes(model)
    assert passes(model.fit(*iris)) < before


# Side by side


@pytest.mark.parametrize("options", [{"solver": "dcd", "loss": "hinge"}, {"solver": "newton"}], ids=str)
def test_classes_side_by_side_give_the_same_bits_for_every_number_of_threads(options):
    data, labels = load_digits(return_X_y=True)
    data, labels = data[:300] / 16.0, labels[:300]
    found = [LinearSVC(n_jobs=n_jobs, C=0.1, **options).fit(data, labels) for n_jobs in (1, 2, 5)]
    for model in found[1:]:
        assert_array_equal(model.coef_, found[0].coef_)
        assert_array_equal(model.intercept_, found[0].intercept_)
        assert [part.passes for part in model.certificate_.parts] == [
            part.passes for part in found[0].certificate_.parts
        ]
        model.certificate_.verify(data, labels)


def test_pairs_of_classes_side_by_side_are_certified_in_their_order():
    one, two = (SVC(n_jobs=n_jobs).fit(*iris) for n_jobs in (1, 3))
    assert_array_equal(one.support_, two.support_)
    assert_allclose(one.dual_coef_, two.dual_coef_, atol=1e-9)
    assert two.certificate_.verify(*iris).relative_gap <= 1e-8


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_classes_that_cannot_be_separated_are_refused_with_the_proof_of_the_first(n_jobs):
    with pytest.raises(NotSeparableError) as refused:
        LinearSVC(C=np.inf, n_jobs=n_jobs).fit(*iris)
    assert refused.value.check(*iris)


INTERRUPTED = textwrap.dedent("""
    import os, signal, sys, threading, time
    import numpy as np
    from maxmargin import LinearSVC
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 40)); y = np.argmax(X[:, :5] + rng.normal(size=(6000, 5)), axis=1)
    LinearSVC(solver=sys.argv[1], max_iter=1, loss="hinge").fit(X[:200], y[:200])  # compiled before the clock runs
    C = {"dcd": 1e5, "subgradient": 1e-4}[sys.argv[1]]
    model = LinearSVC(solver=sys.argv[1], loss="hinge", C=C, tol=1e-14, max_iter=10**7, n_jobs=2)
    def interrupt():
        time.sleep(0.7)
        global sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        seconds = time.perf_counter() - sent
        again = model.certificate_.verify(X, y)
        print(*[part.status.name for part in again.parts], model.coef_.any(axis=1).sum(), again.dual > -np.inf, seconds)
""")


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal to a child process")
@pytest.mark.parametrize("solver", ["dcd", "subgradient"])
@pytest.mark.alone
def test_ctrl_c_ends_all_classes_at_once_and_leaves_the_rest_untrained(solver):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED, solver], capture_output=True, text=True, timeout=120
    )
    *statuses, trained, finite, seconds = done.stdout.split()
    assert statuses == ["INTERRUPTED"] * 5, done.stderr
    assert trained == "2" if solver == "dcd" else int(trained) <= 2  # a subgradient step may go up from w = 0
    assert finite == "True"
    assert float(seconds) < 1.0
    assert done.returncode in (0, -signal.SIGINT)


def test_jobs_that_run_loops_wait_for_no_pool():
    """More jobs than the pool of loops has threads, each with loops in loops: none of them may wait for another."""

    def job():
        def task(stop):
            return sum(run_together([lambda stop: 1] * 4))

        value, interrupted = run_until_interrupted(task)
        return value, interrupted

    n_jobs = 4 * (os.cpu_count() or 1) + 8
    began = time.perf_counter()
    assert run_apart([job] * n_jobs, n_jobs) == [(4, False)] * n_jobs
    assert time.perf_counter() - began < 20.0


def test_an_error_in_one_job_is_that_of_the_first_and_ends_the_others():
    def fails(error):
        raise error

    def waits():
        def until_stopped(stop):
            while not stop[0]:
                time.sleep(0.001)

        return run_until_interrupted(until_stopped)

    jobs = [lambda: fails(ZeroDivisionError()), lambda: fails(OSError()), waits]
    with pytest.raises(ZeroDivisionError):
        run_apart(jobs, 3)


def test_the_status_of_an_untrained_class_is_interrupted(monkeypatch):
    """Ctrl-C before any solver began: a model of zeros, certified, and the interrupt goes on."""
    from maxmargin.solvers.linear.newton import Newton

    def interrupted(self, problem, start=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(Newton, "solve", interrupted)
    for n_jobs in (1, 3):
        model = LinearSVC(solver="newton", n_jobs=n_jobs)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*iris)
        assert model.certificate_.status is Status.INTERRUPTED
        assert not model.coef_.any()
