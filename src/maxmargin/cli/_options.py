"""Options that several commands share, kept in records.

A command takes such a record as one parameter. What the command line shows instead is an option for each field of the
record, under the name and the default that the field has, in the panel of the record. A field says its help:

    max_seconds: Annotated[float | None, "Stop then, with what there is."] = None      --max-seconds

or brings an option of its own, where it has a short name or stands in no panel.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, cast, get_args, get_type_hints

import typer


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its records in place of the records, for the command line to look at."""
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    records = {name: hints[name] for name in parameters if is_dataclass(hints[name])}

    def shown() -> Iterator[inspect.Parameter]:
        for name, parameter in parameters.items():
            if name in records:
                yield from _as_parameters(records[name])
            else:
                yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])

    @wraps(command)
    def run(**given: Any) -> None:
        for name, record in records.items():
            given[name] = record(**{field.name: given.pop(field.name) for field in fields(record)})
        command(**given)

    signature = inspect.Signature(list(shown()))
    run.__signature__ = signature  # type: ignore[attr-defined] # a function may have one, though its type has none
    run.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return run


def _as_parameters(record: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        kind, said = get_args(hints[field.name])
        if isinstance(said, str):
            said = typer.Option(f"--{field.name.replace('_', '-')}", help=said, rich_help_panel=record.panel)
        annotation = cast(Any, Annotated)[kind, said]
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation
        )
