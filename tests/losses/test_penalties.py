"""Penalties, their conjugates and proximal steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from maxmargin import penalties
from maxmargin.errors import ModelFileError, ParameterError
from maxmargin.penalties import L1, L2, ElasticNet

PENALTIES = [L2(), L2(0.3), L1(0.7), ElasticNet(0.4, 0.8)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_fenchel_young_inequality_holds_and_the_conjugate_is_attained(penalty, rng):
    for _ in range(50):
        w, v = rng.normal(size=5), rng.uniform(-0.7, 0.7, size=5)
        assert penalty.value(w) + penalty.conjugate(v) >= v @ w - 1e-12
    # t = prox(w) means that w - t is a subgradient at t, where the inequality is tight.
    t = penalty.proximal_step(w, 1.0)
    if penalty.conjugate(w - t) < np.inf:
        assert_allclose(penalty.value(t) + penalty.conjugate(w - t), (w - t) @ t, atol=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_proximal_step_minimises_its_objective(penalty, rng):
    w, step = rng.normal(size=6), 0.9

    def objective(t):
        return step * penalty.value(t) + 0.5 * np.sum((t - w) ** 2)

    best = penalty.proximal_step(w, step)
    for _ in range(200):
        assert objective(best) <= objective(best + 0.1 * rng.normal(size=6)) + 1e-12


def test_l1_shrinks_to_exact_zeros():
    assert_allclose(L1(1.0).proximal_step(np.array([-0.5, 0.99, 3.0]), 1.0), [0.0, 0.0, 2.0])


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_a_penalty_comes_back_from_its_record(penalty):
    assert penalties.from_record(penalty.to_record()) == penalty


def test_bad_parameters_are_refused():
    for make in (lambda: L2(0.0), lambda: L1(-1.0), lambda: ElasticNet(0.1, 0.0)):
        with pytest.raises(ParameterError):
            make()
    with pytest.raises(ModelFileError):
        penalties.from_record({"kind": "L3"})
