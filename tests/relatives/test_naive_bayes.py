"""Naive Bayes: the lecture's table by hand, its peers, and that neither blocks nor layouts change the sums."""

import csv
import gzip
import lzma
from fractions import Fraction

import numpy as np
import pytest
import sklearn.naive_bayes as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.estimator_checks import estimator_checks_generator

import maxmargin
from maxmargin import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, load
from maxmargin.data import ArraySource, Block
from maxmargin.errors import DataError, DataTypeError, ModelFileError, ParameterError

WEATHER = """
sunny hot high false no
sunny hot high true no
overcast hot high false yes
rainy mild high false yes
rainy cool normal false yes
rainy cool normal true no
overcast cool normal true yes
sunny mild high false no
sunny cool normal false yes
rainy mild normal false yes
sunny mild normal true yes
overcast mild high true yes
overcast hot normal false yes
rainy mild high true no
"""
DAYS = [line.split()[:-1] for line in WEATHER.split("\n") if line]
PLAY = [line.split()[-1] for line in WEATHER.split("\n") if line]
NEW_DAY = ["sunny", "cool", "high", "true"]

MODELS = [CategoricalNB(), MultinomialNB(), BernoulliNB(), GaussianNB()]
SPARSE = MODELS[1:]

rng = np.random.default_rng(0)
y3 = np.array(["ash", "birch", "cedar"])[rng.integers(0, 3, 90)]
counts = rng.poisson(1.0 + (y3 == "birch")[:, None] * np.arange(6), size=(90, 6)) * rng.integers(0, 2, (90, 6))
weight = rng.integers(0, 4, 90) * 1.0


def peer(model):
    parameters = {name: value for name, value in model.get_params().items() if name != "n_jobs"}
    return getattr(peers, type(model).__name__)(**parameters)


