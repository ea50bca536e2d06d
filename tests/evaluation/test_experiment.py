"""A sealed test set is looked at once, and the seal survives its file."""

import copy
import json
import pickle
import re
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import maxmargin
from maxmargin import SVC, SVR, LinearSVC, Ridge
from maxmargin.errors import CheckpointError, DataError, ParameterError, TestSetUsedError
from maxmargin.evaluate import (
    Experiment,
    compare_five_by_two,
    cross_validate,
    five_by_two,
    holdout,
    k_fold,
    leave_one_out,
    train_validation_test,
)
from maxmargin.evaluate.experiment import sealed_rows
from maxmargin.evaluate.fingerprints import data_hash, settings_of
from maxmargin.kernels import EditDistance

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
MODELS = {"line": LinearSVC(C=0.1), "curve": SVC(), "wiggle": SVC(C=1000.0, gamma=1.0)}
TRAIN, TEST = next(holdout(0.2, seed=7).split(X, y))


@pytest.fixture
def experiment():
    return Experiment(X, y, test=0.2, seed=7).compare(MODELS)


# --------------------------------------------------------------------------------------------------------- protocol


def test_models_are_compared_on_folds_of_the_training_rows_alone(experiment):
    for name, model in MODELS.items():
        expected = cross_val_score(model, X[TRAIN], y[TRAIN], cv=k_fold(5))
        assert experiment.scores[name] == pytest.approx(
            expected, abs=0.011
        )  # a row on the boundary may fall either way
    spoiled = X.copy()
    spoiled[TEST] = 1e6 * np.random.default_rng(0).normal(size=spoiled[TEST].shape)
    other = Experiment(spoiled, y, test=0.2, seed=7).compare(MODELS)
    for name in MODELS:
        assert_array_equal(other.scores[name], experiment.scores[name])
    assert_array_equal(other.retrain("line").coef_, experiment.retrain("line").coef_)


def test_the_revealed_score_is_that_of_the_retrained_model_on_the_sealed_rows(experiment):
    chosen = experiment.choose()
    assert chosen == max(experiment.scores, key=lambda name: np.mean(experiment.scores[name]))
    model = experiment.retrain()
    plain = clone(MODELS[chosen]).fit(X[TRAIN], y[TRAIN])
    assert_array_equal(model.predict(X), plain.predict(X))
    record = experiment.reveal()
    assert record.score == plain.score(X[TEST], y[TEST])
    assert record.standard_error == pytest.approx(np.sqrt(record.score * (1.0 - record.score) / len(TEST)))
    assert (record.name, record.n_train, record.n_test) == (chosen, len(TRAIN), len(TEST))
    assert (record.seed, record.test, record.n_compared) == (7, 0.2, 3)
    assert record.settings["C"] == repr(MODELS[chosen].C)
    assert record.data_hash == data_hash(X, y, None, None)
    assert record.versions["maxmargin"] == maxmargin.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", record.time)


def test_what_is_revealed_is_what_was_compared_whatever_becomes_of_the_objects():
    mine = LinearSVC(C=0.1)
    experiment = Experiment(X, y, test=0.2, seed=7).compare({"line": mine})
    mine.set_params(C=1e-9)
    model = experiment.retrain()
    assert model.C == 0.1
    model.set_params(C=1e-9).fit(X[TEST], y[TEST])
    assert experiment.reveal().score == LinearSVC(C=0.1).fit(X[TRAIN], y[TRAIN]).score(X[TEST], y[TEST])


def test_a_second_look_is_refused_and_the_same_model_gives_its_record_without_one(experiment):
    assert experiment.looks == 0
    assert "looked at 0 times" in str(experiment)
    record = experiment.reveal("line")
    assert experiment.looks == 1
    assert experiment.reveal("line") is record
    for other in ("curve", "wiggle"):
        with pytest.raises(TestSetUsedError, match="'line'"):
            experiment.reveal(other)
    experiment.compare({"the line again": clone(MODELS["line"])})
    assert experiment.reveal("the line again") is record
    assert experiment.looks == 1
    for text in (str(experiment), experiment._repr_html_()):
        assert "looked at once" in text
        assert record.time in text
        assert f"{record.score:.4f}" in text


def test_reveal_scores_once_and_only_once():
    class Counting(LinearSVC):
        scored = 0

        def score(self, X, y, sample_weight=None):
            if len(y) == len(TEST):
                Counting.scored += 1
            return super().score(X, y, sample_weight)

    # Four folds of 455 rows have 113 or 114 rows, as many as the test part: a validation part of another size is used.
    experiment = Experiment(X, y, test=0.2, seed=7).compare({"one": Counting()}, cv=holdout(0.4))
    experiment.retrain()
    assert Counting.scored == 0
    for _ in range(3):
        experiment.reveal()
    assert Counting.scored == 1


