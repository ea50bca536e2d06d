"""`maxmargin certify`: the certificate of a model file, recomputed from the data, trusting nothing the trainer kept."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated, Any

import typer

from maxmargin.cli._data import Files, Json, Opening, SkipBadRows, in_memory
from maxmargin.cli._models import ModelFile
from maxmargin.cli._options import with_options
from maxmargin.cli._results import certificate_record, print_json
from maxmargin.errors import DataError, ModelFileError


@with_options
def certify(
    model: ModelFile,
    files: Files,
    opening: Opening,
    require: Annotated[
        float | None, typer.Option("--require", help="Fail (exit code 3) where the relative gap is above this.")
    ] = None,
    skip_bad_rows: SkipBadRows = 0,
    json: Json = False,
) -> None:
    """Recompute the certificate of a model from its training data; an error where a number disagrees."""
    from maxmargin import load

    machine = load(model)
    if machine.certificate_ is None:
        raise ModelFileError(
            f"{model}: the {type(machine).__name__} in this file has no certificate: it solves no problem with a dual, "
            "or the file is LIBSVM's or LIBLINEAR's, which does not say what was solved."
        )
    with ExitStack() as opened:
        source = opened.enter_context(opening.source(files, skip_bad_rows=skip_bad_rows))
        known, found = int(machine.n_features_in_), source.n_features
        if found < known and source.is_sparse:  # LIBSVM text does not say how many columns of zeros stand at its end
            wider = opening.source(files, skip_bad_rows=skip_bad_rows, n_features=known, tells_problems=False)
            source = opened.enter_context(wider)
        elif found != known:
            raise DataError(
                f"{files[0]}: found {found:,} features, but the model was trained on {known:,}. "
                "Give the data that it was trained on."
            )
        seen = _verified(machine, source)
    if json:
        print_json({"model": str(model), "confirmed": True, "certificate": certificate_record(seen)})
    else:
        print(seen)
        print("\nConfirmed: every number was recomputed from the data.")
    if require is not None and not seen.relative_gap <= require:
        raise typer.Exit(3)


def _verified(machine: Any, source: Any) -> Any:
    """The certificate recomputed: in one pass of the source where the model allows it, else in memory."""
    claims = [part.claim for part in machine.certificate_.parts or (machine.certificate_,)]
    if all(claim.takes_source for claim in claims):
        return machine.certificate_.verify(source)
    return machine.certificate_.verify(*in_memory(source))
