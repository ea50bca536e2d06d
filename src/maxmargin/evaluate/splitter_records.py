"""Splitters of this library as plain values, for files, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from maxmargin.evaluate.splitters import FiveByTwo, Holdout, KFold, LeaveOneOut, TrainValidationTest, WithoutTest

_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (FiveByTwo, Holdout, KFold, LeaveOneOut)}


def record_of(splitter: Any) -> dict[str, Any] | None:
    """The settings of a splitter; None for one that is not of this library, and for lists of rows."""
    if isinstance(splitter, WithoutTest):
        return {"kind": "WithoutTest", **asdict(splitter.whole)}
    return {"kind": type(splitter).__name__, **asdict(splitter)} if type(splitter) in _KINDS.values() else None


def from_record(record: dict[str, Any]) -> Any:
    """The splitter that `record_of` wrote down."""
    settings = {name: value for name, value in record.items() if name != "kind"}
    if record["kind"] == "WithoutTest":
        return WithoutTest(TrainValidationTest(**settings))
    return _KINDS[record["kind"]](**settings)