class Blocks:
    """Rows in blocks of a given size."""

    def __init__(self, X, y, weight=None, size=7):
        self.X, self.y, self.size = X, np.asarray(y), size
        self.weight = np.ones(len(y)) if weight is None else weight
        self.n_rows, self.n_features = X.shape
        self.n_blocks = -(-len(y) // size)

    def block(self, k):
        rows = slice(k * self.size, (k + 1) * self.size)
        return Block(self.X[rows], self.y[rows], self.weight[rows], k * self.size)


def assert_same_model(one, other, rtol=1e-12):
    attributes = {name for name in vars(one) if name.endswith("_") and name != "feature_names_in_"}
    assert attributes == {name for name in vars(other) if name.endswith("_") and name != "feature_names_in_"}
    for name in attributes:
        left, right = getattr(one, name), getattr(other, name)
        for a, b in zip(left, right, strict=True) if isinstance(left, list) else [(left, right)]:
            if np.asarray(a).dtype.kind in "fc":
                assert_allclose(a, b, rtol=rtol, atol=rtol)
            else:
                assert_array_equal(a, b)


def _checks():
    for estimator in MODELS:
        for model, check in estimator_checks_generator(estimator):
            if check.func.__name__ == "check_array_api_input":
                continue  # runs only where SciPy's experimental array interface was switched on before the import
            yield pytest.param(model, check, id=f"{type(model).__name__}-{check.func.__name__}")


@pytest.mark.filterwarnings("ignore")  # some checks provoke warnings of scikit-learn's own
@pytest.mark.parametrize("model, check", list(_checks()))
@pytest.mark.slow
def test_scikit_learn_conventions(model, check):
    check(model)


# The lecture


def test_the_lectures_table_of_counts_is_the_model():
    model = CategoricalNB().fit(DAYS, PLAY)
    assert [values.tolist() for values in model.categories_] == [
        ["overcast", "rainy", "sunny"],
        ["cool", "hot", "mild"],
        ["high", "normal"],
        ["false", "true"],
    ]
    assert_array_equal(model.category_count_[0], [[0, 2, 3], [4, 3, 2]])
    assert_array_equal(model.category_count_[1], [[1, 2, 2], [3, 2, 4]])
    assert_array_equal(model.category_count_[2], [[4, 1], [3, 6]])
    assert_array_equal(model.category_count_[3], [[2, 3], [6, 3]])
    assert_array_equal(model.class_count_, [5, 9])


def test_the_lectures_posterior_by_hand():
    no = Fraction(5, 14) * Fraction(3, 5) * Fraction(1, 5) * Fraction(4, 5) * Fraction(3, 5)
    yes = Fraction(9, 14) * Fraction(2, 9) * Fraction(3, 9) * Fraction(3, 9) * Fraction(3, 9)
    model = CategoricalNB(alpha=0).fit(DAYS, PLAY)
    why = model.explain(NEW_DAY)
    assert_allclose(why.joint, [float(no), float(yes)], rtol=1e-14)
    assert [f"{number:.4f}" for number in why.joint] == ["0.0206", "0.0053"]
    assert [f"{number:.3f}" for number in why.posterior] == ["0.795", "0.205"]
    assert_allclose(why.prior, [5 / 14, 9 / 14])
    assert_allclose(why.factors, [[3 / 5, 2 / 9], [1 / 5, 3 / 9], [4 / 5, 3 / 9], [3 / 5, 3 / 9]])
    assert model.predict([NEW_DAY]).tolist() == ["no"]


def test_smoothing_adds_alpha_to_every_count():
    why = CategoricalNB(alpha=2.0).fit(DAYS, PLAY).explain(["overcast", "cool", "high", "true"])
    assert_allclose(why.factors[0], [(0 + 2) / (5 + 6), (4 + 2) / (9 + 6)])
    assert_allclose(why.factors[3], [(3 + 2) / (5 + 4), (3 + 2) / (9 + 4)])


def test_the_file_of_the_weather_has_these_rows(shared_data):
    with gzip.open(shared_data / "weather.csv.gz", "rt") as file:
        head, *rows = csv.reader(file)
    assert head[-1] == "play"
    assert rows == [[*day, play] for day, play in zip(DAYS, PLAY, strict=True)]


# Peers


@pytest.mark.parametrize(
    "model",
    [
        *MODELS,
        CategoricalNB(alpha=0.3, min_categories=30, fit_prior=False),
        MultinomialNB(alpha=[0.1, 1.0, 2.0, 3.0, 0.5, 0.2], class_prior=[0.2, 0.3, 0.5]),
        BernoulliNB(alpha=1e-3, binarize=2.0),
        GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=1e-3),
    ],
    ids=str,
)
@pytest.mark.parametrize("sample_weight", [None, weight + 0.5], ids=["rows", "weights"])
@pytest.mark.parametrize("kind", [np.int64, np.float64, np.uint8])
def test_model_and_answers_are_those_of_the_peer(model, sample_weight, kind):
    X = counts.astype(kind)
    if sample_weight is not None and isinstance(model, GaussianNB):
        model = clone(model).set_params(var_smoothing=0.0)  # their epsilon_ does not heed weights
    ours, theirs = clone(model).fit(X, y3, sample_weight), peer(model).fit(X.astype(int), y3, sample_weight)
    for name in ("feature_log_prob_", "class_log_prior_", "theta_", "var_", "class_prior_", "class_count_"):
        for a, b in zip(getattr(ours, name, []), getattr(theirs, name, []), strict=True):
            assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X.astype(int)), rtol=1e-10)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X.astype(int)), rtol=1e-9, atol=1e-15)
    assert_array_equal(ours.predict(X), ours.classes_[ours.predict_log_proba(X).argmax(axis=1)])
    assert ours.score(X, y3) == np.mean(ours.predict(X) == y3)


def test_words_give_the_model_of_their_numbers():
    words = OrdinalEncoder().fit(DAYS)
    theirs = peers.CategoricalNB().fit(words.transform(DAYS), PLAY)
    ours = CategoricalNB().fit(DAYS, PLAY)
    for a, b in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        assert_allclose(a, b, rtol=1e-14)
    assert_allclose(ours.predict_proba(DAYS), theirs.predict_proba(words.transform(DAYS)), rtol=1e-12)


