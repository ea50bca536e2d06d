"""Newton steps that rows stop at once, one after the other, come to the answer from smaller costs."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin
from maxmargin import LinearSVC, LinearSVR
from maxmargin.errors import NotConvergedWarning
from maxmargin.solvers.linear import newton as newton_module
from maxmargin.solvers.linear.newton import RowsInMemory
from maxmargin.solvers.linear.newton_method import NewtonMethod

# Every row can be met, and C makes each of them a wall: no row has curvature until it is violated.
TUBE = {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}


def met_by_a_line(n=600, d=20, seed=0):
    """Rows in units from 0.01 to 100, with targets and labels that a weight vector meets exactly."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.uniform(-2.0, 2.0, size=d)
    rows = rng.normal(size=(n, d))
    return rows * units, rows @ rng.normal(size=d)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("C", [1e6, 1e8])
@pytest.mark.parametrize("stream", [None, "cached-loops"])
@pytest.mark.slow
def test_squared_losses_with_huge_costs_converge(stream, C, seed):
    X, z = met_by_a_line(seed=seed)
    for model, y in ((LinearSVC(), np.sign(z)), (LinearSVR(**TUBE), z)):
        model.set_params(C=C, stream=stream, tol=1e-4).fit(X, y)
        assert model.certificate_.status.name == "CONVERGED"
        assert model.certificate_.verify(X, y).status.name == "CONVERGED"


def test_the_answer_is_that_of_the_quadratic_program():
    X, z = met_by_a_line(n=200, d=5)
    y = np.sign(z)
    newton, exact = (LinearSVC(C=1e6, solver=solver, tol=1e-6).fit(X, y).certificate_ for solver in ("newton", "qp"))
    assert newton.status.name == exact.status.name == "CONVERGED"
    assert newton.primal == pytest.approx(exact.primal, rel=1e-5)


def test_a_budget_that_ends_on_the_way_keeps_what_was_better():
    X, z = met_by_a_line()
    with maxmargin.open([(X, z)], memory="100KB") as source:
        model = LinearSVR(**TUBE, C=1e7, stream="cached-loops", tol=1e-4)
        passes = model.fit(source).n_iter_
        best = model.certificate_.primal
        for share in (0.5, 0.7):
            model.set_params(max_iter=int(share * passes))
            with pytest.warns(NotConvergedWarning, match="BUDGET"):
                model.fit(source)
            assert best <= model.certificate_.primal <= 1.5 * best  # answers for smaller costs are far above


def test_steps_that_are_counted_do_not_begin_again():
    X, z = met_by_a_line(n=200, d=5)
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model = LinearSVC(C=1e6, solver="newton", max_iter=4).fit(X, np.sign(z))
    assert model.n_iter_ <= 4 * 4 + 1


def jams(monkeypatch, on_the_way):
    """A fit whose steps jam, with something that happens at the third step on the way from smaller costs."""
    X, z = met_by_a_line()
    y = np.sign(z)
    counted, go, way, jammed = [], RowsInMemory._go, NewtonMethod._by_way_of_smaller_costs, []

    def come(self, tol):
        jammed.append(self.primal)
        return way(self, tol)

    def counting(self, p, shift):
        counted.extend([1] if jammed else [])
        if len(counted) == 3:
            on_the_way()
        return go(self, p, shift)

    monkeypatch.setattr(NewtonMethod, "_by_way_of_smaller_costs", come)
    monkeypatch.setattr(RowsInMemory, "_go", counting)
    return LinearSVC(C=1e8, solver="newton", tol=1e-4, max_seconds=100.0), X, y, jammed


def test_ctrl_c_on_the_way_keeps_what_was_there(monkeypatch):
    def press():
        raise KeyboardInterrupt

    model, X, y, jammed = jams(monkeypatch, press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.status.name == "INTERRUPTED"
    assert model.certificate_.primal <= jammed[0] * (1.0 + 1e-6)


def test_time_that_ends_on_the_way_keeps_what_was_there(monkeypatch):
    late = []
    clock = newton_module.time.perf_counter
    monkeypatch.setattr(newton_module.time, "perf_counter", lambda: clock() + (1e3 if late else 0.0))
    model, X, y, jammed = jams(monkeypatch, lambda: late.append(True))
    with pytest.warns(NotConvergedWarning, match="BUDGET"):
        model.fit(X, y)
    assert model.certificate_.primal <= jammed[0] * (1.0 + 1e-6)
