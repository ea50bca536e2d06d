"""Kernels compute what their formulas say, for every layout and precision of the rows."""

import doctest
import importlib
import pkgutil
import subprocess
import sys
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise
from sklearn.svm import SVC

import maxmargin.features
import maxmargin.kernels
from maxmargin import kernels
from maxmargin.backends import threads
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.kernels import (
    EditDistance,
    FeatureMap,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    as_kernel,
    exp,
    from_function,
)


def squares(X):
    return X.multiply(X).tocsr() if sparse.issparse(X) else X**2


def total(x):
    return x.sum()


def tanimoto(x, z):
    return (x @ z) / (1.0 + x @ x + z @ z - x @ z)


def bilinear(A, B):
    return A @ B.T


FORMULAS = {
    Linear(): lambda x, z: x @ z,
    Polynomial(): lambda x, z: (x @ z) ** 3,
    Polynomial(degree=5, gamma=0.5, coef0=1): lambda x, z: (0.5 * (x @ z) + 1) ** 5,
    Polynomial(degree=0): lambda x, z: 1.0,
    Polynomial(degree=1.5, gamma=0.1, coef0=2): lambda x, z: (0.1 * (x @ z) + 2) ** 1.5,
    Gaussian(): lambda x, z: np.exp(-np.sum((x - z) ** 2)),
    Gaussian(sigma=2): lambda x, z: np.exp(-np.sum((x - z) ** 2) / 8),
    Laplacian(gamma=0.3): lambda x, z: np.exp(-0.3 * np.abs(x - z).sum()),
    Sigmoid(gamma=0.2, coef0=-1): lambda x, z: np.tanh(0.2 * (x @ z) - 1),
    FeatureMap(squares): lambda x, z: x**2 @ z**2,
    from_function(total): lambda x, z: x.sum() * z.sum(),
    as_kernel(tanimoto): tanimoto,
    as_kernel(bilinear): lambda x, z: x @ z,
    Linear() + Gaussian(): lambda x, z: x @ z + np.exp(-np.sum((x - z) ** 2)),
    Linear() * Gaussian(): lambda x, z: (x @ z) * np.exp(-np.sum((x - z) ** 2)),
    3 * Linear() + 1: lambda x, z: 3 * (x @ z) + 1,
    (Linear() + 1) ** 6: lambda x, z: (x @ z + 1) ** 6,
    exp(0.1 * Linear()): lambda x, z: np.exp(0.1 * (x @ z)),
}


def unsorted_with_repeated_columns(X):
    """A CSR matrix of X that SciPy allows although each entry is halved, written twice, and out of order."""
    rows = sparse.csr_matrix(X)
    starts = 2 * rows.indptr
    values, columns = np.empty(2 * rows.nnz, X.dtype), np.empty(2 * rows.nnz, np.int32)
    for i in range(X.shape[0]):
        span = slice(rows.indptr[i], rows.indptr[i + 1])
        columns[starts[i] : starts[i + 1]] = np.concatenate([rows.indices[span][::-1], rows.indices[span]])
        values[starts[i] : starts[i + 1]] = np.concatenate([rows.data[span][::-1], rows.data[span]]) / 2
    return sparse.csr_matrix((values, columns, starts), shape=X.shape)


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "CSR matrix": sparse.csr_matrix,
    "CSR array": sparse.csr_array,
    "untidy CSR": unsorted_with_repeated_columns,
}
LAYOUT_PAIRS = list(product(LAYOUTS, LAYOUTS))
PRECISIONS = list(product([np.float32, np.float64], repeat=2))


def sample(rng, n, d=6):
    """Rows with zeros, so that dense and sparse mean the same; one row is empty."""
    X = rng.uniform(-1, 1, (n, d))
    X[rng.uniform(size=X.shape) < 0.4] = 0
    X[0] = 0
    return X


def naive(formula, A, B):
    return np.array([[formula(a, b) for b in B] for a in A])


