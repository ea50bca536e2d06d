"""What is promised about data: any layout gives the same model, and none is copied to double precision."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.memory import ALLOWED, make, measure
from numpy.testing import assert_array_equal
from scipy import sparse

from maxmargin import LinearRegression, LinearSVC, LinearSVR, LogisticRegression, Ridge, SoftmaxRegression

_rng = np.random.default_rng(0)
# Numbers that single precision holds exactly, so that all layouts hold the same data; one column is zero, one constant.
_X = np.round(_rng.normal(size=(300, 12)) * (_rng.random((300, 12)) < 0.4), 1).astype(np.float32).astype(np.float64)
_X[:, 3], _X[:, 4], _X[150:160] = 0.0, 1.0, _X[140:150]
_SCORES = _X @ _rng.normal(size=12) + 0.3 * _rng.normal(size=300)
_SIGNS, _THREE = _SCORES > 0.0, np.digitize(_SCORES, [-1.0, 1.0])


def _csr(dtype, index):
    X = sparse.csr_matrix(_X.astype(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


_LAYOUTS = {
    "C float32": np.ascontiguousarray(_X, dtype=np.float32),
    "Fortran float64": np.asfortranarray(_X),
    "Fortran float32": np.asfortranarray(_X, dtype=np.float32),
    "every second row": np.repeat(_X, 2, axis=0)[::2],
    "read-only": np.frombuffer(_X.tobytes()).reshape(_X.shape),
    "CSR int32 float64": _csr(np.float64, np.int32),
    "CSR int64 float64": _csr(np.float64, np.int64),
    "CSR int32 float32": _csr(np.float32, np.int32),
    "CSR int64 float32": _csr(np.float32, np.int64),
    "CSC": sparse.csc_matrix(_X),
}
_MODELS = [
    (LinearSVC(), _SIGNS),
    (LinearSVC(loss="hinge"), _SIGNS),
    (LinearSVC(loss="hinge", solver="dcd", tol=1e-5), _SIGNS),
    (LinearSVC(), _THREE),
    (LinearSVR(), _SCORES),
    (LinearSVR(loss="squared_epsilon_insensitive"), _SCORES),
    (LogisticRegression(), _SIGNS),
    (SoftmaxRegression(), _THREE),
    (Ridge(), _SCORES),
    (LinearRegression(), _SCORES),
]


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize(("model", "y"), _MODELS, ids=lambda value: str(value) if hasattr(value, "fit") else "")
def test_every_layout_gives_the_same_model_to_the_certified_gap(model, y, layout):
    """Two points within the gap of the minimum, where the curvature is 1 or more, are 2 sqrt(2 gap) apart at most."""
    X = _LAYOUTS[layout]
    before = X.copy()
    plain = model.fit(_X, y).certificate_
    weights = np.atleast_2d(model.coef_).copy()
    ours = model.fit(X, y).certificate_.verify(X, y)
    gap = max(0.0, plain.gap) + max(0.0, ours.gap) + plain.rounding + ours.rounding
    assert abs(ours.primal - plain.primal) <= gap
    if not isinstance(model, LinearRegression):  # nothing but the data decides there, and a column is zero
        assert np.linalg.norm(np.atleast_2d(model.coef_) - weights) <= 2.0 * np.sqrt(2.0 * gap)
    model.certificate_.verify(_X, y)  # the same numbers, so the same certificate
    assert_array_equal(X.toarray() if sparse.issparse(X) else X, before.toarray() if sparse.issparse(X) else before)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process so")
@pytest.mark.parametrize(
    ("model", "layout", "megabytes"),
    [("LinearSVC", "dense float32", 200.0), ("LogisticRegression", "CSR float64", 120.0)],
)
def test_memory_stays_near_the_input(model, layout, megabytes):
    """Two steps are enough: checks, compiled rows, Hessian and certificate are all on the way."""
    seen = measure(layout, model, megabytes, max_iter=2)
    assert seen["made"] <= 1.1 * seen["input"]  # else the measure would speak of the making, not of the fit
    assert seen["added"] <= ALLOWED[layout.split()[0]] * seen["input"]


@pytest.mark.parametrize("layout", ["dense float32", "Fortran float32", "CSR float64 int64"])
def test_the_rows_of_the_memory_test_are_what_they_are_called(layout):
    X, y = make(layout, 2.0)
    kind, dtype, *wide = layout.split()
    assert X.dtype == dtype
    assert set(np.unique(y)) == {0, 1}
    if kind == "CSR":
        assert X.indices.dtype == X.indptr.dtype == wide[0]
        X.check_format(full_check=True)
    else:
        assert X.flags.f_contiguous == (kind == "Fortran")
