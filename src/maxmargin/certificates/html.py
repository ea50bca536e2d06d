"""A certificate in short: one line that says how the fit ended, and for a notebook that line above a table.

Nothing but the mark before the line has a colour of its own, and that one is seen on white and on black; text and
tables have the colours of the notebook, light or dark.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from maxmargin.problems import Status

if TYPE_CHECKING:
    from maxmargin.certificates.certificate import Certificate

_COLOURS = {Status.CONVERGED: "#2f9e62", Status.BUDGET: "#d98200", Status.INTERRUPTED: "#d98200"}
_OTHERWISE = "#d6453d"


def in_one_line(certificate: Certificate) -> str:
    """How the fit ended, and by which figures."""
    gap, violation = f"{certificate.relative_gap:.1e}", f"{certificate.kkt_violation:.1e}"
    words = f"{certificate.status.name}, relative gap {gap}, KKT violation {violation}, tol {certificate.tol:g}"
    return f"{words}, {len(certificate.parts)} sub-problems" if certificate.parts else words


def as_html(certificate: Certificate, *, folded: bool) -> str:
    """The line with the table of all figures below it, which a click opens where it is folded."""
    mark = f'<span style="color:{_COLOURS.get(certificate.status, _OTHERWISE)}">&#9632;</span>'
    title = f"{mark} Certificate: {escape(in_one_line(certificate))}"
    left = 'style="text-align:left"'
    cells = "".join(
        f'<tr><th scope="row" {left}>{escape(name)}</th><td {left}>{escape(value)}</td></tr>'
        for name, value in certificate.rows()
    )
    is_open = "" if folded else " open"
    return f'<details{is_open}><summary style="cursor:pointer">{title}</summary><table>{cells}</table></details>'
