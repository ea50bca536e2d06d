"""The relatives of the large-margin machines: lasso, naive Bayes and decision trees against the best library for each.

    lasso    seconds of a path and of a single fit to a true distance from the optimum      `lasso.py`
    bayes    seconds of a fit and of a prediction                                           `bayes.py`
    tree     seconds to grow a tree, and how pure its leaves are                            `tree.py`

Each part says in its file what is measured and how; figures are ratios in one run on one machine.

    python -m benchmarks relatives [--parts lasso,tree] [--limit 60] [--write NAME]

A complete run writes `results/relatives.md`; any other run only with `--write`, into the file of that name.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from benchmarks.common.options import names
from benchmarks.common.peers import installed
from benchmarks.common.ratios import OURS
from benchmarks.common.report import machine, write
from benchmarks.relatives import bayes, lasso, tree

PARTS = {"lasso": lasso, "bayes": bayes, "tree": tree}
LIMIT = 60.0


def main(arguments: Sequence[str] = ()) -> None:
    """Run the parts and print them; write them down if all were run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks relatives")
    parser.add_argument("--parts", type=names(PARTS), default=[*PARTS], metavar="PART,...", help=", ".join(PARTS))
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="time limit of a single run")
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md after a partial run, too")
    asked = parser.parse_args(arguments)
    console = Console(width=150)
    peers = dict.fromkeys(peer for part in asked.parts for peer in PARTS[part].PEERS)
    present, missing = installed(peers)
    about = [*machine(), *(f"{library}: {what}" for library, what in present.items()), *missing.values()]
    console.print(*about, sep="\n", highlight=False)
    summary, sheets = [], []
    for part in asked.parts:
        libraries = [OURS, *(peer for peer in PARTS[part].PEERS if peer in present)]
        more_summary, more_sheets = PARTS[part].run(libraries, asked.limit, console)
        summary += more_summary
        sheets += more_sheets
    if asked.write or asked.parts == [*PARTS]:
        text = (__doc__ or "").partition("\n\n")[2]
        console.print(f"written to {write(asked.write or 'relatives', 'The relatives', text, about, summary, sheets)}")


if __name__ == "__main__":
    main(sys.argv[1:])
