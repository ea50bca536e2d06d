"""`--map` trains on features expanded while reading, and the model carries the map to whatever is done with it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import maxmargin
from maxmargin import LinearSVC
from maxmargin.features import HashedNGrams, KMers, Monomials, Nystroem, RandomFourier
from maxmargin.kernels import Gaussian
from maxmargin.models import read_record, write_record
from tests.command_line.commands import refused, run

MAPS = {
    "fourier:gamma=0.3,n_components=60": lambda X: RandomFourier(gamma=0.3, n_components=60),
    "nystroem:gamma=0.3,n_components=25,random_state=2": lambda X: Nystroem(Gaussian(gamma=0.3), 25, 2).fit(X),
    "polynomial:degree=3,coef0=0.5": lambda X: Monomials(3, coef0=0.5),
    "polynomial": lambda X: Monomials(2),
}
LETTERS = {
    "kmers:k=2,reverse_complement=true": KMers(2, reverse_complement=True),
    "hashed-ngrams:n_features=256,ngram_range=1-3,analyzer=char,norm=none": HashedNGrams(
        256, (1, 3), analyzer="char", norm=None
    ),
}


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Rows on either side of a circle, as text and as a table; the last column is often zero."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)).round(3)
    X[rng.random(X.shape) < 0.3] = 0.0
    X[:40, 3] = 0.0
    y = np.where((X**2).sum(axis=1) > 2.5, 1, -1)
    lines = [
        " ".join([str(label), *(f"{j + 1}:{value!r}" for j, value in enumerate(row) if value)])
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    Path("rows.txt").write_text("\n".join(lines) + "\n")
    Path("short.txt").write_text("\n".join(lines[:40]) + "\n")  # it ends at column 3
    table = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y, strict=True)]
    Path("rows.csv").write_text("\n".join(["a,b,c,d,y", *table]) + "\n")
    return X, y


@pytest.mark.parametrize("streamed", [False, True], ids=["in memory", "streamed"])
@pytest.mark.parametrize("text", MAPS)
def test_a_mapped_model_is_that_of_mapped_rows_and_is_confirmed(text, streamed, rows):
    X, y = rows
    run("train", "rows.txt", "-o", "m", "--map", text, "-q", *(["--stream", "cached-loops"] if streamed else []))
    features = MAPS[text](X).transform(X)
    assert isinstance(features, np.ndarray)
    expected, found = LinearSVC(tol=1e-8).fit(features, y), maxmargin.load("m")
    assert found.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-4)
    assert "Confirmed" in run("certify", "m", "rows.txt", "-q").stdout
    assert "Confirmed" in run("certify", "m", "rows.csv", "--label", "y", "-q").stdout
    told = json.loads(run("predict", "m", "rows.txt", "-o", "p", "--scores", "--json", "-q").stdout)
    lines = np.loadtxt("p")
    assert_array_equal(lines[:, 0], found.predict(features))
    assert_allclose(lines[:, 1], found.decision_function(features), rtol=1e-9, atol=1e-9)
    assert told["accuracy"] == found.score(features, y)


@pytest.mark.parametrize("text", MAPS)
def test_rows_of_fewer_columns_are_expanded_as_those_of_the_training(text, rows):
    run("train", "rows.txt", "-o", "m", "--map", text, "-q")
    run("predict", "m", "rows.txt", "-o", "all", "--scores", "-q")
    run("predict", "m", "short.txt", "-o", "some", "--scores", "-q")
    assert_allclose(np.loadtxt("some"), np.loadtxt("all")[:40], rtol=1e-9, atol=1e-9)
    Path("narrow.csv").write_text("a,b\n1,2\n")
    assert "found 2 features, but the model was trained on 4" in refused("predict", "m", "narrow.csv", "-q")
    assert "found 40 rows, but the model was trained on 120" in refused("certify", "m", "short.txt", "-q")


def test_inspect_names_the_map_and_the_columns_before_it(rows):
    run("train", "rows.txt", "-o", "m", "--map", "fourier:n_components=30", "-q")
    seen = json.loads(run("inspect", "m", "--json").stdout)
    assert seen["map"] == "RandomFourier(gamma=1.0, n_components=30, random_state=0)"
    assert (seen["columns before the map"], seen["features"]) == (4, 30)
    run("train", "rows.txt", "-o", "plain", "-q")
    assert "map" not in json.loads(run("inspect", "plain", "--json").stdout)


def test_a_checkpoint_of_another_map_is_refused(rows):
    words = ("train", "rows.txt", "-o", "m", "--stream", "block", "--checkpoint", "state", "-q")
    run(*words, "--map", "fourier:gamma=0.1")
    assert "is of another training" in refused(*words, "--map", "fourier:gamma=0.2")


@pytest.mark.parametrize("text", LETTERS)
def test_letters_in_bytes_are_expanded_as_texts_are(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    shares = {0: [0.25] * 4, 1: [0.4, 0.1, 0.1, 0.4]}
    words = ["".join(rng.choice(list("ACGT"), p=shares[k], size=rng.integers(10, 20))) for k in y.tolist()]
    np.save("words.npy", np.array(words, dtype="S19").view(np.uint8).reshape(80, 19))
    np.save("wider.npy", np.array(words, dtype="S30").view(np.uint8).reshape(80, 30))
    np.save("y.npy", y)
    run("train", "words.npy", "--labels", "y.npy", "-o", "m", "--map", text, "-q")
    assert "Confirmed" in run("certify", "m", "words.npy", "--labels", "y.npy", "-q").stdout
    model = maxmargin.load("m")
    expected = LinearSVC(tol=1e-8).fit(LETTERS[text].transform(words), y)
    assert model.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-4)
    for name in ("words", "wider"):
        run("predict", "m", f"{name}.npy", "-o", name, "-q")
        assert_array_equal(np.loadtxt(name), model.predict(LETTERS[text].transform(words)))
    Path("rows.txt").write_text("1 1:65\n0 1:67\n")
    told = "takes letters, as a .npy of type uint8: a text or sequence a row"
    assert told in refused("train", "rows.txt", "-o", "new", "--map", text, "-q")
    assert told in refused("predict", "m", "rows.txt", "-q")
    np.save("numbers.npy", np.ones((80, 19)))
    told = refused("train", "numbers.npy", "--labels", "y.npy", "-o", "new", "--map", text, "-q")
    assert "found float64; letters are bytes: a .npy of type uint8" in told


WRONG = {
    "no flag": (["--map", "kmers:reverse_complement=flase"], "reverse_complement must be True or False"),
    "coefficients too large": (["--map", "polynomial:degree=2000"], "are too large to be computed with, got"),
    "no range": (["--map", "hashed-ngrams:ngram_range=2"], "ngram_range must be a range such as 1-2"),
    "a degree apart": (["--map", "polynomial", "--degree", "3"], "is one of its own: --map polynomial:degree=3."),
    "no such map": (["--map", "fourie"], "--map fourie is not known. Did you mean 'fourier'?"),
    "no such parameter": (["--map", "fourier:n=3"], "--map fourier has no parameter 'n'. Known: gamma, n_components"),
    "a bad value": (["--map", "fourier:gamma=-3"], "--map fourier:gamma=-3: gamma must be a finite number"),
    "a bad kernel": (["--map", "nystroem:gamma=x"], "--map nystroem:gamma=x: gamma must be"),
    "no value": (["--map", "fourier:gamma"], "'gamma' is no name=value"),
    "a kernel": (["--map", "fourier", "--kernel", "rbf"], "--map is for linear machines"),
    "a width apart": (
        ["--map", "fourier", "--gamma", "0.2"],
        "that of a map is one of its own: --map fourier:gamma=0.2.",
    ),
    "a foreign file": (["--map", "fourier", "--model-format", "liblinear"], "a liblinear file has no room for the map"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_map_is_told_before_the_data_are_read(case, tmp_path):
    options, told = WRONG[case]
    (tmp_path / "broken.txt").write_text("this line would be refused if it were read")
    assert told in refused("train", tmp_path / "broken.txt", "-o", tmp_path / "m", *options)
    assert not (tmp_path / "m").exists()


def test_a_map_that_a_file_does_not_tell_in_full_is_refused(rows):
    run("train", "rows.txt", "-o", "m", "--map", "nystroem:n_components=10", "-q")
    record = read_record("m")
    told = record["attributes"]["feature_map_"]
    for name, broken in {
        "less": told | {"learned": {}},
        "other": told | {"kind": "Cosine"},
        "code": told | {"kind": "__builtins__"},
        "wrong": told | {"parameters": told["parameters"] | {"n_components": -1}},
        "type": told | {"dtype": "banana"},
        "columns": told | {"n_features": "x"},
        "another": told | {"kind": "RandomFourier", "parameters": {"n_components": 40}},
    }.items():
        write_record(record | {"attributes": record["attributes"] | {"feature_map_": broken}}, name)
        assert "the record of the model is incomplete" in refused("predict", name, "rows.txt", "-q")


def test_a_map_that_makes_too_many_features_is_told_in_words(rows):
    told = refused("train", "rows.txt", "-o", "new", "--map", "fourier:n_components=99999999998", "-q")
    assert "RandomFourier makes 99,999,999,998 features of a row" in told


@pytest.mark.parametrize("stream", [[], ["--stream", "block"]], ids=["in memory", "streamed"])
def test_features_that_are_not_finite_are_refused(stream, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[31, 2] = 1e200
    np.save("X.npy", X)
    np.save("y.npy", np.arange(50) % 2)
    told = refused("train", "X.npy", "--labels", "y.npy", "-o", "new", "--map", "polynomial", "-q", *stream)
    assert "the feature map makes inf of row 31 of the source, in column 9 of the features" in told


def test_a_letter_that_cannot_be_read_is_named_by_its_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = np.full((60_000, 40), ord("A"), dtype=np.uint8)
    words[51_234, 5] = ord("!")
    np.save("words.npy", words)
    np.save("y.npy", np.arange(60_000) % 2)
    told = refused(
        "train", "words.npy", "--labels", "y.npy", "-o", "new", "--map", "kmers:k=2", "-q", "--memory", "1MB"
    )
    within, start = (int(one.replace(",", "")) for one in re.search(r"sequence (\d+) .* row ([\d,]+)", told).groups())
    assert within + start == 51_234
    np.save("words.npy", np.array(["AAA", "ACG"]))
    assert "found a list of strings" in refused("train", "words.npy", "--labels", "y.npy", "-o", "new", "-q")


def test_an_experiment_compares_letters_with_and_without_a_map(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    np.save("words.npy", np.random.default_rng(0).choice(letters, size=(60, 12)))
    np.save("y.npy", np.arange(60) % 2)
    words = ("evaluate", "words.npy", "--labels", "y.npy", "--C", "1", "--experiment", "e.json", "--json", "-q")
    run(*words, "--map", "kmers:k=2,reverse_complement=yes")
    assert len(json.loads(run(*words).stdout)["scores"]) == 2


@pytest.mark.parametrize("text", MAPS)
def test_python_reads_the_map_of_a_model_file(text, rows):
    X, _ = rows
    run("train", "rows.txt", "-o", "m", "--map", text, "-q")
    model = maxmargin.load("m")
    with maxmargin.open("rows.txt", dtype=model.feature_map_.dtype) as source, maxmargin.open("short.txt") as short:
        assert model.certificate_.verify(source.map(model.feature_map_))
        expected = model.decision_function(MAPS[text](X).transform(X))
        assert_allclose(model.decision_function(source.map(model.feature_map_)), expected, atol=1e-9)
        assert_allclose(model.decision_function(short.map(model.feature_map_)), expected[:40], atol=1e-4)
        with pytest.raises(maxmargin.errors.DataError, match=r"give it source.map\(model.feature_map_\)"):
            model.predict(source)


def test_a_picture_of_three_classes_is_refused_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("three.txt").write_text("1 1:1\n2 1:2\n3 1:3\n")
    assert "3 classes have as many" in refused("path", "three.txt", "--plot", "p.png", "-q")
    assert not Path("p.png").exists()


@pytest.mark.parametrize("text", MAPS)
def test_a_path_and_an_experiment_expand_rows(text, rows):
    X, y = rows
    expected = LinearSVC(C=0.1).fit(MAPS[text](X).transform(X), y)
    path = json.loads(run("path", "rows.txt", "--C", "0.1,1", "--map", text, "--json", "-q").stdout)["path"]
    assert path[0]["certificate"]["primal"] == pytest.approx(expected.certificate_.primal, rel=1e-3)
    run("evaluate", "rows.txt", "--C", "1", "--experiment", "e.json", "-q")
    words = ("evaluate", "rows.txt", "--C", "1", "--map", text, "--experiment", "e.json", "--json", "-q")
    seen = json.loads(run(*words).stdout)
    assert list(seen["scores"]) == ["C=1", f"C=1, map={text}"]
    again = json.loads(run(*words, "--reveal").stdout)
    assert 0.0 < again["test_score"] <= 1.0
    assert "--map is for linear machines" in refused("path", "rows.txt", "--kernel", "rbf", "--map", text)
    assert "is for kernels" in refused("evaluate", "rows.txt", "--gamma", "1", "--map", text)
