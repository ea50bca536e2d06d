"""Scikit-learn's own tests of naive Bayes, run with the classes of this library in place of theirs.

Their module is loaded once more under another name, while `sklearn.naive_bayes` is a copy that holds our classes. Every
test function it has is a test here, but for those about what this library has not (`LEFT_OUT`).

`EXCEPTIONS` lists those that do not hold for us, each with the reason. They are run all the same and must fail, so that
the list cannot outlive its reasons.
"""

from pathlib import Path

import numpy as np
import pytest
import sklearn
import sklearn.naive_bayes
from sklearn.datasets import load_iris

import maxmargin
from tests.drop_in.their_tests import copy_of, loaded, mark_exceptions, unused_exceptions

EXCEPTIONS = {
    "test_gnb_check_update_with_no_data": "calls the private _update_mean_variance",
    "test_gnb_partial_fit[[]float32[]]": "means and variances are kept in double precision",
}

LEFT_OUT = {
    "test_cnb": "there is no ComplementNB here",
    "test_gnb_array_api_compliance": "arrays of other packages, behind a switch that is set before the first import",
}

# Scikit-learn's settings do not take this warning for an error; ours do.
ALPHA_WARNING = pytest.mark.filterwarnings("ignore:alpha too small:UserWarning")

_NAMES = ("BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB")
_OURS = {name: getattr(maxmargin, name) for name in _NAMES}
_PATH = Path(sklearn.__file__).parent / "tests" / "test_naive_bayes.py"


_theirs = loaded(_PATH, copy_of(sklearn.naive_bayes, **_OURS))
for _name, _test in vars(_theirs).items():
    if _name.startswith("test_") and callable(_test) and _name not in LEFT_OUT:
        globals()[_name] = _test
test_alpha_vector = ALPHA_WARNING(_theirs.test_alpha_vector)


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def global_dtype(request):
    return request.param


@pytest.fixture(autouse=True)
def _exceptions(request):
    name = request.node.name
    if "ComplementNB" in name:
        pytest.skip("there is no ComplementNB here")
    mark_exceptions(request, EXCEPTIONS)


def test_every_exception_is_about_a_test_that_exists(request):
    assert unused_exceptions(request, EXCEPTIONS, 60) == []
    assert all(hasattr(_theirs, name) for name in LEFT_OUT)


def test_their_tests_see_our_classes():
    for name, ours in _OURS.items():
        assert getattr(_theirs, name) is ours
    assert _theirs.ComplementNB is sklearn.naive_bayes.ComplementNB


@pytest.mark.parametrize("name", _NAMES)
def test_every_parameter_of_theirs_is_ours_with_the_same_default(name):
    theirs, ours = getattr(sklearn.naive_bayes, name)().get_params(), _OURS[name]().get_params()
    assert theirs.items() <= ours.items()
    assert ours.keys() - theirs.keys() <= {"n_jobs"}


@pytest.mark.parametrize("name", _NAMES)
def test_every_fitted_attribute_has_the_kind_and_the_shape_of_theirs(name):
    X, y = load_iris(return_X_y=True)
    X = np.rint(X)
    theirs, ours = getattr(sklearn.naive_bayes, name)().fit(X, y), _OURS[name]().fit(X, y)
    for word, expected in vars(theirs).items():
        if not word.endswith("_"):
            continue
        found = getattr(ours, word)
        parts = zip(expected, found, strict=True) if isinstance(expected, list) else [(expected, found)]
        for one, other in parts:
            assert np.shape(one) == np.shape(other), word
            assert np.asarray(one).dtype == np.asarray(other).dtype, word