def test_mushrooms_as_they_are_have_the_posteriors_of_encoded_ones(shared_data):
    with lzma.open(shared_data / "agaricus-lepiota.data.xz", "rt") as file:
        rows = np.array([row for row in csv.reader(file) if row])
    X, y = rows[:, 1:], rows[:, 0]
    numbers = OrdinalEncoder().fit_transform(X).astype(int)
    ours, theirs = CategoricalNB().fit(X, y), peers.CategoricalNB().fit(numbers, y)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(numbers), rtol=1e-9, atol=1e-9)


# Sums do not depend on how the rows come


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("size", [1, 4, 37, 1000])
def test_blocks_of_any_size_give_the_model_of_the_whole(model, size):
    whole = clone(model).fit(counts, y3, weight)
    order = np.argsort(y3, kind="stable")  # classes turn up one after the other
    for rows in (np.arange(90), order):
        source = Blocks(counts[rows], y3[rows], weight[rows], size)
        assert_same_model(clone(model).fit(source), whole)
    assert_same_model(clone(model).fit(ArraySource(counts, y3, weight)), whole)


@pytest.mark.parametrize("model", SPARSE, ids=str)
def test_a_source_of_sparse_blocks_gives_the_model_of_the_whole(model):
    source = Blocks(sparse.csr_matrix(counts), y3, weight, 11)
    assert_same_model(clone(model).fit(source), clone(model).fit(counts, y3, weight))


@pytest.mark.parametrize("model", SPARSE, ids=str)
def test_a_file_read_in_blocks_gives_the_model_of_its_rows(model, tmp_path):
    y = np.unique(y3, return_inverse=True)[1]
    dump_svmlight_file(counts, y, str(tmp_path / "rows.svm"), zero_based=False)
    with maxmargin.open(tmp_path / "rows.svm", memory=400, n_features=6) as source:
        found = clone(model).fit(source)
        assert source.n_blocks > 3
    assert_same_model(found, clone(model).fit(counts, y))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_partial_fits_of_any_size_give_the_model_of_the_whole(model):
    whole = clone(model).fit(counts, y3, weight + 0.5)
    for size in (1, 13, 90):
        parts = clone(model)
        for top in range(0, 90, size):
            rows = slice(top, top + size)
            parts.partial_fit(counts[rows], y3[rows], classes=np.unique(y3), sample_weight=(weight + 0.5)[rows])
        assert_same_model(parts, whole)


def test_words_that_turn_up_late_find_their_place():
    parts = CategoricalNB(min_categories=4)
    for day, play in zip(DAYS, PLAY, strict=True):
        parts.partial_fit([day], [play], classes=["yes", "no"])
    whole = CategoricalNB(min_categories=4).fit(DAYS, PLAY)
    assert_same_model(parts, whole)
    assert_same_model(CategoricalNB(min_categories=4).fit(Blocks(np.array(DAYS, dtype=object), PLAY, size=3)), whole)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_integer_weights_equal_repeated_rows_and_zero_equals_absence(model):
    repeats = weight.astype(int)
    X = counts.copy()
    X[repeats == 0] += 50  # values that no other row has
    weighted = clone(model).fit(X, y3, weight)
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y3, repeats))
    assert_same_model(weighted, repeated)


@pytest.mark.parametrize("model", SPARSE, ids=str)
def test_sparse_rows_give_the_model_and_answers_of_dense_ones(model):
    dense = clone(model).fit(counts, y3, weight)
    expected = dense.predict_joint_log_proba(counts)
    for X in (sparse.csr_matrix(counts), sparse.csc_array(counts.astype(np.float32)), _entries_in_halves(counts)):
        thin = clone(model).fit(X, y3, weight)
        assert_same_model(thin, dense)
        assert_allclose(thin.predict_joint_log_proba(X), expected, rtol=1e-12)
        assert_array_equal(dense.predict(X), dense.predict(counts))


