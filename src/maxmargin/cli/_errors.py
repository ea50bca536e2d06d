"""How the command line ends when something goes wrong.

exit code 2     an error the user can mend, in one line on stderr; with --debug the traceback
exit code 130   Ctrl-C, quietly
exit code 1     a defect of maxmargin: Python's own traceback, worth a bug report
"""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from maxmargin.cli._wording import OptionError, for_command_line
from maxmargin.errors import MaxMarginError

_TYPED = "maxmargin.typed"


class ReadableErrors(TyperGroup):
    """The group of all commands; it turns what they raise into a line and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the words of the command apart; they are kept for messages that repeat them."""
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that `ctx` asks for."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise  # the reader has gone away, as in `maxmargin version | true`; nobody is left to tell
        except (MaxMarginError, MemoryError, OSError) as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            else:
                words = _one_line(error)
                if not isinstance(error, OptionError):
                    words = for_command_line(words, ctx.meta[_TYPED])
                print(f"error: {words}", file=sys.stderr)
            raise typer.Exit(2) from None


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning in one line: where in the code it was raised helps nobody at a terminal."""
    print(f"warning: {for_command_line(' '.join(str(message).split()))}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {' '.join(str(error).split()) or 'an array could not be made'}"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__
