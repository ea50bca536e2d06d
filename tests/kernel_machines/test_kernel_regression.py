"""Kernel regression solves its linear equations, by whatever solver, and says honestly where it cannot."""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import estimator_checks_generator

from maxmargin import SVC, SVR, KernelRegression, LinearRegression, Ridge, Status, kernels, load
from maxmargin.errors import DataError, NotConvergedWarning, ParameterError
from maxmargin.solvers import QP, FullGradient, KernelLeastSquares
from maxmargin.solvers.kernel.equations import KernelFactor, NotPositiveError
from maxmargin.solvers.lectures.kernel_gradient import eigenvalue_bound

_rng = np.random.default_rng(0)
X = _rng.normal(size=(90, 4))
y = np.sin(X[:, 0]) + X[:, 1] + 0.2 * _rng.normal(size=90)
INTERCEPTS = ["free", "augmented", "none"]
SOLVERS = ["closed-form", "conjugate-gradients", "full-gradient", "one-at-a-time", "qp"]


def by_hand(K, y, alpha, intercept, weight=None):
    """Coefficients and intercept from one dense system with the intercept as an unknown of its own."""
    n = len(y)
    weight = np.ones(n) if weight is None else weight
    M = K + np.diag(alpha / weight)
    if intercept == "none":
        return np.linalg.solve(M, y), 0.0
    if intercept == "augmented":
        beta = np.linalg.solve(M + 1.0, y)
        return beta, beta.sum()
    whole = np.block([[M, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    answer = np.linalg.solve(whole, np.append(y, 0.0))
    return answer[:n], answer[n]


@pytest.mark.filterwarnings("ignore")  # some checks provoke warnings of scikit-learn's own
@pytest.mark.parametrize(
    "model, check",
    [
        pytest.param(model, check, id=check.func.__name__)
        for model, check in estimator_checks_generator(KernelRegression())
        if check.func.__name__ != "check_array_api_input"  # needs an experimental switch of SciPy's
    ],
)
def test_scikit_learn_conventions(model, check):
    check(model)


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_without_intercept_it_is_kernel_ridge(kernel, alpha):
    ours = KernelRegression(alpha, kernel=kernel, gamma=0.2, degree=2, coef0=1.0, intercept="none").fit(X, y)
    theirs = KernelRidge(alpha=alpha, kernel=kernel, gamma=0.2, degree=2, coef0=1.0).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
    if alpha >= 1e-2:
        assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert_array_equal(ours.X_fit_, X)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_solves_the_system_written_down_by_hand(solver, intercept):
    weight = _rng.uniform(0.5, 2.0, len(y))
    beta, b = by_hand(kernels.Gaussian(0.3)(X), y, 0.7, intercept, weight)
    model = KernelRegression(0.7, kernel=kernels.Gaussian(0.3), solver=solver, intercept=intercept, tol=1e-9)
    model.fit(X, y, sample_weight=weight)
    assert_allclose(model.dual_coef_, beta, atol=1e-7)
    assert model.intercept_ == pytest.approx(b, abs=1e-7)
    again = model.certificate_.verify(X, y)
    assert again.status is Status.CONVERGED
    assert abs(again.relative_gap) <= 1e-9
    assert solver in again.solver


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_closed_form_is_exact_to_rounding(intercept):
    for alpha in (1e-6, 1e-3, 1.0, 1e4):
        certificate = KernelRegression(alpha, intercept=intercept, tol=1e-8).fit(X, y).certificate_
        assert abs(certificate.relative_gap) <= 1e-14
        assert certificate.kkt_violation <= 1e-9


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("intercept", ["free", "augmented"])
def test_with_a_linear_kernel_it_is_ridge(alpha, intercept):
    kernel = KernelRegression(alpha, kernel="linear", intercept=intercept).fit(X, y)
    linear = Ridge(alpha, intercept=intercept).fit(X, y)
    assert_allclose(kernel.coef_[0], linear.coef_, atol=1e-9)
    assert kernel.intercept_ == pytest.approx(linear.intercept_, abs=1e-9)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-10)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_weights_are_repetition_and_weight_zero_is_absence(intercept, rng):
    weight = rng.integers(0, 4, len(y))
    model = KernelRegression(0.5, gamma=0.3, intercept=intercept)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-10)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-12)
    assert_array_equal(weighted.dual_coef_ == 0.0, weight == 0)
    weighted.certificate_.verify(X, y)


