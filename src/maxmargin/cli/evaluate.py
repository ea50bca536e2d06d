"""`maxmargin evaluate`: an experiment with a sealed test set, from the command line."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import _data, _machines
from maxmargin.cli._data import Opening, in_memory
from maxmargin.cli._results import print_json


def evaluate(
    files: _data.Files,
    kernel: _machines.Kernel = None,
    C: Annotated[str, typer.Option("--C", help="Costs to compare, with commas between them.")] = "0.1,1,10",
    gamma: Annotated[str, typer.Option("--gamma", help="Widths to compare, with commas between them.")] = "scale",
    degree: _machines.Degree = 3,
    coef0: _machines.Coef0 = 0.0,
    loss: _machines.Loss = None,
    regression: _machines.IsRegression = False,
    epsilon: _machines.Epsilon = 0.1,
    class_weight: _machines.ClassWeight = None,
    intercept: _machines.InterceptKind = "free",
    tol: _machines.Tol = 1e-4,
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.", min=2)] = 5,
    test: Annotated[float, typer.Option("--test", help="Share of the rows that is locked away.")] = 0.2,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the split.")] = 0,
    rule: Annotated[str, typer.Option("--rule", help="best or one-standard-error.")] = "best",
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", help="JSON file that remembers scores and the look at the test set."),
    ] = None,
    reveal: Annotated[bool, typer.Option("--reveal", help="Score the chosen model on the test set: once.")] = False,
    format: _data.Format = None,  # noqa: A002 - the name of the option
    label: _data.Label = None,
    labels: _data.LabelFiles = None,
    skip_bad_rows: _data.SkipBadRows = 0,
    cache: _data.Cache = None,
    n_jobs: _data.Threads = None,
    quiet: _data.Quiet = False,
    json: _data.Json = False,
) -> None:
    """Compare settings by cross-validation on rows outside a sealed test set; with --reveal look at that, once."""
    from maxmargin.evaluate import Experiment

    machine = _machines.Machine(
        kernel=kernel,
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
    models = _models(machine, C, gamma)
    opening = Opening(files, format, label, labels, skip_bad_rows, cache, n_jobs, quiet)
    with opening.source() as source:
        X, y = in_memory(source)
    if experiment is not None and experiment.exists():
        trial = Experiment.open(experiment, X, y)
    else:
        trial = Experiment(X, y, test=test, seed=seed, stratify=not regression)
    trial.compare(models, cv=folds, verbose=0)
    chosen = trial.choose(rule)
    if experiment is not None:
        trial.save(experiment)
    revealed = trial.reveal() if reveal else None
    if json:
        print_json(
            {
                "scores": trial.scores,
                "chosen": chosen,
                "looks": trial.looks,
                "test_score": None if revealed is None else revealed.score,
            }
        )
    else:
        print(trial)


def _models(machine: _machines.Machine, C: str, gamma: str) -> dict[str, Any]:
    """Estimators by name, from small costs to large."""
    costs = sorted(_machines.numbers("C", C))
    if machine.kernel in (None, "linear"):
        return {f"C={cost:g}": machine.estimator(C=cost) for cost in costs}
    widths = [one if one in ("scale", "auto") else _machines.number("gamma", one) for one in gamma.split(",")]
    return {
        f"C={cost:g}, gamma={width}": machine.estimator(C=cost, gamma=width) for cost, width in product(costs, widths)
    }
