"""What an experiment says about itself: the models, their scores, and every look at the test set that is known of."""

from __future__ import annotations

from maxmargin.evaluate.revealed import Revealed
from maxmargin.evaluate.standings import Standings
from maxmargin.evaluate.tables import CORRELATED, Table, number


def report(title: str, standings: Standings, revealed: Revealed | None) -> Table:
    """The table of an experiment."""
    notes = [CORRELATED] if any(len(entry.scores) > 1 for entry in standings.entries.values()) else []
    if revealed is None:
        notes.append("The test set was looked at 0 times.")
    else:
        notes += _look(revealed, standings.chosen)
    return Table(title, ("model", "mean score", "standard error", ""), standings.rows(), notes)


def _look(revealed: Revealed, chosen: str | None) -> list[str]:
    """The look, and what else must be known to judge it."""
    notes = [
        f"The test set was looked at once, on {revealed.time}, for {revealed.name}: score {number(revealed.score)}, "
        f"standard error {number(revealed.standard_error)}."
    ]
    if revealed.earlier_looks:
        notes.append(f"Looks at test rows of the same data before it, in other experiments: {revealed.earlier_looks}.")
    if chosen not in (None, revealed.name):
        notes.append(f"The model chosen now is another: of {chosen} no test score is known.")
    return notes
