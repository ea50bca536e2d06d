"""Decision trees: every split is the best one, weights are repetitions, and pruning cuts the weakest links."""

import itertools
import pickle

import numpy as np
import pytest
import sklearn.tree as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.utils.estimator_checks import estimator_checks_generator

from maxmargin import DecisionTreeClassifier, DecisionTreeRegressor, load
from maxmargin.errors import DataError, ParameterError
from maxmargin.trees import growth as tree_growth

CRITERIA = {
    "gini": DecisionTreeClassifier(criterion="gini"),
    "entropy": DecisionTreeClassifier(criterion="entropy"),
    "squared_error": DecisionTreeRegressor(),
}


def _checks():
    for estimator in (DecisionTreeClassifier(), DecisionTreeRegressor()):
        for model, check in estimator_checks_generator(estimator):
            if check.func.__name__ == "check_array_api_input":
                continue  # runs only where SciPy's experimental array interface was switched on before the import
            yield pytest.param(model, check, id=f"{type(model).__name__}-{check.func.__name__}")


@pytest.mark.filterwarnings("ignore")  # some checks provoke warnings of scikit-learn's own
@pytest.mark.parametrize("model, check", list(_checks()))
@pytest.mark.slow
def test_scikit_learn_conventions(model, check):
    check(model)


def impurity(y, w, criterion):
    """By its definition."""
    if criterion == "squared_error":
        return np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    p = np.array([w[y == label].sum() for label in np.unique(y)]) / w.sum()
    return 1.0 - np.sum(p**2) if criterion == "gini" else -np.sum(p * np.log2(p))


def ways_to_split(X):
    """Every feature, threshold and side of the missing values, and who goes left."""
    for j, column in enumerate(X.T):
        missing = np.isnan(column)
        values = np.unique(column[~missing])
        middles = [low / 2 + high / 2 for low, high in itertools.pairwise(values)]
        for threshold in [*middles, *([np.inf] if missing.any() and len(values) else [])]:
            for missing_left in (False, True) if missing.any() and threshold < np.inf else (False,):
                yield j, threshold, np.where(missing, missing_left, column <= threshold)


def decrease(y, w, left, criterion):
    """Of the summed impurity."""
    parts = ((y[side], w[side]) for side in (left, ~left))
    return w.sum() * impurity(y, w, criterion) - sum(v.sum() * impurity(u, v, criterion) for u, v in parts)


def assert_every_split_is_best(model, X, y, w):
    tree, criterion = model.tree_, model.criterion
    kept = w > 0
    X, y, w = X[kept], y[kept], w[kept]
    rows_of = {0: np.arange(len(y))}
    for node in range(tree.node_count):
        rows = rows_of[node]
        Xn, yn, wn = X[rows], y[rows], w[rows]
        assert tree.n_node_samples[node] == len(rows)
        assert tree.weighted_n_node_samples[node] == pytest.approx(wn.sum())
        assert tree.impurity[node] == pytest.approx(impurity(yn, wn, criterion), abs=1e-12)
        allowed = [way for way in ways_to_split(Xn) if min(way[2].sum(), (~way[2]).sum()) >= model.min_samples_leaf]
        if tree.children_left[node] == -1:
            assert len(np.unique(yn)) == 1 or not allowed
            continue
        j, threshold = tree.feature[node], tree.threshold[node]
        left = np.where(np.isnan(Xn[:, j]), tree.missing_go_to_left[node] == 1, Xn[:, j] <= threshold)
        assert any(j == k and threshold == t and np.array_equal(left, goes) for k, t, goes in allowed)
        best = max(decrease(yn, wn, goes, criterion) for _, _, goes in allowed)
        assert decrease(yn, wn, left, criterion) == pytest.approx(best, rel=1e-9, abs=1e-9 * wn.sum())
        rows_of[tree.children_left[node]], rows_of[tree.children_right[node]] = rows[left], rows[~left]


