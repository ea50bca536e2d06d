"""An error lists the solvers that work, a warning points at the user's line, and "auto" knows every loss."""

import inspect
import itertools
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    Ridge,
    SoftmaxRegression,
    losses,
    solvers,
)
from maxmargin.certificates import assess
from maxmargin.data import ArraySource
from maxmargin.errors import NotConvergedWarning, ParameterError
from maxmargin.kernels import Linear
from maxmargin.penalties import L1, L2
from maxmargin.problems import Intercept, LinearProblem, Pair, Specification
from maxmargin.solvers import solver_named
from maxmargin.solvers.common.solver import losses_of
from maxmargin.solvers.registry import KERNEL, LINEAR, STREAM, classes_of, takers

_rng = np.random.default_rng(0)
_X = np.vstack([_rng.normal(size=(12, 2)) + 2.0, _rng.normal(size=(12, 2)) - 2.0])
_SIGNS = np.repeat([1.0, -1.0], 12)
_THREE = np.tile([0, 1, 2], 8)
_NUMBERS = _X @ [1.0, -2.0] + 0.3 * _rng.normal(size=24)

_TARGETS = {
    losses.Hinge(): _SIGNS,
    losses.SquaredHinge(): _SIGNS,
    losses.HardMargin(): _SIGNS,
    losses.Logistic(): _SIGNS,
    losses.EpsilonInsensitive(0.1): _NUMBERS,
    losses.SquaredEpsilonInsensitive(0.1): _NUMBERS,
    losses.Absolute(): _NUMBERS,
    losses.Squared(): _NUMBERS,
    losses.Softmax(): _THREE.astype(float),
}


@pytest.mark.parametrize("penalty", [L2(), L1()], ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("loss", _TARGETS, ids=lambda loss: loss.name)
def test_the_solvers_listed_for_a_loss_are_exactly_those_that_take_it(loss, penalty):
    problem = LinearProblem(ArraySource(_X, _TARGETS[loss], np.ones(24)), loss, 1.0, Intercept.FREE, penalty)
    found = set()
    for name in LINEAR:
        try:
            solver_named(name, linear=True, tol=1e-2, max_iter=5).solve(problem)
        except ParameterError:
            continue
        found.add(name)
    assert found == set(takers(LINEAR, problem))


def _names_in_error(model, X, y):
    with pytest.raises(ParameterError, match="solver='simplex' is not known") as caught:
        model.set_params(solver="simplex").fit(X, y)
    return [word.strip(" '.") for word in str(caught.value).partition("Known: ")[2].split(",")]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LogisticRegression(), _SIGNS),
        (LogisticRegression(), _THREE),
        (SoftmaxRegression(), _THREE),
        (LinearSVC(), _SIGNS),
        (LinearSVC(loss="hinge"), _THREE),
        (LinearSVC(C=np.inf), _SIGNS),
        (Ridge(), _NUMBERS),
        (LinearRegression(), _NUMBERS),
        (SVC(), _SIGNS),
        (SVR(), _NUMBERS),
    ],
    ids=lambda value: str(value) if hasattr(value, "fit") else f"{len(np.unique(value))}-targets",
)
def test_every_solver_that_an_error_lists_fits(model, y):
    names = _names_in_error(model, _X, y)
    assert "auto" in names
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)  # some of them need many passes
            fitted = model.set_params(solver=name, max_iter=5).fit(_X, y)
        fitted.certificate_.verify(_X, y)


PAGES = Path(__file__).parents[2] / "docs" / "theory"
INTERCEPTS = {"free": Intercept.FREE, "augmented": Intercept.AUGMENTED, "none": Intercept.NONE}


