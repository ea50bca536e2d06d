"""Ways to split rows for an honest estimate: hold-out, three parts, K folds, leave one out, five times two.

The risk of a predictor is estimated on rows that had no part in its training.

    holdout                  one split; the estimate is that of one predictor
    train_validation_test    one split; choose on the second part, report on the third, once
    k_fold                   R = 1/K sum_k r_k, every row tested once; training sets overlap, so the r_k are correlated
    leave_one_out            K = n
    five_by_two              five times two halves; within a pair the training sets are disjoint

Each is a record of settings. `split(X, y, groups)` gives arrays of row numbers, so that it also serves as `cv=` in
scikit-learn; the same settings give the same split. With `stratify="auto"` classes are dealt in proportion where y
looks like labels: words, truth values, or whole numbers that occur again and again. A group is never on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import _num_samples

from maxmargin._types import RowIndex, Rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.evaluate.dealing import Stratify, check_groups, deal

Fold = tuple[RowIndex, RowIndex]


class Folds(Protocol):
    """Pairs of training and test rows, one a fold."""

    def __len__(self) -> int: ...

    def __getitem__(self, k: int, /) -> Fold: ...

    def __iter__(self) -> Iterator[Fold]: ...


def holdout(test: float = 0.3, *, seed: int = 0, stratify: Stratify = "auto") -> Holdout:
    """One split into training and test rows.

    Parameters
    ----------
    test
        Share of the rows that are held out, between 0 and 1.
    seed
        Whole number; the same seed gives the same split.
    stratify
        Whether classes are dealt in proportion; "auto" where y looks like labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.evaluate import holdout
    >>> X, y = load_iris(return_X_y=True)
    >>> train, test = next(holdout(0.3).split(X, y))
    >>> len(train), len(test)
    (105, 45)
    """
    return Holdout(_share("test", test), _seed(seed), stratify)


def train_validation_test(
    train: float = 0.7, validation: float = 0.1, test: float = 0.2, *, seed: int = 0, stratify: Stratify = "auto"
) -> TrainValidationTest:
    """One split into three parts; `split` gives three arrays: training, validation and test rows.

    As `cv=` of a search use its property `without_test`, whose only split is training against validation rows: the test
    rows take no part in the choice.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.evaluate import train_validation_test
    >>> X, y = load_iris(return_X_y=True)
    >>> [len(part) for part in next(train_validation_test(0.7, 0.1, 0.2).split(X, y))]
    [105, 15, 30]
    """
    shares = _share("train", train), _share("validation", validation), _share("test", test)
    if abs(sum(shares) - 1.0) > 1e-9:
        raise ParameterError(f"train, validation and test must sum to 1, got {train} + {validation} + {test}.")
    return TrainValidationTest(*shares, _seed(seed), stratify)


def k_fold(k: int = 5, *, seed: int = 0, stratify: Stratify = "auto") -> KFold:
    """K splits, in which every row is a test row once; sizes of the folds differ by at most one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from maxmargin import SVC
    >>> from maxmargin.evaluate import k_fold
    >>> len(cross_val_score(SVC(), *load_iris(return_X_y=True), cv=k_fold(10)))
    10
    """
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 2:
        raise ParameterError(f"k must be a whole number of at least 2 folds, got k={k!r}.")
    return KFold(int(k), _seed(seed), stratify)


def leave_one_out() -> LeaveOneOut:
    """As many splits as rows: each row is tested alone. With groups each group is."""
    return LeaveOneOut()


def five_by_two(*, seed: int = 0, stratify: Stratify = "auto") -> FiveByTwo:
    """Five random halvings; each gives two splits, in which the halves change sides."""
    return FiveByTwo(_seed(seed), stratify)


class _OneSplit:
    """What the splitters that split once share."""

    def get_n_splits(self, X: Rows = None, y: Any = None, groups: Any = None) -> int:
        """One."""
        return 1


@dataclass(frozen=True)
class Holdout(_OneSplit):
    """Made by `holdout`."""

    test: float
    seed: int
    stratify: Stratify

    def split(self, X: Rows, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """The training and the test rows."""
        train, test = _parts(self, {"training": 1.0 - self.test, "test": self.test}, X, y, groups)
        yield train, test


@dataclass(frozen=True)
class TrainValidationTest(_OneSplit):
    """Made by `train_validation_test`."""

    train: float
    validation: float
    test: float
    seed: int
    stratify: Stratify

    def split(self, X: Rows, y: Any = None, groups: Any = None) -> Iterator[tuple[RowIndex, RowIndex, RowIndex]]:
        """The training, the validation and the test rows."""
        shares = {"training": self.train, "validation": self.validation, "test": self.test}
        train, validation, test = _parts(self, shares, X, y, groups)
        yield train, validation, test

    @property
    def without_test(self) -> WithoutTest:
        """The splitter of training against validation rows, in which test rows do not occur: for `cv=`."""
        return WithoutTest(self)


@dataclass(frozen=True)
class WithoutTest(_OneSplit):
    """The training and validation rows of a split into three."""

    whole: TrainValidationTest

    def split(self, X: Rows, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """The training and the validation rows."""
        for train, validation, _ in self.whole.split(X, y, groups):
            yield train, validation


@dataclass(frozen=True)
class KFold:
    """Made by `k_fold`."""

    k: int
    seed: int
    stratify: Stratify

    def split(self, X: Rows, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """The training and the test rows of each fold."""
        part = _dealt(self, [1.0 / self.k] * self.k, X, y, groups)
        for fold in range(self.k):
            yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)

    def get_n_splits(self, X: Rows = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.k


@dataclass(frozen=True)
class LeaveOneOut:
    """Made by `leave_one_out`."""

    def split(self, X: Rows, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """All rows but one, and that one; with groups all but one group, and that one."""
        group = self._groups(X, groups)
        if groups is None:
            yield from EachRowOut(len(group))
            return
        for one in range(int(group.max()) + 1):
            yield np.flatnonzero(group != one), np.flatnonzero(group == one)

    def get_n_splits(self, X: Rows = None, y: Any = None, groups: Any = None) -> int:
        """The number of rows, or of groups."""
        if X is None:
            raise ParameterError("leave_one_out has as many splits as rows: give X to get_n_splits.")
        return int(self._groups(X, groups).max()) + 1

    def _groups(self, X: Rows, groups: Any) -> RowIndex:
        n_rows = int(_num_samples(X))
        group = np.arange(n_rows) if groups is None else check_groups(groups, n_rows)
        if n_rows == 0 or group.max() == 0:
            what = "row" if groups is None else "group"
            raise DataError(f"leave_one_out needs two {what}s at least: without the only one nothing is left.")
        return group


@dataclass(frozen=True)
class EachRowOut:
    """The folds of leaving one of n rows out, made when asked for: a list of them would hold n^2 row numbers."""

    n_rows: int

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, k: int, /) -> Fold:
        if not 0 <= k < self.n_rows:
            raise IndexError(f"there are {self.n_rows} folds; fold {k} is none of them.")
        return np.delete(np.arange(self.n_rows), k), np.array([k])

    def __iter__(self) -> Iterator[Fold]:
        return (self[k] for k in range(self.n_rows))


@dataclass(frozen=True)
class FiveByTwo:
    """Made by `five_by_two`."""

    seed: int
    stratify: Stratify

    def split(self, X: Rows, y: Any = None, groups: Any = None) -> Iterator[Fold]:
        """Ten splits; splits 2i and 2i + 1 are the same halves with their sides changed."""
        rng = np.random.default_rng(self.seed)
        for _ in range(5):
            part = _dealt(self, [0.5, 0.5], X, y, groups, rng)
            first, second = np.flatnonzero(part == 0), np.flatnonzero(part == 1)
            yield first, second
            yield second, first

    def get_n_splits(self, X: Rows = None, y: Any = None, groups: Any = None) -> int:
        """Ten."""
        return 10


def _dealt(splitter: Any, shares: list[float], X: Rows, y: Any, groups: Any, rng: Any = None) -> RowIndex:
    """Number of the part of each row, dealt as the splitter says, from its seed on or from where `rng` is."""
    rng = np.random.default_rng(splitter.seed) if rng is None else rng
    return deal(int(_num_samples(X)), np.array(shares), rng, y=y, groups=groups, stratify=splitter.stratify)


def _parts(splitter: Any, shares: dict[str, float], X: Rows, y: Any, groups: Any) -> list[RowIndex]:
    """Rows of every part, by name and share; none may be empty."""
    part = _dealt(splitter, list(shares.values()), X, y, groups)
    rows = [np.flatnonzero(part == number) for number in range(len(shares))]
    for name, some in zip(shares, rows, strict=True):
        if len(some) == 0:
            raise DataError(f"of {len(part)} rows the {name} part gets none; give it a larger share.")
    return rows


def _share(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < float(value) < 1.0:
        raise ParameterError(f"{name} is a share of the rows, above 0 and below 1, got {name}={value!r}.")
    return float(value)


def _seed(value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise ParameterError(f"seed must be a whole number that is not negative, got seed={value!r}.")
    return int(value)


_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (FiveByTwo, Holdout, KFold, LeaveOneOut)}


def record_of(splitter: Any) -> dict[str, Any] | None:
    """A splitter as plain values, for a file; None for one that is not of this library, and for lists of rows."""
    if isinstance(splitter, WithoutTest):
        return {"kind": "WithoutTest", **asdict(splitter.whole)}
    return {"kind": type(splitter).__name__, **asdict(splitter)} if type(splitter) in _KINDS.values() else None


def from_record(record: dict[str, Any]) -> Any:
    """The splitter that `record_of` wrote down."""
    settings = {name: value for name, value in record.items() if name != "kind"}
    if record["kind"] == "WithoutTest":
        return WithoutTest(TrainValidationTest(**settings))
    return _KINDS[record["kind"]](**settings)
