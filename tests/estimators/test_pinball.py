"""The pinball loss estimates a quantile: closed forms, the references, and every way to fit it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import QuantileRegressor

from maxmargin import SVR, LinearSVR, Status, evaluate, load
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import ModelFileError, ParameterError
from maxmargin.kernels import Gaussian
from maxmargin.losses import Absolute, Pinball, from_record
from maxmargin.problems import Intercept, KernelProblem, LinearProblem
from maxmargin.solvers import QP
from maxmargin.solvers.registry import KERNEL, LINEAR, STREAM, classes_of, takers
from tests.streams.test_streams import MemorySource

QUANTILES = [0.05, 0.25, 0.5, 0.9]
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE]
SLOW = {"asgd", "pegasos", "subgradient"}  # whose gap falls like one over the number of their passes
MACHINES = [LinearSVR, SVR]


def skewed(n=200, d=4, seed=0):
    """Rows whose noise is skewed and grows with the first feature, so that quantiles are not parallel."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1.0) + (1.0 + np.abs(X[:, 0])) * rng.exponential(size=n)


def optimum_of(problem):
    reference = QP().solve(problem)
    seen = assess(problem, reference.alpha, reference.weights, reference.bias)
    assert abs(seen.gap) <= 1e-9 * seen.primal
    return seen.primal


def kind_of(machine):
    return machine.__name__


# The curve


def test_half_the_absolute_loss_is_the_pinball_loss_of_the_median(rng):
    r = rng.normal(size=100)
    assert_allclose(Pinball(0.5).value(r), 0.5 * Absolute().value(r))


@pytest.mark.parametrize("q", QUANTILES)
def test_the_constant_with_the_smallest_sum_is_the_quantile(q, rng):
    y = rng.normal(size=101)
    model = LinearSVR(loss="pinball", quantile=q).fit(np.zeros((101, 1)), y)
    assert_allclose(model.intercept_[0], np.quantile(y, q, method="inverted_cdf"))


def test_the_loss_keeps_its_quantile_as_a_plain_number():
    loss = Pinball(np.float32(0.25))
    assert type(loss.quantile) is float
    assert loss == Pinball(0.25) == from_record(loss.to_record())


# What is estimated


@pytest.mark.parametrize("q", QUANTILES)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_fitted_quantile_leaves_that_share_of_the_rows_below_within_n_features_over_n(q, C):
    X, y = skewed()
    model = LinearSVR(loss="pinball", quantile=q, C=C, tol=1e-9).fit(X, y)
    assert abs(np.mean(y < model.predict(X)) - q) <= X.shape[1] / len(y)


@pytest.mark.parametrize("q", QUANTILES)
@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_rows_strictly_below_are_at_most_that_share_and_with_those_on_the_surface_at_least(machine, q):
    X, y = skewed()
    above = y - machine(loss="pinball", quantile=q, tol=1e-9).fit(X, y).predict(X)
    assert np.mean(above < -1e-6) <= q <= np.mean(above <= 1e-6)


@pytest.mark.parametrize("q", QUANTILES)
def test_without_a_penalty_worth_naming_it_is_the_linear_program_of_quantile_regression(q):
    X, y = skewed()
    theirs = QuantileRegressor(quantile=q, alpha=0.0, solver="highs").fit(X, y)
    ours = LinearSVR(loss="pinball", quantile=q, C=1e6, tol=1e-9).fit(X, y)
    loss = Pinball(q)
    assert_allclose(loss.value(ours.predict(X) - y).sum(), loss.value(theirs.predict(X) - y).sum(), rtol=1e-6)


@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_the_quantile_of_the_negative_is_the_negative_of_the_other_quantile(machine):
    X, y = skewed()
    one = machine(loss="pinball", quantile=0.9, tol=1e-9).fit(X, y)
    other = machine(loss="pinball", quantile=0.1, tol=1e-9).fit(X, -y)
    assert_allclose(other.predict(X), -one.predict(X), atol=1e-4)
    assert_allclose(other.certificate_.primal, one.certificate_.primal, rtol=1e-8)


