"""LIBSVM's text model file, as its svm-train writes it and its svm-predict reads it.

    svm_type c_svc              c_svc, nu_svc, one_class, epsilon_svr or nu_svr
    kernel_type rbf             linear, polynomial, rbf, sigmoid or precomputed
    degree, gamma, coef0        those that the kernel has
    nr_class 3                  2 where there are no classes
    total_sv 36
    rho ...                     one a pair of classes
    label ...                   classes in the order of the file; only for classification
    probA ...  probB ...        sigmoids of the pairs; a regression may have a single probA, the scale of its errors
    prob_density_marks ...      ten numbers that one_class may have
    nr_sv ...                   support vectors of each class; only for classification
    SV
    coefficient ... column:value ...

Support vectors come class by class. Line s has nr_class - 1 coefficients: of a support vector of class i, the one in
the pair with class j stands in place j - 1 for j > i, and in place j for j < i. The score of a pair (i, j), i < j, is

    f = sum_s coefficient_s k(x, x_s) - rho

and is positive where the pair decides for class i. Columns count from 1; a precomputed kernel has 0:number, the number
of the training row, from 1 on, in place of a vector. LIBSVM writes the values of vectors with 8 digits; here they get
17.

A record has these words as keys, arrays of doubles or integers as values, and

    sv_coef     one row a coefficient, one column a support vector
    SV          CSR matrix, one row a support vector, or an array of numbers of rows for a precomputed kernel
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.models.text import TextModel, write_lines, written

_SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
_PARAMETERS = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
_ARRAYS = ("rho", "label", "probA", "probB", "prob_density_marks", "nr_sv")
_WORDS = ("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", *_ARRAYS)
_N_MARKS = 10


def read_libsvm(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the record of a LIBSVM model file; a ModelFileError names the line that breaks the format."""
    model = TextModel(path, "LIBSVM", _WORDS, "SV")
    record: dict[str, Any] = {"svm_type": model.word("svm_type", _SVM_TYPES)}
    record["kernel_type"] = model.word("kernel_type", _PARAMETERS)
    for name in _PARAMETERS[record["kernel_type"]]:
        record[name] = model.integer(name, 0) if name == "degree" else model.number(name)
    classifies = record["svm_type"] in ("c_svc", "nu_svc")
    n_classes = record["nr_class"] = model.integer("nr_class", 2)
    if not classifies and n_classes != 2:
        model.refuse_word("nr_class", f"nr_class 2 for {record['svm_type']}")
    n_pairs = n_classes * (n_classes - 1) // 2
    record["total_sv"] = model.integer("total_sv", 0)
    record["rho"] = model.numbers("rho", n_pairs)
    if classifies:
        record["label"] = model.labels(n_classes)
    for name, count in (("probA", n_pairs), ("probB", n_pairs), ("prob_density_marks", _N_MARKS)):
        if name in model:
            record[name] = model.numbers(name, count)
    if classifies:
        record["nr_sv"] = model.integers("nr_sv", n_classes)
        if record["nr_sv"].sum() != record["total_sv"] or record["nr_sv"].min() < 0:
            model.refuse_word("nr_sv", f"counts that add up to total_sv, {record['total_sv']}")
    record["sv_coef"], record["SV"] = _read_vectors(model, record)
    model.expect_end()
    return record


def write_libsvm(record: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a record as LIBSVM writes it, whole or not at all."""
    write_lines(_lines(record), path)


def _read_vectors(model: TextModel, record: dict[str, Any]) -> tuple[Any, Any]:
    """Coefficients and vectors of the lines after the header."""
    n_vectors, n_coefficients = record["total_sv"], record["nr_class"] - 1
    precomputed = record["kernel_type"] == "precomputed"
    model.expect_lines(n_vectors, "support vectors")
    coefficients = np.empty((n_coefficients, n_vectors))
    starts, columns, values = [0], [], []
    for s in range(n_vectors):
        line, parts = model.next_line(f"support vector {s + 1} of {n_vectors}")
        if len(parts) < n_coefficients:
            model.refuse(line, f"{len(parts)} values", f"{n_coefficients} coefficients and then a support vector")
        coefficients[:, s] = [model.number_in(line, part) for part in parts[:n_coefficients]]
        last = 0
        for part in parts[n_coefficients:]:
            column, colon, value = part.partition(b":")
            if not colon:
                model.refuse(line, repr(part.decode("utf-8", "replace")), "column:value")
            number = model.integer_in(line, column)
            if precomputed:
                columns.append(model.integer_in(line, value))
                if number != 0 or columns[-1] < 1 or len(columns) > s + 1:
                    model.refuse(line, repr(part.decode()), "a single 0:number, the number of a training row")
                continue
            if number <= last:
                model.refuse(line, f"column {number} after column {last}", "columns from 1 on that increase")
            last = number
            columns.append(number - 1)
            values.append(model.number_in(line, value))
        if precomputed and len(columns) != s + 1:
            model.refuse(line, "no training row", "0:number, the number of a training row")
        starts.append(len(columns))
    if precomputed:
        return coefficients, np.array(columns, dtype=np.int64)
    width = max(columns, default=-1) + 1
    parts_of_matrix = (np.array(values, dtype=np.float64), np.array(columns, dtype=np.int64), np.array(starts))
    return coefficients, sparse.csr_matrix(parts_of_matrix, shape=(n_vectors, width))


def _lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"svm_type {record['svm_type']}"
    yield f"kernel_type {record['kernel_type']}"
    for name in _PARAMETERS[record["kernel_type"]]:
        yield f"{name} {record[name]:.17g}"
    yield f"nr_class {record['nr_class']}"
    yield f"total_sv {record['total_sv']}"
    for name in _ARRAYS:
        if name in record:
            yield f"{name} {written(record[name].tolist())}"
    yield "SV"
    vectors = record["SV"]
    for s in range(record["total_sv"]):
        coefficients = written(record["sv_coef"][:, s].tolist())
        if record["kernel_type"] == "precomputed":
            yield f"{coefficients} 0:{vectors[s]} "
            continue
        span = slice(vectors.indptr[s], vectors.indptr[s + 1])
        entries = zip(vectors.indices[span].tolist(), vectors.data[span].tolist(), strict=True)
        yield f"{coefficients} " + "".join(f"{column + 1}:{value:.17g} " for column, value in entries)
