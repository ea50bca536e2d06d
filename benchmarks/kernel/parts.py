"""What else is promised of kernel machines: search, prediction, small fits, growth with n, memory.

Each function runs its part and gives a sheet of the figures, and lines of promises for the summary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.common.peers import OverLimitError, PeerError, Run
from benchmarks.common.ratios import OURS, Ratio, number_words, promise, seconds_words, within
from benchmarks.common.report import Sheet
from benchmarks.kernel.data import RACES, TRAINED_ON, Case
from benchmarks.kernel.race import Setting, climb

SEARCH_C = tuple(10.0 ** (k / 2.0) for k in range(-2, 6))
SEARCH_GAMMA = (0.01, 0.1, 1.0, 10.0)
FOLDS = 5
SEARCH_LIMITS = 20.0
"""Time for a search, in limits of a fit."""
PREDICTION_C = 1e-3
SMALL_REPEATS = 300
GROWTH_ROWS = (5_000, 10_000, 20_000, 40_000, 80_000)
GROWTH_LEVEL = 1e-3
BUDGETS = ("400MB", "1GB")
MEMORY_ALLOWED = 1.2
"""Added peak over the budget."""
_BYTES = {"MB": 10**6, "GB": 10**9}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Conditions:
    """Who takes part, how long a fit may take, and how many rows are used at most."""

    libraries: Sequence[str]
    limit: float
    most_rows: int | None
    memory: int | None
    say: Say

    def setting(self, case: Case, C: float = 1.0, limit: float | None = None) -> Setting:
        """The case under these conditions."""
        return Setting.of(case, C, limit or self.limit, self.most_rows, self.memory)


@dataclass
class Part:
    """A sheet of figures, and lines of the summary."""

    sheet: Sheet
    promises: list[tuple[str, ...]] = field(default_factory=list)

    def promise(self, figure: str, theirs: float | None, ours: float | None, at_least: float) -> None:
        """A ratio of two times; nothing is said where a peer did not take part."""
        if theirs is None:
            return
        ratio = Ratio(0.0, "we never arrive") if ours is None else Ratio(theirs / ours)
        self.promises.append(promise(figure, [ratio], at_least))


def _try(setting: Setting, library: str, job: str, limit: float, **request: object) -> tuple[Run | None, str]:
    """One run in a fresh process, or the reason why there is none."""
    more = {"trained_on": TRAINED_ON} if job == "predict" else {}
    try:
        with setting.worker(library, job, **more) as worker:
            return worker.run(limit, **request), ""
    except OverLimitError:
        return None, f"over {limit:g} s"
    except PeerError as error:
        return None, str(error)


def search(conditions: Conditions) -> Part:
    """A 5-fold search over C and gamma: GridSearchCV of scikit-learn with n_jobs=2, and ours."""
    setting = conditions.setting(Case("search", "covtype-classes"))
    title = (
        f"{FOLDS}-fold search, {len(SEARCH_C)} x {len(SEARCH_GAMMA)} values, covtype {setting.rows:,} rows, 7 classes"
    )
    part = Part(Sheet(title, ("library", "seconds", "best C", "best gamma", "best score", "note")))
    found: dict[str, Run] = {}
    for library in (OURS, "scikit-learn"):
        if library not in conditions.libraries:
            continue
        conditions.say(f"search: {library}")
        limit = SEARCH_LIMITS * conditions.limit
        run, note = _try(setting, library, "search", limit, C=SEARCH_C, gamma=SEARCH_GAMMA, folds=FOLDS)
        if run is None:
            part.sheet.rows.append((library, "no", "", "", "", note))
            continue
        found[library] = run
        best = (f"{run.words['best'][name]:.4g}" for name in ("C", "gamma"))
        part.sheet.rows.append((library, f"{run.seconds:.3g}", *best, f"{run.arrays['scores'].max():.4f}", ""))
    part.sheet.notes.append("GridSearchCV(SVC(), ..., cv=5, n_jobs=2, refit=False); both at their default tolerance")
    ours, theirs = found.get(OURS), found.get("scikit-learn")
    if ours and theirs:
        part.promise("search, against GridSearchCV", theirs.seconds, ours.seconds, 30.0)
        same = ours.words["best"] == theirs.words["best"]
        part.promises.append(
            ("search, same chosen parameters", "yes" if same else "no", "yes", "yes" if same else "no")
        )
        off = float(np.max(np.abs(ours.arrays["scores"] - theirs.arrays["scores"])))
        part.sheet.notes.append(f"mean scores differ by at most {off:.4f}")
    return part


def predict(conditions: Conditions) -> Part:
    """Labels of many rows from 5,000 support vectors."""
    rows = None if conditions.most_rows is None else 2 * conditions.most_rows
    setting = replace(conditions, most_rows=rows).setting(Case("predict", "prediction"), PREDICTION_C)
    count = min(TRAINED_ON, setting.rows // 2)
    title = f"Predict {setting.rows - count:,} rows of 50 numbers"
    part = Part(Sheet(title, ("library", "support vectors", "seconds", "rows a second", "same labels", "note")))
    found: dict[str, Run] = {}
    for library in conditions.libraries:
        conditions.say(f"predict: {library}")
        run, note = _try(setting, library, "predict", conditions.limit, repeat=3)
        if run is None:
            part.sheet.rows.append((library, "", "no", "", "", note))
            continue
        found[library] = run
        labels = run.arrays["labels"]
        same = float(np.mean(labels == next(iter(found.values())).arrays["labels"]))
        figures = (f"{run.words['n_support']:,}", f"{run.seconds:.3g}", f"{len(labels) / run.seconds:,.0f}")
        part.sheet.rows.append((library, *figures, f"{100.0 * same:.2f} %", ""))
    seconds = {library: run.seconds for library, run in found.items()}
    part.promise("predict, against scikit-learn", seconds.get("scikit-learn"), seconds.get(OURS), 20.0)
    part.promise("predict, against scikit-learn-intelex", seconds.get("scikit-learn-intelex"), seconds.get(OURS), 1.0)
    part.sheet.notes.append("best of three; labels are compared with those of the first library")
    return part


def small(conditions: Conditions) -> Part:
    """Warm fits of small sets, everything at its default, tol = 1e-3."""
    part = Part(Sheet("Small fits, warm", ("case", "library", "microseconds", "gap", "note")))
    for name in ("iris", "breast-cancer"):
        setting = conditions.setting(Case(name, name))
        seconds = {}
        for library in conditions.libraries:
            conditions.say(f"small: {name}, {library}")
            run, note = _try(setting, library, "fit", conditions.limit, tol=1e-3, repeat=SMALL_REPEATS)
            if run is None:
                part.sheet.rows.append((name, library, "no", "", note))
                continue
            seconds[library] = run.seconds
            gap = setting.judge.judge(run.arrays).gap
            part.sheet.rows.append((name, library, f"{1e6 * run.seconds:,.0f}", f"{gap:.1e}", run.words["note"]))
        part.promise(f"{name}, warm, against scikit-learn", seconds.get("scikit-learn"), seconds.get(OURS), 1.0)
    part.sheet.notes.append(f"best of at most {SMALL_REPEATS} fits in one process at C = 1, tol = 1e-3")
    return part


def growth(conditions: Conditions) -> Part:
    """Time to a gap of 1e-3 against the number of rows, with the exponent p of the fitted c n^p."""
    most = conditions.most_rows
    counts = GROWTH_ROWS if most is None else tuple(most * n // GROWTH_ROWS[-1] for n in GROWTH_ROWS)
    columns = ("library", *(f"n = {count:,}" for count in counts), "exponent", "note")
    part = Part(Sheet(f"Seconds to gap {GROWTH_LEVEL:g} as n grows, covtype, C = 1", columns))
    for library in conditions.libraries:
        times: list[float | None] = []
        note = ""
        for count in counts:
            if note:
                times.append(None)
                continue
            conditions.say(f"growth: {library}, n = {count:,}")
            case = replace(RACES["covtype"], rows=count)
            seen = climb(library, conditions.setting(case), (GROWTH_LEVEL,))
            times.append(seen.seconds[GROWTH_LEVEL])
            note = seen.note if times[-1] is None else ""  # what is too much for it now is too much for more rows
        cells = ("" if time is None else f"{time:.3g}" for time in times)
        part.sheet.rows.append((library, *cells, number_words(_exponent(counts, times), ".2f"), note))
    return part


def _exponent(counts: Sequence[int], times: Sequence[float | None]) -> float | None:
    """Slope of log time against log n by least squares."""
    points = [(math.log(n), math.log(time)) for n, time in zip(counts, times, strict=True) if time is not None]
    if len(points) < 2:
        return None
    rows, seconds = zip(*points, strict=True)
    return float(np.polyfit(rows, seconds, 1)[0])


def memory(conditions: Conditions) -> Part:
    """Peak of memory that a fit adds to a fresh process which holds the data, beside the budget for kernel rows."""
    case = RACES["covtype"]
    columns = ("case", "library", "added peak MB", "added / budget", "seconds", "gap", "note")
    part = Part(Sheet("Memory of a fit beside its budget", columns))
    for budget in BUDGETS:
        size = int(budget[:-2]) * _BYTES[budget[-2:]]
        setting = replace(conditions, memory=size).setting(case)
        label = f"{case.name}, {setting.rows:,} rows, {budget}"
        for library in conditions.libraries:
            conditions.say(f"memory: {label}, {library}")
            run, note = _try(setting, library, "fit", conditions.limit, tol=1e-3)
            if run is None or run.extra_mb is None:
                part.sheet.rows.append((label, library, "", "", "no", "", note or "the system does not tell"))
                continue
            share = run.extra_mb * 1e6 / size
            gap = setting.judge.judge(run.arrays).gap
            figures = (f"{run.extra_mb:,.0f}", f"{share:.2f}", seconds_words(run.seconds), f"{gap:.1e}")
            part.sheet.rows.append((label, library, *figures, run.words["note"]))
            if library == OURS:
                part.promises.append(within(f"added peak / memory, {label}", share, "", MEMORY_ALLOWED))
    part.sheet.notes.append("tol = 1e-3; peers are given the same budget as their cache")
    return part


PARTS: dict[str, Callable[[Conditions], Part]] = {
    "search": search,
    "predict": predict,
    "small": small,
    "growth": growth,
    "memory": memory,
}
