"""The reference solver against the kept answers, strong duality, and its two forms against each other."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import ParameterError
from maxmargin.kernels import Gaussian, Sigmoid
from maxmargin.losses import Hinge, Logistic, Softmax, Squared
from maxmargin.penalties import L1, ElasticNet
from maxmargin.problems import Intercept, KernelProblem, LinearProblem, Status
from maxmargin.solvers import QP
from maxmargin.solvers.common.feasible import balanced
from maxmargin.solvers.reference.qp_forms import has_primal_form
from tests.problem_table import PROBLEMS


def allowance(seen):
    """What may be left of a gap: a billionth of the value, or what rounding explains."""
    return 1e-9 * abs(seen.primal) + seen.rounding


@pytest.mark.parametrize("case", PROBLEMS, ids=str)
def test_strong_duality_on_the_problem_table(case):
    problem = case.problem
    solution = QP().solve(problem)
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert abs(seen.gap) <= allowance(seen)
    assert seen.primal == pytest.approx(case.optimum, rel=1e-8, abs=2 * seen.rounding)
    assert seen.kkt_violation <= 1e-8


# A kernel matrix with entries from 1e-12 to 1e12 has no digits left for its small part, so the dual form cannot use it.
TWO_FORMS = [
    case for case in PROBLEMS if has_primal_form(case.problem) and "scale" not in case.name and "e+06" not in case.name
]


@pytest.mark.parametrize("case", TWO_FORMS[::4], ids=str)
@pytest.mark.slow
def test_primal_and_dual_form_reach_the_same_value(case):
    problem = case.problem
    for form in ("primal", "dual"):
        solution = QP(form=form).solve(problem)
        seen = assess(problem, solution.alpha, solution.weights, solution.bias)
        assert abs(seen.gap) <= allowance(seen)


def test_scikit_learn_finds_nothing_better(rng):
    import sklearn.svm as peers

    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0, 1.0, -1.0)
    problem = KernelProblem(ArraySource(X, y, np.ones(80)), Hinge(), 5.0, Intercept.FREE, Gaussian(0.5))
    ours = QP().solve(problem)
    value = assess(problem, ours.alpha, None, None).primal
    peer = peers.SVC(C=5.0, gamma=0.5, tol=1e-10).fit(X, y)
    alpha = np.zeros(80)
    alpha[peer.support_] = np.abs(peer.dual_coef_[0])
    theirs = assess(problem, alpha, None, float(peer.intercept_[0])).primal
    assert value <= theirs * (1 + 1e-12)
    assert theirs == pytest.approx(value, rel=1e-6)


def _minimised(problem, d, shape):
    """Weights of a smooth problem, by a general-purpose minimiser."""
    size = int(np.prod(shape))

    def both(packed):
        w, b = packed[:size].reshape(shape), packed[size:]
        f = problem.scores(w) + (b if len(shape) > 1 else b[0])
        slope = problem.loss.score_slope(f, problem.targets)
        weighted = slope * (problem.costs if slope.ndim == 1 else problem.costs[:, None])
        value = problem.penalty.value(w) + float(problem.costs @ problem.loss.score_value(f, problem.targets))
        gradient = w + problem.weights_from(weighted)
        return value, np.concatenate([gradient.ravel(), np.atleast_1d(weighted.sum(axis=0))])

    start = np.zeros(size + (shape[1] if len(shape) > 1 else 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BFGS says that rounding ends it before gtol; how good it is is asserted
        found = minimize(both, start, jac=True, method="BFGS", options={"gtol": 1e-12, "maxiter": 2000})
    return found.x[:size].reshape(shape)


@pytest.mark.parametrize("loss", [Logistic(), Softmax(), Squared()], ids=lambda loss: loss.name)
def test_smooth_losses_have_no_gap_at_their_minimum_linear_and_kernel(loss, rng):
    X = rng.normal(size=(60, 3))
    n_classes = 3
    y = {
        "logistic": np.where(X[:, 0] > 0.2, 1.0, -1.0),
        "softmax": rng.integers(0, n_classes, 60).astype(float),
        "squared": X @ [1.0, 2.0, 3.0] + rng.normal(size=60),
    }[loss.name]
    source = ArraySource(X, y, rng.random(60) + 0.5)
    linear = LinearProblem(source, loss, 2.0, Intercept.FREE)
    w = _minimised(linear, 3, (3, n_classes) if loss.name == "softmax" else (3,))
    f = linear.scores(w)
    b = assess(linear, np.zeros(f.shape), w, None).bias
    slope = loss.score_slope(f + b, y)
    beta = -slope * (linear.costs if slope.ndim == 1 else linear.costs[:, None])
    beta = beta - beta.mean(axis=0)  # the rounding of the minimiser, so that the multipliers balance
    alpha = loss.multipliers(beta, y)
    if loss.name == "softmax":
        beta -= beta.mean(axis=1, keepdims=True)
    seen = assess(linear, alpha, w, None)
    assert seen.gap + seen.rounding >= 0
    assert seen.gap <= 1e-9 * abs(seen.primal)
    assert seen.kkt_violation <= 1e-5
    from maxmargin.kernels import Linear

    kernel = KernelProblem(source, loss, 2.0, Intercept.FREE, Linear())
    again = assess(kernel, alpha, None, None)
    assert again.primal == pytest.approx(seen.primal, rel=1e-9)
    assert again.dual == pytest.approx(seen.dual, rel=1e-9)


@pytest.mark.parametrize("penalty", [L1(3.0), ElasticNet(2.0, 0.5)], ids=repr)
def test_other_penalties_have_a_dual_too(penalty, rng):
    """Proximal gradient steps to the minimum of a lasso or elastic net, whose residuals give the multipliers."""
    X = rng.normal(size=(40, 6))
    y = X @ [3.0, 0.0, 0.0, -2.0, 0.0, 0.0] + 0.1 * rng.normal(size=40)
    problem = LinearProblem(ArraySource(X, y, np.ones(40)), Squared(), 1.0, Intercept.NONE, penalty)
    step = 1.0 / np.linalg.eigvalsh(X.T @ X)[-1]
    w = np.zeros(6)
    for _ in range(5000):
        w = penalty.proximal_step(w - step * (X.T @ (X @ w - y)), step)
    alpha = y - X @ w
    if isinstance(penalty, L1):  # into the domain of the conjugate, where rounding may have left it outside
        alpha *= min(1.0, (1.0 - 1e-14) * penalty.strength / np.max(np.abs(X.T @ alpha)))
    seen = assess(problem, alpha, w, None)
    assert -seen.rounding <= seen.gap <= 1e-9 * seen.primal


def test_balancing_keeps_zeros_and_bounds_where_it_can(rng):
    signs = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    box = Hinge().dual_box(np.full(50, 2.0))
    alpha = np.clip(rng.normal(1.0, 1.5, 50), 0.0, 2.0)
    done = balanced(alpha, signs, box)
    assert abs(np.sum(signs * done)) <= 1e-14
    assert np.all((done >= 0.0) & (done <= 2.0))
    assert_allclose(done[alpha == 0.0], 0.0)
    assert_allclose(done[alpha == 2.0], 2.0)


def test_balancing_shrinks_the_heavier_side_when_nothing_is_free():
    box = Hinge().dual_box(np.ones(3))
    done = balanced(np.ones(3), np.array([1.0, 1.0, -1.0]), box)
    assert_allclose(done, [0.5, 0.5, 1.0])


def test_what_is_no_quadratic_program_is_refused(rng):
    X, y = rng.normal(size=(6, 2)), np.array([1.0, -1.0] * 3)
    source = ArraySource(X, y, np.ones(6))
    with pytest.raises(ParameterError, match="logistic"):
        QP().solve(LinearProblem(source, Logistic(), 1.0, Intercept.FREE))
    with pytest.raises(ParameterError, match="negative eigenvalues"):
        QP().solve(KernelProblem(source, Hinge(), 1.0, Intercept.FREE, Sigmoid()))
    with pytest.raises(ParameterError, match="form must be"):
        QP(form="both").solve(LinearProblem(source, Hinge(), 1.0, Intercept.FREE))


def test_a_budget_of_one_iteration_ends_as_a_budget_with_a_feasible_point(rng):
    X, y = rng.normal(size=(40, 2)), np.array([1.0, -1.0] * 20)
    problem = KernelProblem(ArraySource(X, y, np.ones(40)), Hinge(), 1.0, Intercept.FREE, Gaussian(1.0))
    solution = QP(max_iter=1).solve(problem)
    assert solution.status is Status.BUDGET
    assert np.isfinite(assess(problem, solution.alpha, None, None).dual)
