"""Decision trees for numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from maxmargin._types import Rows, Vector
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.sources import Regressor, block_by_block
from maxmargin.estimators.fitting.validation import check_numbers
from maxmargin.estimators.trees.decision_tree import DecisionTree
from maxmargin.trees.fitting import as_targets


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

    def __init__(
        self,
        *,
        criterion: Literal["squared_error"] = "squared_error",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        n_jobs: int | None = None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs

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
