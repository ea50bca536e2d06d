"""How many lines the library has, by room and by feature.

The first table follows the folders. The second says what a feature costs: each file belongs to the first feature whose
words are in its path, and what nobody claims is shared by all of them.

    python -m benchmarks lines
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.common.report import Sheet

HOME = Path(__file__).resolve().parents[1] / "src" / "maxmargin"

FEATURES = {
    "decision trees": r"tree",
    "naive Bayes, Laplace smoothing": r"bayes|laplace",
    "lasso, elastic net, L1": r"lasso|elastic|sparse|penalt|\bl1",
    "many classes at once: Crammer-Singer, softmax": r"crammer|softmax|multiclass|class_(intercept|balance|equations)",
    "solvers of the lectures": r"lectures",
    "the reference, hard margins": r"reference",
    "data larger than memory": r"stream|checkpoint|running_scores|fitting/sources|problems/shared",
    "files and sources of rows": r"^data/|_loops/text",
    "model files, ours and theirs": r"^models/|estimators/files",
    "feature maps": r"^features/|_loops/features",
    "kernels as functions": r"^kernels/",
    "probabilities": r"probabilit",
    "nu machines, one class": r"\bnu_|one_class",
    "kernel machines": r"kernel|/sv[cr]\.py",
    "linear machines": r"linear|newton|logistic|ridge",
    "splits, searches, leave-one-out, experiments": r"^evaluate/",
    "pictures": r"^plot/",
    "notebooks, progress": r"html|notebook|diagram|progress|callback",
    "command line": r"^cli/",
    "losses": r"^losses/|objective|curve",
    "problems and certificates": r"^problems|^certificates",
}
SHARED = "shared by all"


def count_lines(path: Path) -> int:
    """Lines of a file, as `wc -l` counts them."""
    return path.read_bytes().count(b"\n")


def feature_of(place: str) -> str:
    """The feature that a file belongs to, by its path below the package."""
    return next((name for name, words in FEATURES.items() if re.search(words, place)), SHARED)


def room_of(place: str) -> str:
    """The folder of a file, two levels deep."""
    folders = place.split("/")[:-1][:2]
    return "/".join(folders) or "beside the rooms"


def table(title: str, column: str, names: Iterable[str], lines: Sequence[int]) -> Sheet:
    """Files and lines by name, the largest first."""
    files: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for name, count in zip(names, lines, strict=True):
        files[name] += 1
        sums[name] += count
    total = sum(sums.values())
    sheet = Sheet(title, (column, "files", "lines", "share"))
    for name, count in sums.most_common():
        sheet.rows.append((name, str(files[name]), f"{count:,}", f"{count / total:.1%}"))
    sheet.rows.append(("all", str(sum(files.values())), f"{total:,}", ""))
    return sheet


def main(arguments: Sequence[str] = ()) -> None:
    """Print both tables."""
    if arguments:
        sys.exit("lines takes no arguments")
    paths = sorted(HOME.rglob("*.py"))
    places = [path.relative_to(HOME).as_posix() for path in paths]
    lines = [count_lines(path) for path in paths]
    console = Console(width=100)
    console.print(table("Lines by room", "case", map(room_of, places), lines).for_terminal())
    console.print(table("Lines by feature", "case", map(feature_of, places), lines).for_terminal())


if __name__ == "__main__":
    main(sys.argv[1:])
