"""Results on stdout: a table for people, one JSON object for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

_NUMBERS = (
    "objective",
    "primal",
    "dual",
    "gap",
    "relative_gap",
    "kkt_violation",
    "rounding",
    "tol",
    "solver",
    "n_support",
    "passes",
    "seconds",
    "reason",
)


def certificate_record(certificate: Any) -> dict[str, Any] | None:
    """A certificate as plain values."""
    if certificate is None:
        return None
    record = {name: getattr(certificate, name) for name in _NUMBERS}
    return {**record, "status": certificate.status.name, "parts": len(certificate.parts or (certificate,))}


def print_json(record: Mapping[str, Any]) -> None:
    """One JSON object; numbers that JSON does not know become null."""
    print(json.dumps(_plain(record), indent=2, ensure_ascii=False))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns of text, numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
