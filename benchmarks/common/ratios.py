"""How many times faster: ratios of times to a level, their means, and what was promised about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

OURS = "maxmargin"
LEVELS = (1e-3, 1e-6)


class Timed(Protocol):
    """One library in one case."""

    @property
    def library(self) -> str:
        """Its name."""

    @property
    def seconds(self) -> dict[float, float | None]:
        """To each level; None where it was never reached."""

    @property
    def over_limit(self) -> bool:
        """Whether it was ended at the time limit."""


RowKind = TypeVar("RowKind", bound=Timed)


@dataclass(frozen=True)
class Ratio:
    """How many times faster we are; 0 where only the others arrive, nan where nobody does."""

    value: float
    words: str = ""
    is_bound: bool = False
    """The peer was ended at the time limit: the true ratio is larger."""

    @property
    def both(self) -> bool:
        """Whether both sides arrived, so that this is a ratio of two times."""
        return self.words == ""

    def __str__(self) -> str:
        return self.words or f"{self.value:.3g}"


def faster(rows: Sequence[RowKind], level: float, limit: float, among: Callable[[RowKind], bool]) -> Ratio:
    """Best time of the chosen peers over ours; `limit` is the time at which a run was ended."""
    peers = [row for row in rows if among(row) and row.library != OURS]
    theirs = min((time for row in peers if (time := row.seconds[level]) is not None), default=None)
    ours = next((row.seconds[level] for row in rows if row.library == OURS), None)
    if ours is None:
        return Ratio(math.nan, "nobody arrives") if theirs is None else Ratio(0.0, "we never arrive")
    if theirs is not None:
        return Ratio(theirs / ours)
    if any(row.over_limit for row in peers):
        return Ratio(limit / ours, f"> {limit / ours:.3g}", is_bound=True)
    return Ratio(math.inf, "only we arrive")


def geometric_mean(ratios: Iterable[Ratio], *, with_bounds: bool = False) -> Ratio:
    """Over the cases where both arrive, and with lower bounds where the peer was ended if that is asked."""
    used = [ratio for ratio in ratios if ratio.both or (with_bounds and ratio.is_bound)]
    if not used:
        return Ratio(math.nan, "no case")
    mean = math.exp(math.fsum(math.log(ratio.value) for ratio in used) / len(used))
    is_bound = any(ratio.is_bound for ratio in used)
    return Ratio(mean, f"> {mean:.3g}" if is_bound else "", is_bound)


def worst(ratios: Iterable[tuple[str, Ratio]]) -> Ratio:
    """The smallest ratio, with the case it belongs to."""
    arrived = [(ratio.value, str(ratio), label) for label, ratio in ratios if ratio.both or ratio.value == 0.0]
    if not arrived:
        return Ratio(math.nan, "no case")
    value, words, label = min(arrived)
    return Ratio(value, f"{words} ({label})")


def counts(ratios: Iterable[Ratio]) -> str:
    """Cases in which both, only we, only the others, nobody arrives."""
    kinds = [0, 0, 0, 0]
    for ratio in ratios:
        kinds[0 if ratio.both else 3 if math.isnan(ratio.value) else 2 if ratio.value == 0.0 else 1] += 1
    return " / ".join(map(str, kinds))


def promise(figure: str, ratios: Sequence[Ratio], promised: float) -> tuple[str, ...]:
    """A line with ratios that should be at least as large as promised."""
    short = [ratio for ratio in ratios if not ratio.value >= promised]
    undecided = all(ratio.is_bound or math.isnan(ratio.value) for ratio in short)
    kept = "yes" if not short else "-" if undecided else "no"
    return (figure, *map(str, ratios), f">= {promised:g}", kept)


def within(figure: str, value: float, where: str, promised: float) -> tuple[str, ...]:
    """A line with a number that should be at most as large as promised."""
    return (figure, f"{value:.3g}{where}", f"<= {promised:g}", "yes" if value <= promised else "no")


def seconds_words(value: float | None) -> str:
    """A time, or "no"."""
    return "no" if value is None else f"{value:.3g}"


def number_words(value: float | None, form: str) -> str:
    """A number, or nothing."""
    return "" if value is None else format(value, form)
