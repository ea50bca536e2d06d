"""Is it a kernel? The three questions of the first lecture, and witnesses that prove their answers."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels import EditDistance, Gaussian, Linear, Polynomial, Sigmoid, mercer_check

STRINGS = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]


def one_minus_squared_distance(x, z):
    return 1 - np.sum((x - z) ** 2)


QUESTIONS = [
    (Sigmoid(gamma=1, coef0=1), np.array([[1.0], [3.0]])),
    (EditDistance(gamma=1), STRINGS),
    (one_minus_squared_distance, np.array([[0.0], [2.0]])),
]


def matrix_of(kernel, X):
    """K by a double loop, trusting nothing the check computed."""
    value = kernel if not hasattr(kernel, "block") else lambda x, z: kernel.block([x], [z])[0, 0]
    return np.array([[value(x, z) for z in X] for x in X])


@pytest.mark.parametrize(("kernel", "X"), QUESTIONS, ids=["tanh", "edit distance", "1 - distance"])
def test_none_of_the_three_questions_of_the_lecture_is_about_a_kernel(kernel, X):
    report = mercer_check(kernel, X)
    assert not report
    assert not report.is_kernel
    assert report.symmetric
    assert report.smallest_eigenvalue < -0.01


@pytest.mark.parametrize(("kernel", "X"), QUESTIONS, ids=["tanh", "edit distance", "1 - distance"])
def test_the_witness_certifies_itself(kernel, X):
    report = mercer_check(kernel, X)
    v = report.witness
    assert v @ v == pytest.approx(1)
    value = v @ matrix_of(kernel, X) @ v
    assert value < -report.rounding
    assert value == pytest.approx(report.smallest_eigenvalue)


@settings(deadline=None, max_examples=50)
@given(
    X=arrays(np.float64, st.tuples(st.integers(1, 10), st.just(2)), elements=st.floats(-3, 3, width=32)),
    offset=st.sampled_from([0.0, 30.0, 1000.0]),
    gamma=st.sampled_from([1e-4, 0.1, 1.0]),
)
def test_a_gaussian_meets_no_contradiction_wherever_the_points_lie(X, offset, gamma):
    report = mercer_check(Gaussian(gamma=gamma), X + offset)
    assert report
    assert report.witness is None
    assert report.smallest_eigenvalue >= -report.rounding


@pytest.mark.parametrize("kernel", [Polynomial(degree=2, coef0=-1), Polynomial(degree=1.5, coef0=1.5)], ids=str)
def test_polynomials_outside_the_proven_range_can_fail(kernel, rng):
    assert not mercer_check(kernel, rng.uniform(-0.8, 0.8, (60, 2)))


def test_a_kernel_must_be_symmetric():
    report = mercer_check(lambda x, z: x[0] - z[0] + 5 * (x[0] == z[0]), np.array([[1.0], [3.0]]))
    assert not report.is_kernel
    assert not report.symmetric
    assert report.witness is None
    assert report.explanation.endswith("k(x_0, x_1) = -2, but k(x_1, x_0) = 2.")


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_a_precomputed_matrix_is_checked_as_it_stands(layout):
    assert mercer_check("precomputed", layout(np.array([[2.0, 1.0], [1.0, 2.0]])))
    report = mercer_check("precomputed", layout(np.array([[1.0, 2.0], [2.0, 1.0]])))
    assert report.smallest_eigenvalue == pytest.approx(-1)
    assert np.abs(report.witness) == pytest.approx(np.sqrt(0.5))


def test_rounding_is_judged_by_the_precision_the_matrix_came_in(rng):
    X = rng.standard_normal((40, 3))
    K = X @ X.T
    assert mercer_check("precomputed", K)
    assert mercer_check("precomputed", K.astype(np.float32))
    assert not mercer_check("precomputed", K.astype(np.float32).astype(np.float64))


def test_single_precision_rows_are_compared_in_double(rng):
    X = rng.standard_normal((40, 3)).astype(np.float32)
    for kernel in (Linear(), lambda A, B: A @ B.T):
        assert mercer_check(kernel, X)


def test_a_tolerance_forgives_a_small_negative_eigenvalue():
    assert not mercer_check("precomputed", np.diag([1.0, -1e-3]))
    assert mercer_check("precomputed", np.diag([1.0, -1e-3]), tol=1e-2)
    with pytest.raises(ParameterError, match="tol must not be negative"):
        mercer_check("precomputed", np.eye(2), tol=-1)


def test_the_report_reads_like_an_answer():
    report = mercer_check(Sigmoid(coef0=1), np.array([[1.0], [3.0]]))
    assert str(report).splitlines()[0].startswith("tanh(<x, z> + 1) is not a kernel: its matrix on these 2 points")
    assert "which is not yet a proof" in mercer_check(Linear(), np.eye(2)).explanation


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        ("precomputed", np.ones((2, 3)), "must be square"),
        ("linear", np.ones((0, 3)), "at least one point"),
        (lambda x, z: np.nan, np.eye(2), r"k\(x_0, x_0\) = nan"),
    ],
)
def test_what_cannot_be_checked_is_refused(kernel, X, message):
    with pytest.raises(DataError, match=message):
        mercer_check(kernel, X)


@pytest.mark.slow
def test_the_code_of_the_theory_page_runs():
    page = Path(__file__).parents[2] / "docs" / "theory" / "kernels.md"
    blocks = page.read_text(encoding="utf-8").split("```python\n")[1:]
    code = "\n".join(block.split("```")[0] for block in blocks)
    exec(compile(code, page.name, "exec"), {})
