"""The command line as a test calls it."""

from typer.testing import CliRunner

from maxmargin.cli import app

RUN = CliRunner()


def run(*words, code=0):
    """The result of a command, which must end with `code`."""
    result = RUN.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result


def refused(*words):
    """The only line on stderr of a command that does nothing else."""
    result = run(*words, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr
