"""Results as tables: as text for a terminal, as HTML for a notebook."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

CORRELATED = "Folds share training rows, so their scores are correlated and the standard error is too small."


@dataclass(frozen=True)
class Table:
    """A title, columns of words, and notes below them; the first column is set left, the others right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def as_text(self) -> str:
        """For a terminal."""
        lines = [self.columns, *self.rows] if self.rows else []
        first, *widths = [max(map(len, column)) for column in zip(*lines, strict=True)] or [0]
        body = ["  ".join([one[0].ljust(first), *map(str.rjust, one[1:], widths)]).rstrip() for one in lines]
        return "\n".join([self.title, *(f"  {line}" for line in body), *self.notes])

    def as_html(self) -> str:
        """For a notebook."""
        head = _cells("th", self.columns)
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in self.rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self.rows else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<div><p><strong>{escape(self.title)}</strong></p>{table}{notes}</div>"


class ShownAsTable(ABC):
    """A result that reads as a table wherever it is shown."""

    @abstractmethod
    def table(self) -> Table:
        """The result as a table."""

    def __str__(self) -> str:
        return self.table().as_text()

    def _repr_html_(self) -> str:
        return self.table().as_html()


def _cells(tag: str, words: Sequence[str]) -> str:
    """A line of a table; notebooks set all cells right where nothing else is said."""
    sides = ["left"] + ["right"] * (len(words) - 1)
    return "".join(
        f'<{tag} style="text-align:{side}">{escape(word)}</{tag}>' for side, word in zip(sides, words, strict=True)
    )


def number(value: float | None) -> str:
    """A score as the tables show it."""
    return "not known" if value is None or math.isnan(value) else f"{value:.4f}"
