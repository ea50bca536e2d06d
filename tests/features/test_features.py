"""Inner products of features are the kernels they stand for."""

from collections import Counter
from itertools import combinations_with_replacement
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from maxmargin.backends.threads import at_most
from maxmargin.errors import DataError, ParameterError
from maxmargin.features import GaussianSeries, LinearQuadratic, Monomials, Quadratic
from maxmargin.kernels import FeatureMap, Gaussian, Linear, Polynomial

EQUAL = {
    Quadratic(): Polynomial(degree=2),
    LinearQuadratic(): Linear() ** 2 + Linear() + 1,
    Monomials(2, coef0=0): Polynomial(degree=2),
    Monomials(0): Polynomial(degree=0),
    Monomials(1, gamma=0.5, coef0=2): 0.5 * Linear() + 2,
    Monomials(3, gamma=0.5, coef0=1): Polynomial(degree=3, gamma=0.5, coef0=1),
    Monomials(5, gamma=2, coef0=0.3): Polynomial(degree=5, gamma=2, coef0=0.3),
}
MAPS = [*EQUAL, GaussianSeries(gamma=0.5, terms=4)]
LAYOUTS = {
    "dense": np.asarray,
    "Fortran": np.asfortranarray,
    "matrix": sparse.csr_matrix,
    "array": sparse.csr_array,
}
rows = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats(-2, 2, width=16))


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("phi", EQUAL, ids=repr)
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=20)
@given(X=rows)
@pytest.mark.slow
def test_inner_products_of_features_are_the_kernel(phi, layout, X):
    features = phi.transform(LAYOUTS[layout](X))
    K = EQUAL[phi](X)
    rounding = 1e-12 * max(1.0, K.max())  # large terms may cancel in a small value
    assert_allclose(dense(features @ features.T), K, rtol=0, atol=rounding)
    assert_allclose(FeatureMap(phi)(LAYOUTS[layout](X)), K, rtol=0, atol=rounding)


