"""`maxmargin convert`: data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli._data import Opening, SkipBadRows, tell
from maxmargin.cli._options import with_options
from maxmargin.errors import ParameterError


@with_options
def convert(
    files: Annotated[list[Path], typer.Argument(help="Data files, then the file to write.")],
    opening: Opening,
    to: Annotated[
        str | None, typer.Option("--to", help="libsvm, csv, numpy or blocks; by the name of the new file if not given.")
    ] = None,
    sort: Annotated[
        bool, typer.Option("--sort", help="Repair LIBSVM text whose columns are not in order (one file to another).")
    ] = False,
    skip_bad_rows: SkipBadRows = 0,
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

    with opening.source(sources, skip_bad_rows=skip_bad_rows, needs_labels=False) as source:
        with replacing(target) as file:
            write_rows(source, file, to or format_by_name(target))
        if not opening.quiet:
            tell(f"{source.n_rows:,} rows, {source.n_features:,} features: {target}")
