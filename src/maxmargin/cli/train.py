"""`maxmargin train`: from a file to a model with its certificate, in memory or in a stream."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import _data, _machines
from maxmargin.cli._data import Opening, bytes_in_memory, in_memory, tell
from maxmargin.cli._results import certificate_record, print_json

_DEFAULT_MEMORY = "1GB"


def train(
    files: _data.Files,
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="Where to write the model.")],
    kernel: _machines.Kernel = None,
    C: _machines.Cost = "1",
    gamma: _machines.Gamma = "scale",
    degree: _machines.Degree = 3,
    coef0: _machines.Coef0 = 0.0,
    loss: _machines.Loss = None,
    regression: _machines.IsRegression = False,
    epsilon: _machines.Epsilon = 0.1,
    class_weight: _machines.ClassWeight = None,
    intercept: _machines.InterceptKind = "free",
    memory: Annotated[
        str, typer.Option("--memory", help="Bytes for rows, or for kernel values: data that are larger are streamed.")
    ] = _DEFAULT_MEMORY,
    stream: Annotated[
        str | None,
        typer.Option("--stream", help="cached-loops, selective-block or block; chosen by itself for large data."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="Directory to save the state in while streaming; a rerun goes on from it."),
    ] = None,
    tol: _machines.Tol = 1e-4,
    max_seconds: _machines.MaxSeconds = None,
    max_passes: _machines.MaxPasses = None,
    solver: Annotated[str, typer.Option("--solver", help="Algorithm by name; see the documentation.")] = "auto",
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of what is random.")] = None,
    model_format: Annotated[str, typer.Option("--model-format", help="native, libsvm or liblinear.")] = "native",
    format: _data.Format = None,  # noqa: A002 - the name of the option
    label: _data.Label = None,
    labels: _data.LabelFiles = None,
    skip_bad_rows: _data.SkipBadRows = 0,
    cache: _data.Cache = None,
    n_jobs: _data.Threads = None,
    quiet: _data.Quiet = False,
    json: _data.Json = False,
) -> None:
    """Train a machine on a file, certify it and write it.

    Without --kernel a linear machine is trained: in memory if the data fit into --memory, else from disk in blocks.
    """
    from maxmargin.errors import ParameterError

    machine = _machines.Machine(
        kernel=kernel,
        C=C,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        loss=loss,
        regression=regression,
        epsilon=epsilon,
        class_weight=class_weight,
        intercept=intercept,
        tol=tol,
        max_seconds=max_seconds,
        max_passes=max_passes,
        solver=solver,
        n_jobs=n_jobs,
        memory=memory,
        stream=stream,
        checkpoint=checkpoint,
        seed=seed,
    )
    model = machine.estimator(verbose=0 if quiet else 1)  # wrong options are told before anything is read
    if not output.parent.is_dir():
        raise ParameterError(f"there is no directory {str(output.parent)!r} to write the model into. Make it first.")
    opening = Opening(files, format, label, labels, skip_bad_rows, cache, n_jobs, quiet, _block_memory(memory))
    with opening.source() as source:
        if not quiet:
            tell(f"{source.n_rows:,} rows, {source.n_features:,} features")
        fit(model, source, memory)
        model.save(output, format=model_format)
        shape = {"rows": source.n_rows, "features": source.n_features, "skipped": len(source.skipped)}
    certificate = certificate_record(model.certificate_)
    if json:
        print_json({"model": str(output), "kind": type(model).__name__, **shape, "certificate": certificate})
    else:
        print(model.certificate_)
        print(f"\nModel: {output}")


def fit(model: Any, source: Any, memory: str) -> None:
    """Fit on arrays where the rows fit into memory, else on the source; progress goes to stderr."""
    from maxmargin.data.byte_sizes import byte_count

    streams = hasattr(model, "stream")
    asked = streams and (model.stream is not None or model.checkpoint is not None)
    too_large = bytes_in_memory(source) > byte_count("memory", memory)
    with redirect_stdout(sys.stderr):
        if asked or (streams and too_large):
            model.fit(source)
            return
        if too_large:
            tell(
                f"the rows take more than --memory {memory}; {type(model).__name__} holds them in memory all the same."
            )
        model.fit(*in_memory(source))


def _block_memory(memory: str) -> str:
    """Bytes of a block: a fraction of the whole, so that several fit."""
    from maxmargin.data.byte_sizes import byte_count

    return f"{max(1 << 20, min(64 << 20, byte_count('memory', memory) // 8))}B"
