"""The certificate is honest: the true suboptimality is at most the gap, and `verify` finds every lie."""

import dataclasses
import html
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, Status
from maxmargin.certificates import assess, combine
from maxmargin.data import ArraySource
from maxmargin.errors import CertificateError, DataError, ParameterError
from maxmargin.kernels import Gaussian, Precomputed, Sigmoid
from maxmargin.losses import EpsilonInsensitive, HardMargin, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.problems import Intercept, KernelProblem, LinearProblem
from maxmargin.solvers import QP

LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.2)]
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE]


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 25),
    d=st.integers(1, 5),
    C=st.sampled_from([1e-4, 0.1, 1.0, 1e3, 1e6]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    loss=st.sampled_from(LOSSES),
    intercept=st.sampled_from(INTERCEPTS),
    kernel=st.booleans(),
)
def test_suboptimality_of_any_point_is_at_most_its_gap(seed, n, d, C, scale, loss, intercept, kernel):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, d))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    source = ArraySource(X, y, rng.random(n) + 0.1)
    problem = (
        KernelProblem(source, loss, C, intercept, Gaussian(0.5 / scale**2))
        if kernel
        else LinearProblem(source, loss, C, intercept)
    )
    solution = QP().solve(problem)
    best = assess(problem, solution.alpha, solution.weights, None)

    box = loss.dual_box(problem.costs)
    width = np.where(np.isfinite(box.upper), box.upper, 3.0 * np.max(np.abs(solution.alpha)) + 1.0)
    beta = problem.coefficients(np.clip(rng.random(n) * width, box.lower, box.upper))
    if intercept.is_free:  # shrink the heavier class so that the multipliers balance
        surplus = np.sum(beta)
        heavy = beta * surplus > 0
        beta[heavy] *= 1.0 - surplus / np.sum(beta[heavy]) if np.any(heavy) else 1.0
        beta[np.argmax(np.abs(beta))] -= math.fsum(beta)
    seen = assess(problem, np.clip(loss.multipliers(beta, y), box.lower, box.upper), None, None)
    assert seen.gap >= -seen.rounding
    assert seen.primal - best.primal <= seen.gap + seen.rounding + best.rounding
    assert seen.dual <= best.primal + best.rounding + seen.rounding


def test_gap_is_the_sum_of_the_fenchel_young_terms_of_the_rows(rng):
    X, y = rng.normal(size=(30, 2)), np.array([1.0, -1.0] * 15)
    problem = KernelProblem(ArraySource(X, y, np.ones(30)), Hinge(), 2.0, Intercept.FREE, Gaussian(1.0))
    alpha = np.repeat(rng.random(15), 2)  # equal for a row of either class: balanced
    seen = assess(problem, alpha, None, None)
    f = problem.scores(y * alpha) + seen.bias
    v = -y * alpha / problem.costs
    terms = problem.costs * (problem.loss.score_value(f, y) + problem.loss.score_conjugate(v, y) - v * f)
    assert seen.gap == pytest.approx(np.sum(terms), rel=1e-12)
    assert np.all(terms >= -1e-12)


def test_multipliers_out_of_balance_or_bounds_prove_nothing(rng):
    X, y = rng.normal(size=(10, 2)), np.array([1.0, -1.0] * 5)
    problem = LinearProblem(ArraySource(X, y, np.ones(10)), Hinge(), 1.0, Intercept.FREE)
    unbalanced = assess(problem, np.where(y > 0, 0.5, 0.4), None, None)
    assert unbalanced.dual == -np.inf
    assert "not balanced" in unbalanced.reason
    outside = assess(problem, np.full(10, 1.5), None, None)
    assert outside.gap == np.inf
    assert "outside its bounds" in outside.reason


def test_an_infeasible_hard_margin_has_an_infinite_primal_value(rng):
    X, y = rng.normal(size=(10, 1)), np.array([1.0, -1.0] * 5)
    problem = LinearProblem(ArraySource(X, y, np.ones(10)), HardMargin(), np.inf, Intercept.FREE)
    assert assess(problem, np.zeros(10), None, None).primal == np.inf


