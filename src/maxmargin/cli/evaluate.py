"""`maxmargin evaluate`: an experiment with a sealed test set, from the command line.

A command chooses among the models that it names; those that the file of the experiment knows besides stay in the table.
What was settled when the file was begun, the split and the folds, is not asked for again, and not changed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli._data import DataOptions, Files, Json, SkipBadRows, in_memory
from maxmargin.cli._machines import MachineOptions, costs, machine_option, width
from maxmargin.cli._maps import MapText, check_letters, map_named
from maxmargin.cli._options import with_options
from maxmargin.cli._results import check_output, print_json
from maxmargin.errors import DataError, ParameterError, label_in_words

if TYPE_CHECKING:
    from maxmargin._types import Labels, Rows
    from maxmargin.evaluate import Experiment

_FOLDS, _TEST, _SEED = 5, 0.2, 0
_UNNAMED = {  # a width in the name says that there is a kernel; these are the usual ones
    "kernel": (None, "rbf"),
    "degree": (None, 3),
    "coef0": (None, 0.0),
}


@with_options
def evaluate(
    *,
    files: Files,
    opening: DataOptions,
    C: Annotated[str, machine_option("--C", "Costs to compare, with commas between them.")] = "0.1,1,10",
    gamma: Annotated[
        str | None,
        machine_option("--gamma", "Widths of --kernel to compare, with commas between them; 'scale' if not given."),
    ] = None,
    machine: MachineOptions,
    map: MapText = None,  # noqa: A002 - as the option is called
    folds: Annotated[
        int | None, typer.Option("--folds", help=f"Folds of the cross-validation; {_FOLDS} if not given.", min=2)
    ] = None,
    test: Annotated[
        float | None, typer.Option("--test", help=f"Share of the rows that is locked away; {_TEST} if not given.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help=f"Seed of the split; {_SEED} if not given.")] = None,
    rule: Annotated[str, typer.Option("--rule", help="best or one-standard-error.")] = "best",
    experiment: Annotated[
        Path | None, typer.Option("--experiment", help="JSON file that remembers scores and the look at the test set.")
    ] = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Score the chosen model on the test set, once; needs --experiment.")
    ] = False,
    skip_bad_rows: SkipBadRows = 0,
    json: Json = False,
) -> None:
    """Compare settings by cross-validation on rows outside a sealed test set; with --reveal look at that, once."""
    from sklearn.pipeline import make_pipeline

    carried = map_named(map, machine, gamma)
    check_letters(carried, files, opening.format)
    models = _models(machine, C, gamma if carried is None else None, opening.n_jobs)
    if carried is not None:  # what it learns, it learns of the rows that a model is trained on
        models = {f"{name}, map={map}": make_pipeline(carried.feature_map, one) for name, one in models.items()}
    if experiment is not None:
        check_output(experiment, files)
    elif reveal:
        raise ParameterError(
            "--reveal needs --experiment FILE, which remembers the look: without it every command would have a test "
            "set that nobody has looked at."
        )
    # Rows are read with a map as without, letters as their codes, so that an experiment may compare both.
    with opening.source(files, skip_bad_rows=skip_bad_rows) as source:
        machine.check_labels(source, files)
        X, y = in_memory(source)
    if experiment is not None and experiment.exists():
        trial = _opened(experiment, X, y, test=test, seed=seed)
    else:
        trial = _begun(X, y, machine, folds=folds, test=test, seed=seed)
    # None is what the file says.
    trial.compare(models, cv=_FOLDS if folds is None and not trial.scores else folds, verbose=0)
    trial.choose(rule, among=models)
    if experiment is not None:
        trial.save(experiment)
    revealed = trial.reveal() if reveal else None
    if json:
        test_score = None if revealed is None else revealed.score
        print_json({"scores": trial.scores, "test_score": test_score, **trial.as_record()})
    else:
        print(trial)


def _opened(path: Path, X: Rows, y: Labels, **given: float | None) -> Experiment:
    """The experiment of a file, which was begun with its own split."""
    from maxmargin.evaluate import Experiment

    trial = Experiment.open(path, X, y)
    settled = trial.as_record()
    for name, value in given.items():
        if value is not None and value != settled[name]:
            raise ParameterError(
                f"--{name} {value:g} is not that of {str(path)!r}, which was begun with --{name} {settled[name]:g}. "
                "Leave it out, or begin another file."
            )
    return trial


def _begun(
    X: Rows, y: Labels, machine: MachineOptions, *, folds: int | None, test: float | None, seed: int | None
) -> Experiment:
    """A new experiment."""
    from maxmargin.evaluate import Experiment

    classifies = not machine.regression
    if classifies:
        _check_classes(y, 2, "", "The test set and the rows to train on need one each.")
    trial = Experiment(
        X, y, test=_TEST if test is None else test, seed=_SEED if seed is None else seed, stratify=classifies
    )
    if classifies:
        folds = _FOLDS if folds is None else folds
        why = f"{folds} folds need one each: take fewer with --folds."
        _check_classes(trial.training[1], folds, " outside the test set", why)
    return trial


def _check_classes(y: Labels, least: int, where: str, why: str) -> None:
    """Refuse classes that are too small to be dealt in proportion."""
    rarest, count = min(Counter(y.tolist()).items(), key=lambda pair: pair[1])
    if count < least:
        rows = "is 1 row" if count == 1 else f"are {count} rows"
        raise DataError(
            f"of the class {label_in_words(rarest)} there {rows}{where}. {why} Join it to another class, or say "
            "--regression if labels are numbers to be approximated."
        )


def _models(machine: MachineOptions, C: str, gamma: str | None, n_jobs: int | None) -> dict[str, Any]:
    """Estimators by name, from small costs to large."""
    grid, options = sorted(costs(C)), _in_name(machine)
    if machine.kernel in (None, "linear"):
        if gamma is not None:
            raise ParameterError(
                f"--gamma {gamma} is for the kernels poly, rbf and sigmoid. Name one with --kernel, or leave it out."
            )
        return {f"C={_short(cost)}{options}": machine.estimator(cost, n_jobs=n_jobs) for cost in grid}
    widths = [width(one) for one in (gamma or "scale").split(",")]
    return {
        f"C={_short(cost)}, gamma={one}{options}": machine.estimator(cost, one, n_jobs=n_jobs)
        for cost, one in product(grid, widths)
    }


def _in_name(machine: MachineOptions) -> str:
    """The options of a machine that are not the usual ones, so that no two machines of a file have one name."""
    named = [
        (field.name.replace("_", "-"), getattr(machine, field.name))
        for field in fields(machine)
        if getattr(machine, field.name) not in _UNNAMED.get(field.name, (field.default,))
    ]
    return "".join(f", {name}" if value is True else f", {name}={value}" for name, value in named)


def _short(cost: float) -> str:
    """A cost in six digits where these are all."""
    return f"{cost:g}" if float(f"{cost:g}") == cost else repr(cost)
