"""Bad input gets an error of ours that names the offender, and that is also what scikit-learn's users catch."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SVC, SVR, LinearSVC, LinearSVR
from maxmargin.errors import DataError, MaxMarginError, ParameterError

X = np.random.default_rng(0).normal(size=(20, 3))
y = np.array([0, 1] * 10)
CLASSIFIERS = [SVC, LinearSVC]
ALL = [SVC, LinearSVC, SVR, LinearSVR]


def _with(value):
    changed = X.copy()
    changed[3, 1] = value
    return changed


BAD_ROWS = {
    "NaN": (_with(np.nan), "NaN"),
    "infinity": (_with(np.inf), "infinity"),
    "no rows": (np.empty((0, 3)), "0 sample"),
    "no columns": (np.empty((20, 0)), "0 feature"),
    "one dimension": (X[:, 0], "2D array"),
    "three dimensions": (X[:, :, None], "dim"),
    "complex": (X.astype(complex), "Complex data"),
    "words": (np.array([["a", "b", "c"]] * 20), "could not convert|string"),
    "objects": (np.array([[{}, 1, 2]] * 20, dtype=object), "float|number"),
    "sparse NaN": (sparse.csr_matrix(_with(np.nan)), "NaN"),
    "None": (None, "NoneType|None|array"),
}


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("bad, words", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_bad_rows_are_refused(estimator, bad, words):
    with pytest.raises(DataError, match=words) as refused:
        estimator().fit(bad, y)
    assert isinstance(refused.value, (ValueError, TypeError))


BAD_TARGETS = {
    "wrong length": (y[:10], "20.*10|inconsistent"),
    "one class": (np.zeros(20), "one class"),
    "numbers for classes": (np.linspace(0, 1, 20), "continuous|label type"),
    "NaN": (np.where(y == 1, np.nan, 0.0), "NaN|label type"),
    "matrix": (np.stack([y, y], axis=1), "shape|1d|multi"),
    "None": (None, "None"),
}


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("bad, words", BAD_TARGETS.values(), ids=BAD_TARGETS.keys())
def test_bad_labels_are_refused(estimator, bad, words):
    with pytest.raises(DataError, match=words):
        estimator().fit(X, bad)


@pytest.mark.parametrize("estimator", [SVR, LinearSVR])
@pytest.mark.parametrize("bad", [y[:10], np.full(20, np.nan), np.array(["a"] * 20), y + 1j, None], ids=str)
def test_bad_numbers_are_refused(estimator, bad):
    with pytest.raises(DataError):
        estimator().fit(X, bad)


BAD_WEIGHTS = {
    "negative": (-np.ones(20), "zero or positive"),
    "NaN": (np.full(20, np.nan), "zero or positive"),
    "wrong length": (np.ones(3), "20 rows"),
    "all zero": (np.zeros(20), "every sample_weight is zero"),
}


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("bad, words", BAD_WEIGHTS.values(), ids=BAD_WEIGHTS.keys())
def test_bad_weights_are_refused(estimator, bad, words):
    with pytest.raises(DataError, match=words):
        estimator().fit(X, y, sample_weight=bad)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_weights_that_leave_one_class_are_refused(estimator):
    with pytest.raises(DataError, match="at least two classes need rows with positive weights"):
        estimator().fit(X, y, sample_weight=y.astype(float))
    with pytest.raises(DataError, match="positive weights"):
        estimator(class_weight={0: 0.0}).fit(X, y)


BAD_PARAMETERS = [
    (SVC, {"C": 0}, "C must be positive, got C=0"),
    (SVC, {"C": -1.0}, "try C=1"),
    (SVC, {"C": "big"}, "C must be positive"),
    (SVC, {"C": np.nan}, "C must be positive"),
    (SVC, {"kernel": "rfb"}, "Did you mean 'rbf'"),
    (SVC, {"kernel": 3}, "kernel"),
    (SVC, {"solver": "qpp"}, "Did you mean 'qp'"),
    (SVC, {"solver": "simplex"}, "Known: 'auto', 'blocks', 'osuna', 'qp', 'smo', 'smo-simple'"),
    (SVC, {"gamma": "wide"}, "'scale', 'auto' or a number"),
    (SVC, {"gamma": -1.0}, "not negative"),
    (SVC, {"degree": -1, "kernel": "poly"}, "degree"),
    (SVC, {"tol": 0.0}, "tol must be a positive number"),
    (SVC, {"intercept": "freee"}, "'free'"),
    (SVC, {"class_weight": "balance"}, '"balanced"'),
    (SVC, {"class_weight": {7: 1.0}}, "names the label 7"),
    (SVC, {"class_weight": {0: -1.0}}, r"class_weight\[0\]"),
    (SVC, {"max_iter": 0}, "max_iter"),
    (SVC, {"max_seconds": -1}, "max_seconds"),
    (SVC, {"n_jobs": 0}, "n_jobs"),
    (SVC, {"memory": "lots"}, "500MB"),
    (SVC, {"decision_function_shape": "ovx"}, "Did you mean 'ov"),
    (LinearSVC, {"loss": "hing"}, "Did you mean 'hinge'"),
    (LinearSVC, {"penalty": "l7"}, "penalty"),
    (LinearSVC, {"multi_class": "all"}, "multi_class"),
    (LinearSVC, {"fit_intercept": "yes"}, "True or False"),
    (LinearSVC, {"stream": "cached"}, "stream"),
    (SVR, {"epsilon": -0.1}, "epsilon must be"),
    (SVR, {"C": np.inf}, "must be finite"),
    (LinearSVR, {"loss": "squared"}, "Known"),
    (LinearSVR, {"intercept_scaling": 0.0, "intercept": "augmented"}, "intercept_scaling"),
]


@pytest.mark.parametrize("estimator, parameters, words", BAD_PARAMETERS, ids=lambda value: str(value))
def test_bad_parameters_are_refused_with_what_is_allowed(estimator, parameters, words):
    with pytest.raises(ParameterError, match=words) as refused:
        estimator(**parameters).fit(X, y)
    assert isinstance(refused.value, MaxMarginError)
    assert isinstance(refused.value, ValueError)


def test_prediction_on_other_columns_is_refused():
    for estimator in ALL:
        with pytest.raises(DataError, match="2 features"):
            estimator().fit(X, y).predict(X[:, :2])


def test_a_kernel_matrix_must_be_square_and_predictions_must_fit_it():
    with pytest.raises(DataError, match="square matrix"):
        SVC(kernel="precomputed").fit(X, y)
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(DataError, match="20 training rows"):
        model.predict(X)


def test_margins_of_labels_nobody_trained_on_are_refused():
    model = LinearSVC().fit(X, y)
    with pytest.raises(DataError, match="label 5"):
        model.margins(X, np.full(20, 5))
    with pytest.raises(DataError, match="two classes"):
        LinearSVC().fit(X, np.arange(20) % 3).margins(X, y)


@pytest.mark.parametrize("stream", [None, "block", "selective-block", "cached-loops"])
def test_rows_whose_squares_are_too_large_are_refused(stream):
    X = 1e200 * np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    model = LinearSVC().fit(X / 1e200, y)
    before = dict(vars(model))
    with pytest.raises(DataError, match=r"squares are not finite\. Divide the columns by their size"):
        model.set_params(stream=stream).fit(X, y)
    assert {name for name in vars(model) if name.endswith("_")} == {name for name in before if name.endswith("_")}
    assert np.array_equal(model.coef_, before["coef_"])
