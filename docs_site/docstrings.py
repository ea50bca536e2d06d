"""Docstrings are written for the terminal; this makes Markdown of them that looks the same.

- Sections of NumPy's style become lists of terms, several names with one meaning together as they were written; so do
  names with their meanings below them that stand without a title.
- Columns of words, such as the names of solvers, become a block of their own, as they stand.
- What a section says without a name or a type, such as "Returns: the axes", is a paragraph.
- Lines after >>> become a block of code; a line of output that a doctest writes as <BLANKLINE> is empty.
- The signs < and * stay what they are; Markdown would take them for its own.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

_NAMED = {"Parameters", "Attributes"}
_TYPED = {"Returns", "Raises", "Yields", "Warns"}
_COLUMNS = re.compile(r"\S {2,}\S")
_UNTITLED = re.compile(r"[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*\n {4}\S")
_UNDERLINED = re.compile(r"(?P<title>[A-Z][a-z ]+)\n-{3,}\n?")


class PlainDocstrings(griffe.Extension):
    """Changes each docstring as it is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """A docstring, paragraph by paragraph, as Markdown."""
    section = ""
    paragraphs = []
    for paragraph in re.split(r"\n{2,}", docstring):
        title = _UNDERLINED.match(paragraph)
        if title is not None:
            section = title["title"]
            paragraphs.append(f"**{section}**")
            paragraph = paragraph[title.end() :]
        if paragraph.startswith(">>>"):
            section = ""  # examples end a list
        if section in _NAMED | _TYPED:
            paragraphs.append(_terms(paragraph, section))
        elif _UNTITLED.match(paragraph):
            paragraphs.append(_terms(paragraph, "Parameters"))
        else:
            paragraphs.append(_paragraph(paragraph))
    return "\n\n".join(paragraphs)


def _terms(text: str, section: str) -> str:
    """Terms at the margin, each with its meaning below it; or a further paragraph of the meaning of the last one."""
    pieces = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    terms = []
    for piece in filter(None, pieces):
        term, _, meaning = ("", "", piece) if piece.startswith(" ") else piece.partition("\n")
        words = _paragraph(textwrap.dedent(meaning).rstrip("\n"))
        if term and not words:
            terms.append(_paragraph(term))
        elif term:
            terms.append(f"{_term(term, section)}\n:   {textwrap.indent(words, '    ').lstrip()}")
        else:
            terms.append(textwrap.indent(words, "    " + " " * _excess(meaning)))
    return "\n\n".join(terms)


def _excess(meaning: str) -> int:
    """How far a paragraph is indented beyond the meaning it belongs to: a block is, by four."""
    lines = [line for line in meaning.splitlines() if line.strip()]
    return min((len(line) - len(line.lstrip()) for line in lines), default=4) - 4


def _term(term: str, section: str) -> str:
    names, _, kind = term.partition(" : ")
    written = re.split(r",\s*", names) if section in _NAMED else [names]
    return ", ".join(f"`{name}`" for name in written) + (f" : `{kind}`" if kind else "")


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if text.startswith("    "):  # a block already
        return text
    if text.startswith(">>>"):
        return f"```pycon\n{text.replace('<BLANKLINE>', '').rstrip()}\n```"
    if 2 * sum(_COLUMNS.search(line) is not None for line in lines) >= len(lines):
        return textwrap.indent(text, "    ")
    return "\n".join(map(_escaped, lines))


def _escaped(line: str) -> str:
    """A line with the signs of Markdown and HTML made plain, but for what stands between backticks."""
    pieces = re.split(r"(`[^`]*`)", line)
    plain = {"<": "&lt;", "*": "\\*"}
    return "".join(one if one[:1] == "`" else re.sub("[<*]", lambda sign: plain[sign[0]], one) for one in pieces)
