"""`maxmargin path`: machines along a grid of C, each with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli._data import DataOptions, Files, Json, SkipBadRows, in_memory
from maxmargin.cli._machines import Gamma, MachineOptions, costs, machine_option, width
from maxmargin.cli._maps import MapText, check_letters, map_named, value_type
from maxmargin.cli._options import with_options
from maxmargin.cli._results import certificate_record, check_output, print_json, print_table
from maxmargin.errors import DataError, ParameterError

_PICTURES = (".png", ".pdf", ".svg")


@with_options
def path(
    *,
    files: Files,
    opening: DataOptions,
    C: Annotated[str, machine_option("--C", "Costs, with commas between them.")] = "0.01,0.1,1,10,100",
    gamma: Gamma = "scale",
    machine: MachineOptions,
    map: MapText = None,  # noqa: A002 - as the option is called
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the coefficients against C (linear machines): .png, .pdf or .svg."),
    ] = None,
    skip_bad_rows: SkipBadRows = 0,
    json: Json = False,
) -> None:
    """Train along a grid of C, each machine from the one before it; a line for each."""
    from maxmargin.evaluate import path as path_along

    estimator = machine.estimator(gamma=width(gamma), n_jobs=opening.n_jobs)
    carried = map_named(map, machine, gamma)
    check_letters(carried, files, opening.format)
    grid = costs(C)
    if plot is not None:
        _check_plot(plot, files, machine)
    with opening.source(files, skip_bad_rows=skip_bad_rows, dtype=value_type(carried)) as source:
        machine.check_labels(source, files)
        if plot is not None and not machine.regression and len(source.classes) > 2:
            raise DataError(
                f"{files[0]}: --plot draws one weight a feature, and {len(source.classes)} classes have as many. Give "
                "rows of two classes, or leave --plot out."
            )
        X, y = in_memory(source if carried is None else source.map(carried.fitted(source)))
    found = path_along(estimator, X, y, C=grid)
    scores = [float(model.score(X, y)) for model in found]
    if json:
        print_json(
            {
                "path": [
                    {"C": cost, "training_score": score, "certificate": certificate_record(model.certificate_)}
                    for cost, score, model in zip(found.C.tolist(), scores, found, strict=True)
                ]
            }
        )
    else:
        header = ["C", "training score", "primal", "relative gap", "support rows", "status"]
        rows = [
            [
                f"{cost:g}",
                f"{score:.4f}",
                f"{one.primal:.6g}",
                f"{one.relative_gap:.1e}",
                f"{one.n_support:,}",
                one.status.name,
            ]
            for cost, score, one in zip(found.C.tolist(), scores, found.certificates, strict=True)
        ]
        print_table(header, rows)
    if plot is not None:
        from maxmargin.data.replacing import replacing
        from maxmargin.plot import path as draw_path

        axes: Any = draw_path(found)
        with replacing(plot) as file:
            axes.figure.savefig(file, format=plot.suffix.lower().lstrip("."), dpi=150)


def _check_plot(plot: Path, files: list[Path], machine: MachineOptions) -> None:
    """Refuse a picture that cannot be drawn, before anything is trained."""
    check_output(plot, files)
    if plot.suffix.lower() not in _PICTURES:
        raise ParameterError(f"--plot writes {', '.join(_PICTURES)}, got {str(plot)!r}.")
    if machine.kernel not in (None, "linear"):
        raise ParameterError("--plot draws coefficients, which a kernel machine has not. Leave --kernel or --plot out.")
