"""`maxmargin.open`: whatever rows come from, as a source."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.byte_sizes import byte_count
from maxmargin.data.formats.array_files import ArrayFileInput
from maxmargin.data.formats.arrow_files import ArrowInput
from maxmargin.data.formats.inputs import (
    FORMATS,
    Input,
    IterableInput,
    Reading,
    ReadProgress,
    check_bytes,
    format_by_ending,
)
from maxmargin.data.sources.block_files import BlockFileSource, FileSource
from maxmargin.data.sources.plain_arrays import ArrayFileSource, plain_matrices
from maxmargin.data.sources.pulled import PulledSource
from maxmargin.errors import DataError, DataTypeError, ParameterError, unknown_name


def open(  # noqa: A001 - the name is the public one, and is used as maxmargin.open
    data: str | os.PathLike[str] | Iterable[Any],
    *,
    format: str | None = None,  # noqa: A002 - likewise
    label: str | int | None = None,
    labels: Any = None,
    memory: str | float = "16MB",
    n_features: int | None = None,
    dtype: Any = "float32",
    cache: str | os.PathLike[str] | None = None,
    skip_bad_rows: int = 0,
    zero_based: bool | str = "auto",
    n_jobs: int | None = None,
    progress: Callable[[ReadProgress], object] | None = None,
) -> PulledSource:
    """Open data that may be larger than memory, as a source of blocks to train from.

    Nothing is read at once. The first question that only the rows can answer reads the data once and writes them to a
    compact block file, from which every later pass reads. The rows of a .npy in C order, or of an .npz that is not
    compressed, are read from where they lie, and nothing is written.

    Parameters
    ----------
    data
        A path; a pattern such as "day-*.csv"; a list of paths, in this order; or an iterable of (X, y) or
        (X, y, weight), which is gone through once. X may be a list of texts or sequences, for a map that takes those:
        each becomes a row of byte codes, `n_features` of them, or as many as the longest of the first batch has.
    format
        "libsvm", "csv", "parquet", "arrow", "numpy" or "blocks"; None goes by the ending of the name, and takes
        "libsvm" where it says nothing. Text may be compressed by gzip, bzip2, xz or Zstandard.
    label
        Name or position of the column with the label, in CSV, Parquet and Arrow files. None means that all columns
        are features: such rows can be predicted and mapped, not trained on.
    labels
        Labels for .npy and .npz files: an array, or a path of a .npy file for each file of rows. None takes the array y
        of an archive, if it is there.
    memory
        Bytes that a block may take in memory. A fit has a few blocks in hand, and counts them in its own `memory`.
    n_features
        Number of columns; None counts them.
    dtype
        "float32" or "float64": type of the values. "uint8" keeps arrays of bytes as they are, in a quarter of the
        space: for sequences that `map` expands to features.
    cache
        Directory to keep the block file in, where it is found again as long as the data do not change. None uses a
        temporary directory, which is removed with the source.
    skip_bad_rows
        So many malformed rows of text, Parquet and Arrow files are left out, and listed in `source.skipped`; one more
        is an error.
    zero_based
        Whether LIBSVM columns count from 0; "auto" finds out: they do when the index 0 occurs.
    n_jobs
        Threads for reading LIBSVM text; None is all cores.
    progress
        Called during the first pass with bytes read, bytes in all, and rows so far.

    Returns
    -------
    PulledSource
        With `n_rows`, `n_features`, `n_blocks`, `block(k)`, `classes`, `codes`, `y`, `head()`, `split()`, `map()`.
    """
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64, np.uint8):
        raise ParameterError(f'dtype must be "float32", "float64" or "uint8", got dtype={dtype!r}.')
    block_bytes = byte_count("memory", memory)
    skip = _integer("skip_bad_rows", skip_bad_rows, 0)
    columns = None if n_features is None else _integer("n_features", n_features, 1)
    if zero_based != "auto" and not isinstance(zero_based, (bool, np.bool_)):
        raise ParameterError(f'zero_based must be True, False or "auto", got zero_based={zero_based!r}.')
    base = None if isinstance(zero_based, str) else bool(zero_based)
    how = Reading(kind, label, columns, base, skip, n_jobs)
    paths = _paths(data)
    if paths is None:
        assert not isinstance(data, (str, os.PathLike))  # which are paths
        _refuse("an iterable of batches", format=format, label=label, labels=labels)
        return FileSource(IterableInput(data, how), block_bytes, cache, progress)
    chosen = format or _format_of(paths)
    if kind == np.uint8 and chosen not in ("numpy", "blocks"):
        raise ParameterError('dtype="uint8" is for arrays of bytes: NumPy files and batches. Use "float32" here.')
    if chosen not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    rows: Input
    if chosen == "blocks":
        _refuse("a block file", label=label, labels=labels)
        if len(paths) > 1:
            raise ParameterError(f"only one block file can be opened at a time, got {len(paths)}.")
        return BlockFileSource(paths[0])
    if chosen == "libsvm":
        from maxmargin.data.formats.libsvm_text import LibsvmInput  # the compiler is loaded by what needs it

        _refuse("LIBSVM text", label=label, labels=labels)
        rows = LibsvmInput(paths, how)
    elif chosen == "csv":
        from maxmargin.data.formats.csv_text import CsvInput  # likewise

        _refuse("CSV text", labels=labels)
        rows = CsvInput(paths, how)
    elif chosen == "numpy":
        _refuse("NumPy files", label=label)
        rows = ArrayFileInput(paths, how, labels)
        plain = plain_matrices(paths)
        for matrix in plain or ():
            check_bytes(kind, matrix.dtype, str(matrix.path))
        if plain is not None and columns in (None, plain[0].n_columns):
            return ArrayFileSource(rows, plain, block_bytes)
    else:
        _refuse("Parquet and Arrow files", labels=labels)
        rows = ArrowInput(paths, how, chosen == "parquet")
    return FileSource(rows, block_bytes, cache, progress)


def _paths(data: Any) -> list[Path] | None:
    """Files meant by a path, a pattern or a list of them, all of which are there; None for anything else."""
    if isinstance(data, (str, os.PathLike)):
        data = [data]
    if not isinstance(data, (list, tuple)) or not all(isinstance(one, (str, os.PathLike)) for one in data):
        if not isinstance(data, Iterable):
            raise DataTypeError(f"open takes a path, paths, or an iterable of (X, y), got {type(data).__name__}.")
        return None
    if not data:
        raise DataError("open was given an empty list of files.")
    return [path for one in data for path in _matching(Path(one))]


def _matching(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        raise DataError(f"{path} is a directory. Name its files, as in '{path / '*.csv'}'.")
    found = sorted(Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file())
    if not found:
        raise FileNotFoundError(f"no file {'matches' if glob.has_magic(str(path)) else 'is called'} {str(path)!r}.")
    return found


def _format_of(paths: list[Path]) -> str:
    formats = {format_by_ending(path) for path in paths}
    if len(formats) > 1:
        raise DataError(f"the files have several formats: {', '.join(sorted(formats))}. Open them one kind at a time.")
    return formats.pop()


def _refuse(what: str, **given: object) -> None:
    """Refuse arguments that mean nothing for this kind of data."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name}={value!r} means nothing for {what}. Leave it out.")


def _integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be an integer, at least {least}, got {name}={value!r}.")
    return int(value)