def test_layout_and_precision_do_not_change_the_answer():
    reference = KernelRegression(0.1, gamma=0.3).fit(X, y).predict(X)
    for rows in (np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_array(X)):
        model = KernelRegression(0.1, gamma=0.3).fit(rows, y)
        assert_allclose(model.predict(rows), reference, atol=1e-10)
        model.certificate_.verify(rows, y)
    half = KernelRegression(0.1, gamma=0.3).fit(X.astype(np.float32), y)
    assert_allclose(half.predict(X.astype(np.float32)), reference, atol=1e-5)
    assert abs(half.certificate_.relative_gap) <= 1e-13


def test_kernels_by_name_by_object_by_function_and_precomputed_agree():
    gaussian = kernels.Gaussian(0.3)
    expected = KernelRegression(kernel="rbf", gamma=0.3).fit(X, y).predict(X[:9])
    assert_allclose(KernelRegression(kernel=gaussian).fit(X, y).predict(X[:9]), expected, atol=1e-12)
    assert_allclose(KernelRegression(kernel=lambda A, B: gaussian(A, B)).fit(X, y).predict(X[:9]), expected, atol=1e-12)
    precomputed = KernelRegression(kernel="precomputed").fit(gaussian(X), y)
    assert_allclose(precomputed.predict(gaussian(X[:9], X)), expected, atol=1e-12)
    precomputed.certificate_.verify(gaussian(X), y)
    words = ["banana", "bananas", "cherry", "cherries"]
    strings = KernelRegression(0.1, kernel=kernels.EditDistance(0.5)).fit(words, [1.0, 2.0, 3.0, 4.0])
    assert strings.certificate_.kkt_violation <= 1e-12


