"""Which solvers, by name, a linear problem can be given to: the list that an error shows is the list that works."""

from __future__ import annotations

from collections.abc import Iterable

from maxmargin.errors import unknown_name
from maxmargin.losses import HardMargin, Loss
from maxmargin.penalties import L1, L2, Penalty
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.registry import is_linear_name, not_suited

_VISITING = ("asgd", "pegasos", "subgradient")
_L2: dict[str, tuple[str, ...]] = {
    "Absolute": ("auto", "dcd", "multipliers", "qp", *_VISITING),
    "CrammerSinger": ("auto", "dcd", "interior"),
    "EpsilonInsensitive": ("auto", "dcd", "multipliers", "qp", *_VISITING),
    "HardMargin": ("auto", "qp"),
    "Hinge": ("auto", "dcd", "implicit", "multipliers", "pairs", "qp", *_VISITING),
    "Logistic": ("auto", "dcd", "newton", *_VISITING),
    "Softmax": ("auto", "softmax-newton"),
    "Squared": ("auto", "dcd", "least-squares", "newton", "qp"),
    "SquaredEpsilonInsensitive": ("auto", "dcd", "newton", "qp"),
    "SquaredHinge": ("auto", "dcd", "implicit", "newton", "pairs", "qp", *_VISITING),
}
"""Names of the solvers of each loss, where the penalty is 1/2 |w|^2."""

_L1: dict[str, tuple[str, ...]] = {
    "Absolute": ("auto", "qp"),
    "EpsilonInsensitive": ("auto", "qp"),
    "Hinge": ("auto", "qp"),
    "Logistic": ("auto", "sparse"),
    "Squared": ("auto", "lasso", "sparse"),
    "SquaredEpsilonInsensitive": ("auto", "qp", "sparse"),
    "SquaredHinge": ("auto", "qp", "sparse"),
}
"""The same for the penalty |w|_1."""


def suited(loss: Loss, penalty: Penalty = L2()) -> tuple[str, ...]:  # noqa: B008 - a frozen value
    """Names of the solvers that can do this loss with this penalty."""
    if isinstance(penalty, (L1, L2)):
        return (_L2 if isinstance(penalty, L2) else _L1).get(type(loss).__name__, ())
    return ("auto", "least-squares")  # no penalty at all


def check_suited(
    name: object,
    loss: Loss,
    penalty: Penalty = L2(),  # noqa: B008 - a frozen value
    also: Iterable[str] = (),
) -> None:
    """Refuse the name of a solver that cannot do the loss with the penalty; a `Solver` speaks for itself.

    `also` are names that an estimator understands besides.
    """
    if isinstance(name, Solver):
        return
    names = {*suited(loss, penalty), *also}
    if isinstance(name, str) and name in names:
        return
    if isinstance(name, str) and is_linear_name(name):
        raise not_suited(name, _words(loss, penalty), names)
    raise unknown_name("solver", name, names)


def _words(loss: Loss, penalty: Penalty) -> str:
    """Loss and penalty, as an error names them."""
    what = "a hard margin" if isinstance(loss, HardMargin) else f"the {loss.name} loss"
    if isinstance(penalty, L2):
        return what
    return f"{what} with the L1 penalty" if isinstance(penalty, L1) else f"{what} without a penalty"
