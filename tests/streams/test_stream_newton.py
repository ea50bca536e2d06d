"""Newton steps from a source: what a pass tells, and that they end what coordinate steps do not."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import maxmargin
from maxmargin import LinearSVC, LinearSVR, LogisticRegression, Status
from maxmargin.data import ArraySource
from maxmargin.data.rows import ArrayRows
from maxmargin.errors import NotConvergedWarning
from maxmargin.estimators.fitting import checkpoints
from maxmargin.losses import EpsilonInsensitive, Hinge, Logistic, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.solvers.streams import newton as stream_newton
from maxmargin.solvers.streams import training as stream_training
from maxmargin.solvers.streams.cached_loops import CachedLoops
from maxmargin.solvers.streams.newton import NewtonSteps
from maxmargin.solvers.streams.newton_passes import NearKinkModel, PassQuestion, PassSums
from maxmargin.solvers.streams.state import ProgressRate

LOSSES = (Hinge(), SquaredHinge(), Logistic(), EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.2))


def noisy(n=240, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1, -1)


def hard_case(name):
    X, y = noisy()
    if name == "duplicates":
        X, y = np.vstack([X[:120]] * 2), np.r_[y[:120], y[:120]]
    if name == "zero and constant columns":
        X[:, 3], X[:, 4] = 0.0, 7.0
    if name == "1 against 239":
        y = np.r_[1, -np.ones(239, dtype=int)]
    if name == "separable":
        y = np.where(X[:, 0] > 0.0, 1, -1)
    if name == "scales from 1e-6 to 1e6":
        X = X * np.logspace(-6.0, 6.0, 8)
    weight = np.ones(240)
    if name == "weights of zero":
        weight[::3] = 0.0
    return (sparse.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0)) if name == "sparse" else X), y, weight


CASES = (
    "plain",
    "sparse",
    "duplicates",
    "zero and constant columns",
    "1 against 239",
    "separable",
    "scales from 1e-6 to 1e6",
    "weights of zero",
)


def streamed(model, batch, **settings):
    """The model, trained on small blocks of a batch in memory for hardly more than one of them."""
    with maxmargin.open([batch], memory="2KB", dtype="float64") as source:
        return model.set_params(stream="cached-loops", memory="12KB", **settings).fit(source)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_a_fit_from_blocks_ends_at_the_optimum_of_arrays_whatever_c_is(name, C):
    X, y, weight = hard_case(name)
    optimum = LinearSVC(loss="hinge", C=C, tol=1e-8).fit(X, y, sample_weight=weight).certificate_
    found = streamed(LinearSVC(loss="hinge", C=C, tol=1e-4), (X, y, weight)).certificate_
    assert found.status is Status.CONVERGED
    assert optimum.dual <= found.primal * (1.0 + 1e-12)
    assert found.primal <= optimum.primal * (1.0 + 1.1e-4)
    found.verify(X, y)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_a_fit_that_keeps_few_rows_ends_as_well(name, monkeypatch):
    monkeypatch.setattr(stream_newton, "_SMALL", 0)
    X, y, weight = hard_case(name)
    found = streamed(LinearSVC(loss="hinge", C=1e4, tol=1e-4), (X, y, weight)).certificate_
    assert found.status is Status.CONVERGED
    found.verify(X, y)


@pytest.mark.parametrize("intercept", ["free", "augmented", None])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_intercept_and_loss_ends_at_a_large_c(loss, intercept):
    X, y = noisy()
    model = LinearSVC(loss=loss, C=1e4, fit_intercept=intercept is not None, intercept=intercept or "free", tol=1e-6)
    found = streamed(model, (X + 3.0, y)).certificate_
    assert found.status is Status.CONVERGED
    found.verify(X + 3.0, y)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regression_ends_at_a_large_c(loss):
    X, _ = noisy()
    y = 100.0 * (X[:, 0] - X[:, 1] + 0.3 * np.random.default_rng(1).normal(size=len(X))) + 1000.0
    optimum = LinearSVR(loss=loss, C=1e3, epsilon=5.0, tol=1e-8).fit(X, y).certificate_
    found = streamed(LinearSVR(loss=loss, C=1e3, epsilon=5.0, tol=1e-4), (X, y)).certificate_
    assert found.status is Status.CONVERGED
    assert optimum.dual <= found.primal * (1.0 + 1e-12)
    assert found.primal <= optimum.primal * (1.0 + 1.1e-4)


def test_logistic_regression_on_features_in_large_units_ends():
    X, y = noisy()
    X = X * np.logspace(-3.0, 5.0, 8)
    optimum = LogisticRegression(C=100.0, tol=1e-10).fit(X, y)
    found = streamed(LogisticRegression(C=100.0, tol=1e-8), (X, y))
    assert found.certificate_.status is Status.CONVERGED
    assert_allclose(found.predict_proba(X), optimum.predict_proba(X), atol=1e-5)


def test_all_classes_make_their_steps_in_the_same_passes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.integers(0, 4, 300)
    model = streamed(LinearSVC(loss="hinge", C=100.0, tol=1e-4), (X, y))
    assert model.certificate_.status is Status.CONVERGED
    assert len({part.passes for part in model.certificate_.parts}) == 1
    model.certificate_.verify(X, y)


def test_threads_that_share_the_blocks_of_a_pass_find_what_one_finds():
    X, y = noisy()
    alone, together = (streamed(LinearSVC(loss="hinge", C=1e3, tol=1e-8), (X, y), n_jobs=n).coef_ for n in (1, 2))
    assert_allclose(alone, together, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, np.float32], ids=["dense", "sparse", "float32"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_sums_over_blocks_are_those_over_all_rows(loss, layout):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5)).astype(np.float32).astype(np.float64)
    y = rng.normal(size=90) if "Insensitive" in type(loss).__name__ else np.sign(rng.normal(size=90))
    C, w, p = rng.uniform(0.1, 2.0, 90), rng.normal(size=5), rng.normal(size=5)
    beta = -C * (-0.5 * y if isinstance(loss, Hinge) else rng.uniform(-0.9, 0.9, 90))
    further = np.array([-1.0, -0.3, 0.0, 0.5])
    asked = PassQuestion(w, 0.4, 2.0, p=p, shift=0.3, further=further)

    def sums(rows):
        found = PassSums.of(5, len(further))
        for part in rows:
            passes = ArrayRows(ArraySource(layout(X[part]), y[part], C[part]))
            found.add(passes, y[part], C[part], beta[part].copy(), loss.curve, asked)
        return found

    whole, parts = sums([np.arange(90)]), sums(np.array_split(np.arange(90), 7))
    halves = sums([np.arange(45)])
    halves.add_sums(sums([np.arange(45, 90)]))
    for other in (parts, halves):
        for name, value in vars(whole).items():
            assert_allclose(getattr(other, name), value, rtol=1e-10, atol=1e-10, err_msg=name)
    assert whole.along[2] == pytest.approx(-whole.combination @ p - 0.3 * whole.surplus, rel=1e-9)
    step = 1e-6  # H, edge and corner are the change of the gradient
    moved = sums_at(X, y, C, beta, loss, asked._replace(w=w + step * p, b=0.4 + step * 0.3))
    change = (whole.combination - moved.combination) / step, (whole.surplus - moved.surplus) / step
    assert_allclose(whole.H @ p + 0.3 * whole.edge, change[0], rtol=1e-4, atol=1e-4)
    assert whole.edge @ p + 0.3 * whole.corner == pytest.approx(change[1], rel=1e-4, abs=1e-4)


def sums_at(X, y, C, beta, loss, asked):
    found = PassSums.of(X.shape[1], len(asked.further))
    found.add(ArrayRows(ArraySource(X, y, C)), y, C, beta.copy(), loss.curve, asked)
    return found


def test_centres_that_move_are_the_slopes_and_a_last_question_does_nothing_else():
    X, y = noisy()
    C, beta = np.ones(240), 0.5 * y.astype(np.float64)
    asked = PassQuestion(np.ones(8), 0.0, 3.0, moved_from=1.0, is_last=True)
    found = PassSums.of(8, 0)
    found.add(ArrayRows(ArraySource(X, y, C)), y.astype(np.float64), C, beta, Hinge().curve, asked)
    share = np.clip(0.5 + 1.0 - y * (X @ np.ones(8)), 0.0, 1.0)
    assert_allclose(beta, y * share, atol=1e-12)
    assert found.n_active == 0
    assert not found.H.any()


@pytest.mark.parametrize("scale", [np.inf, 1.0, 0.0])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2)], ids=["hinge", "tube"])
def test_where_all_rows_are_kept_few_steps_end_where_the_gradient_vanishes(loss, scale):
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(90, 5)) * np.logspace(-2.0, 2.0, 5), rng.uniform(0.1, 5.0, 90)
    y = np.sign(X[:, 4] + 50.0 * rng.normal(size=90)) if isinstance(loss, Hinge) else rng.normal(size=90)
    beta, curve = np.zeros(90), loss.curve._replace(sigma=2.0)
    stiff, has_intercept = (scale**-2.0 if scale > 0.0 else 0.0), scale > 0.0
    w, b = np.zeros(5), 0.0
    for _ in range(4):
        seen = sums_at(X, y, C, beta, loss, PassQuestion(w, b, 2.0, share=1.0))
        assert not seen.H.any()
        slope = b * stiff - seen.surplus if has_intercept else 0.0
        p, t = NearKinkModel(seen.H, seen.edge, stiff, w - seen.combination, slope, has_intercept).minimum(
            seen.near, curve
        )
        w, b = w + p, b + t
    after = sums_at(X, y, C, beta, loss, PassQuestion(w, b, 2.0))
    assert_allclose(after.combination, w, rtol=1e-6, atol=1e-6)
    assert after.surplus == pytest.approx(b * stiff, abs=1e-6) or not has_intercept


def test_rows_kept_are_those_nearest_to_their_kinks_and_leave_the_sums():
    rng = np.random.default_rng(0)
    X, C, y = rng.normal(size=(90, 5)), np.ones(90), np.sign(rng.normal(size=90))
    beta, w = 0.5 * y, rng.normal(size=5)
    whole = sums_at(X, y, C, beta, Hinge(), PassQuestion(w, 0.1, 0.3))
    parts = sums_at(X, y, C, beta, Hinge(), PassQuestion(w, 0.1, 0.3, share=0.2))
    (kept,) = parts.near
    assert len(kept.y) == 18
    share = 0.5 + 0.3 * (1.0 - y * (X @ w + 0.1))
    apart = np.minimum(np.abs(share), np.abs(share - 1.0))
    assert_allclose(np.sort(kept.f), np.sort((X @ w + 0.1)[np.argsort(apart)[:18]]))
    curvature = 0.3 * ((0.5 + 0.3 * (1.0 - kept.y * kept.f) > 0.0) & (0.5 + 0.3 * (1.0 - kept.y * kept.f) < 1.0))
    assert_allclose(parts.H + kept.X.T @ (curvature[:, None] * kept.X), whole.H, atol=1e-12)
    assert parts.corner + parts.near_corner == pytest.approx(whole.corner)
    assert parts.n_active == whole.n_active


class KilledError(Exception):
    """A process that ends in the middle."""


def test_a_training_killed_between_newton_steps_goes_on_with_them(tmp_path, monkeypatch):
    X, y = noisy(n=400)
    monkeypatch.setattr(checkpoints, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "_SHARE", 0.0)
    whole = streamed(LinearSVC(loss="hinge", C=1e3, tol=1e-6), (X, y)).certificate_
    keep = checkpoints.Checkpoints.keep
    moves = iter(range(100))

    def keep_and_die(self, point, place, **now):
        self.wait = 0.0
        keep(self, point, place, **now)
        if place.stiffness and next(moves) == 4:
            raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.Checkpoints, "keep", keep_and_die)
        with pytest.raises(KilledError):
            streamed(LinearSVC(loss="hinge", C=1e3, tol=1e-6), (X, y), checkpoint=tmp_path)
    rounds = []
    monkeypatch.setattr(CachedLoops, "worker", lambda solver, training: rounds)  # no round is made
    resumed = streamed(LinearSVC(loss="hinge", C=1e3, tol=1e-6), (X, y), checkpoint=tmp_path).certificate_
    assert resumed.status is Status.CONVERGED
    assert resumed.primal == pytest.approx(whole.primal, rel=1e-5)


@pytest.mark.slow
def test_a_budget_spent_between_newton_steps_leaves_a_gap_that_is_no_larger_than_before(monkeypatch):
    monkeypatch.setattr(stream_newton, "_SMALL", 0)
    X, y = hard_case("scales from 1e-6 to 1e6")[:2]
    ended = []
    for passes in range(10, 30, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)  # which of them end short depends on the threads
            model = streamed(LinearSVC(loss="hinge", C=1e4, tol=1e-10), (X, y), max_iter=passes)
        assert model.certificate_.relative_gap <= 1.0 + 1e-9
        model.certificate_.verify(X, y)
        ended.append(model.certificate_.status)
    assert ended[0] is Status.BUDGET


def test_many_features_leave_no_room_for_newton_steps(monkeypatch):
    def never(self, training):
        raise AssertionError("Newton steps were begun")

    monkeypatch.setattr(NewtonSteps, "__init__", never)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1600)), np.sign(rng.normal(size=60))
    with pytest.warns(NotConvergedWarning):
        LinearSVC(loss="hinge", C=1e6, tol=1e-12, stream="cached-loops", memory="500KB", max_iter=80).fit(X, y)


def test_rows_of_many_features_settle_better_where_a_large_c_wants_it():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 1600, 0.01, format="csr", random_state=0)
    y = np.where(X @ rng.normal(size=1600) + 0.01 * rng.normal(size=300) > 0.0, 1, -1)
    model = LinearSVC(loss="hinge", C=1e6, stream="cached-loops", memory="40KB").fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    model.certificate_.verify(X, y)


def test_a_certificate_that_forms_the_weights_anew_in_their_place_has_the_same_numbers(monkeypatch):
    X, y = noisy()
    usual = streamed(LinearSVC(loss="hinge", C=0.1), (X, y)).certificate_
    monkeypatch.setattr(stream_training, "_LARGE", 0)
    monkeypatch.setattr(stream_training, "_IN_PASSING", 10**6)
    found = streamed(LinearSVC(loss="hinge", C=0.1), (X, y)).certificate_
    assert found.status is Status.CONVERGED
    assert found.primal == pytest.approx(usual.primal, rel=1e-3)
    found.verify(X, y)


def test_what_falls_by_a_tenth_a_round_is_not_hopeless_and_what_rests_is():
    falling, resting, kept = ProgressRate(), ProgressRate(), ProgressRate()
    assert not any(falling.is_hopeless(1e4 * 0.8**k, is_read=True) for k in range(40))
    seen = [resting.is_hopeless(1e4, is_read=True) for _ in range(8)]
    assert seen == [False] * 6 + [True] * 2
    assert not any(kept.is_hopeless(1e4, is_read=False) for _ in range(40))
    assert not ProgressRate().is_hopeless(1.0, is_read=True)


@pytest.mark.parametrize("max_iter", [7, 8, 9, 12])
def test_a_budget_that_ends_where_steps_begin_leaves_what_the_rounds_had_found(max_iter, monkeypatch):
    """Steps begin with a look at zero, which is no answer."""
    X, y = noisy(4000, 20)
    rounds = []
    monkeypatch.setattr(
        ProgressRate, "is_hopeless", lambda self, times, is_read: rounds.append(times) or len(rounds) == 6
    )
    model = LinearSVC(loss="hinge", C=0.1, tol=1e-9, stream="cached-loops", memory=X.nbytes // 10, max_iter=max_iter)
    with pytest.warns(NotConvergedWarning):
        model.fit(ArraySource(X, y, np.ones(len(y))))
    assert len(rounds) == 6
    assert model.certificate_.relative_gap < 0.05
    gaps = np.array(model.history_.gap) / np.abs(model.history_.primal)
    assert np.all(np.abs(gaps[4:]) < 0.05)


@pytest.mark.parametrize("n_stuck", [1, 2, 99])
def test_steps_that_get_stuck_go_on_and_what_they_found_is_kept(n_stuck, monkeypatch):
    X, y = noisy()
    run, ended = NewtonSteps.run, []

    def stuck_at_first(self, tol, stop):
        is_stuck = len(ended) < n_stuck
        is_near = run(self, 0.1 if is_stuck else tol, stop) if not (is_stuck and ended) else False
        ended.append(is_near)
        return is_near and not is_stuck

    monkeypatch.setattr(NewtonSteps, "run", stuck_at_first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        found = streamed(LinearSVC(loss="hinge", C=1e4, tol=1e-6), (X, y)).certificate_
    assert len(ended) == min(n_stuck + 1, 3)
    assert found.status is (Status.CONVERGED if n_stuck < 3 else Status.STALLED)
    assert found.relative_gap <= (1e-6 if n_stuck < 3 else 0.1)
    found.verify(X, y)


# Samples of raw forest data on which a step that climbs, or centres at worse multipliers, led the steps astray.
@pytest.mark.parametrize(
    ("sample", "C", "stream"),
    [
        (28, 1e6, None),
        (59, 1e6, None),
        (122, 1e4, "cached-loops"),
        (128, 1e6, "cached-loops"),
        (172, 1e6, "cached-loops"),
        (186, 1e4, "cached-loops"),
    ],
)
@pytest.mark.slow
def test_raw_columns_with_a_huge_c_are_solved(shared_data, sample, C, stream):
    with np.load(shared_data / "covtype.npz") as stored:
        X, y = stored["X"], stored["y"]
    chosen = np.random.default_rng(sample).choice(len(y), 3000, replace=False)
    model = LinearSVC(loss="hinge", C=C, tol=1e-5, stream=stream, memory="5MB")
    assert model.fit(X[chosen], y[chosen]).certificate_.status is Status.CONVERGED


@pytest.mark.slow
def test_a_budget_before_the_first_answer_keeps_the_multipliers():
    X, y = noisy(n=600)
    X = X * np.logspace(-2.0, 2.0, 8)
    for passes in range(3, 16):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            model = LinearSVC(C=10.0, stream="cached-loops", memory="10KB", max_iter=passes, tol=1e-6).fit(X, y)
        assert model.certificate_.dual >= 0.0