def test_a_look_that_fails_is_no_look():
    class Broken(LinearSVC):
        def score(self, X, y, sample_weight=None):
            if len(y) == len(TEST):
                raise RuntimeError("out of order")
            return super().score(X, y, sample_weight)

    experiment = Experiment(X, y, test=0.2, seed=7).compare({"broken": Broken(), "line": LinearSVC()}, cv=holdout(0.4))
    with pytest.raises(RuntimeError, match="out of order"):
        experiment.reveal("broken")
    assert experiment.looks == 0
    assert experiment.reveal("line").name == "line"


def test_the_one_standard_error_rule_takes_the_first_model_that_is_good_enough(experiment):
    means = {name: np.mean(scores) for name, scores in experiment.scores.items()}
    best = max(means, key=means.get)
    error = np.std(experiment.scores[best], ddof=1) / np.sqrt(5)
    chosen = experiment.choose("one-standard-error")
    assert chosen == next(name for name in MODELS if means[name] >= means[best] - error)
    assert "chosen" in str(experiment)
    assert experiment.choose("wiggle") == "wiggle"
    assert experiment.reveal().name == "wiggle"


def test_the_test_rows_are_in_no_public_attribute_and_in_no_text(experiment):
    public = [getattr(experiment, name) for name in dir(experiment) if not name.startswith("_")]
    arrays = [value for value in public if isinstance(value, np.ndarray)]
    arrays += [part for value in public if isinstance(value, tuple) for part in value]
    arrays += [part for value in public if isinstance(value, dict) for part in value.values()]
    for array in arrays:
        assert len(array) in (len(TRAIN), 5)
    rows, labels = experiment.training
    assert_array_equal(rows, X[TRAIN])
    assert_array_equal(labels, y[TRAIN])
    assert repr(experiment) == f"Experiment({len(TRAIN)} rows to train on, {len(TEST)} test rows sealed)"
    assert "sealed" in repr(vars(experiment)["_rows"])


def test_models_of_an_experiment_are_scored_on_the_same_folds():
    rng = np.random.RandomState(0)
    experiment = Experiment(X, y).compare({"a": LinearSVC(), "b": LinearSVC()}, cv=ShuffleSplit(3, random_state=rng))
    assert_array_equal(experiment.scores["a"], experiment.scores["b"])
    assert len(experiment.compare({"c": SVC()}).scores["c"]) == 3
    with pytest.raises(ParameterError, match="give the same one"):
        experiment.compare({"d": SVC()}, cv=4)
    pairs = list(k_fold(3).split(X[:455], y[:455]))
    by_pairs = Experiment(X, y).compare({"a": LinearSVC()}, cv=pairs)
    assert len(by_pairs.compare({"b": SVC()}, cv=iter(pairs)).scores["b"]) == 3
    with pytest.raises(ParameterError, match="give the same one"):
        by_pairs.compare({"c": SVC()}, cv=[(test, train) for train, test in pairs])


def test_a_known_model_is_not_trained_again_and_a_changed_one_needs_another_name(experiment):
    before = {name: scores.tolist() for name, scores in experiment.scores.items()}
    experiment.compare({"line": LinearSVC(C=0.1)}, cv=k_fold(5))
    assert {name: scores.tolist() for name, scores in experiment.scores.items()} == before
    with pytest.raises(ParameterError, match="other settings"):
        experiment.compare({"line": LinearSVC(C=0.2)})
    experiment.compare([SVC(C=3.0), LinearSVC()])
    assert list(experiment.scores) == [*MODELS, "SVC(C=3.0)", "LinearSVC()"]
    assert len(experiment.compare(SVC(C=4.0)).scores) == 6


def test_a_failed_comparison_leaves_the_choice_of_folds_open():
    experiment = Experiment(X, y)
    with pytest.raises(ParameterError):
        experiment.compare(SVC(C=-1.0), cv=3)
    assert len(experiment.compare(SVC(), cv=4).scores["SVC()"]) == 4


# -------------------------------------------------------------------------------------------------------------- file


def test_the_seal_survives_reopening(experiment, tmp_path):
    path = tmp_path / "experiment.json"
    experiment.choose("line")
    experiment.save(path)
    record = experiment.reveal()  # written at once: nobody has to remember to save
    again = Experiment.open(path, X, y)
    assert again.looks == 1
    assert again.reveal() == record
    assert again.reveal("line") == record
    with pytest.raises(TestSetUsedError, match="'line'"):
        again.reveal("curve")
    assert str(again) == str(experiment)


