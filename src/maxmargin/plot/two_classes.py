"""What a picture of a two-class machine asks of its model and its labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import DataError

if TYPE_CHECKING:
    from maxmargin._types import Labels, Vector


def classes_of(model: Any, picture: str) -> NDArray[Any]:
    """The two classes of a fitted model, the negative one first; an error names the picture that needs them."""
    if not hasattr(model, "decision_function"):
        raise DataError(
            f"{picture} draws scores f(x) of two classes, and {type(model).__name__} has no decision_function to give "
            f"them. Trees and naive Bayes have none, and regression has no {picture}."
        )
    if not hasattr(model, "classes_"):
        raise DataError(
            f"{picture} draws a fitted classifier, and {type(model).__name__} has no classes_. "
            + ("It is fitted, but it tells no classes apart." if _is_fitted(model) else "Fit the model first.")
        )
    classes = np.asarray(model.classes_)
    if len(classes) != 2:
        raise DataError(
            f"{picture} draws two classes, and the model knows {len(classes)}. "
            "Train it on two of them, or on one against the rest."
        )
    return classes


def _is_fitted(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, has what only a fit gives: names that end in an underscore."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return any(name.endswith("_") and not name.startswith("_") for name in vars(last))


def signs_of(y: Labels, classes: NDArray[Any], n_rows: int) -> Vector:
    """-1 for the first class, +1 for the second."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"y must have one label a row of X, {n_rows}, got shape {labels.shape}.")
    if not np.isin(labels, classes).all():
        strange = labels[~np.isin(labels, classes)].tolist()[0]
        raise DataError(f"y holds the label {strange!r}, and the model knows {classes.tolist()} only.")
    return np.where(labels == classes[1], 1.0, -1.0)