@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_quantile_one_half_is_the_absolute_loss_with_half_the_cost(machine):
    X, y = skewed()
    pinball = machine(loss="pinball", C=2.0, tol=1e-9).fit(X, y)
    absolute = machine(epsilon=0.0, C=1.0, tol=1e-9).fit(X, y)
    assert_allclose(pinball.predict(X), absolute.predict(X), atol=1e-4)
    assert_allclose(pinball.certificate_.primal, absolute.certificate_.primal, rtol=1e-8)


@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_a_row_of_weight_two_is_the_row_twice(machine):
    X, y = skewed(n=60)
    settings = {"loss": "pinball", "quantile": 0.75, "tol": 1e-9}
    settings |= {"gamma": 0.3} if machine is SVR else {}
    weighted = machine(**settings).fit(X, y, sample_weight=np.arange(60) % 3)
    repeated = machine(**settings).fit(*(np.repeat(part, np.arange(60) % 3, axis=0) for part in (X, y)))
    assert_allclose(weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-8)


@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_epsilon_plays_no_part_for_the_pinball_loss_and_the_quantile_none_for_the_tube(machine):
    X, y = skewed()
    first, second = (machine(loss="pinball", quantile=0.8, epsilon=epsilon).fit(X, y) for epsilon in (0.0, 5.0))
    assert_allclose(first.predict(X), second.predict(X))
    first, second = (machine(quantile=quantile).fit(X, y) for quantile in (0.1, 0.9))
    assert_allclose(first.predict(X), second.predict(X))


# The optimum


@pytest.mark.parametrize("q", [0.2, 0.9])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: kind.words)
def test_every_linear_solver_reaches_the_optimum_of_the_qp_reference(q, intercept):
    X, y = skewed(n=60)
    problem = LinearProblem(ArraySource(X, y, np.ones(60)), Pinball(q), 0.5, intercept)
    optimum = optimum_of(problem)
    names = takers(LINEAR, problem)
    assert {"auto", "dcd", "multipliers", "qp"} | SLOW == set(names)
    for name in names:
        (kind,) = [kind for kind in classes_of(LINEAR, name) if kind().takes(problem)]
        tol, off = (1e-9, 0.01) if name in SLOW else (1e-7, 1e-7)
        solution = kind(tol=tol).solve(problem)
        seen = assess(problem, solution.alpha, solution.weights, solution.bias)
        assert name in SLOW or solution.status is Status.CONVERGED
        assert optimum * (1.0 - 1e-8) <= seen.primal <= optimum * (1.0 + off)


@pytest.mark.parametrize("q", [0.2, 0.9])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda kind: kind.words)
def test_every_kernel_solver_converges_to_the_optimum_of_the_qp_reference(q, intercept):
    X, y = skewed(n=60)
    problem = KernelProblem(ArraySource(X, y, np.ones(60)), Pinball(q), 2.0, intercept, Gaussian(0.3))
    optimum = optimum_of(problem)
    names = takers(KERNEL, problem)
    assert {"auto", "blocks", "osuna", "qp", "smo"} | (set() if intercept.is_free else {"dcd"}) == set(names)
    for name in names:
        (kind,) = classes_of(KERNEL, name)
        solution = kind(tol=1e-6).solve(problem)
        seen = assess(problem, solution.alpha, solution.weights, solution.bias)
        assert solution.status is Status.CONVERGED
        assert optimum * (1.0 - 1e-8) <= seen.primal <= optimum * (1.0 + 1e-6)


@pytest.mark.parametrize("stream", STREAM)
@pytest.mark.parametrize("q", [0.2, 0.9])
def test_every_trainer_of_streams_converges_to_the_optimum_with_a_part_of_the_rows_in_memory(stream, q):
    X, y = skewed(n=400)
    settings = {"loss": "pinball", "quantile": q, "C": 0.05}
    optimum = LinearSVR(solver="qp", **settings).fit(X, y).certificate_
    source = MemorySource(X, y)
    model = LinearSVR(stream=stream, memory=8000, tol=1e-3, **settings).fit(source)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.solver == stream
    assert optimum.primal * (1.0 - 1e-8) <= model.certificate_.primal <= optimum.primal * (1.0 + 1.1e-3)
    model.certificate_.verify(source)
    model.certificate_.verify(X, y)


