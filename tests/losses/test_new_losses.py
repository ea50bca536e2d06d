"""A loss with a curve, a conjugate and a dual box is certified and solved everywhere, with no line for it there."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from maxmargin import losses
from maxmargin._loops import curves
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import ParameterError
from maxmargin.kernels import Gaussian
from maxmargin.losses import DualBox, MarginLoss, ResidualLoss
from maxmargin.penalties import L1
from maxmargin.problems import (
    Intercept,
    KernelProblem,
    LinearProblem,
    OneVersusRest,
    Regression,
    SharedRows,
    Specification,
    Status,
)
from maxmargin.solvers import QP
from maxmargin.solvers.registry import KERNEL, LINEAR, STREAM, classes_of, takers
from tests.losses import test_losses


@dataclass(frozen=True)
class TiltedAbsolute(ResidualLoss):
    """The pinball: r = f - y costs 1 - quantile above zero, quantile below.  l*(u) = 0 on [-quantile, 1 - quantile]."""

    quantile: float = 0.8
    name = "tilted absolute"
    formula = "max(quantile (y_i - f_i), (1 - quantile) (f_i - y_i))"

    def value(self, z):
        return np.maximum(-self.quantile * z, (1.0 - self.quantile) * z)

    def subgradient(self, z):
        return np.where(z > 0.0, 1.0 - self.quantile, np.where(z < 0.0, -self.quantile, 0.0))

    def conjugate(self, u):
        return np.where((u >= -self.quantile) & (u <= 1.0 - self.quantile), 0.0, np.inf)

    def dual_box(self, C):
        zero = np.zeros_like(C)
        return DualBox(-(1.0 - self.quantile) * C, self.quantile * C, zero, zero, zero)


@dataclass(frozen=True)
class Huber(ResidualLoss):
    """r^2 / 2 up to delta, and straight on from there.  l*(u) = u^2 / 2 on [-delta, delta]."""

    delta: float = 0.7
    name = "Huber"
    formula = "huber(f_i - y_i, delta)"

    def value(self, z):
        inside = np.minimum(np.abs(z), self.delta)
        return inside * (np.abs(z) - 0.5 * inside)

    def subgradient(self, z):
        return np.clip(z, -self.delta, self.delta)

    def conjugate(self, u):
        return np.where(np.abs(u) <= self.delta, 0.5 * np.square(u), np.inf)

    def dual_box(self, C):
        zero = np.zeros_like(C)
        return DualBox(-self.delta * C, self.delta * C, zero, zero, 1.0 / C)


@dataclass(frozen=True)
class RoundedHinge(MarginLoss):
    """The hinge with its kink rounded off over a width.  l*(u) = aim u + width u^2 / 2 on [-1, 0]."""

    width: float = 0.5
    aim: float = 1.2
    name = "rounded hinge"
    formula = "rounded(y_i f_i)"

    def value(self, z):
        u = self.subgradient(z)
        return u * (z - self.aim) - 0.5 * self.width * np.square(u)

    def subgradient(self, z):
        return np.clip((z - self.aim) / self.width, -1.0, 0.0)

    def conjugate(self, u):
        inside = self.aim * u + 0.5 * self.width * np.square(u)
        return np.where((u >= -1.0) & (u <= 0.0), inside, np.inf)

    def dual_box(self, C):
        zero = np.zeros_like(C)
        return DualBox(zero, C, np.full_like(C, self.aim), zero, self.width / C)


@dataclass(frozen=True)
class TiltedTube(ResidualLoss):
    """A tube with walls of different slopes, straight beyond them.  l*(u) = width |u| on [-below, above]."""

    width: float = 0.3
    below: float = 0.6
    above: float = 2.0
    name = "tilted tube"
    formula = "max(below (y_i - f_i - width), 0, above (f_i - y_i - width))"

    def value(self, z):
        return np.maximum(0.0, np.maximum(self.below * (-z - self.width), self.above * (z - self.width)))

    def subgradient(self, z):
        return np.where(z > self.width, self.above, np.where(z < -self.width, -self.below, 0.0))

    def conjugate(self, u):
        return np.where((u >= -self.below) & (u <= self.above), self.width * np.abs(u), np.inf)

    def dual_box(self, C):
        zero = np.zeros_like(C)
        return DualBox(-self.above * C, self.below * C, zero, np.full_like(C, self.width), zero)


NEW = [TiltedAbsolute(), Huber(), RoundedHinge(), TiltedTube()]
SLOW = {"asgd", "implicit", "pegasos", "subgradient"}  # whose gap falls like one over the number of their passes
INTERCEPTS = [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE]


def name(thing):
    return thing.words if isinstance(thing, Intercept) else thing.name


def source_for(loss, n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    noisy = X @ [1.0, -2.0, 0.5] + 0.8 * rng.normal(size=n)
    return ArraySource(X, np.sign(noisy) if loss.is_margin else noisy + 1.0, rng.uniform(0.5, 1.5, n))


def assert_solved(problem, solution, optimum, tol, suboptimality):
    seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    assert abs(seen.gap) <= tol * seen.primal
    assert optimum * (1.0 - 1e-8) <= seen.primal <= optimum * (1.0 + suboptimality)


def optimum_of(problem):
    reference = QP().solve(problem)
    seen = assess(problem, reference.alpha, reference.weights, reference.bias)
    assert abs(seen.gap) <= 1e-9 * seen.primal
    assert seen.kkt_violation <= 1e-6
    return seen.primal


@pytest.mark.parametrize("loss", NEW, ids=name)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
def test_every_linear_solver_that_takes_it_reaches_the_optimum(loss, intercept):
    problem = LinearProblem(source_for(loss), loss, 0.5, intercept)
    optimum = optimum_of(problem)
    names = takers(LINEAR, problem)
    assert {"auto", "dcd", "qp", "pegasos", "asgd", "subgradient"} <= set(names)
    assert ("multipliers" if loss.curve.has_kinks else "newton") in names
    assert ("implicit" in names) == loss.is_margin
    for each in names:
        (kind,) = [kind for kind in classes_of(LINEAR, each) if kind().takes(problem)]
        if each in SLOW:
            assert_solved(problem, kind(tol=1e-9).solve(problem), optimum, 0.15, 0.01)
        else:
            solution = kind(tol=1e-7).solve(problem)
            assert solution.status is Status.CONVERGED
            assert_solved(problem, solution, optimum, 1e-7, 1e-7)


@pytest.mark.parametrize("loss", NEW, ids=name)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
def test_every_kernel_solver_that_takes_it_reaches_the_optimum(loss, intercept):
    problem = KernelProblem(source_for(loss), loss, 2.0, intercept, Gaussian(0.3))
    optimum = optimum_of(problem)
    names = takers(KERNEL, problem)
    assert {"auto", "blocks", "osuna", "qp", "smo"} <= set(names)
    assert ("dcd" in names) == (not intercept.is_free)
    for each in names:
        (kind,) = classes_of(KERNEL, each)
        solution = kind(tol=1e-6).solve(problem)
        assert solution.status is Status.CONVERGED
        assert_solved(problem, solution, optimum, 1e-6, 1e-6)


@pytest.mark.parametrize("loss", NEW, ids=name)
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=name)
@pytest.mark.parametrize("C", [0.5, 1e4])
def test_every_trainer_of_streams_reaches_the_optimum(loss, intercept, C):
    source = source_for(loss)
    task = OneVersusRest(1.0) if loss.is_margin else Regression()
    specification = Specification(task, loss, C, intercept)
    optimum = optimum_of(specification.problem(source.X, source.y, source.weight)[0])
    for each in takers(STREAM, specification):
        if C > 1.0 and each != "cached-loops":
            continue  # rounds alone creep where C is large
        (kind,) = classes_of(STREAM, each)
        (problem,) = SharedRows(source, [specification], source.weight).problems
        found = kind(tol=1e-5).solve(problem)
        assert found.status is Status.CONVERGED
        seen = found.assessment
        assert seen.gap <= 1e-5 * seen.primal
        assert optimum * (1.0 - 1e-8) <= seen.primal <= optimum * (1.0 + 1e-5)


def test_a_smooth_one_takes_the_l1_penalty():
    problem = LinearProblem(source_for(Huber()), Huber(), 0.5, Intercept.FREE, L1(2.0))
    assert takers(LINEAR, problem) == ["auto", "sparse"]
    for each in ("auto", "sparse"):
        (kind,) = classes_of(LINEAR, each)
        solution = kind(tol=1e-8).solve(problem)
        seen = assess(problem, solution.alpha, solution.weights, solution.bias)
        assert abs(seen.gap) <= 1e-8 * seen.primal


@pytest.mark.parametrize("loss", NEW, ids=name)
def test_loops_know_it_as_numpy_does(loss, rng):
    y = rng.choice([-1.0, 1.0], 400) if loss.is_margin else rng.normal(size=400)
    f = rng.normal(scale=2.0, size=400)
    curve = loss.curve
    u = rng.uniform(curve.low, curve.high, 400)
    u[::7], u[::11], u[::13] = 0.0, curve.low, curve.high
    v = curve.turned(u, y)
    rows = list(zip(f, y, strict=True))
    assert_allclose([curves.loss_value(curve, *row) for row in rows], loss.score_value(f, y), atol=1e-14)
    assert_allclose([curves.subgradient(curve, *row) for row in rows], loss.score_slope(f, y), atol=1e-14)
    found = [curves.conjugate_value(curve, *row) for row in zip(v, y, strict=True)]
    assert_allclose(found, loss.score_conjugate(v, y), atol=1e-14)
    found = [curves.violation(curve, *row) for row in zip(v, f, y, strict=True)]
    assert_allclose(found, loss.score_violation(f, v, y), atol=1e-14)


@pytest.mark.parametrize("loss", NEW, ids=name)
def test_what_follows_from_the_box_belongs_to_the_curve(loss):
    for theorem in (
        test_losses.test_subgradient_lies_in_the_subdifferential_and_has_no_violation,
        test_losses.test_subdifferentials_of_curve_and_conjugate_are_inverse,
        test_losses.test_curvature_is_the_slope_of_the_slope,
        test_losses.test_kinks_are_where_the_slope_changes_its_formula,
    ):
        theorem(loss)


def test_it_comes_back_from_its_record_and_is_written_with_its_numbers():
    loss = TiltedAbsolute(0.9)
    assert losses.from_record(loss.to_record()) == loss
    problem = LinearProblem(source_for(loss), loss, 2.0, Intercept.FREE)
    assert "+ 2 sum_i max(0.9 (y_i - f_i), (1 - 0.9) (f_i - y_i))" in problem.objective


def test_an_error_lists_the_losses_of_the_library_alone():
    (pegasos,) = classes_of(LINEAR, "pegasos")
    problem = LinearProblem(source_for(losses.Squared()), losses.Squared(), 1.0, Intercept.FREE)
    with pytest.raises(
        ParameterError, match=r"It can do: hinge, squared hinge, logistic, epsilon-insensitive, pinball\."
    ):
        pegasos().solve(problem)
