"""LIBLINEAR's text model file, as its train writes it and its predict reads it.

    solver_type L2R_L2LOSS_SVC_DUAL     what was minimised, and how
    nr_class 3                          2 where there are no classes
    label ...                           classes in the order of the file; only for classification
    nr_feature 4
    bias 1                              the constant feature; negative where there is none
    rho ...                             only for ONECLASS_SVM
    w
    weight ...                          one line a feature, the constant one last, if there is one

A line of w has one number for two classes, for a regression and for one class, otherwise one a class; MCSVM_CS has one
a class always. The scores of x are <w_k, x> + bias * (last line). Two classes: a positive first score is for the first
label. More: the largest score wins, of equal ones the first. One class: the score less rho.

A record has these words as keys, and `w` as an array with one row a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.models.text import TextModel, write_lines, written

CLASSIFIERS = (
    "L2R_LR",
    "L2R_L2LOSS_SVC_DUAL",
    "L2R_L2LOSS_SVC",
    "L2R_L1LOSS_SVC_DUAL",
    "MCSVM_CS",
    "L1R_L2LOSS_SVC",
    "L1R_LR",
    "L2R_LR_DUAL",
)
REGRESSORS = ("L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL")
ONE_CLASS = "ONECLASS_SVM"
_WORDS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")


def read_liblinear(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the record of a LIBLINEAR model file; a ModelFileError names the line that breaks the format."""
    model = TextModel(path, "LIBLINEAR", _WORDS, "w")
    kind = model.word("solver_type", (*CLASSIFIERS, *REGRESSORS, ONE_CLASS))
    n_classes = model.integer("nr_class", 2)
    record: dict[str, Any] = {"solver_type": kind, "nr_class": n_classes}
    if kind in CLASSIFIERS:
        record["label"] = model.labels(n_classes)
    elif n_classes != 2:
        model.refuse_word("nr_class", f"nr_class 2 for {kind}")
    record["nr_feature"] = model.integer("nr_feature", 0)
    record["bias"] = model.number("bias")
    if kind == ONE_CLASS:
        record["rho"] = model.number("rho")
    n_lines = record["nr_feature"] + (record["bias"] >= 0)
    model.expect_lines(n_lines, "lines of weights")
    w = np.empty((n_lines, 1 if n_classes == 2 and kind != "MCSVM_CS" else n_classes))
    for k in range(n_lines):
        line, parts = model.next_line(f"line {k + 1} of the {n_lines} lines of w")
        if len(parts) != w.shape[1]:
            model.refuse(line, f"{len(parts)} values", f"{w.shape[1]} weights a line")
        w[k] = [model.number_in(line, part) for part in parts]
    model.expect_end()
    return {**record, "w": w}


def write_liblinear(record: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a record as LIBLINEAR writes it, whole or not at all."""
    write_lines(_lines(record), path)


def _lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"solver_type {record['solver_type']}"
    yield f"nr_class {record['nr_class']}"
    if "label" in record:
        yield f"label {written(record['label'].tolist())}"
    yield f"nr_feature {record['nr_feature']}"
    yield f"bias {record['bias']:.17g}"
    if "rho" in record:
        yield f"rho {record['rho']:.17g}"
    yield "w"
    for weights in record["w"].tolist():
        yield f"{written(weights)} "
