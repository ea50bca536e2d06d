"""Scikit-learn's own tests of its support vector machines, run with the classes of this library in place of theirs.

Their modules are loaded once more under other names, while `sklearn.svm` is a copy that holds our classes. Every test
function they have is a test here: `test_svm_x` is `test_x` of their `test_svm.py`, `test_sparse_x` of `test_sparse.py`.

`EXCEPTIONS` lists those that do not hold for us, each with the reason. They are run all the same and must fail, so
that the list cannot outlive its reasons.
"""

import types
from pathlib import Path

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris

import maxmargin
from maxmargin.errors import DataError, ParameterError
from tests.drop_in.their_tests import UNKNOWN_MARK, copy_of, loaded, mark_exceptions, unused_exceptions

EXCEPTIONS = {
    # LIBSVM's and LIBLINEAR's insides
    "test_svm_tweak_params": "sets the private _dual_coef_, LIBSVM's copy of dual_coef_",
    "test_svm_svc_raises_error_internal_representation": "sets the private _n_support, which guards LIBSVM's memory",
    "test_svm_libsvm_convergence_warnings": "counts LIBSVM's pair steps: two of ours solve the problem",
    "test_svm_linear_svm_convergence_warnings": "two passes are enough here, and the words are about LIBLINEAR",
    "test_sparse_timeout*": "counts LIBSVM's pair steps: the first of ours solves the problem",
    # deprecations of theirs
    "test_svm_probability_raises_futurewarning*": "probability stays here",
    "test_svm_svc_nusvc_probA_probB_deprecated*": "probability stays here",
    # more is allowed here
    "test_svm_bad_input*": "a machine trained on dense rows takes sparse ones, too",
    "test_svm_sparse_precomputed*": "a precomputed kernel may be sparse",
    "test_svm_linearsvc_parameters[[]*-l1-hinge[]]": "the hinge with the L1 penalty is solved here",
    "test_svm_linearsvc_parameters[[]True-l1-squared_hinge[]]": "dual is ignored: the solver decides",
    "test_svm_linearsvc_parameters[[]False-l2-hinge[]]": "dual is ignored: the solver decides",
    # less is allowed here, because a mistake would pass unseen
    "test_svm_svr_errors": "a function that is no kernel is refused by fit already",
    "test_svm_negative_weights_svc_leave_two_labels[[]partial-mask-label-1-*": "a negative weight is refused",
    "test_svm_negative_weight_equal_coeffs[[]partial-mask-label-1-*": "a negative weight is refused",
    "test_svm_custom_kernel_not_array_input*": "the function of the test knows square matrices only; see its K[jj, ii]",
    "test_svm_svm_with_infinite_C[[]*-SVR-make_regression[]]": "there is no hard tube; C must be finite",
    "test_sparse_sparse_oneclasssvm[[]*-sigmoid-X_train[02]-*": "rho <= 0: nothing is separated from the origin",
    "test_sparse_sparse_oneclasssvm[[]*-poly-X_train0-*": "rho <= 0: nothing is separated from the origin",
    "test_sparse_sparse_oneclasssvm[[]*-linear-X_train[02]-*": "rho <= 0: nothing is separated from the origin",
    "test_svm_n_iter_libsvm[[][23]-OneClassSVM-int[]]": "rho <= 0: nothing is separated from the origin",
    "test_svm_n_iter_libsvm[[]4-NuSVC-ndarray[]]": "rho <= 0: nu is so small that nothing is left to separate",
    # other models
    "test_svm_dense_liblinear_intercept_handling": "the intercept is free here, not penalised",
    "test_sparse_sparse_liblinear_intercept_handling": "the intercept is free here, not penalised",
}

_FOLDER = Path(sklearn.svm.__file__).parent / "tests"
_CLASSES = ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")

# Some of their tests stop a fit early on purpose, and do not look for a warning of ours.
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.errors.NotConvergedWarning")


_ours = {name: getattr(maxmargin, name) for name in _CLASSES if hasattr(maxmargin, name)}
_svm = copy_of(sklearn.svm, **_ours)
_dense = loaded(_FOLDER / "test_svm.py", _svm, edits=UNKNOWN_MARK)
_folder = types.ModuleType("sklearn.svm.tests")
_folder.test_svm = _dense
_sparse = loaded(
    _FOLDER / "test_sparse.py",
    _svm,
    _folder,
    edits={**UNKNOWN_MARK, "zip(LIL_CONTAINERS, DOK_CONTAINERS)": "[*zip(LIL_CONTAINERS, DOK_CONTAINERS)]"},
)
for _prefix, _tests in (("test_svm_", _dense), ("test_sparse_", _sparse)):
    for _name, _test in vars(_tests).items():
        if _name.startswith("test_") and callable(_test):
            globals()[_prefix + _name.removeprefix("test_")] = _test


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def _exceptions(request):
    mark_exceptions(request, EXCEPTIONS)


