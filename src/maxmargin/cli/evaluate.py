"""`maxmargin evaluate`: an experiment with a sealed test set, from the command line."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli._data import Files, Json, Opening, SkipBadRows, in_memory
from maxmargin.cli._machines import Machine, numbers, width
from maxmargin.cli._options import with_options
from maxmargin.cli._results import print_json


@with_options
def evaluate(
    *,
    files: Files,
    opening: Opening,
    C: Annotated[
        str, typer.Option("--C", help="Costs to compare, with commas between them.", rich_help_panel="Machine")
    ] = "0.1,1,10",
    gamma: Annotated[
        str, typer.Option("--gamma", help="Widths to compare, with commas between them.", rich_help_panel="Machine")
    ] = "scale",
    machine: Machine,
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.", min=2)] = 5,
    test: Annotated[float, typer.Option("--test", help="Share of the rows that is locked away.")] = 0.2,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the split.")] = 0,
    rule: Annotated[str, typer.Option("--rule", help="best or one-standard-error.")] = "best",
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", help="JSON file that remembers scores and the look at the test set."),
    ] = None,
    reveal: Annotated[bool, typer.Option("--reveal", help="Score the chosen model on the test set: once.")] = False,
    skip_bad_rows: SkipBadRows = 0,
    json: Json = False,
) -> None:
    """Compare settings by cross-validation on rows outside a sealed test set; with --reveal look at that, once."""
    from maxmargin.evaluate import Experiment

    models = _models(machine, C, gamma, opening.n_jobs)
    with opening.source(files, skip_bad_rows=skip_bad_rows) as source:
        X, y = in_memory(source)
    if experiment is not None and experiment.exists():
        trial = Experiment.open(experiment, X, y)
    else:
        trial = Experiment(X, y, test=test, seed=seed, stratify=not machine.regression)
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


def _models(machine: Machine, C: str, gamma: str, n_jobs: int | None) -> dict[str, Any]:
    """Estimators by name, from small costs to large."""
    costs = sorted(numbers("C", C))
    if machine.kernel in (None, "linear"):
        return {f"C={cost:g}": machine.estimator(cost, n_jobs=n_jobs) for cost in costs}
    widths = [width(one) for one in gamma.split(",")]
    return {
        f"C={cost:g}, gamma={one}": machine.estimator(cost, one, n_jobs=n_jobs) for cost, one in product(costs, widths)
    }
