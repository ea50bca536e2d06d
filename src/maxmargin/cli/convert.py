"""`maxmargin convert`: data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli._data import DataOptions, Json, SkipBadRows, tell
from maxmargin.cli._options import with_options
from maxmargin.cli._results import check_output, print_json
from maxmargin.errors import ParameterError, unknown_name

_ONLY_READ = (".npy", ".tsv")


@with_options
def convert(
    files: Annotated[list[Path], typer.Argument(help="Data files, then the file to write.")],
    opening: DataOptions,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help="libsvm, csv, parquet, arrow, numpy or blocks; by the name of the new file if not given."
        ),
    ] = None,
    sort: Annotated[
        bool, typer.Option("--sort", help="Repair LIBSVM text whose columns are not in order (one file to another).")
    ] = False,
    skip_bad_rows: SkipBadRows = 0,
    json: Json = False,
) -> None:
    """Write data in another format; the new file appears when it is complete.

    Text is compressed where the name of the new file ends in .gz, .bz2, .xz or .zst.
    """
    from maxmargin.data.replacing import replacing

    if len(files) < 2:
        raise ParameterError("convert needs the files to read and the file to write: maxmargin convert a.txt b.csv")
    *sources, target = files
    check_output(target)
    if sort:
        if len(sources) != 1 or to not in (None, "libsvm"):
            raise ParameterError("--sort repairs one file of LIBSVM text: maxmargin convert --sort a.txt b.txt")
        from maxmargin.data.formats.file_bytes import compressing
        from maxmargin.data.formats.writing import sorted_lines

        with replacing(target) as file, compressing(file, target.suffix.lower()) as text:
            for line in sorted_lines(sources[0]):  # not every compressor takes several at once
                text.write(line)
        return
    from maxmargin.data.formats.writing import write_rows

    form = _format_of(target, to)
    dtype = "float32" if form == "blocks" else "float64"  # as they are trained on; else every digit is kept
    with opening.source(sources, skip_bad_rows=skip_bad_rows, needs_labels=False, dtype=dtype) as source:
        with replacing(target) as file:
            write_rows(source, file, form, target.suffix.lower())
        shape = {"rows": source.n_rows, "features": source.n_features, "skipped": len(source.skipped)}
    if json:
        print_json({"file": str(target), "format": form, **shape})
    elif not opening.quiet:
        tell(f"{shape['rows']:,} rows, {shape['features']:,} features: {target}")


def _format_of(target: Path, to: str | None) -> str:
    """The format asked for, by its name or by that of the new file, which must not belie what is in it."""
    from maxmargin.data.formats.file_bytes import ENDINGS
    from maxmargin.data.formats.inputs import FORMATS, format_by_ending
    from maxmargin.data.formats.writing import TEXTS

    ending = target.suffix.lower()
    if to is not None and to not in FORMATS:
        raise unknown_name("--to", to, FORMATS)
    inside = Path(target.stem).suffix.lower() if ending in ENDINGS else ending
    if to is None and inside in _ONLY_READ:
        raise ParameterError(
            f"files that end in {inside!r} can be read, not written. Give the new file another ending, or say "
            f"--to with one of {', '.join(FORMATS)}."
        )
    form = to or format_by_ending(target)
    if ending in ENDINGS and form not in TEXTS:
        raise ParameterError(
            f"{str(target)!r} would be {form} inside {ending}, and only text is compressed: .csv{ending}, or "
            f".txt{ending} for LIBSVM text. Leave {ending!r} out."
        )
    return form
