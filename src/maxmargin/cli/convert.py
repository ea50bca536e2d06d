"""`maxmargin convert`: data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli import _data
from maxmargin.cli._data import Opening, tell
from maxmargin.errors import ParameterError


def convert(
    files: Annotated[list[Path], typer.Argument(help="Data files, then the file to write.")],
    to: Annotated[
        str | None, typer.Option("--to", help="libsvm, csv, numpy or blocks; by the name of the new file if not given.")
    ] = None,
    sort: Annotated[
        bool, typer.Option("--sort", help="Repair LIBSVM text whose columns are not in order (one file to another).")
    ] = False,
    format: _data.Format = None,  # noqa: A002 - the name of the option
    label: _data.Label = None,
    labels: _data.LabelFiles = None,
    skip_bad_rows: _data.SkipBadRows = 0,
    cache: _data.Cache = None,
    n_jobs: _data.Threads = None,
    quiet: _data.Quiet = False,
) -> None:
    """Write data in another format; the new file appears when it is complete."""
    from maxmargin.data.replacing import replacing

    if len(files) < 2:
        raise ParameterError("convert needs the files to read and the file to write: maxmargin convert a.txt b.csv")
    *sources, target = files
    if sort:
        if len(sources) != 1 or to not in (None, "libsvm"):
            raise ParameterError("--sort repairs one file of LIBSVM text: maxmargin convert --sort a.txt b.txt")
        from maxmargin.data.repairing import sorted_lines

        with replacing(target) as file:
            file.writelines(sorted_lines(sources[0]))
        return
    from maxmargin.data.writing import format_by_name, write_rows

    with Opening(sources, format, label, labels, skip_bad_rows, cache, n_jobs, quiet).source() as source:
        with replacing(target) as file:
            write_rows(source, file, to or format_by_name(target))
        if not quiet:
            tell(f"{source.n_rows:,} rows, {source.n_features:,} features: {target}")