@pytest.mark.parametrize("phi", MAPS, ids=repr)
@pytest.mark.parametrize("layout", ["matrix", "array"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_have_the_same_features_and_stay_sparse(phi, layout, dtype, rng):
    X = np.where(rng.uniform(size=(6, 5)) < 0.5, 0, rng.standard_normal((6, 5))).astype(dtype)
    X[2] = 0
    features = phi(LAYOUTS[layout](X))
    assert type(features) is type(LAYOUTS[layout](X))
    assert features.dtype == phi(X).dtype == dtype
    assert_allclose(features.toarray(), phi(X), rtol=1e-6)


@pytest.mark.parametrize("phi", MAPS, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_output_features_counts_the_columns(phi, d):
    assert phi.transform(np.ones((2, d))).shape == (2, phi.output_features(d))
    assert phi.transform(sparse.csr_array(np.ones((2, d)))).shape == (2, phi.output_features(d))


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_the_numbers_of_features_are_those_of_the_lectures(d, degree):
    assert Quadratic().output_features(d) == d**2
    assert LinearQuadratic().output_features(d) == 1 + d + d**2
    assert Monomials(degree).output_features(d) == comb(d + degree, degree)
    assert Monomials(degree, coef0=0).output_features(d) == comb(d + degree - 1, degree)
    assert GaussianSeries(1.0, terms=degree).output_features(d) == comb(d + degree - 1, d)


def test_monomials_of_degree_two_are_those_of_the_lecture():
    x = np.array([[2.0, 5.0]])
    assert_allclose(Monomials(2, coef0=0)(x), [[4, np.sqrt(2) * 10, 25]])


def naive_monomials(x, degree, gamma, coef0):
    """Column and value of every monomial of a row that has no zero factor, spelled out."""
    found, offset = [], 0
    for k in range(degree + 1):
        coefficient = comb(degree, k) * gamma**k * coef0 ** (degree - k)
        if coefficient == 0:
            continue
        monomials = sorted(combinations_with_replacement(range(len(x)), k), key=lambda factors: factors[::-1])
        for place, factors in enumerate(monomials):
            weight = factorial(k)
            for times in Counter(factors).values():
                weight //= factorial(times)
            if all(x[j] != 0 for j in factors):
                product = x.dtype.type(1)
                for j in factors:
                    product *= x[j]
                found.append((offset + place, x.dtype.type(float(product) * np.sqrt(coefficient * weight))))
        offset += len(monomials)
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("degree", "coef0"), [(0, 0.0), (0, 1.0), (1, 0.5), (2, 0.0), (2, 1.0), (3, 0.0), (3, 2.0), (4, 1.0)]
)
def test_every_monomial_stands_where_a_naive_reference_puts_it(degree, coef0, dtype, rng):
    X = (rng.standard_normal((9, 6)) * 10.0 ** rng.integers(-4, 5, (9, 6))).astype(dtype)
    X[rng.random(X.shape) < 0.4] = 0.0
    X[2], X[3, 1:], X[:, 4] = 0.0, 0.0, 0.0
    phi = Monomials(degree, gamma=0.5, coef0=coef0)
    expected = [naive_monomials(x, degree, 0.5, coef0) for x in X]
    for threads in (1, 4):
        with at_most(threads):
            dense, thin = phi(np.asfortranarray(X)), phi(sparse.csr_array(X))
        assert dense.dtype == thin.dtype == dtype
        assert sparse.csr_array((thin.data, thin.indices, thin.indptr), shape=thin.shape).has_canonical_format
        for i, entries in enumerate(expected):
            columns, values = [column for column, _ in entries], [value for _, value in entries]
            row = slice(thin.indptr[i], thin.indptr[i + 1])
            assert_array_equal(thin.indices[row], columns)
            assert_array_equal(thin.data[row], np.array(values, dtype=dtype))
            assert_array_equal(dense[i, columns], thin.data[row])
            assert not np.any(np.delete(dense[i], columns))


def test_more_columns_than_32_bits_count_have_their_numbers():
    d = 3_000_000
    X = sparse.csr_array(([2.0, 3.0], [5, d - 1], [0, 2, 2]), shape=(2, d))
    features = Monomials(2, coef0=0)(X)
    assert features.indices.tolist() == [comb(7, 2) - 1, comb(d, 2) + 5, comb(d + 1, 2) - 1]
    assert_allclose(features.data, [4.0, np.sqrt(2) * 6.0, 9.0])
    assert features.shape == (2, comb(d + 1, 2))


def test_the_series_in_one_dimension_is_that_of_the_lecture():
    x = 0.7
    expected = [np.exp(-(x**2)) * np.sqrt(2**k / factorial(k)) * x**k for k in range(6)]
    assert_allclose(GaussianSeries(gamma=1, terms=6)([[x]]), [expected])


@settings(deadline=None, max_examples=100)
@given(X=rows, gamma=st.floats(0.01, 1), terms=st.integers(1, 8))
def test_the_series_is_as_near_to_the_gaussian_as_its_bound_says(X, gamma, terms):
    features = GaussianSeries(gamma, terms)(X)
    length = np.linalg.norm(X, axis=1)
    bound = (2 * gamma * np.outer(length, length)) ** terms / factorial(terms)
    assert np.all(np.abs(features @ features.T - Gaussian(gamma)(X)) <= bound + 1e-12)


def test_the_series_converges_to_the_gaussian(rng):
    X = rng.uniform(-1, 1, (8, 3))
    assert_allclose(FeatureMap(GaussianSeries(gamma=0.5, terms=16))(X), Gaussian(0.5)(X), atol=1e-8)


def test_sparse_rows_may_have_a_million_columns(rng):
    X = sparse.random_array((4, 10**6), density=1e-5, format="csr", rng=rng)
    assert_allclose(FeatureMap(Monomials(3))(X), Polynomial(3, coef0=1)(X), rtol=1e-12)
    assert_allclose(FeatureMap(Quadratic())(X), Polynomial(2)(X), rtol=1e-12, atol=1e-14)


def test_the_rows_are_not_changed(rng):
    X = rng.standard_normal((3, 2))
    before = X.copy()
    for phi in MAPS:
        phi(X)[:] = 0
    assert_array_equal(X, before)


def test_more_monomials_than_can_be_numbered_are_refused():
    with pytest.raises(ParameterError, match="Lower the degree"):
        Monomials(10)(sparse.csr_array((1, 10**6)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Monomials(-1), "degree must be an integer, at least 0, got degree=-1"),
        (lambda: Monomials(1.5), "degree must be an integer"),
        (lambda: Monomials(2, gamma=0), "gamma must be a finite number, more than 0, got gamma=0"),
        (lambda: Monomials(2, coef0=-1), "coef0 must be a finite number, at least 0"),
        (lambda: GaussianSeries(gamma=np.inf, terms=3), "gamma must be a finite number"),
        (lambda: GaussianSeries(gamma=1, terms=0), "terms must be an integer, at least 1"),
    ],
)
def test_bad_parameters_are_refused_in_words(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_rows_that_are_no_vectors_are_refused():
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        Quadratic()(np.ones(3))
    with pytest.raises(DataError, match="real numbers"):
        Quadratic()(np.array([["a"]]))
