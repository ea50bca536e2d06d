"""`maxmargin version`: what a bug report should begin with."""

from __future__ import annotations

import platform
from importlib import metadata

import typer
from rich.console import Console
from rich.table import Table

from maxmargin import __version__

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "clarabel")


def version() -> None:
    """Show the versions of maxmargin and of what it stands on."""
    table = Table.grid(padding=(0, 3))
    table.add_row("maxmargin", __version__)
    table.add_row("Python", platform.python_version())
    for package in _PACKAGES:
        table.add_row(package, _installed(package))
    Console().print(table)


def print_version(asked: bool) -> None:
    """Print one line and leave, when `--version` was given."""
    if asked:
        typer.echo(f"maxmargin {__version__}")
        raise typer.Exit


def _installed(package: str) -> str:
    """Version by the package's metadata, which does not import it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
