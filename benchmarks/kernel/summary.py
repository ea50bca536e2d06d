"""What the race of kernel machines comes to: a table a case, and the ratios that the library promises."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.common.ratios import (
    OURS,
    Ratio,
    counts,
    faster,
    geometric_mean,
    number_words,
    promise,
    seconds_words,
    worst,
)
from benchmarks.common.report import Sheet
from benchmarks.kernel.race import Climb, Setting

LARGE = 20_000
"""Rows from which the promise against scikit-learn holds."""


@dataclass(frozen=True)
class Race:
    """One case, with everybody's figures."""

    setting: Setting
    climbs: tuple[Climb, ...]

    def ratio(self, library: str, level: float) -> Ratio:
        """How many times faster than that library we are."""
        return faster(self.climbs, level, self.setting.limit, lambda row: row.library == library)


def race_sheet(race: Race) -> Sheet:
    """Everybody's figures in one case."""
    levels = race.climbs[0].levels
    timed = [(f"s to {_short(level)}", f"tol to {_short(level)}", f"ratio {_short(level)}") for level in levels]
    columns = ("library", *(word for words in timed for word in words), "objective", "best gap")
    sheet = Sheet(race.setting.description, (*columns, "own gap", "support", "MB over input", "note"))
    for row in race.climbs:
        cells = []
        for level in levels:
            ratio = "1" if row.library == OURS else str(race.ratio(row.library, level))
            cells += [seconds_words(row.seconds[level]), number_words(row.tol_to(level), ".0e"), ratio]
        gap = row.best_gap if math.isfinite(row.best_gap) else None
        figures = (number_words(row.primal, ".9g"), number_words(gap, ".1e"), number_words(row.own_gap, ".1e"))
        sizes = (number_words(row.n_support, ",d"), number_words(row.extra_mb, ",.0f"))
        sheet.rows.append((row.library, *cells, *figures, *sizes, row.note.strip()))
    return sheet


def race_summary(races: Sequence[Race]) -> Sheet:
    """The promises on speed beside what was measured; they are about the first level."""
    levels = races[0].climbs[0].levels
    sheet = Sheet("Times faster than the peers", ("figure", *(f"to {_short(x)}" for x in levels), "promised", "kept"))
    libraries = [row.library for row in races[0].climbs if row.library != OURS]
    for library in libraries:
        ratios = [[(race, race.ratio(library, level)) for race in races] for level in levels]
        if library == "scikit-learn-intelex":
            sheet.rows.append(_line(f"{library}, geometric mean where both arrive", map(_mean, ratios), 2.0))
            slowest = (worst((race.setting.label, ratio) for race, ratio in pairs) for pairs in ratios)
            sheet.rows.append(_line(f"{library}, worst case", slowest, 1.0))
        elif library == "scikit-learn":
            large = [[pair for pair in pairs if pair[0].setting.rows >= LARGE] for pairs in ratios]
            figure = f"{library}, n >= {LARGE:,}, geometric mean where both arrive"
            sheet.rows.append(_line(figure, map(_mean, large), 10.0))
            sheet.rows.append(_line("the same, with the limit for those that were ended", map(_bounded, large), 10.0))
        else:
            means = map(str, map(_mean, ratios))
            sheet.rows.append((f"{library}, geometric mean where both arrive", *means, "", ""))
        met = (counts(ratio for _, ratio in pairs) for pairs in ratios)
        sheet.rows.append((f"cases: both / only we / only {library} / nobody arrives", *met, "", ""))
    sheet.notes.append(f"promises are about {_short(levels[0])}")
    sheet.notes.append('"> x": a peer was ended at the time limit, so x is a lower bound')
    return sheet


def promises_sheet(lines: Sequence[tuple[str, ...]]) -> Sheet:
    """What the other parts come to."""
    return Sheet("Search, prediction, small fits, memory", ("figure", "value", "promised", "kept"), list(lines))


def _mean(pairs: Sequence[tuple[Race, Ratio]]) -> Ratio:
    return geometric_mean(ratio for _, ratio in pairs)


def _bounded(pairs: Sequence[tuple[Race, Ratio]]) -> Ratio:
    return geometric_mean((ratio for _, ratio in pairs), with_bounds=True)


def _line(figure: str, ratios: Iterable[Ratio], promised: float) -> tuple[str, ...]:
    """All levels are shown; whether the promise is kept is read from the first."""
    first, *others = ratios
    name, shown, promised_words, kept = promise(figure, [first], promised)
    return (name, shown, *map(str, others), promised_words, kept)


def _short(level: float) -> str:
    return f"1e{math.log10(level):.0f}"
