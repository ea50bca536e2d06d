"""`maxmargin certify`: the certificate of a model file, recomputed from the data, trusting nothing the trainer kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli._data import DataOptions, Files, Json, SkipBadRows, in_memory
from maxmargin.cli._maps import check_letters, value_type
from maxmargin.cli._models import ModelFile, columns_of, load_model, map_of
from maxmargin.cli._options import with_options
from maxmargin.cli._results import certificate_record, print_json
from maxmargin.errors import CertificateError, DataError, ModelFileError, label_in_words

_SHOWN = 5
_TRAINED_ON = "Give the data that it was trained on: all rows, with their labels, in the same order."


@with_options
def certify(
    model: ModelFile,
    files: Files,
    opening: DataOptions,
    require: Annotated[
        float | None, typer.Option("--require", help="Fail (exit code 3) where the relative gap is above this.")
    ] = None,
    skip_bad_rows: SkipBadRows = 0,
    json: Json = False,
) -> None:
    """Recompute the certificate of a model from its training data; an error where a number disagrees."""
    machine = load_model(model)
    if machine.certificate_ is None:
        raise ModelFileError(f"{model}: {_why_not(machine)}")
    carried = map_of(machine)
    check_letters(carried, files, opening.format, of_model=True)
    with ExitStack() as opened:
        reading: dict[str, Any] = {"skip_bad_rows": skip_bad_rows, "dtype": value_type(carried)}
        source = opened.enter_context(opening.source(files, **reading))
        known, found = columns_of(machine, source.n_features), source.n_features
        if found < known and source.is_sparse:  # LIBSVM text does not say how many columns of zeros stand at its end
            wider = opening.source(files, **reading, n_features=known, tells_problems=False)
            source = opened.enter_context(wider)
        elif found != known:
            raise DataError(
                f"{files[0]}: found {found:,} features, but the model was trained on {known:,}. {_TRAINED_ON}"
            )
        seen = _verified(machine, source, files)
    if json:
        print_json({"model": str(model), "confirmed": True, "certificate": certificate_record(seen)})
    else:
        print(seen)
        print("\nConfirmed: every number was recomputed from the data.")
    if require is not None and not seen.relative_gap <= require:
        raise typer.Exit(3)


def _why_not(machine: Any) -> str:
    """Why a model has nothing to confirm."""
    if getattr(machine, "_makes_no_claim", False):
        return (
            "this is a model file of LIBSVM or LIBLINEAR, which has no certificate: it does not say which problem was "
            "solved. Train the model with maxmargin to get one."
        )
    return f"a {type(machine).__name__} has no certificate: it is not the answer to an optimisation problem."


def _verified(machine: Any, source: Any, files: Sequence[Path]) -> Any:
    """The certificate recomputed: in one pass of the source where the model allows it, else in memory."""
    claims = [part.claim for part in machine.certificate_.parts or (machine.certificate_,)]
    known, found = claims[0].n_rows, source.n_rows
    if found != known:
        raise DataError(f"{files[0]}: found {found:,} rows, but the model was trained on {known:,}. {_TRAINED_ON}")
    _check_labels(machine, source, claims[0].specification, files)
    carried = map_of(machine)
    source = source if carried is None else source.map(carried)
    try:
        if all(claim.takes_source for claim in claims):
            return machine.certificate_.verify(source)
        return machine.certificate_.verify(*in_memory(source))
    except CertificateError as error:
        raise CertificateError(f"not confirmed by {files[0]}: {error}") from None


def _check_labels(machine: Any, source: Any, specification: Any, files: Sequence[Path]) -> None:
    """Refuse labels that cannot be those the model was trained on."""
    import numpy as np

    from maxmargin.problems import Regression

    try:
        found = source.classes
    except DataError:  # too many different labels to be classes: they are numbers
        found = source.block(0).y
    if isinstance(specification.task, Regression) and found.dtype.kind not in "fiub":
        raise DataError(
            f"{files[0]}: the labels are words, such as {str(found[0])!r}, but the model predicts numbers. Name the "
            "column of the numbers with --label."
        )
    if not hasattr(machine, "classes_"):
        return
    known = machine.classes_.tolist()
    silent = [label for label, factor in specification.class_weight if factor == 0.0]
    missing = [label for label in known if label not in found.tolist()]
    others = [label for label in found.tolist() if label not in known and label not in silent]
    if missing or (others and bool(np.all(source.weight > 0.0))):  # rows without weight may have any label
        raise DataError(
            f"{files[0]}: the labels are {_listed(found.tolist())}, but the model was trained on the classes "
            f"{_listed(known)}. {_TRAINED_ON}"
        )


def _listed(labels: Sequence[Any]) -> str:
    more = f" and {len(labels) - _SHOWN:,} more" if len(labels) > _SHOWN else ""
    return ", ".join(label_in_words(label) for label in labels[:_SHOWN]) + more
