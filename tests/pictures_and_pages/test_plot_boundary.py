"""The picture shows what the model says: its boundary, its margin, its support vectors and its slack."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.text import Text
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, DecisionTreeClassifier, LinearSVC, OneClassSVM
from maxmargin.errors import DataError, MissingExtraError, ParameterError
from maxmargin.plot import boundary

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def two_clouds(n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal([-1.0, 0.0], 0.8, (n, 2)), rng.normal([1.0, 0.5], 0.8, (n, 2))])
    return X, np.repeat(["left", "right"], n)


X, Y = two_clouds()
LINEAR = SVC(kernel="linear", C=1.0).fit(X, Y)
GAUSSIAN = SVC(kernel="rbf", C=3.0, gamma=0.5).fit(X, Y)
MODELS = pytest.mark.parametrize("model", [LINEAR, GAUSSIAN], ids=["linear", "gaussian"])


def signs(y: np.ndarray) -> np.ndarray:
    return np.where(y == "right", 1.0, -1.0)


def labelled(ax, label):
    """The one artist of the axes with this label."""
    (artist,) = [child for child in ax.get_children() if child.get_label() == label]
    return artist


def labels(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def slack_lines(ax) -> np.ndarray:
    """Start and end of each slack line, as an array of shape (lines, 2, 2)."""
    return labelled(ax, "slack").get_xydata().reshape(-1, 3, 2)[:, :2]


def contour_lines(ax) -> dict[float, np.ndarray]:
    """Vertices of the unfilled contours by their level."""
    sets = [child for child in ax.get_children() if hasattr(child, "levels") and not child.filled]
    return {float(drawn.levels[0]): np.concatenate(drawn.allsegs[0]) for drawn in sets}


@MODELS
def test_the_lines_are_where_the_decision_function_is_minus_one_zero_and_one(model):
    lines = contour_lines(boundary(model, X, Y))
    assert sorted(lines) == [-1.0, 0.0, 1.0]
    for level, vertices in lines.items():
        assert_allclose(model.decision_function(vertices), level, atol=2e-3)


def test_a_slack_line_of_a_linear_machine_has_length_slack_over_norm_of_w():
    starts, ends = np.moveaxis(slack_lines(boundary(LINEAR, X, Y)), 1, 0)
    slack = 1.0 - signs(Y) * LINEAR.decision_function(X)
    violating = slack > 1e-3
    assert_allclose(starts, X[violating])
    length = np.linalg.norm(ends - starts, axis=1)
    assert_allclose(length, slack[violating] / np.linalg.norm(LINEAR.coef_), rtol=1e-9)
    assert_allclose(LINEAR.decision_function(ends), signs(Y)[violating], atol=1e-9)


def test_a_slack_line_of_a_kernel_machine_ends_on_the_margin_of_its_class_at_a_right_angle():
    starts, ends = np.moveaxis(slack_lines(boundary(GAUSSIAN, X, Y, resolution=600)), 1, 0)
    violating = 1.0 - signs(Y) * GAUSSIAN.decision_function(X) > 1e-3
    assert_allclose(GAUSSIAN.decision_function(ends), signs(Y)[violating], atol=1e-3)
    step = 1e-5
    gradient = np.stack(
        [
            (GAUSSIAN.decision_function(ends + shift) - GAUSSIAN.decision_function(ends - shift)) / (2 * step)
            for shift in (np.array([step, 0.0]), np.array([0.0, step]))
        ],
        axis=1,
    )
    along = ends - starts
    # The end is the nearest crossing of the grid, so a line about as short as a cell has no direction worth
    # checking, and neither has one that ends where the picture does.
    inside = np.all((ends > X.min(axis=0)) & (ends < X.max(axis=0)), axis=1)
    long = inside & (np.linalg.norm(along, axis=1) > 0.2)
    assert long.sum() > 5
    cosine = np.abs(np.sum(along * gradient, axis=1)) / np.linalg.norm(along, axis=1)
    assert_allclose((cosine / np.linalg.norm(gradient, axis=1))[long], 1.0, atol=1e-2)


@MODELS
def test_the_support_vectors_are_ringed(model):
    rings = labelled(boundary(model, X, Y), "support vector").get_offsets()
    assert_allclose(rings, X[np.sort(model.support_)])


def test_on_other_data_the_rows_not_beyond_the_margin_are_ringed():
    others = X[::-1] + 0.05
    rings = labelled(boundary(LINEAR, others, Y[::-1]), "support vector").get_offsets()
    assert_allclose(rings, others[LINEAR.margins(others, Y[::-1]).category != "beyond"])


def test_a_linear_machine_without_support_rows_rings_those_not_beyond_the_margin():
    model = LinearSVC(C=1.0).fit(X, Y)
    rings = labelled(boundary(model, X, Y), "support vector").get_offsets()
    assert_allclose(rings, X[model.margins(X, Y).category != "beyond"])


def test_a_pipeline_is_drawn_in_the_units_of_its_input():
    rows = X * [100.0, 0.01]
    pipeline = make_pipeline(StandardScaler(), SVC(kernel="rbf")).fit(rows, Y)
    ax = boundary(pipeline, rows, Y)
    assert ax.get_xlim()[0] < rows[:, 0].min() < rows[:, 0].max() < ax.get_xlim()[1]
    assert_allclose(pipeline.decision_function(contour_lines(ax)[0.0]), 0.0, atol=5e-3)


def test_each_class_has_its_own_colour_and_its_own_marker():
    ax = boundary(LINEAR, X, Y)
    left, right = labelled(ax, "left"), labelled(ax, "right")
    assert_allclose(left.get_offsets(), X[Y == "left"])
    assert_allclose(right.get_offsets(), X[Y == "right"])
    assert not np.array_equal(left.get_facecolor(), right.get_facecolor())
    assert not np.array_equal(left.get_paths()[0].vertices, right.get_paths()[0].vertices)


def test_slack_and_support_vectors_can_be_left_out():
    assert labels(boundary(LINEAR, X, Y, slack=False, support=False)) == [
        "left",
        "right",
        "boundary, f = 0",
        "margin, f = ±1",
    ]


def test_axes_come_in_and_go_out_and_no_other_figure_appears():
    figure, ax = pyplot.subplots()
    assert boundary(LINEAR, X, Y, ax) is ax
    assert pyplot.get_fignums() == [figure.number]


def test_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(pyplot, "show", lambda *args, **kwargs: pytest.fail("plt.show was called"))
    boundary(LINEAR, X, Y)


@pytest.mark.parametrize("width", [2.5, 6.0], ids=["narrow", "wide"])
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_title_legend_and_axes_do_not_cover_each_other_nor_leave_the_figure(style, width):
    with pyplot.style.context(style):
        figure, ax = pyplot.subplots(figsize=(width, 4.0), layout="constrained")
        boundary(LINEAR, X, Y, ax, title="A title")
        figure.canvas.draw()
        (title,) = [text for text in ax.findobj(Text) if text.get_text() == "A title"]
        top, middle, bottom = (part.get_window_extent() for part in (title, ax.get_legend(), ax.patch))
    assert figure.bbox.y1 >= top.y1
    assert top.y0 >= middle.y1
    assert middle.y0 >= bottom.y1


def test_lines_and_rings_take_the_colour_of_the_text():
    with pyplot.style.context("dark_background"):
        ax = boundary(LINEAR, X, Y)
        assert_allclose(labelled(ax, "support vector").get_edgecolor()[0], [1.0, 1.0, 1.0, 1.0])
    ax = boundary(LINEAR, X, Y)
    assert_allclose(labelled(ax, "support vector").get_edgecolor()[0], [0.0, 0.0, 0.0, 1.0])


def test_a_model_without_a_margin_in_sight_is_drawn_without_a_warning():
    model = SVC(kernel="linear", C=1e-6).fit(X, Y)
    assert list(contour_lines(boundary(model, X, Y))) in ([], [0.0])


class Frame:
    """As much of a data frame as a picture needs."""

    def __init__(self, values, columns):
        self.values, self.columns = np.asarray(values), columns

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype) if dtype is not None else self.values


class AsksForNames:
    """A model that was trained on a data frame and wants one again."""

    classes_ = np.array(["left", "right"])

    def decision_function(self, rows):
        assert list(rows.columns) == ["radius", "texture"]
        return LINEAR.decision_function(np.asarray(rows))


def test_a_data_frame_lends_its_names_to_the_axes_and_to_the_grid():
    ax = boundary(AsksForNames(), Frame(X, ["radius", "texture"]), Y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("radius", "texture")


def test_given_names_win():
    ax = boundary(LINEAR, X, Y, feature_names=["across", "up"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("across", "up")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LINEAR, X[:, :1], Y), r"two features, got X of shape \(60, 1\)"),
        ((LINEAR, X[:0], Y[:0]), r"two features, got X of shape \(0, 2\)"),
        ((LINEAR, np.where(X > 2, np.nan, X), Y), "nan or infinity"),
        ((LINEAR, [["a", "b"]], ["left"]), "dense array of numbers, got list"),
        ((LINEAR, X, Y[:5]), "one label a row of X, 60"),
        ((LINEAR, X, np.repeat("up", 60)), "the model knows .'left', 'right'. only"),
        ((SVC(), X, Y), "Fit the model first"),
        ((make_pipeline(StandardScaler(), SVC()), X, Y), "Fit the model first"),
        ((SVR().fit(X, X[:, 0]), X, Y), "regression has no boundary"),
        ((DecisionTreeClassifier().fit(X, Y), X, Y), "DecisionTreeClassifier has no decision_function"),
        ((OneClassSVM().fit(X), X, Y), "OneClassSVM has no classes_. It is fitted, but it tells no classes apart"),
        ((OneClassSVM(), X, Y), "Fit the model first"),
        ((SVC().fit(X, np.arange(60) % 2), X, np.arange(60) % 7), r"label 2, and the model knows \[0, 1\] only"),
        ((SVC().fit(X, np.arange(60) % 3), X, Y), "the model knows 3"),
    ],
    ids=[
        "one column",
        "no rows",
        "nan",
        "words",
        "few labels",
        "strange label",
        "unfitted",
        "unfitted pipeline",
        "regression",
        "tree",
        "one class",
        "unfitted one class",
        "strange number",
        "three",
    ],
)
def test_what_cannot_be_drawn_is_refused_before_a_figure_is_made(arguments, message):
    with pytest.raises(DataError, match=message):
        boundary(*arguments)
    assert pyplot.get_fignums() == []


def test_parameters_out_of_range_are_refused():
    with pytest.raises(ParameterError, match="resolution must be at least 2"):
        boundary(LINEAR, X, Y, resolution=1)
    with pytest.raises(ParameterError, match="feature_names must be two names"):
        boundary(LINEAR, X, Y, feature_names=["one"])


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'maxmargin\[plot\]'"):
        boundary(LINEAR, X, Y)


def test_matplotlib_is_imported_only_when_something_is_drawn():
    check = "import sys, maxmargin.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
