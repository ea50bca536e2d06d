"""Tests that scikit-learn has of its own classes, run with the classes of this library in place of theirs.

A module of their tests is loaded once more, while the module it imports from is a copy that holds our classes.
Exceptions are named in a table, each with its reason. They are run all the same and must fail, so that no entry of the
table can outlive its reason.
"""

import sys
import types
from contextlib import ExitStack
from fnmatch import fnmatchcase
from unittest.mock import patch

import pytest
import sklearn

UNKNOWN_MARK = {"@pytest.mark.thread_unsafe": "#"}  # a mark that only their configuration knows


def copy_of(module, **ours):
    """A copy of a module of theirs, in which some names are ours."""
    copy = types.ModuleType(module.__name__)
    vars(copy).update({**vars(module), **ours})
    return copy


def loaded(path, *stand_ins, edits=None):
    """The module of tests at `path`, for which `stand_ins` take the place of the modules of the same names.

    `edits` are texts to be replaced before, all of which must be there.
    """
    source = path.read_text(encoding="utf-8")
    for text, replacement in (edits or {}).items():
        assert text in source, text
        source = source.replace(text, replacement)
    module = types.ModuleType(path.stem)
    with ExitStack() as stack:
        stack.enter_context(patch.dict(sys.modules, {one.__name__: one for one in stand_ins}))
        for one in stand_ins:  # an attribute of the package is found before an entry of sys.modules
            if one.__name__.count(".") == 1:
                stack.enter_context(patch.object(sklearn, one.__name__.partition(".")[2], one))
        exec(compile(source, str(path), "exec"), vars(module))
    return module


def mark_exceptions(request, exceptions):
    """Expect the running test to fail where the table says so."""
    for pattern, reason in exceptions.items():
        if fnmatchcase(request.node.name, pattern):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def unused_exceptions(request, exceptions, least):
    """Entries of the table that no test has the name of; there must be at least so many tests."""
    names = [item.name for item in request.node.parent.collect()]
    assert len(names) > least
    return [pattern for pattern in exceptions if not any(fnmatchcase(name, pattern) for name in names)]
