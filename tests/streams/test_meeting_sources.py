"""A model that is given a source in the place of arrays predicts and scores it block by block, or says what to do."""

from __future__ import annotations

import inspect
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianNB,
    KernelRegression,
    Lasso,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NuSVC,
    OneClassSVM,
    Ridge,
    SoftmaxRegression,
)
from maxmargin.data import ArraySource, Block
from maxmargin.errors import DataError, ModelFileError, ParameterError
from maxmargin.estimators.fitting.sources import RunningAccuracy, RunningRSquared

CLASSIFIERS = {
    "LinearSVC": LinearSVC(),
    "sparse LinearSVC": LinearSVC(penalty="l1"),
    "LogisticRegression": LogisticRegression(),
    "SoftmaxRegression": SoftmaxRegression(),
    "SVC": SVC(probability=True),
    "NuSVC": NuSVC(nu=0.2),
    "GaussianNB": GaussianNB(),
    "DecisionTreeClassifier": DecisionTreeClassifier(max_depth=3),
}
REGRESSORS = {
    "LinearSVR": LinearSVR(),
    "Ridge": Ridge(),
    "LinearRegression": LinearRegression(),
    "Lasso": Lasso(alpha=0.01),
    "SVR": SVR(),
    "KernelRegression": KernelRegression(alpha=0.1),
    "DecisionTreeRegressor": DecisionTreeRegressor(max_depth=3),
}
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")


