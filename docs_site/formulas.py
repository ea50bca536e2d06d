r"""Formulas as MathML, which browsers draw by themselves: the reader's browser fetches no program for it.

`pymdownx.arithmatex` leaves a formula as TeX between \( and \) or \[ and \]; this puts MathML in its place. A formula
that cannot be converted ends the build.
"""

from __future__ import annotations

import html
import re
from typing import Any

from math_core import LatexError, LatexToMathML
from mkdocs.exceptions import PluginError

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<bracket>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>(?P<sign>[,.;:?!)]*)',
    re.DOTALL,
)
# A large bracket with an exponent: browsers draw it small unless it stands in a row of its own.
LARGE_WITH_EXPONENT = re.compile(r"(?P<opening><m(?:sup|sub|subsup)>)(?P<bracket><mo [^>]*minsize=[^>]*>[^<]*</mo>)")
# A line over or below: the sign that is meant to join a letter is drawn beside it, these two are not.
LINES = {"\u0332</mo></mover>": "\u203e</mo></mover>", "\u0332</mo></munder>": "_</mo></munder>"}
_CONVERTER = LatexToMathML(fancy_error=False)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Put MathML into the place of every formula of a page."""
    try:
        return with_mathml(html)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error


def with_mathml(page: str) -> str:
    """HTML of a page with its formulas in MathML."""
    return FORMULA.sub(_as_mathml, page)


def _as_mathml(formula: re.Match[str]) -> str:
    tex = html.unescape(formula["tex"]).strip()
    displayed = formula["bracket"] == "["
    try:
        mathml = _CONVERTER.convert_with_local_state(tex, displaystyle=displayed)
    except LatexError as error:
        raise ValueError(f"the formula {tex!r} cannot be shown: {error}") from error
    mathml = _as_browsers_like_it(mathml)
    if displayed:
        return f'<div class="formula">{mathml}</div>{formula["sign"]}'
    return f'<span class="unbroken">{mathml}{formula["sign"]}</span>' if formula["sign"] else mathml


def _as_browsers_like_it(mathml: str) -> str:
    for line, drawn in LINES.items():
        mathml = mathml.replace(line, drawn)
    return LARGE_WITH_EXPONENT.sub(r"\g<opening><mrow>\g<bracket></mrow>", mathml)
