"""A model file meets data: columns that one has and the other has not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from maxmargin._types import Rows

ModelFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="Model file: of maxmargin, LIBSVM or LIBLINEAR.")
]


def load_for(path: Path, n_features: int) -> Any:
    """The model of a file. One that names only the features it needs is told how many there are."""
    from maxmargin import load

    model = load(path)
    known = int(getattr(model, "n_features_in_", n_features))
    if model.certificate_ is None and known < n_features:
        return load(path, n_features=n_features)
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


def unknown_columns(model: Any, n_features: int) -> int:
    """How many columns of the data the model has never seen."""
    return max(0, n_features - int(getattr(model, "n_features_in_", n_features)))