HARD = {
    "duplicated rows": (np.repeat(X, 2, axis=0), np.repeat(y, 2) + np.tile([0.0, 0.5], 90)),
    "constant and zero columns": (np.column_stack([X, np.ones(90), np.zeros(90)]), y),
    "fewer rows than columns": (_rng.normal(size=(10, 60)), _rng.normal(size=10)),
    "one row": (X[:1], y[:1]),
    "equal rows": (np.zeros((6, 3)), _rng.normal(size=6)),
    "one target": (X, np.full(90, 0.1)),
    "small scale": (1e-6 * X, y),
    "large targets": (X, 1e6 * y),
    "many rows": (_rng.normal(size=(300, 2)), _rng.normal(size=300)),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_hard_cases_end_at_rounding(case, intercept):
    rows, targets = HARD[case]
    for kernel in ("rbf", "linear"):
        for alpha in (1e-4, 1.0, 1e4):
            model = KernelRegression(alpha, kernel=kernel, intercept=intercept).fit(rows, targets)
            again = model.certificate_.verify(rows, targets)
            assert again.status is Status.CONVERGED
            assert abs(again.gap) <= max(again.rounding, 1e-13 * again.primal)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("alpha", [1e-6, 1e-3])
def test_where_rounding_hides_alpha_the_model_is_still_good_and_the_status_honest(alpha, intercept):
    rows = 1e6 * X  # a linear kernel with entries of 1e12: alpha is far below their rounding
    with pytest.warns(NotConvergedWarning, match="STALLED"):
        model = KernelRegression(alpha, kernel="linear", intercept=intercept).fit(rows, y)
    model.certificate_.verify(rows, y)
    columns = X if intercept == "none" else np.column_stack([X, np.ones(90)])
    best = np.linalg.lstsq(columns, y, rcond=None)[1][0]  # the penalty is nothing beside the errors
    assert np.sum((model.predict(rows) - y) ** 2) <= 1.01 * best


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("solver", ["auto", "full-gradient", "one-at-a-time"])
def test_without_a_penalty_the_function_goes_through_all_targets(solver, intercept):
    rows, targets = X[:30], y[:30]
    model = KernelRegression(0, gamma=1.0, solver=solver, intercept=intercept, tol=1e-6).fit(rows, targets)
    assert_allclose(model.predict(rows), targets, atol=1e-6)
    beta, b = by_hand(kernels.Gaussian(1.0)(rows), targets, 0.0, intercept)
    assert_allclose(model.dual_coef_, beta, atol=1e-4)
    assert model.intercept_ == pytest.approx(b, abs=1e-4)
    again = model.certificate_.verify(rows, targets)
    assert again.status is Status.CONVERGED
    # Half the squared norm of the flattest interpolation lies between the two values.
    half = 0.5 * (targets - b) @ beta if intercept != "augmented" else 0.5 * targets @ beta
    assert again.dual - again.rounding <= half <= again.primal + again.rounding


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_without_a_penalty_targets_may_have_any_size(size):
    ones = KernelRegression(0, gamma=1.0).fit(X[:30], y[:30])
    model = KernelRegression(0, gamma=1.0).fit(X[:30], size * y[:30])
    assert_allclose(model.dual_coef_, size * ones.dual_coef_, rtol=1e-6, atol=1e-9 * size)
    assert model.certificate_.verify(X[:30], size * y[:30]).relative_gap <= 1e-9


def test_without_a_penalty_weights_say_only_whether_a_row_counts(rng):
    weight = rng.uniform(0.1, 10.0, 30)
    weight[:3] = 0.0
    weighted = KernelRegression(0, gamma=1.0).fit(X[:30], y[:30], sample_weight=weight)
    left_out = KernelRegression(0, gamma=1.0).fit(X[3:30], y[3:30])
    assert_allclose(weighted.predict(X), left_out.predict(X), atol=1e-9)
    assert weighted.certificate_.verify(X[:30], y[:30]).relative_gap <= 1e-9


def test_the_full_gradient_finds_least_squares_but_does_not_call_it_an_interpolation():
    model = KernelRegression(0, kernel="linear", solver="full-gradient", max_iter=500)
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model.fit(X, y)
    assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), atol=1e-9)
    assert model.n_iter_ == 500
    assert model.certificate_.verify(X, y).relative_gap > 0.1


def test_one_at_a_time_comes_nearer_to_least_squares_with_smaller_steps():
    best, distances = LinearRegression().fit(X, y).predict(X), []
    for rate in (1e-2, 1e-3):
        model = KernelRegression(0, kernel="linear", solver="one-at-a-time", learning_rate=rate, max_iter=500)
        with pytest.warns(NotConvergedWarning, match="BUDGET"):
            model.fit(X, y)
        distances.append(np.max(np.abs(model.predict(X) - best)))
    assert distances[1] < 0.2 * distances[0] < 0.1


def test_one_pass_is_the_lectures_listing():
    K = kernels.Gaussian(0.5)(X)
    options = {"kernel": "precomputed", "intercept": "none", "learning_rate": 0.01, "max_iter": 3}
    with pytest.warns(NotConvergedWarning):
        full = KernelRegression(0, solver="full-gradient", **options).fit(K, y)
    with pytest.warns(NotConvergedWarning):
        single = KernelRegression(0, solver="one-at-a-time", random_state=5, **options).fit(K, y)
    beta = np.zeros(len(y))
    for _ in range(3):
        beta = beta + 0.01 * (y - K @ beta)
    assert_allclose(full.dual_coef_, beta, atol=1e-13)
    beta, rng = np.zeros(len(y)), np.random.default_rng(5)
    for _ in range(3):
        for i in rng.permutation(len(y)):
            beta[i] += 0.01 * (y[i] - K[i] @ beta)
    assert_allclose(single.dual_coef_, beta, atol=1e-13)


