"""One table, as text and as HTML."""

from __future__ import annotations

import math
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
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.columns))] if lines else []
        body = [
            "  ".join([line[0].ljust(widths[0]), *(line[k].rjust(widths[k]) for k in range(1, len(widths)))]).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *(f"  {line}" for line in body), *self.notes])

    def as_html(self) -> str:
        """For a notebook."""
        head = _cells("th", self.columns)
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in self.rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self.rows else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<div><p><strong>{escape(self.title)}</strong></p>{table}{notes}</div>"


def _cells(tag: str, words: Sequence[str]) -> str:
    """A line of a table; notebooks set all cells right where nothing else is said."""
    sides = ["left"] + ["right"] * (len(words) - 1)
    return "".join(
        f'<{tag} style="text-align:{side}">{escape(word)}</{tag}>' for side, word in zip(sides, words, strict=True)
    )


def number(value: float | None) -> str:
    """A score as the tables show it."""
    return "not known" if value is None or math.isnan(value) else f"{value:.4f}"