@pytest.mark.parametrize("C", [1e-4, 1e4])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_the_defaults_converge_at_tiny_and_huge_costs_and_far_from_zero(C, shift):
    X, y = skewed(n=100)
    settings = {"loss": "pinball", "quantile": 0.9, "C": C}
    optimum = LinearSVR(solver="qp", **settings).fit(X, y).certificate_.primal
    for model in (LinearSVR(**settings), LinearSVR(stream="cached-loops", memory=4000, tol=1e-4, **settings)):
        certificate = model.fit(X, y + shift).certificate_
        assert certificate.status is Status.CONVERGED
        assert_allclose(certificate.primal, optimum, rtol=2e-4)
    assert SVR(**settings).fit(X, y + shift).certificate_.status is Status.CONVERGED


def test_a_warm_start_at_another_quantile_reaches_that_quantile():
    X, y = skewed()
    model = LinearSVR(loss="pinball", warm_start=True, tol=1e-9)
    for q in (0.9, 0.1, 0.5):
        warm = model.set_params(quantile=q).fit(X, y).certificate_
        cold = LinearSVR(loss="pinball", quantile=q, tol=1e-9).fit(X, y).certificate_
        assert_allclose(warm.primal, cold.primal, rtol=1e-8)


@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_every_point_of_a_path_is_certified_and_verifies(machine):
    X, y = skewed(n=80)
    for model in evaluate.path(machine(loss="pinball", quantile=0.9), X, y, C=[0.1, 1.0, 10.0]):
        assert model.certificate_.verify(X, y).relative_gap <= model.tol


def test_leaving_a_row_out_is_a_fit_without_it():
    X, y = skewed(n=30)
    model = SVR(loss="pinball", quantile=0.8, gamma=0.3, tol=1e-8)
    found = evaluate.left_out(model, X, y).predictions
    for i in (0, 7, 29):
        rest = np.arange(30) != i
        assert_allclose(found[i], model.fit(X[rest], y[rest]).predict(X[[i]])[0], atol=1e-4)


# Certificates and files


@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_the_certificate_verifies_after_save_and_load_and_writes_the_loss_with_its_number(machine, tmp_path):
    X, y = skewed()
    model = machine(loss="pinball", quantile=0.9).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.loss, again.quantile) == ("pinball", 0.9)
    assert "sum_i max(0.9 (y_i - f_i), (1 - 0.9) (f_i - y_i))" in again.certificate_.objective
    verified = again.certificate_.verify(X, y)
    assert_allclose([verified.primal, verified.dual], [model.certificate_.primal, model.certificate_.dual], rtol=1e-12)
    assert verified.relative_gap <= model.tol
    assert_allclose(again.predict(X), model.predict(X))


def test_liblinear_has_no_pinball_loss_and_libsvm_predicts_with_it(tmp_path):
    X, y = skewed()
    with pytest.raises(ModelFileError, match=r"LIBLINEAR has no LinearSVR with .*loss='pinball'"):
        LinearSVR(loss="pinball").fit(X, y).save(tmp_path / "linear", format="liblinear")
    model = SVR(loss="pinball", quantile=0.9).fit(X, y)
    model.save(tmp_path / "kernel", format="libsvm")
    assert_allclose(load(tmp_path / "kernel").predict(X), model.predict(X))


# Refusals

BAD = [0.0, 1.0, -0.1, 1.5, 90, float("nan"), float("inf"), "0.9", None, True, [0.9], np.ones(2)]


@pytest.mark.parametrize("quantile", BAD, ids=repr)
@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_bad_quantiles_are_refused_in_words(machine, quantile):
    X, y = skewed(n=20)
    words = "quantile must be a number between 0 and 1, both excluded, got quantile=.*such as 0.9"
    with pytest.raises(ParameterError, match=words):
        Pinball(quantile)
    with pytest.raises(ParameterError, match=words):
        machine(loss="pinball", quantile=quantile).fit(X, y)


@pytest.mark.parametrize("machine", MACHINES, ids=kind_of)
def test_a_misspelt_loss_is_answered_with_the_one_that_was_meant(machine):
    with pytest.raises(ParameterError, match="Did you mean 'pinball'"):
        machine(loss="pinbal").fit(*skewed(n=20))
