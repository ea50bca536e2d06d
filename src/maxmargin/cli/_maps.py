"""`--map`: features expanded while the data are read; a model carries its map into its file.

    --map fourier:gamma=0.1,n_components=500        RandomFourier
    --map nystroem:gamma=0.1,n_components=300       Nystroem with a Gaussian kernel, landmarks from the training data
    --map polynomial:degree=2,coef0=1               Monomials, of degree 2 if not given
    --map kmers:k=6                                 KMers, of bytes in .npy files
    --map hashed-ngrams:ngram_range=1-2             HashedNGrams, likewise

Features of numbers are made in double precision: in single precision a row would differ in its last digits with the
rows that it is multiplied with, and no certificate would agree with the one of the training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli._errors import OptionError
from maxmargin.errors import DataError, ParameterError, unknown_name

if TYPE_CHECKING:
    from maxmargin.cli._machines import MachineOptions
    from maxmargin.features.carried import CarriedMap

_KINDS = {
    "fourier": "RandomFourier",
    "nystroem": "Nystroem",
    "polynomial": "Monomials",
    "kmers": "KMers",
    "hashed-ngrams": "HashedNGrams",
}
_WORDS = {"true": True, "yes": True, "false": False, "no": False, "none": None}

MapText = Annotated[
    str | None,
    typer.Option(
        "--map",
        help="Expand features: fourier, nystroem, polynomial, kmers or hashed-ngrams with parameters, such as "
        "fourier:gamma=0.1,n_components=500.",
        rich_help_panel="Machine",
    ),
]


def map_named(text: str | None, machine: MachineOptions, gamma: str | None) -> CarriedMap | None:
    """The map that an option asks for, not fitted yet; options of kernels beside it are refused."""
    from maxmargin import features
    from maxmargin.features.carried import CarriedMap
    from maxmargin.kernels import Gaussian

    if text is None:
        return None
    name, _, rest = text.partition(":")
    if name not in _KINDS:
        raise unknown_name("--map", name, _KINDS)
    if machine.kernel is not None:
        raise ParameterError("--map is for linear machines, and makes one nearly a kernel machine. Leave --kernel out.")
    beside = {"gamma": None if gamma == "scale" else gamma, "degree": machine.degree, "coef0": machine.coef0}
    for option, value in beside.items():
        if value is not None:
            example = "fourier" if option == "gamma" else "polynomial"
            raise OptionError(
                f"--{option} {value} is for kernels; that of a map is one of its own: --map {example}:{option}={value}."
            )
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
        return CarriedMap(kind(**given), dtype="uint8" if kind.takes_letters else "float64")
    except ParameterError as error:
        words = str(error).replace("a pair (shortest, longest), for example (1, 2)", "a range such as 1-2")
        raise OptionError(f"--map {text}: {words}") from None


def value_type(carried: CarriedMap | None) -> str:
    """Type of the values that data are read in, where rows are expanded by a map or by none."""
    return "float32" if carried is None else carried.dtype


def check_letters(
    carried: CarriedMap | None, files: Sequence[Path], form: str | None, *, of_model: bool = False
) -> None:
    """Refuse rows of numbers for a map of letters, which an option names or a model carries, by the files' format."""
    from maxmargin.data.formats.inputs import format_by_ending

    if carried is None or not carried.takes_letters:
        return
    for file in files:
        if (form or format_by_ending(file)) not in ("numpy", "blocks"):
            raise DataError(
                f"{file}: {'the map of the model' if of_model else f'--map {_name(carried)}'} takes letters, as a .npy "
                "of type uint8: a text or sequence a row, zeros after its end. The labels are in a file of their own "
                "(--labels)."
            )


def _name(carried: CarriedMap) -> str:
    """What stands before the parameters of a map."""
    kind = type(carried.feature_map).__name__
    return next(name for name, known in _KINDS.items() if known == kind)


def _pair(part: str, text: str) -> tuple[str, Any]:
    name, equals, value = part.partition("=")
    if not equals:
        raise OptionError(f"--map {text}: {part!r} is no name=value, such as n_components=500.")
    return name, _value(value)


def _value(text: str) -> Any:
    """A number, a range such as 1-2, true or false, yes or no; else the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    first, dash, last = text.partition("-")
    if dash and first.isdigit() and last.isdigit():
        return int(first), int(last)
    return _WORDS.get(text.lower(), text)
