"""Is one method better than another? Five times two-fold cross-validation, and two tests on its ten differences.

Let d_ij be the score of A minus that of B in split j = 1, 2 of halving i = 1, ..., 5, and

    m_i = (d_i1 + d_i2) / 2        s_i^2 = (d_i1 - m_i)^2 + (d_i2 - m_i)^2

    t = d_11 / sqrt(1/5 sum_i s_i^2)               Student's t, 5 degrees of freedom     (Dietterich, 1998)
    F = sum_ij d_ij^2 / (2 sum_i s_i^2)            Fisher's F, 10 and 5 degrees          (Alpaydin, 1999)

are distributed so, approximately, where the methods are equally good. The numerator of t is one of ten differences, so
that t depends on which of them comes first; F uses all, and is the one to report. Within a halving the training sets
are disjoint, which is what makes s_i^2 an honest variance; K-fold differences have none.

Methods that agree in every split have d = 0: t = F = 0 and p = 1. Where all ten differences are the same number and
not zero, there is no spread to compare it with: t and F are infinite and p = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc, stdtr
from sklearn.base import is_classifier

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.errors import DataError
from maxmargin.evaluate.cross_validation import validated
from maxmargin.evaluate.dealing import Stratify
from maxmargin.evaluate.fingerprints import name_of
from maxmargin.evaluate.folds import folds_of
from maxmargin.evaluate.progress import working_on
from maxmargin.evaluate.sample import check_estimator, sample_of
from maxmargin.evaluate.splitters import five_by_two
from maxmargin.evaluate.tables import ShownAsTable, Table, number


@dataclass(frozen=True)
class FiveByTwoComparison(ShownAsTable):
    """Scores of two methods in five times two splits, and the tests on their differences; `str()` is a table.

    Attributes
    ----------
    scores_a, scores_b
        5 x 2: one row a halving.
    """

    name_a: str
    name_b: str
    scores_a: Matrix
    scores_b: Matrix

    @property
    def differences(self) -> Matrix:
        """Scores of A minus those of B, 5 x 2."""
        return self.scores_a - self.scores_b

    @property
    def difference(self) -> float:
        """Mean of the ten differences: how much better A is; each trained on half of the rows."""
        return float(np.mean(self.differences))

    @property
    def t(self) -> float:
        """Dietterich's statistic."""
        return _ratio(float(self.differences[0, 0]), math.sqrt(float(np.mean(self._variances))))

    @property
    def t_p_value(self) -> float:
        """Probability of a t at least as far from zero, were the methods equal."""
        return float(2.0 * stdtr(5, -abs(self.t)))

    @property
    def F(self) -> float:  # noqa: N802 - the letter of the distribution
        """Alpaydin's statistic."""
        return _ratio(float(np.sum(self.differences**2)), 2.0 * float(np.sum(self._variances)))

    @property
    def F_p_value(self) -> float:  # noqa: N802 - the letter of the distribution
        """Probability of an F at least as large, were the methods equal; the one to report."""
        return float(fdtrc(10, 5, self.F))

    @property
    def _variances(self) -> Vector:
        d = self.differences
        return np.asarray(np.sum((d - d.mean(axis=1, keepdims=True)) ** 2, axis=1))

    def table(self) -> Table:
        """Both methods, and the tests."""
        rows = [
            ("A", self.name_a, number(float(self.scores_a.mean()))),
            ("B", self.name_b, number(float(self.scores_b.mean()))),
            ("A - B", "", number(self.difference)),
        ]
        notes = [
            f"F = {self.F:.3g}, p = {self.F_p_value:.3g} (combined 5x2 F test, 10 and 5 degrees of freedom)",
            f"t = {self.t:.3g}, p = {self.t_p_value:.3g} (5x2 t test, 5 degrees of freedom)",
            "Each method was trained on halves of the rows.",
        ]
        return Table("Five times two-fold cross-validation", ("", "method", "mean score"), rows, notes)


def compare_five_by_two(
    a: Any,
    b: Any,
    X: Rows,
    y: Labels,
    *,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Vector | None = None,
    seed: int = 0,
    stratify: Stratify = "auto",
    n_jobs: int | None = None,
    verbose: bool | int = 0,
) -> FiveByTwoComparison:
    """Compare two estimators on the same five times two splits.

    Parameters
    ----------
    a, b
        Estimators, of this library or of scikit-learn; cloned, not changed.
    X, y, scoring, groups, sample_weight, n_jobs, verbose
        As for `cross_validate`.
    seed, stratify
        As for `five_by_two`; "auto" stratifies for classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, LinearSVC
    >>> from maxmargin.evaluate import compare_five_by_two
    >>> found = compare_five_by_two(SVC(), LinearSVC(), *load_iris(return_X_y=True))
    >>> found.F_p_value > 0.05
    True
    """
    check_estimator(a)
    check_estimator(b)
    sample = sample_of(X, y, sample_weight)
    classifies = is_classifier(a) and is_classifier(b)
    folds = folds_of(five_by_two(seed=seed, stratify=stratify), sample, groups, classifies=classifies)
    scores = []
    for letter, estimator in (("A", a), ("B", b)):
        with working_on(f"compare_five_by_two {letter}"):
            found = validated(estimator, sample, folds, scoring, n_jobs, verbose)
        if len(found.scores) != 10:
            raise DataError("halves of one row have no score of their own; 5x2 needs four rows at least.")
        scores.append(found.scores.reshape(5, 2))
    name_a, name_b = (type(a).__name__, type(b).__name__) if type(a) is not type(b) else (name_of(a), name_of(b))
    return FiveByTwoComparison(name_a, name_b, *scores)


def _ratio(above: float, below: float) -> float:
    """Quotient in which 0 / 0 is 0, because nothing speaks against equality."""
    if below > 0.0:
        return above / below
    return 0.0 if above == 0.0 else math.copysign(math.inf, above)
