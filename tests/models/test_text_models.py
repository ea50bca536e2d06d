"""Model files of LIBSVM and LIBLINEAR: what they predict there they predict here, and what is written can be read.

The files under data_models, and what they predict, were made by the two libraries.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from maxmargin.errors import DataError, ModelFileError, ParameterError
from maxmargin.kernels import EditDistance, Gaussian, Laplacian, Polynomial
from maxmargin.models import read_liblinear, read_libsvm, write_liblinear, write_libsvm

MODELS = Path(__file__).parent / "data_models"
ROWS = np.load(MODELS / "rows.npz")
WORDS, SIDES = ROWS["words_X"], ROWS["words_y"]
ONE_CLASS = "liblinear_houses_21.model"
FILES = sorted(path.name for path in MODELS.glob("*.model"))
KINDS = {
    "libsvm_iris_rbf.model": SVC,
    "libsvm_iris_nu_sigmoid.model": NuSVC,
    "libsvm_houses_one_class.model": OneClassSVM,
    "libsvm_houses_epsilon.model": SVR,
    "libsvm_houses_nu.model": NuSVR,
    "liblinear_iris_0.model": LogisticRegression,
    "liblinear_iris_4.model": LinearSVC,
    "liblinear_houses_13.model": LinearSVR,
    ONE_CLASS: OneClassSVM,
}
# Of two classes LIBLINEAR has twice the machine of Crammer and Singer; the difference of the two decides.
FACTOR = {"liblinear_words_4.model": 2.0}


def format_of(name):
    return name.partition("_")[0]


def expected(name, what):
    return np.load(MODELS / f"{format_of(name)}.npz").get(f"{name}:{what}")


def rows_of(name):
    data = "words_kernel" if "precomputed" in name else name.split("_")[1]
    return ROWS[f"{data}_X"], ROWS[f"{data}_y"]


def scores(model, X):
    """Scores as the other libraries have them: one a pair of classes, one a class, or the predictions."""
    if not hasattr(model, "decision_function"):
        return model.predict(X)[:, None]
    if hasattr(model, "decision_function_shape"):
        model.decision_function_shape = "ovo"
    f = model.decision_function(X)
    return f[:, None] if f.ndim == 1 else f


def rewritten(name, path):
    read, write = (read_libsvm, write_libsvm) if format_of(name) == "libsvm" else (read_liblinear, write_liblinear)
    record = read(MODELS / name)
    write(record, path)
    return record, read(path)


def same(left, right):
    if sparse.issparse(left):
        return left.shape == right.shape and (left != right).nnz == 0
    return np.array_equal(left, right)


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array])
def test_a_file_predicts_here_what_it_predicts_in_its_own_library(name, layout):
    X, _ = rows_of(name)
    model = maxmargin.load(MODELS / name)
    found = scores(model, layout(X))
    theirs = FACTOR.get(name, 1.0) * expected(name, "scores")
    assert_allclose(found, theirs, rtol=1e-12, atol=1e-12 * np.max(np.abs(theirs)))
    if hasattr(model, "classes_") or isinstance(model, OneClassSVM):
        assert_array_equal(model.predict(layout(X)), expected(name, "labels"))


@pytest.mark.parametrize("name", [name for name in FILES if expected(name, "probabilities") is not None])
def test_probabilities_are_those_of_the_file(name):
    X, _ = rows_of(name)
    model = maxmargin.load(MODELS / name)
    p = model.predict_proba(X)
    theirs = expected(name, "probabilities")
    theirs = theirs[:, ::-1] if theirs.shape[1] == 2 else theirs  # the positive class comes first there, second here
    # LIBSVM couples the pairs of several classes by an iteration that it ends at 0.005 / number of classes.
    coupled = format_of(name) == "libsvm" and theirs.shape[1] > 2
    assert_allclose(p, theirs, rtol=0, atol=5e-3 / 3 if coupled else 1e-12)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(model.predict_log_proba(X), np.log(p), rtol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_a_file_becomes_the_estimator_of_its_type(name):
    model = maxmargin.load(MODELS / name)
    assert type(model) is KINDS[name]
    assert model.certificate_ is None


@pytest.mark.parametrize("name", [name for name in FILES if "houses" not in name])
def test_several_classes_keep_their_order_and_of_two_the_first_is_positive(name):
    labels = next(line for line in (MODELS / name).read_text().splitlines() if line.startswith("label")).split()[1:]
    found = maxmargin.load(MODELS / name).classes_.tolist()
    assert found == [int(label) for label in (labels if len(labels) > 2 else reversed(labels))]


def test_ties_go_to_the_class_that_libsvm_gives_them(tmp_path):
    """Votes in a circle: the first label of the file. A score of zero: the second of its pair."""
    record = {
        "svm_type": "c_svc",
        "kernel_type": "linear",
        "nr_class": 3,
        "total_sv": 3,
        "rho": np.array([-1.0, 1.0, -1.0]),
        "label": np.array([9, 4, 6]),
        "nr_sv": np.array([1, 1, 1]),
        "sv_coef": np.zeros((2, 3)),
        "SV": sparse.csr_matrix(np.eye(3)),
    }
    write_libsvm(record, tmp_path / "circle.model")
    assert maxmargin.load(tmp_path / "circle.model").predict(np.zeros((1, 3))) == [9]
    write_libsvm({**record, "rho": np.zeros(3)}, tmp_path / "zero.model")
    assert maxmargin.load(tmp_path / "zero.model").predict(np.zeros((1, 3))) == [6]
    two = {"nr_class": 2, "rho": np.zeros(1), "label": np.array([3, 5]), "nr_sv": np.array([1, 2])}
    write_libsvm({**record, **two, "sv_coef": np.zeros((1, 3))}, tmp_path / "two.model")
    assert maxmargin.load(tmp_path / "two.model").predict(np.zeros((1, 3))) == [5]


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("libsvm_iris_rbf.model", "fit_status_"),
        ("libsvm_iris_nu_sigmoid.model", "rho_"),
        ("libsvm_houses_nu.model", "epsilon_"),
    ],
)
def test_what_only_a_certificate_knows_is_not_there(name, attribute):
    with pytest.raises(AttributeError, match="came from a file without a certificate"):
        getattr(maxmargin.load(MODELS / name), attribute)


def test_the_layout_of_the_coefficients_is_that_of_scikit_learn():
    """dual_coef_ of a pair gives its score by the formula that scikit-learn documents."""
    X, _ = rows_of("libsvm_iris_rbf.model")
    model = maxmargin.load(MODELS / "libsvm_iris_rbf.model")
    K = Gaussian(model.gamma)(X, model.support_vectors_)
    ends = np.cumsum(model.n_support_)
    of = [slice(end - count, end) for end, count in zip(ends, model.n_support_, strict=True)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    f = [K[:, of[i]] @ model.dual_coef_[j - 1, of[i]] + K[:, of[j]] @ model.dual_coef_[i, of[j]] for i, j in pairs]
    assert_allclose(np.array(f).T + model.intercept_, expected("libsvm_iris_rbf.model", "scores"), atol=1e-12)


def test_a_precomputed_kernel_takes_the_columns_of_all_rows_or_of_the_support_alone():
    name = "libsvm_words_precomputed.model"
    K, _ = rows_of(name)
    model = maxmargin.load(MODELS / name)
    assert len(model.support_) < len(K)
    assert_allclose(model.decision_function(K[:, model.support_]), model.decision_function(K), rtol=1e-12)
    with pytest.raises(DataError, match="support rows alone; got 3 columns"):
        model.decision_function(K[:, :3])


def test_features_that_no_support_vector_has_may_be_declared():
    X, _ = rows_of("libsvm_words_linear.model")
    wider = np.hstack([X, np.ones((len(X), 5))])
    plain = maxmargin.load(MODELS / "libsvm_words_linear.model")
    model = maxmargin.load(MODELS / "libsvm_words_linear.model", n_features=35)
    assert_allclose(model.decision_function(wider), plain.decision_function(X), rtol=1e-12)
    assert model.coef_.shape == (1, 35)
    with pytest.raises(DataError, match="35 features"):
        plain.predict(wider)
    linear = maxmargin.load(MODELS / "liblinear_words_3.model", n_features=35)
    narrow = maxmargin.load(MODELS / "liblinear_words_3.model")
    assert_allclose(linear.decision_function(wider), narrow.decision_function(X), rtol=1e-12)
    for name in ("libsvm_words_linear.model", "liblinear_words_3.model"):
        with pytest.raises(ParameterError, match="n_features=3 is less than 30"):
            maxmargin.load(MODELS / name, n_features=3)


def test_margins_of_a_machine_from_a_file_are_y_times_its_scores():
    X, y = rows_of("liblinear_words_3.model")
    for name in ("liblinear_words_3.model", "libsvm_words_linear.model", "liblinear_words_4.model"):
        model = maxmargin.load(MODELS / name)
        signs = np.where(y == model.classes_[1], 1.0, -1.0)
        assert_allclose(model.margins(X, y).functional, signs * model.decision_function(X), rtol=1e-12)


def test_fitting_a_model_from_a_file_again_gives_a_certificate_and_our_probabilities():
    X, y = rows_of("libsvm_iris_rbf.model")
    model = maxmargin.load(MODELS / "libsvm_iris_rbf.model").fit(X, y)
    assert model.certificate_.verify(X, y)
    assert model.classes_.tolist() == [4, 6, 9]
    assert_array_equal(model.probB_, 0.0)
    logistic = maxmargin.load(MODELS / "liblinear_iris_0.model").fit(X, y)
    fresh = LogisticRegression(intercept="augmented").fit(X, y)
    assert_allclose(logistic.predict_proba(X), fresh.predict_proba(X), atol=1e-6)


def test_the_weights_of_liblinear_s_one_class_are_its_one_support_vector(tmp_path):
    record = read_liblinear(MODELS / ONE_CLASS)
    model = maxmargin.load(MODELS / ONE_CLASS)
    assert_array_equal(model.coef_, record["w"].T)
    assert_array_equal(model.offset_, record["rho"])
    record |= {"bias": 0.5, "w": np.vstack([record["w"], [[3.0]]])}  # a constant feature moves the threshold
    write_liblinear(record, tmp_path / "biased.model")
    assert_array_equal(maxmargin.load(tmp_path / "biased.model").offset_, record["rho"] - 1.5)
    X, _ = rows_of(ONE_CLASS)
    wider = maxmargin.load(MODELS / ONE_CLASS, n_features=X.shape[1] + 2)
    assert_allclose(wider.decision_function(np.pad(X, ((0, 0), (0, 2)))), model.decision_function(X), rtol=1e-12)


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize("name", FILES)
def test_a_record_read_written_and_read_again_is_the_same(name, tmp_path):
    before, after = rewritten(name, tmp_path / "again.model")
    assert before.keys() == after.keys()
    assert all(same(before[key], after[key]) for key in before)


@pytest.mark.parametrize("name", FILES)
def test_a_file_read_and_written_again_is_the_same_text_up_to_the_digits_of_vectors(name, tmp_path):
    rewritten(name, tmp_path / "again.model")
    theirs, ours = (MODELS / name).read_text(), (tmp_path / "again.model").read_text()
    if format_of(name) == "libsvm":  # which writes the values of vectors with 8 digits
        ours = re.sub(r"(?<=:)\S+", lambda value: f"{float(value[0]):.8g}", ours)
    assert ours == theirs


@pytest.mark.parametrize("name", FILES)
def test_a_model_from_a_file_is_written_so_that_it_predicts_the_same(name, tmp_path):
    X, _ = rows_of(name)
    model = maxmargin.load(MODELS / name)
    model.save(tmp_path / "again.model", format=format_of(name))
    again = maxmargin.load(tmp_path / "again.model")
    assert_allclose(scores(again, X), scores(model, X), rtol=1e-13, atol=1e-13)
    first = (MODELS / name).read_text().splitlines()[0]
    assert (tmp_path / "again.model").read_text().splitlines()[0] == first


@pytest.mark.parametrize("name", FILES)
def test_a_model_from_a_file_can_be_kept_in_the_native_format(name, tmp_path):
    X, _ = rows_of(name)
    model = maxmargin.load(MODELS / name)
    model.save(tmp_path / "native.model")
    again = maxmargin.load(tmp_path / "native.model")
    assert type(again) is type(model)
    assert again.certificate_ is None
    assert_array_equal(scores(again, X), scores(model, X))
    if expected(name, "probabilities") is not None:
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))


FITTED = {
    "several classes": (SVC(C=3, probability=True), "iris", "libsvm"),
    "two classes": (SVC(C=3, gamma=0.3, probability=True), "words", "libsvm"),
    "polynomial": (SVC(kernel="poly", degree=2, coef0=1.0), "iris", "libsvm"),
    "kernel object": (SVC(kernel=Polynomial(3, gamma=0.1, coef0=1.0)), "iris", "libsvm"),
    "sigmoid": (SVC(kernel="sigmoid", gamma=0.01, coef0=-0.5), "words", "libsvm"),
    "augmented": (SVC(kernel="linear", intercept="augmented"), "words", "libsvm"),
    "precomputed": (SVC(kernel="precomputed"), "words_kernel", "libsvm"),
    "nu": (NuSVC(nu=0.3), "words", "libsvm"),
    "one class": (OneClassSVM(nu=0.3), "houses", "libsvm"),
    "tube": (SVR(C=2), "houses", "libsvm"),
    "nu tube": (NuSVR(), "houses", "libsvm"),
    "one versus rest": (LinearSVC(), "iris", "liblinear"),
    "hinge": (LinearSVC(loss="hinge"), "words", "liblinear"),
    "constant feature": (LinearSVC(intercept="augmented", intercept_scaling=2.5), "words", "liblinear"),
    "crammer_singer": (LinearSVC(multi_class="crammer_singer"), "iris", "liblinear"),
    "crammer_singer of two": (LinearSVC(multi_class="crammer_singer"), "words", "liblinear"),
    "few weights": (LinearSVC(penalty="l1"), "words", "liblinear"),
    "logistic": (LogisticRegression(fit_intercept=False), "words", "liblinear"),
    "logistic, few weights": (LogisticRegression(penalty="l1"), "words", "liblinear"),
    "linear tube": (LinearSVR(C=2), "houses", "liblinear"),
    "linear one class": (OneClassSVM(kernel="linear", nu=0.3), "iris", "liblinear"),
    "squared tube": (LinearSVR(loss="squared_epsilon_insensitive"), "houses", "liblinear"),
}
TYPES = {
    "nu": "svm_type nu_svc",
    "one versus rest": "solver_type L2R_L2LOSS_SVC_DUAL",
    "hinge": "solver_type L2R_L1LOSS_SVC_DUAL",
    "crammer_singer": "solver_type MCSVM_CS",
    "few weights": "solver_type L1R_L2LOSS_SVC",
    "logistic": "solver_type L2R_LR",
    "logistic, few weights": "solver_type L1R_LR",
    "linear tube": "solver_type L2R_L1LOSS_SVR_DUAL",
    "linear one class": "solver_type ONECLASS_SVM",
    "squared tube": "solver_type L2R_L2LOSS_SVR_DUAL",
}


@pytest.mark.parametrize("case", FITTED)
@pytest.mark.parametrize("layout", ["dense", "single", "sparse"])
def test_a_fitted_model_written_as_text_predicts_the_same_when_it_is_read(case, layout, tmp_path):
    model, data, text_format = FITTED[case]
    X, y = ROWS[f"{data}_X"], ROWS[f"{data}_y"]
    X = {"dense": X, "single": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}[layout]
    model.fit(X, y)
    model.save(tmp_path / "text.model", format=text_format)
    again = maxmargin.load(tmp_path / "text.model", n_features=None if data == "words_kernel" else X.shape[1])
    assert type(again) is type(model)
    assert_allclose(scores(again, X), scores(model, X), rtol=1e-12, atol=1e-12)
    if hasattr(model, "classes_"):
        assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        at = np.searchsorted(model.classes_, again.classes_)
        assert_allclose(again.predict_proba(X), model.predict_proba(X)[:, at], rtol=1e-12)
    if case in TYPES:
        assert (tmp_path / "text.model").read_text().startswith(TYPES[case] + "\n")


def test_dual_false_names_the_primal_solver(tmp_path):
    LinearSVC(dual=False).fit(WORDS, SIDES).save(tmp_path / "a.model", format="liblinear")
    assert (tmp_path / "a.model").read_text().startswith("solver_type L2R_L2LOSS_SVC\n")


def test_every_double_survives(tmp_path, rng):
    record = read_libsvm(MODELS / "libsvm_words_rbf.model")
    shape = record["sv_coef"].shape
    record["sv_coef"] = rng.standard_normal(shape) * 10.0 ** rng.integers(-300, 300, shape)
    record["SV"].data = np.nextafter(rng.uniform(-1e6, 1e6, record["SV"].nnz), 0)
    record["rho"] = np.array([5e-324])
    write_libsvm(record, tmp_path / "a.model")
    again = read_libsvm(tmp_path / "a.model")
    assert all(same(record[key], again[key]) for key in record)


def test_zeros_that_are_stored_are_not_written(tmp_path):
    X = sparse.csr_matrix(WORDS)
    X.data[::2] = 0.0
    model = SVC().fit(X, SIDES)
    model.save(tmp_path / "a.model", format="libsvm")
    assert ":0 " not in (tmp_path / "a.model").read_text()
    again = maxmargin.load(tmp_path / "a.model", n_features=30)
    assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-12)


@pytest.mark.parametrize(
    ("make", "text_format", "message"),
    [
        (lambda: SVC(kernel=Laplacian(0.1)).fit(WORDS, SIDES), "libsvm", "no kernel exp"),
        (lambda: SVC(kernel=Polynomial(1.5, coef0=90.0)).fit(WORDS, SIDES), "libsvm", "whole degrees"),
        (lambda: SVC(kernel=EditDistance()).fit(["a", "ab", "b"], [0, 1, 0]), "libsvm", "no kernel"),
        (lambda: SVC().fit(WORDS, SIDES.astype(str)), "libsvm", "whole numbers of 32 bits"),
        (lambda: LinearSVC().fit(WORDS, SIDES + 2**33), "liblinear", "whole numbers of 32 bits"),
        (lambda: LinearSVC().fit(WORDS, SIDES), "libsvm", "format='liblinear'"),
        (lambda: SVC().fit(WORDS, SIDES), "liblinear", "no model for SVC"),
        (lambda: OneClassSVM().fit(WORDS), "liblinear", "OneClassSVM with the linear kernel"),
        (lambda: LinearRegression().fit(WORDS, SIDES), "liblinear", "no model for LinearRegression"),
        (lambda: LinearSVC(penalty="l1", loss="hinge").fit(WORDS, SIDES), "liblinear", "penalty='l1' and loss='hinge'"),
        (lambda: LogisticRegression().fit(ROWS["iris_X"], ROWS["iris_y"]), "liblinear", "no softmax"),
    ],
)
def test_what_a_format_has_no_words_for_is_refused_and_the_old_file_stays(make, text_format, message, tmp_path):
    path = tmp_path / "old.model"
    path.write_text("old")
    model = make()
    with pytest.raises(ModelFileError, match=message):
        model.save(path, format=text_format)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["old.model"]


def test_an_unknown_format_is_answered_with_the_known_ones(tmp_path):
    model = LinearSVC().fit(WORDS, SIDES)
    with pytest.raises(ParameterError, match=r"format='libsvn' is not known. Did you mean 'libsvm'"):
        model.save(tmp_path / "a.model", format="libsvn")


# ---------------------------------------------------------------- damage

LIBSVM = "libsvm_iris_rbf.model"
LIBLINEAR = "liblinear_iris_1.model"
WRONG = {
    "unknown word": (LIBSVM, "gamma 0.5", "gama 0.5", r"line 3: 'gama 0\.5' is no line of its header"),
    "unknown type": (LIBSVM, "svm_type c_svc", "svm_type d_svc", "line 1: svm_type 'd_svc'.*one of c_svc"),
    "unknown kernel": (LIBSVM, "kernel_type rbf", "kernel_type bell", "line 2: kernel_type 'bell'"),
    "no gamma": (LIBSVM, "gamma 0.5\n", "", "header ends without gamma"),
    "word twice": (LIBSVM, "gamma 0.5\n", "gamma 0.5\ngamma 0.5\n", "line 4: gamma stands there again"),
    "not a number": (LIBSVM, "gamma 0.5", "gamma half", "line 3: 'half'.*a finite number"),
    "nan": (LIBSVM, "gamma 0.5", "gamma nan", "line 3: 'nan'.*a finite number"),
    "overflow": (LIBSVM, "gamma 0.5", "gamma 1e400", "line 3: '1e400'.*a finite number"),
    "underscore": (LIBSVM, "gamma 0.5", "gamma 0_5", "line 3: '0_5'.*a finite number"),
    "impossible gamma": (LIBSVM, "gamma 0.5", "gamma -0.5", "gamma must be positive"),
    "one class": (LIBSVM, "nr_class 3", "nr_class 1", "line 4: nr_class 1.*at least 2"),
    "fractional count": (LIBSVM, "nr_class 3", "nr_class 3.5", "line 4: '3.5'.*whole number"),
    "too few rho": (LIBSVM, "nr_class 3", "nr_class 4", "line 6: rho with 3 values.*6 of them"),
    "labels twice": (LIBSVM, "label 9 4 6", "label 9 4 9", "line 7: label '9 4 9'.*labels that differ"),
    "long label": (LIBSVM, "label 9 4 6", "label 9 4 3000000000", "line 7: '3000000000'.*32 bits"),
    "wrong total": (LIBSVM, "total_sv 24", "total_sv 25", "line 10: nr_sv .*add up to total_sv, 25"),
    "huge total": ("libsvm_houses_nu.model", "total_sv ", "total_sv 1000000", "the file ends.*support vectors after"),
    "wrong counts": (LIBSVM, "nr_sv ", "nr_sv 1", r"line 10: nr_sv .*add up to total_sv"),
    "no colon": (LIBSVM, " 2:3.8 ", " 23.8 ", r"'23\.8'.*column:value"),
    "column zero": (LIBSVM, " 1:7.7 ", " 0:7.7 ", "column 0 after column 0"),
    "columns fall": (LIBSVM, " 3:6.7 ", " 2:6.7 ", "column 2 after column 2"),
    "bad value": (LIBSVM, " 3:6.7 ", " 3:six ", "'six'.*a finite number"),
    "bad column": (LIBSVM, " 3:6.7 ", " x:6.7 ", "'x'.*whole number"),
    "no training row": ("libsvm_words_precomputed.model", " 0:1 ", " ", "line 9: no training row"),
    "vector for a row": ("libsvm_words_precomputed.model", " 0:1 ", " 1:1 ", "line 9: '1:1'.*a single 0:number"),
    "two training rows": ("libsvm_words_precomputed.model", " 0:1 ", " 0:1 0:2 ", "line 9: '0:2'.*a single"),
    "classes of a tube": (
        "libsvm_houses_nu.model",
        "nr_class 2",
        "nr_class 3",
        "line 3: nr_class '3'.*nr_class 2 for nu_svr",
    ),
    "unknown solver": (LIBLINEAR, "L2R_L2LOSS_SVC_DUAL", "L3R_SVC", "line 1: solver_type 'L3R_SVC'"),
    "no bias": (LIBLINEAR, "bias 1\n", "", "header ends without bias"),
    "huge width": (LIBLINEAR, "nr_feature 4", "nr_feature 2000000000", "the file ends.*2000000001 lines of weights"),
    "one line more": (LIBLINEAR, "nr_feature 4", "nr_feature 3", "line 11: .*the end of the file"),
    "bias left out": (LIBLINEAR, "bias 1", "bias -1", "line 11: .*the end of the file"),
    "too many labels": (LIBLINEAR, "label 9 4 6", "label 9 4 6 7", "line 3: label with 4 values"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_malformed_file_is_refused_with_its_line_and_what_was_found(case, tmp_path):
    name, old, new, message = WRONG[case]
    text = (MODELS / name).read_text()
    assert old in text
    (tmp_path / "wrong.model").write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=message) as refusal:
        maxmargin.load(tmp_path / "wrong.model")
    assert "wrong.model" in str(refusal.value)


@pytest.mark.parametrize("name", [LIBSVM, LIBLINEAR, "libsvm_words_precomputed.model"])
def test_a_file_cut_after_any_line_is_refused(name, tmp_path):
    lines = (MODELS / name).read_text().splitlines(keepends=True)
    for count in range(1, len(lines)):
        (tmp_path / "cut.model").write_text("".join(lines[:count]))
        with pytest.raises(ModelFileError, match=r"cut\.model, line \d+"):
            maxmargin.load(tmp_path / "cut.model")


@pytest.mark.parametrize("name", [LIBSVM, LIBLINEAR])
def test_windows_line_ends_blanks_and_an_open_end_do_no_harm(name, tmp_path):
    X, _ = rows_of(name)
    text = (MODELS / name).read_text()
    model = maxmargin.load(MODELS / name)
    for variant in (text.replace("\n", "\r\n"), text.replace(" ", "\t"), text.rstrip("\n"), text + "\n\n"):
        (tmp_path / "a.model").write_bytes(variant.encode())
        assert_array_equal(scores(maxmargin.load(tmp_path / "a.model"), X), scores(model, X))


def test_a_file_of_neither_kind_is_refused(tmp_path):
    for content in (b"", b"hello\n", b"svm_types c_svc\n", b"\x00\x01\x02"):
        (tmp_path / "a.model").write_bytes(content)
        with pytest.raises(ModelFileError, match=r"a\.model is not a usable model file"):
            maxmargin.load(tmp_path / "a.model")
