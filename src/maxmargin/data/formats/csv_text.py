"""Comma-separated text, plain or compressed, as batches of dense rows.

The separator is the one of comma, semicolon and tab that stands most often in the first line. The first line is a
header when one of its cells, the label's aside, is not a number. All cells but the label's must be numbers; there need
not be one with a label.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from maxmargin._loops.text.rows import RowSpace, TextProgress, read_cells
from maxmargin.data.formats.file_bytes import LONE_RETURN, NOT_FINITE, NUMBER, TextFile, beyond
from maxmargin.data.formats.inputs import Reading, RowBatch, column_called
from maxmargin.data.formats.text_input import PIECE_BYTES, TextInput
from maxmargin.data.labels import LabelTable, no_codes
from maxmargin.errors import DataError

_NOTHING = (*NOT_FINITE, b"na", b"null", b"none")


class _Shape(NamedTuple):
    """What the first line tells."""

    separator: str
    cells: int
    label: int
    """Place of the label's cell; -1 where there is none."""
    names: list[str] | None

    def name(self, cell: int) -> str:
        """Name of a column, for a person."""
        return f"column {cell}" if self.names is None else f"column {self.names[cell]!r}"


class CsvInput(TextInput):
    """Rows of comma-separated files, one file after the other, with the same columns."""

    _least_bytes = 2

    def __init__(self, paths: Sequence[Path], how: Reading, piece_bytes: int = PIECE_BYTES):
        settings = f"csv {how.dtype} {how.label!r} {how.n_features} {how.skip_bad_rows}"
        # A quoted label may hold line breaks, so that only the reading itself tells where a row ends: one thread.
        super().__init__(paths, how, settings, how.label is not None, 1, piece_bytes)

    def batches(self) -> Iterator[RowBatch]:
        """All rows; each batch is overwritten by the next."""
        self._cells = None if self.how.n_features is None else self.how.n_features + self.has_labels
        self._names: list[str] | None = None
        return super().batches()

    def label_table(self) -> LabelTable:
        """What the codes of the labels stand for; doubled quotes in a quoted label stand for one."""
        table = super().label_table()
        if table.kind != "text":
            return table
        return LabelTable("text", [label.replace('""', '"') for label in table.values], table.complete)

    def _rows_of(self, number: int) -> Iterator[RowBatch]:
        self._knows_shape = False
        return super()._rows_of(number)

    def _begin(self, file: TextFile, lines: int) -> tuple[int, int]:
        at = 0
        if self._knows_shape:
            return at, lines
        while at < file.end and not file.text[at : file.line_end(at)].tobytes().strip():
            at, lines = file.line_end(at), lines + 1
        if at < file.end:
            after = file.line_end(at)
            self._shape, is_header = self._header(file.text[at:after].tobytes(), f"{file.path}, line {lines + 1}")
            self._knows_shape = True
            if is_header:
                at, lines = after, lines + 1
        return at, lines

    def _header(self, record: bytes, where: str) -> tuple[_Shape, bool]:
        """Separator, columns and label of a file from its first line, and whether that is a header."""
        line = record.decode(errors="replace")
        separator = max(",;\t", key=line.count)
        cells = [cell.strip() for cell in _cells(line, separator)]
        label = column_called(self.how.label, cells, where)
        is_header = isinstance(self.how.label, str) or any(
            NUMBER.fullmatch(cell.encode()) is None and cell.lower().lstrip("+-") not in ("", "nan", "inf", "infinity")
            for place, cell in enumerate(cells)
            if place != label
        )
        if self._cells not in (None, len(cells)):
            with_label = " with the label" if self.has_labels else "; if one of them is the label, name it by label="
            raise DataError(f"{where}: found {len(cells)} columns, expected {self._cells}{with_label}.")
        if is_header and self._names not in (None, cells):
            raise DataError(f"{where}: found columns {cells}, the files before had {self._names}.")
        self._cells, self._names = len(cells), cells if is_header else self._names
        if len(cells) == self.has_labels:
            raise DataError(f"{where}: found one column only; a label and at least one feature are needed.")
        return _Shape(separator, len(cells), label, cells if is_header else None), is_header

    def _read(self, file: TextFile, end: int, done: TextProgress, space: RowSpace) -> tuple[TextProgress, int]:
        shape = self._shape
        return read_cells(file.text, end, ord(shape.separator), shape.cells, shape.label, done, space)

    def _batch(self, space: RowSpace, done: TextProgress) -> RowBatch:
        values = space.values[: done.entries].reshape(done.rows, -1)
        return RowBatch(values, None, None, no_codes(done.rows), n_columns=values.shape[1])

    def _problem(self, line: bytes) -> str:
        shape = self._shape
        text = line.decode(errors="backslashreplace").rstrip("\n").removesuffix("\r")
        if "\r" in text:
            return LONE_RETURN
        if text.count('"') % 2:
            return "a quote is opened and not closed. Close it, or leave the row out."
        cells = _cells(text, shape.separator)
        if len(cells) != shape.cells:
            missing = "Add what is missing, or quote cells with separators."
            return f"found {len(cells)} cells, expected {shape.cells}. {missing}"
        for place, cell in enumerate(cells):
            if not cell.strip():
                return f"{shape.name(place)} is empty. Fill it in, or leave the row out."
            problem = None if place == shape.label else self._problem_of_number(cell)
            if problem is not None:
                return f"{shape.name(place)} has {cell!r}{problem}"
        return f"cannot read {text!r}. Quotes may stand only around a whole cell."

    def _problem_of_number(self, cell: str) -> str | None:
        word = cell.strip().encode(errors="replace")
        if word.lstrip(b"+-").lower() in _NOTHING:
            return "; values must be finite numbers. Fill it in, or leave the row out."
        if NUMBER.fullmatch(word) is None:
            hint = "" if self.has_labels else ", or name the column by label= if it is the label"
            return f", which is not a finite decimal number. Encode words as numbers{hint}."
        too_large = beyond(word, self.how.dtype)
        return None if too_large is None else f", which {too_large}"


def _cells(record: str, separator: str) -> list[str]:
    """Cells of a record; one cell where it cannot be taken apart, because a cell is too long or a quote is odd."""
    try:
        return next(csv.reader(io.StringIO(record), delimiter=separator), [""])
    except csv.Error:
        return [record]
