"""Decision trees for classes and for numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.errors import DataError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.sources import Classifier, Regressor, block_by_block
from maxmargin.estimators.fitting.validation import check_numbers, our_errors, present_classes
from maxmargin.estimators.trees.base import DecisionTree
from maxmargin.trees.fitting import as_targets


@dataclass(eq=False, repr=False, kw_only=True)
class DecisionTreeClassifier(Classifier, DecisionTree):
    """A tree of tests `x_j <= threshold` that ends in classes.

    A drop-in replacement for scikit-learn's class, for one target. Splits are exact: every threshold between two values
    of every column is considered, in the precision of the data. Of equal splits the first column wins, then the
    smallest threshold, then missing values on the right. Nothing is drawn, unless `max_features` or `splitter` asks for
    it, and the tree is the same for every number of threads. Sparse rows are taken, but every entry of them, stored or
    not, takes 2 bytes during the fit.

    Parameters
    ----------
    criterion
        "gini", or "entropy", which "log_loss" is another name of.
    splitter
        "best", or "random": one threshold a column, drawn between its least and its largest value in the node.
    max_depth
        Most tests on the way to a leaf.
    min_samples_split, min_samples_leaf
        Least number of rows of a node that is split, and of a leaf; a number below 1 is a share of all rows.
    min_weight_fraction_leaf
        Least share of the whole weight in a leaf.
    max_features
        Columns that are drawn for each node: a number, a share, "sqrt" or "log2"; None for all.
    random_state
        Seed of what is drawn. None is 0: two fits of the same data agree.
    max_leaf_nodes
        Most leaves; the leaf whose split gains most is then split first.
    min_impurity_decrease
        Least gain of a split: the decrease of the impurity, times the share of the weight in the node.
    class_weight
        None, "balanced" or a dictionary from label to factor. Balanced weights count rows by their sample weight.
    ccp_alpha
        Price of a leaf: branches that do not earn it are pruned. `cost_complexity_pruning_path` has the values that
        matter.
    monotonic_cst
        Not available: None.
    n_jobs
        Threads; None means all cores.

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_, max_features_
        As in scikit-learn.
    tree_
        `maxmargin.trees.tree.Tree`: arrays with one entry a node.
    feature_importances_
        Share of each feature in the decrease of the impurity.
    certificate_
        None: growing is greedy, and there is no optimum to be compared with.

    Examples
    --------
    >>> from maxmargin import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.predict([[2.4], [2.6]]).tolist()
    ['a', 'b']
    >>> print(model.export_text(feature_names=["size"]))
    |--- size <= 2.50
    |   |--- class: a
    |--- size >  2.50
    |   |--- class: b
    <BLANKLINE>
    """

    _criteria: ClassVar[tuple[str, ...]] = ("gini", "entropy", "log_loss")

    criterion: Literal["gini", "entropy", "log_loss"] = "gini"
    class_weight: Any = None
    classes_: Labels = field(init=False)
    n_classes_: int = field(init=False)

    @all_or_nothing
    def fit(
        self, X: Rows, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> DecisionTreeClassifier:
        """Grow the tree; a row of weight 2 is the row twice, of weight 0 its absence. NaN is a missing value.

        `check_input` is accepted for scikit-learn's sake; the input is checked anyway.
        """
        rows, labels, weight = self._training_rows(X, y, sample_weight)
        with our_errors():
            check_classification_targets(labels)
        if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
            raise DataError("Input y contains NaN or infinity; labels must be known.")
        classes, codes = np.unique(labels, return_inverse=True)
        weight = self._row_weights(classes, codes, labels, weight)
        self._grow(rows, as_targets(codes, len(classes), weight))
        self.classes_, self.n_classes_ = classes, len(classes)
        return self

    @block_by_block
    def predict(self, X: Rows, check_input: bool = True) -> Labels:
        """The heaviest class of the leaf in which each row ends; of equal ones the first."""
        rows = self._known_rows(X, check_input)
        tree = self.tree_
        labels: Labels = self.classes_[np.argmax(tree.value[:, 0], axis=1)[tree.apply(rows, self.n_jobs)]]
        return labels

    @block_by_block
    def predict_proba(self, X: Rows, check_input: bool = True) -> Matrix:
        """Share of each class in the leaf in which each row ends."""
        rows = self._known_rows(X, check_input)
        return self.tree_.predict(rows, self.n_jobs)

    def predict_log_proba(self, X: Rows) -> Matrix:
        """Logarithm of the share of each class; minus infinity where it is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _row_weights(self, classes: Labels, codes: Any, labels: Labels, weight: Vector | None) -> Vector | None:
        """Weight of each row, that of its class included."""
        if self.class_weight is None:
            return weight
        factor = dict(present_classes(self.class_weight, classes, labels, weight)[1])
        factors: Vector = np.array([factor.get(label, 1.0) for label in classes.tolist()])[codes]
        return factors if weight is None else factors * weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class DecisionTreeRegressor(Regressor, DecisionTree):
    """A tree of tests `x_j <= threshold` that ends in means.

    A drop-in replacement for scikit-learn's class, for one target. Parameters, attributes and the way ties are broken
    are those of `DecisionTreeClassifier`, but for `class_weight`.

    Parameters
    ----------
    criterion
        "squared_error".

    Examples
    --------
    >>> from maxmargin import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [3.0], [4.0]], [0.0, 0.2, 7.0, 7.0])
    >>> model.predict([[1.5], [9.0]]).tolist()
    [0.1, 7.0]
    """

    _criteria: ClassVar[tuple[str, ...]] = ("squared_error",)

    criterion: Literal["squared_error"] = "squared_error"

    @all_or_nothing
    def fit(self, X: Rows, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> DecisionTreeRegressor:
        """Grow the tree; a row of weight 2 is the row twice, of weight 0 its absence. NaN is a missing value.

        `check_input` is accepted for scikit-learn's sake; the input is checked anyway.
        """
        rows, numbers, weight = self._training_rows(X, y, sample_weight)
        self._grow(rows, as_targets(check_numbers(numbers), 0, weight))
        return self

    @block_by_block
    def predict(self, X: Rows, check_input: bool = True) -> Vector:
        """Mean of the leaf in which each row ends."""
        rows = self._known_rows(X, check_input)
        return self.tree_.predict(rows, self.n_jobs)[:, 0]
