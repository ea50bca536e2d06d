"""Following a fit: listeners hear every check, `verbose` writes a line, callbacks are told of every task."""

import io
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.utils.fixes import parse_version

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    Ridge,
    SoftmaxRegression,
)
from maxmargin.errors import DataError
from maxmargin.problems.solution import listening

X, y = load_iris(return_X_y=True)
ESTIMATORS = [
    SVC(),
    SVR(),
    LinearSVC(),
    LinearSVC(solver="dcd", loss="hinge"),
    LinearSVR(),
    LogisticRegression(),
    SoftmaxRegression(),
    LinearRegression(),
    Ridge(),
]
has_callbacks = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"), reason="callbacks came with scikit-learn 1.9"
)


def histories(model):
    return model.history_ if isinstance(model.history_, list) else [model.history_]


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_a_listener_hears_every_check_that_the_history_keeps(model, n_jobs):
    heard, around = [], []
    own = type(model)(**{**model.get_params(), "n_jobs": n_jobs})
    with listening(around.append), listening(heard.append):
        own.fit(X, y)
        first, n_heard = histories(own), len(heard)
        with listening(None):
            own.fit(X, y)
    for history in first:
        assert sum(one is history for one in heard) == len(history) > 0
    assert len(heard) == len(around) == n_heard


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_plain_lines_end_each_sub_problem_with_its_status_and_silence_is_the_default(model, n_jobs, capsys):
    quiet = type(model)(**{**model.get_params(), "n_jobs": n_jobs}).fit(X, y)
    assert capsys.readouterr() == ("", "")
    loud = type(model)(**{**model.get_params(), "n_jobs": n_jobs, "verbose": 1}).fit(X, y)
    written, errors = capsys.readouterr()
    assert errors == ""
    lines = written.splitlines()
    ends = [line for line in lines if "converged" in line]
    parts = loud.certificate_.parts or (loud.certificate_,)
    assert len(ends) == len(parts)
    number = r"[-+.\de]+"
    for line in ends:
        assert re.search(rf"{number} passes, gap {number} \(tol {number}\), converged, {number} s$", line)
        assert line.startswith(type(model).__name__)
    if len(parts) > 1:
        assert sorted(re.search(r"(\d+) of 3", line)[1] for line in ends) == ["1", "2", "3"]
    assert len(histories(quiet)) == len(histories(loud))


def test_the_line_shows_the_last_gap_of_the_history(capsys):
    model = LinearSVC(solver="dcd", verbose=1).fit(X[:100], y[:100])
    shown = re.search(r"gap ([-+.\de]+)", capsys.readouterr().out.splitlines()[-1])[1]
    assert float(shown) == pytest.approx(model.history_.relative_gap, rel=0.05, abs=1e-12)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_one_line_that_is_rewritten():
    import pty

    program = """
from sklearn.datasets import load_iris
from maxmargin import LinearSVC
LinearSVC(solver="dcd", loss="hinge", verbose=1).fit(*load_iris(return_X_y=True))
"""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    done = subprocess.Popen([sys.executable, "-c", program], stdout=slave, stderr=subprocess.PIPE, env=environment)
    os.close(slave)
    written = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        written += piece
    _, errors = done.communicate(timeout=60)
    os.close(master)
    assert done.returncode == 0, errors
    text = written.decode()
    assert "\x1b[2K" in text  # the line is cleared and written again
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    assert "LinearSVC" in plain
    assert "3 of 3 done" in plain
    assert text.rstrip().count("\n") <= 2


def test_a_fit_that_fails_leaves_no_display_behind(capsys):
    model = LinearSVC(C=np.inf, verbose=1)
    for _ in range(2):
        with pytest.raises(maxmargin.errors.NotSeparableError):
            model.fit(X, y)
    assert "converged" not in capsys.readouterr().out.splitlines()[-1]


# Scikit-learn's callbacks


class Recorder:
    """Notes every task, and with it who was there."""

    def __init__(self):
        self.events, self.lock = [], threading.Lock()

    def setup(self, estimator, context):
        self.events.append(("setup", type(estimator).__name__))

    def on_fit_task_begin(self, estimator, context):
        with self.lock:
            self.events.append(("begin", context.task_name, id(context)))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        with self.lock:
            self.events.append(("end", context.task_name, id(context)))
            if fitted_estimator is not None:
                self.events.append(("fitted", fitted_estimator.predict(X).shape, metadata))

    def teardown(self, estimator, context):
        self.events.append(("teardown", type(estimator).__name__))


