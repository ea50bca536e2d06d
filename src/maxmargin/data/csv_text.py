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
from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.text.cells import MALFORMED, UNFINISHED, CellProgress, CellSpace, read_cells
from maxmargin.data.batches import Batch, Found
from maxmargin.data.input_files import BadRows, InputFiles
from maxmargin.data.labelled_rows import labelled_rows
from maxmargin.data.labels import NO_LABELS, LabelTable, no_codes
from maxmargin.data.text_file import TextFile
from maxmargin.data.text_labels import NUMBER, TextLabels
from maxmargin.errors import DataError

CHUNK_BYTES = 4 << 20
_BATCH_BYTES = 16 << 20


class _Shape(NamedTuple):
    """What the first line tells."""

    separator: str
    cells: int
    label: int
    """Place of the label's cell; -1 where there is none."""
    names: list[str] | None

    @property
    def width(self) -> int:
        """Cells with features."""
        return self.cells - (self.label >= 0)

    def name(self, cell: int) -> str:
        """Name of a column, for a person."""
        return f"column {cell}" if self.names is None else f"column {self.names[cell]!r}"


class CsvInput(InputFiles):
    """Rows of comma-separated files, one file after the other, with the same columns."""

    def __init__(
        self,
        paths: Sequence[Path],
        dtype: np.dtype[Any],
        label: str | int | None,
        n_features: int | None,
        skip_bad_rows: int,
        chunk_bytes: int = CHUNK_BYTES,
    ):
        super().__init__(paths, f"csv {dtype} {label!r} {n_features} {skip_bad_rows}", label is not None)
        self._dtype = dtype
        self._label = label
        self._n_features = n_features
        self._skip_bad_rows = skip_bad_rows
        self._chunk_bytes = chunk_bytes

    def batches(self) -> Iterator[Batch]:
        """All rows; each batch is overwritten by the next."""
        self.begin()
        self._bad, self._labels = BadRows(self._skip_bad_rows), TextLabels()
        self._cells = None if self._n_features is None else self._n_features + self.has_labels
        self._names: list[str] | None = None
        for number, path in enumerate(self.paths):
            file = TextFile(path, min(self._chunk_bytes, max(64, 2 * path.stat().st_size)))
            try:
                yield from self._of_file(file)
            finally:
                file.close()
            self.file_done(number)

    def found(self) -> Found:
        """Labels and the rows left out; doubled quotes in a quoted label stand for one."""
        table = self._labels.table() if self.has_labels else NO_LABELS
        if table.kind == "text":
            table = LabelTable("text", [label.replace('""', '"') for label in table.values], table.complete)
        return Found(table, 0, tuple(self._bad.messages))

    def _of_file(self, file: TextFile) -> Iterator[Batch]:
        shape: _Shape | None = None
        lines = 0
        while file.advance():
            self.at(file.position)
            at = 0
            if shape is None:
                at, before = _first_line(file)
                lines += before
                if at == file.end:
                    file.consumed = at
                    continue
                shape, is_header = self._look(file, at, lines)
                space = _new_space(shape.width, self._dtype)
                if is_header:
                    lines += 1
                    at = file.line_end(at)
            done = CellProgress(at, lines, 0, 0)
            while done.at < file.end:
                begin = done
                done, reason = read_cells(file.text, file.end, ord(shape.separator), shape.label, done, space)
                for entry, first, last, record in space.slow[: done.slow]:
                    row, column = divmod(int(entry), shape.width)
                    space.values[row, column] = float(file.text[first:last].tobytes())
                    if not np.isfinite(space.values[row, column]):
                        before = begin.lines + file.lines_between(begin.at, int(record))
                        done, reason = CellProgress(int(record), before, row, 0), MALFORMED
                        break
                if done.rows:
                    yield from self._batches_of(file, space, done, begin)
                done = done._replace(rows=0, slow=0)
                if reason == UNFINISHED and not file.at_end:
                    break
                if reason:
                    after = file.line_end(done.at)
                    record = file.text[done.at : after].tobytes()
                    self._bad.add(f"{file.path}, line {done.lines + 1}: {_problem(record, shape, self._dtype)}")
                    done = done._replace(at=after, lines=done.lines + 1)
            lines = done.lines
            file.consumed = done.at

    def _batches_of(self, file: TextFile, space: CellSpace, done: CellProgress, begin: CellProgress) -> Iterator[Batch]:
        values = space.values[: done.rows]
        batch = Batch(values, None, None, no_codes(done.rows), n_columns=values.shape[1])
        if not self.has_labels:
            return iter([batch])
        begins, ends = space.label_begin[: done.rows], space.label_end[: done.rows]

        def where(row: int) -> str:
            return f"{file.path}, line {begin.lines + file.lines_between(begin.at, int(begins[row])) + 1}"

        return labelled_rows(batch, self._labels, file.text, begins, ends, self._bad, where)

    def _look(self, file: TextFile, at: int, lines: int) -> tuple[_Shape, bool]:
        """Separator, columns and label of a file from its first line, and whether that is a header."""
        where = f"{file.path}, line {lines + 1}"
        line = file.text[at : file.line_end(at)].tobytes().decode(errors="replace")
        separator = max(",;\t", key=line.count)
        cells = [cell.strip() for cell in _cells(line, separator)]
        label = self._label_cell(cells, where)
        is_header = isinstance(self._label, str) or any(
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

    def _label_cell(self, cells: list[str], where: str) -> int:
        if self._label is None:
            return -1
        if isinstance(self._label, str):
            if self._label not in cells:
                raise DataError(f"{where}: no column is called {self._label!r}. Found: {', '.join(map(repr, cells))}.")
            if cells.count(self._label) > 1:
                raise DataError(
                    f"{where}: {cells.count(self._label)} columns are called {self._label!r}. Say which is the label "
                    "by its position from 0, and mind that the others become features."
                )
            return cells.index(self._label)
        if not -len(cells) <= self._label < len(cells):
            raise DataError(f"{where}: label={self._label}, but there are {len(cells)} columns, counted from 0.")
        return self._label % len(cells)


def _cells(record: str, separator: str) -> list[str]:
    """Cells of a record; one cell where it cannot be taken apart, because a cell is too long or a quote is odd."""
    try:
        return next(csv.reader(io.StringIO(record), delimiter=separator), [""])
    except csv.Error:
        return [record]


def _first_line(file: TextFile) -> tuple[int, int]:
    """Where the first line that is not blank begins, and how many come before it."""
    at, lines = 0, 0
    while at < file.end and not file.text[at : file.line_end(at)].tobytes().strip():
        at, lines = file.line_end(at), lines + 1
    return at, lines


def _new_space(width: int, dtype: np.dtype[Any]) -> CellSpace:
    rows = max(1, _BATCH_BYTES // (width * dtype.itemsize))
    return CellSpace(
        np.empty((rows, width), dtype=dtype),
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((rows * width, 4), dtype=np.int64),
    )


def _problem(record: bytes, shape: _Shape, dtype: np.dtype[Any]) -> str:
    """The first problem of a record, in words."""
    if b"\0" in record:
        return "found a NUL byte; the file is binary, or damaged. Copy it again, or name its format with format=."
    text = record.decode(errors="backslashreplace").rstrip("\n").removesuffix("\r")
    if "\r" in text:
        return "found a carriage return within the line; lines must end in LF or CRLF. Convert the line ends."
    if text.count('"') % 2:
        return "a quote is opened and not closed. Close it, or leave the row out."
    cells = _cells(text, shape.separator)
    if len(cells) != shape.cells:
        return f"found {len(cells)} cells, expected {shape.cells}. Add what is missing, or quote cells with separators."
    for place, cell in enumerate(cells):
        if not cell.strip():
            return f"{shape.name(place)} is empty. Fill it in, or leave the row out."
        if place == shape.label:
            continue
        word = cell.strip().encode(errors="replace")
        if word.lstrip(b"+-").lower() in (b"nan", b"na", b"null", b"none", b"inf", b"infinity"):
            return f"{shape.name(place)} has {cell!r}; values must be finite numbers. Fill it in, or leave the row out."
        if NUMBER.fullmatch(word) is None:
            what = f"{shape.name(place)} has {cell!r}, which is not a finite decimal number. Encode words as numbers"
            return f"{what}." if shape.label >= 0 else f"{what}, or name the column by label= if it is the label."
        with np.errstate(over="ignore"):
            if not np.isfinite(dtype.type(float(word))):
                wider = '; dtype="float64" holds more' if np.isfinite(float(word)) else ""
                return f"{shape.name(place)} has {cell!r}, which is beyond {dtype}{wider}. Scale the feature."
    return f"cannot read {text!r}. Quotes may stand only around a whole cell."
