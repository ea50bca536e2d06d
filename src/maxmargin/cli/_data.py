"""The data that a command works on: options to open them, a line of progress while they are read, and sizes.

Everything that is not a result goes to stderr, so that results can be piped.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from maxmargin.cli._errors import for_command_line
from maxmargin.errors import DataError, ParameterError, label_in_words

if TYPE_CHECKING:
    from maxmargin._types import Labels, Rows
    from maxmargin.data.formats.inputs import ReadProgress

_SECONDS_BETWEEN_LINES = 2.0
_PANEL = "Data"

Files = Annotated[
    list[Path],
    typer.Argument(help="Data: LIBSVM text (also .gz .bz2 .xz .zst), CSV, Parquet, Arrow, .npy, .npz, blocks."),
]
SkipBadRows = Annotated[
    int,
    typer.Option(
        "--skip-bad-rows", help="Leave out up to so many malformed rows, and list them.", min=0, rich_help_panel=_PANEL
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Results as one JSON object on stdout, for machines.")]


@dataclass(frozen=True)
class DataOptions:
    """How to open the files of a command."""

    panel: ClassVar[str] = _PANEL
    format: Annotated[str | None, "libsvm, csv, parquet, arrow, numpy or blocks; else by the file's name."] = None
    label: Annotated[str | None, "Column with the label, by name or position from 0 (CSV, Parquet, Arrow)."] = None
    labels: Annotated[list[Path] | None, "A .npy file of labels for each .npy of rows."] = None
    cache: Annotated[Path | None, "Directory that keeps the data as blocks; else a temporary one."] = None
    n_features: Annotated[int | None, "Columns of LIBSVM text, which are counted if not given."] = None
    n_jobs: Annotated[int | None, typer.Option("--n-jobs", help="Threads; all cores if not given.")] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False

    @contextmanager
    def source(
        self,
        files: list[Path],
        *,
        skip_bad_rows: int = 0,
        block_memory: str = "16MB",
        n_features: int | None = None,
        needs_labels: bool = True,
        tells_problems: bool = True,
        dtype: str = "float32",
    ) -> Iterator[Any]:
        """The files as a source, closed at the end; what had to be left out is told."""
        from maxmargin.data.opening import open as open_data

        self._check_labels()
        with _Reading(quiet=self.quiet) as reading:
            source = open_data(
                [str(path) for path in files],
                format=self.format,
                label=_column(self.label),
                labels=self.labels,
                memory=block_memory,
                dtype=dtype,
                n_features=self.n_features if n_features is None else n_features,
                skip_bad_rows=skip_bad_rows,
                cache=self.cache,
                n_jobs=self.n_jobs,
                progress=reading.tell,
            )
            if needs_labels and not source.has_labels:  # told before a long read
                raise DataError(
                    f"{files[0]}: nothing says which column is the label. Name it with --label, by name or by position "
                    "from 0 (-1 is the last); the labels of .npy files are files of their own, given with --labels."
                )
            source.n_rows  # noqa: B018 - reads the files, with their progress
        with source:
            _check_features(source, files)
            if tells_problems:
                _tell_problems(source.skipped)
            yield source

    def _check_labels(self) -> None:
        for path in self.labels or ():
            if path.suffix.lower() != ".npy":
                raise ParameterError(f"--labels takes .npy files, one for each file of rows, got {str(path)!r}.")


def _check_features(source: Any, files: list[Path]) -> None:
    """Refuse rows of nothing but a label, which is what LIBSVM's format finds in a table."""
    if source.n_features == 0:
        raise DataError(
            f"{files[0]}: found {source.n_rows:,} rows without a feature; the first is the label "
            f"{label_in_words(source.block(0).y[0])!r} alone. LIBSVM text reads `label index:value ...`; if the file "
            "is a table, say --format csv, and name the column of the label with --label."
        )


def in_memory(source: Any) -> tuple[Rows, Labels]:
    """All rows and labels of a source as arrays."""
    rows: tuple[Rows, Labels] = source.head(source.n_rows)
    return rows


def _tell_problems(problems: Sequence[str]) -> None:
    for problem in problems:
        tell(f"left out: {for_command_line(problem)}")
    if problems:
        tell(f"{len(problems):,} malformed row{'s were' if len(problems) > 1 else ' was'} left out.")


def tell(words: str) -> None:
    """A line for the person at the terminal."""
    print(words, file=sys.stderr, flush=True)


def _column(label: str | None) -> str | int | None:
    """A column by position where the words are a number, else by name."""
    if label is None:
        return None
    try:
        return int(label)
    except ValueError:
        return label


class _Reading:
    """Progress of the first pass: a bar on a terminal, plain lines elsewhere."""

    def __init__(self, *, quiet: bool):
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._told = time.perf_counter()
        self._first: tuple[float, ReadProgress] | None = None

    def __enter__(self) -> _Reading:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("reading"), BarColumn(24), TextColumn("{task.fields[words]}"), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tell(self, at: ReadProgress) -> None:
        """So much has been read."""
        if self._quiet:
            return
        now = time.perf_counter()
        if self._first is None:
            self._first = now, at
        words = f"{at.rows:,} rows{_speed(*self._first, now, at)}"
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task("reading", total=at.bytes_total, words=words)
            self._bar.update(self._task, completed=at.bytes_read, words=words)
        elif now - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = now
            share = f"{at.bytes_read / at.bytes_total:.0%}, " if at.bytes_total else ""
            tell(f"reading: {share}{words}")


def _speed(then: float, first: ReadProgress, now: float, at: ReadProgress) -> str:
    """Rows and bytes a second since the first news, before which a compiler may have had to be loaded."""
    seconds = now - then
    if seconds <= 0.0:
        return ""
    rows, megabytes = (at.rows - first.rows) / seconds, (at.bytes_read - first.bytes_read) / seconds / 1e6
    return f", {rows:,.0f} rows/s, {megabytes:.{0 if megabytes >= 10 else 1}f} MB/s"