@has_callbacks
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_callbacks_see_every_task_begin_and_end_once_around_the_fit(model, n_jobs):
    recorder = Recorder()
    own = type(model)(**{**model.get_params(), "n_jobs": n_jobs}).set_callbacks(recorder)
    own.fit(X, y, sample_weight=np.ones(len(y)))
    events, kind = recorder.events, type(model).__name__
    assert events[0] == ("setup", kind)
    assert events[1][:2] == ("begin", "fit")
    assert events[-1] == ("teardown", kind)
    fitted = [event for event in events if event[0] == "fitted"]
    assert [event[1] for event in fitted] == [y.shape]
    assert list(fitted[0][2]) == ["sample_weight"]
    begun = [event[1:] for event in events if event[0] == "begin"]
    ended = [event[1:] for event in events if event[0] == "end"]
    assert sorted(begun) == sorted(ended)
    assert len(set(begun)) == len(begun)
    checks = sum(name == "check" for name, _ in begun)
    parts = histories(own)
    # The last check of each is empty; a solver that handed over to another has made some that the history lacks.
    assert checks >= sum(map(len, parts)) + len(parts)
    if kind in ("LogisticRegression", "Ridge", "SVC") or own.solver == "dcd":
        assert checks == sum(map(len, parts)) + len(parts)
    assert len(begun) == 1 + checks + (len(parts) if len(parts) > 1 else 0)


@has_callbacks
def test_callbacks_are_taken_down_after_an_error_and_stay_out_of_model_files(tmp_path):
    recorder = Recorder()
    model = LinearSVC(C=np.inf).set_callbacks(recorder)
    with pytest.raises(maxmargin.errors.NotSeparableError):
        model.fit(X, y)
    assert recorder.events[-1] == ("teardown", "LinearSVC")
    model.set_params(C=1.0).fit(X, y).save(tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert not hasattr(again, "_skl_callbacks")
    again.certificate_.verify(X, y)


@has_callbacks
def test_the_progress_bar_of_scikit_learn_shows_our_estimators_also_inside_its_search(monkeypatch):
    import rich.console
    from sklearn.callback import ProgressBar

    shown = io.StringIO()
    monkeypatch.setattr(rich, "_console", rich.console.Console(file=shown, width=200), raising=False)
    LinearSVC().set_callbacks(ProgressBar()).fit(X, y)
    assert "LinearSVC - fit" in shown.getvalue()
    assert "2 against the rest #2" in shown.getvalue()
    search = GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=2).set_callbacks(ProgressBar())
    search.fit(X, y)
    assert "refit-with-best-params | LinearSVC - fit" in shown.getvalue()
    search.best_estimator_.certificate_.verify(X, y)
    assert not hasattr(search.best_estimator_, "_skl_callbacks")


def test_a_scikit_learn_without_callbacks_is_served_too():
    program = """
import sys
import sklearn.model_selection, sklearn.pipeline, sklearn.utils.validation
sys.modules["sklearn.callback"] = None
from sklearn.datasets import load_iris
from maxmargin import LinearSVC
model = LinearSVC(verbose=1).fit(*load_iris(return_X_y=True))
print(hasattr(model, "set_callbacks"), model.certificate_.status.name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1:] == ["False CONVERGED"], done.stderr


# Bad entries are named


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix])
def test_the_first_entry_that_is_not_finite_is_named_with_their_number(layout, dtype, value):
    bad = X.astype(dtype)
    bad[77, 2] = bad[77, 3] = bad[120, 0] = value
    words = f"row 77, column 2 is {value}, the first of 3 such entries"
    with pytest.raises(DataError, match=re.escape(words)):
        LinearSVC().fit(layout(bad), y)
    model = LinearSVC().fit(layout(X.astype(dtype)), y)
    with pytest.raises(DataError, match="row 77, column 2"):
        model.predict(layout(bad))


def test_large_numbers_whose_sum_overflows_are_taken():
    big = np.full((4, 2), 3e38, dtype=np.float32)
    big[2:, 0] = -3e38
    with np.errstate(over="ignore"):
        assert not np.isfinite(np.sum(big))
    model = LinearSVC(C=1e-80).fit(big, [0, 0, 1, 1])
    assert np.all(np.isfinite(model.coef_))


def test_a_bad_entry_of_a_table_is_named_by_its_column():
    pandas = pytest.importorskip("pandas", reason="tables are optional: pandas is not installed")
    table = pandas.DataFrame(X, columns=["length", "width", "petal", "leaf"])
    table.loc[5, "petal"] = None
    with pytest.raises(DataError, match=r"row 5, column 2 \('petal'\) is nan, the only such entry"):
        LinearSVC().fit(table, y)