@pytest.mark.parametrize("solver", ["full-gradient", "one-at-a-time"])
def test_the_dual_rises_with_every_pass_at_the_chosen_rate(solver, rng):
    for intercept in ("augmented", "none"):
        model = KernelRegression(0.5, solver=solver, intercept=intercept, tol=1e-8, gamma=0.2)
        model.fit(X, y, sample_weight=rng.uniform(0.01, 3.0, 90))
        dual = np.array(model.history_.dual)
        assert len(dual) > 5
        assert np.all(np.diff(dual) >= -1e-12 * abs(dual[-1]))


def test_a_learning_rate_that_diverges_is_refused_with_one_that_does_not():
    for solver in ("full-gradient", "one-at-a-time"):
        model = KernelRegression(0.1, solver=solver, learning_rate=1e3)
        with pytest.raises(ParameterError, match=r"learning_rate=\S+ converges") as caught:
            model.fit(X, y)
        rate = float(str(caught.value).partition(". learning_rate=")[2].split()[0])
        assert model.set_params(learning_rate=rate).fit(X, y).certificate_.status is Status.CONVERGED


def test_no_eigenvalue_exceeds_the_bound(rng):
    for K in (kernels.Gaussian(0.1)(X), kernels.Linear()(X), np.zeros((4, 4)), np.diag([1.0, 0.0, 3.0])):
        root = np.sqrt(rng.uniform(0.01, 4.0, len(K)))
        largest = np.linalg.eigvalsh(root[:, None] * K * root)[-1]
        assert largest <= eigenvalue_bound(K, root) * (1.0 + 1e-12)
    K = kernels.Gaussian(0.1)(X)  # sharp for entries that are not negative
    assert eigenvalue_bound(K, np.ones(90)) <= 1.01 * np.linalg.eigvalsh(K)[-1]


def test_the_factor_shares_its_space_with_the_matrix_and_begins_anew(rng):
    F = rng.normal(size=(150, 180))
    K = F @ F.T
    factor, right = KernelFactor(K.copy(), panel=64), rng.normal(size=150)
    for diagonal in (np.full(150, 1e3), rng.uniform(1.0, 2.0, 150)):
        factor.factor(diagonal, np.inf)
        assert_allclose(factor.product(right), K @ right, rtol=1e-9, atol=1e-9)
        assert_allclose(factor.solve(right), np.linalg.solve(K + np.diag(diagonal), right), rtol=1e-6, atol=1e-9)
    with pytest.raises(NotPositiveError):
        factor.factor(np.full(150, -1e3), np.inf)
    assert_allclose(factor.product(right), K @ right, rtol=1e-9, atol=1e-9)


def test_stopped_in_the_middle_the_model_is_that_of_the_leading_rows(rng):
    rows, targets = rng.normal(size=(700, 3)), rng.normal(size=700)
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model = KernelRegression(0.5, gamma=0.4, intercept="none", max_seconds=1e-9).fit(rows, targets)
    leading = np.flatnonzero(model.dual_coef_)
    assert 0 < len(leading) < 700
    part = KernelRegression(0.5, gamma=0.4, intercept="none").fit(rows[leading], targets[leading])
    assert_allclose(model.dual_coef_[leading], part.dual_coef_, atol=1e-9)
    again = model.certificate_.verify(rows, targets)
    assert again.dual == pytest.approx(part.certificate_.dual, rel=1e-9)  # zeros elsewhere add nothing to the dual
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        free = KernelRegression(0.5, gamma=0.4, max_seconds=1e-9).fit(rows, targets)
    assert np.isfinite(free.certificate_.verify(rows, targets).gap)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_matrix_that_does_not_fit_is_never_formed(intercept, rng):
    rows, targets = rng.normal(size=(250, 3)), rng.normal(size=250)
    small = KernelRegression(0.01, intercept=intercept, memory="250kB", tol=1e-8).fit(rows, targets)
    whole = KernelRegression(0.01, intercept=intercept, memory="0.5MB").fit(rows, targets)
    assert (small.certificate_.solver, whole.certificate_.solver) == ("conjugate-gradients", "closed-form")
    assert_allclose(small.predict(rows), whole.predict(rows), atol=1e-6)
    small.certificate_.verify(rows, targets)
    for solver in ("closed-form", "full-gradient", "one-at-a-time"):
        with pytest.raises(ParameterError, match=r"5e\+05 bytes, and memory is 2.5e\+05"):
            KernelRegression(solver=solver, intercept=intercept, memory="250kB").fit(rows, targets)
    with pytest.raises(ParameterError, match="alpha=0 is for a kernel matrix that fits"):
        KernelRegression(0, memory="250kB").fit(rows, targets)


