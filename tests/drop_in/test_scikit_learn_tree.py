"""Scikit-learn's own tests of its decision trees, run with the classes of this library in place of theirs.

Their module is loaded once more under another name, while `sklearn.tree` is a copy that holds our classes. Every test
function it has is a test here; those about other classes of theirs are left out by their parameters.

`EXCEPTIONS` lists those that do not hold for us, each with the reason. They are run all the same and must fail, so
that the list cannot outlive its reasons.
"""

from pathlib import Path

import pytest
import sklearn.tree

import maxmargin
from tests.drop_in.their_tests import copy_of, loaded, mark_exceptions, unused_exceptions

_ONE_TARGET = "a tree is trained on one target"
_CRITERION = "a criterion that is not there; it is refused with the reason"
_INSIDES = "is about the insides of their compiled tree"

EXCEPTIONS = {
    # one target
    "test_min_weight_fraction_leaf*_on_sparse_input*": _ONE_TARGET,
    "test_multioutput*": _ONE_TARGET,
    "test_classes_shape": _ONE_TARGET,
    "test_class_weights*": _ONE_TARGET,
    "test_class_weight_errors*": _ONE_TARGET,
    "test_sparse_input[[]multilabel-*": _ONE_TARGET,
    "test_prune_tree_*_are_subtrees[[]DecisionTree*-multilabel[]]": _ONE_TARGET,
    # criteria
    "test_diabetes_underfit[[]absolute_error-*": _CRITERION,
    "test_diabetes_underfit[[]friedman_mse-*": _CRITERION,
    "test_diabetes_underfit[[]poisson-*": _CRITERION,
    "test_balance_property[[]*-friedman_mse[]]": _CRITERION,
    "test_balance_property[[]*-poisson[]]": _CRITERION,
    "test_mae": _CRITERION,
    "test_poisson_*": _CRITERION,
    "test_missing_values_poisson*": _CRITERION,
    "test_absolute_error_accurately_predicts_weighted_median": _CRITERION,
    "test_friedman_mse_deprecation": _CRITERION,
    "test_error": _CRITERION,
    # insides
    "test_pickle": _INSIDES,
    "test_build_pruned_tree_py": _INSIDES,
    "test_build_pruned_tree_infinite_loop": _INSIDES,
    "test_huge_allocations": _INSIDES,
    # more is allowed here
    "test_almost_constant_feature*": "values that differ are different, however little",
    "test_big_input": "numbers beyond single precision are numbers",
    "test_missing_value_errors[[]tree0-csr_*": "a sparse matrix may hold missing values",
    # other words
    "test_sample_weight_invalid": "a weight of nothing but zero is refused, in words of ours",
    "test_min_sample_split_1_error*": "it is refused, in words of ours",
}

# Tables of theirs, cut down to what is ours; iterators that only their configuration allows.
EDITS = {
    '    "ExtraTreeClassifier": ExtraTreeClassifier,\n': "",
    '    "ExtraTreeRegressor": ExtraTreeRegressor,\n': "",
    '    "ExtraTreeClassifier",\n    "ExtraTreeRegressor",\n': "",
    '("squared_error", "absolute_error", "friedman_mse", "poisson")': '("squared_error",)',
    "zip(CSC_CONTAINERS, CSR_CONTAINERS)": "[*zip(CSC_CONTAINERS, CSR_CONTAINERS)]",
    "zip(CLF_TREES.values(), [0.85, 0.53])": "[*zip(CLF_TREES.values(), [0.85, 0.53])]",
    "chain(DENSE_SPLITTERS.values(), SPARSE_SPLITTERS.values())": "[]",
}

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")  # of their own data

_PATH = Path(sklearn.tree.__file__).parent / "tests" / "test_tree.py"
_CLASSES = ("DecisionTreeClassifier", "DecisionTreeRegressor")


_OURS = {name: getattr(maxmargin, name) for name in _CLASSES}
_theirs = loaded(_PATH, copy_of(sklearn.tree, **_OURS), edits=EDITS)
for _name, _test in vars(_theirs).items():
    if _name.startswith("test_") and callable(_test):
        globals()[_name] = _test


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def _exceptions(request):
    mark_exceptions(request, EXCEPTIONS)


def test_every_exception_is_about_a_test_that_exists(request):
    assert unused_exceptions(request, EXCEPTIONS, 250) == []


def test_their_tests_see_our_classes():
    for name in _CLASSES:
        assert getattr(_theirs, name) is getattr(maxmargin, name)
