"""A record as JSON: arrays, and what else JSON lacks, stand outside or in tagged objects.

    in the record                        in the JSON
    -----------------------------------  ---------------------------------------------------------------
    str, int, bool, None, finite float   the same
    inf, -inf, nan                       {"$float": "inf"}
    array of numbers, bool, U or S       {"$array": 3}, the third array handed to `keep`
    object array of str                  {"$strings": ["a", "b"], "shape": [2]}
    CSR matrix                           {"$csr": "matrix", "shape": [5, 9], "data": {"$array": 4}, ...}
    CSR array                            {"$csr": "array", ...}
    list                                 a list
    dict                                 an object
    dict with a key that begins with $   {"$dict": an object}

NumPy's scalars become Python's. Keys are sorted, so equal records give equal JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.errors import ModelFileError

Json: TypeAlias = Any
"""What `json.dumps` takes without a default."""

PLAIN_KINDS = "biufcUS"
"""NumPy's letters for the arrays a file holds: bool, numbers, and words of fixed width."""


def encode(value: Any, keep: Callable[[NDArray[Any]], int], where: str = "record") -> Json:
    """`value` as JSON; every array goes to `keep`, which returns the number it will be fetched by.

    A ModelFileError leads, by `where`, to a part of the value that has no place in a model file.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(float(value))}
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, list):
        return [encode(item, keep, f"{where}[{position}]") for position, item in enumerate(value)]
    if isinstance(value, dict):
        return _encode_dict(value, keep, where)
    if isinstance(value, np.ndarray):
        return _encode_array(value, keep, where)
    if sparse.issparse(value) and value.format == "csr":
        return {
            "$csr": "matrix" if sparse.isspmatrix(value) else "array",
            "shape": list(value.shape),
            **{part: encode(getattr(value, part), keep, f"{where}.{part}") for part in ("data", "indices", "indptr")},
        }
    raise ModelFileError(
        f"{where} is of type {_type_name(value)}, which a model file cannot hold. "
        "It holds str, int, float, bool, None, lists, dicts, NumPy arrays and CSR matrices."
    )


def decode(value: Json, fetch: Callable[[int], NDArray[Any]]) -> Any:
    """Invert `encode`; `fetch` returns the array that was kept under a number.

    JSON that `encode` did not make is answered with a ValueError, a TypeError or a KeyError.
    """
    if isinstance(value, list):
        return [decode(item, fetch) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$array": number}:
            return fetch(number)
        case {"$float": word}:
            return float(word)
        case {"$dict": inner}:
            return {key: decode(item, fetch) for key, item in inner.items()}
        case {"$strings": words, "shape": shape}:
            return _decode_strings(words, shape)
        case {"$csr": kind, **parts}:
            return _decode_csr(kind, {name: decode(part, fetch) for name, part in parts.items()})
    if unknown := sorted(key for key in value if key.startswith("$")):
        raise ValueError(f"unknown placeholder {unknown[0]!r}")
    return {key: decode(item, fetch) for key, item in value.items()}


def _encode_dict(value: dict[Any, Any], keep: Callable[[NDArray[Any]], int], where: str) -> Json:
    for key in value:
        if not isinstance(key, str):
            raise ModelFileError(
                f"{where} has the key {key!r} of type {_type_name(key)}; the keys of a record must be str. "
                "Store a dict with other keys as a list of its keys and a list of its values."
            )
    encoded = {str(key): encode(value[key], keep, f"{where}[{key!r}]") for key in sorted(value)}
    return {"$dict": encoded} if any(key.startswith("$") for key in encoded) else encoded


def _encode_array(value: NDArray[Any], keep: Callable[[NDArray[Any]], int], where: str) -> Json:
    if value.dtype.kind in PLAIN_KINDS:
        return {"$array": keep(value)}
    if value.dtype.kind != "O":
        raise ModelFileError(
            f"{where} is an array of dtype {value.dtype}, which a model file cannot hold. "
            "It holds arrays of numbers, bool and strings."
        )
    words = value.ravel().tolist()
    for position, word in enumerate(words):
        if not isinstance(word, str):
            raise ModelFileError(
                f"{where} is an array of objects with a {_type_name(word)} at position {position}; "
                "only str can be stored in such an array. Convert it to numbers or to strings first."
            )
    return {"$strings": words, "shape": list(value.shape)}


def _decode_strings(words: list[str], shape: list[int]) -> NDArray[Any]:
    if not all(isinstance(word, str) for word in words):
        raise ValueError("an array of strings holds something else")
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array.reshape(shape)


def _decode_csr(kind: str, parts: dict[str, Any]) -> Any:
    make = {"matrix": sparse.csr_matrix, "array": sparse.csr_array}[kind]
    matrix = make((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    matrix.check_format(full_check=True)  # compiled loops trust the columns, so a file must not lie about them
    return matrix


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
