"""Naive Bayes: seconds of a fit and of a prediction of all rows, against scikit-learn.

    covtype       581,012 x 54, seven classes, raw columns, dense        GaussianNB
    news counts   18,846 texts x 173,753 words, twenty groups, CSR       MultinomialNB, BernoulliNB

Both sides compute the same sums, so nothing is traded for time; the table shows the largest difference of
log P(class, x) over the first rows, relative to its size, and the share of equal labels. Each contestant runs in its
own process, after one untimed fit of a few rows; the best of several runs counts.

    python -m benchmarks relatives --parts bayes
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.common.data import DataSet, Recipe, keep, load, shared_file
from benchmarks.common.peers import OverLimitError, PeerError, Run, Worker
from benchmarks.common.ratios import OURS, Ratio, promise, seconds_words
from benchmarks.common.report import Sheet

PEERS = ("scikit-learn",)
REPEATS = 7
AT_LEAST = 1.0
"""Times as fast as the peer, promised for every case."""
COLUMNS = ("library", "fit s", "predict s", "MB over input", "difference", "equal labels", "note")


def _covtype(folder: Path) -> None:
    """Forest cover type, all seven classes, as measured."""
    with np.load(shared_file("covtype.npz")) as stored:
        keep(folder, np.ascontiguousarray(stored["X"], dtype=np.float64), stored["y"].astype(np.float64))


def _news_counts(folder: Path) -> None:
    """Words of both halves of 20 newsgroups, counted."""
    posts = []
    for half in ("train", "test"):
        with lzma.open(shared_file(f"20news-bydate-{half}.jsonl.xz"), "rt", encoding="utf-8", newline="\n") as file:
            posts += [json.loads(line) for line in file]
    X = CountVectorizer().fit_transform(post["text"] for post in posts)
    keep(folder, X, np.unique([post["label"] for post in posts], return_inverse=True)[1].astype(np.float64))


RECIPES: dict[str, Recipe] = {"covtype-raw": _covtype, "news20-counts": _news_counts}
CASES = (("GaussianNB", "covtype-raw"), ("MultinomialNB", "news20-counts"), ("BernoulliNB", "news20-counts"))


@dataclass(frozen=True)
class Result:
    """What one library did in one case."""

    fit: Run | None = None
    predict: Run | None = None
    note: str = ""

    @property
    def seconds(self) -> tuple[float | None, float | None]:
        """Of the fit and of the prediction."""
        return (self.fit.seconds if self.fit else None), (self.predict.seconds if self.predict else None)

    def row(self, library: str, ours: Result) -> tuple[str, ...]:
        """The figures; differences are from ours."""
        fit, predict = map(seconds_words, self.seconds)
        if not (self.fit and self.predict and ours.fit and ours.predict):
            return (library, fit, predict, "", "", "", self.note)
        mine, other = ours.fit.arrays["log_joint"], self.fit.arrays["log_joint"]
        difference = float(np.max(np.abs(mine - other) / np.maximum(1.0, np.abs(mine))))
        equal = float(np.mean(ours.predict.arrays["labels"] == self.predict.arrays["labels"]))
        extra = "" if self.fit.extra_mb is None else f"{self.fit.extra_mb:,.0f}"
        return (library, fit, predict, extra, f"{difference:.1e}", f"{equal:.4%}", self.note)


def contest(data: DataSet, estimator: str, library: str, limit: float) -> Result:
    """Fits and predictions of one library."""
    try:
        with Worker("relatives.bayes_contestants", data.folder, library, {"estimator": estimator}) as worker:
            fit = worker.run(limit, job="fit", repeat=REPEATS)
            return Result(fit, worker.run(limit, job="predict", repeat=REPEATS))
    except OverLimitError:
        return Result(note=f"over {limit:g} s")
    except PeerError as error:
        return Result(note=str(error))


def bayes(estimator: str, data: DataSet, libraries: Sequence[str], limit: float) -> tuple[Sheet, list[tuple[str, ...]]]:
    """The sheet of one case, and lines of the summary."""
    results = {library: contest(data, estimator, library, limit) for library in libraries}
    ours = results[OURS]
    sheet = Sheet(f"{estimator} on {data}", COLUMNS)
    sheet.rows += [result.row(library, ours) for library, result in results.items()]
    lines = []
    for job, what in enumerate(("fit", "predict")):
        mine, theirs = ours.seconds[job], [results[peer].seconds[job] for peer in libraries if peer != OURS]
        arrived = [seconds for seconds in theirs if seconds is not None]
        if arrived:
            ratio = Ratio(0.0, "we never arrive") if mine is None else Ratio(min(arrived) / mine)
            lines.append(promise(f"{estimator}, {data.name}: {what}", [ratio], AT_LEAST))
    return sheet, lines


def run(libraries: Sequence[str], limit: float, console: Console) -> tuple[list[Sheet], list[Sheet]]:
    """All cases: sheets of the summary and of the cases. `libraries` are we and the peers that are there."""
    summary = Sheet("Naive Bayes: times as fast as the peers", ("figure", "times as fast", "promised", "kept"))
    sheets = []
    for estimator, name in CASES:
        with console.status(f"{estimator} on {name}"):
            sheet, lines = bayes(estimator, load(name, RECIPES), libraries, limit)
        console.print(sheet.for_terminal())
        sheets.append(sheet)
        summary.rows += lines
    console.print(summary.for_terminal())
    return [summary], sheets
