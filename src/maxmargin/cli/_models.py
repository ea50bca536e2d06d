"""A model file meets data: columns that one has and the other has not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli._data import tell
from maxmargin.errors import DataError

if TYPE_CHECKING:
    from maxmargin._types import Rows

ModelFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="Model file: of maxmargin, LIBSVM or LIBLINEAR.")
]


def load_for(path: Path, source: Any, files: Sequence[Path]) -> Any:
    """The model of a file, for the rows of a source made of `files`.

    LIBSVM text and LIBSVM's model files do not say how many columns there are, so that either may have more than the
    other; the columns of any other data must be those of the model.
    """
    from maxmargin import load

    model = load(path)
    found = source.n_features
    known = int(getattr(model, "n_features_in_", found))
    if model.certificate_ is None and known < found and hasattr(model, "support_vectors_"):
        return load(path, n_features=found)
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


def fitted_columns(model: Any, X: Rows) -> Rows:
    """The rows with the columns of the model: LIBSVM text does not say how many there are, so zeros may be missing."""
    import numpy as np
    from scipy import sparse

    wanted = int(getattr(model, "n_features_in_", X.shape[1]))
    if X.shape[1] == wanted:
        return X
    if X.shape[1] > wanted:
        return X[:, :wanted]
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], wanted))
    return np.pad(X, ((0, 0), (0, wanted - X.shape[1])))