def test_a_saved_model_comes_back_whole(tmp_path):
    for alpha in (0.5, 0):
        model = KernelRegression(alpha, gamma=1.0).fit(X[:40], y[:40], sample_weight=np.arange(40) % 3)
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert_array_equal(again.predict(X), model.predict(X))
        assert again.get_params() == model.get_params()
        assert str(again.certificate_.verify(X[:40], y[:40]).status) == str(model.certificate_.status)


def test_a_changed_model_fails_its_certificate():
    from maxmargin.errors import CertificateError

    for alpha in (0.5, 0):
        model = KernelRegression(alpha, gamma=1.0).fit(X[:40], y[:40])
        model.dual_coef_ = model.dual_coef_ * 1.001
        with pytest.raises(CertificateError):
            model.certificate_.verify(X[:40], y[:40])


def test_what_cannot_be_done_is_refused_with_what_can():
    with pytest.raises(ParameterError, match="singular up to rounding"):
        KernelRegression(0, kernel="linear").fit(X, y)
    with pytest.raises(ParameterError, match="negative eigenvalue"):
        KernelRegression(1e-3, kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, y)
    with pytest.raises(DataError, match="MultiOutputRegressor"):
        KernelRegression().fit(X, np.column_stack([y, y]))
    for alpha in (-1.0, np.nan, "1", True, 1e-200):
        with pytest.raises(ParameterError, match="alpha"):
            KernelRegression(alpha).fit(X, y)
    with pytest.raises(ParameterError, match="learning_rate must be a positive number"):
        KernelRegression(learning_rate=0).fit(X, y)
    for alpha, solver in ((0, "qp"), (0, QP()), (1.0, FullGradient(interpolate=True)), (0, KernelLeastSquares())):
        with pytest.raises(ParameterError, match="do not go together"):
            KernelRegression(alpha, solver=solver).fit(X, y)


def test_names_of_solvers_are_refused_where_they_do_not_belong():
    for name in ("closed-form", "conjugate-gradients", "full-gradient", "one-at-a-time"):
        for model in (SVC(solver=name), SVR(solver=name)):
            with pytest.raises(ParameterError, match=r"is for KernelRegression\. Known here: auto"):
                model.fit(X, y > 0)
    with pytest.raises(ParameterError, match="'dcd' does not do the squared loss with a kernel; those that do: 'auto'"):
        KernelRegression(solver="dcd").fit(X, y)
    with pytest.raises(ParameterError, match="Did you mean 'closed-form'"):
        KernelRegression(solver="closedform").fit(X, y)


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal to a child process")
@pytest.mark.slow
def test_ctrl_c_leaves_a_fitted_and_certified_model():
    program = textwrap.dedent("""
        import os, signal
        import numpy as np
        from maxmargin import KernelRegression
        from maxmargin.problems.solution import listening
        X = np.random.default_rng(0).normal(size=(300, 3))
        model = KernelRegression(0, kernel="linear", solver="one-at-a-time", max_iter=None)
        def interrupt(history):
            if len(history) == 20:
                os.kill(os.getpid(), signal.SIGINT)
        try:
            with listening(interrupt):
                model.fit(X, X[:, 0] ** 2)
        except KeyboardInterrupt:
            model.certificate_.verify(X, X[:, 0] ** 2)
            print(model.certificate_.status.name, bool(np.any(model.dual_coef_)))
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["INTERRUPTED", "True"], done.stderr
    assert done.returncode in (0, -signal.SIGINT)
