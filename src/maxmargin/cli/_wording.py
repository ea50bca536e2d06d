"""What the library says, in the words of the command line: `n_features=5` is `--n-features 5` there.

A message names parameters in four ways, and each is put into the words of options:

    n_features=5, label='y'      --n-features 5, --label y          also --kernel='x', which is no parameter
    ... with format=             ... with --format
    max_seconds must be ...      --max-seconds must be ...          names that are no words of English
    C must be ...                --C must be ...                    other names, where a sentence begins with them

What stands in quotes is data, and stays as it is; so do the words that the user typed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from maxmargin.errors import ParameterError


class OptionError(ParameterError):
    """An error whose message is in the words of the command line already."""


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