def test_an_indefinite_kernel_has_no_gap_and_says_why(rng):
    X, y = rng.normal(size=(10, 2)), np.array([1.0, -1.0] * 5)
    problem = KernelProblem(ArraySource(X, y, np.ones(10)), Hinge(), 1.0, Intercept.FREE, Sigmoid(1.0, 1.0))
    seen = assess(problem, np.full(10, 0.5), None, None)
    assert math.isnan(seen.gap)
    assert "not positive semidefinite" in seen.reason
    assert np.isfinite(seen.kkt_violation)


X2, y2 = load_breast_cancer(return_X_y=True)
X2, y2 = ((X2 - X2.mean(axis=0)) / X2.std(axis=0))[:200], y2[:200]
X3, y3 = load_iris(return_X_y=True)
FITS = {
    "SVC": (SVC(), X2, y2),
    "SVC, three classes": (SVC(C=10.0), X3, np.array(["setosa", "versicolor", "virginica"])[y3]),
    "SVC, augmented": (SVC(intercept="augmented"), X2, y2),
    "SVC, sparse": (SVC(kernel="linear"), sparse.csr_matrix(X2), y2),
    "SVC, float32": (SVC(), X2.astype(np.float32), y2),
    "LinearSVC": (LinearSVC(), X2, y2),
    "LinearSVC, hinge, three classes": (LinearSVC(loss="hinge"), X3, y3),
    "LinearSVC, hard margin": (LinearSVC(C=np.inf), X3[:100], y3[:100]),
    "LinearSVC, class weights": (LinearSVC(class_weight="balanced"), X2, y2),
    "SVR": (SVR(C=3.0), X3[:, :3], X3[:, 3]),
    "LinearSVR": (LinearSVR(epsilon=0.1), X3[:, :3], X3[:, 3]),
}


@pytest.mark.parametrize("model, X, y", FITS.values(), ids=FITS.keys())
def test_every_fit_ends_with_a_certificate_that_verifies(model, X, y):
    certificate = model.fit(X, y).certificate_
    assert certificate.status is Status.CONVERGED
    assert abs(certificate.relative_gap) <= 1e-8
    again = certificate.verify(X, y)
    assert again.primal == pytest.approx(certificate.primal, rel=1e-12)
    for number in ("primal", "dual", "relative gap", "KKT violation", "CONVERGED"):
        assert number in str(certificate)


@pytest.mark.parametrize("model, X, y", FITS.values(), ids=FITS.keys())
def test_verify_finds_a_model_that_was_changed(model, X, y):
    model.fit(X, y)
    model.intercept_ += 0.1
    with pytest.raises(CertificateError, match="the model and the data give"):
        model.certificate_.verify(X, y)


def test_verify_finds_changed_coefficients_in_every_layout():
    model = SVC().fit(X2, y2)
    model.dual_coef_[0, 3] *= 0.5
    with pytest.raises(CertificateError):
        model.certificate_.verify(X2, y2)
    model = LinearSVC().fit(X3, y3)
    model.coef_[2, 1] += 0.01
    with pytest.raises(CertificateError):
        model.certificate_.verify(X3, y3)


def test_verify_finds_numbers_that_were_changed():
    certificate = LinearSVC().fit(X2, y2).certificate_
    for name in ("primal", "dual", "gap", "relative_gap"):
        with pytest.raises(CertificateError, match=name.replace("_", " ")):
            dataclasses.replace(certificate, **{name: getattr(certificate, name) + 0.01 * certificate.primal}).verify(
                X2, y2
            )
    with pytest.raises(CertificateError, match="number of support rows"):
        dataclasses.replace(certificate, n_support=3).verify(X2, y2)


def test_verify_finds_other_data():
    certificate = SVC().fit(X2, y2).certificate_
    with pytest.raises(CertificateError):
        certificate.verify(1.01 * X2, y2)
    with pytest.raises(DataError, match="about 200 rows"):
        certificate.verify(X2[:100], y2[:100])