def test_an_experiment_goes_on_where_its_file_ended(experiment, tmp_path):
    path = tmp_path / "experiment.json"
    experiment.choose("one-standard-error")
    experiment.save(path)
    again = Experiment.open(path, X, y)
    assert str(again) == str(experiment)
    assert again.looks == 0
    with pytest.raises(ParameterError, match="holds no estimators"):
        again.reveal()
    with pytest.raises(ParameterError, match="other settings"):
        again.compare({"line": LinearSVC(C=7.0)})
    assert again.compare(MODELS).reveal().score == experiment.retrain().score(X[TEST], y[TEST])
    assert Experiment.open(path, X, y).looks == 1


def test_a_look_in_another_process_counts(experiment, tmp_path):
    path = tmp_path / "experiment.json"
    experiment.save(path)
    other = Experiment.open(path, X, y).compare(MODELS)
    record = other.reveal("line")
    with pytest.raises(TestSetUsedError):
        experiment.reveal("curve")
    assert experiment.reveal("line") == record


def test_a_file_that_remembers_a_look_is_not_overwritten(experiment, tmp_path):
    path = tmp_path / "experiment.json"
    experiment.save(path)
    experiment.reveal("line")
    experiment.save(path)  # itself it may
    fresh = Experiment(X, y, test=0.2, seed=7).compare(MODELS)
    with pytest.raises(TestSetUsedError, match="would be lost"):
        fresh.save(path)
    assert Experiment.open(path, X, y).looks == 1
    (tmp_path / "letter.txt").write_text("Dear reader")
    with pytest.raises(CheckpointError):
        fresh.save(tmp_path / "letter.txt")