def _entries_in_halves(X):
    """A CSR matrix that stores every entry as two halves, with its columns in no order."""
    rows, columns = np.nonzero(X)
    order = np.lexsort((np.random.default_rng(1).random(2 * len(rows)), np.tile(rows, 2)))
    values = np.tile(X[rows, columns] / 2.0, 2)[order]
    starts = np.concatenate([[0], np.cumsum(2 * np.count_nonzero(X, axis=1))])
    matrix = sparse.csr_matrix((values, np.tile(columns, 2)[order], starts), shape=X.shape)
    assert not matrix.has_canonical_format
    return matrix


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_layout_precision_and_threads_do_not_change_the_model(model):
    reference = clone(model).fit(counts, y3, weight)
    for X in (np.asfortranarray(counts), counts.astype(np.float32), counts[::-1][::-1], counts.tolist()):
        assert_same_model(clone(model).fit(X, y3, weight), reference)
    X, y = np.tile(counts, (600, 10)), np.tile(y3, 600)  # enough rows for several threads
    one, two = clone(model).set_params(n_jobs=1).fit(X, y), clone(model).set_params(n_jobs=2).fit(X, y)
    assert_same_model(one, two)
    assert_allclose(one.predict_joint_log_proba(X), two.predict_joint_log_proba(X), rtol=1e-12)


# Digits


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_means_and_variances_keep_their_digits_beside_a_large_offset(offset, scale):
    rng = np.random.default_rng(2)
    X = offset * scale + scale * rng.normal(size=(3000, 3))
    y, weight = rng.integers(0, 3, 3000), rng.uniform(0.1, 3.0, 3000)
    model = GaussianNB(var_smoothing=0.0).fit(Blocks(X, y, weight, size=101))
    for k in range(3):
        rows, share = X[y == k].astype(np.longdouble), weight[y == k].astype(np.longdouble)
        mean = (share @ rows) / share.sum()
        assert_allclose(model.theta_[k], mean.astype(float), rtol=1e-14, atol=1e-14 * scale)
        # The means of blocks have rounding errors of eps * offset; a sum of squares would lose eps * offset^2.
        rtol = np.finfo(float).eps * max(abs(offset), 1e3)
        assert_allclose(model.var_[k], (share @ (rows - mean) ** 2 / share.sum()).astype(float), rtol=rtol)


def test_an_outlier_of_tiny_weight_does_not_spoil_the_variance():
    X = np.concatenate([[[1e12]], np.random.default_rng(3).normal(size=(500, 1))])
    light = np.concatenate([[1e-30], np.ones(500)])
    model = GaussianNB(var_smoothing=0.0).fit(X, np.zeros(501), light)
    assert_allclose(model.var_, np.var(X[1:]), rtol=1e-5)  # to which the outlier adds 1e-30 * 1e24 / 500


