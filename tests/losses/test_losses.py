"""A loss and its conjugate belong together; the rest of the library stands on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from maxmargin import losses
from maxmargin.errors import ModelFileError, ParameterError
from maxmargin.losses import (
    Absolute,
    EpsilonInsensitive,
    HardMargin,
    Hinge,
    Logistic,
    MarginLoss,
    Pinball,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

CURVES = [
    Hinge(),
    SquaredHinge(),
    Logistic(),
    Squared(),
    EpsilonInsensitive(0.3),
    SquaredEpsilonInsensitive(0.3),
    Absolute(),
    Pinball(0.9),
]
BOXED = [loss for loss in CURVES if not isinstance(loss, Logistic)] + [HardMargin()]
z_grid = np.linspace(-3.0, 3.0, 61)


def name(loss):
    return loss.name


@pytest.mark.parametrize("loss", CURVES, ids=name)
def test_fenchel_young_inequality_is_tight_at_the_subgradient(loss):
    u = loss.subgradient(z_grid)
    assert_allclose(loss.value(z_grid) + loss.conjugate(u), z_grid * u, atol=1e-12)


@pytest.mark.parametrize("loss", CURVES, ids=name)
@given(z=st.floats(-50, 50), u=st.floats(-1, 1))
def test_fenchel_young_inequality_holds_everywhere(loss, z, u):
    z, u = np.array([z]), np.array([u])
    assert loss.value(z) + loss.conjugate(u) >= z * u - 1e-12


@pytest.mark.parametrize("loss", CURVES, ids=name)
def test_conjugate_is_the_supremum_of_its_definition(loss):
    for u in (-0.9, -0.5, -0.1):
        best = minimize_scalar(
            lambda z, u=u: float(loss.value(np.array([z]))[0]) - u * z, bounds=(-60, 60), method="bounded"
        )
        assert_allclose(loss.conjugate(np.array([u]))[0], -best.fun, atol=1e-4)


@pytest.mark.parametrize("loss", CURVES, ids=name)
def test_subgradient_supports_the_curve(loss):
    u = loss.subgradient(z_grid)
    tangent = loss.value(z_grid)[:, None] + u[:, None] * (z_grid[None, :] - z_grid[:, None])
    assert np.all(loss.value(z_grid)[None, :] >= tangent - 1e-12)


@pytest.mark.parametrize("loss", CURVES, ids=name)
def test_subgradient_lies_in_the_subdifferential_and_has_no_violation(loss):
    u = loss.subgradient(z_grid)
    low, high = loss.subdifferential(z_grid)
    assert np.all((low <= u) & (u <= high))
    assert_allclose(loss.violation(z_grid, u), 0.0, atol=1e-15)


@pytest.mark.parametrize("loss", CURVES, ids=name)
def test_subdifferentials_of_curve_and_conjugate_are_inverse(loss):
    u = loss.subgradient(z_grid)
    low, high = loss.conjugate_subdifferential(u)
    assert np.all((low <= z_grid + 1e-12) & (z_grid - 1e-12 <= high))


@pytest.mark.parametrize("loss", CURVES, ids=name)
def test_curvature_is_the_slope_of_the_slope(loss):
    z = z_grid + 0.013  # away from every kink
    step = 1e-6
    slope = (loss.subgradient(z + step) - loss.subgradient(z - step)) / (2 * step)
    assert_allclose(loss.curvature(z), slope, atol=1e-6)


@pytest.mark.parametrize("loss", BOXED, ids=name)
def test_dual_box_is_the_conjugate_times_the_cost(loss):
    C = np.array([0.5, 1.0, 4.0])
    box = loss.dual_box(C)
    upper = np.where(np.isfinite(box.upper), box.upper, 3.0)
    for share in (0.0, 0.3, 1.0):
        alpha = share * upper
        quadratic = box.linear * alpha - box.absolute * np.abs(alpha) - 0.5 * box.diagonal * alpha**2
        assert_allclose(-C * loss.conjugate(-alpha / C), quadratic, atol=1e-12)
    assert np.all(np.isinf(loss.conjugate(-(box.upper[np.isfinite(box.upper)] * 1.01) / C[np.isfinite(box.upper)])))


@pytest.mark.parametrize("loss", CURVES, ids=name)
def test_kinks_are_where_the_slope_changes_its_formula(loss):
    y = np.array([1.0, -1.0]) if isinstance(loss, MarginLoss) else np.array([0.4, -2.0])
    kinks = loss.score_kinks(y)
    step = 1e-7
    for kink in kinks:
        bend = loss.score_curvature(kink + step, y) - loss.score_curvature(kink - step, y)
        jump = loss.score_slope(kink + step, y) - loss.score_slope(kink - step, y)
        assert np.all(np.abs(bend) + np.abs(jump) > 0.5)


@pytest.mark.parametrize("loss", CURVES, ids=name)
def test_scores_and_targets_meet_the_curve_as_the_notation_says(loss, rng):
    f = rng.normal(size=20)
    y = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    z, u_to_v = (y * f, y) if isinstance(loss, MarginLoss) else (f - y, 1.0)
    assert_allclose(loss.score_value(f, y), loss.value(z))
    assert_allclose(loss.score_slope(f, y), u_to_v * loss.subgradient(z))
    v = loss.score_slope(f, y)
    assert_allclose(loss.score_value(f, y) + loss.score_conjugate(v, y), v * f, atol=1e-12)
    alpha = rng.random(20)
    assert_allclose(loss.multipliers(loss.coefficients(alpha, y), y), alpha)


def test_softmax_is_tight_at_its_gradient_and_equals_logistic_for_two_classes(rng):
    loss = Softmax()
    f = rng.normal(size=(30, 4))
    y = rng.integers(0, 4, 30)
    v = loss.score_slope(f, y)
    assert_allclose(loss.score_value(f, y) + loss.score_conjugate(v, y), np.sum(v * f, axis=1), atol=1e-12)
    assert_allclose(
        loss.value(f) + loss.conjugate(loss.subgradient(f)), np.sum(loss.subgradient(f) * f, axis=1), atol=1e-12
    )
    assert_allclose(loss.score_violation(f, v, y), 0.0, atol=1e-15)
    two = np.column_stack([np.zeros(30), f[:, 0]])
    sign = np.where(y > 1, 1.0, -1.0)
    assert_allclose(loss.score_value(two, (sign > 0).astype(float)), Logistic().score_value(f[:, 0], sign), atol=1e-12)


def test_softmax_conjugate_is_infinite_off_the_simplex():
    assert np.all(np.isinf(Softmax().conjugate(np.array([[0.5, 0.6], [-0.1, 1.1], [0.2, 0.2]]))))


def test_losses_do_not_overflow_far_out():
    far = np.array([-1e308, -1e4, 1e4, 1e308])
    assert np.all(np.isfinite(Logistic().value(far[:3])))
    assert np.all(np.isfinite(Softmax().value(far[:3].reshape(1, -1))))


@pytest.mark.parametrize("loss", [*CURVES, HardMargin(), Softmax()], ids=name)
def test_a_loss_comes_back_from_its_record(loss):
    assert losses.from_record(loss.to_record()) == loss


def test_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="epsilon must be"):
        EpsilonInsensitive(-1.0)
    with pytest.raises(ParameterError, match="epsilon must be"):
        SquaredEpsilonInsensitive(float("nan"))
    with pytest.raises(ParameterError, match="use EpsilonInsensitive"):
        Absolute(0.1)
    with pytest.raises(ModelFileError, match="does not know"):
        losses.from_record({"kind": "os.system"})