def table(page, column):
    """The rows of the first table of a page with that column, by their first cells; "the same" is what stood above."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (PAGES / page).read_text().splitlines()]
    start = next(k for k, cells in enumerate(lines) if column in cells)
    rows, above = {}, ""
    for cells in itertools.takewhile(bool, lines[start + 2 :]):
        row = dict(zip(lines[start], cells, strict=True))
        above = row[column] = row[column].replace("the same", above)
        rows[cells[0].strip('`"')] = row
    return rows


def listed(words):
    """What a cell lists, with "both also squared" taken at its word."""
    names = {name.strip().removeprefix("and ") for name in words.split(",")}
    if "both also squared" in names:
        names = names - {"both also squared"} | {"squared hinge", "squared epsilon-insensitive"}
    return names


@pytest.mark.parametrize("name", table("lecture_solvers.md", "losses"))
def test_the_page_of_lecture_solvers_says_what_they_take(name):
    row = table("lecture_solvers.md", "losses")[name]
    (kind,) = classes_of(LINEAR, name)
    problem = Specification(Pair(-1, 1), losses.Hinge(), 1.0, Intercept.FREE)
    assert row["class in `maxmargin.solvers`"] == f"`{kind.__name__}`"
    assert listed(row["losses"]) == set(losses_of(kind(), problem))
    taken = {word for word, intercept in INTERCEPTS.items() if kind().takes(replace(problem, intercept=intercept))}
    assert taken == (set(INTERCEPTS) if row["intercept"] == "any" else listed(row["intercept"]))


@pytest.mark.parametrize("name", table("kernel_solvers.md", "losses"))
def test_the_page_of_kernel_solvers_says_what_they_take(name):
    row = table("kernel_solvers.md", "losses")[name]
    (kind,) = classes_of(KERNEL, name)
    intercepts = set(INTERCEPTS) if row["intercept"] == "any" else listed(row["intercept"])
    intercept = INTERCEPTS[min(intercepts)]
    problem = Specification(Pair(-1, 1), losses.Hinge(), 1.0, intercept, Linear())
    known = losses_of(kind(), problem) + (["nu"] if kind().takes(replace(problem, nu=0.5)) else [])
    assert listed(row["losses"]) == set(known)
    taken = {word for word, other in INTERCEPTS.items() if kind().takes(replace(problem, intercept=other))}
    assert taken == intercepts


def test_a_page_has_every_solver_of_the_lectures_and_of_kernels():
    lectures = {name for name, places in LINEAR.items() if places[0].startswith("lectures.")}
    assert set(table("lecture_solvers.md", "losses")) == lectures
    assert {"auto", *table("kernel_solvers.md", "losses")} == set(KERNEL)
    assert set(table("streams.md", "what is in memory")) == set(STREAM)


def test_nothing_is_imported_for_the_name_of_a_solver_but_the_solver():
    program = """
import sys
from maxmargin.losses import Hinge
from maxmargin.problems import Intercept, Pair, Specification
from maxmargin.solvers.registry import check_linear_name
problem = Specification(Pair(-1, 1), Hinge(), 1.0, Intercept.FREE)
check_linear_name("auto", problem)
print("numba" in sys.modules)
check_linear_name("pegasos", problem)
rooms = ("lectures", "linear", "kernel", "sparse", "reference", "streams")
found = sorted(name for name in sys.modules if name.startswith(tuple(f"maxmargin.solvers.{room}." for room in rooms)))
print(found)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = ["maxmargin.solvers.lectures.row_by_row", "maxmargin.solvers.lectures.stochastic"]
    assert done.stdout.splitlines() == ["False", str(names)]


def test_every_solver_class_is_public():
    for name in ("LeastSquares", "SoftmaxNewton"):
        assert issubclass(getattr(solvers, name), solvers.Solver)
        assert name in solvers.__all__


