"""The command line refuses what cannot be done before it works, in one line, and loses nothing."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.cli import app
from tests.command_line.commands import RUN, refused, run
from tests.data.test_text_parser import BAD

PROGRAM = [sys.executable, "-c", "from maxmargin.cli import main; main()"]


def libsvm_text(X, labels):
    lines = (
        f"{c} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for row, c in zip(X.tolist(), labels, strict=True)
    )
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with data of several kinds, and models of some."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(60, 5)).round(3)
    f = X @ [1.0, -1.0, 0.5, 0.0, 2.0]
    classes = (f > 0).astype(int)
    Path("rows.txt").write_text(libsvm_text(X, classes))
    Path("wide.txt").write_text(libsvm_text(np.hstack([X, X]), classes))
    Path("numbers.txt").write_text(libsvm_text(X, f.round(3)))
    Path("words.txt").write_text(libsvm_text(X, np.where(f > 0, "up", "down")))
    table = "\n".join(
        ",".join([*map(str, row), label]) for row, label in zip(X, np.where(f > 0, "up", "down"), strict=True)
    )
    Path("table.csv").write_text("a,b,c,d,e,y\n" + table)
    Path("table.data").write_text("a,b,c,d,e,y\n" + table)
    np.save("rows.npy", X)
    Path("directory").mkdir()
    Path("noise.bin").write_bytes(bytes(range(256)) * 4)
    return tmp_path


@pytest.fixture
def model(folder):
    run("train", "rows.txt", "-o", "m", "-q")
    return Path("m")


# Options that no data could make right, and a part of what is said about each.
WRONG_OPTIONS = {
    "C 0": (["--C", "0"], "--C must be positive, got --C 0.0"),
    "C a word": (["--C", "much"], "--C must be a number, got 'much'"),
    "no C": (["--C", ""], "--C must be a number"),
    "tol 0": (["--tol", "0"], "--tol must be a positive number"),
    "seconds": (["--max-seconds", "-1"], "--max-seconds must be a positive number"),
    "passes": (["--max-passes", "0"], "--max-passes must be a positive whole number"),
    "seed": (["--seed", "-1"], "--seed must be"),
    "threads": (["--n-jobs", "0"], "--n-jobs must be"),
    "memory 0": (["--memory", "0"], "--memory must be a number of bytes or a text"),
    "memory in petabytes": (["--memory", "1PB"], "--memory must be a number of bytes or a text"),
    "stream": (["--stream", "blok"], "Did you mean 'block'"),
    "intercept": (["--intercept", "maybe"], "Known: 'free'"),
    "kernel": (["--kernel", "gauss"], "Known: 'linear', 'poly', 'rbf', 'sigmoid'"),
    "loss": (["--loss", "epsilon"], "Known here: hinge, logistic, squared-hinge"),
    "epsilon": (["--regression", "--epsilon", "-1"], "--epsilon must be zero or a positive number"),
    "class weight": (["--class-weight", "up"], "pairs such as 'spam=2,ham=1'"),
    "format of models": (["--model-format", "xml"], "linear machines are written as native or liblinear"),
    "format of other models": (
        ["--kernel", "rbf", "--model-format", "liblinear"],
        "kernel machines are written as native or libsvm",
    ),
    "checkpoint": (["--checkpoint", "numbers.txt"], "numbers.txt is a file. Name a directory"),
    "labels": (["--labels", "words.txt"], "--labels takes .npy files"),
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
def test_wrong_options_are_told_before_the_data_are_read(case, folder):
    options, words = WRONG_OPTIONS[case]
    Path("broken.txt").write_text("this line would be refused if it were read")
    assert words in refused("train", "broken.txt", "-o", "m", *options)
    assert not Path("m").exists()


PLACES = {
    "directory": ("directory", "'directory' is a directory"),
    "no directory": ("nowhere/new.csv", "there is no directory 'nowhere' to write 'new.csv' into"),
    "pipe": ("pipe", "'pipe' is a device or a pipe"),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes among its files")
@pytest.mark.parametrize("case", PLACES)
@pytest.mark.parametrize(
    "words",
    [["convert", "broken.txt"], ["evaluate", "broken.txt", "--experiment"], ["path", "broken.txt", "--plot"]],
    ids=lambda words: words[0],
)
def test_a_place_that_cannot_be_written_to_is_told_before_the_data_are_read(case, words, folder):
    place, told = PLACES[case]
    os.mkfifo("pipe")
    Path("broken.txt").write_text("this line would be refused if it were read")
    assert told in refused(*words, place)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@pytest.mark.parametrize("output", ["rows.txt", "./rows.txt", "link.txt"])
def test_no_command_replaces_what_it_reads(output, model):
    Path("link.txt").symlink_to("rows.txt")
    before = Path("rows.txt").read_bytes()
    told = "is read by this command, and would be replaced. Name another file"
    assert told in refused("train", "rows.txt", "-o", output)
    assert told in refused("train", "r*.txt", "-o", output)
    assert told in refused("predict", model, "rows.txt", "-o", output)
    assert told in refused("predict", model, "rows.txt", "-o", model)
    assert told in refused("evaluate", "rows.txt", "--experiment", output)
    assert Path("rows.txt").read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes among its files")
def test_predictions_go_into_a_pipe_that_stays_one(model):
    os.mkfifo("pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append(Path("pipe").read_text()))
    reader.start()
    run("predict", model, "rows.txt", "-o", "pipe", "-q")
    reader.join()
    assert found[0] == run("predict", model, "rows.txt", "-q").stdout
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@pytest.mark.parametrize("verb", ["train", "evaluate", "path"])
def test_labels_of_the_wrong_kind_are_named_with_the_option_that_helps(verb, folder):
    output = ["-o", "m"] if verb == "train" else []
    told = run(verb, "numbers.txt", *output, "-q", code=2).stderr
    assert re.search(r"different labels, such as -?\d+\.\d+, are no classes. Add --regression", told)
    told = run(verb, "words.txt", *output, "--regression", "-q", code=2).stderr
    assert "the labels are words, such as 'down', and --regression needs numbers" in told


@pytest.mark.parametrize("verb", ["train", "predict", "inspect", "evaluate", "path", "certify"])
def test_a_table_that_was_taken_for_libsvm_text_is_told_apart(verb, model):
    words = {"train": ["-o", "x"]}.get(verb, [])
    first = [model] if verb in ("predict", "certify") else []
    told = refused(verb, *first, "table.data", *words, "-q")
    assert "table.data: found 61 rows without a feature; the first is the label 'a,b,c,d,e,y' alone" in told
    assert "say --format csv" in told


def test_a_file_without_one_good_row_says_what_is_wrong_with_the_first(folder):
    told = refused("inspect", "table.csv")
    assert "table.csv: all 60 rows are malformed. The first: table.csv, line 2: column 'y' has 'down'" in told
    assert "there are no rows in it" not in told


CERTIFIED = {
    "linear": (["rows.txt"], " for telling class 1 from class 0 states the primal value "),
    "kernel": (["rows.txt", "--kernel", "rbf"], " for telling class 1 from class 0 states the primal value "),
    "three classes": (["three.txt"], " for telling class 10 from the other classes states the primal value "),
    "three pairs": (["three.txt", "--kernel", "rbf"], " for telling class 10 from class 20 states the primal value "),
    "softmax": (["three.txt", "--loss", "logistic"], "the certificate states the primal value "),
    "regression": (["numbers.txt", "--regression"], "the certificate states the primal value "),
}


@pytest.mark.parametrize("case", CERTIFIED)
def test_certify_says_what_disagrees_in_the_words_of_the_file(case, folder):
    lines = Path("rows.txt").read_text().splitlines()
    three = [f"{10 * (i % 3 + 1)} {line.partition(' ')[2]}" for i, line in enumerate(lines)]
    Path("three.txt").write_text("\n".join(three))
    words, told = CERTIFIED[case]
    run("train", *words, "-o", "m", "-q")
    assert "Confirmed" in run("certify", "m", words[0], "-q").stdout
    lines = Path(words[0]).read_text().splitlines()
    label, _, row = lines[0].partition(" ")
    another = next(line.partition(" ")[0] for line in lines if not line.startswith(f"{label} "))
    Path("changed.txt").write_text("\n".join([f"{another} {row}", *lines[1:]]))
    said = refused("certify", "m", "changed.txt", "-q")
    assert said.startswith("error: not confirmed by changed.txt: the certificate")
    assert told in said
    assert "Either these are not the data the model was trained on, or the model was changed" in said
    assert ".0 " not in said.partition("states")[0]
    Path("fewer.txt").write_text("\n".join(lines[:-1]))
    told = "fewer.txt: found 59 rows, but the model was trained on 60. Give the data that it was trained on"
    assert told in refused("certify", "m", "fewer.txt", "-q")
    if case != "regression":
        labels = "the labels are down, up, but the model was trained on the classes "
        assert labels in refused("certify", "m", "words.txt", "-q")
        assert "and 55 more, but the model was trained on" in refused("certify", "m", "numbers.txt", "-q")
    else:
        assert "the labels are words, such as 'down', but the model predicts numbers" in refused(
            "certify", "m", "words.txt", "-q"
        )


def test_certify_finds_other_rows_in_the_places_of_support_vectors(folder):
    run("train", "rows.txt", "-o", "k", "--kernel", "rbf", "-q")
    Path("turned.txt").write_text("\n".join(Path("rows.txt").read_text().splitlines()[::-1]))
    told = refused("certify", "k", "turned.txt", "-q")
    assert "not confirmed by turned.txt: the support vectors of the model are not the rows of the data" in told


def test_classes_without_weight_may_be_in_the_data_that_certify_reads(folder):
    lines = Path("rows.txt").read_text().splitlines()
    Path("three.txt").write_text("\n".join([*lines, "7 1:1 2:5"]))
    run("train", "three.txt", "-o", "m", "--class-weight", "7=0", "-q")
    assert "Confirmed" in run("certify", "m", "three.txt", "-q").stdout


def test_a_model_without_a_certificate_says_why(folder):
    run("train", "rows.txt", "-o", "theirs", "--model-format", "liblinear", "-q")
    told = refused("certify", "theirs", "rows.txt", "-q")
    assert "theirs: this is a model file of LIBSVM or LIBLINEAR, which has no certificate" in told
    with maxmargin.open("rows.txt") as source:
        maxmargin.GaussianNB().fit(*_dense(source)).save("counts")
    told = refused("certify", "counts", "rows.txt", "-q")
    assert "counts: a GaussianNB has no certificate: it is not the answer to an optimisation problem" in told


def _dense(source):
    X, y = source.head(source.n_rows)
    return X.toarray(), y


@pytest.mark.parametrize("verb", ["predict", "certify"])
def test_data_in_the_place_of_the_model_are_told_before_anything_is_read(verb, model):
    Path("broken.txt").write_text("this line would be refused if it were read")
    assert "rows.txt is no model file. The model comes first, then the data" in refused(verb, "rows.txt", "broken.txt")


def test_certify_counts_the_columns_of_model_and_data(model):
    assert "found 10 features, but the model was trained on 5" in refused("certify", model, "wide.txt", "-q")
    X, y = np.eye(6)[np.arange(60) % 6][:, :5], np.arange(60) % 2
    Path("short.txt").write_text(libsvm_text(X, y).replace(" 5:0.0", "").replace(" 5:1.0", ""))
    run("train", "short.txt", "-o", "s", "--n-features", 5, "-q")
    assert maxmargin.load("s").n_features_in_ == 5
    assert "Confirmed" in run("certify", "s", "short.txt", "-q").stdout  # its text ends at column 4


@pytest.mark.parametrize("name", ["new.npy", "new.tsv", "new.tsv.gz", "new.NPY"])
def test_convert_writes_no_file_that_its_name_belies(name, folder):
    assert "can be read, not written. Give the new file another ending" in refused("convert", "rows.txt", name)
    assert not Path(name).exists()
    run("convert", "rows.txt", name, "--to", "libsvm", "-q")
    whole = Path(name).read_bytes()
    assert (gzip.decompress(whole) if name.endswith(".gz") else whole).startswith((b"0 1:", b"1 1:"))


@pytest.mark.parametrize("name", ["new.parquet.gz", "new.npz.zst", "new.blocks.xz"])
def test_convert_compresses_text_alone(name, folder):
    told = refused("convert", "rows.txt", name)
    assert "only text is compressed" in told
    assert f".csv{Path(name).suffix}, or .txt{Path(name).suffix} for LIBSVM text" in told
    assert "--to pq is not known" in refused("convert", "rows.txt", "new", "--to", "pq")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_convert_refuses_tables_of_more_columns_than_tables_have(ending, folder):
    pytest.importorskip("pyarrow", reason="Parquet and Arrow files need the extra `files`")
    Path("sparse.txt").write_text("1 4097:1\n-1 1:2\n")
    told = refused("convert", "sparse.txt", f"new.{ending}")
    assert "the rows have 4,097 columns; Parquet and Arrow files keep every zero" in told
    assert not Path(f"new.{ending}").exists()
    run("convert", "sparse.txt", f"new.{ending}", "--n-features", 4096, "--skip-bad-rows", 1, "-q")


def test_a_picture_that_cannot_be_drawn_is_told_before_the_data_are_read(folder):
    Path("broken.txt").write_text("this line would be refused if it were read")
    assert "--plot writes .png, .pdf, .svg, got 'p.xyz'" in refused("path", "broken.txt", "--plot", "p.xyz")
    told = refused("path", "broken.txt", "--kernel", "rbf", "--plot", "p.png")
    assert "--plot draws coefficients, which a kernel machine has not" in told


def test_predict_says_what_does_not_fit_the_model(model):
    words = run("predict", model, "words.txt", "-o", "p")
    assert "no label agrees: the file has" in words.stderr
    assert "the model knows 0, 1" in words.stderr
    assert "no label agrees" not in run("predict", model, "rows.txt", "-o", "p").stderr
    assert "Train with --loss logistic" in refused("predict", model, "rows.txt", "--probability", "-q")
    run("train", "numbers.txt", "--regression", "-o", "r", "-q")
    assert "What it predicts are its scores" in refused("predict", "r", "rows.txt", "--scores", "-q")
    assert "but the model predicts numbers" in refused("predict", "r", "words.txt", "-q")


@pytest.mark.parametrize("label", ["spam x", "1:2", "a#b", ""])
def test_convert_refuses_a_label_that_could_not_be_read_back(label, folder):
    np.savez("words.npz", X=np.ones((3, 2)), y=np.array(["one", label, "one"]))
    for name in ("new.txt", "new.txt.gz"):
        assert f"the label {label!r} cannot stand in LIBSVM text" in refused("convert", "words.npz", name)
    if label:
        run("convert", "words.npz", "new.csv", "-q")
        assert maxmargin.open("new.csv", label="label").y.tolist() == ["one", label, "one"]
    else:
        assert "an empty label" in refused("convert", "words.npz", "new.csv")
    assert not list(Path().glob("new.txt*"))


@pytest.mark.parametrize("name", ["new.txt", "new.csv", "new.npz", "new.parquet", "new.arrow"])
def test_convert_keeps_weights_or_refuses_them(name, folder):
    Path("kept").mkdir()
    with maxmargin.open([(np.ones((3, 2)), [0, 1, 1], [1.0, 0.5, 1.0])], cache="kept") as source:
        blocks = source.path
        assert "the rows have weights, such as 0.5" in refused("convert", blocks, name, "--format", "blocks")
        run("convert", blocks, "new.blocks", "--format", "blocks", "-q")
    assert maxmargin.open("new.blocks").weight.tolist() == [1.0, 0.5, 1.0]
    assert not Path(name).exists()


def test_what_does_not_fit_into_memory_is_one_line(folder, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(maxmargin.features.RandomFourier, "transform", lambda self, X: np.empty(1 << 55))
        told = refused("train", "rows.txt", "-o", "new", "-q", "--map", "fourier")
        assert "there is not enough memory: Unable to allocate" in told
    assert "is given twice" in refused("train", "rows.txt", "-o", "new", "--map", "fourier:gamma=1,gamma=2")


@pytest.mark.parametrize("form", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("verb", ["train", "inspect", "convert"])
def test_a_compressed_file_that_was_cut_is_one_line(form, verb, folder):
    whole = Path("rows.txt").read_bytes()
    if form == "zst":
        pyarrow = pytest.importorskip("pyarrow", reason="Parquet and Arrow files need the extra `files`")
        packed = pyarrow.compress(whole, codec="zstd", asbytes=True)
    else:
        packed = {"gz": gzip, "bz2": bz2, "xz": lzma}[form].compress(whole)
    Path(f"cut.{form}").write_bytes(packed[: len(packed) * 2 // 3])
    new = {"train": ["-o", "new"], "convert": ["new"]}.get(verb, [])
    assert f"cut.{form}: the compressed file ends in the middle" in refused(verb, f"cut.{form}", *new, "-q")
    assert not Path("new").exists()


@pytest.mark.parametrize("case", BAD)
def test_every_malformed_line_is_one_line_with_its_place(case, folder):
    line, words = BAD[case]
    Path("bad.txt").write_bytes(b"1 1:2 2:3\n" + line + b"\n-1 1:4\n")
    told = refused("train", "bad.txt", "-o", "m", "-q")
    assert "bad.txt, line 2: " in told
    assert words.replace('; dtype="float64" holds more', "") in told  # commands have no such option
    assert "=" not in told.partition("; ")[2]
    assert not Path("m").exists()


def strict_json(text):
    """What the text says, if it is one JSON object as the standard has it: without NaN and Infinity."""

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    return found


def test_every_verb_has_json_that_any_reader_takes(model):
    run("train", "rows.txt", "-o", "k", "--kernel", "rbf", "-q")
    run("train", "rows.txt", "-o", "s", "--kernel", "sigmoid", "--gamma", "1", "-q")
    commands = {
        "train": ["rows.txt", "-o", "new", "--max-passes", "500"],
        "predict": ["m", "rows.txt", "-o", "p"],
        "certify": ["m", "rows.txt"],
        "convert": ["rows.txt", "new.csv"],
        "evaluate": ["rows.txt", "--C", "1,2", "--folds", "3"],
        "path": ["rows.txt", "--C", "1,2"],
    }
    for verb, words in commands.items():
        result = run(verb, *words, "--json", "-q")
        assert strict_json(result.stdout)
        assert result.stderr == ""
    for file in ("m", "k", "s", "rows.txt", "rows.npy", "numbers.txt"):
        assert strict_json(run("inspect", file, "--json", "-q").stdout)
    assert strict_json(run("version", "--json").stdout)["numpy"] == np.__version__
    assert strict_json(run("convert", "rows.txt", "a.csv", "--json", "-q").stdout) == {
        "file": "a.csv",
        "format": "csv",
        "rows": 60,
        "features": 5,
        "skipped": 0,
    }


def test_a_checkpoint_of_other_data_is_refused_and_kept(folder):
    run("train", "rows.txt", "-o", "m", "--checkpoint", "state", "-q")
    before = {path.name: path.read_bytes() for path in Path("state").iterdir()}
    told = refused("train", "wide.txt", "-o", "n", "--checkpoint", "state", "-q")
    assert "is of another training" in told
    assert "Give another directory, or delete the file" in told
    assert {path.name: path.read_bytes() for path in Path("state").iterdir()} == before


def test_a_damaged_checkpoint_is_one_message(folder):
    Path("state").mkdir()
    Path("state/checkpoint.maxmargin").write_bytes(b"half a")
    told = refused("train", "rows.txt", "-o", "m", "--checkpoint", "state", "-q")
    place = Path("state/checkpoint.maxmargin")
    assert told == (
        f"error: {place} is damaged, or is no checkpoint: the training cannot go on from it. Delete it to begin anew, "
        "or name another directory.\n"
    )


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="Windows has no devices among its files")
def test_a_device_is_never_replaced(model):
    before = os.stat("/dev/null")
    assert "'/dev/null' is a device or a pipe, and would be replaced" in refused("train", "rows.txt", "-o", "/dev/null")
    assert "'/dev/null' is a device or a pipe" in refused("convert", "rows.txt", "/dev/null")
    run("predict", model, "rows.txt", "-o", "/dev/null", "-q")  # which is written to
    for save in (maxmargin.load(model).save, lambda path: maxmargin.load(model).save(path, format="liblinear")):
        with pytest.raises(maxmargin.errors.ParameterError, match=r"'/dev/null' is a device or a pipe, and a new file"):
            save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert os.stat("/dev/null").st_ino == before.st_ino


def test_a_dash_is_no_file(model):
    told = "'-' is no name of a file. Name one; predictions go to stdout where --output is left out."
    for words in (
        ["train", "rows.txt", "-o", "-"],
        ["predict", model, "rows.txt", "-o", "-"],
        ["convert", "rows.txt", "-"],
    ):
        assert told in refused(*words)
    assert not Path("-").exists()


def test_a_reader_that_goes_away_leaves_no_traceback(model):
    Path("many.txt").write_text("".join(Path("rows.txt").read_text() for _ in range(800)))
    program = subprocess.Popen(
        [*PROGRAM, "predict", str(model), "many.txt", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout.readline() in (b"0\n", b"1\n")
    program.stdout.close()
    assert program.stderr.read() == b""
    program.stderr.close()
    assert program.wait() in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="only Linux has a device that is always full")
def test_a_full_disk_behind_stdout_is_one_line():
    with open("/dev/full", "wb") as full:
        found = subprocess.run([*PROGRAM, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert found.stderr == "error: No space left on device\n"
    assert found.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process alone")
def test_ctrl_c_while_training_says_that_nothing_was_written_and_how_to_go_on(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 30)).round(3)
    Path("hard.txt").write_text(libsvm_text(X, rng.integers(0, 2, 1500)))
    words = ["--stream", "block", "--memory", "100KB", "--tol", "1e-14", "--C", "1e6", "--checkpoint", "state"]
    program = subprocess.Popen([*PROGRAM, "train", "hard.txt", "-o", "m", *words], stderr=subprocess.PIPE, text=True)
    while "features" not in program.stderr.readline():
        pass
    program.send_signal(signal.SIGINT)
    told = program.stderr.read()
    program.stderr.close()
    assert program.wait() == 130
    assert "interrupted: no model was written. The same command goes on from what is in state." in told
    assert "Traceback" not in told
    assert not Path("m").exists()


_ON_A_DISK_OF_ITS_OWN = """
import os, subprocess, sys
from typer.testing import CliRunner
from maxmargin.cli import app

