"""What the two decision trees share: rules of growth, rows with missing values, the fitted tree, ways to look at it."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._loops.trees.records import Rules, Targets
from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.backends.threads import thread_count
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.estimators.fitting.parameters import check_choice, check_seed
from maxmargin.estimators.fitting.sources import AcceptsSources, block_by_block
from maxmargin.estimators.fitting.validation import (
    check_same_length,
    check_weights,
    our_errors,
    refuse_path,
    refuse_source,
)
from maxmargin.trees.fitting import CRITERIA, fit_tree
from maxmargin.trees.tree import Tree

_KINDS = [np.float64, np.float32, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
_STEP = "|   "
_ELSEWHERE = {
    "absolute_error": "its best splits need medians of both sides",
    "friedman_mse": "with one target it chooses the splits of 'squared_error'",
    "poisson": "only squared distances are counted",
}


@dataclass(eq=False, repr=False, kw_only=True)
class DecisionTree(AcceptsSources, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the decision trees."""

    splitter: Literal["best", "random"] = "best"
    max_depth: int | None = None
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: int | float | str | None = None
    random_state: Any = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    monotonic_cst: Any = None
    n_jobs: int | None = None
    n_features_in_: int = field(init=False)
    max_features_: int = field(init=False)
    _criteria: ClassVar[tuple[str, ...]]
    _nodes: dict[str, Any] = field(init=False)

    @property
    def certificate_(self) -> None:
        """None: a tree is grown greedily and has no optimum to be compared with."""
        return

    @property
    def tree_(self) -> Tree:
        """The fitted `Tree`: arrays with one entry a node, under scikit-learn's names."""
        if not hasattr(self, "_nodes"):
            raise AttributeError(f"{type(self).__name__} has no tree_ before fit")
        return Tree(**self._nodes)

    @property
    def n_outputs_(self) -> int:
        """Targets of a row: one."""
        check_is_fitted(self)
        return 1

    @property
    def feature_importances_(self) -> Vector:
        """Share of each feature in the decrease of the impurity by all splits."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    def get_depth(self) -> int:
        """Edges from the root to the deepest leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @block_by_block
    def apply(self, X: Rows, check_input: bool = True) -> RowIndex:
        """Number of the leaf in which each row ends."""
        rows = self._known_rows(X, check_input)
        return self.tree_.apply(rows, self.n_jobs)

    def decision_path(self, X: Rows, check_input: bool = True) -> Any:
        """A sparse matrix, one row a row of X and one column a node: 1 where the row passes the node."""
        rows = self._known_rows(X, check_input)
        return self.tree_.decision_path(rows, self.n_jobs)

    def cost_complexity_pruning_path(self, X: Rows, y: Any, sample_weight: Any = None) -> Any:
        """Values of `ccp_alpha` at which the pruned tree changes, and the impurity of its leaves at each.

        Returns
        -------
        A dictionary with `ccp_alphas` and `impurities`, from the whole tree to the root alone.
        """
        model = copy.copy(self)
        model.ccp_alpha = 0.0
        alphas, impurities = model.fit(X, y, sample_weight=sample_weight).tree_.pruning_path()
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def export_text(
        self, *, feature_names: Any = None, max_depth: int | None = None, decimals: int = 2, show_weights: bool = False
    ) -> str:
        """The tree as indented lines: one a test, one a leaf.

        Parameters
        ----------
        feature_names
            A name a column; None for those of the training table, or `feature_0`, `feature_1` and so on.
        max_depth
            Deeper parts are told in one line; None shows everything.
        decimals
            Digits after the point.
        show_weights
            Whether a leaf shows the weight of every class, too.
        """
        check_is_fitted(self)
        tree, names = self.tree_, self._column_names(feature_names)
        lines: list[str] = []
        waiting: list[tuple[int, str]] = [(0, "")]
        while waiting:
            node, test = waiting.pop()
            level = int(tree.depth[node])
            if test:
                lines.append(f"{_STEP * (level - 1)}|--- {test}")
            if tree.children_left[node] < 0:
                lines.append(f"{_STEP * level}|--- {self._leaf_text(tree, node, decimals, show_weights)}")
            elif max_depth is not None and level > max_depth:
                below = max(int(tree.depth[one]) for one in _branch(tree, node)) - level
                lines.append(f"{_STEP * level}|--- truncated branch of depth {below}")
            else:
                name, value = names[tree.feature[node]], f"{tree.threshold[node]:.{decimals}f}"
                waiting.append((int(tree.children_right[node]), f"{name} >  {value}"))
                waiting.append((int(tree.children_left[node]), f"{name} <= {value}"))
        return "\n".join([*lines, ""])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `maxmargin.load` reads: arrays and text, never code."""
        from maxmargin.estimators.files.saving import save

        save(self, path)

    def _column_names(self, given: Any) -> list[str]:
        given = getattr(self, "feature_names_in_", None) if given is None else given
        if given is None:
            return [f"feature_{j}" for j in range(self.n_features_in_)]
        if len(given) != self.n_features_in_:
            raise ParameterError(f"feature_names has {len(given)} names; the model has {self.n_features_in_} columns.")
        return [str(name) for name in given]

    def _leaf_text(self, tree: Tree, node: int, decimals: int, show_weights: bool) -> str:
        value = tree.value[node, 0]
        if not hasattr(self, "classes_"):
            return f"value: [{value[0]:.{decimals}f}]"
        name = f"class: {self.classes_[np.argmax(value)]}"
        if not show_weights:
            return name
        weights = ", ".join(f"{weight:.{decimals}f}" for weight in value * tree.weighted_n_node_samples[node])
        return f"weights: [{weights}] {name}"

    def _training_rows(self, X: Rows, y: Any, sample_weight: Any) -> tuple[Rows, Labels, Vector | None]:
        """Rows, a target for each, and their weights, all checked."""
        refuse_path(self, X)
        refuse_source(self, X)
        rows = self._checked_rows(X, reset=True, accept_sparse="csc")
        targets = _one_column(y)
        check_same_length(rows, targets)
        return rows, targets, check_weights(sample_weight, len(targets))

    def _known_rows(self, X: Rows, check_input: bool) -> Rows:
        """Rows to predict."""
        check_is_fitted(self)
        return self._checked_rows(X, reset=False, accept_sparse="csr") if check_input else X

    def _checked_rows(self, X: Rows, *, reset: bool, accept_sparse: str) -> Rows:
        """Rows of numbers; NaN is a missing value, infinity is none."""
        kinds: dict[str, Any] = {"accept_sparse": accept_sparse, "dtype": _KINDS, "ensure_all_finite": False}
        with our_errors():
            rows = validate_data(self, X, reset=reset, **kinds)
        values = rows.data if sparse.issparse(rows) else rows
        with np.errstate(over="ignore", invalid="ignore"):
            may_be_infinite = values.dtype.kind == "f" and not np.isfinite(np.sum(values))
        if may_be_infinite and np.any(np.isinf(values)):
            raise DataError(
                "Input X contains infinity. Trees take NaN for a missing value; replace infinity by a number."
            )
        return rows

    def _grow(self, X: Rows, targets: Targets) -> None:
        """Grow the tree, prune it, and keep its arrays."""
        rules = growth_rules(self, self._criteria, *X.shape)
        most, seed = check_whole("max_leaf_nodes", self.max_leaf_nodes, least=2), check_seed(self.random_state)
        tree = fit_tree(X, targets, rules, max_leaf_nodes=most, seed=seed, n_jobs=self.n_jobs)
        self.max_features_ = rules.max_features
        self._nodes = (tree.pruned(float(self.ccp_alpha)) if self.ccp_alpha > 0.0 else tree).as_arrays()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _branch(tree: Tree, node: int) -> Iterator[int]:
    """A node and all nodes below it."""
    waiting = [node]
    while waiting:
        below = waiting.pop()
        yield below
        if tree.children_left[below] >= 0:
            waiting += [int(tree.children_left[below]), int(tree.children_right[below])]


def _one_column(y: Any) -> Labels:
    """Targets as a one-dimensional array."""
    if y is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    if sparse.issparse(y):
        raise DataTypeError("y is a sparse matrix; targets are a one-dimensional array. Give y.toarray().ravel().")
    with our_errors():
        targets = np.asarray(y)
        if targets.ndim == 2 and targets.shape[1] > 1:
            raise DataError(
                f"y has {targets.shape[1]} columns; a tree is trained on one target. Train one tree for each column."
            )
        return np.asarray(column_or_1d(targets, warn=True))


def growth_rules(model: Any, criteria: tuple[str, ...], n_rows: int, n_columns: int) -> Rules:
    """The rules for data with so many rows and columns; least weight and least gain as shares of those of all rows."""
    thread_count(model.n_jobs)
    if model.monotonic_cst is not None:
        raise ParameterError(
            f"monotonic_cst={model.monotonic_cst!r} is not available; give None. Check the predictions for "
            "the order that you need."
        )
    _number("ccp_alpha", model.ccp_alpha, 0.0)
    max_depth = check_whole("max_depth", model.max_depth, least=1)
    return Rules(
        criterion=CRITERIA[_criterion(model.criterion, criteria)],
        max_depth=2**31 if max_depth is None else max_depth,
        min_samples_split=max(2, _rows("min_samples_split", model.min_samples_split, n_rows, least=2)),
        min_samples_leaf=_rows("min_samples_leaf", model.min_samples_leaf, n_rows, least=1),
        min_weight_leaf=_number("min_weight_fraction_leaf", model.min_weight_fraction_leaf, 0.0, 0.5),
        least_gain=_number("min_impurity_decrease", model.min_impurity_decrease, 0.0),
        max_features=_columns(model.max_features, n_columns),
        random=check_choice("splitter", model.splitter, ("best", "random")) == "random",
    )


def check_whole(name: str, value: Any, least: int) -> int | None:
    """None, or a whole number."""
    if value is None:
        return None
    if not _is_whole(value) or int(value) < least:
        raise ParameterError(f"{name} must be None or a whole number of at least {least}, got {name}={value!r}.")
    return int(value)


def _number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)) or not least <= float(value) <= most:
        bounds = f"at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
        raise ParameterError(f"{name} must be a number, {bounds}, got {name}={value!r}.")
    return float(value)


def _criterion(criterion: Any, known: tuple[str, ...]) -> str:
    if isinstance(criterion, str) and criterion in _ELSEWHERE and "squared_error" in known:
        raise ParameterError(
            f"criterion={criterion!r} is not available: {_ELSEWHERE[criterion]}. Known: 'squared_error'."
        )
    return check_choice("criterion", criterion, known)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _rows(name: str, value: Any, n_rows: int, least: int) -> int:
    """A number of rows, or the share of them that is rounded up to one."""
    if _is_whole(value) and int(value) >= least:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0.0 < float(value) <= 1.0:
        return math.ceil(float(value) * n_rows)
    raise ParameterError(
        f"{name} must be a whole number of at least {least}, or a share of the rows above 0 and at most 1 such as 0.1, "
        f"got {name}={value!r}."
    )


def _columns(value: Any, n_columns: int) -> int:
    """How many columns are drawn for each node."""
    if value is None:
        return n_columns
    if isinstance(value, str) and value in ("sqrt", "log2"):
        return max(1, int(math.sqrt(n_columns) if value == "sqrt" else math.log2(n_columns)))
    if _is_whole(value) and int(value) >= 1:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0.0 < float(value) <= 1.0:
        return max(1, int(float(value) * n_columns))
    raise ParameterError(
        "max_features must be None, 'sqrt', 'log2', a positive number of columns, or a share of them above 0 and at "
        f"most 1, got max_features={value!r}."
    )
