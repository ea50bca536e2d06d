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
from typer.testing import CliRunner

import maxmargin
from maxmargin.cli import app
from tests.test_text_parser import BAD

RUN = CliRunner()
PROGRAM = [sys.executable, "-c", "from maxmargin.cli import main; main()"]


def run(*words, code=0):
    """The result of a command, which must end with `code`."""
    result = RUN.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result


def refused(*words):
    """The only line on stderr of a command that does nothing else."""
    result = run(*words, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


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
    "C 0": (["--C", "0"], "C must be positive, got C=0.0"),
    "C a word": (["--C", "much"], "--C must be a number, got 'much'"),
    "no C": (["--C", ""], "--C must be a number"),
    "tol 0": (["--tol", "0"], "tol must be a positive number"),
    "seconds": (["--max-seconds", "-1"], "max_seconds must be a positive number"),
    "passes": (["--max-passes", "0"], "max_iter must be a positive whole number"),
    "seed": (["--seed", "-1"], "random_state must be"),
    "threads": (["--n-jobs", "0"], "n_jobs must be"),
    "memory 0": (["--memory", "0"], "memory must be a number of bytes or a text"),
    "memory in petabytes": (["--memory", "1PB"], "memory must be a number of bytes or a text"),
    "stream": (["--stream", "blok"], "Did you mean 'block'"),
    "intercept": (["--intercept", "maybe"], "Known: 'free'"),
    "kernel": (["--kernel", "gauss"], "Known: 'linear', 'poly', 'rbf', 'sigmoid'"),
    "loss": (["--loss", "epsilon"], "Known here: hinge, logistic, squared-hinge"),
    "epsilon": (["--regression", "--epsilon", "-1"], "epsilon must be zero or a positive number"),
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


def test_certify_counts_the_columns_of_model_and_data(model):
    assert "found 10 features, but the model was trained on 5" in refused("certify", model, "wide.txt", "-q")
    X, y = np.eye(6)[np.arange(60) % 6][:, :5], np.arange(60) % 2
    Path("short.txt").write_text(libsvm_text(X, y).replace(" 5:0.0", "").replace(" 5:1.0", ""))
    run("train", "short.txt", "-o", "s", "--n-features", 5, "-q")
    assert maxmargin.load("s").n_features_in_ == 5
    assert "Confirmed" in run("certify", "s", "short.txt", "-q").stdout  # its text ends at column 4


@pytest.mark.parametrize("name", ["new.parquet", "new.arrow", "new.npy", "new.tsv", "new.csv.gz", "new.txt.zst"])
def test_convert_writes_no_file_that_its_name_belies(name, folder):
    assert "can be read, not written. Give the new file another ending" in refused("convert", "rows.txt", name)
    assert not Path(name).exists()
    run("convert", "rows.txt", name, "--to", "libsvm", "-q")
    assert Path(name).read_text().startswith(("0 1:", "1 1:"))


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


@pytest.mark.parametrize("form", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("verb", ["train", "inspect", "convert"])
def test_a_compressed_file_that_was_cut_is_one_line(form, verb, folder):
    whole = Path("rows.txt").read_bytes()
    if form == "zst":
        pyarrow = pytest.importorskip("pyarrow")
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
    assert words in told
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
tell("train", "many.txt", "-o", f"{disk}/new", "--cache", disk, "--stream", "block")
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
tell("predict", "m", "rows.txt", "-o", f"{disk}/p")
tell("train", "broken.txt", "-o", f"{disk}/new")
"""


def test_a_full_disk_and_a_read_only_one_are_told_and_nothing_is_left_there(model, tmp_path):
    Path("many.txt").write_text("".join(Path("rows.txt").read_text() for _ in range(200)))
    Path("broken.txt").write_text("this line would be refused if it were read")
    Path("disk").mkdir()
    mount = 'mount -t tmpfs -o size=16k tmpfs disk && exec "$@"'
    script = [sys.executable, "-c", _ON_A_DISK_OF_ITS_OWN, tmp_path / "disk", tmp_path]
    found = subprocess.run(["unshare", "-rm", "sh", "-c", mount, "sh", *script], capture_output=True, text=True)
    if "unshare" in found.stderr or "mount" in found.stderr:
        pytest.skip(f"no file system of one's own may be mounted here: {found.stderr}")
    assert found.stderr == ""
    lines = [line.split("|") for line in found.stdout.splitlines()]
    assert [line[:2] for line in lines] == [["2", "[]"]] * 5
    full, full_too, full_cache, locked, locked_too = (line[2] for line in lines)
    assert "disk/p: No space left on device after " in full
    assert "disk/new.csv: No space left on device after " in full_too
    assert "No space left on device. The block file needs at least " in full_cache
    for told in (locked, locked_too):
        assert told.startswith("error: nothing can be written into the directory")


def test_convert_keeps_every_digit(tmp_path):
    (tmp_path / "a.txt").write_text("1 1:0.123456789012345 2:16777217\n-1 1:0.126\n")
    result = RUN.invoke(app, ["convert", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "-q"])
    assert result.exit_code == 0
    words = (tmp_path / "b.txt").read_text().split()
    assert {"1:0.123456789012345", "2:16777217", "1:0.126"} <= set(words)
