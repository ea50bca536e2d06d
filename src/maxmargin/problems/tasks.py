"""Which rows a sub-problem uses, and what targets it gives them.

A classifier of many classes is several binary problems over the same rows. Each is named by its task, so that a
certificate can build the sub-problem again from the user's own labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import Labels, RowIndex, Vector
from maxmargin.errors import label_in_words


class Task(ABC):
    """Rows and targets of a sub-problem."""

    @abstractmethod
    def rows(self, y: Labels) -> RowIndex | None:
        """Positions of the rows used, or None for all."""

    @abstractmethod
    def targets(self, y: Labels) -> Vector:
        """Targets of the given rows (those used)."""

    @property
    def aim(self) -> str:
        """What it is for, where a machine has one for each of several aims."""
        return ""


@dataclass(frozen=True)
class Regression(Task):
    """All rows, with their numbers."""

    def rows(self, y: Labels) -> None:
        """All."""
        return

    def targets(self, y: Labels) -> Vector:
        """The numbers themselves."""
        return np.asarray(y, dtype=np.float64)

    def __str__(self) -> str:
        return "regression"


@dataclass(frozen=True)
class Pair(Task):
    """Rows of two classes: +1 for `positive`, -1 for `negative`."""

    negative: Any
    positive: Any

    def rows(self, y: Labels) -> RowIndex | None:
        """Rows of either class; None where there is no third."""
        used = (y == self.positive) | (y == self.negative)
        return None if np.all(used) else np.flatnonzero(used)

    def targets(self, y: Labels) -> Vector:
        """+1 or -1."""
        return np.where(y == self.positive, 1.0, -1.0)

    def __str__(self) -> str:
        return f"{self.positive} against {self.negative}"

    @property
    def aim(self) -> str:
        """Which classes are told from each other."""
        return f"for telling class {label_in_words(self.positive)} from class {label_in_words(self.negative)}"


@dataclass(frozen=True)
class OneClass(Task):
    """All rows, on the same side; labels have no meaning."""

    def rows(self, y: Labels) -> None:
        """All."""
        return

    def targets(self, y: Labels) -> Vector:
        """+1."""
        return np.ones(len(y))

    def __str__(self) -> str:
        return "one class"


@dataclass(frozen=True)
class OneVersusRest(Task):
    """All rows: +1 for `positive`, -1 for every other class."""

    positive: Any

    def rows(self, y: Labels) -> None:
        """All."""
        return

    def targets(self, y: Labels) -> Vector:
        """+1 or -1."""
        return np.where(y == self.positive, 1.0, -1.0)

    def __str__(self) -> str:
        return f"{self.positive} against the rest"

    @property
    def aim(self) -> str:
        """Which class is told from the others."""
        return f"for telling class {label_in_words(self.positive)} from the other classes"


@dataclass(frozen=True)
class AllClasses(Task):
    """All rows, with the number of their class."""

    classes: tuple[Any, ...]

    def rows(self, y: Labels) -> None:
        """All."""
        return

    def targets(self, y: Labels) -> Vector:
        """0, 1, ..., K - 1."""
        return np.searchsorted(np.asarray(self.classes), y).astype(np.float64)

    def __str__(self) -> str:
        return f"{len(self.classes)} classes at once"
