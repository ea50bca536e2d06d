"""`--map`: features expanded while the data are read, and a model file that carries the map.

    --map fourier:gamma=0.1,n_components=500        RandomFourier
    --map nystroem:gamma=0.1,n_components=300       Nystroem with a Gaussian kernel, landmarks from the training data
    --map polynomial:degree=2,coef0=1               Monomials, of degree 2 if not given
    --map kmers:k=6                                 KMers, of bytes in .npy files
    --map hashed-ngrams:ngram_range=1-2             HashedNGrams, likewise

The model keeps the parameters of its map, what the map learned, and the number of columns that it was given. So the
other commands expand the rows of any file as those of the training were. Features of numbers are made in double
precision: in single precision a row would differ in its last digits with the rows that it is multiplied with, and no
certificate would agree with the one of the training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli._wording import OptionError
from maxmargin.errors import DataError, ModelFileError, ParameterError, unknown_name

if TYPE_CHECKING:
    from maxmargin._types import Rows

_KINDS = {
    "fourier": "RandomFourier",
    "nystroem": "Nystroem",
    "polynomial": "Monomials",
    "kmers": "KMers",
    "hashed-ngrams": "HashedNGrams",
}
_LEARNED: dict[str, tuple[str, ...]] = dict.fromkeys(_KINDS, ()) | {
    "nystroem": ("components_", "component_indices_", "normalization_")
}
_OF_BYTES = ("kmers", "hashed-ngrams")
_ATTRIBUTE = "_map"

MapText = Annotated[
    str | None,
    typer.Option(
        "--map",
        help="Expand features while reading: fourier, nystroem, polynomial, kmers or hashed-ngrams with parameters, "
        "such as fourier:gamma=0.1,n_components=500. The model carries the map.",
        rich_help_panel="Machine",
    ),
]


@dataclass(frozen=True)
class CarriedMap:
    """A feature map as `--map` names it.

    `n_features` is the number of columns that it was given in training; None before that, and for rows of letters, of
    which some may be longer than any in training.
    """

    text: str
    feature_map: Any
    n_features: int | None = None

    @property
    def dtype(self) -> str:
        """Type of the values that it is to be given."""
        return "uint8" if self.name in _OF_BYTES else "float64"

    @property
    def name(self) -> str:
        """What stands before its parameters."""
        return self.text.partition(":")[0]

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X, with as many columns as the training had."""
        return self.feature_map.transform(X if self.n_features is None else with_columns(X, self.n_features))

    def fitted(self, source: Any) -> CarriedMap:
        """The map, fitted to the rows of a source where it learns something of them."""
        feature_map = self.feature_map.fit(source) if self.name == "nystroem" else self.feature_map
        return CarriedMap(self.text, feature_map, None if self.name in _OF_BYTES else source.n_features)

    def put_into(self, model: Any) -> None:
        """Let a model carry the map into its file: parameters, and arrays that were learned."""
        learned = {name: getattr(self.feature_map, name) for name in _LEARNED[self.name]}
        setattr(model, _ATTRIBUTE, {"text": self.text, "n_features": self.n_features, "learned": learned})


def map_named(text: str | None) -> CarriedMap | None:
    """The map that an option asks for, not fitted yet."""
    from maxmargin import features
    from maxmargin.kernels import Gaussian

    if text is None:
        return None
    name, _, rest = text.partition(":")
    if name not in _KINDS:
        raise unknown_name("--map", name, _KINDS)
    kind = getattr(features, _KINDS[name])
    pairs = [_pair(part, text) for part in rest.split(",") if part]
    given = dict(pairs)
    if len(given) < len(pairs):
        raise OptionError(f"--map {text}: a parameter is given twice.")
    known = [field.name for field in fields(kind) if field.init and field.name != "kernel"]
    known += ["gamma"] if name == "nystroem" else []
    for parameter in given:
        if parameter not in known:
            raise OptionError(f"--map {name} has no parameter {parameter!r}. Known: {', '.join(sorted(known))}.")
    try:
        if name == "nystroem":
            given["kernel"] = Gaussian(gamma=given.pop("gamma", 1.0))
        elif name == "polynomial":
            given.setdefault("degree", 2)
        return CarriedMap(text, kind(**given))
    except ParameterError as error:
        raise OptionError(f"--map {text}: {error}") from None


def map_of(model: Any) -> CarriedMap | None:
    """The map that a model carries."""
    record = getattr(model, _ATTRIBUTE, None)
    if record is None:
        return None
    try:
        carried = map_named(record["text"])
        assert carried is not None  # the text is there
        vars(carried.feature_map).update({name: record["learned"][name] for name in _LEARNED[carried.name]})
        return replace(carried, n_features=record["n_features"])
    except (KeyError, TypeError, ParameterError) as error:
        raise ModelFileError(f"the model carries a map that this version cannot read ({error}).") from error


def check_letters(carried: CarriedMap | None, files: Sequence[Path], form: str | None) -> None:
    """Refuse rows of numbers for a map of letters, by the format of the files."""
    from maxmargin.data.opening import format_by_ending

    if carried is None or carried.dtype != "uint8":
        return
    for file in files:
        if (form or format_by_ending(file)) not in ("numpy", "blocks"):
            raise DataError(
                f"{file}: --map {carried.name} takes letters, as a .npy of type uint8: a text or sequence a row, zeros "
                "after its end. The labels are in a file of their own (--labels)."
            )


def _pair(part: str, text: str) -> tuple[str, Any]:
    name, equals, value = part.partition("=")
    if not equals:
        raise OptionError(f"--map {text}: {part!r} is no name=value, such as n_components=500.")
    return name, _value(value)


def _value(text: str) -> Any:
    """A number, a range such as 1-2, yes or no; else the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    first, dash, last = text.partition("-")
    if dash and first.isdigit() and last.isdigit():
        return int(first), int(last)
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def with_columns(X: Rows, wanted: int) -> Rows:
    """The rows with so many columns: LIBSVM text does not say how many there are, so zeros may be missing."""
    import numpy as np
    from scipy import sparse

    if X.shape[1] == wanted:
        return X
    if X.shape[1] > wanted:
        return X[:, :wanted]
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], wanted))
    return np.pad(X, ((0, 0), (0, wanted - X.shape[1])))
