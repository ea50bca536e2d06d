"""`maxmargin predict`: a label or a number a row, block by block."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import _data
from maxmargin.cli._data import Opening, tell
from maxmargin.cli._models import ModelFile, fitted_columns, load_for, unknown_columns
from maxmargin.cli._results import print_json, word
from maxmargin.errors import ParameterError

if TYPE_CHECKING:
    from maxmargin._types import Labels, Matrix, Rows


def predict(
    model: ModelFile,
    files: _data.Files,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, help="Where to write; stdout if not given.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the scores f(x) to each line.")] = False,
    probability: Annotated[bool, typer.Option("--probability", help="Add the probabilities of the classes.")] = False,
    format: _data.Format = None,  # noqa: A002 - the name of the option
    label: _data.Label = None,
    labels: _data.LabelFiles = None,
    skip_bad_rows: _data.SkipBadRows = 0,
    cache: _data.Cache = None,
    n_jobs: _data.Threads = None,
    quiet: _data.Quiet = False,
    json: _data.Json = False,
) -> None:
    """Predict the rows of a file, one line each; how many labels agree is told on stderr."""
    if json and output is None:
        raise ParameterError("--json puts a summary on stdout, so the predictions need a file: give --output.")
    opening = Opening(files, format, label, labels, skip_bad_rows, cache, n_jobs, quiet)
    with opening.source() as source:
        machine = load_for(model, source.n_features)
        if extra := unknown_columns(machine, source.n_features):
            tell(f"{extra:,} columns that the model has never seen are left out.")
        judge = _Judge(machine)
        with _writing(output) as file:
            for block in source:
                X = fitted_columns(machine, block.X)
                found = machine.predict(X)
                judge.add(found, block.y)
                _write(file, found, _columns(machine, X, scores=scores, probability=probability))
    if json:
        print_json({"rows": judge.n_rows, judge.name: judge.score, "output": str(output)})
    elif not quiet:
        tell(f"{judge.n_rows:,} rows, {judge.name} {judge.score:.6g}")


class _Judge:
    """How well predictions agree with the labels of a file: accuracy, or R^2 of numbers, one block after the other."""

    def __init__(self, model: Any):
        from sklearn.base import OutlierMixin

        self.is_classifier = hasattr(model, "classes_") or isinstance(model, OutlierMixin)
        self.name = "accuracy" if self.is_classifier else "r2"
        self.n_rows, self._right = 0, 0
        self._residual, self._sum, self._squares = 0.0, 0.0, 0.0

    def add(self, found: Labels, y: Labels) -> None:
        """Some more rows."""
        import numpy as np

        self.n_rows += len(y)
        if self.is_classifier:
            self._right += int(np.sum(found == y))
            return
        if y.dtype.kind not in "fiub":
            raise ParameterError("the labels of the file are words, but the model predicts numbers.")
        self._residual += float(np.sum(np.square(found - y)))
        self._sum += float(np.sum(y))
        self._squares += float(np.sum(np.square(y, dtype=np.float64)))

    @property
    def score(self) -> float:
        """Accuracy or R^2."""
        if self.is_classifier:
            return self._right / max(1, self.n_rows)
        total = self._squares - self._sum**2 / max(1, self.n_rows)
        return 1.0 - self._residual / total if total > 0.0 else float("nan")


@contextmanager
def _writing(output: Path | None) -> Iterator[IO[str]]:
    """Stdout, or a file that appears when it is complete."""
    if output is None:
        yield sys.stdout
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
    for wanted, method, option in (
        (scores, "decision_function", "--scores"),
        (probability, "predict_proba", "--probability"),
    ):
        if not wanted:
            continue
        if not hasattr(model, method):
            raise ParameterError(f"{option} is not there for this {type(model).__name__}.")
        values = np.asarray(getattr(model, method)(X), dtype=np.float64)
        parts.append(values.reshape(len(values), -1))
    return np.hstack(parts) if parts else None


def _write(file: IO[str], found: Labels, columns: Matrix | None) -> None:
    """One line a row; numbers as short as they can be without losing a digit."""
    words = [word(value) for value in found.tolist()]
    if columns is not None:
        words = [" ".join([word, *map(repr, row)]) for word, row in zip(words, columns.tolist(), strict=True)]
    file.write("".join(f"{word}\n" for word in words))
