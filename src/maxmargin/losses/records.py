"""Losses from the plain records that a model file holds."""

from __future__ import annotations

from typing import Any

from maxmargin.errors import ModelFileError
from maxmargin.losses.base import Loss
from maxmargin.losses.crammer_singer import CrammerSinger
from maxmargin.losses.hinge import HardMargin, Hinge, SquaredHinge
from maxmargin.losses.insensitive import Absolute, EpsilonInsensitive, SquaredEpsilonInsensitive
from maxmargin.losses.logistic import Logistic
from maxmargin.losses.softmax import Softmax
from maxmargin.losses.squared import Squared

_KINDS: dict[str, type[Loss]] = {
    kind.__name__: kind
    for kind in (
        Absolute,
        CrammerSinger,
        EpsilonInsensitive,
        HardMargin,
        Hinge,
        Logistic,
        Softmax,
        Squared,
        SquaredEpsilonInsensitive,
        SquaredHinge,
    )
}


def from_record(record: dict[str, Any]) -> Loss:
    """Loss whose `to_record` gave `record`."""
    parameters = dict(record)
    kind = parameters.pop("kind", None)
    if kind not in _KINDS:
        raise ModelFileError(f"the model file names a loss {kind!r} that this version does not know.")
    return _KINDS[kind](**parameters)