disk, folder = sys.argv[1:]
os.chdir(folder)

def tell(*words):
    result = CliRunner().invoke(app, [*words, "-q"])
    print(result.exit_code, sorted(os.listdir(disk)), result.stderr.strip(), sep="|")

tell("predict", "m", "many.txt", "-o", f"{disk}/p")
tell("convert", "many.txt", f"{disk}/new.csv")
tell("convert", "noise.txt", f"{disk}/new.csv.gz")
tell("convert", "noise.txt", f"{disk}/new.parquet")
tell("convert", "noise.txt", f"{disk}/new.arrow")
tell("train", "many.txt", "-o", f"{disk}/new", "--cache", disk, "--stream", "block")
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
tell("predict", "m", "rows.txt", "-o", f"{disk}/p")
tell("train", "broken.txt", "-o", f"{disk}/new")
"""


def test_a_full_disk_and_a_read_only_one_are_told_and_nothing_is_left_there(model, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet and Arrow files need the extra `files`")
    Path("many.txt").write_text("".join(Path("rows.txt").read_text() for _ in range(200)))
    Path("noise.txt").write_text(libsvm_text(np.random.default_rng(0).normal(size=(3000, 5)), np.arange(3000) % 2))
    Path("broken.txt").write_text("this line would be refused if it were read")
    Path("disk").mkdir()
    mount = 'mount -t tmpfs -o size=16k tmpfs disk && exec "$@"'
    script = [sys.executable, "-c", _ON_A_DISK_OF_ITS_OWN, tmp_path / "disk", tmp_path]
    found = subprocess.run(["unshare", "-rm", "sh", "-c", mount, "sh", *script], capture_output=True, text=True)
    if "unshare" in found.stderr or "mount" in found.stderr:
        pytest.skip(f"no file system of one's own may be mounted here: {found.stderr}")
    assert found.stderr == ""
    lines = [line.split("|") for line in found.stdout.splitlines()]
    assert [line[:2] for line in lines] == [["2", "[]"]] * 8
    *full, full_cache, locked, locked_too = (line[2] for line in lines)
    for name, told in zip(("p", "new.csv", "new.csv.gz", "new.parquet", "new.arrow"), full, strict=True):
        assert f"disk/{name}: No space left on device after " in told
    assert "No space left on device. The block file needs at least " in full_cache
    for told in (locked, locked_too):
        assert told.startswith("error: nothing can be written into the directory")


def test_convert_keeps_every_digit(tmp_path):
    (tmp_path / "a.txt").write_text("1 1:0.123456789012345 2:16777217\n-1 1:0.126\n")
    result = RUN.invoke(app, ["convert", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "-q"])
    assert result.exit_code == 0
    words = (tmp_path / "b.txt").read_text().split()
    assert {"1:0.123456789012345", "2:16777217", "1:0.126"} <= set(words)
