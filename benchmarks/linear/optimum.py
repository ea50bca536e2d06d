"""Where the optimum of a linear problem without intercept lies, by double-precision arithmetic of our own.

    P(w)     = 1/2 |w|^2 + C sum_i l(y_i <w, x_i>)
    D(alpha) = -1/2 |sum_i alpha_i y_i x_i|^2 - C sum_i l*(-alpha_i / C)

Every w that any library returns gives an upper bound P(w) of the optimum P*. Lower bounds are the dual values of our
certificates and, where the loss is smooth, D at alpha_i = -C l'(y_i <w, x_i>), which closes on P* as w closes on the
optimum, whoever found it. So a peer's answer can prove the optimum without being trusted.

Once the two bounds agree to `PROVEN`, suboptimality is measured from the lower one, and a level that is reached is
reached for certain. Until then it is measured from the best primal value seen by anyone, and the tables say so.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common.data import CACHE, DataSet
from maxmargin.losses import Hinge, Logistic, MarginLoss, SquaredHinge
from maxmargin.problems import linear_scores

PROVEN = 1e-7
"""Width of the bracket, relative to P*, at which the optimum counts as known: a tenth of the tighter level."""
SETTLED = 1e-8
"""Width that is worth reaching before a race."""
ROUNDING = 1e-10
"""By how much, relative to P*, a dual value may exceed a primal value before something is wrong."""
LOSSES: dict[str, MarginLoss] = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic()}
_STORE = CACHE / "optima.json"
_BLOCK_ROWS = 16_384


class Referee:
    """Judges weights on one problem, and knows the bracket of its optimum; brackets are kept between runs."""

    def __init__(self, data: DataSet, loss: str, C: float):
        self._data, self._loss, self._C = data, LOSSES[loss], C
        self._smooth = loss != "hinge"
        self._key = f"{data.name} {data.fingerprint} {loss} C={C:g}"
        kept = _stored().get(self._key, {})
        self.lower: float = kept.get("lower", -math.inf)
        self.upper: float = kept.get("upper", math.inf)
        self.complaints: list[str] = []

    @property
    def width(self) -> float:
        """Relative distance of the two bounds."""
        return (self.upper - self.lower) / self.upper if math.isfinite(self.upper) else math.inf

    @property
    def proven(self) -> bool:
        """Whether the optimum is known well enough to judge both levels for certain."""
        return self.width <= PROVEN

    def suboptimality(self, primal: float) -> float:
        """(P(w) - P*) / P*, P* being the lower bound where proven, else the best value seen."""
        optimum = self.lower if self.proven else self.upper
        return (primal - optimum) / optimum

    def surely_within(self, primal: float, level: float) -> bool:
        """Whether P(w) is proven to be that close to P*."""
        return primal - self.lower <= level * self.lower

    def judge(self, weights: np.ndarray) -> float:
        """P(w); the bracket shrinks if it can."""
        w = np.asarray(weights, dtype=np.float64)
        margins = self._data.y * linear_scores(self._data.X, w)
        primal = 0.5 * float(w @ w) + self._C * float(np.sum(self._loss.value(margins)))
        if primal < self.upper:
            self.upper = primal
            if self._smooth and self.width > SETTLED:
                self.lower = max(self.lower, self._dual_at(margins))
            self._check("a kept or certified dual value")
        return primal

    def admit(self, dual: float) -> None:
        """Take the dual value of a certificate as a lower bound."""
        if dual > self.lower:
            self.lower = dual
            self._check("the dual value of our certificate")

    def keep(self) -> None:
        """Store the bracket for later runs."""
        bounds = {"lower": self.lower, "upper": self.upper}
        merged = _stored() | {self._key: {name: bound for name, bound in bounds.items() if math.isfinite(bound)}}
        _STORE.parent.mkdir(exist_ok=True)
        _STORE.write_text(json.dumps(merged, indent=1, sort_keys=True) + "\n")

    def _dual_at(self, margins: np.ndarray) -> float:
        slopes = self._loss.subgradient(margins)
        w = _combination(self._data.X, -self._C * slopes * self._data.y)
        return -0.5 * float(w @ w) - self._C * float(np.sum(self._loss.conjugate(slopes)))

    def _check(self, what: str) -> None:
        if self.lower > self.upper * (1.0 + ROUNDING):
            self.complaints.append(
                f"{what}, {self.lower:.15g}, exceeds a primal value, {self.upper:.15g}: not believed"
            )
            self.lower = -math.inf


def _combination(X: Any, coefficients: np.ndarray) -> np.ndarray:
    """sum_i beta_i x_i in double precision; a dense X is never copied whole."""
    if sparse.issparse(X):
        return np.asarray(X.T.astype(np.float64, copy=False) @ coefficients)
    total = np.zeros(X.shape[1])
    for top in range(0, X.shape[0], _BLOCK_ROWS):
        rows = slice(top, top + _BLOCK_ROWS)
        total += X[rows].T.astype(np.float64) @ coefficients[rows]
    return total


def _stored() -> dict[str, Any]:
    return json.loads(_STORE.read_text()) if _STORE.exists() else {}
