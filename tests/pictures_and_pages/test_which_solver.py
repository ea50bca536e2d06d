"""What the page about solvers says of its tables is in them, and the clock behind them tells the truth."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from benchmarks.solvers.clock import LEVELS, climb
from benchmarks.solvers.main import case_sheet, measure, summary_sheet
from benchmarks.solvers.primal_dual import dual_side, made, primal_side
from benchmarks.solvers.problems import Case
from docs_site.includes import with_includes
from sklearn.datasets import load_breast_cancer

from maxmargin import LinearSVC

ROOT = Path(__file__).parents[2]


def seconds(cell: str) -> float:
    """A time of a table, infinite where it says "no"; the solver that `auto` chose is left out."""
    return math.inf if cell == "no" else float(cell.split(" (")[0].replace(",", ""))


def measured(anchor: str) -> dict[str, dict[str, str]]:
    """A table of the results: its cells by case and column, without the empty ones."""
    text = with_includes(f"[table: it](../benchmarks/results/solvers.md#{anchor})")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    head = rows[0]
    return {row[0]: {name: cell for name, cell in zip(head, row, strict=True) if cell} for row in rows[2:]}


def times(anchor: str) -> dict[str, dict[str, float]]:
    """Seconds of each solver on each problem."""
    return {
        case: {name: seconds(cell) for name, cell in row.items() if name not in ("case", "rows x features")}
        for case, row in measured(anchor).items()
    }


def linear_times() -> dict[str, dict[str, float]]:
    """Both tables of the linear machines, side by side."""
    lectures = times("linear-machines-by-solvers-of-the-lectures")
    return {case: lectures[case] | row for case, row in times("linear-machines").items()}


STOCHASTIC = ("pegasos", "asgd", "implicit", "subgradient")


def quickest(row: dict[str, float]) -> str:
    """The solver with a name of its own that arrived first."""
    return min((name for name in row if name != "auto"), key=lambda name: row[name])


def test_auto_arrives_wherever_another_solver_does():
    for case, row in [*linear_times().items(), *times("kernel-machines").items()]:
        assert row["auto"] < math.inf or min(row.values()) == math.inf, case


def test_curvature_wins_with_many_rows_and_few_columns():
    for case, row in linear_times().items():
        if case.startswith("covtype"):
            assert quickest(row) in ("newton", "multipliers"), case
            assert row["dcd"] > 3.0 * row[quickest(row)], case


def test_descent_wins_on_sparse_rows_with_many_columns_and_slows_down_with_the_cost():
    rows = linear_times()
    texts = [case for case in rows if case.startswith(("reuters", "20 newsgroups", "rcv1"))]
    assert len(texts) == 5
    for case in texts:
        assert quickest(rows[case]) == "dcd", case
    reuters = [row["dcd"] for case, row in rows.items() if case.startswith("reuters")]
    assert reuters[0] < reuters[2] / 3.0


def test_stochastic_solvers_are_the_quickest_nowhere():
    for case, row in linear_times().items():
        assert quickest(row) not in STOCHASTIC, case


def test_working_sets_lead_at_ten_thousand_rows_with_less_memory():
    rows = times("kernel-machines")
    case = next(case for case in rows if case.startswith("a9a 10,000"))
    assert quickest(rows[case]) == "blocks"
    text = (ROOT / "benchmarks" / "results" / "solvers.md").read_text()
    lines = text.partition(f"### {case} (")[2].partition("###")[0].splitlines()
    cells = {row[0]: row for row in ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]) if row}
    column = cells["solver"].index("MB over input")
    megabytes = {name: float(row[column].replace(",", "")) for name, row in cells.items() if name in rows[case]}
    for solver in ("dcd", "smo-simple"):
        assert megabytes[solver] > max(200.0, 3.0 * megabytes["blocks"])


def sides(cell: str) -> tuple[float, float]:
    """Primal and dual of a cell."""
    primal, dual = cell.split(" / ")
    return seconds(primal), seconds(dual)


def test_the_primal_wins_with_few_features_and_the_dual_with_few_rows():
    rows = measured("primal-against-dual")
    few_features, few_rows = rows["N = 16,000, D = 5"], rows["N = 500, D = 80"]
    for column in ("training s", "inference us a row", "model size"):
        primal, dual = sides(few_features[column])
        assert primal < dual, column
    for column in ("training s", "inference us a row"):
        primal, dual = sides(few_rows[column])
        assert dual < primal, column
    grid = measured("newton-against-dual-descent")
    newton, descent = sides(grid["N = 20,000"]["D = 20"])
    assert newton < descent
    newton, descent = sides(grid["N = 2,000"]["D = 2,000"])
    assert descent < newton


# The clock behind the tables.


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
    assert seconds(summary.rows[0][4]) < 5.0


def test_a_table_that_is_not_there_is_an_error():
    with pytest.raises(LookupError, match="no heading #nothing"):
        with_includes("[table: it](../benchmarks/results/kernel.md#nothing)")
    with pytest.raises(LookupError, match=r"nothing\.md names nothing"):
        with_includes("[table: it](../benchmarks/results/nothing.md#it)")
