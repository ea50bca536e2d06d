"""Checkpoints of a training from a source: killed at any moment, it goes on from the last one.

A checkpoint is one file in a directory that the user names: coefficients, weights, intercepts, the place in the pass,
the seed of all random orders, what the problem is, and the fingerprint of the data. It is written under another
name, brought to the disk and then renamed; so there is always a whole one, the old or the new. The rows in memory are
not part of it: they are read again.

A file that belongs to other data or to another problem is refused. Tolerance, budgets, memory and trainer may differ:
the point is as good for any of them.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.errors import CheckpointError, ModelFileError
from maxmargin.models import read_record, write_record
from maxmargin.problems import Intercept, SharedRows
from maxmargin.solvers.streams.state import Place, StreamedPoint

_FILE = "checkpoint.maxmargin"
_FINGERPRINT = "fingerprint of the data"
_FIRST_SECONDS, _MOST_SECONDS = 0.25, 60.0  # between two checkpoints; the time doubles from the first to the last
_SHARE = 20.0  # a checkpoint is not written before that many times its own time has gone by


class Checkpoints:
    """Keeps the checkpoints of one problem in a directory."""

    def __init__(self, directory: str | os.PathLike[str], shared: SharedRows):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.path = self.directory / _FILE
        self.described = _described(shared)
        self.wait, self.last, self.cost = _FIRST_SECONDS, time.perf_counter(), 0.0
        for leftover in self.directory.glob(".maxmargin-*.tmp"):  # of a process that was killed while it wrote
            leftover.unlink(missing_ok=True)

    def restore(self, point: StreamedPoint, place: Place) -> bool:
        """Put point and place where the checkpoint has them; whether there is one."""
        if not self.path.exists():
            return False
        try:
            record = read_record(self.path)
            described = record["described"]
            arrays = {name: np.asarray(record[name]) for name in ("beta", "weights", "bias", "random")}
            stiffness = tuple(float(sigma) for sigma in record["stiffness"])
            place_kept = Place(int(record["round"]), int(record["position"]), float(record["passes"]), stiffness)
        except (ModelFileError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self.path} is damaged, or is no checkpoint: the training cannot go on from it. Delete it to begin "
                "anew, or name another directory."
            ) from error
        for name, found in self.described.items():
            if (kept := described.get(name)) != found:
                differ = f"its {name} is {kept!r}, here it is {found!r}"
                if name == _FINGERPRINT:
                    differ = f"it was made with other rows, or another map of them; their {name} differs"
                raise CheckpointError(
                    f"{self.path} is of another training: {differ}. Give another directory, or delete the "
                    "file to begin anew."
                )
        for name, array in arrays.items():
            getattr(point, name)[:] = array
        vars(place).update(vars(place_kept))
        return True

    def keep(self, point: StreamedPoint, place: Place, *, now: bool = False) -> None:
        """Save, if it is time to."""
        begin = time.perf_counter()
        if not now and begin - self.last < max(self.wait, _SHARE * self.cost):
            return
        write_record(
            {
                "described": self.described,
                "beta": point.beta,
                "weights": point.weights,
                "bias": point.bias,
                "random": point.random,
                "round": place.round,
                "position": place.position,
                "passes": place.passes,
                "stiffness": list(place.stiffness),
            },
            self.path,
        )
        self.last = time.perf_counter()
        self.cost, self.wait = self.last - begin, min(2.0 * self.wait, _MOST_SECONDS)


def _described(shared: SharedRows) -> dict[str, Any]:
    """What two trainings must agree in, each under the name that an error gives it."""
    first = shared.specifications[0]
    return {
        "loss": ", ".join(str(part) for part in first.loss.to_record().values()),
        "C": first.C,
        "intercept": _intercept_in_words(first.intercept),
        "classes": [str(label) for label in shared.classes],
        "tasks": [str(one.task) for one in shared.specifications],
        "class weights": [float(factor) for factor in shared.factors],
        "number of rows": shared.n_rows,
        "number of features": shared.n_features,
        _FINGERPRINT: fingerprint(shared.source),
    }


def _intercept_in_words(intercept: Intercept) -> str:
    if intercept.is_free:
        return "free"
    return f"augmented by {intercept.scale:g}" if intercept.scale > 0.0 else "none"


def fingerprint(source: Any) -> str:
    """What tells the data of a source from others: its own word for it, or a hash of all rows."""
    if hasattr(source, "fingerprint"):
        return str(source.fingerprint())
    digest = hashlib.sha256()
    for k in range(source.n_blocks):
        block = source.block(k)
        X = block.X
        parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        for part in (*parts, np.asarray(block.y), block.weight):
            if part is not None:
                digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