@pytest.mark.parametrize(
    "intercept", [Intercept.FREE, Intercept.AUGMENTED, Intercept.NONE], ids=lambda kind: kind.words
)
@pytest.mark.parametrize(
    ("loss", "by_name"),
    [(losses.Softmax(), "softmax-newton"), (losses.Squared(), "least-squares")],
    ids=["softmax", "squared"],
)
def test_auto_solves_softmax_and_squared_losses_with_their_own_solvers(loss, by_name, intercept):
    problem = LinearProblem(ArraySource(_X, _TARGETS[loss], np.ones(24)), loss, 1.0, intercept)
    ours, theirs = (solver_named(name, linear=True, tol=1e-8).solve(problem) for name in ("auto", by_name))
    seen = assess(problem, ours.alpha, ours.weights, ours.bias)
    assert abs(seen.gap) <= 1e-8 * seen.primal
    assert ours.solver.startswith(by_name)
    assert_allclose(ours.weights, theirs.weights, rtol=1e-12)


_UNFINISHED = [
    (LinearSVC(loss="hinge", solver="dcd", C=100.0, max_iter=1, tol=1e-12), _THREE),
    (LinearSVR(solver="dcd", C=100.0, max_iter=1, tol=1e-12), _NUMBERS),
    (LogisticRegression(max_iter=1, tol=1e-12), _SIGNS),
    (LogisticRegression(max_iter=1, tol=1e-12), _THREE),
    (SoftmaxRegression(max_iter=1, tol=1e-12), _THREE),
    (Ridge(solver="dcd", max_iter=1, tol=1e-12), _NUMBERS),
    (LinearRegression(solver="cg", max_iter=1, tol=1e-12), _NUMBERS),
    (SVC(max_iter=1, tol=1e-12), _THREE),
    (SVR(max_iter=1, tol=1e-12), _NUMBERS),
]


@pytest.mark.parametrize(("model", "y"), _UNFINISHED, ids=lambda value: type(value).__name__)
def test_the_warning_points_at_the_line_that_called_fit(model, y):
    with pytest.warns(NotConvergedWarning) as caught:
        model.fit(_X, y)
    line = inspect.currentframe().f_lineno - 1
    (warning,) = [one for one in caught if issubclass(one.category, NotConvergedWarning)]
    assert (warning.filename, warning.lineno) == (__file__, line)


def test_every_estimator_with_a_certificate_is_among_those_whose_warning_is_tested():
    from maxmargin.estimators.fitting.machine import Machine

    public = {kind for kind in vars(maxmargin).values() if isinstance(kind, type) and issubclass(kind, Machine)}
    assert public <= {type(model) for model, _ in _UNFINISHED}


@pytest.mark.parametrize("strength", [1e-3, 1.0, 40.0])
def test_a_penalty_of_any_strength_is_certified(strength):
    """1/2 s |w|^2 + C sum_i l is s (1/2 |w|^2 + C/s sum_i l): the same weights, s times the value and the gap."""
    scaled = LinearProblem(ArraySource(_X, _NUMBERS, np.ones(24)), losses.Squared(), 2.0, Intercept.FREE, L2(strength))
    plain = LinearProblem(ArraySource(_X, _NUMBERS, np.ones(24)), losses.Squared(), 2.0 / strength, Intercept.FREE)
    solution = solver_named("auto", linear=True).solve(scaled)
    seen = assess(scaled, solution.alpha, solution.weights, solution.bias)
    assert abs(seen.gap) <= max(1e-13 * seen.primal, seen.rounding)
    assert seen.kkt_violation <= 1e-12

    off = solution.weights + np.array([0.1, 0.0])
    assert_allclose(scaled.pieces(off, solution.alpha).apart, 0.5 * strength * 0.1**2, rtol=1e-9)
    for weights in (None, off):
        ours = assess(scaled, solution.alpha, weights, None)
        theirs = assess(plain, solution.alpha / strength, weights, None)
        assert_allclose(ours.primal, strength * theirs.primal, rtol=1e-12)
        assert_allclose(ours.dual, strength * theirs.dual, rtol=1e-12)
        assert_allclose(ours.kkt_violation, theirs.kkt_violation, rtol=1e-6, atol=1e-10)
    assert assess(scaled, solution.alpha, None, None).gap <= 1e-12 * seen.primal
