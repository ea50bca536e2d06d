"""What the two decision trees share: rows with missing values, the fitted tree, and ways to look at it."""

from __future__ import annotations

import copy
import os
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.errors import DataError, DataTypeError
from maxmargin.estimators.fitting.sources import AcceptsSources, block_by_block, refuse_path, refuse_source
from maxmargin.estimators.fitting.validation import check_same_length, check_weights, our_errors
from maxmargin.estimators.trees.tree_text import text_of_tree

_KINDS = [np.float64, np.float32, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


class DecisionTree(AcceptsSources, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the decision trees."""

    n_features_in_: int
    max_features_: int
    _criteria: ClassVar[tuple[str, ...]]
    _nodes: dict[str, Any]

    @property
    def certificate_(self) -> None:
        """None: a tree is grown greedily and has no optimum to be compared with."""
        return

    @property
    def tree_(self) -> Any:
        """The fitted `Tree`: arrays with one entry a node, under scikit-learn's names."""
        if not hasattr(self, "_nodes"):
            raise AttributeError(f"{type(self).__name__} has no tree_ before fit")
        from maxmargin.trees.tree import Tree

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
        importances: Vector = self.tree_.compute_feature_importances()
        return importances

    def get_depth(self) -> int:
        """Edges from the root to the deepest leaf."""
        check_is_fitted(self)
        return int(self.tree_.max_depth)

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return int(self.tree_.n_leaves)

    @block_by_block
    def apply(self, X: Rows, check_input: bool = True) -> RowIndex:
        """Number of the leaf in which each row ends."""
        rows = self._known_rows(X, check_input)
        leaves: RowIndex = self.tree_.apply(rows, self.n_jobs)
        return leaves

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
        from maxmargin.trees.pruning import pruning_path

        model = copy.copy(self)
        model.ccp_alpha = 0.0
        alphas, impurities = pruning_path(model.fit(X, y, sample_weight=sample_weight).tree_)
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
        return text_of_tree(self, feature_names, max_depth, decimals, show_weights)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `maxmargin.load` reads: arrays and text, never code."""
        from maxmargin.estimators.files.saving import save

        save(self, path)

    def _training_rows(self, X: Rows, y: Any, sample_weight: Any) -> tuple[Rows, Labels, Vector | None]:
        """Rows, a target for each, and their weights, all checked."""
        refuse_path(self, X)
        refuse_source(self, X)
        with our_errors():
            rows = validate_data(self, X, accept_sparse="csc", dtype=_KINDS, ensure_all_finite=False)
        _refuse_infinity(rows)
        targets = _one_column(y)
        check_same_length(rows, targets)
        return rows, targets, check_weights(sample_weight, len(targets))

    def _known_rows(self, X: Rows, check_input: bool = True) -> Rows:
        """Rows to predict."""
        check_is_fitted(self)
        if not check_input:
            return X
        with our_errors():
            rows = validate_data(self, X, reset=False, accept_sparse="csr", dtype=_KINDS, ensure_all_finite=False)
        _refuse_infinity(rows)
        return rows

    def _grow(self, X: Rows, targets: Any, weight: float) -> None:
        """Grow the tree, prune it, and keep its arrays."""
        from maxmargin.estimators.trees.tree_parameters import growth_settings
        from maxmargin.trees.fitting import fit_tree
        from maxmargin.trees.pruning import pruned

        settings = growth_settings(self, self._criteria, X.shape[0], X.shape[1], weight)
        tree = fit_tree(X, targets, settings)
        self.max_features_ = settings.max_features
        self._nodes = (pruned(tree, float(self.ccp_alpha)) if self.ccp_alpha > 0.0 else tree).as_arrays()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _refuse_infinity(X: Rows) -> None:
    """NaN is a missing value; infinity is none."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):
            return
    if np.any(np.isinf(values)):
        raise DataError("Input X contains infinity. Trees take NaN for a missing value; replace infinity by a number.")


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