def problem(rng, kind, n=60):
    """Random rows of one kind of trouble, with labels 0 to 2 that can be learned to a part."""
    X = rng.normal(size=(n, 4))
    if kind == "ties":
        X = np.rint(X)
    elif kind == "repeated rows":
        X = np.repeat(X[: n // 3], 3, axis=0)
    elif kind == "constant columns":
        X[:, [0, 2]] = 0.0, 7.0
    elif kind == "missing":
        X[rng.random(X.shape) < 0.3] = np.nan
        X[:, 3] = np.nan
    elif kind == "few rows, many columns":
        X = rng.integers(0, 3, (6, 20)).astype(float)
    elif kind == "tiny":
        X *= 1e-12
    elif kind == "huge":
        X = X * 1e6 + 1e9
    y = (np.nan_to_num(X[:, 0]) > 0).astype(int) + rng.integers(0, 2, len(X))
    return X, y


KINDS = ("plain", "ties", "repeated rows", "constant columns", "missing", "few rows, many columns", "tiny", "huge")
WEIGHTS = {
    "none": lambda rng, n: np.ones(n),
    "whole, with zeros": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "any": lambda rng, n: rng.exponential(size=n) * 10.0 ** rng.integers(-3, 3, n),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.slow
def test_every_split_is_the_best_that_a_naive_search_finds(criterion, kind, weights, rng):
    X, y = problem(rng, kind)
    w = WEIGHTS[weights](rng, len(y))
    target = y + (rng.normal(size=len(y)) if criterion == "squared_error" else 0)
    for min_samples_leaf in (1, 4):
        model = clone(CRITERIA[criterion]).set_params(min_samples_leaf=min_samples_leaf)
        assert_every_split_is_best(model.fit(X, target, sample_weight=w), X, target, w)


@pytest.fixture(params=["blocks", "columns"])
def path_of_growth(request, monkeypatch):
    """The two ways to split a node: in a block, or by sweeping columns from scratch."""
    if request.param == "columns":
        monkeypatch.setattr(tree_growth, "_LEAST_BLOCK", 1)
        monkeypatch.setattr(tree_growth, "_LARGEST_BLOCK", 1)
    return request.param


@pytest.mark.parametrize("kind", ["ties", "missing", "few rows, many columns"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_large_nodes_are_split_as_well_as_small_ones(criterion, kind, path_of_growth, rng):
    X, y = problem(rng, kind)
    w = WEIGHTS["any"](rng, len(y))
    assert_every_split_is_best(clone(CRITERIA[criterion]).fit(X, y, sample_weight=w), X, y, w)


def same_tree(first, second, exact=True):
    for name, part in first.tree_.as_arrays().items():
        if exact or part.dtype.kind in "iu":
            assert_array_equal(part, second.tree_.as_arrays()[name], err_msg=name)
        else:
            assert_allclose(part, second.tree_.as_arrays()[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("options", [{}, {"max_features": 2, "random_state": 3}, {"splitter": "random"}], ids=str)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.slow
def test_blocks_and_columns_and_any_number_of_threads_give_the_same_tree(criterion, options, rng, monkeypatch):
    X = np.round(rng.normal(size=(5000, 5)), 1)
    X[:, 1] = rng.normal(size=5000)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0] + X[:, 1]) > 0.3).astype(int) + rng.integers(0, 2, 5000)
    fitted = []
    for least_block, alone in itertools.product((1, 64, 10**6), (1, 1 << 17)):
        monkeypatch.setattr(tree_growth, "_LEAST_BLOCK", least_block)
        monkeypatch.setattr(tree_growth, "_LARGEST_BLOCK", least_block)
        monkeypatch.setattr(tree_growth, "_ALONE", alone)
        for n_jobs in (1, 2, 3):
            model = clone(CRITERIA[criterion]).set_params(n_jobs=n_jobs, max_depth=7, **options)
            fitted.append(model.fit(X, y))
    assert fitted[0].tree_.node_count > 30
    for other in fitted[1:]:
        same_tree(fitted[0], other)


@pytest.mark.parametrize("options", [{}, {"max_features": 2}, {"splitter": "random"}], ids=str)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_best_first_without_a_limit_that_matters_is_depth_first(criterion, options, rng, monkeypatch):
    X, y = problem(rng, "missing", 200)
    deep = clone(CRITERIA[criterion]).set_params(**options).fit(X, y)
    for few in (0, 10**6):  # grown whole and then cut, or node by node
        monkeypatch.setattr(tree_growth, "_FEW_LEAVES", few)
        wide = clone(deep).set_params(max_leaf_nodes=10**5).fit(X, y)
        assert wide.get_n_leaves() == deep.get_n_leaves()
        assert_array_equal(wide.predict(X), deep.predict(X))
        assert_allclose(wide.feature_importances_, deep.feature_importances_, atol=1e-12)


def test_best_first_takes_the_largest_decrease_first(rng, monkeypatch):
    X, y = problem(rng, "plain", 300)
    whole = DecisionTreeClassifier().fit(X, y).tree_
    gain = whole.weighted_n_node_samples * whole.impurity
    for node in np.flatnonzero(~whole.is_leaf):
        gain[node] -= (whole.weighted_n_node_samples * whole.impurity)[
            [whole.children_left[node], whole.children_right[node]]
        ].sum()
    for n_leaves in (2, 3, 5, 9, 20):
        leaves = [0]
        while len(leaves) < n_leaves:
            node = max((t for t in leaves if not whole.is_leaf[t]), key=lambda t: gain[t])
            leaves.remove(node)
            leaves += [whole.children_left[node], whole.children_right[node]]
        expected = sorted(whole.n_node_samples[leaves])
        for few in (0, 10**6):
            monkeypatch.setattr(tree_growth, "_FEW_LEAVES", few)
            found = DecisionTreeClassifier(max_leaf_nodes=n_leaves).fit(X, y).tree_
            assert sorted(found.n_node_samples[found.is_leaf]) == expected


def test_ties_go_to_the_first_column_and_the_smallest_threshold():
    column = np.array([0.0, 1.0, 2.0, 3.0])
    y = [0, 1, 1, 0]  # the first and the last cut gain the same
    for order in ([0, 1], [1, 0]):
        X = np.column_stack([column, column[::-1]])[:, order]
        tree = DecisionTreeClassifier().fit(X, y).tree_
        assert (tree.feature[0], tree.threshold[0]) == (0, 0.5)


@pytest.mark.parametrize("kind", ["plain", "ties", "missing"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_whole_weights_are_repetitions_and_zero_is_absence(criterion, kind, rng):
    X, y = problem(rng, kind, 150)
    weight = rng.integers(0, 4, len(y))
    model = clone(CRITERIA[criterion])
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.tree_.threshold, repeated.tree_.threshold)
    assert_array_equal(weighted.tree_.feature, repeated.tree_.feature)
    assert_allclose(weighted.tree_.value, repeated.tree_.value, atol=1e-12)
    assert_allclose(weighted.tree_.impurity, repeated.tree_.impurity, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_units_of_features_targets_and_weights_do_not_matter(criterion, scale, rng):
    X, y = problem(rng, "plain", 200)
    base = clone(CRITERIA[criterion]).fit(X, y)
    factor = 2.0 ** np.round(np.log2(scale))  # a power of two, so that no digit changes
    other = clone(base).fit(X * factor, y * factor if criterion == "squared_error" else y, np.full(len(y), factor))
    assert_array_equal(base.apply(X), other.apply(X * factor))


@pytest.mark.parametrize("exponent", [-700, -30, 30, 700])
def test_targets_of_any_size_are_told_apart(exponent, rng):
    X, y = problem(rng, "plain", 200)
    y = y + rng.normal(size=len(y))
    base = DecisionTreeRegressor(max_depth=6).fit(X, y)
    other = DecisionTreeRegressor(max_depth=6).fit(X, np.ldexp(y, exponent))
    assert_array_equal(base.apply(X), other.apply(X))
    assert_allclose(np.ldexp(other.predict(X), -exponent), base.predict(X))


def test_increasing_functions_of_a_feature_give_the_same_leaves(rng):
    X, y = problem(rng, "ties", 200)
    assert_array_equal(
        DecisionTreeClassifier().fit(X, y).apply(X), DecisionTreeClassifier().fit(np.exp(X), y).apply(np.exp(X))
    )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_layout_and_precision_of_the_rows_do_not_change_the_tree(criterion, rng):
    X = rng.integers(-3, 4, (120, 6)).astype(float)
    y = (X[:, 0] > X[:, 1]).astype(int)
    base = clone(CRITERIA[criterion]).fit(X, y)
    kinds = (np.asfortranarray, sparse.csr_matrix, sparse.csc_array, np.float32, np.int16)
    for kind in kinds:
        rows = X.astype(kind) if isinstance(kind, type) and issubclass(kind, np.generic) else kind(X)
        other = clone(base).fit(rows, y)
        same_tree(base, other)
        assert_array_equal(other.apply(rows), base.apply(X))
        assert_array_equal(other.decision_path(rows).toarray(), base.decision_path(X).toarray())


@pytest.mark.slow
def test_a_column_with_more_distinct_values_than_a_short_code_holds_is_split_exactly(rng):
    X = rng.permutation(70_000).astype(float)[:, np.newaxis] * 0.1
    y = (X[:, 0] > 4321.05).astype(int)
    tree = DecisionTreeClassifier().fit(X, y).tree_
    assert tree.node_count == 3
    assert 4321.0 < tree.threshold[0] < 4321.1


def test_a_threshold_between_neighbouring_numbers_parts_them():
    low = 1.0
    for dtype, high in ((np.float64, np.nextafter(1.0, 2.0)), (np.float32, np.nextafter(np.float32(1), np.float32(2)))):
        X = np.array([[low], [high]], dtype=dtype)
        assert_array_equal(DecisionTreeClassifier().fit(X, [0, 1]).predict(X), [0, 1])
    X = np.array([[-np.finfo(float).max], [np.finfo(float).max], [5e-324], [0.0]])
    assert_array_equal(DecisionTreeRegressor().fit(X, [1, 2, 3, 4]).predict(X), [1, 2, 3, 4])


DATA = {"iris": load_iris, "breast cancer": load_breast_cancer, "diabetes": load_diabetes}


@pytest.mark.parametrize("options", [{}, {"max_depth": 3}, {"max_leaf_nodes": 8}, {"min_samples_leaf": 7}], ids=str)
@pytest.mark.parametrize("data", DATA)
def test_training_impurity_is_that_of_the_peer(data, options):
    X, y = DATA[data](return_X_y=True)
    X = X.astype(np.float32)  # which theirs works in
    name = "DecisionTreeRegressor" if data == "diabetes" else "DecisionTreeClassifier"
    ours = {"DecisionTreeRegressor": DecisionTreeRegressor, "DecisionTreeClassifier": DecisionTreeClassifier}[name](
        **options
    ).fit(X, y)
    # Theirs breaks ties by chance; the trees of several seeds are compared, one of which must agree with ours.
    theirs = [getattr(peers, name)(random_state=seed, **options).fit(X, y) for seed in range(30)]

    def risk(model):
        tree = model.tree_
        leaf = tree.children_left == -1
        return float(tree.impurity[leaf] @ tree.weighted_n_node_samples[leaf]) / len(y)

    risks = [risk(model) for model in theirs]
    assert min(risks) - 1e-9 <= risk(ours) <= max(risks) + 1e-9
    assert ours.tree_.impurity[0] == pytest.approx(theirs[0].tree_.impurity[0])
    assert_allclose(
        ours.score(X, y), [model.score(X, y) for model in theirs][int(np.argmin(np.abs(np.array(risks) - risk(ours))))]
    )


def naive_pruning_path(tree):
    """Alpha and summed impurity after each cut of the weakest link, every value computed anew for every cut."""
    risk = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    ends = set(np.flatnonzero(tree.is_leaf))

    def leaves_below(node):
        if node in ends:
            return [node]
        return leaves_below(tree.children_left[node]) + leaves_below(tree.children_right[node])

    path = [(0.0, sum(risk[leaves_below(0)]))]
    while 0 not in ends:
        inner, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            if node not in ends:
                inner.append(node)
                waiting += [tree.children_left[node], tree.children_right[node]]
        price = {t: (risk[t] - sum(risk[leaves_below(t)])) / (len(leaves_below(t)) - 1) for t in inner}
        weakest = min(inner, key=lambda t: (price[t], t))
        ends.add(weakest)
        path.append((price[weakest], sum(risk[leaves_below(0)])))
    return np.array(path).T


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_pruning_path_is_that_of_the_definition(criterion, rng):
    X, y = problem(rng, "plain", 80)
    target = y + (rng.normal(size=len(y)) if criterion == "squared_error" else 0)  # no two links equally weak
    w = rng.exponential(size=len(y))
    model = clone(CRITERIA[criterion])
    path = model.cost_complexity_pruning_path(X, target, sample_weight=w)
    alphas, impurities = naive_pruning_path(clone(model).fit(X, target, sample_weight=w).tree_)
    assert_allclose(path.ccp_alphas, alphas, atol=1e-12)
    assert_allclose(path.impurities, impurities, atol=1e-12)
    assert not hasattr(model, "tree_")
    assert np.all(np.diff(path.ccp_alphas) >= -1e-12)
    assert np.all(np.diff(path.impurities) >= -1e-12)


def test_a_pruned_tree_has_the_least_cost_of_all_on_the_path(rng):
    X, y = problem(rng, "plain", 120)
    path = DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
    trees = {a: DecisionTreeClassifier(ccp_alpha=max(0.0, a)).fit(X, y).tree_ for a in np.unique(path.ccp_alphas)}

    def cost(tree, alpha):
        risk = tree.impurity[tree.is_leaf] @ tree.weighted_n_node_samples[tree.is_leaf] / len(y)
        return risk + alpha * tree.n_leaves

    for alpha, tree in trees.items():
        assert cost(tree, alpha) <= min(cost(other, alpha) for other in trees.values()) + 1e-12
    theirs = peers.DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
    assert path.impurities[-1] == pytest.approx(theirs.impurities[-1])


def test_the_path_of_a_row_is_where_it_was_sent(rng):
    X, y = problem(rng, "missing", 100)
    model = DecisionTreeClassifier(max_depth=4).fit(X, y)
    tree, path = model.tree_, model.decision_path(X).toarray()
    assert_array_equal(path.sum(axis=0), tree.n_node_samples)
    assert_array_equal(path.sum(axis=1), tree.depth[model.apply(X)] + 1)
    assert model.get_depth() == tree.max_depth == path.sum(axis=1).max() - 1
    assert model.get_n_leaves() == len(np.unique(model.apply(X)))


def test_probabilities_are_class_shares_and_agree_with_predictions(rng):
    X, y = problem(rng, "ties", 200)
    names = np.array(["ash", "birch", "cedar"])[y]
    model = DecisionTreeClassifier(max_depth=3).fit(X, names)
    leaf = model.apply(X)
    for node in np.unique(leaf):
        shares = [np.mean(names[leaf == node] == name) for name in model.classes_]
        assert_allclose(model.predict_proba(X)[leaf == node], [shares] * np.sum(leaf == node))
    assert_array_equal(model.predict(X), model.classes_[np.argmax(model.predict_proba(X), axis=1)])
    with np.errstate(divide="ignore"):
        assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(ccp_alpha=0.005), DecisionTreeRegressor(max_depth=4)], ids=str
)
def test_saved_and_pickled_trees_answer_as_before(model, tmp_path, rng):
    X, y = problem(rng, "missing", 100)
    model = clone(model).fit(X, y)
    model.save(tmp_path / "tree.model")
    for copy in (load(tmp_path / "tree.model"), pickle.loads(pickle.dumps(model))):
        same_tree(model, copy)
        assert_array_equal(copy.predict(X), model.predict(X))
        assert copy.certificate_ is None
        assert copy.get_params() == model.get_params()


def test_limits_are_kept(rng):
    X, y = problem(rng, "plain", 400)
    w = rng.exponential(size=400)
    assert DecisionTreeClassifier(max_depth=3).fit(X, y).get_depth() == 3
    assert DecisionTreeClassifier(max_leaf_nodes=7).fit(X, y).get_n_leaves() == 7
    tree = DecisionTreeClassifier(min_samples_split=40).fit(X, y).tree_
    assert tree.n_node_samples[~tree.is_leaf].min() >= 40
    tree = DecisionTreeClassifier(min_samples_leaf=0.05).fit(X, y).tree_
    assert tree.n_node_samples.min() >= 20
    tree = DecisionTreeRegressor(min_weight_fraction_leaf=0.1).fit(X, y, w).tree_
    assert tree.weighted_n_node_samples.min() >= 0.1 * w.sum() - 1e-9
    for criterion, model in CRITERIA.items():
        tree = clone(model).set_params(min_impurity_decrease=0.02).fit(X, y, w).tree_
        sums = tree.weighted_n_node_samples * tree.impurity / w.sum()
        inner = np.flatnonzero(~tree.is_leaf)
        gains = sums[inner] - sums[tree.children_left[inner]] - sums[tree.children_right[inner]]
        assert len(inner) > 0, criterion
        assert gains.min() >= 0.02 - 1e-12, criterion


def test_random_thresholds_lie_between_the_values_and_seeds_matter(rng):
    X, y = problem(rng, "plain", 200)
    trees = [DecisionTreeClassifier(splitter="random", random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    same_tree(trees[0], trees[1])
    assert not np.array_equal(trees[0].tree_.threshold, trees[2].tree_.threshold)
    for model in trees:
        assert model.score(X, y) == DecisionTreeClassifier().fit(X, y).score(X, y) == 1.0
        tree = model.tree_
        inner = ~tree.is_leaf
        assert np.all(tree.threshold[inner] >= X.min(axis=0)[tree.feature[inner]])
        assert np.all(tree.threshold[inner] < X.max(axis=0)[tree.feature[inner]])


def test_drawn_features_differ_from_node_to_node(rng):
    X, y = rng.normal(size=(500, 12)), rng.integers(0, 2, 500)
    used = DecisionTreeClassifier(max_features=1).fit(X, y).tree_.feature
    counts = np.bincount(used[used >= 0], minlength=12)
    assert counts.min() > 0.3 * counts.mean()
    assert DecisionTreeClassifier(max_features="sqrt").fit(X, y).max_features_ == 3


def test_class_weights_are_row_weights(rng):
    X, y = problem(rng, "plain", 200)
    factors = {0: 1.0, 1: 5.0, 2: 0.5}
    by_class = DecisionTreeClassifier(class_weight=factors, max_depth=4).fit(X, y)
    by_row = DecisionTreeClassifier(max_depth=4).fit(X, y, sample_weight=[factors[label] for label in y])
    same_tree(by_class, by_row)
    balanced = DecisionTreeClassifier(class_weight="balanced").fit(X, y).tree_
    assert_allclose(balanced.value[0, 0], 1 / 3)


def test_one_class_and_one_row_are_a_leaf():
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["only", "only"])
    assert model.tree_.node_count == 1
    assert model.predict([[5.0]]).tolist() == ["only"]
    assert DecisionTreeRegressor().fit([[1.0]], [3.0]).predict([[9.0]]).tolist() == [3.0]


def test_text_shows_every_test_and_leaf():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    theirs = peers.DecisionTreeClassifier(max_depth=2, random_state=0, max_features=None).fit(X, y)
    names = ["a", "b", "c", "d"]
    text = model.export_text(feature_names=names)
    assert text.count("class:") == model.get_n_leaves()
    assert text.splitlines()[0].split()[-1] == f"{model.tree_.threshold[0]:.2f}"
    if np.array_equal(theirs.tree_.feature, model.tree_.feature):  # theirs breaks ties by chance
        assert text == peers.export_text(theirs, feature_names=names)
    assert "truncated branch of depth 1" in model.export_text(max_depth=0)
    assert "weights: [50.00, 0.00, 0.00] class: 0" in model.export_text(show_weights=True)
    with pytest.raises(ParameterError, match="3 names"):
        model.export_text(feature_names=["a", "b", "c"])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"criterion": "gin"}, "Did you mean 'gini'"),
        ({"splitter": "worst"}, "Known: 'best', 'random'"),
        ({"max_depth": 0}, "max_depth must be None or a whole number of at least 1"),
        ({"min_samples_split": 1}, "min_samples_split must be"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be"),
        ({"min_weight_fraction_leaf": 0.6}, "from 0 to 0.5"),
        ({"max_features": 0}, "max_features must be"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be"),
        ({"min_impurity_decrease": -1}, "at least 0"),
        ({"ccp_alpha": -0.1}, "ccp_alpha must be"),
        ({"monotonic_cst": [1]}, "monotonic_cst"),
    ],
    ids=str,
)
def test_parameters_that_are_not_allowed_are_named(options, words):
    with pytest.raises(ParameterError, match=words):
        DecisionTreeClassifier(**options).fit([[0.0], [1.0]], [0, 1])


def test_data_that_cannot_be_used_are_refused_and_leave_the_old_tree():
    model = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    for X, y, words in [
        ([[np.inf], [1.0]], [0.0, 1.0], "infinity"),
        ([[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]], "one target"),
        ([[0.0], [1.0]], [0.0], "inconsistent"),
        ([[0.0], [1.0]], [0.0, np.nan], "NaN"),
    ]:
        with pytest.raises(DataError, match=words):
            model.fit(X, y)
    assert model.predict([[0.2], [0.8]]).tolist() == [0.0, 1.0]
    with pytest.raises(DataError, match="Select columns"):
        model.fit(sparse.eye_array(60_000, format="csc"), np.arange(60_000.0))
    for criterion in ("absolute_error", "friedman_mse", "poisson"):
        with pytest.raises(ParameterError, match="not available"):
            DecisionTreeRegressor(criterion=criterion).fit([[0.0], [1.0]], [0.0, 1.0])


def test_forest_covers_are_told_apart_as_the_peer_does(shared_data):
    stored = np.load(shared_data / "covtype.npz")
    X, y = stored["X"][::20].astype(np.float32), stored["y"][::20]
    ours = DecisionTreeClassifier(max_leaf_nodes=40).fit(X, y).tree_
    theirs = peers.DecisionTreeClassifier(max_leaf_nodes=40, random_state=0).fit(X, y).tree_
    leaves = theirs.children_left == -1
    expected = theirs.impurity[leaves] @ theirs.weighted_n_node_samples[leaves]
    assert ours.impurity[ours.is_leaf] @ ours.weighted_n_node_samples[ours.is_leaf] == pytest.approx(expected, rel=1e-9)
