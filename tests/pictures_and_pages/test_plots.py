"""The pictures show the numbers they are given: lines, bars, boxes and marks are where the mathematics puts them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import lasso_path as reference_lasso_path
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB as ReferenceBayes
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as ReferenceSVC

import maxmargin
from maxmargin import SVC, SVR, DecisionTreeClassifier, LinearSVC, LogisticRegression, lasso_path, plot, ridge_path
from maxmargin.errors import DataError, ParameterError
from maxmargin.evaluate import grid
from maxmargin.evaluate import path as fit_path
from maxmargin.losses import (
    Absolute,
    EpsilonInsensitive,
    HardMargin,
    Hinge,
    Logistic,
    Softmax,
    Squared,
    SquaredHinge,
)
from maxmargin.plot.axes import palette_of
from maxmargin.plot.path import spread
from maxmargin.problems import History

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def two_clouds(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal([-1.0, 0.0], 0.8, (n, 2)), rng.normal([1.0, 0.5], 0.8, (n, 2))])
    return X, np.repeat(["left", "right"], n)


X, Y = two_clouds()
LINEAR = SVC(kernel="linear", C=1.0, tol=1e-10).fit(X, Y)
FLOWERS, SPECIES = load_iris(return_X_y=True)
MANY = SVC().fit(FLOWERS, SPECIES)
TREE = DecisionTreeClassifier(max_depth=4).fit(FLOWERS, SPECIES)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)
ALPHAS, COEFS, _ = reference_lasso_path(PATIENTS, PROGRESSION - PROGRESSION.mean(), alphas=np.logspace(0.3, -3, 20))
COSTS = [0.01, 0.1, 1.0, 10.0]
C_PATH = fit_path(LogisticRegression(), X, Y, C=COSTS)
SEARCH = grid(SVC(), X, Y, C=[0.1, 1.0, 100.0], gamma=[10.0, 0.01])

EVERY_PICTURE = {
    "boundary": lambda ax: plot.boundary(LINEAR, X, Y, ax),
    "margins": lambda ax: plot.margins(LINEAR, X, Y, ax),
    "convergence": lambda ax: plot.convergence(LINEAR, ax),
    "gaps": lambda ax: plot.convergence({"a": LINEAR, "b": MANY}, ax),
    "path": lambda ax: plot.path((ALPHAS, COEFS), ax=ax),
    "losses": lambda ax: plot.losses(ax=ax),
    "tree": lambda ax: plot.tree(TREE, ax),
    "surface": lambda ax: plot.surface(SEARCH, ax),
}
PICTURES = pytest.mark.parametrize("draw", EVERY_PICTURE.values(), ids=EVERY_PICTURE)


def line(ax, label: str) -> np.ndarray:
    """Points of the one line with this label."""
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return np.asarray(found.get_xydata())


def key(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def scattered(ax, label: str) -> np.ndarray:
    (found,) = [one for one in ax.collections if one.get_label() == label]
    return np.asarray(found.get_offsets())


# What holds for every picture


def test_every_public_picture_is_in_the_table():
    assert set(plot.__all__) <= set(EVERY_PICTURE)


@PICTURES
def test_axes_come_in_and_go_out_and_pyplot_hears_nothing_of_it(draw):
    ax = Figure().add_subplot()
    assert draw(ax) is ax
    assert pyplot.get_fignums() == []


@PICTURES
def test_without_axes_one_new_figure_is_made(draw):
    ax = draw(None)
    assert pyplot.get_fignums() == [ax.figure.number]


@PICTURES
def test_no_setting_of_matplotlib_is_changed(draw):
    before = dict(mpl.rcParams)
    draw(Figure().add_subplot())
    assert dict(mpl.rcParams) == before


@PICTURES
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_text_is_legible_on_its_paper(draw, style):
    def brightness(colour) -> float:
        return float(np.dot(mpl.colors.to_rgb(colour), (0.299, 0.587, 0.114)))

    with pyplot.style.context(style):
        ax = draw(None)
        paper = brightness(ax.get_facecolor())
        for text in [*ax.texts, ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels()]:
            box = text.get_bbox_patch()
            behind = paper if box is None else brightness(box.get_facecolor())
            assert abs(brightness(text.get_color()) - behind) > 0.25, text.get_text()


@PICTURES
@pytest.mark.parametrize("width", [3.5, 7.0], ids=["narrow", "wide"])
def test_the_key_and_the_names_cover_nothing_and_stay_in_the_figure(draw, width):
    figure = Figure(figsize=(width, 4.5), layout="constrained")
    ax = draw(figure.add_subplot())
    figure.draw_without_rendering()
    for text in ax.texts:
        extent = text.get_window_extent()
        assert extent.x0 >= figure.bbox.x0 - 1.0
        assert extent.x1 <= figure.bbox.x1 + 1.0
    legend = ax.get_legend()
    if legend is not None:
        assert legend.get_window_extent().y0 >= ax.patch.get_window_extent().y1
        assert legend.get_window_extent().y1 <= figure.bbox.y1


def test_matplotlib_is_imported_in_one_file_only():
    home = Path(maxmargin.__file__).parent
    pattern = re.compile(r"^\s*(from|import) matplotlib", re.MULTILINE)
    importing = [file.name for file in home.rglob("*.py") if pattern.search(file.read_text())]
    assert importing == ["axes.py"]


def test_the_colours_are_six_different_ones_on_either_paper():
    for style in ("default", "dark_background"):
        with pyplot.style.context(style):
            palette = palette_of(Figure().add_subplot())
            assert len(set(palette.series)) == 6
            assert palette.one(6) == palette.one(0)
            assert palette.tint("#FF0000", 1.0) == (1.0, 0.0, 0.0)
            assert palette.tint("#FF0000", 0.0) == pytest.approx(palette.paper)


# Margins


def heights(ax) -> np.ndarray:
    """Number of rows in each bar, one row a category: wrong, inside, on, beyond."""
    return np.array([[bar.get_height() for bar in bars] for bars in ax.containers])


def test_the_bars_count_the_rows_of_each_category_and_the_key_says_so():
    ax = plot.margins(LINEAR, X, Y)
    category = LINEAR.margins(X, Y).category
    counts = [int((category == name).sum()) for name in ("wrong", "inside", "on", "beyond")]
    assert min(counts) > 0
    assert_allclose(heights(ax).sum(axis=1), counts)
    assert key(ax)[:4] == [
        f"wrong side: {counts[0]}",
        f"inside the margin: {counts[1]}",
        f"on the margin: {counts[2]}",
        f"beyond the margin: {counts[3]}",
    ]


def test_the_bars_together_are_the_histogram_of_y_f():
    ax = plot.margins(LINEAR, X, Y, bins=25)
    found = LINEAR.margins(X, Y)
    edges = np.array([bar.get_x() for bar in ax.containers[0]])
    width = ax.containers[0][0].get_width()
    snapped = np.where(found.category == "on", 1.0, found.functional)
    expected = np.histogram(snapped, bins=np.append(edges, edges[-1] + width))[0]
    assert_allclose(heights(ax).sum(axis=0), expected)
    assert expected.sum() == len(X)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6])
def test_a_bar_begins_at_the_margin_for_every_scale(scale):
    model = SimpleNamespace(classes_=np.array([-1, 1]), decision_function=lambda rows: scale * rows[:, 0])
    ax = plot.margins(model, X, signs_of_clouds())
    edges = np.array([bar.get_x() for bar in ax.containers[0]])
    assert np.abs(edges - 1.0).min() <= 1e-9 * max(1.0, scale)
    assert len(edges) <= 45
    assert heights(ax).sum() == len(X)


def signs_of_clouds() -> np.ndarray:
    return np.where(Y == "right", 1, -1)


def test_the_margin_lines_are_at_minus_one_and_one_and_slack_is_shaded_up_to_one():
    ax = plot.margins(LINEAR, X, Y)
    assert sorted(float(one.get_xdata()[0]) for one in ax.get_lines()) == [-1.0, 0.0, 1.0]
    (shade,) = [patch for patch in ax.patches if patch.get_label() == "slack, ξ > 0"]
    assert shade.get_x() + shade.get_width() == 1.0
    assert shade.get_x() == ax.get_xlim()[0] <= -1.0


def test_a_model_of_scikit_learn_and_a_pipeline_have_margins_too():
    model = make_pipeline(StandardScaler(), ReferenceSVC()).fit(X, Y)
    margin = signs_of_clouds() * model.decision_function(X)
    assert f"wrong side: {int((margin <= 0).sum())}" in key(plot.margins(model, X, Y))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SVC(), X, Y), "Fit the model first"),
        ((SVR().fit(X, X[:, 0]), X, Y), "regression has no margins"),
        ((TREE, FLOWERS, SPECIES), "DecisionTreeClassifier has no decision_function"),
        ((MANY, FLOWERS, SPECIES), "the model knows 3"),
        ((LINEAR, X, Y[:5]), "one label a row of X, 80"),
        ((LINEAR, X, np.repeat("up", 80)), "the model knows .'left', 'right'. only"),
    ],
    ids=["unfitted", "regression", "tree", "three", "few labels", "strange label"],
)
def test_margins_that_cannot_be_drawn_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        plot.margins(*arguments)
    assert pyplot.get_fignums() == []


# Convergence


def test_primal_and_dual_are_those_of_the_history():
    ax = plot.convergence(LINEAR)
    history = LINEAR.history_
    assert_allclose(line(ax, "primal, $P$"), np.transpose([history.seconds, history.primal]))
    assert_allclose(line(ax, "dual, $D$"), np.transpose([history.seconds, history.dual]))


def test_a_model_and_its_history_give_the_same_lines():
    for label in ("primal, $P$", "dual, $D$"):
        of_model = line(plot.convergence(LINEAR, against="passes"), label)
        assert_allclose(of_model, line(plot.convergence(LINEAR.history_, against="passes"), label))


def test_several_fits_are_compared_by_their_relative_gaps_on_a_log_scale():
    fits = {"loose": LinearSVC(tol=1e-3).fit(X, Y), "tight": LinearSVC(tol=1e-8).fit(X, Y)}
    ax = plot.convergence(fits)
    assert ax.get_yscale() == "log"
    assert key(ax) == ["loose", "tight"]
    for name, fit in fits.items():
        gap, primal = np.array(fit.history_.gap), np.array(fit.history_.primal)
        drawn = line(ax, name)[:, 1]
        shown = gap > 0.0
        assert_allclose(drawn[shown], gap[shown] / primal[shown])
        assert np.isnan(drawn[~shown]).all()


def test_the_tolerance_is_a_line_where_all_fits_have_the_same():
    ax = plot.convergence([LinearSVC(tol=1e-5).fit(X, Y), LinearSVC(tol=1e-5, C=0.1).fit(X, Y)])
    assert key(ax) == ["fit 1", "fit 2", "tolerance"]
    assert_allclose(line(ax, "tolerance")[:, 1], 1e-5)


def test_a_model_of_several_machines_has_one_line_each_and_one_entry_in_the_key():
    ax = plot.convergence(MANY, show="gap")
    assert len(MANY.history_) == 3
    assert len(ax.get_lines()) == 3 + 1
    assert key(ax) == ["relative gap", "tolerance"]


def test_checks_without_a_bound_are_left_out():
    history = History()
    for primal, dual in ((np.inf, 0.0), (9.0, -np.inf), (8.0, 4.0), (6.0, 5.0)):
        history.record(1, primal, dual)
    assert_allclose(line(plot.convergence(history), "primal, $P$")[:, 1], [8.0, 6.0])


@pytest.mark.parametrize(
    ("fits", "message"),
    [
        (SVC(), "Fit the model first"),
        (ReferenceBayes().fit(X, Y), "not trained step by step"),
        ({}, "at least one fit"),
        ({"one": 3}, "'one', int, is neither"),
        (History(), "no check to draw"),
    ],
    ids=["unfitted", "no history", "none", "number", "empty"],
)
def test_fits_without_a_history_are_refused(fits, message):
    with pytest.raises(DataError, match=message):
        plot.convergence(fits)
    assert pyplot.get_fignums() == []


def test_what_to_show_and_against_what_must_be_known():
    with pytest.raises(ParameterError, match=r"show='gaps' is not known\. Did you mean 'gap'"):
        plot.convergence(LINEAR, show="gaps")
    with pytest.raises(ParameterError, match=r"against='second' is not known\. Did you mean 'seconds'"):
        plot.convergence(LINEAR, against="second")


# Path


def test_each_line_of_a_path_has_the_coefficients_of_its_feature():
    ax = plot.path((ALPHAS, COEFS))
    for feature, coefficients in enumerate(COEFS, start=1):
        drawn = line(ax, f"$w_{{{feature}}}$")
        order = np.argsort(ALPHAS)
        assert_allclose(drawn, np.transpose([ALPHAS[order], coefficients[order]]))


def test_lambda_falls_to_the_right_on_a_log_scale():
    ax = plot.path((ALPHAS, COEFS))
    assert ax.get_xscale() == "log"
    assert_allclose(ax.get_xlim(), [ALPHAS.max(), ALPHAS.min()])
    assert ax.get_xlabel() == r"$\lambda$"


def test_against_the_norm_the_place_is_the_sum_of_absolute_coefficients():
    ax = plot.path((ALPHAS, COEFS), "norm")
    assert ax.get_xscale() == "linear"
    norms = np.sort(np.abs(COEFS).sum(axis=0))
    assert_allclose(line(ax, "$w_{1}$")[:, 0], norms)
    assert_allclose(ax.get_xlim(), norms[[0, -1]])


def test_the_largest_coefficients_have_their_names_at_the_right_end():
    names = load_diabetes().feature_names
    ax = plot.path((ALPHAS, COEFS), feature_names=names, names=3)
    last = np.abs(COEFS[:, np.argmin(ALPHAS)])
    assert {text.get_text() for text in ax.texts} == {names[k] for k in np.argsort(-last)[:3]}
    for text in ax.texts:
        assert text.xy[0] == 1.0
        assert text.xy[1] == pytest.approx(COEFS[names.index(text.get_text()), np.argmin(ALPHAS)])


def test_a_feature_that_is_out_of_the_model_has_no_name():
    alphas, coefs = np.array([1.0, 0.1]), np.array([[0.0, 2.0], [0.0, 0.0]])
    assert [text.get_text() for text in plot.path((alphas, coefs)).texts] == ["$w_{1}$"]


def test_names_never_cover_each_other():
    coefs = np.outer(1.0 + 1e-3 * np.arange(8), [0.0, 1.0])
    ax = plot.path(([1.0, 0.1], coefs))
    ax.figure.draw_without_rendering()
    extents = sorted((Text.get_window_extent(name) for name in ax.texts), key=lambda box: box.y0)  # without leaders
    assert len(extents) == 8
    assert all(lower.y1 <= upper.y0 + 0.5 for lower, upper in itertools.pairwise(extents))


def test_spread_places_are_a_gap_apart_keep_their_order_and_stay_where_they_can():
    rng = np.random.default_rng(0)
    places = rng.normal(size=30)
    moved = spread(places, 0.05)
    order = np.argsort(places)
    assert (np.diff(moved[order]) >= 0.05 - 1e-12).all()
    assert moved.mean() == pytest.approx(places.mean())
    apart = np.arange(5.0)
    assert_allclose(spread(apart, 0.5), apart)


def test_a_path_of_machines_is_drawn_against_the_cost():
    ax = plot.path(C_PATH)
    assert ax.get_xlabel() == "$C$"
    assert_allclose(line(ax, "$w_{1}$"), np.transpose([COSTS, C_PATH.coefs[:, 0, 0]]))
    lam = line(plot.path(C_PATH, "lambda"), "$w_{1}$")[:, 0]
    assert_allclose(lam, np.sort(1.0 / np.array(COSTS)))


@pytest.mark.parametrize("make", [lasso_path, ridge_path])
def test_what_the_paths_of_this_library_give_is_drawn_as_it_is(make):
    found = make(PATIENTS, PROGRESSION - PROGRESSION.mean(), alphas=[0.01, 0.1, 1.0])
    drawn = line(plot.path(found), "$w_{3}$")
    assert_allclose(drawn, np.transpose([found.alphas, found.coefs[2]])[np.argsort(found.alphas)])


def test_a_record_with_alphas_and_coefs_is_a_path():
    ax = plot.path(SimpleNamespace(alphas=ALPHAS, coefs=COEFS))
    assert len(ax.get_lines()) == len(COEFS) + 1


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (LINEAR, "SVC is none of these"),
        ((ALPHAS, COEFS.T), "one row of coefs a feature"),
        ((ALPHAS, np.full_like(COEFS, np.nan)), "nan or infinity"),
        (([1.0, 0.0], [[1.0, 2.0]]), "draw the path against 'norm'"),
        (fit_path(LogisticRegression(), FLOWERS, SPECIES, C=[0.1, 1.0]), "Choose two classes"),
    ],
    ids=["model", "transposed", "nan", "lambda zero", "three classes"],
)
def test_what_is_no_path_is_refused(result, message):
    with pytest.raises(DataError, match=message):
        plot.path(result)
    assert pyplot.get_fignums() == []


def test_the_axes_of_a_path_may_stand_where_other_pictures_have_them():
    left, right = Figure().subplots(1, 2)
    assert plot.path((ALPHAS, COEFS), left) is left
    assert plot.path((ALPHAS, COEFS), right, "norm") is right
    assert (left.get_xlabel(), right.get_xlabel()) == (r"$\lambda$", r"$\Vert w \Vert_1$")
    assert pyplot.get_fignums() == []


def test_parameters_of_a_path_are_checked():
    with pytest.raises(ParameterError, match="against='alpha' is not known"):
        plot.path((ALPHAS, COEFS), "alpha")
    with pytest.raises(ParameterError, match="draw it against 'lambda'"):
        plot.path((ALPHAS, COEFS), "C")
    with pytest.raises(ParameterError, match="one name a feature, 10, got 2"):
        plot.path((ALPHAS, COEFS), feature_names=["a", "b"])


# Losses


def test_every_loss_is_one_on_the_boundary_and_bounds_the_zero_one_loss():
    ax = plot.losses()
    labels = ["hinge", "squared hinge", "logistic / ln 2", "squared / 0.5"]
    assert key(ax) == [*labels, "zero-one"]
    for label in labels:
        margin, loss = line(ax, label).T
        assert loss[margin == 0.0] == pytest.approx([1.0])
        assert (loss >= np.where(margin < 0.0, 1.0, 0.0) - 1e-12).all()


def test_the_curves_are_those_of_the_lecture():
    ax = plot.losses()
    z = line(ax, "hinge")[:, 0]
    for label, formula in {
        "hinge": np.maximum(0.0, 1.0 - z),
        "squared hinge": np.maximum(0.0, 1.0 - z) ** 2,
        "logistic / ln 2": np.log2(1.0 + np.exp(-z)),
        "squared / 0.5": (z - 1.0) ** 2,
    }.items():
        assert_allclose(line(ax, label)[:, 1], formula, atol=1e-12)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic(), HardMargin()], ids=lambda loss: loss.name)
def test_unscaled_a_margin_loss_is_its_own_value(loss):
    z, drawn = line(plot.losses([loss], scaled=False), loss.name).T
    assert_allclose(drawn, loss.value(z))


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.3), Absolute()], ids=lambda loss: loss.name)
def test_unscaled_a_residual_loss_is_its_value_at_y_f_minus_one_for_both_labels(loss):
    z, drawn = line(plot.losses([loss], scaled=False), loss.name).T
    for label in (-1.0, 1.0):
        assert_allclose(drawn, loss.value(label * z - label), atol=1e-15)


def test_one_loss_is_as_good_as_a_list_of_one():
    alone, listed = plot.losses(Hinge()), plot.losses([Hinge()])
    assert key(alone) == key(listed) == ["hinge", "zero-one"]
    assert_allclose(line(alone, "hinge"), line(listed, "hinge"))


def test_what_is_no_curve_is_refused():
    with pytest.raises(ParameterError, match="losses of one score a row, got Softmax"):
        plot.losses(Softmax())
    with pytest.raises(ParameterError, match="losses of one score a row"):
        plot.losses([Softmax()])
    with pytest.raises(ParameterError, match="got 'hinge'"):
        plot.losses(["hinge"])
    with pytest.raises(DataError, match="at least one loss"):
        plot.losses([])


# Surface


def cells(ax) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the cells and their values, the values of C along the columns."""
    (mesh,) = [one for one in ax.collections if hasattr(one, "get_coordinates")]
    return mesh.get_coordinates(), np.asarray(mesh.get_array())