@pytest.mark.parametrize("kernel", FORMULAS, ids=str)
@pytest.mark.parametrize(("left", "right"), LAYOUT_PAIRS)
def test_block_agrees_with_a_double_loop_over_the_formula(kernel, left, right, rng):
    A, B = sample(rng, 5), sample(rng, 4)
    for dtype_a, dtype_b in PRECISIONS:
        a, b = A.astype(dtype_a), B.astype(dtype_b)
        block = kernel.block(LAYOUTS[left](a), LAYOUTS[right](b))
        single = dtype_a == dtype_b == np.float32
        assert type(block) is np.ndarray
        assert block.flags.c_contiguous
        assert block.flags.writeable
        assert block.dtype == (np.float32 if single else np.float64)
        expected = naive(FORMULAS[kernel], a.astype(float), b.astype(float))
        # A function of the user's works in the precision of the rows it is given.
        rough = single or (kernel.on == "anything" and np.float32 in (dtype_a, dtype_b))
        assert_allclose(block, expected, rtol=2e-5 if rough else 1e-12, atol=1e-6 if rough else 1e-13)


@pytest.mark.parametrize("kernel", FORMULAS, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_diag_is_the_diagonal_of_the_block(kernel, layout, rng):
    A = LAYOUTS[layout](sample(rng, 150))
    assert_allclose(kernel.diag(A), np.diag(kernel(A)), rtol=1e-12, atol=1e-14)
    assert kernel.diag(A.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("kernel", FORMULAS, ids=str)
def test_integers_are_taken_as_doubles(kernel):
    A = np.array([[1, 0, 2], [0, 3, 1]])
    assert kernel.block(A, A).dtype == np.float64
    assert_array_equal(kernel.block(A, A), kernel.block(A.astype(float), A.astype(float)))


@pytest.mark.parametrize("kernel", FORMULAS, ids=str)
def test_the_result_is_the_callers_to_overwrite(kernel, rng):
    A = sample(rng, 3)
    before = A.copy()
    first = kernel.block(A, A)
    kept = first.copy()
    first[:] = np.nan
    assert_array_equal(kernel.block(A, A), kept)
    assert_array_equal(A, before)


@pytest.mark.parametrize("kernel", FORMULAS, ids=str)
@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_empty_sides_give_empty_blocks(kernel, n, m):
    assert kernel.block(np.ones((n, 4)), np.ones((m, 4))).shape == (n, m)


@pytest.mark.parametrize("kernel", FORMULAS, ids=str)
def test_columns_are_those_of_the_block(kernel, rng):
    A, train, index = sample(rng, 4), sample(rng, 9), np.array([7, 0, 3])
    assert_allclose(kernel.columns(A, train, index), kernel.block(A, train)[:, index], rtol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (as_kernel("linear"), pairwise.linear_kernel),
        (as_kernel("poly", degree=2, gamma=0.3, coef0=0.5), pairwise.polynomial_kernel),
        (as_kernel("rbf", gamma=0.3), pairwise.rbf_kernel),
        (as_kernel("sigmoid", gamma=0.3, coef0=0.5), pairwise.sigmoid_kernel),
        (as_kernel("laplacian", gamma=0.3), pairwise.laplacian_kernel),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_parameters_mean_what_they_mean_in_scikit_learn(kernel, reference, rng):
    A, B = sample(rng, 4), sample(rng, 5)
    assert_allclose(kernel(A, B), reference(A, B, **vars(kernel)), rtol=1e-12, atol=1e-14)


def test_a_kernel_serves_as_the_kernel_of_scikit_learns_svc(rng):
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    ours, theirs = SVC(kernel=Gaussian(gamma=0.5)).fit(X, y), SVC(gamma=0.5).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)


class TestGaussianPrecision:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
    @pytest.mark.parametrize("gamma", [1e-12, 1e-3, 1.0])
    def test_copies_of_a_row_are_alike_at_every_scale(self, dtype, layout, scale, gamma, rng):
        X = (scale * rng.standard_normal((6, 5))).astype(dtype)
        K = Gaussian(gamma=gamma).block(LAYOUTS[layout](X), LAYOUTS[layout](X.copy()))
        assert_allclose(np.diag(K), 1.0, atol=1e-5 if dtype == np.float32 else 1e-11)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("offset", [1e2, 1e6])
    def test_moving_all_rows_does_not_change_the_kernel(self, dtype, layout, offset, rng):
        X = rng.integers(-8, 8, (12, 5)) / 4.0  # so that X + offset is exact in float32 as well
        moved = LAYOUTS[layout]((X + offset).astype(dtype))
        kernel = Gaussian(gamma=0.3)
        assert_allclose(kernel(moved), kernel(X), atol=1e-5 if dtype == np.float32 else 1e-11)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_tight_clusters_far_apart_are_seen_in_detail(self, dtype, layout, rng):
        clusters = 4096 * rng.integers(-8, 8, (4, 3)).repeat(5, axis=0)
        X = (clusters + rng.integers(-8, 8, clusters.shape) / 16).astype(dtype)
        A, B = LAYOUTS[layout](X[::2]), LAYOUTS[layout](X)
        expected = naive(lambda x, z: np.exp(-np.sum((x - z) ** 2)), X[::2].astype(float), X.astype(float))
        assert_allclose(Gaussian().block(A, B), expected, rtol=1e-6 if dtype == np.float32 else 1e-14)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_the_matrix_of_one_sample_is_symmetric_with_a_diagonal_of_ones(self, layout, rng):
        X = LAYOUTS[layout](rng.standard_normal((40, 7)).astype(np.float32))
        for scale in (1, 1000):
            K = Gaussian(gamma=0.2)(X * np.float32(scale))
            assert_array_equal(np.diag(K), 1.0)
            assert_allclose(K, K.T, rtol=0, atol=1e-7)

    def test_sigma_is_another_word_for_gamma(self):
        assert Gaussian(sigma=0.5) == Gaussian(gamma=2.0)
        assert Gaussian(gamma=2.0).sigma == pytest.approx(0.5)
        assert Gaussian() == Gaussian(gamma=1.0)


def test_sparse_rows_may_have_more_columns_than_memory_has_room_for():
    columns = np.array([5, 2**40, 5, 7])
    A = sparse.csr_array((np.array([1.0, 2.0, 3.0, 4.0]), columns, np.array([0, 2, 4])), shape=(2, 2**41))
    assert_allclose(Linear()(A), [[5, 3], [3, 25]])
    assert_allclose(Gaussian(gamma=0.1)(A), np.exp(-0.1 * np.array([[0, 24], [24, 0]])))
    assert_allclose(Laplacian(gamma=0.1)(A), np.exp(-0.1 * np.array([[0, 8], [8, 0]])))


class TestPrecomputed:
    K = np.arange(20.0).reshape(4, 5)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_columns_are_read_off_the_matrix(self, layout):
        columns = Precomputed().columns(LAYOUTS[layout](self.K), np.eye(5), np.array([4, 1]))
        assert type(columns) is np.ndarray
        assert_array_equal(columns, self.K[:, [4, 1]])
        columns[:] = 0
        assert self.K[0, 4] == 4

    def test_a_matrix_that_holds_only_these_columns_is_taken_as_it_is(self):
        restricted = np.ones((4, 2))
        assert_array_equal(Precomputed().columns(restricted, np.eye(5), np.array([4, 1])), restricted)

    def test_a_matrix_of_another_width_is_refused(self):
        with pytest.raises(DataError, match="one value a training row, 5, or one a support vector, 2; got 3"):
            Precomputed().columns(np.ones((4, 3)), np.eye(5), np.array([4, 1]))

    def test_vectors_cannot_be_compared(self):
        with pytest.raises(ParameterError, match="has no vectors"):
            Precomputed().block(self.K, self.K)

    def test_diag_is_the_diagonal_of_a_square_matrix(self):
        assert_array_equal(Precomputed().diag(self.K[:, :4]), [0, 6, 12, 18])
        assert_array_equal(Precomputed().diag(sparse.csr_array(self.K[:, :4])), [0, 6, 12, 18])
        with pytest.raises(DataError, match=r"\(4, 5\)"):
            Precomputed().diag(self.K)


class TestAsKernel:
    def test_names_of_scikit_learn_and_of_the_lectures_both_work(self):
        assert as_kernel("poly", degree=2, gamma=0.5, coef0=1) == Polynomial(2, 0.5, 1)
        assert as_kernel("polynomial") == Polynomial()
        assert as_kernel("rbf", gamma=2) == as_kernel("gaussian", gamma=2) == Gaussian(2)
        assert as_kernel("sigmoid", gamma=2, coef0=3) == Sigmoid(2, 3)
        assert as_kernel("laplacian", gamma=2) == Laplacian(2)
        assert as_kernel("linear") == Linear()
        assert as_kernel("precomputed") == Precomputed()

    def test_a_kernel_is_returned_as_it_is(self):
        kernel = Gaussian() + 1
        assert as_kernel(kernel) is kernel

    def test_a_misspelt_name_is_answered_with_the_nearest(self):
        with pytest.raises(ParameterError, match="Did you mean 'gaussian'"):
            as_kernel("gausian")
        with pytest.raises(ParameterError, match="kernel=3"):
            as_kernel(3)

    def test_a_function_of_rows_that_multiplies_them_is_not_mistaken_for_one_of_matrices(self):
        # With three columns, (2 x 3) @ (3 x 3) has the shape of a kernel block by accident.
        A, B = np.arange(6.0).reshape(2, 3), np.arange(9.0).reshape(3, 3)
        assert_allclose(as_kernel(lambda x, z: np.dot(x, z))(A, B), A @ B.T)

    def test_errors_of_the_function_reach_the_user(self):
        def broken(x, z):
            raise ZeroDivisionError("of the user")

        with pytest.raises(ZeroDivisionError, match="of the user"):
            as_kernel(broken)(np.eye(2), np.eye(2))

    def test_functions_of_strings_work_too(self):
        shared_letters = as_kernel(lambda x, z: len(set(x) & set(z)))
        assert_array_equal(shared_letters(["abc", "de"], ["cab", "e", ""]), [[3, 0, 0], [0, 1, 0]])
        assert_array_equal(shared_letters.diag(["abc", "de"]), [3, 2])

    def test_a_matrix_kept_by_the_function_is_not_handed_out(self):
        kept = np.eye(2)
        kernel = as_kernel(lambda A, B: kept if len(A) == len(B) == 2 else np.ones((len(A), len(B))))
        kernel(np.eye(2))[:] = 7
        assert_array_equal(kept, np.eye(2))


@cache
def levenshtein(x, z):
    """The definition, as a recursion."""
    if not x or not z:
        return len(x) + len(z)
    return min(levenshtein(x[1:], z) + 1, levenshtein(x, z[1:]) + 1, levenshtein(x[1:], z[1:]) + (x[0] != z[0]))


class TestEditDistance:
    @settings(deadline=None, max_examples=50)
    @given(
        left=st.lists(st.text("abé😀", max_size=6), max_size=3),
        right=st.lists(st.text(max_size=6), max_size=3),
    )
    def test_distances_agree_with_the_recursion(self, left, right):
        strings = left + right
        expected = np.array([[levenshtein(x, z) for z in strings] for x in left])
        expected = expected.reshape(len(left), len(strings))
        assert_allclose(EditDistance(gamma=0.5).block(left, strings), np.exp(-0.5 * expected), rtol=1e-14)

    def test_a_lone_surrogate_is_compared_like_a_character(self):
        assert_allclose(EditDistance()(["\ud800"], ["a", "\ud800"]), [[np.exp(-1), 1]])

    @pytest.mark.parametrize("container", [list, tuple, np.array, lambda s: np.array(s, dtype=object)])
    def test_every_sequence_of_strings_will_do(self, container):
        strings = container(["kitten", "sitting", ""])
        distances = -np.log(EditDistance()(strings))
        assert_allclose(distances, [[0, 3, 6], [3, 0, 7], [6, 7, 0]], atol=1e-12)
        assert_array_equal(EditDistance().diag(strings), 1)
        assert_allclose(
            EditDistance().columns(strings, strings, np.array([2, 0])), np.exp([[-6, 0], [-7, -3], [0, -6]])
        )

    def test_what_is_not_a_sequence_of_strings_is_refused(self):
        with pytest.raises(DataTypeError, match="3 of type int at position 1"):
            EditDistance()(["a", 3])
        with pytest.raises(DataError, match="single string"):
            EditDistance()("abc")
        with pytest.raises(DataError, match=r"shape \(2, 1\)"):
            EditDistance()(np.array([["a"], ["b"]]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(gamma=0), "gamma must be positive, got gamma=0"),
        (lambda: Gaussian(gamma=-1), "gamma must be positive"),
        (lambda: Gaussian(gamma=np.nan), "gamma must be a finite number, got gamma=nan"),
        (lambda: Gaussian(gamma="scale"), "gamma must be a finite number, got gamma='scale'"),
        (lambda: Gaussian(sigma=0), "sigma must be positive"),
        (lambda: Gaussian(gamma=1, sigma=1), "Give one of them"),
        (lambda: Laplacian(gamma=-1), "gamma must be positive"),
        (lambda: EditDistance(gamma=0), "gamma must be positive"),
        (lambda: Polynomial(degree=-1), "degree must not be negative"),
        (lambda: Polynomial(gamma=-1), "gamma must not be negative"),
        (lambda: Polynomial(coef0=np.inf), "coef0 must be a finite number"),
        (lambda: Sigmoid(gamma=True), "gamma must be a finite number, got gamma=True"),
        (lambda: FeatureMap(3), "function or an object with a transform"),
        (lambda: from_function(3), "function of one row"),
    ],
)
def test_bad_parameters_are_refused_in_words(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones(3), r"shape \(3,\)"),
        (np.array([["a"]]), "real numbers"),
        (np.ones((2, 2)) * 1j, "real numbers"),
    ],
)
def test_rows_that_are_no_vectors_are_refused(rows, message):
    for kernel in (Linear(), Gaussian(), Laplacian()):
        with pytest.raises(DataError, match=message):
            kernel(rows)


