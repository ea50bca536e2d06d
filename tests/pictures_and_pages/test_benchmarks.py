"""The clock behind the tables of the benchmarks tells the truth, and a table has the lines that it should."""

from __future__ import annotations

import math

import pytest
from benchmarks.solvers.clock import LEVELS, climb
from benchmarks.solvers.main import case_sheet, measure, summary_sheet
from benchmarks.solvers.primal_dual import dual_side, made, primal_side
from benchmarks.solvers.problems import Case
from sklearn.datasets import load_breast_cancer

from maxmargin import LinearSVC


def test_times_to_smaller_gaps_are_longer_and_the_certificate_confirms_the_last():
    X, y = made(300, 5)
    models: list[LinearSVC] = []

    def make(tol: float) -> LinearSVC:
        models.append(LinearSVC(loss="hinge", solver="dcd", tol=tol))
        return models[-1]

    found = climb(make, X, y)
    assert [*found.seconds] == [*LEVELS]
    assert sorted(found.seconds.values()) == [*found.seconds.values()]
    assert 0.0 < found.seconds[1e-6] <= max(model.certificate_.seconds for model in models) + found.total
    assert found.gap <= 1e-6
    assert found.chosen == "dcd"
    assert models[0].certificate_.relative_gap <= 1e-6


def test_a_solver_that_cannot_arrive_says_how_far_it_came():
    X, y = made(300, 5)
    found = climb(lambda tol: LinearSVC(loss="hinge", C=100.0, solver="subgradient", tol=tol, max_iter=3), X, y)
    assert found.seconds == {}
    assert 1e-2 < found.gap < math.inf
    assert found.status == "BUDGET"


def test_both_sides_of_the_lecture_reach_the_same_optimum():
    X, y = made(460, 4)
    primal = primal_side(X[:400], y[:400], X[400:], limit=10.0)
    dual, support = dual_side(X[:400], y[:400], X[400:], limit=10.0)
    assert primal.primal == pytest.approx(dual.primal, rel=2e-3)
    assert primal.model_size == 15
    assert dual.model_size == 4 * support


def test_the_tables_have_a_line_a_solver_and_leave_empty_what_does_not_apply():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    linear = Case("breast cancer", lambda: (X, y), LinearSVC, {"loss": "squared_hinge", "C": 1.0}, ("auto", "newton"))
    descent = Case("breast cancer", lambda: (X, y), LinearSVC, {"loss": "hinge", "C": 1.0}, ("auto", "dcd"))
    found = [measure(case, X, y, limit=5.0) for case in (linear, descent)]
    sheet = case_sheet(found[0])
    assert [row[0] for row in sheet.rows] == ["auto", "newton"]
    assert sheet.rows[0][-1] == "ended in newton"
    summary = summary_sheet("Linear machines", found)
    assert summary.columns == ("case", "rows x features", "auto", "dcd", "newton", "multipliers", "qp")
    assert [name for name, cell in zip(summary.columns, summary.rows[0], strict=True) if not cell] == [
        "dcd",
        "multipliers",
        "qp",
    ]
    assert [name for name, cell in zip(summary.columns, summary.rows[1], strict=True) if not cell] == [
        "newton",
        "multipliers",
        "qp",
    ]
    assert 0.0 < float(summary.rows[0][4]) < 5.0
