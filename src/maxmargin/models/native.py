"""The native model file: a zip archive of one JSON text and plain NumPy arrays.

    model.json          {"format": "maxmargin model", "version": 1, "library": "0.1.0",
                         "record": ..., "arrays": [{"member", "sha256", "dtype", "shape"}, ...]}
    arrays/0001.npy     the array that {"$array": 1} in the record stands for
    arrays/0002.npy     ...

Nothing in it is ever unpickled, so a file from a stranger can be wrong but cannot run code. Members are
stored uncompressed: doubles hardly shrink, and so the bytes depend on the record and not on the compressor.
A record is a dict with str keys; `placeholders.py` lists what may be in it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import zipfile
import zlib
from typing import IO, Any, TypeAlias, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from maxmargin import __version__
from maxmargin.data.replacing import replacing
from maxmargin.errors import ModelFileError
from maxmargin.models.placeholders import Json, decode, encode

Record: TypeAlias = dict[str, Any]

FORMAT = "maxmargin model"
VERSION = 1

_CONTENTS = "model.json"
_BEGIN_OF_ZIP = b"PK\x03\x04"
_ENCRYPTED = 0x1
_FOREIGN = "Give the path of a file that `model.save` wrote."
_COPY_AGAIN = "Copy the file again from where it came, or save the model again."
# What zipfile, zlib, json and numpy raise on bytes that are not theirs.
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, LookupError, RuntimeError, TypeError, ValueError)


def write_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write `record` to `path`, whole or not at all; an old file of that name is replaced at the end.

    A ModelFileError leads to a value that cannot be stored, as in ``record['params']['kernel']``.
    """
    if not isinstance(record, dict):
        raise ModelFileError(f"A record must be a dict with str keys, got {type(record).__name__}.")
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        table: list[Json] = []

        def keep(array: NDArray[Any]) -> int:
            table.append(_write_array(archive, f"arrays/{len(table) + 1:04d}.npy", array))
            return len(table)

        contents = {
            "format": FORMAT,
            "version": VERSION,
            "library": __version__,
            "record": encode(record, keep),
            "arrays": table,
        }
        archive.writestr(_member(_CONTENTS), json.dumps(contents, indent=1, allow_nan=False))


def read_record(path: str | os.PathLike[str]) -> Record:
    """Read the record that `write_record` wrote to `path`, after checking every array in it.

    A file that is cut short, changed, foreign, or from a newer maxmargin is answered with a ModelFileError.
    """
    with open(path, "rb") as file:
        try:
            begin = file.read(len(_BEGIN_OF_ZIP))
            if begin != _BEGIN_OF_ZIP:
                raise _Refused("it is not a zip archive" if begin else "it is empty", _FOREIGN)
            with zipfile.ZipFile(file) as archive:
                return _read_archive(archive)
        except _Refused as refused:
            raise _unusable(path, *refused.args) from None
        except _DAMAGE as error:
            raise _unusable(path, f"it is damaged or cut short ({error})", _COPY_AGAIN) from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # a failing disk is not a damaged file
                raise
            raise _unusable(path, "it is damaged: its table of contents points outside it", _COPY_AGAIN) from error


class _Refused(Exception):  # noqa: N818 - never leaves this file
    """What is wrong with the file being read, and what its reader can do about it: the two arguments."""


def _unusable(path: str | os.PathLike[str], why: str, remedy: str) -> ModelFileError:
    return ModelFileError(f"{os.fspath(path)} is not a usable model file: {why}. {remedy}")


class _Hashing:
    """A file to write to that keeps the sha256 of what went by."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        return self._file.write(data)


def _member(name: str) -> zipfile.ZipInfo:
    """Header of a member that says nothing about when and where it was written."""
    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.create_system = 3  # Unix, on every system
    member.external_attr = 0o644 << 16
    return member


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> Json:
    """Write one array as a member; return its row of the table."""
    with archive.open(_member(name), "w", force_zip64=True) as file:
        hashing = _Hashing(file)
        # In C order always: two arrays that are equal must not differ in the file.
        npy.write_array(hashing, np.asarray(array, order="C"), allow_pickle=False)
    return {
        "member": name,
        "sha256": hashing.sha256.hexdigest(),
        "dtype": array.dtype.str,
        "shape": list(array.shape),
    }


def _read_archive(archive: zipfile.ZipFile) -> Record:
    if _CONTENTS not in archive.namelist():
        raise _Refused(f"it is a zip archive without {_CONTENTS}, made by another program", _FOREIGN)
    with _open_member(archive, _CONTENTS) as file:
        contents = json.loads(file.read())
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise _Refused(f"its {_CONTENTS} does not say {FORMAT!r}", _FOREIGN)
    version = contents["version"]
    if version > VERSION:
        raise _Refused(
            f"it has format version {version}, written by maxmargin {contents.get('library')}, and "
            f"maxmargin {__version__} reads versions up to {VERSION}",
            "Run `pip install --upgrade maxmargin`.",
        )
    if version != VERSION:
        raise ValueError(f"its format version is {version!r}")
    table = contents["arrays"]

    def fetch(number: int) -> NDArray[Any]:
        if not 1 <= number <= len(table):
            raise ValueError(f"its record asks for array {number} of {len(table)}")
        return _read_array(archive, table[number - 1])

    record = decode(contents["record"], fetch)
    if not isinstance(record, dict):
        raise ValueError("its record is not a dict")
    return record


def _read_array(archive: zipfile.ZipFile, row: Json) -> NDArray[Any]:
    """Read one array after its bytes have been checked against its row of the table."""
    name = row["member"]
    if name not in archive.namelist():
        raise _Refused(f"{name} is missing from it", _COPY_AGAIN)
    with _open_member(archive, name) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != row["sha256"]:
        raise _Refused(f"{name} in it has been changed (its sha256 is not the one recorded)", _COPY_AGAIN)
    with _open_member(archive, name) as file:
        try:
            array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        except ValueError as error:  # what NumPy raises for anything that is no plain array
            raise _Refused(f"{name} in it is not a plain array, and nothing is unpickled ({error})", _FOREIGN) from None
    found, recorded = (array.dtype.str, list(array.shape)), (row["dtype"], row["shape"])
    if found != recorded:
        raise _Refused(f"{name} in it has dtype and shape {found}, where {recorded} is recorded", _COPY_AGAIN)
    return array


def _open_member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipExtFile:
    member = archive.getinfo(name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & _ENCRYPTED:
        raise _Refused(f"{name} in it is encrypted or compressed in a way that is not used here", _COPY_AGAIN)
    return cast(zipfile.ZipExtFile, archive.open(member))