def test_the_cells_are_the_mean_scores_with_the_cost_across_and_gamma_up():
    ax = plot.surface(SEARCH)
    corners, values = cells(ax)
    assert_allclose(values, SEARCH.mean.T[::-1])  # gamma was given falling
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$C$", r"$\gamma$")
    across, up = corners[0, :, 0], corners[:, 0, 1]
    assert_allclose(across[1:-1], np.sqrt([0.1 * 1.0, 1.0 * 100.0]))
    assert_allclose(up[1:-1], np.sqrt([0.01 * 10.0]))
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_the_order_of_the_parameters_does_not_matter():
    other = grid(SVC(), X, Y, gamma=[0.01, 10.0], C=[100.0, 0.1, 1.0])
    for of_first, of_other in zip(cells(plot.surface(SEARCH)), cells(plot.surface(other)), strict=True):
        assert_allclose(of_first, of_other)


def test_parameters_of_a_step_of_a_pipeline_have_their_letters_and_c_goes_across():
    search = grid(Pipeline([("svc", SVC())]), X, Y, svc__gamma=[0.01, 10.0], svc__C=[100.0, 0.1, 1.0])
    ax = plot.surface(search)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$C$", r"$\gamma$")
    assert_allclose(cells(ax)[1], search.mean[:, [1, 2, 0]])
    best = search.choose("best")
    assert_allclose(scattered(ax, "best mean"), [[best["svc__C"], best["svc__gamma"]]])