def test_verify_remembers_or_takes_the_weights():
    weight = np.arange(len(y2)) % 3
    certificate = SVC().fit(X2, y2, sample_weight=weight).certificate_
    certificate.verify(X2, y2)
    certificate.verify(X2, y2, sample_weight=weight)
    with pytest.raises(CertificateError):
        certificate.verify(X2, y2, sample_weight=np.ones(len(y2)))


def test_a_sum_of_certificates_adds_values_and_keeps_the_worst():
    parts = LinearSVC().fit(X3, y3).certificate_.parts
    total = combine([dataclasses.replace(parts[0], status=Status.BUDGET, kkt_violation=7.0), *parts[1:]])
    assert total.primal == pytest.approx(sum(part.primal for part in parts))
    assert total.kkt_violation == 7.0
    assert total.status is Status.BUDGET


def test_verifying_needs_memory_for_blocks_not_for_the_kernel_matrix():
    """A kernel matrix of 6,000 rows has 288 MB; the certificate's peak stays far below."""
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = KernelProblem(ArraySource(X, y, np.ones(6000)), Hinge(), 1e-3, Intercept.FREE, Gaussian(1.0))
    alpha = np.where(y > 0, 1e-3 * np.sum(y < 0) / np.sum(y > 0), 1e-3).clip(0, 1e-3)
    tracemalloc.start()
    assess(problem, alpha, None, 0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_verify_looks_at_the_model_as_it_is_now():
    model = SVC().fit(X3, y3)
    model.dual_coef_ *= 0.5
    with pytest.raises(CertificateError):
        model.certificate_.verify(X3, y3)
    model = LinearSVC().fit(X2, y2)
    kept = model.certificate_
    model.coef_ = 2 * model.coef_
    with pytest.raises(CertificateError):
        model.certificate_.verify(X2, y2)
    kept.verify(X2, y2)  # a certificate taken before vouches for the model as it was


def test_a_matrix_with_a_negative_eigenvalue_is_no_kernel_and_proves_nothing():
    K = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ParameterError, match="negative eigenvalues"):
        SVC(kernel="precomputed", solver="qp").fit(K, [0, 1])
    certificate = SVC(kernel="precomputed").fit(K, [0, 1]).certificate_.verify(K, [0, 1])
    assert math.isnan(certificate.gap)
    assert "not positive semidefinite" in certificate.reason
    assert certificate.kkt_violation <= 1e-3
    problem = KernelProblem(
        ArraySource(K, np.array([-1.0, 1.0]), np.ones(2)), Hinge(), 1.0, Intercept.FREE, Precomputed()
    )
    assert math.isnan(assess(problem, np.ones(2), None, None).gap)


def test_verify_compares_the_vectors_and_labels_that_predictions_use():
    for model, X, y in ((SVC(), X2, y2), (SVC(), X3, y3), (SVR(), X3[:, :3], X3[:, 3])):
        model.fit(X, y)
        model.support_vectors_ = model.support_vectors_ + 5.0
        with pytest.raises(CertificateError, match="support vectors"):
            model.certificate_.verify(X, y)
    for model in (SVC(), LinearSVC()):
        model.fit(X2, y2)
        model.classes_ = model.classes_[::-1]
        with pytest.raises(CertificateError):
            model.certificate_.verify(X2, y2)
    with pytest.raises(CertificateError, match="support vectors"):
        SVC().fit(X2, y2).certificate_.verify(X2 + 5.0, y2)  # the same Gaussian kernel matrix, but other data


def test_a_notebook_shows_the_rows_of_the_certificate_with_their_signs_escaped():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, -1, 1, 1])
    certificate = SVC(kernel="linear").fit(X, y).certificate_
    shown = certificate._repr_html_()
    for name, value in certificate.rows():
        assert f">{html.escape(name)}</th>" in shown
        assert f">{html.escape(value)}</td>" in shown
    assert "&lt;x, z&gt;" in shown
