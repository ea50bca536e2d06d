"""`maxmargin convert`: data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli._data import Json, Opening, SkipBadRows, tell
from maxmargin.cli._options import with_options
from maxmargin.cli._outputs import check_output
from maxmargin.cli._results import print_json
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
    json: Json = False,
) -> None:
    """Write data in another format; the new file appears when it is complete."""
    from maxmargin.data.replacing import replacing

    if len(files) < 2:
        raise ParameterError("convert needs the files to read and the file to write: maxmargin convert a.txt b.csv")
    *sources, target = files
    check_output(target)
    if sort:
        if len(sources) != 1 or to not in (None, "libsvm"):
            raise ParameterError("--sort repairs one file of LIBSVM text: maxmargin convert --sort a.txt b.txt")
        from maxmargin.data.repairing import sorted_lines

        with replacing(target) as file:
            file.writelines(sorted_lines(sources[0]))
        return
    from maxmargin.data.writing import write_rows

    form = to or _format_of(target)
    dtype = "float32" if form == "blocks" else "float64"  # as they are trained on; else every digit is kept
    with opening.source(sources, skip_bad_rows=skip_bad_rows, needs_labels=False, dtype=dtype) as source:
        with replacing(target) as file:
            write_rows(source, file, form)
        shape = {"rows": source.n_rows, "features": source.n_features, "skipped": len(source.skipped)}
    if json:
        print_json({"file": str(target), "format": form, **shape})
    elif not opening.quiet:
        tell(f"{shape['rows']:,} rows, {shape['features']:,} features: {target}")


def _format_of(target: Path) -> str:
    """The format that the name of the new file asks for."""
    from maxmargin.data.opening import COMPRESSED, format_by_ending
    from maxmargin.data.writing import WRITTEN, format_by_name

    form = format_by_name(target)
    if format_by_ending(target) != form or target.suffix.lower() in COMPRESSED:
        raise ParameterError(
            f"files that end in {target.suffix!r} can be read, not written. Give the new file another ending, or say "
            f"--to with one of {', '.join(WRITTEN)}."
        )
    return form
