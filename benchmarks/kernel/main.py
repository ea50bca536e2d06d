"""Kernel machines against their peers, all on the same rows, RBF kernel, gamma="scale", free intercept.

The race is about the seconds until the relative duality gap (P - D) / P is at most 1e-3, and 1e-6. A tolerance means
something else in every library, so each climbs down a ladder of its own tolerances, in a process of its own. After each
fit the gap is measured by the arithmetic of our certificates, in double precision, from the support rows and
coefficients: these are first made feasible, and the best intercept is taken, for everybody. Of several classes, primal
values are added over the pairs, and so are dual values. The figure is the smallest time of any fit that reached the
level; "no" means that none did.

Peers run in their own virtual environments, everybody on all cores that it can use, with the cache it takes by itself
unless `--cache` gives everybody the same. The clock runs during `fit` alone, which for us includes the checks of the
input and the certificate; LIBSVM's table of index and value pairs is built outside the clock. Fits under a second are
run three times. One untimed fit comes before ours: compiled code is then in the cache. The machine should be idle:
where it is not, threads that wait by spinning, as LIBSVM's do, lose far more than others. "ratio" is the library's time
over ours, "own gap" what our certificate said, "MB over input" the peak of the process during a fit less what it held
with the data alone.

The other parts: a 5-fold search over C and gamma, predictions from 5,000 support vectors, warm fits of small sets, the
growth of time with n, and the memory of a fit beside its budget.

    python -m benchmarks kernel [--parts race,search] [--only a9a,mnist] [--costs 1,100] [--levels 1e-3]
                                [--against scikit-learn-intelex] [--limit 120] [--cache 2000] [--rows 500]
                                [--write NAME]

A complete run writes `results/kernel.md`; any other run only with `--write`, into the file of that name.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console

from benchmarks.common.options import names, numbers
from benchmarks.common.peers import installed
from benchmarks.common.ratios import LEVELS, OURS
from benchmarks.common.report import Sheet, machine, write
from benchmarks.kernel.data import RACES
from benchmarks.kernel.parts import PARTS, Conditions, Part
from benchmarks.kernel.race import climb
from benchmarks.kernel.summary import Race, promises_sheet, race_sheet, race_summary

PEERS = ("scikit-learn-intelex", "scikit-learn", "LIBSVM")
COSTS = (1.0, 100.0)
LIMIT = 120.0
ALL_PARTS = ("race", *PARTS)


@dataclass
class Record:
    """What was measured so far: printed as it comes and, where it has a name, written down after each part."""

    name: str | None
    about: list[str]
    console: Console
    races: list[Race] = field(default_factory=list)
    promises: list[tuple[str, ...]] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)

    def add_race(self, race: Race) -> None:
        """One case of the race."""
        self.races.append(race)
        self._add(race_sheet(race))

    def add_part(self, part: Part) -> None:
        """One of the other parts."""
        self.promises.extend(part.promises)
        self._add(part.sheet)

    def close(self) -> None:
        """Print what it all comes to."""
        for sheet in self._summary():
            self.console.print(sheet.for_terminal())
        if self.name:
            self.console.print(f"written to {self._write(self.about)}")

    def _add(self, sheet: Sheet) -> None:
        self.sheets.append(sheet)
        self.console.print(sheet.for_terminal())
        if self.name:  # a race takes hours, and may be ended before its end
            self._write([*self.about, "the run is not finished"])

    def _summary(self) -> list[Sheet]:
        race = [race_summary(self.races)] if self.races else []
        return race + ([promises_sheet(self.promises)] if self.promises else [])

    def _write(self, about: Sequence[str]) -> str:
        title, text = "Kernel machines: seconds to a proven duality gap", (__doc__ or "").partition("\n\n")[2]
        return write(self.name or "kernel", title, text, about, self._summary(), self.sheets)


def main(arguments: Sequence[str] = ()) -> None:
    """Run what is asked for and print it; write it down if it was all."""
    asked = _parser().parse_args(arguments)
    console = Console(width=170)
    with console.status("virtual environments of the peers"):
        present, missing = installed(asked.against)
    complete = _is_complete(asked)
    about = [
        *machine(),
        *(f"{library}: {requirement}" for library, requirement in present.items()),
        *missing.values(),
        f"time limit of a fit: {asked.limit:g} s; cache: {f'{asked.cache:g} MB' if asked.cache else 'default of each'}",
        *([f"at most {asked.rows:,} rows of every set"] if asked.rows else []),
        "complete run" if complete else "partial run",
    ]
    console.print(*about, sep="\n", highlight=False)
    record = Record(asked.write or ("kernel" if complete else None), about, console)
    with console.status("") as status:
        conditions = Conditions(
            libraries=[OURS, *present],
            limit=asked.limit,
            most_rows=asked.rows,
            memory=int(asked.cache * 1e6) if asked.cache else None,
            say=status.update,
        )
        for name in asked.only if "race" in asked.parts else ():
            for C in asked.costs:
                record.add_race(_race(name, C, asked.levels, conditions))
        for part in (name for name in PARTS if name in asked.parts):
            record.add_part(PARTS[part](conditions))
    record.close()


def _race(name: str, C: float, levels: Sequence[float], conditions: Conditions) -> Race:
    """Everybody in one case, one after the other."""
    conditions.say(f"reading {name}")
    setting = conditions.setting(RACES[name], C)
    climbs = []
    for library in conditions.libraries:
        conditions.say(f"{setting.label}: {library}")
        climbs.append(climb(library, setting, levels))
    return Race(setting, tuple(climbs))


def _is_complete(asked: argparse.Namespace) -> bool:
    usual = _parser().parse_args([])
    chosen = ("parts", "only", "costs", "levels", "against", "rows", "cache")
    return all(getattr(asked, name) == getattr(usual, name) for name in chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks kernel", description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--parts", type=names(ALL_PARTS), default=[*ALL_PARTS], metavar="PART,...", help=", ".join(ALL_PARTS))
    add("--only", type=names(RACES), default=[*RACES], metavar="CASE,...", help=f"of the race: {', '.join(RACES)}")
    add("--costs", type=numbers, default=[*COSTS], metavar="C,...", help="values of C in the race")
    add("--levels", type=_levels, default=[*LEVELS], metavar="GAP,...", help="gaps to be reached in the race")
    add("--against", type=names(PEERS), default=[*PEERS], metavar="LIBRARY,...", help=", ".join(PEERS))
    add("--limit", type=float, default=LIMIT, metavar="SECONDS", help="time limit of a single fit")
    add("--cache", type=float, metavar="MB", help="cache for kernel rows, the same for everybody")
    add("--rows", type=int, metavar="N", help="at most that many rows of every set, to try things out")
    add("--write", metavar="NAME", help="write results/NAME.md after a partial run, too")
    return parser


def _levels(text: str) -> list[float]:
    return sorted(numbers(text), reverse=True)


if __name__ == "__main__":
    main(sys.argv[1:])
