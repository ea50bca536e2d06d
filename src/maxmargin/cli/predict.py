"""`maxmargin predict`: a label or a number a row, block by block."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli._data import DataOptions, Files, Json, SkipBadRows, tell
from maxmargin.cli._maps import check_letters, value_type
from maxmargin.cli._models import ModelFile, blocks_for, fitting, load_model, map_of
from maxmargin.cli._options import with_options
from maxmargin.cli._results import check_output, is_device, print_json
from maxmargin.errors import DataTypeError, ParameterError, label_in_words

if TYPE_CHECKING:
    from maxmargin._types import Labels, Matrix, Rows
    from maxmargin.data import Block


@with_options
def predict(
    model: ModelFile,
    files: Files,
    opening: DataOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, help="Where to write; stdout if not given.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the scores f(x) to each line.")] = False,
    probability: Annotated[bool, typer.Option("--probability", help="Add the probabilities of the classes.")] = False,
    skip_bad_rows: SkipBadRows = 0,
    json: Json = False,
) -> None:
    """Predict the rows of a file, one line each; how many labels agree is told on stderr, where the file has labels."""
    if json and output is None:
        raise ParameterError("--json puts a summary on stdout, so the predictions need a file: give --output.")
    machine = load_model(model)
    if output is not None and not is_device(output):
        check_output(output, [model, *files])
    carried = map_of(machine)
    check_letters(carried, files, opening.format, of_model=True)
    with opening.source(files, skip_bad_rows=skip_bad_rows, needs_labels=False, dtype=value_type(carried)) as source:
        machine = fitting(machine, model, source, files)
        if not source.has_labels and not opening.quiet:
            others = "else name the label's with --label, or a file of labels with --labels"
            tell(f"no labels: all {source.n_features:,} columns are features ({others}).")
        judge = _Judge(machine, source)
        with _writing(output) as file:
            for block in blocks_for(machine, source):
                found = machine.predict(block.X)
                judge.add(found, block)
                _write(file, found, _columns(machine, block.X, scores=scores, probability=probability))
        skipped = len(source.skipped)
    if judge.is_at_odds:
        known = ", ".join(label_in_words(label) for label in getattr(machine, "classes_", (-1, 1))[:5])
        found = label_in_words(judge.first)
        tell(f"no label agrees: the file has {found}, the model knows {known}. Is it the right column?")
    if json:
        print_json({"rows": judge.n_rows, **judge.record(), "skipped": skipped, "output": str(output)})
    elif not opening.quiet:
        told = "".join(f", {name} {score:.6g}" for name, score in judge.record().items())
        tell(f"{judge.n_rows:,} rows{told}")


class _Judge:
    """How well predictions agree with the labels of a file, one block after the other."""

    def __init__(self, model: Any, source: Any):
        from sklearn.base import OutlierMixin

        from maxmargin.estimators.fitting.sources import RunningAccuracy, RunningRSquared

        self.has_labels = source.has_labels
        classifies = hasattr(model, "classes_") or isinstance(model, OutlierMixin)
        self.score: RunningAccuracy | RunningRSquared = RunningAccuracy() if classifies else RunningRSquared()
        self.first: Any = None
        self.n_rows = 0

    def add(self, found: Labels, block: Block) -> None:
        """Some more rows."""
        import numpy as np

        self.n_rows += len(found)
        if not self.has_labels:
            return
        y = np.asarray(block.y)
        self.first = y[0] if self.first is None else self.first
        try:
            self.score.add(found, y, block.weight)
        except DataTypeError as error:
            raise DataTypeError(f"{error} Name the column of the numbers with --label.") from None

    @property
    def is_at_odds(self) -> bool:
        """Whether not one class was right, which says more about the labels than about the model."""
        return getattr(self.score, "is_zero", False)

    def record(self) -> dict[str, float]:
        """Accuracy or R^2 by its name; nothing where there are no labels."""
        return {self.score.name: self.score.value} if self.has_labels else {}


@contextmanager
def _writing(output: Path | None) -> Iterator[IO[str]]:
    """Stdout, a device or pipe, or a file that appears when it is complete."""
    if output is None:
        yield sys.stdout
        return
    if is_device(output):
        with output.open("w", encoding="utf-8") as pipe:
            yield pipe
        return
    from io import TextIOWrapper

    from maxmargin.data.replacing import replacing

    with replacing(output) as file:
        text = TextIOWrapper(file, encoding="utf-8")
        yield text
        text.flush()
        text.detach()


def _columns(model: Any, X: Rows, *, scores: bool, probability: bool) -> Matrix | None:
    """What follows the prediction on its line, one row a row of X."""
    import numpy as np

    parts = []
    for wanted, method, option, advice in (
        (scores, "decision_function", "--scores", "What it predicts are its scores already."),
        (probability, "predict_proba", "--probability", "Train with --loss logistic to get them."),
    ):
        if not wanted:
            continue
        if not hasattr(model, method):
            raise ParameterError(f"{option} is not there for this {type(model).__name__}. {advice}")
        values = np.asarray(getattr(model, method)(X), dtype=np.float64)
        parts.append(values.reshape(len(values), -1))
    return np.hstack(parts) if parts else None


def _write(file: IO[str], found: Labels, columns: Matrix | None) -> None:
    """One line a row; numbers as short as they can be without losing a digit."""
    words = [label_in_words(value) for value in found.tolist()]
    if columns is not None:
        words = [" ".join([word, *map(repr, row)]) for word, row in zip(words, columns.tolist(), strict=True)]
    file.write("".join(f"{word}\n" for word in words))
