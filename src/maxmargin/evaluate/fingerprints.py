"""What tells data and estimators apart, the same in every process: a hash of values, and parameters as text.

The hash is SHA-256 over the values, for every layout of rows. It is about values and their types, not about the order
in which memory holds them. Strings hash alike in a list and in an array; a dense and a sparse matrix, or single and
double precision, do not.

Different parameters should have different texts. So what prints alike is looked into: arrays and sparse matrices, also
deep in dictionaries and lists, functions, and objects that say nothing about themselves.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import partial
from reprlib import recursive_repr
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data import as_rows

_CHUNK_BYTES = 1 << 22
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NOT_ABOUT_THE_MODEL = ("n_jobs", "verbose")


def name_of(estimator: Any) -> str:
    """Its text in one line: the class and the parameters that are not the usual ones."""
    return " ".join(in_words(estimator).split())


def settings_of(estimator: Any) -> dict[str, str]:
    """Class and every parameter, also those of parts, each as text; not how many threads and lines there are."""
    parameters = estimator.get_params(deep=True)
    names = [name for name in sorted(parameters) if name.split("__")[-1] not in _NOT_ABOUT_THE_MODEL]
    return {"class": _class_of(estimator)} | {name: _setting(parameters[name]) for name in names}


@recursive_repr("itself")
def in_words(value: Any) -> str:
    """Text of a value, without the place in memory that some have in it; arrays and functions by their hash."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}, {value.dtype}, sha256 {data_hash(value)[:16]}"
    if sparse.issparse(value) or hasattr(value, "iloc"):
        return f"{type(value).__name__} of shape {value.shape}, sha256 {data_hash(value)[:16]}"
    if isinstance(value, FunctionType):
        digest = hashlib.sha256(_inside(value).encode()).hexdigest()
        return f"function {value.__module__}.{value.__qualname__}, sha256 {digest[:16]}"
    if type(value) is dict:
        return f"{{{', '.join(f'{in_words(key)}: {in_words(one)}' for key, one in value.items())}}}"
    if type(value) in (list, tuple):
        texts = ", ".join(map(in_words, value))
        return f"[{texts}]" if type(value) is list else f"({texts}{',' if len(value) == 1 else ''})"
    if isinstance(value, partial):
        return f"partial({in_words(value.func)}, {in_words(value.args)}, {in_words(value.keywords)})"
    if hasattr(value, "__dict__") and repr(value) == object.__repr__(value):
        return f"{_class_of(value)}({in_words(vars(value))})"
    with np.printoptions(threshold=sys.maxsize, precision=17, floatmode="unique"):  # arrays in it, whole
        return _ADDRESS.sub("", repr(value))


def _inside(function: FunctionType) -> str:
    """What a function does, as text: its code, its defaults and what it has taken along from around it."""
    taken = [in_words(cell.cell_contents) for cell in function.__closure__ or ()]
    return repr((_code(function.__code__), in_words(function.__defaults__), taken))


def _code(code: CodeType) -> str:
    constants = [_code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return repr((code.co_code, code.co_names, constants))


def _setting(value: Any) -> str:
    """Text of a parameter; of a part its class alone, because its own parameters are settings, too."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _class_of(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_setting, value))}]"
    return in_words(value)


def _class_of(estimator: Any) -> str:
    return f"{type(estimator).__module__}.{type(estimator).__qualname__}"


def data_hash(*parts: Any) -> str:
    """Hash of rows, labels, weights and the like, in this order; None is a part, too."""
    digest = hashlib.sha256()
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, part: Any) -> None:
    if part is None:
        digest.update(b"none;")
    elif sparse.issparse(part):
        rows = as_rows(part)
        digest.update(f"sparse {rows.shape};".encode())
        for array, kind in ((rows.indptr, np.int64), (rows.indices, np.int64), (rows.data, rows.data.dtype)):
            _feed_array(digest, array, np.dtype(kind))
    elif hasattr(part, "iloc") and hasattr(part, "columns"):  # a table: columns may be of different kinds
        digest.update(f"table {part.shape};".encode())
        _feed_array(digest, np.asarray(list(part.columns), dtype=object))
        for k in range(part.shape[1]):
            _feed_array(digest, part.iloc[:, k].to_numpy())
    else:
        _feed_array(digest, np.asarray(part))


def _feed_array(digest: hashlib._Hash, array: np.ndarray[Any, Any], kind: np.dtype[Any] | None = None) -> None:
    """Feed the values, as another type where that is asked for; a part at a time, so that nothing is copied whole."""
    if array.dtype.kind in "OUS":
        digest.update(f"objects {array.shape};".encode())
        for value in array.ravel().tolist():
            digest.update(f"{value!r};".encode(errors="surrogatepass"))
        return
    kind = (array.dtype if kind is None else kind).newbyteorder("<")
    digest.update(f"{kind.str} {array.shape};".encode())
    rows = np.atleast_1d(array)
    at_once = max(1, _CHUNK_BYTES * len(rows) // max(1, rows.size * kind.itemsize))
    for first in range(0, len(rows), at_once):
        digest.update(np.ascontiguousarray(rows[first : first + at_once], dtype=kind).tobytes())
