"""`maxmargin path`: machines along a grid of C, each with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import _data, _machines
from maxmargin.cli._data import Opening, in_memory
from maxmargin.cli._results import certificate_record, print_json, print_table


def path(
    files: _data.Files,
    kernel: _machines.Kernel = None,
    C: Annotated[str, typer.Option("--C", help="Costs, with commas between them.")] = "0.01,0.1,1,10,100",
    gamma: _machines.Gamma = "scale",
    degree: _machines.Degree = 3,
    coef0: _machines.Coef0 = 0.0,
    loss: _machines.Loss = None,
    regression: _machines.IsRegression = False,
    epsilon: _machines.Epsilon = 0.1,
    class_weight: _machines.ClassWeight = None,
    intercept: _machines.InterceptKind = "free",
    tol: _machines.Tol = 1e-4,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the coefficients against C (linear machines).")
    ] = None,
    format: _data.Format = None,  # noqa: A002 - the name of the option
    label: _data.Label = None,
    labels: _data.LabelFiles = None,
    skip_bad_rows: _data.SkipBadRows = 0,
    cache: _data.Cache = None,
    n_jobs: _data.Threads = None,
    quiet: _data.Quiet = False,
    json: _data.Json = False,
) -> None:
    """Train along a grid of C, each machine from the one before it; a line for each."""
    from maxmargin.evaluate import path as path_along

    machine = _machines.Machine(
        kernel=kernel,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        loss=loss,
        regression=regression,
        epsilon=epsilon,
        class_weight=class_weight,
        intercept=intercept,
        tol=tol,
        n_jobs=n_jobs,
    )
    estimator = machine.estimator()
    costs = _machines.numbers("C", C)
    with Opening(files, format, label, labels, skip_bad_rows, cache, n_jobs, quiet).source() as source:
        X, y = in_memory(source)
    found = path_along(estimator, X, y, C=costs)
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
            axes.figure.savefig(file, format=plot.suffix.lstrip(".") or "png", dpi=150)