def test_rows_of_different_width_are_refused():
    with pytest.raises(DataError, match="3 and 2"):
        Linear()(np.ones((2, 3)), np.ones((2, 2)))


def test_a_broken_power_of_a_negative_number_is_refused():
    with pytest.raises(DataError, match="Use a whole degree"):
        Polynomial(degree=0.5)(np.array([[1.0], [-1.0]]))


@pytest.mark.parametrize("kernel", [Laplacian(), EditDistance()])
def test_a_raised_stop_flag_ends_the_loop(kernel, monkeypatch):
    done = []

    def stopped(work, n_rows):
        done.append(work(0, n_rows, np.ones(1, dtype=np.uint8)))

    monkeypatch.setattr(importlib.import_module("maxmargin.kernels.arithmetic"), "over_ranges", stopped)
    monkeypatch.setattr(importlib.import_module("maxmargin.kernels.strings"), "over_ranges", stopped)
    rows = ["a", "b"] if kernel.on == "strings" else np.eye(2)
    kernel.block(rows, rows)
    if kernel.on == "vectors":
        kernel.block(sparse.csr_array(rows), rows)
    assert set(done) == {0}


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_number_of_threads_does_not_change_the_kernel(jobs, monkeypatch, rng):
    X = sample(rng, 20)
    expected = Laplacian()(X)
    monkeypatch.setattr(threads, "cores", lambda: jobs)
    assert_array_equal(Laplacian()(X), expected)


def test_importing_kernels_loads_neither_the_compiler_nor_scikit_learn():
    code = """import sys, maxmargin.kernels, maxmargin.features
print("numba" in sys.modules, "sklearn" in sys.modules)"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]


MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (maxmargin.kernels, maxmargin.features)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("module", ["maxmargin.kernels", *MODULES])
def test_examples_in_docstrings_are_true(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_every_public_name_is_there():
    names = """Kernel Linear Polynomial Gaussian Sigmoid Laplacian Precomputed FeatureMap EditDistance exp
    from_function mercer_check MercerReport as_kernel from_record"""
    assert sorted(names.split()) == kernels.__all__
