"""Raw data, default settings: every fit converges, without a warning, and its certificate says so.

Warnings are errors in these tests, so a fit that ends short of its tolerance fails by itself.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_svmlight_file

from maxmargin import LinearSVC, LinearSVR, LogisticRegression
from maxmargin.problems import Status

_MODELS = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LogisticRegression(),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive"),
]


def _stored(folder, name):
    path = folder / name
    if not path.exists():
        pytest.skip(f"{name} is not among the shared data sets")
    return path


@pytest.fixture(scope="module")
def kept():
    """Data sets, read once."""
    return {}


@pytest.fixture
def breast_cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture
def a9a(shared_data, kept):
    if "a9a" not in kept:
        kept["a9a"] = load_svmlight_file(str(_stored(shared_data, "a9a.bz2")), n_features=123)
    return kept["a9a"]


@pytest.fixture
def covtype(shared_data, kept):
    """20,000 rows, class 2 against the rest, in the units in which they were measured: from 1 to thousands."""
    if "covtype" not in kept:
        with np.load(_stored(shared_data, "covtype.npz")) as stored:
            every = slice(0, 29 * 20_000, 29)
            kept["covtype"] = np.ascontiguousarray(stored["X"][every], dtype=np.float64), stored["y"][every] == 2
    return kept["covtype"]


@pytest.mark.parametrize("data", ["breast_cancer", "a9a", "covtype"])
@pytest.mark.parametrize("model", _MODELS, ids=str)
def test_raw_data_converge_at_default_settings(model, data, request):
    X, y = request.getfixturevalue(data)
    y = y.astype(int)
    certificate = model.fit(X, y).certificate_.verify(X, y)
    assert certificate.status is Status.CONVERGED
    assert certificate.relative_gap <= 1e-4
