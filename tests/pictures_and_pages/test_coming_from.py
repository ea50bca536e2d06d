"""The pages for those who come from elsewhere name every flag and parameter there, and only what there is here."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import maxmargin
import maxmargin.evaluate
from maxmargin import LogisticRegression
from maxmargin.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CODE = re.compile(r"`([^`]+)`")
VERBS = typer.main.get_command(app).commands

# Every flag, from the usage of each program, and every parameter of ThunderSVM's classes.
SVM_TRAIN = ["-s", "-t", "-d", "-g", "-r", "-c", "-n", "-p", "-m", "-e", "-h", "-b", "-wi", "-v", "-q"]
FLAGS = {
    ("libsvm", "svm-train"): SVM_TRAIN,
    ("libsvm", "svm-predict"): ["-b", "-q"],
    ("libsvm", "svm-scale"): ["-l", "-u", "-y", "-s", "-r"],
    ("liblinear", "train"): ["-s", "-c", "-p", "-n", "-e", "-B", "-R", "-wi", "-v", "-C", "-q"],
    ("liblinear", "predict"): ["-b", "-q"],
    ("thundersvm", "thundersvm-train"): [*SVM_TRAIN, "-u", "-o"],
    ("thundersvm", "thundersvm-predict"): ["-b", "-m", "-o", "-u"],
}
KINDS = {
    ("libsvm", "svm-train", "-s"): range(5),
    ("libsvm", "svm-train", "-t"): range(5),
    ("liblinear", "train", "-s"): [*range(8), 11, 12, 13, 21],
    ("thundersvm", "thundersvm-train", "-s"): range(5),
    ("thundersvm", "thundersvm-train", "-t"): range(4),
}
THUNDERSVM = [
    "kernel",
    "degree",
    "gamma",
    "coef0",
    "C",
    "nu",
    "epsilon",
    "tol",
    "probability",
    "class_weight",
    "shrinking",
    "cache_size",
    "verbose",
    "max_iter",
    "n_jobs",
    "max_mem_size",
    "random_state",
    "decision_function_shape",
    "gpu_id",
]


def tables(page: str) -> list[list[list[str]]]:
    """Cells of every table of a page, heads included, rules left out."""
    found: list[list[list[str]]] = []
    inside = False
    for line in (DOCS / f"coming_from_{page}.md").read_text().splitlines():
        is_row = line.startswith("|")
        if is_row and not inside:
            found.append([])
        inside = is_row
        if is_row and not line.startswith("|---"):
            found[-1].append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def table(page: str, head: str) -> list[list[str]]:
    """Rows of the table whose first column is headed so."""
    return next(rows[1:] for rows in tables(page) if rows[0][0] == f"`{head}`")


@pytest.mark.parametrize(("page", "program"), FLAGS)
def test_every_flag_of_the_other_program_has_its_row(page, program):
    spans = [span for row in table(page, program) for span in CODE.findall(row[0])]
    assert {span.split()[0] for span in spans} == set(FLAGS[page, program])


@pytest.mark.parametrize(("page", "program", "flag"), KINDS)
def test_every_kind_of_machine_and_kernel_has_its_row(page, program, flag):
    first = [CODE.findall(row[0])[0].split() for row in table(page, program)]
    assert [int(words[1]) for words in first if words[0] == flag] == [*KINDS[page, program, flag]]


def test_every_parameter_of_the_classes_of_thundersvm_has_its_row():
    rows = next(rows[1:] for rows in tables("thundersvm") if rows[0][0].endswith("there"))
    named = {span.partition("=")[0].partition("(")[0] for row in rows for span in CODE.findall(row[0])}
    assert named == {*THUNDERSVM, "save_to_file", "load_from_file"}


def calls(page: str) -> list[ast.Call]:
    """Calls in the cells of ours: constructors, functions of `evaluate`, methods of a model."""
    spans = [span for rows in tables(page) for row in rows[1:] for cell in row[1:] for span in CODE.findall(cell)]
    written = [span for span in spans if re.fullmatch(r"[A-Za-z_.]+\(.*\)", span)]
    found = [ast.parse(span, mode="eval").body for span in written]
    assert all(isinstance(call, ast.Call) for call in found)
    return [call for call in found if isinstance(call, ast.Call)]


def meant(function: ast.expr) -> Any:
    """The object of ours that a name stands for."""
    owner, _, name = ast.unparse(function).rpartition(".")
    if owner == "model":
        return getattr(LogisticRegression, name)
    return getattr(maxmargin.evaluate if owner == "evaluate" else maxmargin, name)


@pytest.mark.parametrize("page", ["libsvm", "liblinear", "thundersvm"])
def test_every_parameter_on_our_side_of_the_map_exists_on_the_class_named(page):
    found = calls(page)
    assert len(found) > 20
    for call in found:
        if ast.unparse(call.func) == "MinMaxScaler":  # of scikit-learn
            continue
        parameters = inspect.signature(meant(call.func)).parameters
        takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        for keyword in call.keywords:
            assert keyword.arg in parameters or takes_any, ast.unparse(call)


@pytest.mark.parametrize("page", ["libsvm", "liblinear", "thundersvm"])
def test_every_constructor_of_the_map_is_accepted_by_a_fit(page):
    X, y = np.array([[0.0, 1.0], [1.0, 0.5], [0.2, 2.0], [1.5, 1.0]]), np.array([1, 2, 1, 2])
    constructors = [
        call for call in calls(page) if ast.unparse(call.func).endswith(("SVC", "SVR", "SVM", "Regression"))
    ]
    assert len(constructors) > 15
    for call in constructors:
        model = meant(call.func)(**{keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords})
        rows = X @ X.T if getattr(model, "kernel", None) == "precomputed" else X
        assert model.fit(rows, y).certificate_ is not None, ast.unparse(call)


@pytest.mark.parametrize("page", ["libsvm", "liblinear", "thundersvm"])
def test_every_option_of_the_map_is_one_of_the_verb(page):
    for rows in tables(page):
        verb = CODE.findall(rows[0][-1])
        if not (verb and verb[0].startswith("maxmargin ")):
            continue
        options = {name for parameter in VERBS[verb[0].split()[1]].params for name in parameter.opts}
        for row in rows[1:]:
            for span in CODE.findall(row[-1]):
                if span.startswith("maxmargin "):
                    assert span.split()[1] in VERBS
                else:
                    assert {word for word in span.split() if word.startswith("--")} <= options, span


def commands(page: str) -> list[list[str]]:
    """Lines of a page that call our command line, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (DOCS / f"coming_from_{page}.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("maxmargin ")]


@pytest.mark.parametrize("page", ["libsvm", "liblinear", "thundersvm"])
def test_every_command_of_ours_on_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    lines = [
        f"{1 if row[0] > row[1] else -1} " + " ".join(f"{j}:{value:.3f}" for j, value in enumerate(row, 1)) for row in X
    ]
    Path("heart_scale").write_text("\n".join(lines) + "\n")
    Path("heart_scale.t").write_text("\n".join(lines[:20]) + "\n")
    found = commands(page)
    assert len(found) >= 2
    for words in found:
        result = CliRunner().invoke(app, [*words, "--quiet"])
        assert result.exit_code == 0, result.output
