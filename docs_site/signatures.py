"""Signatures in the reference hold public names only.

A field whose name begins with an underscore is left out. A default that is a private constant is shown as its value,
`size: int = 2048` in place of `size: int = _SIZE`. The extension `dataclasses` has to come first: it makes the
signatures of records.
"""

from __future__ import annotations

from typing import Any

import griffe


class PublicSignatures(griffe.Extension):
    """Changes the signatures of a package when it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Change the signatures of all functions and methods."""
        _change(pkg)


def _change(place: griffe.Object) -> None:
    for member in place.members.values():
        if isinstance(member, griffe.Function):
            _change_signature(member)
        elif isinstance(member, (griffe.Module, griffe.Class)):
            _change(member)


def _change_signature(function: griffe.Function) -> None:
    for parameter in list(function.parameters):
        if parameter.name.startswith("_"):
            del function.parameters[parameter.name]
        elif isinstance(parameter.default, griffe.ExprName) and parameter.default.name.startswith("_"):
            constant = function.module.members.get(parameter.default.name)
            if isinstance(constant, griffe.Attribute) and constant.value is not None:
                parameter.default = constant.value
