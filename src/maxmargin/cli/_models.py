"""A model file meets data: columns that one has and the other has not, and the map that a model carries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli._data import tell
from maxmargin.errors import DataError, ModelFileError

if TYPE_CHECKING:
    from maxmargin.data import Block
    from maxmargin.features.carried import CarriedMap

ModelFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="Model file: of maxmargin, LIBSVM or LIBLINEAR.")
]


def is_model_file(path: Path) -> bool:
    """Whether the first bytes are those of a model: an archive that is no .npz, or the first word of a text model."""
    with path.open("rb") as opened:
        first = opened.read(16)
    is_archive = first[:2] == b"PK" and path.suffix != ".npz"
    return is_archive or first.split()[:1] in ([b"svm_type"], [b"solver_type"])


def load_model(path: Path, n_features: int | None = None) -> Any:
    """The model of a file; data in its place are told apart from a model that is damaged."""
    from maxmargin import load

    if path.stat().st_size and not is_model_file(path):
        raise ModelFileError(f"{path} is no model file. The model comes first, then the data: MODEL FILE...")
    return load(path, n_features=n_features)


def fitting(model: Any, path: Path, source: Any, files: Sequence[Path]) -> Any:
    """The model of the file `path`, for the rows of a source made of `files`.

    LIBSVM text and LIBSVM's model files do not say how many columns there are, so that either may have more than the
    other; the columns of any other data must be those of the model.
    """
    found = source.n_features
    known = columns_of(model, found)
    if model.certificate_ is None and known < found and hasattr(model, "support_vectors_"):
        return load_model(path, n_features=found)
    if known != found and not source.is_sparse:
        hint = (
            "Give all of them, in the same order; --n-features says how many LIBSVM text has when it is converted."
            if source.has_labels or found < known
            else "If one of them is the label, name it with --label."
        )
        raise DataError(f"{files[0]}: found {found:,} features, but the model was trained on {known:,}. {hint}")
    if known < found:
        tell(f"{found - known:,} columns that the model has never seen are left out.")
    return model


def columns_of(model: Any, otherwise: int) -> int:
    """Columns of the rows that a model was trained on, before they were expanded by a map that it carries."""
    carried = map_of(model)
    if carried is not None:
        return otherwise if carried.n_features is None else carried.n_features
    return int(getattr(model, "n_features_in_", otherwise))


def map_of(model: Any) -> CarriedMap | None:
    """The map that a model carries; one read from a file of another library may be of a kind that has none."""
    carried: CarriedMap | None = getattr(model, "feature_map_", None)
    return carried


def blocks_for(model: Any, source: Any) -> Iterator[Block]:
    """One pass over a source, with the rows as the model takes them."""
    from maxmargin.data.arrays import with_columns

    carried = map_of(model)
    if carried is not None:
        yield from source.map(carried).scan()
        return
    wanted = columns_of(model, source.n_features)
    for block in source.scan():
        yield block._replace(X=with_columns(block.X, wanted))
