"""The losses inside compiled loops are the losses of `maxmargin.losses`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from maxmargin._loops import curves
from maxmargin.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

LOSSES = [
    Hinge(),
    SquaredHinge(),
    Logistic(),
    EpsilonInsensitive(0.3),
    SquaredEpsilonInsensitive(0.3),
    Squared(),
    Absolute(),
    Pinball(0.9),
]


def rows_of(loss, rng, n=500):
    """Scores, targets, and slopes inside the domain of the conjugate, its ends and zero among them."""
    y = rng.choice([-1.0, 1.0], n) if loss.is_margin else rng.normal(size=n)
    f = rng.normal(scale=2.0, size=n)
    f[:40] = y[:40]
    low, high = max(loss.curve.low, -1.0), min(loss.curve.high, 1.0)
    v = loss.turned(rng.uniform(low, high, n), y)
    v[::7], v[::11] = 0.0, -y[::11] if loss.is_margin else high
    return f, y, v


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_value_slope_conjugate_and_violation(loss, rng):
    f, y, v = rows_of(loss, rng)
    curve = loss.curve
    assert_allclose([curves.loss_value(curve, *row) for row in zip(f, y, strict=True)], loss.score_value(f, y))
    assert_allclose(
        [curves.subgradient(curve, *row) for row in zip(f, y, strict=True)], loss.score_slope(f, y), atol=1e-15
    )
    assert_allclose(
        [curves.conjugate_value(curve, *row) for row in zip(v, y, strict=True)],
        loss.score_conjugate(v, y),
        atol=1e-15,
    )
    assert_allclose(
        [curves.violation(curve, *row) for row in zip(v, f, y, strict=True)],
        loss.score_violation(f, v, y),
        atol=1e-14,
    )


SMOOTH = [loss for loss in LOSSES if not loss.curve.has_kinks]


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_slope_and_curvature_of_smooth_losses(loss, rng):
    f, y, _ = rows_of(loss, rng)
    f = f + 1e-3  # off the bends, where the curvature has two values
    slopes = np.array([curves.slopes(loss.curve, 0.0, *row) for row in zip(f, y, strict=True)])
    assert_allclose(slopes[:, 0], loss.score_slope(f, y), atol=1e-15)
    assert_allclose(slopes[:, 1], loss.score_curvature(f, y), atol=1e-15)


@pytest.mark.parametrize(
    "loss", [Hinge(), EpsilonInsensitive(0.3), Absolute(), Pinball(0.9)], ids=lambda loss: loss.name
)
@pytest.mark.parametrize("sigma", [0.1, 1.0, 30.0])
def test_the_smooth_neighbour_has_the_slope_that_maximises(loss, sigma, rng):
    f, y, u = rows_of(loss, rng, 200)
    curve = loss.curve._replace(sigma=sigma)
    grid = np.linspace(-1.0, 1.0, 4001)
    for fi, yi, ui in zip(f, y, u, strict=True):
        v, curvature = curves.slopes(curve, ui, fi, yi)
        gain = grid * fi - loss.score_conjugate(grid, np.full_like(grid, yi)) - (grid - ui) ** 2 / (2.0 * sigma)
        assert abs(v - grid[np.argmax(gain)]) <= 1e-3
        step = 1e-7
        after, _ = curves.slopes(curve, ui, fi + step, yi)
        if curvature == 0.0:
            assert after == pytest.approx(v, abs=1.01 * sigma * step)
        else:
            assert after - v <= sigma * step * (1.0 + 1e-6) + 1e-15
