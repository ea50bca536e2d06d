"""How a naive Bayes posterior comes about, as a table: prior, factors, product, posterior."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import Labels, Matrix, Vector

_SHOWN = 20
"""Features that a table shows; of more, those that tell the classes apart best."""


@dataclass(frozen=True)
class Explanation:
    """The posterior of one row, factor by factor; one entry or column a class.

    Attributes
    ----------
    classes, features, values
        Labels of the classes, names of the features, and the values of the row.
    log_prior, log_factors, log_joint
        Logarithms of `prior`, `factors` and `joint`, which do not underflow.
    posterior
        P(class | x), which sums to 1.
    """

    classes: Labels
    features: Labels
    values: list[Any]
    log_prior: Vector
    log_factors: Matrix
    log_joint: Vector
    posterior: Vector

    @property
    def prior(self) -> Vector:
        """P(class)."""
        return np.exp(self.log_prior)

    @property
    def factors(self) -> Matrix:
        """P(x_j | class), or its density: one row a feature, one column a class."""
        return np.exp(self.log_factors)

    @property
    def joint(self) -> Vector:
        """P(class) times the factors: P(class, x)."""
        return np.exp(self.log_joint)

    def rows(self) -> list[tuple[str, ...]]:
        """The table, head first: what, its value, and a number a class."""
        shown, hidden = self._shown()
        lines = [("prior", "", self.log_prior)]
        lines += [(str(self.features[j]), str(self.values[j]), self.log_factors[j]) for j in shown]
        if len(hidden):
            lines.append((f"{len(hidden):,} other features", "", self.log_factors[hidden].sum(axis=0)))
        lines.append(("product", "", self.log_joint))
        table = [(name, value, *(_words(log) for log in logs)) for name, value, logs in lines]
        posterior = ("posterior", "", *(f"{share:.4g}" for share in self.posterior))
        return [("", "value", *(str(label) for label in self.classes)), *table, posterior]

    def _shown(self) -> tuple[list[int], list[int]]:
        """Features in the table and features left out of it."""
        n_features = len(self.features)
        if n_features <= _SHOWN:
            return list(range(n_features)), []
        finite = np.maximum(self.log_factors, np.finfo(float).min / 2.0)
        order = np.argsort(finite.min(axis=1) - finite.max(axis=1), kind="stable").tolist()
        return order[:_SHOWN], order[_SHOWN:]

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        edges = [f"{'<' if column < 2 else '>'}{width}" for column, width in enumerate(widths)]
        lines = ["  ".join(map(format, row, edges)) for row in rows]
        rule = "-" * len(lines[0])
        return "\n".join(line.rstrip() for line in [lines[0], rule, *lines[1:-2], rule, *lines[-2:]])

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        head, *body = [[html.escape(cell) for cell in row] for row in self.rows()]
        lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
        lines += [f"<tr><th>{row[0]}</th>" + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>" for row in body]
        return "<table>" + "".join(lines) + "</table>"


def _words(log: float) -> str:
    """The number with this logarithm, also where it is too small or too large for a double."""
    if math.isinf(log) or abs(log) < 700.0:
        return f"{math.exp(log):.4g}"
    exponent = math.floor(log / math.log(10.0))
    return f"{10.0 ** (log / math.log(10.0) - exponent):.3f}e{exponent:+d}"
