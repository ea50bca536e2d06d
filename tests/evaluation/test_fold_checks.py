"""No row is on both sides of a fold, and what is wrong with a row is said with its number in the data given."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, DecisionTreeClassifier, LinearSVC
from maxmargin.errors import DataError
from maxmargin.evaluate import Experiment, cross_validate, grid, holdout, k_fold

X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[:200], y[:200]
N = len(y)
PAIRS = list(k_fold(4).split(X, y))


def _by_cross_validation(cv, rows=X, model=None):
    return cross_validate(LinearSVC() if model is None else model, rows, y, cv=cv).scores


def _by_stored_kernel(cv, rows=X, model=None):
    return cross_validate(SVC(gamma=0.1), rows, y, cv=cv).scores


def _by_search(cv, rows=X, model=None):
    return grid(LinearSVC() if model is None else model, rows, y, cv=cv, **_one_value(model)).scores[0]


def _by_experiment(cv, rows=X, model=None):
    whole, labels = np.empty((2 * N, X.shape[1])), np.empty(2 * N, dtype=int)
    for part in next(
        holdout(0.5, stratify=False).split(labels)
    ):  # the rows to train on are those given, in their order
        whole[part], labels[part] = rows, y
    experiment = Experiment(whole, labels, test=0.5, stratify=False)
    return experiment.compare({"one": LinearSVC() if model is None else model}, cv=cv).scores["one"]


def _one_value(model):
    name = (
        "C"
        if model is None
        else next(name for name in model.get_params() if name.split("__")[-1] in ("C", "max_depth"))
    )
    return {name: [1.0 if name.endswith("C") else 3]}


WAYS = {
    "cross_validate": _by_cross_validation,
    "stored kernel": _by_stored_kernel,
    "grid": _by_search,
    "Experiment": _by_experiment,
}
EVERY_WAY = pytest.mark.parametrize("scores_of", WAYS.values(), ids=WAYS)


@EVERY_WAY
@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (np.arange(N), np.arange(N), r"fold 1 of 1 trains and tests on the same rows, 200 of them, such as row 0"),
        (np.arange(100), np.arange(99, N), "the same rows, 1 of them, such as row 99"),
        (np.arange(100, N), np.array([-1, 3]), "the same rows, 1 of them, such as row 199"),
        (np.arange(N) < 150, np.arange(N) >= 140, "the same rows, 10 of them, such as row 140"),
        (np.arange(100), np.array([150, 200]), "names row 200; there are 200 rows"),
        (np.arange(100), np.arange(N - 1) > 100, r"one truth value for each of the 200 rows; got .*\(199,\)"),
        (np.arange(100), np.array([150.0, 151.0]), "pair of row numbers.* float64"),
        (np.arange(100), [], "no rows to test on"),
        (np.zeros(N, dtype=bool), np.arange(100), "no rows to train on"),
    ],
    ids=["all", "one", "from the end", "masks", "too large", "short mask", "fractions", "nothing", "empty mask"],
)
def test_folds_that_prove_nothing_are_refused(scores_of, train, test, message):
    with pytest.raises(DataError, match=message):
        scores_of([(train, test)])


@EVERY_WAY
def test_masks_and_numbers_from_the_end_are_the_rows_they_name(scores_of):
    expected = scores_of(PAIRS)
    rows = np.arange(N)
    assert_array_equal(scores_of([(np.isin(rows, train), np.isin(rows, test)) for train, test in PAIRS]), expected)
    assert_array_equal(scores_of([(train - N, test - N) for train, test in PAIRS]), expected)


def test_the_table_counts_the_rows_of_a_mask():
    train, test = PAIRS[0]
    rows = np.arange(N)
    found = cross_validate(LinearSVC(), X, y, cv=[(np.isin(rows, train), np.isin(rows, test))])
    assert found.table().rows[0][1] == str(len(test)) == "50"
    assert_array_equal(found.test_rows[0], test)


def test_rows_drawn_several_times_are_taken():
    train = np.repeat(PAIRS[0][0], 2)
    found = cross_validate(LinearSVC(), X, y, cv=[(train, PAIRS[0][1])])
    weighted = LinearSVC(C=2.0).fit(X[PAIRS[0][0]], y[PAIRS[0][0]])
    assert found.mean == weighted.score(X[PAIRS[0][1]], y[PAIRS[0][1]])


@pytest.mark.parametrize("scores_of", [_by_cross_validation, _by_stored_kernel, _by_search])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("row", [0, 77, 199])
def test_a_number_that_is_none_is_named_by_its_row_in_the_data_given(scores_of, layout, row):
    spoiled = X.copy()
    spoiled[row, 4] = np.nan
    with pytest.raises(DataError, match=f"row {row}, column 4 is nan"):
        scores_of(k_fold(3), layout(spoiled))


def test_a_column_of_a_table_is_named_and_a_pipeline_is_seen_through():
    table = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    table.loc[150, "f7"] = np.inf
    for model in (LinearSVC(), make_pipeline("passthrough", LinearSVC())):
        with pytest.raises(DataError, match=r"row 150, column 7 \('f7'\) is inf"):
            cross_validate(model, table, y)


@pytest.mark.parametrize("scores_of", [_by_cross_validation, _by_search, _by_experiment])
@pytest.mark.parametrize(
    "model", [make_pipeline(SimpleImputer(), LinearSVC()), DecisionTreeClassifier(max_depth=3)], ids=["imputer", "tree"]
)
def test_models_that_take_missing_values_get_them(scores_of, model):
    spoiled = X.copy()
    spoiled[::7, 4] = np.nan
    assert np.all(scores_of(k_fold(3), spoiled, model) > 0.8)


def test_an_experiment_names_a_bad_row_by_its_place_in_the_whole():
    spoiled = X.copy()
    train, sealed = next(holdout(0.2).split(X, y))
    spoiled[train[90], 2] = np.nan
    assert train[90] > 90
    with pytest.raises(DataError, match=f"row {train[90]}, column 2 is nan"):
        Experiment(spoiled, y).compare({"line": LinearSVC()})
    spoiled = X.copy()
    spoiled[sealed[3], 2] = np.nan
    experiment = Experiment(spoiled, y).compare({"line": LinearSVC()})
    with pytest.raises(DataError, match=f"row {sealed[3]}, column 2 is nan"):
        experiment.reveal()
    assert experiment.looks == 0