def test_the_star_is_the_best_and_the_diamond_what_the_rule_chooses():
    ax = plot.surface(SEARCH)
    for rule, label in (("best", "best mean"), ("one-standard-error", "one-standard-error rule")):
        chosen = SEARCH.choose(rule)
        assert_allclose(scattered(ax, label), [[chosen["C"], chosen["gamma"]]])


def test_the_dots_are_within_one_standard_error_of_the_best():
    dots = {tuple(dot) for dot in scattered(plot.surface(SEARCH), "within one standard error").tolist()}
    best = np.unravel_index(SEARCH.mean.argmax(), SEARCH.mean.shape)
    least = SEARCH.mean[best] - SEARCH.standard_error[best]
    costs, widths = SEARCH.parameters["C"], SEARCH.parameters["gamma"]
    expected = {(costs[i], widths[j]) for i, j in np.ndindex(SEARCH.mean.shape) if SEARCH.mean[i, j] >= least}
    assert dots == expected


def test_a_search_with_one_validation_set_has_a_best_setting_and_no_standard_error():
    search = grid(SVC(), X, Y, cv=ShuffleSplit(1, random_state=0), C=[0.1, 1.0], gamma=[0.1, 1.0])
    ax = plot.surface(search)
    assert key(ax) == ["best mean"]
    assert_allclose(scattered(ax, "best mean"), [list(search.best_params.values())])


def test_a_parameter_that_can_be_zero_has_a_linear_scale():
    ax = plot.surface(grid(SVC(kernel="poly"), X, Y, C=[0.1, 1.0], coef0=[0.0, 1.0, 2.0]))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert_allclose(cells(ax)[0][:, 0, 1], [-0.5, 0.5, 1.5, 2.5])


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (LINEAR, "SVC is something else"),
        (grid(SVC(), X, Y, C=[0.1, 1.0]), "two parameters, got 1: C"),
        (grid(SVC(), X, Y, C=[0.1, 1.0], gamma=["scale", 1.0]), "the values of gamma are"),
        (grid(SVC(), X, Y, C=[0.1, 0.1], gamma=[0.1, 1.0]), "each once"),
    ],
    ids=["model", "one", "words", "twice"],
)
def test_what_is_no_search_over_two_parameters_is_refused(search, message):
    with pytest.raises(DataError, match=message):
        plot.surface(search)
    assert pyplot.get_fignums() == []
