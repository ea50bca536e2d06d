"""Decision trees: seconds to grow one, and how pure its leaves are.

    covtype       581,012 x 54, seven classes, raw columns, dense        Gini index; any number of leaves, at most 256

A tree that is grown faster but splits worse has won nothing, so the table shows the Gini impurity of the leaves,
weighted by their rows and recomputed for everybody from the leaves in which the training rows end, and the number of
leaves. scikit-learn-intelex bins the columns, and has no tree but the one of a forest of one. Each contestant runs in
its own process, after one untimed fit of a few rows; the best of several runs counts.

    python -m benchmarks.relatives.tree [--against scikit-learn] [--limit 60] [--write NAME]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from benchmarks.common.data import DataSet, load
from benchmarks.common.options import names
from benchmarks.common.peers import OverLimitError, PeerError, Run, Worker, installed
from benchmarks.common.ratios import OURS, Ratio, promise, seconds_words
from benchmarks.common.report import Sheet, machine, write
from benchmarks.relatives.bayes import RECIPES

PEERS = ("scikit-learn", "scikit-learn-intelex")
AT_LEAST = {"scikit-learn": 3.0, "scikit-learn-intelex": 1.0}
"""Times as fast as the peer, promised for every case."""
DATA = "covtype-raw"
MOST_LEAVES = (None, 256)
LIMIT = 60.0
REPEATS = 3
COLUMNS = ("library", "fit s", "MB over input", "impurity of leaves", "leaves", "note")


@dataclass(frozen=True)
class Result:
    """What one library did in one case."""

    fit: Run | None = None
    note: str = ""

    def row(self, library: str) -> tuple[str, ...]:
        """The figures."""
        if self.fit is None:
            return (library, "no", "", "", "", self.note)
        extra = "" if self.fit.extra_mb is None else f"{self.fit.extra_mb:,.0f}"
        impurity, leaves = f"{self.fit.words['impurity']:.9f}", f"{self.fit.words['leaves']:,}"
        return (library, seconds_words(self.fit.seconds), extra, impurity, leaves, self.note)


def contest(data: DataSet, library: str, most_leaves: int | None, limit: float) -> Result:
    """Fits of one library."""
    try:
        task = {"max_leaf_nodes": most_leaves}
        with Worker("relatives.tree_contestants", data.folder, library, task) as worker:
            return Result(worker.run(limit, repeat=REPEATS))
    except OverLimitError:
        return Result(note=f"over {limit:g} s")
    except PeerError as error:
        return Result(note=str(error))


def run(libraries: Sequence[str], limit: float, console: Console) -> tuple[list[Sheet], list[Sheet]]:
    """All cases: sheets of the summary and of the cases. `libraries` are we and the peers that are there."""
    summary = Sheet("Decision trees: times as fast as the peers", ("figure", "times as fast", "promised", "kept"))
    sheets = []
    data = load(DATA, RECIPES)
    for most_leaves in MOST_LEAVES:
        case = "any number of leaves" if most_leaves is None else f"at most {most_leaves} leaves"
        with console.status(f"tree on {data.name}, {case}"):
            results = {library: contest(data, library, most_leaves, limit) for library in libraries}
        sheet = Sheet(f"Gini tree on {data}, {case}", COLUMNS)
        sheet.rows += [result.row(library) for library, result in results.items()]
        console.print(sheet.for_terminal())
        sheets.append(sheet)
        ours = results[OURS].fit
        for library, result in results.items():
            if library != OURS and result.fit is not None:
                ratio = Ratio(0.0, "we never arrive") if ours is None else Ratio(result.fit.seconds / ours.seconds)
                summary.rows.append(promise(f"tree, {case}: against {library}", [ratio], AT_LEAST[library]))
    console.print(summary.for_terminal())
    return [summary], sheets


def main(arguments: Sequence[str] = ()) -> None:
    """Run all cases and print them; write them down where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relatives.tree")
    parser.add_argument("--against", type=names(PEERS), default=[*PEERS], metavar="LIBRARY,...")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="time limit of a single fit")
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    asked = parser.parse_args(arguments)
    console = Console(width=150)
    present, missing = installed(asked.against)
    about = [*machine(), *(f"{library}: {what}" for library, what in present.items()), *missing.values()]
    console.print(*about, sep="\n", highlight=False)
    summary, sheets = run([OURS, *present], asked.limit, console)
    if asked.write:
        text = (__doc__ or "").partition("\n\n")[2]
        console.print(f"written to {write(asked.write, 'Decision trees', text, about, summary, sheets)}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
