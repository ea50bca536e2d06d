"""The picture of a tree shows every node once, says what the node says, and is tidy."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier as ReferenceTree
from sklearn.tree import DecisionTreeRegressor as ReferenceRegressionTree

from maxmargin import SVC, DecisionTreeClassifier, plot
from maxmargin.errors import DataError, ParameterError
from maxmargin.plot.tree import places_of

mpl.use("Agg")

FLOWERS, SPECIES = load_iris(return_X_y=True)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)
TREE = ReferenceTree(max_depth=4, random_state=0).fit(FLOWERS, SPECIES)
REGRESSION_TREE = ReferenceRegressionTree(max_depth=3, random_state=0).fit(PATIENTS, PROGRESSION)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def boxes(ax) -> dict[int, str]:
    """Text of each box by the number of its node."""
    return {int(text.get_gid().split()[1]): text.get_text() for text in ax.texts if text.get_gid()}


@pytest.mark.parametrize("model", [TREE, REGRESSION_TREE], ids=["classes", "numbers"])
def test_every_node_has_a_box_and_every_child_an_edge(model):
    ax = plot.tree(model)
    assert sorted(boxes(ax)) == list(range(model.tree_.node_count))
    assert len(ax.get_lines()) == model.tree_.node_count - 1


def test_a_box_says_question_rows_impurity_and_class():
    shown = boxes(plot.tree(TREE, feature_names=["a", "b", "c", "d"], class_names=["one", "two", "three"]))
    nodes = TREE.tree_
    for node, text in shown.items():
        lines = text.split("\n")
        if nodes.children_left[node] >= 0:
            assert lines.pop(0) == f"{'abcd'[nodes.feature[node]]} ≤ {nodes.threshold[node]:.4g}"
        majority = ["one", "two", "three"][int(nodes.value[node, 0].argmax())]
        assert lines == [f"n = {nodes.n_node_samples[node]}", f"gini {nodes.impurity[node]:.3g}", majority]


def test_a_box_of_a_regression_tree_says_the_mean():
    root = boxes(plot.tree(REGRESSION_TREE))[0].split("\n")
    assert root[1:] == ["n = 442", f"squared error {PROGRESSION.var():.0f}", f"y = {PROGRESSION.mean():.3g}"]


def test_the_purer_a_box_the_fuller_its_colour():
    ax = plot.tree(TREE)
    face = {text.get_gid(): text.get_bbox_patch().get_facecolor()[:3] for text in ax.texts if text.get_gid()}
    setosa = 1  # a pure leaf; the root is an even mixture of three classes, of which the first is taken
    assert np.argmax(TREE.tree_.value[0, 0]) == np.argmax(TREE.tree_.value[setosa, 0]) == 0
    assert np.linalg.norm(np.subtract(face["node 1"], 1.0)) > np.linalg.norm(np.subtract(face["node 0"], 1.0))


def test_below_the_maximum_depth_leaves_are_counted():
    ax = plot.tree(TREE, max_depth=1)
    shown = boxes(ax)
    assert len(shown) == 3
    assert "… 7 leaves below" in shown[2]
    assert TREE.get_n_leaves() == 1 + 7
    assert list(boxes(plot.tree(TREE, max_depth=0))) == [0]


@pytest.mark.parametrize("size", [None, (5.0, 3.0), (12.0, 6.0)], ids=["new", "small", "large"])
def test_no_two_boxes_touch(size):
    deep = ReferenceTree(max_depth=4, random_state=0).fit(PATIENTS, PROGRESSION > 140)
    figure = None if size is None else Figure(figsize=size)
    ax = plot.tree(deep, None if figure is None else figure.add_subplot(), feature_names=load_diabetes().feature_names)
    ax.figure.draw_without_rendering()
    extents = [text.get_bbox_patch().get_window_extent() for text in ax.texts if text.get_gid()]
    assert len(extents) == deep.tree_.node_count > 25
    assert not any(one.overlaps(other) for one, other in itertools.combinations(extents, 2))
    assert all(box.x0 >= 0.0 and box.x1 <= ax.figure.bbox.x1 for box in extents)


@pytest.mark.parametrize("seed", range(5))
def test_the_layout_is_tidy(seed):
    rng = np.random.default_rng(seed)
    model = ReferenceTree(max_leaf_nodes=40, random_state=seed).fit(rng.normal(size=(200, 3)), rng.integers(0, 3, 200))
    left, right = model.tree_.children_left, model.tree_.children_right
    places = places_of(left, right)
    assert len(places) == model.tree_.node_count
    assert min(place.across for place in places.values()) == pytest.approx(0.0)
    for node, place in places.items():
        if left[node] >= 0:
            first, second = places[left[node]], places[right[node]]
            assert first.depth == second.depth == place.depth + 1
            assert place.across == pytest.approx((first.across + second.across) / 2.0)
    for depth in range(model.get_depth() + 1):
        level = sorted(place.across for place in places.values() if place.depth == depth)
        assert all(after - before >= 1.0 - 1e-9 for before, after in itertools.pairwise(level))


def test_a_full_tree_is_as_wide_as_its_leaves_need():
    left = np.array([1, 3, 5, -1, -1, -1, -1])
    right = np.array([2, 4, 6, -1, -1, -1, -1])
    places = places_of(left, right)
    assert [places[leaf].across for leaf in (3, 4, 5, 6)] == [0.0, 1.0, 2.0, 3.0]
    assert places[0] == (1.5, 0)


def test_a_single_leaf_is_a_tree():
    ax = plot.tree(ReferenceTree().fit(FLOWERS, np.repeat(1, 150)))
    assert list(boxes(ax).values()) == ["n = 150\ngini 0\ny = 1"]


def test_a_question_about_missing_values_is_asked_in_words():
    rows = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    root = boxes(plot.tree(DecisionTreeClassifier().fit(rows, [0, 0, 0, 1, 1])))[0]
    assert root.startswith("$x_{1}$ is known\n")


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_trees_of_this_library_and_of_scikit_learn_give_the_same_picture(criterion):
    ours, theirs = (
        boxes(plot.tree(kind(criterion=criterion, max_depth=2, random_state=0).fit(FLOWERS[:, 2:3], SPECIES)))
        for kind in (DecisionTreeClassifier, ReferenceTree)
    )
    assert ours == theirs


def test_what_is_no_tree_is_refused():
    with pytest.raises(DataError, match="Fit the model first"):
        plot.tree(ReferenceTree())
    with pytest.raises(DataError, match="SVC has no tree_"):
        plot.tree(SVC().fit(FLOWERS, SPECIES))
    with pytest.raises(DataError, match="one tree a target"):
        plot.tree(ReferenceRegressionTree(max_depth=1).fit(FLOWERS, FLOWERS))
    with pytest.raises(ParameterError, match="one name a feature, 4, got 2"):
        plot.tree(TREE, feature_names=["a", "b"])
    with pytest.raises(ParameterError, match="one name a class, 3, got 2"):
        plot.tree(TREE, class_names=["a", "b"])
    with pytest.raises(ParameterError, match="predicts numbers"):
        plot.tree(REGRESSION_TREE, class_names=["a"])
    with pytest.raises(ParameterError, match="max_depth must be 0 or more"):
        plot.tree(TREE, max_depth=-1)
    assert pyplot.get_fignums() == []