def table(n_classes, n=90, d=5):
    """Rows with zeros among them, words as classes, and a number to approximate."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, d)).round(3)
    X[rng.random(X.shape) < 0.3] = 0.0
    f = X @ rng.normal(size=d) + 0.2 * rng.normal(size=n)
    words = np.array(["low", "middle", "high"])[:n_classes]
    return X, words[np.digitize(f, np.quantile(f, np.linspace(0, 1, n_classes + 1)[1:-1]))], f


def opened(X, y, layout, weight=None):
    """The rows in blocks of a few."""
    X = sparse.csr_matrix(X) if layout == "sparse" else X
    batch = (X, y) if weight is None else (X, y, weight)
    return maxmargin.open([batch], dtype="float64", memory="1KB")


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_answer_of_a_classifier_is_that_of_arrays(name, n_classes, layout):
    X, y, _ = table(n_classes)
    model = CLASSIFIERS[name].fit(X, y)
    with opened(X, y, layout) as source:
        assert source.n_blocks > 3
        rows = source.head(source.n_rows)[0]
        for method in METHODS:
            if hasattr(model, method):
                expected, found = getattr(model, method)(rows), getattr(model, method)(source)
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12) if found.dtype.kind == "f" else (
                    assert_array_equal(found, expected)
                )
        assert model.score(source) == pytest.approx(model.score(rows, y), abs=1e-12)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_every_answer_of_a_regressor_is_that_of_arrays(name, layout):
    X, _, f = table(2)
    model = REGRESSORS[name].fit(X, f)
    with opened(X, f, layout) as source:
        rows = source.head(source.n_rows)[0]
        np.testing.assert_allclose(model.predict(source), model.predict(rows), rtol=1e-12, atol=1e-12)
        assert model.score(source) == pytest.approx(model.score(rows, f), abs=1e-12)


def test_outliers_are_found_in_a_source_as_in_arrays():
    X, y, _ = table(2)
    model = OneClassSVM(nu=0.2).fit(X)
    with opened(X, y, "dense") as source:
        assert_array_equal(model.predict(source), model.predict(X))
        np.testing.assert_allclose(model.score_samples(source), model.score_samples(X), rtol=1e-12)


def test_a_score_counts_each_row_with_the_weight_that_the_source_has():
    X, y, f = table(2)
    weight = np.random.default_rng(1).integers(0, 4, size=len(y)).astype(float)
    for model, target in ((LinearSVC().fit(X[:60], y[:60]), y), (LinearSVR().fit(X[:60], f[:60]), f)):
        with opened(X, target, "dense", weight) as source:
            expected = model.score(X, target, weight)
            assert expected != model.score(X, target)
            assert model.score(source) == pytest.approx(expected, abs=1e-12)
            assert model.score(ArraySource(X, target, weight)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "feature_map",
    [maxmargin.features.RandomFourier(gamma=0.3, n_components=40), maxmargin.features.Quadratic()],
    ids=lambda one: type(one).__name__,
)
def test_a_map_is_applied_to_what_is_predicted_as_to_what_was_trained_on(feature_map):
    X, y, _ = table(3)
    with opened(X, y, "dense") as source:
        expanded = source.map(feature_map)
        model = LinearSVC().fit(expanded)
        features = feature_map.transform(X)
        assert_array_equal(model.predict(expanded), model.predict(features))
        np.testing.assert_allclose(model.decision_function(expanded), model.decision_function(features), rtol=1e-9)
        assert model.score(expanded) == pytest.approx(model.score(features, y))
        with pytest.raises(DataError, match=r"5 columns, .* trained on .* give it source.map\(model.feature_map_\)"):
            model.predict(source)


ALL_MAPS = [
    maxmargin.features.GaussianSeries(0.1, 3),
    maxmargin.features.LinearQuadratic(),
    maxmargin.features.Monomials(2),
    maxmargin.features.Nystroem(maxmargin.kernels.Gaussian(0.3), 7),
    maxmargin.features.Quadratic(),
    maxmargin.features.RandomFourier(gamma=0.3, n_components=40),
]


@pytest.mark.parametrize("stream", [None, "cached-loops"])
@pytest.mark.parametrize("feature_map", ALL_MAPS, ids=lambda one: type(one).__name__)
@pytest.mark.slow
def test_a_model_keeps_the_map_of_its_training_also_in_its_file(feature_map, stream, tmp_path):
    X, y, _ = table(3)
    with opened(X, y, "dense") as source:
        feature_map.fit(source)
        model = LinearSVC(stream=stream).fit(source.map(feature_map))
        model.save(tmp_path / "m")
        for one in (model, maxmargin.load(tmp_path / "m")):
            carried = one.feature_map_
            assert (carried.feature_map, carried.n_features) == (feature_map, X.shape[1])
            assert one.certificate_.verify(source.map(carried))
            assert_array_equal(one.predict(source.map(carried)), model.predict(feature_map.transform(X)))
        part, _ = source.map(feature_map).split(test=0.5)
        assert model.fit(part).feature_map_ == carried
        with pytest.raises(ParameterError, match="C must be"):
            model.set_params(C=-1.0).fit(source)
        assert model.feature_map_ == carried  # a fit that is refused leaves the model as it was
        assert model.set_params(C=1.0, stream=None).fit(X, y).feature_map_ is None


@pytest.mark.parametrize("stream", [None, "cached-loops"])
@pytest.mark.parametrize("kind", [LinearSVR, LogisticRegression])
def test_every_machine_that_is_trained_from_sources_keeps_the_map(kind, stream, tmp_path):
    X, y, f = table(3)
    feature_map = maxmargin.features.Monomials(2)
    with opened(X, f if kind is LinearSVR else y == "low", "dense") as source:
        model = kind(stream=stream).fit(source.map(feature_map))
        model.save(tmp_path / "m")
        carried = maxmargin.load(tmp_path / "m").feature_map_
        assert carried.feature_map == model.feature_map_.feature_map == feature_map
        feature_map.set_params(degree=3)
        assert carried == model.feature_map_  # a copy, which its owner does not change
        bayes = GaussianNB().fit(source.map(feature_map)) if kind is LogisticRegression else None
        assert bayes is None or bayes.feature_map_.feature_map == feature_map


class Doubled(maxmargin.features.Monomials):
    """A map of somebody else."""


def test_what_no_file_could_tell_is_not_carried():
    X, y, _ = table(3)
    one = maxmargin.features.Monomials(1)
    with opened(X, y, "dense") as source:
        for rows in (
            source.map(StandardScaler().fit(X)),
            source.map(Doubled(2)),
            source.map(one).map(one),
            source.map(one).split(test=0.5)[0].map(one),
        ):
            assert LinearSVC().fit(rows).feature_map_ is None


def test_a_map_that_cannot_be_written_is_named(tmp_path):
    X, y, _ = table(3)
    kernel = maxmargin.kernels.from_function(lambda x: float(x[0]))
    with opened(X, y, "dense") as source:
        model = LinearSVC().fit(source.map(maxmargin.features.Nystroem(kernel, 5).fit(X)))
    with pytest.raises(ModelFileError, match=r"feature map that the model carries .* set model.feature_map_ = None"):
        model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="a liblinear file has no room for the feature map"):
        model.save(tmp_path / "m", format="liblinear")
    model.feature_map_ = None
    model.save(tmp_path / "m")
    assert maxmargin.load(tmp_path / "m").feature_map_ is None


def test_a_map_of_columns_refuses_another_number_of_them_and_one_of_letters_does_not(tmp_path):
    X, y, _ = table(3)
    with opened(X, y, "dense") as source:
        model = LinearSVC().fit(source.map(maxmargin.features.Monomials(2)))
    assert model.feature_map_.transform(sparse.csr_matrix(X[:, :3])).shape[1] == model.n_features_in_
    with pytest.raises(DataError, match="rows of 5 columns in training, got 3"):
        model.feature_map_.transform(X[:, :3])
    with pytest.raises(DataError, match=r"give it model.feature_map_.transform\(X\)"):
        model.predict(X)
    for rows in (X.tolist(), sparse.csc_matrix(X), sparse.coo_matrix(X), X.astype(np.float32)):
        assert_array_equal(
            model.predict(model.feature_map_.transform(rows)), model.predict(maxmargin.features.Monomials(2)(X))
        )
    words = np.frombuffer(b"AACACAGTTTGTTGG\0", dtype=np.uint8).reshape(4, 4)
    for dtype in ("uint8", "float32"):
        with maxmargin.open([(words, [0, 0, 1, 1])], dtype=dtype) as source:
            model = LinearSVC().fit(source.map(maxmargin.features.KMers(2, dtype=np.float64)))
        model.save(tmp_path / "m")
        carried = maxmargin.load(tmp_path / "m").feature_map_
        assert (carried.n_features, carried.dtype) == (None, "uint8")
        assert_array_equal(model.predict(carried.transform(["AACACA", "GTTGTTT"])), [0, 1])


class Counted:
    """A source of made rows that notes how many bytes of them are alive at the same time."""

    n_rows, n_features, n_blocks, block_rows = 40_000, 50, 40, 1000
    has_labels = True

    def block(self, k):
        X = np.random.default_rng(k).normal(size=(self.block_rows, self.n_features))
        return Block(X, np.where(X[:, 0] > 0, 1, 0), np.ones(self.block_rows), k * self.block_rows)


def test_memory_holds_one_block_and_the_answer():
    X = np.random.default_rng(0).normal(size=(200, 50))
    model = LinearSVC().fit(X, np.digitize(X[:, 0], np.linspace(-1, 1, 19)))  # 20 classes
    source, a_block = Counted(), Counted.block_rows * Counted.n_features * 8
    model.predict(source.block(0).X)  # what is loaded on first use is no memory of the rows
    tracemalloc.start()
    try:
        model.predict(source)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        model.score(source)
        peak_of_score = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    whole = source.n_blocks * a_block
    assert peak < 8 * source.n_rows + 4 * a_block < whole / 4  # 20 scores a row would be 6.4 MB alone
    assert peak_of_score < 4 * a_block


UNTRAINED = [SVC, SVR, NuSVC, OneClassSVM, Ridge, Lasso, LinearRegression, KernelRegression, SoftmaxRegression]


@pytest.mark.parametrize("kind", UNTRAINED)
def test_a_machine_of_arrays_says_which_are_trained_from_a_source_and_how_to_load_one(kind):
    X, y, _ = table(2)
    with opened(X, y, "dense") as source:
        for given in ((source,), (source, y)):
            with pytest.raises(DataError) as told:
                kind().fit(*given)
            words = str(told.value)
            assert f"{kind.__name__} is trained on arrays and not from a source" in words
            assert "X, y = source.head(source.n_rows) loads them for fit(X, y)" in words
            assert "LinearSVC, LinearSVR, LogisticRegression and naive Bayes are trained from a source" in words
            assert ("Nystroem(" in words) == hasattr(kind(), "kernel")


@pytest.mark.parametrize("kind", [LinearSVC, LinearSVR, LogisticRegression, *UNTRAINED])
def test_a_path_is_answered_with_the_function_that_opens_it(kind, tmp_path):
    for path in ("a.txt", tmp_path / "a.txt"):
        for words in ({"X": path}, {"X": path, "y": [0, 1]}):
            if kind is OneClassSVM and "y" in words:
                continue
            with pytest.raises(DataError, match=r"got the path '.*a\.txt'\. Open it.* maxmargin\.open\('.*a\.txt'\)"):
                kind().fit(**words)


def test_a_path_to_predict_is_answered_likewise():
    X, y, _ = table(2)
    with pytest.raises(DataError, match=r"Open it: maxmargin\.open\('new\.csv'\) is a source"):
        LinearSVC().fit(X, y).predict("new.csv")


def test_a_fit_that_lacks_labels_still_says_so_for_arrays():
    X, y, _ = table(2)
    with pytest.raises(DataError, match="requires y to be passed, but the target y is None"):
        Ridge().fit(X)
    with pytest.raises(DataError, match=r"give score\(X, y\), or a source that has labels"):
        LinearSVC().fit(X, y).score(X)


def test_a_source_that_does_not_fit_the_model_is_refused_before_it_is_read(tmp_path):
    X, y, f = table(2)
    model = LinearSVC().fit(X, y)
    (tmp_path / "short.txt").write_text("low 1:2 3:1\nhigh 2:1\n")
    told = r"3 columns, .* on 5\. LIBSVM text ends .* open it with n_features=5"
    with maxmargin.open(tmp_path / "short.txt") as short, pytest.raises(DataError, match=told):
        model.predict(short)
    with maxmargin.open(tmp_path / "short.txt", n_features=5) as long:
        assert_array_equal(model.predict(long), model.predict([[2, 0, 1, 0, 0], [0, 1, 0, 0, 0]]))
    (tmp_path / "rows.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n")
    with maxmargin.open(tmp_path / "rows.csv") as bare:
        assert len(model.predict(bare)) == 1
        with pytest.raises(DataError, match=r"has no labels\. Open it with label='name'"):
            model.score(bare)
    with opened(X, f, "dense") as numbers, pytest.raises(DataError, match="but the model knows"):
        model.score(numbers)
    with opened(X, y, "dense") as words:
        with pytest.raises(DataError, match=r"labels are words, such as '\w+', but the model predicts numbers"):
            LinearSVR().fit(X, f).score(words)
        with pytest.raises(ParameterError, match="give score nothing but the source"):
            model.score(words, y)


def test_scikit_learn_sees_the_arguments_that_fit_and_score_have():
    assert list(inspect.signature(SVC.fit).parameters) == ["self", "X", "y", "sample_weight"]
    assert list(inspect.signature(LinearSVC.score).parameters) == ["self", "X", "y", "sample_weight"]


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_running_scores_are_those_of_all_rows_at_once(size, shift):
    rng = np.random.default_rng(0)
    y, found = rng.normal(size=100) + shift, rng.normal(size=100) + shift
    weight = rng.integers(0, 3, size=100).astype(float)
    accuracy, squares = RunningAccuracy(), RunningRSquared()
    for first in range(0, 100, size):
        rows = slice(first, first + size)
        squares.add(found[rows], y[rows], weight[rows])
        accuracy.add(np.sign(found[rows] - shift), np.sign(y[rows] - shift), weight[rows])
    assert squares.value == pytest.approx(r2_score(y, found, sample_weight=weight), rel=1e-6)
    right = accuracy_score(np.sign(y - shift), np.sign(found - shift), sample_weight=weight)
    assert accuracy.value == pytest.approx(right, rel=1e-12)


def test_running_scores_of_no_row_and_of_equal_labels():
    none = np.empty(0)
    for kind in (RunningAccuracy, RunningRSquared):
        score = kind()
        score.add(none, none, none)
        assert np.isnan(score.value)
    equal = np.full(3, 7.0)
    for found, value in ((equal, 1.0), (equal + 1.0, 0.0)):
        score = RunningRSquared()
        score.add(found, equal, np.ones(3))
        assert score.value == value == r2_score(equal, found)


@pytest.mark.parametrize("kind", [LinearSVC, LogisticRegression, LinearSVR])
def test_a_source_that_is_trained_on_as_arrays_keeps_its_weights(kind):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(60, 3)), rng.uniform(0.0, 3.0, 60)
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1, -1)
    found, expected = kind().fit(maxmargin.open([(X, y, weight)])), kind().fit(X, y, weight)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-4)
    assert_array_equal(found.certificate_.claim.sample_weight, weight)
