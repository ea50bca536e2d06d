"""Rows dealt into parts at random: each class in proportion, and no group torn apart.

Part p should get the share s_p of the rows, sum_p s_p = 1. Of class c, which has n_c rows, it should get n_c s_p.

    every class    each part gets n_c s_p rounded down or up
    all rows       two parts: n s_p rounded; K equal parts: sizes that differ by at most one

Each class first gives every part n_c s_p rounded down. The rows left over go to different parts, those that are
furthest behind over all classes so far.

A group goes to one part whole. Groups are dealt from the largest to the smallest, each to the part that lacks most of
what the group has. The proportions are then as good as the groups allow.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from maxmargin._types import Labels, RowIndex, Vector
from maxmargin.errors import DataError, DataTypeError, ParameterError

Stratify: TypeAlias = bool | Literal["auto"]

_ROWS_A_VALUE = 3  # whole numbers that occur less often on the average are taken for quantities, not for labels
_NOTHING = 1e-9  # shares such as 0.1 are not exact; a part is not behind by less than this


def deal(
    n_rows: int,
    shares: Vector,
    rng: np.random.Generator,
    *,
    y: Any = None,
    groups: Any = None,
    stratify: Stratify = "auto",
) -> RowIndex:
    """Number of the part that each row belongs to."""
    labels = _strata(y, n_rows, stratify)
    if groups is not None:
        return _grouped(labels, check_groups(groups, n_rows), shares, rng)
    _check_sizes(y, labels, len(shares))
    return _proportional(labels, shares, rng)


def holds_labels(y: Any) -> bool:
    """Whether y looks like labels: words, truth values, or whole numbers that occur again and again."""
    values = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind not in "OUSbiuf":
        return False
    if values.dtype.kind not in "iuf":
        return True
    if not np.all(np.isfinite(values)) or np.any(values != np.floor(values)):
        return False
    n_distinct = len(np.unique(values))
    return n_distinct <= 2 or _ROWS_A_VALUE * n_distinct <= len(values)


def check_groups(groups: Any, n_rows: int) -> RowIndex:
    """Number of the group of each row, counted from 0."""
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise DataError(f"groups needs one entry a row: {n_rows} rows, got shape {values.shape}.")
    return _numbered(values, "groups")


def _numbered(values: Labels, name: str) -> RowIndex:
    """Number of the value of each row among the different ones."""
    try:
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise DataTypeError(f"{name} mixes kinds that cannot be compared ({error}); make them all words.") from error


def _strata(y: Any, n_rows: int, stratify: Stratify) -> RowIndex:
    """Number of the class of each row; all 0 where classes do not count."""
    if not isinstance(stratify, (bool, np.bool_)) and stratify != "auto":
        raise ParameterError(f"stratify must be True, False or 'auto', got stratify={stratify!r}.")
    if y is None:
        if stratify is True:
            raise DataError("stratify=True needs labels: give y to split(X, y).")
        return np.zeros(n_rows, dtype=np.int64)
    values = np.asarray(y)
    if len(values) != n_rows:
        raise DataError(f"X has {n_rows} rows and y has {len(values)}; there must be one label a row.")
    if not (holds_labels(values) if stratify == "auto" else stratify):
        return np.zeros(n_rows, dtype=np.int64)
    if values.ndim != 1:
        raise DataError(f"stratify=True needs one label a row, got y of shape {values.shape}.")
    return _numbered(values, "y")


def _check_sizes(y: Any, labels: RowIndex, n_parts: int) -> None:
    if len(labels) < n_parts:
        raise DataError(f"{len(labels)} rows cannot be dealt into {n_parts} parts; a part needs a row.")
    counts = np.bincount(labels)
    rarest = int(np.argmin(counts))
    if counts[rarest] < n_parts:
        label = np.asarray(y)[labels == rarest].tolist()[0]
        raise DataError(
            f"the class {label!r} has {counts[rarest]} rows, fewer than the {n_parts} parts. Take fewer parts, join "
            "the class to another, or give stratify=False to deal without regard to classes (right for regression)."
        )


def _proportional(labels: RowIndex, shares: Vector, rng: np.random.Generator) -> RowIndex:
    """Each class dealt by itself; the rows that remain go to the parts that are furthest behind."""
    part = np.empty(len(labels), dtype=np.int64)
    behind = np.zeros(len(shares))
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    for rows in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
        ideal = len(rows) * shares
        counts = np.floor(ideal + _NOTHING).astype(np.int64)
        behind += ideal - counts
        may_have_more = np.where(ideal > counts + _NOTHING, behind, -np.inf)
        more = np.argsort(-np.round(may_have_more, 9), kind="stable")[: len(rows) - counts.sum()]
        counts[more] += 1
        behind[more] -= 1.0
        part[rows] = np.repeat(np.arange(len(shares)), counts)
    return part


def _grouped(labels: RowIndex, groups: RowIndex, shares: Vector, rng: np.random.Generator) -> RowIndex:
    """Whole groups, the largest first, each to the part that lacks most of what it has."""
    n_groups, n_parts = int(groups.max()) + 1, len(shares)
    if n_groups < n_parts:
        raise DataError(
            f"{n_groups} groups cannot be dealt into {n_parts} parts, because a group is never torn apart. Take "
            f"{n_groups} parts at most, or smaller groups."
        )
    counts = np.zeros((n_groups, int(labels.max()) + 1))
    np.add.at(counts, (groups, labels), 1.0)
    of_class = counts.sum(axis=0)
    lacking = np.outer(shares, of_class)
    order = rng.permutation(n_groups)
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    home = np.empty(n_groups, dtype=np.int64)
    is_empty = np.ones(n_parts, dtype=bool)
    for place, group in enumerate(order):
        # The fall of sum_pc lacking_pc^2 / n_c when the group joins part p, but for what is the same for all parts.
        gain = lacking @ (counts[group] / of_class)
        if n_groups - place <= np.count_nonzero(is_empty):  # as many groups as empty parts: each gets one
            gain = np.where(is_empty, gain, -np.inf)
        home[group] = chosen = int(np.argmax(np.round(gain, 9)))
        lacking[chosen] -= counts[group]
        is_empty[chosen] = False
    return home[groups]
