"""Random Fourier features and Nystroem's: inner products near the kernel, as near as theory says."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import maxmargin
from maxmargin import LinearSVC
from maxmargin._loops.features.cosines import SINE_DOUBLE, SINE_SINGLE, cosines_and_sines
from maxmargin.backends.threads import at_most
from maxmargin.errors import DataError, ParameterError
from maxmargin.features import (
    GaussianSeries,
    HashedNGrams,
    KMers,
    LinearQuadratic,
    Monomials,
    Nystroem,
    Quadratic,
    RandomFourier,
)
from maxmargin.kernels import EditDistance, FeatureMap, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

LAYOUTS = [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix]


def with_holes(rng, shape, dtype=np.float64):
    """Rows of which many values are zero; one row and one column are empty, and two rows are equal."""
    X = np.where(rng.uniform(size=shape) < 0.6, 0.0, rng.standard_normal(shape)).astype(dtype)
    X[1], X[:, 2], X[-1] = 0, 0, X[0]
    return X


# ---------------------------------------------------------------- cosines and sines


@pytest.mark.parametrize(
    ("series", "dtype", "error"), [(SINE_DOUBLE, np.float64, 4e-16), (SINE_SINGLE, np.float32, 3e-7)]
)
def test_cosines_and_sines_are_those_of_angles_in_turns(series, dtype, error, rng):
    grid = np.concatenate([np.linspace(-2, 2, 801), rng.uniform(-1e4, 1e4, 1000), [0.125, -0.375, 1e-30]])
    turns = grid.astype(dtype)[None, :]
    features = np.empty((1, 2 * turns.shape[1]), dtype=dtype)
    cosines_and_sines(turns, dtype(2.0), series, features, 0, 1, np.zeros(1, np.uint8))
    angle = 2 * np.pi * np.remainder(turns.astype(np.longdouble), 1)
    assert_allclose(features, 2 * np.hstack([np.cos(angle), np.sin(angle)]).astype(float), rtol=0, atol=2 * error)


def test_cosines_and_sines_of_quarter_turns_are_exact():
    turns = np.array([[0.0, 0.25, 0.5, -0.25, 1.0, -7.0]])
    features = np.empty((1, 12))
    cosines_and_sines(turns, 1.0, SINE_DOUBLE, features, 0, 1, np.zeros(1, np.uint8))
    assert_allclose(features, [[1, 0, -1, 0, 1, 1, 0, 1, 0, -1, 0, 0]], rtol=0, atol=3e-16)


# ---------------------------------------------------------------- random Fourier features


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shape", [(40, 3), (8, 200)])
def test_the_error_of_every_pair_is_within_hoeffding_s_bound(scale, shape, rng):
    X = scale * rng.standard_normal(shape)
    gamma = 0.5 / shape[1] / scale**2
    half = 3000
    features = RandomFourier(gamma, 2 * half)(X)
    n_pairs = len(X) * (len(X) - 1) / 2
    bound = np.sqrt(2 * np.log(2 * n_pairs / 1e-3) / half)  # but for one seed in a thousand
    assert np.max(np.abs(features @ features.T - Gaussian(gamma)(X))) <= bound


def test_the_kernel_is_the_mean_over_the_frequencies(rng):
    X = rng.standard_normal((6, 4))
    estimates = np.array([F @ F.T for F in (RandomFourier(0.2, 2, random_state=seed)(X) for seed in range(4000))])
    error = np.abs(estimates.mean(axis=0) - Gaussian(0.2)(X))
    assert np.all(error <= 4.5 * estimates.std(axis=0) / np.sqrt(len(estimates)) + 1e-12)


def test_a_hundred_times_the_features_have_a_tenth_of_the_error(rng):
    X = rng.standard_normal((50, 5))
    K = Gaussian(0.1)(X)
    few, many = (np.sqrt(np.mean((F @ F.T - K) ** 2)) for F in (RandomFourier(0.1, m)(X) for m in (200, 20000)))
    assert 6 <= few / many <= 16


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(7, 5), (300, 4), (3, 90)])
def test_features_are_cosines_and_sines_of_the_frequencies_in_every_layout(dtype, rounding, layout, shape, rng):
    X = with_holes(rng, shape, dtype)
    phi = RandomFourier(gamma=0.3, n_components=10)
    features = phi.transform(layout(X))
    angles = X.astype(np.float64) @ phi.frequencies(shape[1]) * 2 * np.pi
    assert features.dtype == dtype
    assert features.flags.c_contiguous
    assert_allclose(features, np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(5), rtol=0, atol=rounding)
    assert_allclose(np.sum(np.square(features), axis=1), 1.0, rtol=10 * np.finfo(dtype).eps)
    assert_allclose(features[-1], features[0], rtol=0, atol=rounding)


def test_features_do_not_depend_on_threads_or_on_how_rows_come_in_blocks(rng):
    X = rng.standard_normal((3000, 6))
    phi = RandomFourier(0.4, 500)
    whole = phi(X)
    for threads in (1, 3):
        with at_most(threads):
            assert_array_equal(phi(X), whole)
    for size in (1, 7, 1000):
        parts = np.vstack([phi(X[top : top + size]) for top in range(0, 2000, size)])
        assert_allclose(parts[:2000], whole[:2000], rtol=0, atol=1e-14)


def test_readers_may_share_a_map(rng):
    blocks = [rng.standard_normal((200, d)) for d in (3, 8, 3, 8)] * 4
    phi = RandomFourier(0.4, 100)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(phi.transform, blocks))
    for block, features in zip(blocks, together, strict=True):
        assert_array_equal(features, RandomFourier(0.4, 100)(block))


def test_the_seed_decides_the_features_and_nothing_else(rng):
    X = rng.standard_normal((4, 3))
    assert_array_equal(RandomFourier(1.0, 20, random_state=7)(X), RandomFourier(1.0, 20, random_state=7).fit(X)(X))
    assert np.abs(RandomFourier(1.0, 20, random_state=7)(X) - RandomFourier(1.0, 20)(X)).max() > 0.1


def test_no_rows_have_no_features_and_nan_stays_nan():
    phi = RandomFourier(1.0, 6)
    assert phi(np.empty((0, 3))).shape == (0, 6)
    assert phi(sparse.csr_array((0, 3))).shape == (0, 6)
    for bad in (np.nan, np.inf):
        features = phi(np.array([[0.0, 1.0], [bad, 1.0]]))
        assert np.all(np.isnan(features[1]))
        assert np.all(np.isfinite(features[0]))


# ---------------------------------------------------------------- Nystroem's features


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.2), Polynomial(2, coef0=1), Linear()], ids=repr)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_with_all_rows_as_landmarks_the_kernel_is_exact(kernel, layout, rng):
    X = with_holes(rng, (25, 8))
    features = Nystroem(kernel, 25).fit(layout(X)).transform(layout(X))
    assert_allclose(features @ features.T, kernel(X), rtol=0, atol=1e-9 * np.max(kernel(X)))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("m", [1, 5, 20])
def test_landmarks_have_exact_values_and_no_row_gets_longer(scale, m, rng):
    X = scale * rng.standard_normal((60, 4))
    kernel = Gaussian(0.1 / scale**2)
    phi = Nystroem(kernel, m, random_state=3).fit(X)
    landmarks, features = phi(phi.components_), phi(X)
    assert features.shape == (60, m)
    assert_array_equal(phi.components_, X[phi.component_indices_])
    assert_allclose(landmarks @ features.T, kernel(phi.components_, X), rtol=0, atol=1e-8)
    assert np.all(np.sum(np.square(features), axis=1) <= 1 + 1e-8)


def test_as_many_landmarks_as_dimensions_make_a_linear_kernel_exact_everywhere(rng):
    X = rng.standard_normal((50, 4))
    features = Nystroem(Linear(), 4).fit(X).transform(X)
    assert_allclose(features @ features.T, X @ X.T, atol=1e-10)


def test_landmarks_that_repeat_are_no_harm(rng):
    X = np.repeat(rng.standard_normal((5, 3)), 8, axis=0)
    features = Nystroem(Gaussian(0.5), 30).fit(X).transform(X)
    assert_allclose(features @ features.T, Gaussian(0.5)(X), atol=1e-7)


def test_rows_that_are_all_zero_have_zero_features_under_the_linear_kernel():
    assert_array_equal(Nystroem(Linear(), 3).fit(np.zeros((5, 2))).transform(np.ones((2, 2))), 0.0)


def test_single_precision_goes_in_and_comes_out_and_double_is_between(rng):
    X = rng.standard_normal((400, 3)).astype(np.float32)  # close together: tiny eigenvalues
    phi = Nystroem(Gaussian(0.01), 200).fit(X)
    features = phi(X)
    assert features.dtype == np.float32
    assert phi(X.astype(np.float64)).dtype == np.float64
    assert_allclose(features @ features.T, Gaussian(0.01)(X.astype(np.float64)), atol=1e-5)


def test_blocks_of_any_size_have_the_features_of_the_whole(rng):
    X = rng.standard_normal((300, 4))
    phi = Nystroem(Gaussian(1.0), 20).fit(X)
    parts = np.vstack([phi(X[top : top + 70]) for top in range(0, 300, 70)])
    assert_allclose(parts, phi(X), rtol=0, atol=1e-8)


def test_landmarks_may_be_strings():
    words = ["kitten", "sitting", "mitten", "a", "ab", ""]
    kernel = EditDistance(gamma=2)  # so large that the matrix is positive definite
    features = Nystroem(kernel, 6).fit(words).transform(words)
    assert_allclose(features @ features.T, kernel(words), atol=1e-12)


def test_what_is_no_kernel_has_no_features():
    points = np.array([[1.0], [3.0]])
    with pytest.raises(DataError, match=r"eigenvalue -.*mercer_check"):
        Nystroem(Sigmoid(gamma=1, coef0=1), 2).fit(points)
    with pytest.raises(DataError, match=r"Call fit\(X\)"):
        Nystroem(Gaussian()).transform(points)
    with pytest.raises(DataError, match="X has none"):
        Nystroem(Gaussian()).fit(np.empty((0, 2)))
    with pytest.raises(ParameterError, match="got kernel='rbf'"):
        Nystroem("rbf")


# ---------------------------------------------------------------- while a file is read


def test_a_source_makes_the_features_while_it_is_read(rng):
    X = rng.standard_normal((90, 3)).astype(np.float32)
    letters = rng.choice(np.frombuffer(b"ACGT", np.uint8), size=(90, 12))
    y = np.arange(90) % 2
    for rows, phi in (
        (X, RandomFourier(0.2, 20)),
        (X, Nystroem(Gaussian(0.2), 15).fit(X)),
        (letters, HashedNGrams(64, (1, 2), "char")),
        (letters, KMers(2, length=12)),
    ):
        source = maxmargin.open([(rows[top : top + 30], y[top : top + 30]) for top in range(0, 90, 30)])
        mapped = source.map(phi)
        blocks = [block.X for block in mapped]
        read = np.vstack([block.toarray() if sparse.issparse(block) else block for block in blocks])
        whole = phi(rows)
        assert mapped.is_sparse == sparse.issparse(whole)
        assert_allclose(read, whole.toarray() if sparse.issparse(whole) else whole, rtol=0, atol=1e-6)


# ---------------------------------------------------------------- as scikit-learn's transformers

MAPS = [RandomFourier(0.2, 50), Nystroem(Gaussian(0.2), 30), HashedNGrams(64), KMers(2)]
WRITTEN_OUT = [Quadratic(), LinearQuadratic(), Monomials(2, coef0=0.5), GaussianSeries(0.2, 3)]


@pytest.mark.parametrize("phi", MAPS + WRITTEN_OUT, ids=repr)
def test_a_clone_has_the_same_parameters(phi):
    copy = clone(phi)
    assert copy is not phi
    assert copy == phi
    assert type(phi)(**phi.get_params()) == phi


def test_pipelines_and_searches_take_the_maps(rng):
    X = rng.standard_normal((120, 2))
    y = np.where(np.sum(X**2, axis=1) > 1.4, "out", "in")
    for phi, name in ((RandomFourier(1e-4, 200), "randomfourier__gamma"), (Nystroem(Gaussian(0.5), 2), None)):
        pipeline = make_pipeline(phi, LinearSVC(C=10))
        assert pipeline.fit(X, y).predict(X).shape == (120,)
        if name is not None:
            search = GridSearchCV(pipeline, {name: [1e-4, 0.5]}, cv=3).fit(X, y)
            assert search.best_params_ == {name: 0.5}
    for phi in WRITTEN_OUT:
        expected = LinearSVC(C=10).fit(phi(X), y).decision_function(phi(X))
        assert_allclose(make_pipeline(phi, LinearSVC(C=10)).fit(X, y).decision_function(X), expected, atol=1e-9)
    search = GridSearchCV(make_pipeline(Monomials(1), LinearSVC(C=10)), {"monomials__degree": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_ == {"monomials__degree": 2}
    words = make_pipeline(HashedNGrams(256, (1, 2), "char"), LinearSVC()).fit(["aa", "ab", "bb", "bba"], [0, 0, 1, 1])
    assert_array_equal(words.predict(["aaa", "bbb"]), [0, 1])


def test_a_changed_parameter_is_checked_and_forgets_what_was_learned(rng):
    X = rng.standard_normal((10, 2))
    phi = RandomFourier(1.0, 8)
    before = phi(X)
    assert np.abs(phi.set_params(gamma=3.0)(X) - before).max() > 0.01
    assert_array_equal(phi(X), RandomFourier(3.0, 8)(X))
    assert phi.set_params(n_components=4)(X).shape == (10, 4)
    landmarks = Nystroem(Gaussian(), 3).fit(X).set_params(n_components=2)
    with pytest.raises(DataError, match="no landmarks yet"):
        landmarks(X)
    with pytest.raises(ParameterError, match="Did you mean 'gamma'"):
        phi.set_params(gama=1.0)
    with pytest.raises(ParameterError, match="must be even"):
        phi.set_params(n_components=5)
    assert phi == RandomFourier(3.0, 4)  # as it was before what was refused
    phi.gamma = 1.0
    assert_array_equal(phi(X), RandomFourier(1.0, 4)(X))
    with pytest.raises(ParameterError, match=r"Quadratic has no parameters, got 'gamma'"):
        Quadratic().set_params(gamma=1.0)


def test_a_kernel_can_be_made_of_every_map(rng):
    X = rng.standard_normal((12, 3))
    phi = RandomFourier(0.2, 50)
    assert_allclose(FeatureMap(phi)(X), phi(X) @ phi(X).T, atol=1e-12)
    assert_allclose(FeatureMap(Nystroem(Gaussian(0.2), 12).fit(X))(X), Gaussian(0.2)(X), atol=1e-10)
    assert_array_equal(FeatureMap(KMers(1))(["AAC", "ACG"]), [[5, 3], [3, 3]])


@pytest.mark.parametrize("phi", MAPS[:1] + MAPS[2:], ids=repr)
def test_output_features_counts_the_columns(phi):
    X = np.ones((2, 3)) if isinstance(phi, RandomFourier) else ["ACGT", "A"]
    assert phi.transform(X).shape == (2, phi.output_features(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomFourier(gamma=0.0), "gamma must be a finite number, more than 0"),
        (lambda: RandomFourier(1.0, 7), "n_components must be even"),
        (lambda: RandomFourier(1.0, 0), "n_components must be an integer, at least 2"),
        (lambda: RandomFourier(1.0, 4, random_state=-1), "random_state must be an integer, at least 0"),
        (lambda: Nystroem(Gaussian(), 0), "n_components must be an integer, at least 1"),
        (lambda: Monomials(3, gamma=1e200), "too large to be computed with, got degree=3, gamma=1e"),
        (lambda: Monomials(2000), "too large to be computed with, got degree=2000"),
        (lambda: GaussianSeries(1e200, 4), "too large to be computed with, got gamma=1e"),
        (lambda: KMers(2, reverse_complement="no"), "reverse_complement must be True or False, got"),
        (lambda: HashedNGrams(alternate_sign=1), "alternate_sign must be True or False"),
        (lambda: HashedNGrams(ngram_range=(1, "a")), "ngram_range must be an integer, at least 1"),
    ],
)
def test_bad_parameters_are_refused_in_words(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
