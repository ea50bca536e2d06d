"""The race of linear machines: seconds until the true relative suboptimality is at most 1e-3, and 1e-6.

    minimise over w    P(w) = 1/2 |w|^2 + C sum_i l(y_i <w, x_i>)        no intercept, for anybody

Tolerances mean something else in every library, so none is compared at a tolerance. Each climbs a ladder of them; after
each rung P(w) is computed from the weights it returned, by our own double-precision arithmetic, and compared with the
optimum P* (`optimum.py` says how that is known). The figure is the smallest time of any fit that reached the level;
"no" means that none did. The ladder ends when 1e-6 is reached for certain, when the library meets a limit of its own,
or when a fit exceeds the time limit and is ended.

Each contestant runs in its own process, peers in their own virtual environments, all on all cores that they can use.
The clock runs during `fit` alone, which for us includes the checks of the input and the certificate. Fits under a
second are run three times. One untimed fit comes before ours: compiled code is then in the cache. "MB over input" is
the peak of the process during a fit less what it held with the data alone, "peak / input" adds the input back and
divides by it; what LIBLINEAR is given is built outside the clock, and its size is counted here.

    python -m benchmarks linear [--quick] [--only a9a,covtype] [--losses hinge] [--costs 1,100] [--limit 60]
                                [--against LIBLINEAR] [--write NAME]

A complete run writes `results/linear.md`; any other run only with `--write`, into the file of that name.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console

from benchmarks import startup
from benchmarks.common.data import LARGE, RECIPES, DataSet, load
from benchmarks.common.options import names, numbers
from benchmarks.common.peers import OverLimitError, PeerError, Worker, installed
from benchmarks.common.ratios import LEVELS, OURS
from benchmarks.common.report import machine, write
from benchmarks.linear.optimum import LOSSES, SETTLED, Referee
from benchmarks.linear.summary import Case, Row, case_sheet, summary_sheets

PEERS = ("LIBLINEAR", "scikit-learn", "Cyanure", "Snap ML")
COSTS = (0.01, 1.0, 100.0)
LADDER = tuple(10.0**-k for k in range(11))
REPEATS = 3
REPEATED_BELOW = 1.0
"""Seconds."""
LIMIT, QUICK_LIMIT = 60.0, 20.0
REFERENCE_LIMITS = 5.0
"""Time for a fit that only looks for the optimum, in limits."""


@dataclass(frozen=True)
class Entrant:
    """A library and one of its solvers, by the names that `contestants.py` knows, and the losses it can do."""

    library: str
    solver: str
    losses: tuple[str, ...]
    title: str = ""
    most_features: float = float("inf")

    @property
    def solver_title(self) -> str:
        """The solver, as a table names it."""
        return self.title or self.solver


SMOOTH = ("squared_hinge", "logistic")
NEWTON_2 = Entrant("LIBLINEAR", "2", ("squared_hinge",), "primal (-s 2)")
NEWTON_0 = Entrant("LIBLINEAR", "0", ("logistic",), "primal (-s 0)")
OUR_ENTRANT = Entrant(OURS, "auto", tuple(LOSSES))
ENTRANTS = (
    OUR_ENTRANT,
    Entrant("LIBLINEAR", "3", ("hinge",), "dual (-s 3)"),
    Entrant("LIBLINEAR", "1", ("squared_hinge",), "dual (-s 1)"),
    NEWTON_2,
    NEWTON_0,
    Entrant("LIBLINEAR", "7", ("logistic",), "dual (-s 7)"),
    Entrant("scikit-learn", "dual", ("hinge", "squared_hinge")),
    Entrant("scikit-learn", "primal", ("squared_hinge",)),
    Entrant("scikit-learn", "lbfgs", ("logistic",)),
    Entrant("scikit-learn", "newton-cg", ("logistic",)),
    Entrant("scikit-learn", "newton-cholesky", ("logistic",), most_features=5_000),
    Entrant("scikit-learn", "liblinear", ("logistic",)),
    Entrant("Cyanure", "auto", SMOOTH),
    Entrant("Snap ML", "dual", tuple(LOSSES)),
    Entrant("Snap ML", "primal", ("logistic",)),
)
REFERENCES: dict[str, tuple[Entrant, ...]] = {
    "hinge": (OUR_ENTRANT,),
    "squared_hinge": (NEWTON_2, OUR_ENTRANT),
    "logistic": (NEWTON_0, OUR_ENTRANT),
}
"""Who looks for the optimum before a race, where it is not known from an earlier one."""
REFERENCE_TOL = 1e-9


@dataclass
class Climb:
    """What one entrant did on one problem: time and primal value of every fit."""

    fits: list[tuple[float, float]] = field(default_factory=list)
    extra_mb: float | None = None
    gap: float | None = None
    note: str = ""
    over_limit: bool = False

    def row(self, entrant: Entrant, referee: Referee) -> Row:
        """The figures, now that everybody has been seen."""
        judged = [(seconds, referee.suboptimality(primal)) for seconds, primal in self.fits]
        reached = {level: [seconds for seconds, off in judged if off <= level] for level in LEVELS}
        best = min((primal for _, primal in self.fits), default=None)
        return Row(
            library=entrant.library,
            solver=entrant.solver_title,
            seconds={level: min(times, default=None) for level, times in reached.items()},
            primal=best,
            suboptimality=None if best is None else referee.suboptimality(best),
            gap=self.gap,
            extra_mb=self.extra_mb,
            note=self.note,
            over_limit=self.over_limit,
        )


def climb(entrant: Entrant, data: DataSet, loss: str, C: float, referee: Referee, limit: float) -> Climb:
    """Fit at smaller and smaller tolerances until 1e-6 is certain, or no more is to be had."""
    seen = Climb()
    if data.X.shape[1] > entrant.most_features:
        seen.note = f"left out: it would form a Hessian of {data.X.shape[1]:,} columns"
        return seen
    tol = LADDER[0]
    try:
        with _worker(entrant, data, loss, C) as worker:
            if entrant.library == OURS:
                worker.run(limit, tol=tol)
            for tol in LADDER:
                if not _rung(worker, tol, seen, referee, limit):
                    break
            else:
                seen.note = f"the ladder ends at tol {tol:g}"
    except OverLimitError:
        seen.note, seen.over_limit = f"over {limit:g} s at tol {tol:g}", True
    except PeerError as error:
        seen.note = str(error)
    return seen


def _worker(entrant: Entrant, data: DataSet, loss: str, C: float) -> Worker:
    return Worker("linear.contestants", data.folder, entrant.library, {"solver": entrant.solver, "loss": loss, "C": C})


def _rung(worker: Worker, tol: float, seen: Climb, referee: Referee, limit: float) -> bool:
    """Fits at one tolerance; whether a smaller one is worth a try."""
    certain = True
    for _ in range(REPEATS):
        fit = worker.run(limit, tol=tol)
        primal = referee.judge(fit.arrays["weights"])
        if fit.words["dual"] is not None:
            referee.admit(fit.words["dual"])
        seen.fits.append((fit.seconds, primal))
        seen.gap = fit.words["gap"]
        if fit.extra_mb is not None:
            seen.extra_mb = max(seen.extra_mb or 0.0, fit.extra_mb)
        certain = certain and referee.surely_within(primal, min(LEVELS))
        if fit.seconds >= REPEATED_BELOW:
            break
    if fit.words["exhausted"] and not certain:
        seen.note = f"its own iteration limit at tol {tol:g}"
    return not (certain or fit.words["exhausted"])


def settle(data: DataSet, loss: str, C: float, referee: Referee, limit: float) -> None:
    """Look for the optimum until its bracket is narrow, so that the ladders know when to end."""
    for entrant in REFERENCES[loss]:
        if referee.width <= SETTLED:
            return
        try:
            with _worker(entrant, data, loss, C) as worker:
                fit = worker.run(REFERENCE_LIMITS * limit, tol=REFERENCE_TOL)
        except (OverLimitError, PeerError):
            continue
        referee.judge(fit.arrays["weights"])
        if fit.words["dual"] is not None:
            referee.admit(fit.words["dual"])


def race(data: DataSet, loss: str, C: float, limit: float, present: Sequence[str], console: Console) -> Case:
    """Everybody who can do this loss, one after the other."""
    referee = Referee(data, loss, C)
    climbs = []
    with console.status("") as status:
        status.update(f"{data.name}, {loss}, C = {C:g}: the optimum")
        settle(data, loss, C, referee, limit)
        for entrant in ENTRANTS:
            if loss in entrant.losses and entrant.library in present:
                status.update(f"{data.name}, {loss}, C = {C:g}: {entrant.library} {entrant.solver_title}")
                climbs.append((entrant, climb(entrant, data, loss, C, referee, limit)))
                referee.keep()
    return Case(
        data=data.name,
        description=str(data),
        layout=data.layout,
        input_mb=data.megabytes,
        loss=loss,
        C=C,
        limit=limit,
        optimum=referee.upper,
        width=referee.width,
        proven=referee.proven,
        complaints=tuple(referee.complaints),
        rows=tuple(seen.row(entrant, referee) for entrant, seen in climbs),
    )


def main(arguments: Sequence[str] = ()) -> None:
    """Run the race and print it; write it down if it was complete."""
    asked = _parser().parse_args(arguments)
    console = Console(width=150)
    limit = asked.limit or (QUICK_LIMIT if asked.quick else LIMIT)
    chosen = asked.only or [name for name in RECIPES if not (asked.quick and name in LARGE)]
    with console.status("virtual environments of the peers"):
        present, missing = installed(asked.against)
    peers = [*(f"{library}: {requirement}" for library, requirement in present.items()), *missing.values()]
    everybody = asked.against == [*PEERS]
    complete = (
        not asked.quick
        and everybody
        and chosen == list(RECIPES)
        and asked.losses == list(LOSSES)
        and asked.costs == [*COSTS]
    )
    about = [*machine(), *peers, f"time limit of a fit: {limit:g} s", "complete run" if complete else "partial run"]
    console.print(*about, sep="\n", highlight=False)
    cases, sheets = [], []
    for name in chosen:
        with console.status(f"reading {name}"):
            data = load(name)
        for loss in asked.losses:
            for C in asked.costs:
                cases.append(race(data, loss, C, limit, [OURS, *present], console))
                sheets.append(case_sheet(cases[-1]))
                console.print(sheets[-1].for_terminal())
    with console.status("first fits of fresh processes"):
        summary = summary_sheets(cases, startup.measure())
    for sheet in summary:
        console.print(sheet.for_terminal())
    if complete or asked.write:
        title, text = "Linear machines: seconds to a true suboptimality", (__doc__ or "").partition("\n\n")[2]
        console.print(f"written to {write(asked.write or 'linear', title, text, about, summary, sheets)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks linear", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LIMIT:g} s a fit, without the sets of gigabytes")
    parser.add_argument("--only", type=names(RECIPES), metavar="DATA,...", help=", ".join(RECIPES))
    parser.add_argument("--losses", type=names(LOSSES), default=list(LOSSES), metavar="LOSS,...")
    parser.add_argument("--costs", type=numbers, default=[*COSTS], metavar="C,...", help="values of C")
    parser.add_argument("--against", type=names(PEERS), default=[*PEERS], metavar="LIBRARY,...")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="time limit of a single fit")
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md after a partial run, too")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