def test_every_exception_is_about_a_test_that_exists(request):
    assert unused_exceptions(request, EXCEPTIONS, 250) == []


def test_their_tests_see_our_classes():
    for name, ours in _ours.items():
        assert getattr(_dense.svm, name) is getattr(_sparse.svm, name) is ours
    assert _dense.SVR is maxmargin.SVR
    assert _dense.LinearSVC is maxmargin.LinearSVC


ROWS = {
    "dense": ("linear", lambda X: X),
    "sparse matrix": ("linear", sparse.csr_matrix),
    "sparse array": ("rbf", sparse.csr_array),
    "precomputed": ("precomputed", lambda X: X @ X.T),
}
TARGETS = {
    "two classes": ("SVC", lambda y: y > 0),
    "three classes": ("SVC", lambda y: y),
    "numbers": ("SVR", lambda y: y),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.filterwarnings("ignore::FutureWarning")  # probA_ and probB_ are deprecated there
def test_every_fitted_attribute_has_the_kind_and_the_shape_of_theirs(rows, target):
    (kernel, make_rows), (name, make_target) = ROWS[rows], TARGETS[target]
    X, y = load_iris(return_X_y=True)
    X, y = make_rows(X), make_target(y)
    theirs = getattr(sklearn.svm, name)(kernel=kernel).fit(X, y)
    ours = getattr(maxmargin, name)(kernel=kernel).fit(X, y)
    attributes = {word for word in (*dir(type(theirs)), *vars(theirs)) if word.endswith("_") and word[0] != "_"}
    assert len(attributes) >= 10
    for word in sorted(attributes):
        if not hasattr(theirs, word):
            assert not hasattr(ours, word)
            continue
        expected, found = getattr(theirs, word), getattr(ours, word)
        if sparse.issparse(expected):
            assert sparse.issparse(found), word
        else:
            assert type(found) is type(expected), word
        if hasattr(expected, "shape"):
            assert found.dtype == expected.dtype, word
            assert found.shape == expected.shape or word in {"support_", "support_vectors_", "dual_coef_"}, word
        elif word != "n_iter_":
            assert found == expected, word


@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_every_parameter_of_theirs_is_ours_with_the_same_default(name):
    theirs, ours = getattr(sklearn.svm, name)().get_params(), getattr(maxmargin, name)().get_params()
    different = {word for word, value in theirs.items() if word not in ours or ours[word] != value}
    assert different <= {"cache_size", "probability"}
    assert ours["cache_size"] is None
    assert ours.get("probability", False) is False


def test_cache_size_is_memory_in_megabytes():
    X, y = load_iris(return_X_y=True)
    for memory, cache_size in [("200MB", 200), (None, 0.5), (None, None), (10**6, 1.0)]:
        maxmargin.SVC(memory=memory, cache_size=cache_size).fit(X, y)
    assert maxmargin.SVC(cache_size=200)._memory() == maxmargin.SVC(memory="200MB")._memory() == 200_000_000
    for memory, cache_size, words in [("1GB", 200, "two budgets"), (None, 0, "cache_size must be a positive number")]:
        with pytest.raises(ParameterError, match=words):
            maxmargin.SVR(memory=memory, cache_size=cache_size).fit(X, y)


def test_rows_of_a_data_frame_give_the_model_of_their_values():
    pandas = pytest.importorskip("pandas", reason="tables are optional: pandas is not installed")
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = maxmargin.SVC().fit(X, y)
    assert_array_equal(model.feature_names_in_, X.columns)
    assert_array_equal(model.predict(X), maxmargin.SVC().fit(X.to_numpy(), y.to_numpy()).predict(X.to_numpy()))
    with pytest.raises(DataError, match="feature names"):
        model.predict(pandas.DataFrame(X.to_numpy(), columns=list("abcd")))


def test_a_sparse_precomputed_kernel_gives_the_model_of_the_dense_one():
    X, y = load_iris(return_X_y=True)
    same_length = (np.rint(X[:, [2]]) == np.arange(8)).astype(float)  # rows of another length have nothing in common
    K = same_length @ same_length.T + np.eye(len(y))
    assert np.mean(K == 0.0) > 0.5
    dense = maxmargin.SVC(kernel="precomputed").fit(K, y)
    thin = maxmargin.SVC(kernel="precomputed").fit(sparse.csr_array(K), y)
    assert_allclose(thin.decision_function(sparse.csr_array(K)), dense.decision_function(K), atol=1e-9)
    thin.certificate_.verify(sparse.csr_array(K), y)
