"""Scikit-learn's own tests of coordinate descent, run with the classes of this library in place of theirs.

Their module is loaded once more under another name, while `sklearn.linear_model` is a copy that holds our `Lasso`,
`ElasticNet`, `LassoCV` and `lasso_path`. Every test of theirs that has to do with one of these is a test here, under
its own name; those of several targets at once, of `enet_path` and of `ElasticNetCV`, which are not here, are left out.

`EXCEPTIONS` lists those that do not hold for us, each with the reason. They are run all the same and must fail, so
that the list cannot outlive its reasons.
"""

import inspect
import re
from pathlib import Path

import pytest
import sklearn.linear_model

import maxmargin
from tests.drop_in.their_tests import copy_of, loaded, mark_exceptions, unused_exceptions

EXCEPTIONS = {
    # the insides of theirs
    "test_lassoCV_does_not_set_precompute*": "replaces the private class that theirs trains in the end",
    "test_enet_copy_X_False_check_input_False": "X is never changed here",
    "test_elasticnet_precompute_incorrect_gram": "products that are given are not used, so that they cannot be wrong",
    "test_overridden_gram_matrix": "products that are given are not used, so that nobody need be warned",
    "test_warm_start_convergence[[]*": "n_iter_ counts passes over the data; a fit needs some to know that it is done",
    "test_warm_start_convergence_with_regularizer_decrement": "all of these fits need the same few passes",
    "test_enet_coordinate_descent_raises_convergence*": "the words of the warning are about their gap",
    "test_path_function_deprecated_n_alphas*": "a deprecation of theirs: n_alphas and alphas=None stay here",
    # answers that are better than theirs
    "test_lasso_dual_gap": "the gap is a few roundings here, which two formulas round differently",
    "test_1d_multioutput_lasso_and_multitask_lasso_cv": "seven digits of an answer that theirs has to four",
    # other words for what is refused
    "test_enet_nonfinite_params": "numbers whose squares overflow are refused before the fit, not after it",
    "test_lassocv_alphas_validation[[]alphas[012]-*": "refused with other words, and as a ValueError",
    "test_path_unknown_parameter*": "an unknown parameter is a TypeError, as of any function",
    "test_cv_estimators_reject_params_with_no_routing_enabled*": "an unknown parameter is a TypeError",
    "test_sparse_input_convergence_warning*": "tol=0 is refused",
    # not there
    "test_lasso_alpha_warning": "alpha=0 is refused, with advice",
    "test_enet_ols_consistency*": "alpha=0 is refused, with advice",
    "test_enet_multitarget": "one target at a time",
    "test_check_input_false": "one target at a time (y there is X)",
    "test_sparse_dense_descent_paths[[]*-2-lasso_path[]]": "one target at a time",
    "test_enet_float_precision": "weights are in double precision for float32 rows, too",
}

NAMES = ("Lasso", "ElasticNet", "LassoCV", "lasso_path")

_FILE = Path(sklearn.linear_model.__file__).parent / "tests" / "test_coordinate_descent.py"

# Some of their tests stop a fit early on purpose, and do not look for a warning of ours.
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.errors.NotConvergedWarning")


_module = loaded(
    _FILE,
    copy_of(sklearn.linear_model, **{name: getattr(maxmargin, name) for name in NAMES}),
)
_source = _FILE.read_text(encoding="utf-8")
_texts = {
    match["name"]: match[0]
    for match in re.finditer(r"^(@pytest.*?)?^def (?P<name>test_\w+)\(.*?(?=^@|^def |\Z)", _source, re.M | re.S)
}
_about_ours = re.compile(rf"\b({'|'.join(NAMES)})\b")
_theirs = re.compile(r"MultiTask|ElasticNetCV|enet_path")
for _name, _test in vars(_module).items():
    if _name.startswith("test_") and inspect.isfunction(_test) and _about_ours.search(_texts[_name]):
        globals()[_name] = _test


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def _exceptions(request):
    if _theirs.search(request.node.name.partition("[")[2]):
        pytest.skip("a class of theirs in a test that is also about ours")
    mark_exceptions(request, EXCEPTIONS)


def test_every_exception_is_about_a_test_that_exists(request):
    assert unused_exceptions(request, EXCEPTIONS, 80) == []


def test_their_tests_see_our_classes():
    for name in NAMES:
        assert getattr(_module, name) is getattr(maxmargin, name)
