"""`maxmargin train`: from a file to a model with its certificate, in memory or in a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli._data import DataOptions, Files, Json, SkipBadRows, in_memory, tell
from maxmargin.cli._machines import Gamma, MachineOptions, SearchOptions, machine_option, number, width
from maxmargin.cli._maps import MapText, check_letters, map_named, value_type
from maxmargin.cli._options import with_options
from maxmargin.cli._results import certificate_record, check_output, print_json
from maxmargin.errors import ParameterError


@with_options
def train(
    *,
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="Where to write the model.")],
    opening: DataOptions,
    C: Annotated[str, machine_option("--C", "Cost of errors; 'inf' is a hard margin.")] = "1",
    gamma: Gamma = "scale",
    machine: MachineOptions,
    map: MapText = None,  # noqa: A002 - as the option is called
    search: SearchOptions,
    model_format: Annotated[str, typer.Option("--model-format", help="native, libsvm or liblinear.")] = "native",
    skip_bad_rows: SkipBadRows = 0,
    json: Json = False,
) -> None:
    """Train a machine on a file, certify it and write it.

    Without --kernel a linear machine is trained: in memory if the data fit into --memory, else from disk in blocks.
    """
    model = machine.estimator(  # wrong options are told before anything is read
        number("C", C), width(gamma), search, n_jobs=opening.n_jobs, verbose=0 if opening.quiet else 1
    )
    _check_format(model_format, machine)
    carried = map_named(map, machine, gamma)
    if carried is not None and model_format != "native":
        raise ParameterError(f"a {model_format} file has no room for the map. Leave --model-format or --map out.")
    check_letters(carried, files, opening.format)
    check_output(output, files)
    block_memory = _block_memory(search.memory)
    with _interrupts_told(search):
        dtype = value_type(carried)
        with opening.source(files, skip_bad_rows=skip_bad_rows, block_memory=block_memory, dtype=dtype) as source:
            machine.check_labels(source, files)
            expanded = source
            if carried is not None:
                carried = carried.fitted(source)
                expanded = source.map(carried)
            if not opening.quiet:
                made = "" if carried is None else f", expanded to {expanded.n_features:,}"
                tell(f"{source.n_rows:,} rows, {source.n_features:,} features{made}")
            fit(model, expanded, search)
            if carried is not None:
                model.feature_map_ = carried
            shape = {"rows": source.n_rows, "features": source.n_features, "skipped": len(source.skipped)}
        model.save(output, format=model_format)
    certificate = certificate_record(model.certificate_)
    if json:
        print_json({"model": str(output), "kind": type(model).__name__, **shape, "certificate": certificate})
    else:
        print(model.certificate_)
        print(f"\nModel: {output}")


def _check_format(name: str, machine: MachineOptions) -> None:
    """Refuse a format that does not exist, or has no such machine, before one is trained for it."""
    theirs, kinds = ("libsvm", "kernel machines") if machine.kernel is not None else ("liblinear", "linear machines")
    if name not in ("native", theirs):
        raise ParameterError(f"--model-format {name} cannot be written; {kinds} are written as native or {theirs}.")


@contextmanager
def _interrupts_told(search: SearchOptions) -> Iterator[None]:
    """Say after Ctrl-C what is left of the work."""
    try:
        yield
    except KeyboardInterrupt:
        rest = "" if search.checkpoint is None else f" The same command goes on from what is in {search.checkpoint}."
        tell(f"interrupted: no model was written.{rest}")
        raise


def fit(model: Any, source: Any, search: SearchOptions) -> None:
    """Fit on arrays where the rows fit into memory, else on the source; progress goes to stderr."""
    from maxmargin.data.byte_sizes import byte_count

    too_large = source.n_bytes > byte_count("memory", search.memory)
    with redirect_stdout(sys.stderr):
        if search.is_streamed or (too_large and _takes_sources(model, source)):
            model.fit(source)
            return
        if too_large:
            tell(
                f"the rows take more than --memory {search.memory}; "
                f"{type(model).__name__} holds them in memory all the same."
            )
        model.fit(*in_memory(source))


def _takes_sources(model: Any, source: Any) -> bool:
    """Whether a machine can be trained in a stream: all linear ones but a softmax."""
    from maxmargin import LogisticRegression

    return hasattr(model, "stream") and not (isinstance(model, LogisticRegression) and len(source.classes) > 2)


def _block_memory(memory: str) -> str:
    """Bytes of a block: a small fraction of the whole, because the first pass has several of them in hand."""
    from maxmargin.data.byte_sizes import byte_count

    return f"{max(1 << 20, min(16 << 20, byte_count('memory', memory) // 16))}B"
