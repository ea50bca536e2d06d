"""How the command line ends when something goes wrong, and the words in which it says so.

exit code 2     an error the user can mend, in one line on stderr; with --debug the traceback
exit code 130   Ctrl-C, quietly
exit code 1     a defect of maxmargin: Python's own traceback, worth a bug report

The library names parameters in four ways, and each is put into the words of options:

    n_features=5, label='y'      --n-features 5, --label y          also --kernel='x', which is no parameter
    ... with format=             ... with --format
    max_seconds must be ...      --max-seconds must be ...          names that are no words of English
    C must be ...                --C must be ...                    other names, where a sentence begins with them

What stands in quotes is data, and stays as it is; so do the words that the user typed.
"""

from __future__ import annotations

import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from maxmargin.errors import MaxMarginError, ParameterError

_TYPED = "maxmargin.typed"
_ALIKE = (
    "C",
    "cache",
    "checkpoint",
    "class_weight",
    "coef0",
    "degree",
    "epsilon",
    "format",
    "gamma",
    "intercept",
    "kernel",
    "label",
    "labels",
    "max_seconds",
    "memory",
    "n_features",
    "n_jobs",
    "skip_bad_rows",
    "solver",
    "stream",
    "tol",
)
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _ALIKE} | {
    "max_iter": "--max-passes",
    "random_state": "--seed",
}
_MODEL_FORMATS = ("native", "liblinear")

_NAMES = "|".join(sorted(_OPTIONS, key=len, reverse=True))
_SNAKES = "|".join(name for name in _OPTIONS if "_" in name)
_QUOTED = r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\""
_PART = re.compile(
    rf"(?<![\w./-])(?P<given>{_NAMES})=(?P<value>{_QUOTED}|[^\s,;)=]*?(?=[.,;:)]*(?:\s|$)))"
    rf"|(?<!\S)(?P<option>--[\w-]+)=(?P<word>{_QUOTED})"
    rf"|(?<![\w./-])(?P<snake>{_SNAKES})(?![\w-]|[./]\w)"
    rf"|(?:^|(?<=: ))(?P<first>{_NAMES})(?= must be )"
    rf"|{_QUOTED}"
)
_OTHERWISE = {  # what a command does by itself, or has no option for
    "Where all rows fit in memory, `source.head(source.n_rows)` gives arrays, which have no such limit.": (
        "Without --stream and --checkpoint the rows are trained on in memory, where there is no such limit."
    ),
    '; dtype="float64" holds more': "",
    "dtype='uint8' takes arrays of bytes only. Leave it out.": "letters are bytes: a .npy of type uint8.",
}


class OptionError(ParameterError):
    """An error whose message is in the words of the command line already."""


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


def _show_warning(message: Warning | str, *where: Any, **also: Any) -> None:
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


def for_command_line(message: str, typed: Sequence[str] = ()) -> str:
    """The message with options in place of parameters; `typed` are the words of the command, which it may repeat."""
    kept = [word for word in typed if "=" in word and not word.startswith("-")]
    for number, word in enumerate(kept):
        message = message.replace(word, f"\0{number}\0")
    for theirs, ours in _OTHERWISE.items():
        message = message.replace(theirs, ours)
    message = _PART.sub(_in_options, message)
    for number, word in enumerate(kept):
        message = message.replace(f"\0{number}\0", word)
    return message


def _in_options(found: re.Match[str]) -> str:
    if found["option"]:
        return _with_value(found["option"], found["word"])
    name = found["given"] or found["snake"] or found["first"]
    if name is None:  # data in quotes
        return found[0]
    value = found["value"] or ""
    is_about_model = name == "format" and value.strip("'") in _MODEL_FORMATS
    return _with_value("--model-format" if is_about_model else _OPTIONS[name], value)


def _with_value(option: str, value: str) -> str:
    """An option and its value as they are typed: in quotes where a space is in it."""
    bare = value.strip("'\"")
    return f"{option} {value if ' ' in bare else bare}".rstrip()
