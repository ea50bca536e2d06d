"""Linear problems on a source: rows come in blocks, and nothing is held that grows with them but a few numbers a row.

One or several sub-problems of a fit share the rows, the loss, C and the intercept; each has its own targets:

    minimise over w_p, b_p    1/2 |w_p|^2 + 1/2 (b_p / s)^2 + sum_i C_i l_{y_pi}(<w_p, x_i> + b_p)
    C_i = C (weight_i factor of the class of row i)

Rows of a class have the same target in a sub-problem, so a table of one entry a class stands for all targets, and the
number of each row's class, one byte, for the row. Rows with C_i = 0 are as good as absent.

`SharedRows` is what they share; each is a `LinearProblem` whose source is its own view of it, `TaskRows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.loss_curve import Curve
from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.data import Block, as_double, as_rows
from maxmargin.errors import DataError, DataTypeError
from maxmargin.losses import Loss
from maxmargin.problems.intercept import Intercept
from maxmargin.problems.problem import LinearProblem
from maxmargin.problems.specification import Regression, Specification

if TYPE_CHECKING:
    from maxmargin.problems.specification import Specification

MEMORY = 10**9
"""Bytes for rows, where nobody says how many there are."""


class ClassTable(NamedTuple):
    """The classes of a source, and the number of the class of every row."""

    classes: Labels
    codes: NDArray[Any]


def class_table(source: Any) -> ClassTable:
    """Classes and class numbers as the source knows them, or found among its labels."""
    if hasattr(source, "codes"):
        return ClassTable(np.asarray(source.classes), source.codes)
    classes, codes = np.unique(source.y, return_inverse=True)
    return ClassTable(classes, codes.astype(np.int8 if len(classes) < 128 else np.int32))


def row_weights(source: Any) -> Vector | None:
    """Weights of all rows, or None where all are 1; a source that cannot tell is read once."""
    if hasattr(source, "weight"):
        weight = source.weight
        return None if weight is None or bool(np.all(weight == 1.0)) else np.asarray(weight, dtype=np.float64)
    found: Vector | None = None
    for k in range(source.n_blocks):
        block = source.block(k)
        if block.weight is None or bool(np.all(block.weight == 1.0)):
            continue
        if found is None:
            found = np.ones(source.n_rows)
        found[block.start : block.start + len(block.y)] = block.weight
    if found is not None and not bool(np.all(np.isfinite(found) & (found >= 0.0))):
        raise DataError("the weights of a source must be zero or positive for every row.")
    return found


class SharedBlock(NamedTuple):
    """A block as solvers and certificates take it."""

    X: Rows
    target: Vector
    """Number of the class, or the number to be predicted."""
    cost: Vector
    start: int

    @property
    def span(self) -> slice:
        """Where the rows stand among all rows."""
        return slice(self.start, self.start + len(self.cost))


@dataclass(frozen=True)
class SharedRows:
    """The rows of a source, with what the sub-problems of `specifications` have in common."""

    source: Any
    specifications: Sequence[Specification]
    weight: Vector | None
    """Weights of the rows where they are not all 1."""

    @classmethod
    def of(cls, source: Any, specifications: Sequence[Specification]) -> SharedRows:
        """With the weights of the source, which may have to be read for them."""
        return cls(source, specifications, row_weights(source))

    @cached_property
    def problems(self) -> list[LinearProblem]:
        """The sub-problems."""
        return [
            LinearProblem(TaskRows(self, p), one.loss, one.C, one.intercept)  # type: ignore[arg-type]  # no arrays
            for p, one in enumerate(self.specifications)
        ]

    @property
    def loss(self) -> Loss:
        """The loss of every row."""
        return self.specifications[0].loss

    @property
    def C(self) -> float:  # noqa: N802 - the letter of docs/notation.md
        """The cost of a row of weight 1."""
        return self.specifications[0].C

    @property
    def curve(self) -> Curve:
        """The loss as compiled loops know it; for problems with one that they do know."""
        return self.problems[0].curve

    @property
    def intercept(self) -> Intercept:
        """The kind of intercept."""
        return self.specifications[0].intercept

    @property
    def is_regression(self) -> bool:
        """Whether targets are numbers."""
        return isinstance(self.specifications[0].task, Regression)

    @property
    def classes(self) -> Labels:
        """Classes of the source, of which a row's target is the number; none in regression."""
        return np.empty(0) if self.is_regression else self._table.classes

    @property
    def n_rows(self) -> int:
        """Rows of the source."""
        return int(self.source.n_rows)

    @property
    def n_features(self) -> int:
        """Columns of the source."""
        return int(self.source.n_features)

    @property
    def n_blocks(self) -> int:
        """Blocks of the source."""
        return int(self.source.n_blocks)

    @cached_property
    def _table(self) -> ClassTable:
        return class_table(self.source)

    @cached_property
    def targets(self) -> NDArray[Any]:
        """Number of the class of every row, or the number to be predicted."""
        if not self.is_regression:
            return self._table.codes
        y = np.asarray(self.source.y)
        if y.dtype.kind not in "iufb":
            raise DataTypeError(f"{self.source!r}: a regression needs numbers as targets, found {str(y[0])!r}.")
        return y.astype(np.float64, copy=False)

    @cached_property
    def signs(self) -> Matrix:
        """Target of every class in each sub-problem; no columns in regression."""
        if self.is_regression:
            return np.empty((1, 0))
        return np.vstack([one.task.targets(self._table.classes) for one in self.specifications])

    @cached_property
    def factors(self) -> Vector:
        """Factor on C of every class, zero where no sub-problem has it; one number in regression."""
        if self.is_regression:
            return np.ones(1)
        first, classes = self.specifications[0], self._table.classes
        factors = np.ones(len(classes))
        for label, factor in first.class_weight:
            factors[classes == label] = factor
        used = first.task.rows(classes)
        if used is not None:
            factors[~np.isin(np.arange(len(classes)), used)] = 0.0
        return factors

    def count(self) -> int:
        """Rows with C_i > 0."""
        counts = np.ones(self.n_rows, dtype=bool) if self.weight is None else self.weight > 0.0
        if not self.is_regression:
            counts &= (self.factors > 0.0)[self.targets]
        return int(np.count_nonzero(counts))

    def read(self, k: int, buffers: Any = None) -> SharedBlock:
        """Block k, into the buffers of the source where there are some."""
        block: Block = self.source.block(k) if buffers is None else self.source.read(k, buffers)
        rows = slice(block.start, block.start + block.X.shape[0])
        target = self.targets[rows].astype(np.float64, copy=False)
        return SharedBlock(block.X, target, self.C * self.weights(rows), block.start)

    def weights(self, rows: slice) -> Vector:
        """Weights of some rows, times the factors of their classes."""
        factors = self.factors[np.zeros(1, dtype=int) if self.is_regression else self.targets[rows]]
        n_rows = len(range(self.n_rows)[rows])
        return np.asarray(factors * (np.ones(n_rows) if self.weight is None else self.weight[rows]))

    def buffers(self) -> Any:
        """Memory for blocks, which tells its `n_bytes`, where the source can use the same again."""
        return self.source.buffers() if hasattr(self.source, "buffers") else None

    def shuffled(self, rng: np.random.Generator) -> NDArray[Any]:
        """Numbers of all blocks in random order, as the source likes to read them where it has a wish."""
        if hasattr(self.source, "shuffled"):
            return np.asarray(self.source.shuffled(rng))
        return rng.permutation(self.n_blocks)

    def sub_targets(self, p: int, target: Vector) -> Vector:
        """Targets in sub-problem p of rows with these class numbers."""
        return target if self.is_regression else np.asarray(self.signs[p, target.astype(np.int64)])


@dataclass(frozen=True)
class TaskRows:
    """The rows as one sub-problem sees them: a source with its own targets."""

    shared: SharedRows
    part: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shared.n_rows

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.shared.n_features

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a pass."""
        return self.shared.n_blocks

    @property
    def y(self) -> Vector:
        """Targets of all rows, made anew at each call."""
        return self.shared.sub_targets(self.part, self.shared.targets)

    @property
    def weight(self) -> Vector:
        """Weights of all rows, likewise."""
        return self.shared.weights(slice(None))

    def block(self, k: int) -> Block:
        """Block k in memory of its own."""
        block = self.shared.read(k)
        target = self.shared.sub_targets(self.part, block.target)
        return Block(block.X, target, self.shared.weights(block.span), block.start)


def rows_of(X: Rows) -> Rows:
    """Rows of a block in one of the layouts that loops take."""
    rows = as_rows(X)
    return rows if rows.dtype in (np.float32, np.float64) else as_double(rows)