def test_a_score_that_cannot_be_written_is_not_shown_and_not_counted(experiment, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    experiment.save(folder / "experiment.json")
    (folder / "experiment.json").unlink()
    folder.rmdir()
    with pytest.raises(CheckpointError, match=r"experiment\.json, the file of this experiment, is gone.* save\(path\)"):
        experiment.reveal("line")
    assert experiment.looks == 0
    experiment.save(tmp_path / "new.json")
    assert experiment.reveal("line").name == "line"
    assert Experiment.open(tmp_path / "new.json", X, y).looks == 1


def test_a_file_that_was_cut_short_or_changed_is_refused(experiment, tmp_path):
    path = tmp_path / "experiment.json"
    experiment.save(path)
    experiment.reveal("line")
    whole = path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            Experiment.open(path, X, y)
    content = json.loads(whole)
    changes = [
        {**content, "experiment": {**content["experiment"], "revealed": None, "looks": 0}},
        {**content, "experiment": {**content["experiment"], "seed": 8}},
        {**content, "version": 2},
        {**content, "format": "something else"},
        {**content, "experiment": None},
        [content],
    ]
    for change in changes:
        path.write_text(json.dumps(change))
        with pytest.raises(CheckpointError):
            Experiment.open(path, X, y)
    path.write_bytes(b"\xff\xfe" + whole)
    with pytest.raises(CheckpointError):
        Experiment.open(path, X, y)
    path.write_bytes(whole)
    assert Experiment.open(path, X, y).looks == 1


def test_other_data_are_refused(experiment, tmp_path):
    path = tmp_path / "experiment.json"
    experiment.save(path)
    changed = X.copy()
    changed[3, 4] += 1e-12
    order = np.random.default_rng(0).permutation(len(y))
    for rows, labels, more in [
        (changed, y, {}),
        (X, 1 - y, {}),
        (X[order], y[order], {}),
        (X[:-1], y[:-1], {}),
        (X.astype(np.float32), y, {}),
        (X, y, {"sample_weight": np.ones(len(y))}),
        (X, y, {"groups": np.arange(len(y))}),
    ]:
        with pytest.raises(CheckpointError, match="other data"):
            Experiment.open(path, rows, labels, **more)
    assert Experiment.open(path, np.asfortranarray(X), list(y)).looks == 0


# ----------------------------------------------------------------------------------------------------------- layouts


def _strings():
    words = ["kitten", "sitten", "mitten", "bitten", "sunday", "monday", "friday", "payday"] * 5
    return words, np.array(["cat"] * 4 + ["day"] * 4)[np.arange(40) % 8]


LAYOUTS = {
    "dense": (X, y, SVC()),
    "single": (X.astype(np.float32), y, LinearSVC()),
    "sparse": (sparse.csr_matrix(X), y, SVC()),
    "table": (*load_iris(return_X_y=True, as_frame=True), make_pipeline(StandardScaler(), SVC())),
    "strings": (*_strings(), SVC(kernel=EditDistance())),
    "text": (*_strings(), make_pipeline(CountVectorizer(analyzer="char"), LinearSVC())),
    "precomputed": (X @ X.T, y, SVC(kernel="precomputed", C=0.1)),
    "neighbours": (X.tolist(), list(y), KNeighborsClassifier()),
    "regression": (*load_diabetes(return_X_y=True), SVR(C=100.0)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_rows_goes_through_the_whole_experiment(layout, tmp_path):
    rows, labels, model = LAYOUTS[layout]
    path = tmp_path / "experiment.json"
    experiment = Experiment(rows, labels, test=0.25).compare({"only": model}, cv=k_fold(3))
    experiment.save(path)
    record = experiment.reveal()
    assert np.isfinite(record.score)
    assert record.n_train + record.n_test == len(labels)
    assert (record.standard_error is None) == (layout == "regression")
    again = Experiment.open(path, rows, labels).compare({"only": clone(model)})
    assert again.reveal() == record


def test_weights_and_groups_take_part():
    rng = np.random.default_rng(0)
    groups, weight = rng.integers(0, 40, len(y)), rng.integers(1, 4, len(y)).astype(float)
    experiment = Experiment(X, y, groups=groups, sample_weight=weight).compare(LinearSVC())
    train, test = next(holdout(0.2).split(X, y, groups))
    assert not set(groups[train]) & set(groups[test])
    plain = LinearSVC().fit(X[train], y[train], sample_weight=weight[train])
    record = experiment.reveal()
    assert record.score == pytest.approx(plain.score(X[test], y[test], sample_weight=weight[test]))
    assert record.standard_error is None


def test_a_score_by_name_is_used_for_comparing_and_revealing(tmp_path):
    experiment = Experiment(X, y, test=0.2, seed=7, scoring="roc_auc").compare(LinearSVC(), cv=k_fold(3))
    expected = cross_val_score(LinearSVC(), X[TRAIN], y[TRAIN], cv=k_fold(3), scoring="roc_auc")
    assert experiment.scores["LinearSVC()"] == pytest.approx(expected)
    experiment.save(tmp_path / "auc.json")
    record = Experiment.open(tmp_path / "auc.json", X, y).compare(LinearSVC()).reveal()
    assert record.scoring == "roc_auc"
    assert record.score > 0.95
    assert record.standard_error is None


def test_leave_one_out_and_a_validation_part_are_ways_to_compare():
    by_one = Experiment(X[:150], y[:150]).compare(SVC(), cv=leave_one_out())
    assert len(by_one.scores["SVC()"]) == 120
    by_part = Experiment(X, y).compare(SVC(), cv=holdout(0.125))
    assert len(by_part.scores["SVC()"]) == 1
    with pytest.raises(ParameterError, match="no standard error"):
        by_part.choose("one-standard-error")
    assert by_part.reveal().validation_standard_error is None


# ------------------------------------------------------------------------------------------------ hashes, refusals


def test_the_hash_is_about_values_and_not_about_memory():
    matrix = sparse.random(20, 10, 0.3, format="csc", random_state=0)
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    same = [
        (X, np.asfortranarray(X)),
        (X[:10], np.repeat(X[:10], 2, axis=0)[::2]),
        (["ab", "c"], np.array(["ab", "c"], dtype=object)),
        (matrix, matrix.tocsr()),
        (table, table.copy()),
    ]
    for one, other in same:
        assert data_hash(one) == data_hash(other)
    different = [
        (X, X.astype(np.float32)),
        (X, sparse.csr_matrix(X)),
        (X, X.reshape(-1, 10)),
        (["ab", "c"], ["a", "bc"]),
        (["1"], [1]),
        (table, table.rename(columns={"a": "c"})),
        (table, table[["b", "a"]]),
        (matrix, 2 * matrix),
        (None, []),
    ]
    for one, other in different:
        assert data_hash(one) != data_hash(other)
    assert data_hash(X, None) != data_hash(X)


def test_settings_tell_models_apart_but_not_their_threads_nor_the_process():
    def pipeline(**parameters):
        return make_pipeline(StandardScaler(), SVC(**parameters))

    same = [
        (SVC(n_jobs=1), SVC(n_jobs=2, verbose=1)),
        (pipeline(n_jobs=1), pipeline(n_jobs=2)),
        (SVC(kernel=EditDistance()), SVC(kernel=EditDistance())),
        (SVC(class_weight={0: 1.0, 1: 2.0}), SVC(class_weight={0: 1.0, 1: 2.0})),
        (SVC(kernel=lambda a, b: a @ b.T), SVC(kernel=lambda a, b: a @ b.T)),
    ]
    for one, other in same:
        assert settings_of(one) == settings_of(other)
        assert not re.search("0x[0-9a-f]", str(settings_of(one)))
    different = [
        (SVC(C=1.0), SVC(C=1.0 + 1e-15)),
        (pipeline(C=1.0), pipeline(C=2.0)),
        (pipeline(), make_pipeline(StandardScaler(), LinearSVC())),
        (pipeline(), make_pipeline(StandardScaler(with_mean=False), SVC())),
        (SVC(), LinearSVC()),
        (GaussianNB(priors=np.full(2, 0.5)), GaussianNB(priors=np.array([0.4, 0.6]))),
    ]
    for one, other in different:
        assert settings_of(one) != settings_of(other)


def test_an_experiment_refuses_what_makes_no_sense():
    experiment = Experiment(X, y)
    refused = [
        (ParameterError, "compare some models", lambda: experiment.choose()),
        (ParameterError, "compare some models", lambda: experiment.reveal()),
        (ParameterError, "at least one model", lambda: experiment.compare([])),
        (ParameterError, "no estimator", lambda: experiment.compare([SVC])),
        (ParameterError, "cv must be", lambda: experiment.compare(SVC(), cv=0.5)),
        (ParameterError, "pairs of training and test rows", lambda: experiment.compare(SVC(), cv=[1, 2])),
        (ParameterError, "dictionary", lambda: experiment.compare([SVC(), SVC()])),
        (ParameterError, "share of the rows", lambda: Experiment(X, y, test=20)),
        (ParameterError, "seed must be", lambda: Experiment(X, y, seed=None)),
        (ParameterError, "name of a score", lambda: Experiment(X, y, scoring=len)),
        (ParameterError, "Did you mean 'accuracy'", lambda: Experiment(X, y, scoring="acuracy")),
        (ParameterError, "compare takes estimators", lambda: experiment.compare("SVC")),
        (ParameterError, "compare takes estimators", lambda: experiment.compare(5)),
        (DataError, "one label a row, got y=None", lambda: Experiment(X, None)),
        (DataError, "Expected sequence or array-like", lambda: Experiment(5, y)),
        (DataError, "brings all of them into memory", lambda: Experiment(maxmargin.open([(X, y)]), y)),
        (DataError, "one label a row", lambda: Experiment(X, y[:-1])),
        (DataError, "zero or positive", lambda: Experiment(X, y, sample_weight=-np.ones(len(y)))),
        (ParameterError, "Did you mean 'Ridge\\(\\)'", lambda: experiment.compare([Ridge()]).choose("Ridge")),
        (ParameterError, "not known", lambda: experiment.reveal("nothing")),
    ]
    for kind, words, call in refused:
        with pytest.raises(kind, match=words):
            call()


# ---------------------------------------------------------------------------------------------------- ways around it


def test_every_file_of_an_experiment_remembers_the_look(experiment, tmp_path):
    old, new, gone = (tmp_path / name for name in ("old.json", "new.json", "gone.json"))
    for path in (gone, old, new):
        experiment.save(path)
    gone.unlink()
    record = experiment.reveal("line")
    for path in (old, new):
        again = Experiment.open(path, X, y).compare(MODELS)
        assert again.reveal("line") == record
        with pytest.raises(TestSetUsedError):
            again.reveal("curve")
    assert not gone.exists()


def test_a_copy_of_the_file_has_a_seal_but_a_second_look_in_the_process_is_counted(tmp_path):
    rows = X + 1.0  # data that no other test looks at
    first = Experiment(rows, y, seed=7).compare(MODELS)
    first.save(tmp_path / "experiment.json")
    (tmp_path / "copy.json").write_bytes((tmp_path / "experiment.json").read_bytes())
    assert first.reveal("line").earlier_looks == 0
    second = Experiment.open(tmp_path / "copy.json", rows, y).compare(MODELS)
    assert second.reveal("curve").earlier_looks == 1
    assert "in other experiments: 1." in str(second)
    assert "in other experiments" not in str(first)
    assert Experiment.open(tmp_path / "copy.json", rows, y).reveal("curve").earlier_looks == 1


def test_looks_of_other_experiments_on_the_same_data_are_counted_and_the_same_look_again_is_not():
    rows = X + 2.0
    for _ in range(2):  # as in a notebook that is run twice
        assert Experiment(rows, y, seed=7).compare(MODELS).reveal("line").earlier_looks == 0
    assert Experiment(rows, y, seed=7).compare(MODELS).reveal("curve").earlier_looks == 1
    assert Experiment(rows, y, seed=8).compare(MODELS).reveal("line").earlier_looks == 2
    assert Experiment(rows + 0.5, y, seed=8).compare(MODELS).reveal("line").earlier_looks == 0


def test_a_look_that_a_file_remembers_counts_for_later_experiments_on_the_same_data(tmp_path, monkeypatch):
    rows, path = X + 3.0, tmp_path / "experiment.json"
    first = Experiment(rows, y, seed=7).compare(MODELS)
    first.save(path)
    first.reveal("line")
    monkeypatch.setattr(sealed_rows, "_made", set())  # as in a new process
    assert Experiment.open(path, rows, y).looks == 1
    assert Experiment(rows, y, seed=7).compare(MODELS).reveal("curve").earlier_looks == 1


def test_data_changed_in_place_are_noticed(tmp_path):
    for change in (lambda rows, labels: rows.__imul__(2.0), lambda rows, labels: labels.__setitem__(3, 1 - labels[3])):
        rows, labels = X.copy(), y.copy()
        experiment = Experiment(rows, labels, seed=7).compare(MODELS)
        change(rows, labels)
        with pytest.raises(DataError, match="changed in place"):
            experiment.reveal("line")
        with pytest.raises(DataError, match="changed in place"):
            experiment.save(tmp_path / "experiment.json")
        assert experiment.looks == 0


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_an_experiment_keeps_no_copy_of_its_data_and_makes_none_to_hash_them(layout, tmp_path):
    rows = layout(np.random.default_rng(0).normal(size=(20_000, 100)))
    labels = np.arange(20_000) % 2
    size = 8 * 20_000 * 100
    tracemalloc.start()
    try:
        experiment = Experiment(rows, labels)
        experiment.save(tmp_path / "experiment.json")
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert experiment.looks == 0
    assert kept < 0.05 * size
    assert peak < 0.7 * size


def test_an_experiment_is_not_copied_with_its_seal(experiment):
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ParameterError, match="seal of its own"):
            duplicate(experiment)


def test_models_compared_or_chosen_after_the_look_are_marked(experiment, tmp_path):
    experiment.save(tmp_path / "experiment.json")
    experiment.choose("line")
    experiment.reveal()
    assert "after the look" not in str(experiment)
    experiment.compare({"late": LinearSVC(C=10.0)})
    assert experiment.choose("late") == "late"
    experiment.save(tmp_path / "experiment.json")
    for one in (experiment, Experiment.open(tmp_path / "experiment.json", X, y)):
        late = [line for line in str(one).splitlines() if line.strip().startswith("late")]
        assert late[0].endswith("chosen, compared after the look")
        assert "of late no test score is known" in str(one)
    with pytest.raises(TestSetUsedError):
        experiment.reveal()


def test_a_model_that_only_looks_like_the_one_compared_does_not_take_its_place():
    def kernel(gamma):
        return lambda A, B: np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(-1))

    wide, narrow = SVC(kernel=kernel(0.1)), SVC(kernel=kernel(10.0))
    assert settings_of(wide) == settings_of(SVC(kernel=kernel(0.1)))
    assert settings_of(wide) != settings_of(narrow)
    rows, labels = load_iris(return_X_y=True)
    experiment = Experiment(rows, labels).compare({"svc": wide})
    with pytest.raises(ParameterError, match="other settings"):
        experiment.compare({"svc": narrow})

    class Silent:
        """A kernel without a text."""

        def __init__(self, gamma):
            self.gamma = gamma

        def __call__(self, A, B):
            return kernel(self.gamma)(A, B)

    class Mute(Silent):
        """A kernel whose text says nothing about it."""

        def __repr__(self):
            return "Mute()"

    experiment = Experiment(rows, labels).compare({"svc": SVC(kernel=Silent(0.1))})
    with pytest.raises(ParameterError, match="other settings"):
        experiment.compare({"svc": SVC(kernel=Silent(10.0))})
    experiment = Experiment(rows, labels).compare({"svc": SVC(kernel=Mute(0.1))})
    experiment.compare({"svc": SVC(kernel=Mute(10.0))})  # not trained, and not taken either
    assert experiment.retrain().kernel.gamma == 0.1
    experiment.compare({"svc2": SVC(kernel=Mute(10.0))}).reveal("svc")
    with pytest.raises(TestSetUsedError, match="'svc2'"):  # it prints alike, but its scores were others
        experiment.reveal("svc2")


def test_arrays_deep_in_a_parameter_tell_settings_apart():
    def settings(values, kind=np.float64):
        return settings_of(FunctionTransformer(np.multiply, kw_args={"factors": [np.asarray(values, dtype=kind)]}))

    long = np.zeros(5000)
    other = long.copy()
    other[2500] = 1e-9  # where a printed array has dots
    assert settings(long) == settings(long.copy())
    assert settings(long) != settings(other)
    assert settings([1.0]) != settings([1.0], np.float32)
    kernels = [SVC(kernel=partial(rbf_kernel, gamma=gamma)) for gamma in (0.1, 0.1, 1.0)]
    assert settings_of(kernels[0]) == settings_of(kernels[1]) != settings_of(kernels[2])
    matrices = [FunctionTransformer(kw_args={"by": sparse.eye(3, format="csr") * k}) for k in (1.0, 1.0, 2.0)]
    assert settings_of(matrices[0]) == settings_of(matrices[1]) != settings_of(matrices[2])


def test_a_random_model_with_the_same_settings_is_another_look_unless_it_says_the_same():
    rows = X + 4.0
    counted = [Experiment(rows, y).compare(RandomForestClassifier(3)).reveal().earlier_looks for _ in range(4)]
    assert counted == [0, 1, 2, 3]  # three trees on 455 rows are never the same twice
    rows = X + 5.0
    fixed = [Experiment(rows, y).compare(RandomForestClassifier(3, random_state=0)).reveal() for _ in range(2)]
    assert [record.earlier_looks for record in fixed] == [0, 0]
    assert fixed[0].predictions_hash == fixed[1].predictions_hash


def test_comparing_on_data_changed_in_place_is_refused():
    rows = X.copy()
    experiment = Experiment(rows, y, seed=7).compare({"line": LinearSVC(C=0.1)})
    rows *= 2.0
    for call in (lambda: experiment.compare({"two": LinearSVC()}), lambda: experiment.retrain("line")):
        with pytest.raises(DataError, match="changed in place"):
            call()
    rows /= 2.0
    assert list(experiment.compare({"two": LinearSVC()}).scores) == ["line", "two"]


# -------------------------------------------------------------------------------------------- scores and folds

# Scikit-learn warns where it has no score; what is tested is that the experiment refuses that.
NO_SCORE_WARNING = pytest.mark.filterwarnings(
    "ignore:Only one class is present:sklearn.exceptions.UndefinedMetricWarning"
)


@NO_SCORE_WARNING
def test_a_score_that_is_not_a_number_is_refused_with_its_fold_and_nothing_is_kept(tmp_path):
    experiment = Experiment(X, y, seed=7, scoring="roc_auc")
    labels = experiment.training[1]
    one_class, rest = np.flatnonzero(labels == 1)[:50], np.flatnonzero(labels == 0)[:100]
    both = np.r_[np.flatnonzero(labels == 1)[100:120], rest[:20]]
    train = np.setdiff1d(np.arange(len(labels)), np.r_[one_class, both])
    folds = [(train, both), (train, one_class)]
    with pytest.raises(DataError, match=r"scoring='roc_auc' is nan on fold 2 of 2.*both classes"):
        experiment.compare({"line": LinearSVC()}, cv=folds)
    assert experiment.scores == {}
    experiment.compare({"line": LinearSVC()}, cv=folds[:1])
    experiment.save(tmp_path / "experiment.json")
    content = json.loads((tmp_path / "experiment.json").read_bytes(), parse_constant=pytest.fail)
    assert content["experiment"]["models"]["line"]["standard_error"] is None


@NO_SCORE_WARNING
def test_a_look_without_a_score_is_no_look():
    labels = y.copy()
    _, sealed = next(holdout(0.2, stratify=False).split(X, y))
    labels[sealed] = 1
    experiment = Experiment(X, labels, scoring="roc_auc", stratify=False)
    experiment.compare({"line": LinearSVC()}, cv=holdout(0.3))
    with pytest.raises(DataError, match="nan on the sealed rows"):
        experiment.reveal()
    assert experiment.looks == 0


def test_a_file_with_numbers_that_are_not_json_is_refused(experiment, tmp_path):
    path = tmp_path / "experiment.json"
    experiment.save(path)
    path.write_text(path.read_text().replace('"seed": 7', '"seed": NaN'))
    with pytest.raises(CheckpointError, match="NaN is no number of JSON"):
        Experiment.open(path, X, y)


@pytest.mark.parametrize(
    "cv",
    [k_fold(3, seed=4), holdout(0.3), five_by_two(), leave_one_out(), train_validation_test().without_test],
    ids=lambda cv: type(cv).__name__,
)
def test_without_cv_the_folds_are_those_used_before_also_after_reopening(cv, tmp_path):
    rows, labels = X[:120], y[:120]
    experiment = Experiment(rows, labels).compare({"line": LinearSVC()}, cv=cv)
    experiment.save(tmp_path / "experiment.json")
    again = Experiment.open(tmp_path / "experiment.json", rows, labels).compare({"copy": LinearSVC()})
    assert_array_equal(again.scores["copy"], experiment.scores["line"])
    other = holdout(0.4) if cv == holdout(0.3) else holdout(0.3)
    with pytest.raises(ParameterError, match="give the same one"):
        again.compare({"line": LinearSVC()}, cv=other)  # known, but not from such folds


def test_folds_that_no_file_holds_are_asked_for_again(tmp_path):
    folds = ShuffleSplit(3, random_state=0)
    Experiment(X, y).compare({"line": LinearSVC()}, cv=folds).save(tmp_path / "experiment.json")
    again = Experiment.open(tmp_path / "experiment.json", X, y)
    with pytest.raises(ParameterError, match=r"ShuffleSplit.*give it again"):
        again.compare({"curve": SVC()})
    assert len(again.compare({"curve": SVC()}, cv=folds).scores["curve"]) == 3


def test_models_are_compared_on_an_iterator_of_folds_all_of_them():
    folds = list(k_fold(3).split(X[:455], y[:455]))
    experiment = Experiment(X, y).compare({"a": LinearSVC(), "b": LinearSVC()}, cv=iter(folds))
    assert_array_equal(experiment.scores["a"], experiment.scores["b"])


def test_a_choice_may_be_among_some_of_the_models(experiment):
    means = {name: np.mean(scores) for name, scores in experiment.scores.items()}
    some = ["wiggle", "curve"]
    assert experiment.choose(among=some) == max(some, key=means.get)
    assert experiment.choose(among=["wiggle"]) == "wiggle"
    with pytest.raises(ParameterError, match="Did you mean 'curve'"):
        experiment.choose(among=["curves"])


@pytest.mark.parametrize("layout", ["coo", "bsr", "lil", "dok", "csc"])
def test_sparse_rows_of_every_layout_are_as_good_as_any(layout):
    rows = sparse.csr_matrix(X)
    expected = Experiment(rows, y, seed=7).compare({"line": LinearSVC()}, cv=3)
    found = Experiment(rows.asformat(layout), y, seed=7).compare({"line": LinearSVC()}, cv=3)
    assert_array_equal(found.scores["line"], expected.scores["line"])
    assert found.reveal().data_hash == expected.reveal().data_hash


def test_the_bar_of_a_comparison_is_named_after_its_model(capsys):
    Experiment(X, y).compare({"line": LinearSVC(), "curve": SVC(gamma=0.1)}, verbose=1)
    last = [line.partition(",")[0] for line in capsys.readouterr().out.splitlines() if "5 of 5" in line]
    assert last == ["compare line: 5 of 5 folds", "compare curve: 5 of 5 folds"]
    compare_five_by_two(LinearSVC(), LinearSVC(C=0.1), X[:100], y[:100], verbose=1)
    last = [line.partition(",")[0] for line in capsys.readouterr().out.splitlines() if "10 of 10" in line]
    assert last == ["compare_five_by_two A: 10 of 10 folds", "compare_five_by_two B: 10 of 10 folds"]
    cross_validate(LinearSVC(), X, y, verbose=1)
    assert "cross_validate: 5 of 5 folds" in capsys.readouterr().out


def test_the_look_of_a_quicker_process_stands(experiment, tmp_path):
    experiment.save(tmp_path / "experiment.json")
    other = Experiment.open(tmp_path / "experiment.json", X, y).compare(MODELS)

    class Slow(LinearSVC):
        def score(self, X, y, sample_weight=None):
            if len(y) == len(TEST):
                other.reveal("line")  # while this one is about to look
            return super().score(X, y, sample_weight)

    experiment.compare({"slow": Slow()})
    with pytest.raises(TestSetUsedError):
        experiment.reveal("slow")
    assert Experiment.open(tmp_path / "experiment.json", X, y).compare(MODELS).reveal("line").name == "line"