def test_features_in_other_units_give_the_same_classes():
    X = counts + rng.normal(size=counts.shape)
    posterior = GaussianNB().fit(X, y3).predict_proba(X)
    for unit in (1e-6, 1e6):
        assert_allclose(GaussianNB().fit(unit * X, y3).predict_proba(unit * X), posterior, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.slow
def test_ten_thousand_factors_do_not_underflow(model):
    rng = np.random.default_rng(4)
    y = np.arange(40) % 2
    X = rng.integers(0, 2 + (y == 1)[:, None], size=(40, 10_000))
    model = clone(model).fit(X, y)
    assert np.all(model.predict_joint_log_proba(X) < -5000.0)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_array_equal(model.predict(X), y)
    why = model.explain(X[0])
    assert_allclose(why.log_prior + why.log_factors.sum(axis=0), why.log_joint, rtol=1e-10)
    assert "9,980 other features" in str(why)
    assert "e-" in str(why).splitlines()[-2]


def test_absence_keeps_its_digits_where_a_feature_is_nearly_always_there():
    model = BernoulliNB(alpha=1e-18).fit([[1], [1], [0], [1]], [0, 0, 1, 1])
    assert model.predict_joint_log_proba([[0]])[0, 0] == pytest.approx(np.log(0.5) + np.log(1e-18 / 2), rel=1e-12)


# No smoothing


ZEROS = [
    (CategoricalNB, [[0, 0], [0, 1], [1, 0], [2, 2], [2, 2]], [[1, 2], [2, 1], [0, 2], [9, 9], [9, 2]]),
    (MultinomialNB, [[3, 0, 0], [1, 2, 0], [0, 1, 0], [0, 0, 1], [0, 3, 1]], [[1, 0, 1], [2, 0, 1], [0, 0, 0]]),
    (BernoulliNB, [[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]], [[1, 0, 1], [0, 0, 0], [1, 1, 1]]),
]


IN_LAYOUTS = [(*case, np.array) for case in ZEROS] + [(*case, sparse.csr_array) for case in ZEROS[1:]]


@pytest.mark.parametrize("kind, X, rows, layout", IN_LAYOUTS, ids=lambda value: getattr(value, "__name__", ""))
def test_without_smoothing_the_posterior_is_the_limit_of_little_smoothing(kind, X, rows, layout):
    y = ["a", "a", "a", "b", "b"]
    exact, near = kind(alpha=0).fit(layout(X), y), kind(alpha=1e-13).fit(layout(X), y)
    everything = layout([*X, *rows])
    assert np.isneginf(exact.predict_joint_log_proba(everything)).any()
    assert np.isneginf(exact.predict_joint_log_proba(layout(rows))).all(axis=1).any()
    assert_allclose(exact.predict_proba(everything), near.predict_proba(everything), atol=1e-6)
    assert_array_equal(exact.predict(everything), near.predict(everything))


@pytest.mark.parametrize("kind", [CategoricalNB, MultinomialNB, BernoulliNB])
def test_a_class_that_was_announced_but_never_came_is_never_predicted(kind):
    for alpha in (0.0, 1.0):
        model = kind(alpha=alpha).partial_fit([[0, 1], [1, 0]], [0, 1], classes=[0, 1, 2])
        assert_allclose(model.predict_proba([[0, 1], [1, 1], [0, 0]])[:, 2], 0.0)
        uniform = kind(alpha=alpha, fit_prior=False).partial_fit([[0, 1], [1, 0]], [0, 1], classes=[0, 1, 2])
        assert np.all(np.isfinite(uniform.predict_proba([[0, 1], [1, 1], [0, 0]])))
    gaussian = GaussianNB().partial_fit([[0.0, 1.0], [1.0, 0.0]], [0, 1], classes=[0, 1, 2])
    assert_array_equal(gaussian.predict([[0.0, 1.0], [1.0, 0.1]]), [0, 1])


def test_a_feature_that_is_always_there_is_never_absent_whatever_the_weights():
    weight = np.random.default_rng(6).uniform(0.1, 3.0, 90)
    X = np.column_stack([np.ones(90), counts])
    for source in (Blocks(X, y3, weight, 7), Blocks(sparse.csr_array(X), y3, weight, 11)):
        model = BernoulliNB(alpha=0).fit(source)
        assert_array_equal(model.predict_joint_log_proba(0 * X[:1]), [[-np.inf] * 3])


# Hard tables


def test_a_row_beyond_all_bounds_has_a_posterior():
    model = GaussianNB().fit(counts, y3)
    with np.errstate(over="ignore"):
        for X in (np.full((1, 6), 1e200), sparse.csr_array(np.full((1, 6), 1e200))):
            assert_allclose(model.predict_proba(X).sum(), 1.0)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_one_row_a_class_and_constant_columns_give_finite_posteriors(model):
    X = np.array([[0, 3, 1], [0, 3, 2], [0, 3, 5]])
    posterior = clone(model).fit(X, ["a", "b", "c"]).predict_proba([*X, [1, 0, 7]])
    assert_allclose(posterior.sum(axis=1), 1.0)
    same = clone(model).fit(X[[0, 0, 0]], ["a", "b", "c"])
    assert_allclose(same.predict_proba([[0, 3, 1], [9, 9, 9]]), 1 / 3)
    alone = clone(model).fit(X, ["a", "a", "a"])
    assert_allclose(alone.predict_proba(X), 1.0)


def test_full_columns_among_sparse_ones_keep_their_digits():
    rng = np.random.default_rng(5)
    X = sparse.random(200, 30, 0.1, random_state=rng).toarray()
    X[:, 7], X[:, 8] = 1e5 + rng.normal(size=200), 3.0
    y = rng.integers(0, 2, 200)
    model = GaussianNB().fit(X, y)
    assert_allclose(GaussianNB().fit(sparse.csr_array(X), y).var_, model.var_, rtol=1e-9)
    thin = model.predict_joint_log_proba(sparse.csr_array(X))
    assert_allclose(thin, model.predict_joint_log_proba(X), rtol=1e-10)


def test_gaussian_factors_are_densities():
    model = GaussianNB().fit(counts, y3)
    why = model.explain(counts[3])
    assert_allclose(why.factors, stats.norm(model.theta_, np.sqrt(model.var_)).pdf(counts[3]).T, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_an_explanation_multiplies_out(model):
    model = clone(model).fit(counts, y3)
    for x in (counts[5], counts[5].tolist(), counts[5:6]):
        why = model.explain(x)
        assert_allclose(why.joint, np.exp(model.predict_joint_log_proba(counts[5:6])[0]), rtol=1e-10)
        assert_allclose(why.posterior, why.joint / why.joint.sum(), rtol=1e-10)
        assert why.values == counts[5].tolist()
        if not isinstance(model, MultinomialNB):
            assert_allclose(why.prior * why.factors.prod(axis=0), why.joint, rtol=1e-10)
    assert str(why).splitlines()[0].split() == ["value", "ash", "birch", "cedar"]
    assert why._repr_html_().count("<tr>") == len(why.rows())
    with pytest.raises(DataError, match="takes one row, got 90"):
        model.explain(counts)


def test_an_explanation_escapes_what_could_be_markup():
    model = CategoricalNB().fit([["<b>"], ["a&b"]], ["<i>", "x"])
    page = model.explain(["<b>"])._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<i>" not in page


# Tables of words


def test_a_data_frame_of_words_numbers_and_truth_values_needs_no_encoder():
    pandas = pytest.importorskip("pandas", reason="tables are optional: pandas is not installed")
    table = pandas.DataFrame({"sky": ["blue", "grey", "blue", "grey"], "wind": [-3, 0, 2, 2], "dry": [True, 0, 1, 0]})
    model = CategoricalNB().fit(table, ["go", "stay", "go", "stay"])
    assert model.categories_[1].tolist() == [-3, 0, 2]
    assert_array_equal(model.feature_names_in_, ["sky", "wind", "dry"])
    assert_array_equal(model.predict(table), ["go", "stay", "go", "stay"])
    why = model.explain(table.iloc[1])
    assert why.values[0] == "grey"
    assert_allclose(why.posterior, model.predict_proba(table)[1])
    assert_allclose(model.explain(table[1:2]).posterior, why.posterior)
    with pytest.raises(DataError, match="feature names"):
        model.predict(table.rename(columns={"sky": "cloud"}))


def test_a_value_that_was_never_seen_counts_as_seen_zero_times():
    model = CategoricalNB(alpha=0.5).fit(DAYS, PLAY)
    why = model.explain(["foggy", "cool", "high", "true"])
    assert_allclose(why.factors[0], [0.5 / (5 + 1.5), 0.5 / (9 + 1.5)])
    numbers = CategoricalNB(alpha=0.5, min_categories=7).fit([[0], [1], [1]], [0, 0, 1])
    assert_array_equal(numbers.n_categories_, [7])
    assert_allclose(numbers.explain([6]).factors, numbers.explain([70]).factors)
    assert_allclose(numbers.explain([0.5]).factors, numbers.explain([70]).factors)
    assert_allclose(numbers.explain([6]).factors, [[0.5 / (2 + 3.5), 0.5 / (1 + 3.5)]])


def test_numbers_that_are_not_whole_are_categories_like_words():
    model = CategoricalNB().fit([[0.5], [0.5], [2.0]], [0, 0, 1])
    assert model.categories_[0].tolist() == [0.5, 2.0]
    assert_array_equal(model.category_count_[0], [[2, 0], [0, 1]])


# What an estimator owes


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_there_is_no_certificate_and_a_saved_model_comes_back_whole(model, tmp_path):
    model = clone(model).fit(counts, y3, weight)
    assert model.certificate_ is None
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_same_model(again, model)
    assert again.certificate_ is None
    assert again.get_params() == model.get_params()
    assert_array_equal(again.predict_proba(counts + 1), model.predict_proba(counts + 1))
    assert_same_model(again.partial_fit(counts, y3), model.partial_fit(counts, y3))


def test_a_saved_model_of_words_comes_back_whole(tmp_path):
    model = CategoricalNB(alpha=0).fit(DAYS, PLAY)
    model.save(tmp_path / "model")
    assert str(load(tmp_path / "model").explain(NEW_DAY)) == str(model.explain(NEW_DAY))
    with pytest.raises(ModelFileError, match="objects"):
        CategoricalNB().fit([["a"], [1]], [0, 1]).save(tmp_path / "other")


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_refused_call_leaves_the_model_as_it_was(model):
    model = clone(model).fit(counts, y3)
    before = clone(model).fit(counts, y3)
    bad = np.vstack([counts, [-1] * 6]) if not isinstance(model, (GaussianNB, BernoulliNB)) else counts * np.nan
    for call in (model.fit, model.partial_fit):
        with pytest.raises(DataError):
            call(bad, np.resize(y3, len(bad)))
    with pytest.raises(DataError, match="do not exist in the initial classes"):
        model.partial_fit(counts, np.where(np.arange(90) == 89, "oak", y3))
    with pytest.raises(DataError):
        model.fit(Blocks(np.vstack([counts, bad[-1:]]), np.append(y3, "oak")))
    assert_same_model(model, before)


REFUSED = [
    (lambda: GaussianNB(var_smoothing=-1.0).fit(counts, y3), ParameterError, "var_smoothing must be zero"),
    (lambda: GaussianNB(var_smoothing=0.0).fit(counts * 0, y3), DataError, "variance 0 in class .*ash"),
    (lambda: GaussianNB(n_jobs=0).fit(counts, y3), ParameterError, "n_jobs"),
    (lambda: MultinomialNB(alpha=-1).fit(counts, y3), ParameterError, "alpha must be zero or a positive"),
    (lambda: MultinomialNB(class_prior=[0.5, 0.2, 0.2]).fit(counts, y3), ParameterError, "sum of the priors"),
    (lambda: MultinomialNB().fit(counts - 1, y3), DataError, "Use GaussianNB"),
    (lambda: BernoulliNB(binarize=None).fit(counts, y3), DataError, "Give binarize=0.0"),
    (lambda: BernoulliNB(binarize=-1.0).fit(counts, y3), ParameterError, "binarize must be None"),
    (lambda: BernoulliNB(fit_prior="no").fit(counts, y3), ParameterError, "fit_prior must be True or False"),
    (lambda: CategoricalNB(alpha=[1.0]).fit(DAYS, PLAY), ParameterError, "one number for all"),
    (lambda: CategoricalNB(min_categories=0).fit(DAYS, PLAY), ParameterError, "at least 1"),
    (lambda: CategoricalNB(min_categories=1.5).fit(DAYS, PLAY), ParameterError, "integral type"),
    (lambda: CategoricalNB().fit([["a"], [None]], [0, 1]), DataError, "row 1, column 0 is missing"),
    (lambda: CategoricalNB().fit([["a"], [float("nan")]], [0, 1]), DataError, "row 1, column 0 is missing"),
    (lambda: CategoricalNB().fit([["a"], [["b"]]], [0, 1]), DataTypeError, "must be a string or a number"),
    (lambda: CategoricalNB().fit(sparse.csr_array(counts), y3), DataTypeError, "Sparse"),
    (lambda: CategoricalNB().fit([[0], [2**40]], [0, 1]), DataError, "too large"),
    (lambda: CategoricalNB().fit(counts, y3).predict([["a"] * 6]), DataError, "trained on a table of category numbers"),
    (lambda: CategoricalNB().fit(counts, y3).partial_fit(counts + 0.5, y3), DataError, "not whole"),
    (lambda: MultinomialNB().partial_fit(counts, y3, classes=[]), ParameterError, "classes is empty"),
    (lambda: MultinomialNB().fit(Blocks(counts, y3), y3), ParameterError, "its own labels"),
    (lambda: MultinomialNB().fit(Blocks(counts, y3, 0 * weight)), DataError, "no row of positive weight"),
    (lambda: MultinomialNB().fit(Blocks(counts, y3, weight - 1.0)), DataError, "zero or positive"),
]


@pytest.mark.parametrize("call, kind, words", REFUSED)
def test_what_cannot_be_used_is_refused_in_words(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
