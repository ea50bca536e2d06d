"""`maxmargin inspect`: what is in a file, of data or of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli._data import DataOptions, Json
from maxmargin.cli._errors import for_command_line
from maxmargin.cli._models import is_model_file, map_of
from maxmargin.cli._options import with_options
from maxmargin.cli._results import certificate_record, print_json, print_table
from maxmargin.errors import DataError, label_in_words

_MANY_PROBLEMS = 1_000_000
_SHOWN = 10


@with_options
def inspect(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A data file or a model file.")],
    opening: DataOptions,
    json: Json = False,
) -> None:
    """Show shape, sparsity, labels and first problems of data; kind, size and certificate of a model."""
    model: Any = None
    if is_model_file(file):
        from maxmargin import load

        model = load(file)
        record = _about_model(model, file)
    else:
        with opening.source([file], skip_bad_rows=_MANY_PROBLEMS, needs_labels=False, tells_problems=False) as source:
            record = _about_data(source)
    if json:
        print_json(record)
        return
    shown = {name: value for name, value in record.items() if name not in ("labels", "certificate", "problems")}
    width = max(len(name) for name in shown)
    for name, value in shown.items():
        print(f"{name:<{width}}  {_words(value)}")
    if record.get("labels"):
        print()
        print_table(["label", "rows"], [[str(name), f"{count:,}"] for name, count in record["labels"].items()])
        if others := record["different labels"] - len(record["labels"]):
            rows = record["rows"] - sum(record["labels"].values())
            print(f"and {others:,} more label{'s' if others > 1 else ''}, of {rows:,} row{'s' if rows > 1 else ''}")
    if record.get("problems"):
        count = record["bad rows"]
        print("\n1 malformed row:" if count == 1 else f"\n{count:,} malformed rows; the first:")
        for problem in record["problems"]:
            print(f"  {problem}")
    if record.get("certificate"):
        print(f"\n{model.certificate_}")


def _about_model(model: Any, file: Path) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": type(model).__name__, "bytes": file.stat().st_size}
    if hasattr(model, "n_features_in_"):
        record["features"] = int(model.n_features_in_)
    if hasattr(model, "classes_"):
        record["classes"] = [label_in_words(one) for one in model.classes_]
    if hasattr(model, "support_"):
        record["support vectors"] = len(model.support_)
    if (carried := map_of(model)) is not None:
        record["map"] = repr(carried.feature_map)
        if carried.n_features is not None:
            record["columns before the map"] = carried.n_features
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if value != type(model)().get_params(deep=False)[name]
    }
    record["parameters"] = {name: str(value) for name, value in changed.items()}
    record["certificate"] = certificate_record(model.certificate_)
    return record


def _about_data(source: Any) -> dict[str, Any]:
    """Counts and ranges, in one pass."""
    import numpy as np
    from scipy import sparse

    entries, least, largest, is_sparse = 0, np.inf, -np.inf, False
    for block in source.scan():
        is_sparse = sparse.issparse(block.X)
        values = block.X.data if is_sparse else block.X
        entries += int(np.count_nonzero(values))
        if values.size:
            least, largest = min(least, float(values.min())), max(largest, float(values.max()))
    n_rows, n_features = source.n_rows, source.n_features
    record: dict[str, Any] = {
        "rows": n_rows,
        "features": n_features,
        "layout": "sparse" if is_sparse else "dense",
        "values that are not zero": entries,
        "share that is not zero": entries / max(1, n_rows * n_features),
        "a row, on average": entries / max(1, n_rows),
        "least value": least,
        "largest value": largest,
    }
    if not np.isfinite(least):  # nothing is stored, as where all rows are empty
        record |= {"least value": 0.0, "largest value": 0.0}
    problems = source.skipped
    record |= {"bad rows": len(problems), "problems": [for_command_line(one) for one in problems[:_SHOWN]]}
    if not source.has_labels:
        return {**record, "different labels": "none: all columns are features (name the label's with --label)"}
    try:
        classes = source.classes
    except DataError:  # too many different labels to be classes
        y = source.y
        record["labels are numbers"] = f"from {y.min():g} to {y.max():g}, mean {y.mean():g}"
    else:
        counts = np.bincount(source.codes, minlength=len(classes))
        most = np.argsort(-counts, kind="stable")[:_SHOWN]
        record["different labels"] = len(classes)
        record["labels"] = {label_in_words(classes[k]): int(counts[k]) for k in most}
    return record


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items()) or "defaults"
    if isinstance(value, list):
        return ", ".join(value[:_SHOWN]) + (f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else "")
    return str(value)
