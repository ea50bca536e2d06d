"""A step ends where the slope along it has all but vanished, wherever kinks lie."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers.linear.newton_method import step_length


class Kinks:
    """Slope and curvature of sum_k c_k max(0, t - t_k)^2 / 2, and how often they were asked for."""

    def __init__(self, places, curvatures):
        self.places, self.curvatures, self.asked = np.asarray(places), np.asarray(curvatures), 0

    def __call__(self, t):
        self.asked += 1
        beyond = t > self.places
        return float(np.sum((self.curvatures * (t - self.places))[beyond])), float(np.sum(self.curvatures[beyond]))


@pytest.mark.parametrize("shorter", [0.5, 0.03])
@pytest.mark.parametrize("seed", range(40))
def test_the_slope_at_the_end_is_a_small_part_of_the_first(seed, shorter):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 50))
    losses = Kinks(10.0 ** rng.uniform(-8, 2, count), 10.0 ** rng.uniform(-3, 6, count))
    steep, square = 10.0 ** rng.uniform(-6, 6), 10.0 ** rng.uniform(-6, 1)
    t = step_length(-steep, square, steep, losses, shorter=shorter)
    slope = -steep + t * square + losses(t)[0]
    assert t > 0.0
    assert -0.01 * steep <= slope <= 0.1 * steep
    assert losses.asked <= 50


def test_a_parabola_takes_one_look_at_its_whole_newton_step():
    losses = Kinks([], [])
    assert step_length(-2.0, 2.0, 2.0, losses) == 1.0
    assert losses.asked == 1


class Step(Kinks):
    """A loss whose slope rises to its height within a short way, as that of a smoothed hinge does."""

    def __call__(self, t):
        self.asked += 1
        (begin,), (height,) = self.places, self.curvatures
        along = (t - begin) / begin
        return height * float(np.clip(along, 0.0, 1.0)), height / begin if 0.0 < along < 1.0 else 0.0


def test_a_kink_that_is_very_near_is_found_sooner_by_shorter_steps():
    asked = {}
    for shorter in (0.03, 0.5):
        losses = Step([1e-9], [3.0])
        t = step_length(-1.0, 1e-3, 1.0, losses, shorter=shorter)
        assert 1e-9 < t < 2e-9
        asked[shorter] = losses.asked
    assert asked[0.03] < asked[0.5]
