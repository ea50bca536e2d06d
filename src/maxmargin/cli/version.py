"""`maxmargin version`: what a bug report should begin with."""

from __future__ import annotations

import platform
from importlib import metadata

import typer
from rich.console import Console
from rich.table import Table

from maxmargin import __version__
from maxmargin.cli._data import Json
from maxmargin.cli._results import print_json

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "clarabel")


def version(json: Json = False) -> None:
    """Show the versions of maxmargin and of what it stands on."""
    versions = {"maxmargin": __version__, "Python": platform.python_version()}
    versions |= {package: _installed(package) for package in _PACKAGES}
    if json:
        print_json(versions)
        return
    table = Table.grid(padding=(0, 3))
    for name, number in versions.items():
        table.add_row(name, number)
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
