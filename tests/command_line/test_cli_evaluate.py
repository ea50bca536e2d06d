"""`maxmargin evaluate`: one look at the test set a file, and nothing that was asked for is passed over in silence."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import dump_svmlight_file

import maxmargin
from maxmargin import LinearSVC
from maxmargin.evaluate import Experiment
from tests.command_line import commands


def run(*words, code=0):
    """The result of `maxmargin evaluate`, which must end with `code`."""
    return commands.run("evaluate", *words, "-q", code=code)


def refused(*words):
    """The one line of an error."""
    return commands.refused("evaluate", *words, "-q").rstrip()


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A file of 120 rows of two classes, in the directory that the commands run in."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)).round(3)
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.8 * rng.normal(size=120) > 0.0, 1, -1)
    monkeypatch.chdir(tmp_path)
    dump_svmlight_file(X, y, "rows.txt", zero_based=False)
    return "rows.txt"


def test_a_look_needs_a_file_that_remembers_it(rows):
    assert "--reveal needs --experiment FILE" in refused(rows, "--reveal")


def test_a_command_chooses_among_the_models_it_names_and_a_second_look_is_refused(rows):
    about = (rows, "--experiment", "e.json")
    first = json.loads(run(*about, "--C", "0.01,1,100", "--json").stdout)
    best = first["chosen"]
    others = [name for name in first["scores"] if name != best]
    shown = json.loads(run(*about, "--C", "0.01,1,100", "--reveal", "--json").stdout)
    assert shown["revealed"]["name"] == best
    for name in others:
        told = refused(*about, "--C", name.partition("=")[2], "--reveal")
        assert f"for {best!r}; a score of {name!r} on the same rows" in told
    again = json.loads(run(*about, "--C", best.partition("=")[2], "--reveal", "--json").stdout)
    assert (again["chosen"], again["test_score"]) == (best, shown["test_score"])
    assert json.loads(run(*about, "--C", others[0].partition("=")[2], "--json").stdout)["chosen"] == others[0]


def test_the_json_has_what_a_report_needs(rows):
    record = json.loads(run(rows, "--experiment", "e.json", "--C", "0.1,1", "--reveal", "--json").stdout)
    X, y = maxmargin.open(rows).head(120)
    same = Experiment(X, y, stratify=True).compare({"C=0.1": LinearSVC(C=0.1), "C=1": LinearSVC(C=1.0)})
    for name, scores in same.scores.items():
        model = record["models"][name]
        assert_allclose(model["scores"], scores)
        assert model["mean"] == pytest.approx(np.mean(scores))
        assert model["standard_error"] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(5))
        assert model["settings"]["C"] == repr(float(name.partition("=")[2]))
    expected = same.reveal()
    look = record["revealed"]
    assert record["test_score"] == look["score"] == expected.score
    assert look["standard_error"] == expected.standard_error
    assert look["data_hash"] == record["data_hash"] == expected.data_hash
    assert look["settings"]["class"] == "maxmargin.estimators.linear.linear_svc.LinearSVC"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", look["time"])
    assert (record["seed"], record["test"], record["cv"]) == (0, 0.2, "KFold(k=5, seed=0, stratify='auto')")


def test_what_was_settled_when_the_file_was_begun_is_kept_and_other_wishes_are_refused(rows):
    about = (rows, "--experiment", "e.json", "--C", "1")
    run(*about, "--folds", 3, "--seed", 4, "--test", 0.3)
    before = json.loads(run(*about, "--json").stdout)
    assert (before["seed"], before["test"], len(before["scores"]["C=1"])) == (4, 0.3, 3)
    assert run(*about, "--folds", 3, "--seed", 4, "--test", 0.3).stdout == run(*about).stdout
    assert "--seed 0 is not that of 'e.json', which was begun with --seed 4" in refused(*about, "--seed", 0)
    assert "--test 0.2 is not that of 'e.json', which was begun with --test 0.3" in refused(*about, "--test", 0.2)
    assert "scored with cv=KFold(k=3" in refused(*about, "--folds", 5)
    assert len(json.loads(run(*about[:3], "--C", "2", "--json").stdout)["scores"]["C=2"]) == 3


def test_machines_with_other_options_have_other_names(rows):
    names = {}
    for options in (
        [],
        ["--loss", "hinge"],
        ["--loss", "hinge", "--intercept", "none"],
        ["--class-weight", "balanced"],
        ["--tol", "1e-6"],
        ["--kernel", "linear"],
        ["--kernel", "rbf"],
        ["--kernel", "poly", "--degree", "2"],
        ["--kernel", "rbf", "--gamma", "0.5"],
    ):
        found = json.loads(run(rows, "--experiment", "e.json", "--C", "1", "--folds", 2, *options, "--json").stdout)
        names[found["chosen"]] = options
        assert list(found["scores"]) == list(names)
    assert list(names)[:3] == ["C=1", "C=1, loss=hinge", "C=1, loss=hinge, intercept=none"]
    assert list(names)[-2:] == ["C=1, gamma=scale, kernel=poly, degree=2", "C=1, gamma=0.5"]


def test_costs_that_differ_in_their_last_digit_are_two_models(rows):
    found = json.loads(run(rows, "--C", "1,1.0000000001", "--folds", 2, "--json").stdout)
    assert list(found["scores"]) == ["C=1", "C=1.0000000001"]


def test_a_width_without_a_kernel_is_refused(rows):
    for options in ([], ["--kernel", "linear"]):
        assert "--gamma 0.1 is for the kernels poly, rbf and sigmoid" in refused(rows, "--gamma", "0.1", *options)


def test_small_classes_are_refused_with_options_that_there_are(rows):
    X = np.random.default_rng(0).normal(size=(60, 2))
    for n_rare, words in (
        (1, "of the class 7 there is 1 row. The test"),
        (4, "class 7 there are 3 rows outside the test"),
    ):
        dump_svmlight_file(X, np.where(np.arange(60) < n_rare, 7, 1), "rare.txt", zero_based=False)
        told = refused("rare.txt", "--C", "1")
        assert words in told
        assert "--regression" in told
        assert "stratify" not in told
        run("rare.txt", "--C", "1", "--regression")
    run("rare.txt", "--C", "1", "--folds", "3")
