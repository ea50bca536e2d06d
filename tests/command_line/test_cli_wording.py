"""The command line says options where the library says parameters, and leaves data and file names alone."""

from __future__ import annotations

import inspect
import re

import pytest
from typer.testing import CliRunner

import maxmargin
from maxmargin.cli import app
from maxmargin.cli._errors import _OPTIONS, for_command_line

SAID = {
    "n_features=5 is less than 7.": "--n-features 5 is less than 7.",
    "Pass n_features=5.": "Pass --n-features 5.",
    "Name the format it has with format=.": "Name the format it has with --format.",
    "by label= if it is the label": "by --label if it is the label",
    "Then pass label='a b'.": "Then pass --label 'a b'.",
    "a.csv: label=-1, but there are 0 columns": "a.csv: --label -1, but there are 0 columns",
    "(max_iter=5).  Consider": "(--max-passes 5).  Consider",
    "C must be positive, got C=0.0. Small C means a wide margin; try C=1.": (
        "--C must be positive, got --C 0.0. Small C means a wide margin; try --C 1."
    ),
    "for tol=0.0001. Stopped by max_iter or max_seconds; raise it": (
        "for --tol 0.0001. Stopped by --max-passes or --max-seconds; raise it"
    ),
    "random_state must be None": "--seed must be None",
    "Use format='native', or format='liblinear' for a linear machine.": (
        "Use --model-format native, or --model-format liblinear for a linear machine."
    ),
    "format='cs' is not known.": "--format cs is not known.",
    "--kernel='gauss' is not known.": "--kernel gauss is not known.",
    'beyond float32; dtype="float64" holds more. Scale the feature.': "beyond float32. Scale the feature.",
}
LEFT_ALONE = [
    "found 'n_features=5'; an entry must read index:value.",
    "column 'label=' has 'C=1'",
    "the label of row 3 is nan, and memory is short; the format is wrong.",
    "LIBSVM's C and LIBLINEAR's C are not 'C=1'.",
    "n_features.txt, line 2: found 'x'",
    "runs/max_seconds/a.txt and skip_bad_rows-2.txt",
    "the learned model_format=3 of xC=1",
]


@pytest.mark.parametrize("message", SAID)
def test_parameters_become_options(message):
    assert for_command_line(message) == SAID[message]
    assert for_command_line(SAID[message]) == SAID[message]


@pytest.mark.parametrize("message", LEFT_ALONE)
def test_data_and_names_of_files_stay_as_they_are(message):
    assert for_command_line(message) == message


def test_words_that_were_typed_stay_as_they_are():
    message = "runs C=1.model and C=1.txt: pass n_features=3."
    assert for_command_line(message, ["predict", "C=1.model", "C=1.txt"]) == (
        "runs C=1.model and C=1.txt: pass --n-features 3."
    )


def test_every_option_named_instead_of_a_parameter_exists():
    listed = "".join(CliRunner().invoke(app, [verb, "--help"]).output for verb in ("train", "convert", "predict"))
    assert set(_OPTIONS.values()) <= set(re.findall(r"--[a-zA-Z][\w-]*", listed))


@pytest.mark.slow
def test_every_parameter_that_an_option_gives_is_known_by_its_name():
    """All parameters of `open` and of the machines that have an option of their own name are translated."""
    listed = CliRunner().invoke(app, ["train", "--help"]).output
    options = {word[2:].replace("-", "_") for word in re.findall(r"--[a-zA-Z][\w-]*", listed)}
    given = set(inspect.signature(maxmargin.open).parameters)
    for machine in (maxmargin.LinearSVC, maxmargin.LinearSVR, maxmargin.SVC, maxmargin.LogisticRegression):
        given |= set(inspect.signature(machine).parameters)
    assert options & given - set(_OPTIONS) == {"loss"}  # whose values have other names there, too
