"""The command line: one file a verb.

Numerical packages are imported inside the commands, so that `maxmargin --help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import certify, convert, demo, evaluate, inspect, path, predict, train, version
from maxmargin.cli._errors import ReadableErrors

app = typer.Typer(
    name="maxmargin",
    cls=ReadableErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of an error instead of one line.")
    ] = False,
    show_version: Annotated[
        bool, typer.Option("--version", callback=version.print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Large-margin learning that proves its answers."""


for verb in (train, predict, certify, convert, inspect, evaluate, path, demo, version):
    app.command()(getattr(verb, verb.__name__.rpartition(".")[2]))  # the function that a file is named after


def main() -> None:
    """Run the command line; the entry point of the installed `maxmargin`."""
    app(prog_name="maxmargin")
