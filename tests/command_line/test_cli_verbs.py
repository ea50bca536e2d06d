"""The verbs of the command line do what the library does, on files."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import json
import lzma
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import maxmargin
from maxmargin import SVC, LinearSVC, LinearSVR
from tests.command_line.commands import run


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


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_data_larger_than_memory_are_streamed_to_the_same_optimum(text, tmp_path, loss):
    words = ("train", text, "--loss", loss, "--C", 0.05, "--tol", "1e-5", "--json", "-q")
    inside = json.loads(run(*words, "-o", tmp_path / "a").stdout)["certificate"]
    outside = json.loads(run(*words, "-o", tmp_path / "b", "--memory", "6KB").stdout)["certificate"]
    assert outside["solver"] == "cached-loops"
    assert inside["solver"] != "cached-loops"
    assert outside["primal"] == pytest.approx(inside["primal"], rel=2e-5)


def test_a_softmax_larger_than_memory_is_trained_in_memory_all_the_same(rows, tmp_path):
    X, f = rows
    path = _written(tmp_path / "three.txt", X, np.digitize(f, [-1.0, 1.0]))
    told = run("train", path, "-o", tmp_path / "m", "--loss", "logistic", "--memory", "2KB", "-q")
    assert "holds them in memory all the same" in told.stderr
    assert len(maxmargin.load(tmp_path / "m").classes_) == 3


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


@pytest.mark.parametrize("options", [[], ["--regression"], ["--loss", "logistic"]], ids=["hinge", "tube", "logistic"])
def test_predict_tells_the_score_that_the_model_gives_a_source(rows, tmp_path, options):
    labels = rows[1].round(3) if "--regression" in options else np.where(rows[1] > 0.0, "up", "down")
    text = _written(tmp_path / "rows.txt", rows[0], labels)
    run("train", text, "-o", tmp_path / "m", "-q", *options)
    told = json.loads(run("predict", tmp_path / "m", text, "-o", tmp_path / "p", "--json", "-q").stdout)
    with maxmargin.open(str(text)) as source:
        score = maxmargin.load(tmp_path / "m").score(source)
    assert told["r2" if "--regression" in options else "accuracy"] == score


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


def test_rows_without_labels_are_predicted_and_not_judged(rows, text, tmp_path):
    run("train", text, "-o", tmp_path / "m", "-q")
    expected = [str(int(label)) for label in maxmargin.load(tmp_path / "m").predict(sparse.csr_matrix(rows[0]))]
    table = "\n".join(",".join(map(repr, row)) for row in rows[0].tolist())
    (tmp_path / "bare.csv").write_text(table)
    np.save(tmp_path / "bare.npy", rows[0])
    np.savez_compressed(tmp_path / "bare.npz", X=rows[0])
    for name in ("bare.csv", "bare.npy", "bare.npz"):
        told = run("predict", tmp_path / "m", tmp_path / name)
        assert told.stdout.split() == expected
        assert "no labels: all 6 columns are features" in told.stderr
        assert "accuracy" not in told.stderr
        summary = run("predict", tmp_path / "m", tmp_path / name, "-o", tmp_path / "p", "--json", "-q").stdout
        assert json.loads(summary) == {"rows": 240, "skipped": 0, "output": str(tmp_path / "p")}
        assert (tmp_path / "p").read_text().split() == expected


@pytest.mark.parametrize("form", ["native", "liblinear"])
def test_a_column_too_many_is_not_taken_for_a_feature(rows, text, tmp_path, form):
    run("train", text, "-o", tmp_path / "m", "--model-format", form, "-q")
    run("convert", text, tmp_path / "rows.csv", "-q")
    told = run("predict", tmp_path / "m", tmp_path / "rows.csv", "-o", tmp_path / "p", code=2).stderr
    assert "found 7 features, but the model was trained on 6. If one of them is the label, name it with --label" in told
    assert not (tmp_path / "p").exists()
    assert "accuracy" in run("predict", tmp_path / "m", tmp_path / "rows.csv", "--label", "label").stderr
    narrow = _written(tmp_path / "narrow.txt", rows[0][:, :5], np.where(rows[1] > 0.0, 1, -1))
    run("convert", narrow, tmp_path / "narrow.csv", "-q")
    words = ("predict", tmp_path / "m", tmp_path / "narrow.csv", "--label", "0", "-q")
    assert "found 5 features" in run(*words, code=2).stderr
    run("convert", narrow, tmp_path / "narrow.csv", "--n-features", 6, "-q")
    assert len(run(*words).stdout.split()) == 240


@pytest.mark.parametrize("verb", ["train", "evaluate", "path"])
def test_training_asks_for_the_label_before_it_reads(verb, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\nthis would be an error\n")
    output = ["-o", tmp_path / "m"] if verb == "train" else []
    told = run(verb, tmp_path / "rows.csv", *output, code=2).stderr
    assert "nothing says which column is the label. Name it with --label" in told


@pytest.mark.parametrize("ending", [".txt", ".csv", ".npz", ".blocks"])
def test_rows_without_labels_survive_the_way_to_another_format(rows, tmp_path, ending):
    np.save(tmp_path / "rows.npy", rows[0])
    run("convert", tmp_path / "rows.npy", tmp_path / f"there{ending}", "-q")
    with maxmargin.open(tmp_path / f"there{ending}") as source:
        X, y = source.head(240)
        assert source.has_labels == (ending == ".txt")
    assert_array_equal(X.toarray() if sparse.issparse(X) else X, rows[0])
    assert (y == 0).all() if ending == ".txt" else np.isnan(y).all()
    assert "name the label's with --label" in run("inspect", tmp_path / "rows.npy").stdout


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


TABLES = (".csv", ".parquet", ".arrow", ".feather")
PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@pytest.mark.parametrize("ending", [".txt", *TABLES, ".npz", ".blocks", *PACKED, ".csv.gz", ".csv.xz", ".svm.zst"])
def test_rows_survive_the_way_to_another_format_and_back(rows, text, tmp_path, ending):
    if ending in TABLES[1:] or ending.endswith(".zst"):
        pytest.importorskip("pyarrow", reason="Parquet and Arrow files need the extra `files`")
        pytest.importorskip("zstandard", reason="Zstandard files need the extra `files`")
    there, back = tmp_path / f"there{ending}", tmp_path / "back.txt"
    options = ["--label", "label"] if ending.startswith(TABLES) else []
    run("convert", text, there, "-q")
    run("convert", there, back, *options, "-q")
    with maxmargin.open(str(text)) as one, maxmargin.open(str(back)) as two:
        (X, y), (Z, z) = one.head(240), two.head(240)
    assert_array_equal(X.toarray(), Z.toarray())
    assert_array_equal(y, z)


@pytest.mark.parametrize("ending", PACKED)
def test_compressed_text_is_the_text_that_it_would_be(text, tmp_path, ending):
    for name in ("plain.csv", f"packed.csv{ending}", f"again.csv{ending}"):
        run("convert", text, tmp_path / name, "-q")
    with PACKED[ending](tmp_path / f"packed.csv{ending}") as file:
        assert file.read() == (tmp_path / "plain.csv").read_bytes()
    again = (tmp_path / f"again.csv{ending}").read_bytes()
    assert again == (tmp_path / f"packed.csv{ending}").read_bytes()  # no time and no name is in it
    unsorted = tmp_path / "unsorted.txt"
    unsorted.write_text("1 3:1 1:2\n")
    run("convert", "--sort", unsorted, tmp_path / f"sorted.txt{ending}")
    with PACKED[ending](tmp_path / f"sorted.txt{ending}") as file:
        assert file.read() == b"1 1:2 3:1\n"


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_tables_have_the_labels_and_digits_of_the_rows(tmp_path, ending):
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet and Arrow files need the extra `files`")
    from pyarrow import feather, parquet

    (tmp_path / "rows.csv").write_text("y,a,b\nup,0.1,16777217\ndown,-3e-300,0\n")
    run("convert", tmp_path / "rows.csv", tmp_path / f"rows.{ending}", "--label", "y", "-q")
    read = parquet.read_table if ending == "parquet" else feather.read_table
    table = read(tmp_path / f"rows.{ending}")
    assert table.to_pydict() == {"label": ["up", "down"], "x1": [0.1, -3e-300], "x2": [16777217.0, 0.0]}
    assert table.schema.types == [pyarrow.string(), pyarrow.float64(), pyarrow.float64()]
    run("convert", tmp_path / "rows.csv", tmp_path / f"bare.{ending}", "--skip-bad-rows", 2, "-q", code=2)
    run("convert", tmp_path / f"rows.{ending}", tmp_path / f"again.{ending}", "--label", "label", "-q")
    assert read(tmp_path / f"again.{ending}").equals(table)


def test_a_table_is_written_in_pieces_that_the_rows_need_not_fit_into(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="Parquet and Arrow files need the extra `files`")
    from pyarrow import parquet

    from maxmargin.data.formats import arrow_files

    monkeypatch.setattr(arrow_files, "_PIECE_BYTES", 8 * 3 * 10)
    (tmp_path / "rows.txt").write_text("".join(f"{i % 2} 1:{i} 3:{-i}\n" for i in range(95)))
    run("convert", tmp_path / "rows.txt", tmp_path / "rows.parquet", "-q")
    file = parquet.ParquetFile(tmp_path / "rows.parquet")
    assert file.metadata.num_row_groups == 10
    assert file.read(["x3"]).to_pydict() == {"x3": [float(-i) for i in range(95)]}


def test_sort_repairs_what_training_refuses(tmp_path):
    bad, good = tmp_path / "bad.txt", tmp_path / "good.txt"
    bad.write_text("1 3:1 1:2\n-1 2:5\n")
    assert "convert --sort" in run("train", bad, "-o", tmp_path / "m", code=2).stderr
    run("convert", "--sort", bad, good)
    assert good.read_text() == "1 1:2 3:1\n-1 2:5\n"
    for ending in ("gz", "zst") if importlib.util.find_spec("zstandard") else ("gz",):
        run("convert", "--sort", bad, tmp_path / f"good.txt.{ending}")
        with maxmargin.open(tmp_path / f"good.txt.{ending}") as source:
            assert source.head()[0].toarray().tolist() == [[2, 0, 1], [0, 5, 0]]
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


def test_inspect_says_how_many_labels_it_does_not_list(tmp_path):
    labels = [i % 12 for i in range(60)] + [0, 1]
    (tmp_path / "many.txt").write_text("".join(f"{label} 1:1\n" for label in labels))
    shown = run("inspect", tmp_path / "many.txt").stdout
    assert shown.splitlines()[-1] == "and 2 more labels, of 10 rows"
    assert json.loads(run("inspect", tmp_path / "many.txt", "--json").stdout)["different labels"] == 12
    (tmp_path / "few.txt").write_text("".join(f"{label} 1:1\n" for label in labels if label < 10))
    assert "more label" not in run("inspect", tmp_path / "few.txt").stdout
    (tmp_path / "eleven.txt").write_text("".join(f"{label} 1:1\n" for label in range(11)))
    assert run("inspect", tmp_path / "eleven.txt").stdout.endswith("and 1 more label, of 1 row\n")


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
    assert "1 malformed row was left out" in told.stderr
    assert not (tmp_path / "m.tmp").exists()


def test_malformed_rows_of_a_table_are_counted_and_told(rows, tmp_path):
    y = np.where(rows[1] > 0.0, "up", "down")
    lines = [",".join([*map(repr, row), label]) for row, label in zip(rows[0].tolist(), y, strict=True)]
    lines[3], lines[5], lines[7] = "1,2,3", lines[5].replace("up", "").replace("down", ""), "x" + lines[7]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    words = ("train", tmp_path / "rows.csv", "--label", "-1", "-o", tmp_path / "m", "-q")
    told = run(*words, "--skip-bad-rows", 3, "--json")
    assert json.loads(told.stdout)["skipped"] == 3
    assert json.loads(told.stdout)["rows"] == 237
    assert "line 4: found 3 cells, expected 7" in told.stderr
    assert "line 6: column 6 is empty" in told.stderr
    assert "line 8: column 0 has 'x" in told.stderr
    assert "3 malformed rows were left out" in told.stderr
    assert "More than --skip-bad-rows 2 rows are bad" in run(*words, "--skip-bad-rows", 2, code=2).stderr


def test_a_warning_is_one_line_without_a_place_in_the_code(text, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # as outside the tests, where warnings are no errors
        told = run("train", text, "-o", tmp_path / "m", "--max-passes", 1, "--tol", 1e-12, "-q").stderr
    assert told.startswith("warning: LinearSVC ended BUDGET")
    assert len(told.splitlines()) == 1


def test_help_shows_shared_options_in_groups():
    shown = re.findall(r"^│ [* ]*(--[\w-]+)|^╭─ (\w+)", run("train", "--help").stdout, re.MULTILINE)
    words = [option or group for option, group in shown]
    wanted = ["Options", "--output", "Data", "--label", "Machine", "--C", "--kernel", "Search", "--memory"]
    assert [word for word in dict.fromkeys(words) if word in wanted] == wanted
    for verb in ("train", "predict", "certify", "convert", "inspect", "evaluate", "path"):
        assert "--label" in run(verb, "--help").stdout


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
