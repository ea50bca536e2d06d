"""What the race of linear machines comes to: a table a case, and the ratios that the library promises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.common.ratios import (
    LEVELS,
    OURS,
    counts,
    faster,
    geometric_mean,
    number_words,
    promise,
    seconds_words,
    within,
    worst,
)
from benchmarks.common.report import Sheet
from benchmarks.startup import Startup

WEIGHTY_MB = 10.0
"""Inputs below are left out of the promise on memory: the interpreter's own needs would decide."""


@dataclass(frozen=True)
class Row:
    """One library with one solver in one case."""

    library: str
    solver: str
    seconds: dict[float, float | None]
    """To each level; None where it was never reached."""
    primal: float | None
    suboptimality: float | None
    gap: float | None
    extra_mb: float | None
    """Memory at the peak of a fit beyond the input."""
    note: str
    over_limit: bool


@dataclass(frozen=True)
class Case:
    """One problem, with everybody's figures."""

    data: str
    description: str
    layout: str
    input_mb: float
    loss: str
    C: float
    limit: float
    optimum: float
    width: float
    proven: bool
    complaints: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def label(self) -> str:
        """Short name."""
        return f"{self.data} {self.loss} C={self.C:g}"

    def memory_ratio(self, row: Row) -> float | None:
        """Input and peak of the fit beyond it, over the input."""
        return None if row.extra_mb is None else (self.input_mb + row.extra_mb) / self.input_mb


def case_sheet(case: Case) -> Sheet:
    """Everybody's figures in one case."""
    columns = ("library", "solver", "s to 1e-3", "s to 1e-6", "primal", "suboptimality", "gap", "MB over input")
    sheet = Sheet(f"{case.description}, {case.loss}, C = {case.C:g}", (*columns, "peak / input", "note"))
    for row in case.rows:
        sheet.rows.append(
            (
                row.library,
                row.solver,
                *(seconds_words(row.seconds[level]) for level in LEVELS),
                number_words(row.primal, ".10g"),
                number_words(row.suboptimality, ".1e"),
                number_words(row.gap, ".1e"),
                number_words(row.extra_mb, ".1f"),
                number_words(case.memory_ratio(row), ".2f"),
                row.note,
            )
        )
    if case.proven:
        sheet.notes.append(f"P* = {case.optimum:.10g}, proven to {max(abs(case.width), 1e-16):.0e} of it")
    else:
        known = f"proven only to {case.width:.0e} of it" if case.width < 1.0 else "without any proof"
        sheet.notes.append(f"P* is not known: {case.optimum:.10g} is the best value seen, {known}; levels refer to it")
    sheet.notes.extend(f"WRONG: {complaint}" for complaint in case.complaints)
    return sheet


def summary_sheets(cases: Sequence[Case], startup: Startup) -> list[Sheet]:
    """The promises beside what was measured."""
    return [_speed(cases), _other(cases, startup)]


def _speed(cases: Sequence[Case]) -> Sheet:
    sheet = Sheet(
        "Times faster than the peers",
        ("figure", *(f"to 1e{math.log10(level):.0f}" for level in LEVELS), "promised", "kept"),
    )
    against_liblinear = {
        level: [(case, faster(case.rows, level, case.limit, lambda row: row.library == "LIBLINEAR")) for case in cases]
        for level in LEVELS
    }
    means = [geometric_mean(ratio for _, ratio in against_liblinear[level]) for level in LEVELS]
    sheet.rows.append(promise("best LIBLINEAR solver, geometric mean where both arrive", means, 2.0))
    slowest = [worst((case.label, ratio) for case, ratio in against_liblinear[level]) for level in LEVELS]
    sheet.rows.append(promise("best LIBLINEAR solver, worst case", slowest, 0.9))
    met = [counts(ratio for _, ratio in against_liblinear[level]) for level in LEVELS]
    sheet.rows.append(("cases: both / only we / only LIBLINEAR / nobody arrives", *met, "", ""))
    for case in cases:
        if case.loss == "hinge" and case.C == 100.0 and case.data in ("a9a", "covtype"):
            ratios = [faster(case.rows, level, case.limit, _is_liblinear_dual) for level in LEVELS]
            sheet.rows.append(promise(f"{case.label}, LIBLINEAR's dual", ratios, 10.0))
    for case in cases:
        if case.loss != "hinge" and case.data == "covtype":
            ratios = [faster(case.rows, level, case.limit, lambda row: row.library != OURS) for level in LEVELS]
            sheet.rows.append(promise(f"{case.label}, best peer", ratios, 8.0))
    sheet.notes.append(
        "LIBLINEAR's dual is the faster of -s 3 and scikit-learn's dual, the same code without its limit"
    )
    sheet.notes.append('"> x": the peer was ended at the time limit, so x is a lower bound')
    unproven = [case.label for case in cases if not case.proven]
    if unproven:
        sheet.notes.append(f"P* not proven to 1e-7, levels refer to the best value seen: {', '.join(unproven)}")
    return sheet


def _other(cases: Sequence[Case], startup: Startup) -> Sheet:
    sheet = Sheet("Memory and start", ("figure", "value", "promised", "kept"))
    for layout, promised in (("dense float32", 1.3), ("CSR", 1.5)):
        ratios = [
            (ratio, case.label)
            for case in cases
            for row in case.rows
            if row.library == OURS and layout in case.layout and case.input_mb >= WEIGHTY_MB
            if (ratio := case.memory_ratio(row)) is not None
        ]
        if ratios:
            ratio, label = max(ratios)
            sheet.rows.append(
                within(
                    f"peak memory of our fit / input, {layout}, inputs of {WEIGHTY_MB:g} MB or more",
                    ratio,
                    f" ({label})",
                    promised,
                )
            )
    for words, seconds, promised in (
        ("seconds of a process that imports and fits iris, empty Numba cache", startup.empty_cache_iris, 6.0),
        ("the same on a small CSR matrix, hinge", startup.empty_cache_sparse, 6.0),
        ("seconds of a process that imports and fits iris, warm cache", startup.warm_cache_iris, 1.0),
    ):
        sheet.rows.append(within(words, seconds, "", promised))
    return sheet


def _is_liblinear_dual(row: Row) -> bool:
    return row.library in ("LIBLINEAR", "scikit-learn") and row.solver.startswith("dual")
