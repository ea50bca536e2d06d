"""What can go wrong, as one tree.

MaxMarginError
|-- ParameterError      (also ValueError)   an argument is off; the message lists what is allowed
|-- DataError           (also ValueError)   the data cannot be used as they are
|   `-- DataTypeError   (also TypeError)    ... because they are of the wrong kind
|-- NotSeparableError   (also ValueError)   no hard margin exists; carries the proof
|-- CertificateError                        a certificate does not hold for the model and the data
|-- ModelFileError      (also ValueError)   a model file is damaged, foreign or cannot be written
|-- CheckpointError     (also ValueError)   a checkpoint is damaged, or belongs to other data or settings
|-- TestSetUsedError                        the sealed test set was opened before
`-- MissingExtraError   (also ImportError)  an optional package is not installed

NotConvergedWarning     (a UserWarning)     the fit ended short of its tolerance
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin._types import Labels, Rows, Vector


class MaxMarginError(Exception):
    """Base of every error this library raises on purpose."""


class ParameterError(MaxMarginError, ValueError):
    """An argument has a value that is not allowed."""


class DataError(MaxMarginError, ValueError):
    """The data cannot be used as they are."""


class DataTypeError(DataError, TypeError):
    """The data are of a kind that cannot be used."""


class CertificateError(MaxMarginError):
    """A certificate does not hold for the model and the data."""


class ModelFileError(MaxMarginError, ValueError):
    """A model file is damaged, foreign, or cannot be written."""


class CheckpointError(MaxMarginError, ValueError):
    """A checkpoint, or the file of an experiment, is damaged or belongs to other data or settings."""


class TestSetUsedError(MaxMarginError):
    """The sealed test set was opened before."""

    __test__ = False  # the name begins with Test, but pytest has nothing to collect here


class MissingExtraError(MaxMarginError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str):
        super().__init__(f"{package} is not installed. Run `pip install 'maxmargin[{extra}]'` to get it.")


class NotConvergedWarning(UserWarning):
    """The fit ended short of its tolerance; the certificate says how far it got."""


class NotSeparableError(MaxMarginError, ValueError):
    """No hyperplane separates the classes; `multipliers` prove it.

    The proof is a vector lambda >= 0 with sum lambda_i = 1, sum lambda_i y_i = 0 (when the intercept is free)
    and sum lambda_i y_i phi(x_i) = 0. If y_i (<w, phi(x_i)> + b) >= 1 held for all rows, the sum of these
    inequalities weighted by lambda would read 0 >= 1.

    In floating point the last vector is not exactly zero; its length `margin_bound` is what the proof is worth:
    every separating hyperplane has a geometric margin of at most that, in the
    units of the data.

    Attributes
    ----------
    multipliers
        lambda, one a row of the data.
    margin_bound
        |sum lambda_i y_i phi(x_i)|.
    """

    def __init__(
        self,
        message: str,
        multipliers: Vector,
        margin_bound: float,
        proof: Callable[[Rows, Labels, Vector], bool] | None = None,
    ):
        super().__init__(message)
        self.multipliers = multipliers
        self.margin_bound = margin_bound
        self._proof = proof

    def check(self, X: Rows, y: Labels) -> bool:
        """Recompute the proof from the data alone, in double precision.

        Returns True when the multipliers contradict every separating hyperplane up to rounding.
        """
        if self._proof is None:
            raise MaxMarginError("this error came from a solver, not from a fit; it does not know how to read data.")
        return self._proof(X, y, self.multipliers)


TOO_LARGE = "values are too large: their squares are not finite. Divide the columns by their size first."
"""What is wrong with finite numbers beyond 1e154."""


def unknown_name(what: str, given: object, known: Iterable[str]) -> ParameterError:
    """Error for a name that is not in a list, with the nearest one that is."""
    names = sorted(known)
    near = difflib.get_close_matches(str(given).lower(), names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ParameterError(f"{what}={given!r} is not known.{hint} Known: {', '.join(map(repr, names))}.")


def label_in_words(label: Any) -> str:
    """A label as text files have it: 1 and not 1.0."""
    value = label.item() if hasattr(label, "item") else label
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
