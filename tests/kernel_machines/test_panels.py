"""Kernel values at speed: panels against the kernel itself, and exponentials against NumPy's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist

from maxmargin._loops.compiling import elementwise_loop
from maxmargin._loops.exponential import exp_double, exp_single
from maxmargin.kernels import Gaussian, Laplacian, Linear, Polynomial
from maxmargin.kernels.panels import Panels

KERNELS = [Gaussian(0.3), Linear(), Polynomial(3, 0.5, 1.0), Polynomial(2, 2.0, -0.5), Polynomial(1, 1.0, 3.0)]
LAYOUTS = {
    "dense": lambda X: X,
    "Fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "mostly zeros": lambda X: np.where(np.abs(X) < 1.8, 0.0, X),
    "sparse": lambda X: sparse.csr_array(np.where(np.abs(X) < 1.8, 0.0, X)),
    "sparse float32": lambda X: sparse.csr_matrix(np.where(np.abs(X) < 1.8, 0.0, X).astype(np.float32)),
    "sparse but full": sparse.csr_matrix,
    "wide": lambda X: _wide(X),
    "wide float32": lambda X: _wide(X).astype(np.float32),
    "long indices": lambda X: _long(sparse.csr_matrix(np.where(np.abs(X) < 1.8, 0.0, X))),
    "one row": lambda X: X[:1],
    "one feature": lambda X: X[:, :1],
}


def _wide(X):
    """More features than panels have."""
    few = np.where(np.abs(X) < 1.0, 0.0, X)
    return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix((X.shape[0], 5000)), few, sparse.csr_matrix(few.shape)]))


def _long(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _exact(kernel, A, B):
    """Kernel values in double precision, of rows without their layout."""
    dense = [np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64) for rows in (A, B)]
    if isinstance(kernel, Gaussian):
        used = np.any(dense[0] != 0.0, axis=0) | np.any(dense[1] != 0.0, axis=0)
        return np.exp(-kernel.gamma * cdist(dense[0][:, used], dense[1][:, used], "sqeuclidean"))
    return kernel.block(*dense)


def _size(kernel, exact):
    """What an error is measured by: 1 for a Gaussian, the largest value for a power."""
    return 1.0 if isinstance(kernel, Gaussian) else float(np.max(np.abs(exact), initial=1.0))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.slow
def test_values_and_sums_are_those_of_the_kernel(kernel, layout, rng):
    n, m = 700, 300  # more than one batch, more than one panel for wide rows
    A, B = (LAYOUTS[layout](rng.normal(size=(size, 20))) for size in (n, m))
    exact, coefficients = _exact(kernel, A, B), rng.normal(size=(B.shape[0], 2))
    size = _size(kernel, exact)
    for single, bound in ((True, 2e-5), (False, 1e-12)):
        panels = Panels.of(kernel, B, single=single)
        filled = np.full((exact.shape[0] + 3, exact.shape[1]), np.nan, dtype=np.float32 if single else np.float64)
        places = np.arange(exact.shape[0])[::-1] + 3
        panels.fill(panels.batch(A), filled, places)
        assert_allclose(filled[places], exact, atol=bound * size)
        assert np.all(np.isnan(filled[:3]))  # nobody asked for these
        for columns in (coefficients[:, :1], coefficients):  # one machine, several machines
            scale = size * float(np.sum(np.abs(columns)))
            assert_allclose(panels.combine_all(A, columns), exact @ columns, atol=bound * scale)


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "wide"])
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=str)
def test_some_rows_among_each_other(kernel, layout, rng):
    X = LAYOUTS[layout](rng.normal(size=(1200, 20)))
    panels = Panels.of(kernel, X, single=True)
    rows, columns = rng.permutation(1200)[:90], rng.permutation(1200)[:600]
    out = np.empty((90, 600), dtype=np.float32)
    panels.only(columns).fill(panels.own.part(rows), out)
    exact = _exact(kernel, X[rows], X[columns])
    assert_allclose(out, exact, atol=2e-5 * _size(kernel, exact))
    square = np.full((1200, 1200), np.nan, dtype=np.float32)
    panels.fill_own(square)
    assert_allclose(square, square.T, atol=2e-6 * _size(kernel, exact))
    assert_allclose(square[np.ix_(rows, columns)], exact, atol=2e-5 * _size(kernel, exact))


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("scale, offset", [(1e-6, 0.0), (1.0, 1e4), (1e6, 0.0), (1e-3, 1e6), (1e6, 1e10)])
def test_gaussian_values_of_far_or_large_rows_keep_their_digits_or_have_no_panels(scale, offset, single, rng):
    """The width goes with the scale, so that the values are those of rows of size 1 near the origin."""
    plain = rng.normal(size=(300, 5))
    X = offset + scale * plain
    exact = _exact(Gaussian(0.3 / scale**2), X, X)
    panels = Panels.of(Gaussian(0.3 / scale**2), X, single=single)
    assert panels is not None
    out = np.empty(exact.shape, dtype=np.float32 if single else np.float64)
    panels.fill(panels.batch(X), out)
    assert_allclose(out, exact, atol=1e-5 if single else 1e-11)


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("gamma", [10.0, 1e3, 1e5, 1e7])
def test_gaussian_values_of_a_narrow_kernel_keep_their_digits_or_have_no_panels(gamma, single, rng):
    """Rows that are close on the scale of the kernel, and far from the mean on the same scale."""
    centres = rng.normal(size=(10, 4))
    X = np.repeat(centres, 20, axis=0) + rng.normal(size=(200, 4)) / np.sqrt(gamma)
    panels = Panels.of(Gaussian(gamma), X, single=single)
    if panels is None:
        assert gamma * np.max(np.sum(X**2, axis=1)) > 1e3
        return
    exact = _exact(Gaussian(gamma), X, X)
    out = np.empty(exact.shape, dtype=np.float32 if single else np.float64)
    panels.fill(panels.batch(X), out)
    assert_allclose(out, exact, atol=1e-4 if single else 1e-10)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1, 0.5, 3.0)], ids=str)
@pytest.mark.parametrize("layout", ["dense", "float32", "sparse but full"])
def test_a_linear_kernel_of_shifted_rows_gives_sums_that_differ_by_one_number(kernel, layout, rng):
    X = LAYOUTS[layout](1e4 + rng.normal(size=(500, 5)))
    beta = rng.normal(size=(500, 1))
    beta -= np.mean(beta)
    panels = Panels.of(kernel, X, single=True, shifted=True)
    difference = panels.combine(panels.own, beta) - _exact(kernel, X, X) @ beta
    assert float(np.ptp(difference)) <= 1e-4
    assert float(np.max(np.abs(difference))) > 1.0


def test_kernels_and_rows_without_a_fast_form_have_no_panels(rng):
    X = rng.normal(size=(10, 3))
    assert Panels.of(Laplacian(1.0), X, single=True) is None
    assert Panels.of(Polynomial(2.5, 1.0, 10.0), X, single=True) is None
    assert Panels.of(Gaussian(1.0), X[:, :0], single=True) is None
    assert Panels.of(Gaussian(1.0), 1e9 * X, single=True) is None
    assert Panels.of(Polynomial(6, 1.0, 0.0), 1e6 * X, single=True) is None  # 1e72 is no single number


@elementwise_loop
def _all_single(x, out):
    for k in range(x.shape[0]):
        out[k] = exp_single(x[k])


@elementwise_loop
def _all_double(x, out):
    for k in range(x.shape[0]):
        out[k] = exp_double(x[k])


@pytest.mark.parametrize(
    "loop, kind, smallest",
    [(_all_single, np.float32, -87.0), (_all_double, np.float64, -708.0)],
    ids=["single", "double"],
)
def test_exponentials_are_within_two_units_in_the_last_place(loop, kind, smallest, rng):
    x = np.concatenate(
        [np.linspace(smallest, 0.0, 200_001), -np.geomspace(1e-30, 1.0, 10_001), rng.uniform(-2, 0, 9999)]
    )
    x = np.append(x, [0.0, -0.0, smallest]).astype(kind)
    out = np.empty_like(x)
    loop(x, out)
    exact = np.exp(x.astype(np.longdouble))
    units = np.abs(out - exact) / np.spacing(exact.astype(kind))
    assert float(np.max(units)) <= 2.0
    assert np.all(out[x == 0.0] == 1.0)
    assert np.all(out <= 1.0)


@pytest.mark.parametrize("loop, kind", [(_all_single, np.float32), (_all_double, np.float64)], ids=["single", "double"])
def test_exponentials_of_far_arguments_are_next_to_zero(loop, kind):
    x = np.array([-1e3, -1e10, -np.finfo(kind).max, -np.inf], dtype=kind)
    out = np.empty_like(x)
    loop(x, out)
    assert np.all(out >= 0.0)
    assert np.all(out <= 4.0 * np.finfo(kind).tiny)
