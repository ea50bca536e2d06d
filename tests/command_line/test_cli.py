"""The command line: what it prints, how it ends, and what it must not import."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from maxmargin import cli
from maxmargin.cli._errors import ReadableErrors
from maxmargin.errors import DataError, MissingExtraError

RUN = CliRunner()
PNG = b"\x89PNG\r\n\x1a\n"


def maxmargin(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the real program in a process of its own, with its output in a pipe."""
    forcing = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    return subprocess.run(
        [sys.executable, "-c", "from maxmargin.cli import main; main()", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name not in forcing},
    )


def test_version_lists_what_the_library_stands_on():
    result = RUN.invoke(cli.app, ["version"])
    assert result.exit_code == 0
    rows = dict(line.split(maxsplit=1) for line in result.stdout.strip().splitlines())
    assert list(rows) == ["maxmargin", "Python", "numpy", "scipy", "numba", "scikit-learn", "clarabel"]
    assert rows["numpy"].strip() == metadata.version("numpy")


def test_the_option_version_is_one_line():
    result = RUN.invoke(cli.app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("maxmargin ")
    assert len(result.stdout.splitlines()) == 1


def test_help_names_every_verb():
    result = RUN.invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.stdout
    assert "version" in result.stdout


@pytest.mark.parametrize("words", [["version"], ["--version"], ["--help"]], ids=lambda words: words[0])
def test_asking_for_help_or_version_imports_no_heavy_package(words):
    check = (
        "import atexit, sys\n"
        "heavy = {'matplotlib', 'numba', 'scipy', 'sklearn'}\n"
        "atexit.register(lambda: print('HEAVY', *sorted(heavy & set(sys.modules))))\n"
        "from maxmargin.cli import main\n"
        "main()\n"
    )
    result = subprocess.run([sys.executable, "-c", check, *words], capture_output=True, text=True)
    assert result.stderr == ""
    assert result.stdout.splitlines()[-1] == "HEAVY"


@pytest.mark.slow
def test_demo_certifies_two_machines_and_draws_them(tmp_path):
    result = maxmargin("demo", cwd=tmp_path)
    assert result.stderr == ""
    assert result.returncode == 0
    assert result.stdout.count("CONVERGED") == 2
    assert "Verified from the data" in result.stdout
    assert "Picture: maxmargin-demo.png" in result.stdout
    assert "\x1b" not in result.stdout
    assert (tmp_path / "maxmargin-demo.png").read_bytes().startswith(PNG)
    assert [path.name for path in tmp_path.iterdir()] == ["maxmargin-demo.png"]


@pytest.mark.slow
def test_demo_without_a_picture_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = RUN.invoke(cli.app, ["demo", "--no-picture"])
    assert result.exit_code == 0
    assert "Verified from the data" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_demo_without_matplotlib_says_how_to_get_it_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = RUN.invoke(cli.app, ["demo", "--output", str(tmp_path / "picture.png")])
    assert result.exit_code == 0
    assert "pip install 'maxmargin[plot]'" in result.stdout
    assert "Try next" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_demo_into_a_missing_directory_is_told_before_anything_is_trained(tmp_path):
    missing = tmp_path / "nowhere"
    result = RUN.invoke(cli.app, ["demo", "--output", str(missing / "picture.png")])
    assert result.exit_code == 2
    assert result.stdout == ""
    expected = f"error: there is no directory {str(missing)!r} to write 'picture.png' into. Make it first.\n"
    assert result.stderr == expected


def failing_app(error: BaseException) -> typer.Typer:
    """The command line with one more verb, which raises `error`."""
    app = typer.Typer(cls=ReadableErrors, pretty_exceptions_enable=False)
    app.callback()(cli.options)

    @app.command()
    def fail() -> None:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (DataError("y has one class;\n  two are needed."), "error: y has one class; two are needed."),
        (MissingExtraError("pyarrow", "files"), "error: pyarrow is not installed. Run `pip install"),
        (
            FileNotFoundError(2, "No such file or directory", "x.model"),
            "error: x.model: No such file or directory",
        ),
        (PermissionError(13, "Permission denied", "x.model"), "error: x.model: Permission denied"),
        (OSError("the disk has gone"), "error: the disk has gone"),
        (OSError(), "error: OSError"),
    ],
    ids=["data", "extra", "missing", "permission", "bare", "empty"],
)
def test_an_error_the_user_can_mend_is_one_line_and_exit_code_2(error, line):
    result = RUN.invoke(failing_app(error), ["fail"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1


def test_debug_shows_the_traceback():
    result = RUN.invoke(failing_app(DataError("y has one class.")), ["--debug", "fail"])
    assert result.exit_code == 2
    assert "Traceback (most recent call last)" in result.stderr
    assert "DataError: y has one class." in result.stderr


def test_a_defect_is_not_disguised_as_an_error_of_the_user():
    result = RUN.invoke(failing_app(ZeroDivisionError("a defect")), ["fail"])
    assert isinstance(result.exception, ZeroDivisionError)


def test_ctrl_c_ends_quietly_with_130():
    result = RUN.invoke(failing_app(KeyboardInterrupt()), ["fail"])
    assert result.exit_code == 130
    assert result.output == ""


def test_an_unknown_verb_is_exit_code_2():
    result = RUN.invoke(cli.app, ["dmeo"])
    assert result.exit_code == 2
    assert "dmeo" in result.stderr
