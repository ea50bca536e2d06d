"""The verbs of the command line do what the library does, on files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from typer.testing import CliRunner

import maxmargin
from maxmargin import SVC, LinearSVC, LinearSVR
from maxmargin.cli import app

RUN = CliRunner()


def run(*words, code=0):
    """The result of a command, which must end with `code`."""
    result = RUN.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 6)).astype(np.float32).round(3)
    X[rng.random(X.shape) < 0.4] = 0.0
    f = X @ np.array([1.0, -2.0, 0.5, 0.0, 1.5, -1.0]) + 0.3 * rng.normal(size=240)
    return X, f


@pytest.fixture
def text(rows, tmp_path):
    """The rows as LIBSVM text with classes -1 and 1."""
    return _written(tmp_path / "rows.txt", rows[0], np.where(rows[1] > 0.0, 1, -1))


def _written(path, X, labels):
    lines = [
        " ".join([str(label), *(f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()) if value)])
        for row, label in zip(X, labels, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_train_writes_the_model_that_fit_gives(rows, text, tmp_path):
    X, f = rows
    model = tmp_path / "a.model"
    found = json.loads(run("train", text, "-o", model, "--C", 2, "--loss", "hinge", "--json", "--quiet").stdout)
    assert (found["rows"], found["features"], found["kind"]) == (240, 6, "LinearSVC")
    expected = LinearSVC(C=2.0, loss="hinge").fit(sparse.csr_matrix(X), np.where(f > 0.0, 1.0, -1.0))
    loaded = maxmargin.load(model)
    assert_allclose(loaded.coef_, expected.coef_, rtol=1e-6)
    assert found["certificate"]["status"] == "CONVERGED"
    assert found["certificate"]["primal"] == pytest.approx(expected.certificate_.primal)


def test_a_kernel_makes_a_kernel_machine(rows, text, tmp_path):
    X, f = rows
    run("train", text, "-o", tmp_path / "k.model", "--kernel", "rbf", "--C", 3, "--gamma", 0.5, "-q")
    loaded = maxmargin.load(tmp_path / "k.model")
    expected = SVC(C=3.0, gamma=0.5, tol=1e-4).fit(sparse.csr_matrix(X), np.where(f > 0.0, 1.0, -1.0))
    assert_allclose(loaded.decision_function(sparse.csr_matrix(X)), expected.decision_function(sparse.csr_matrix(X)))


def test_data_larger_than_memory_are_streamed_to_the_same_optimum(text, tmp_path):
    words = ("train", text, "--loss", "hinge", "--tol", "1e-5", "--json", "-q")
    inside = json.loads(run(*words, "-o", tmp_path / "a").stdout)["certificate"]
    outside = json.loads(run(*words, "-o", tmp_path / "b", "--memory", "2KB").stdout)["certificate"]
    assert outside["solver"] == "cached-loops"
    assert inside["solver"] != "cached-loops"
    assert outside["primal"] == pytest.approx(inside["primal"], rel=2e-5)


def test_a_regression_is_trained_on_numbers(rows, tmp_path):
    X, f = rows
    path = _written(tmp_path / "r.txt", X, [repr(float(value)) for value in f])
    run("train", path, "-o", tmp_path / "r.model", "--regression", "--epsilon", 0.2, "-q")
    expected = LinearSVR(epsilon=0.2, loss="epsilon_insensitive").fit(sparse.csr_matrix(X), f)
    assert_allclose(maxmargin.load(tmp_path / "r.model").coef_, expected.coef_, atol=1e-4)
    told = run("predict", tmp_path / "r.model", path, "-o", tmp_path / "p.txt")
    assert "r2 0.9" in told.stderr


@pytest.mark.parametrize("form", ["native", "liblinear"])
def test_predict_writes_a_label_a_row_and_tells_the_accuracy(rows, text, tmp_path, form):
    run("train", text, "-o", tmp_path / "m", "--model-format", form, "-q")
    told = run("predict", tmp_path / "m", text, "-o", tmp_path / "p.txt")
    y = np.where(rows[1] > 0.0, 1, -1)
    found = np.array((tmp_path / "p.txt").read_text().split(), dtype=int)
    assert f"accuracy {np.mean(found == y):.6g}" in told.stderr
    assert_array_equal(found, maxmargin.load(tmp_path / "m").predict(sparse.csr_matrix(rows[0])))


def test_scores_follow_the_label_with_all_their_digits(rows, text, tmp_path):
    run("train", text, "-o", tmp_path / "m", "-q")
    lines = run("predict", tmp_path / "m", text, "--scores", "-q").stdout.splitlines()
    scores = [float(line.split()[1]) for line in lines]
    X = sparse.csr_matrix(rows[0])
    assert_array_equal(scores, maxmargin.load(tmp_path / "m").decision_function(X))


def test_columns_that_the_test_file_lacks_are_zeros(rows, text, tmp_path):
    run("train", text, "-o", tmp_path / "m", "-q")
    narrow = _written(tmp_path / "narrow.txt", rows[0][:, :4], np.where(rows[1] > 0.0, 1, -1))
    run("predict", tmp_path / "m", narrow, "-o", tmp_path / "p.txt")
    X = rows[0].copy()
    X[:, 4:] = 0.0
    found = np.array((tmp_path / "p.txt").read_text().split(), dtype=int)
    assert_array_equal(found, maxmargin.load(tmp_path / "m").predict(X))


def test_certify_confirms_the_model_and_refuses_other_data(rows, text, tmp_path):
    for name, words in {"line": [], "curve": ["--kernel", "rbf"], "stream": ["--stream", "block"]}.items():
        run("train", text, "-o", tmp_path / name, "-q", "--tol", "1e-3", *words)
        seen = json.loads(run("certify", tmp_path / name, text, "--json").stdout)
        assert seen["confirmed"] is True
        other = _written(tmp_path / "other.txt", rows[0] + 1.0, np.where(rows[1] > 0.0, 1, -1))
        assert "error:" in run("certify", tmp_path / name, other, code=2).stderr


def test_certify_can_require_a_gap(text, tmp_path):
    run("train", text, "-o", tmp_path / "m", "-q")
    run("certify", tmp_path / "m", text, "--require", 1e-3)
    run("certify", tmp_path / "m", text, "--require", -1.0, code=3)


def test_a_model_without_a_claim_cannot_be_certified(text, tmp_path):
    run("train", text, "-o", tmp_path / "m", "--model-format", "liblinear", "-q")
    assert "has no certificate" in run("certify", tmp_path / "m", text, code=2).stderr


@pytest.mark.parametrize("ending", [".txt", ".csv", ".npz", ".blocks"])
def test_rows_survive_the_way_to_another_format_and_back(rows, text, tmp_path, ending):
    there, back = tmp_path / f"there{ending}", tmp_path / "back.txt"
    options = {".csv": ["--label", "label"], ".blocks": ["--format", "blocks"]}.get(ending, [])
    run("convert", text, there, *(["--to", "blocks"] if ending == ".blocks" else []), "-q")
    run("convert", there, back, *options, "-q")
    with maxmargin.open(str(text)) as one, maxmargin.open(str(back)) as two:
        (X, y), (Z, z) = one.head(240), two.head(240)
    assert_array_equal(X.toarray(), Z.toarray())
    assert_array_equal(y, z)


def test_sort_repairs_what_training_refuses(tmp_path):
    bad, good = tmp_path / "bad.txt", tmp_path / "good.txt"
    bad.write_text("1 3:1 1:2\n-1 2:5\n")
    assert "convert --sort" in run("train", bad, "-o", tmp_path / "m", code=2).stderr
    run("convert", "--sort", bad, good)
    assert good.read_text() == "1 1:2 3:1\n-1 2:5\n"
    twice = tmp_path / "twice.txt"
    twice.write_text("1 3:1 3:2\n")
    assert "twice" in run("convert", "--sort", twice, good, code=2).stderr
    assert good.read_text() == "1 1:2 3:1\n-1 2:5\n"


def test_inspect_counts_rows_labels_and_problems(text, tmp_path):
    with text.open("a") as file:
        file.write("1 2:x\n")
    seen = json.loads(run("inspect", text, "--json").stdout)
    assert (seen["rows"], seen["features"], seen["bad rows"]) == (240, 6, 1)
    assert sum(seen["labels"].values()) == 240
    assert "line 241" in seen["problems"][0]
    assert "line 241" in run("inspect", text).stdout


def test_inspect_shows_a_model_with_its_certificate(text, tmp_path):
    run("train", text, "-o", tmp_path / "m", "--C", 5, "-q")
    shown = run("inspect", tmp_path / "m").stdout
    assert "LinearSVC" in shown
    assert "C=5" in shown
    assert "relative gap" in shown


def test_skipped_rows_are_told(text, tmp_path):
    with text.open("a") as file:
        file.write("1 2:x\n")
    assert "line 241" in run("train", text, "-o", tmp_path / "m", code=2).stderr
    told = run("train", text, "-o", tmp_path / "m", "--skip-bad-rows", 1)
    assert "left out" in told.stderr
    assert not (tmp_path / "m.tmp").exists()


def test_evaluate_looks_at_the_test_set_once(text, tmp_path):
    record = tmp_path / "e.json"
    words = ("evaluate", text, "--experiment", record, "--folds", 3, "-q", "--json")
    before = json.loads(run(*words, "--C", "0.1,1").stdout)
    assert before["looks"] == 0
    assert before["test_score"] is None
    after = json.loads(run(*words, "--C", "0.1,1", "--reveal").stdout)
    assert after["looks"] == 1
    again = json.loads(run(*words, "--C", "0.1,1", "--reveal").stdout)
    assert again["test_score"] == after["test_score"]


def test_path_gives_a_certificate_for_every_cost(text, tmp_path):
    found = json.loads(run("path", text, "--C", "0.1,1,10", "--json", "-q").stdout)["path"]
    assert [one["C"] for one in found] == [0.1, 1.0, 10.0]
    assert all(one["certificate"]["status"] == "CONVERGED" for one in found)
    table = run("path", text, "--C", "0.1,1", "-q", "--plot", tmp_path / "p.png").stdout
    assert table.count("CONVERGED") == 2
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    "words, expected",
    [
        (["--C", "much"], "--C must be a number"),
        (["--kernel", "rbf", "--stream", "block"], "are for linear machines"),
        (["--loss", "absolute"], "unknown --loss"),
        (["--class-weight", "1"], "pairs such as"),
        (["--stream", "river"], "river"),
        (["--memory", "much"], "memory"),
    ],
)
def test_wrong_options_are_one_line_that_says_what_is_allowed(text, tmp_path, words, expected):
    told = run("train", text, "-o", tmp_path / "m", *words, code=2).stderr
    assert expected in told
    assert not (tmp_path / "m").exists()
