"""The site: it builds without a warning, shows the code as it is, draws its formulas by itself and misses no name."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from docs_site.docstrings import as_markdown
from docs_site.formulas import with_mathml
from docs_site.includes import with_includes
from docs_site.sessions import on_page_markdown

from maxmargin.cli import app
from maxmargin.solvers.registry import SOLVERS

ROOT = Path(__file__).parents[2]
REFERENCE = sorted((ROOT / "docs" / "api").glob("*.md"))
DOCUMENTED = {name for page in REFERENCE for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)}

FETCHED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(?P<src>[^\"]+)\"|<link\b(?P<link>[^>]*)>")
MODULES = ["maxmargin", *(f"maxmargin.{name}" for name in ("evaluate", "features", "kernels", "losses", "plot"))]
WHOLE_MODULES = [f"maxmargin.{name}" for name in ("errors", "laplace", "objective", "penalties")]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The built site; a warning ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def fetched(page: str) -> list[str]:
    """Addresses that a browser asks for by itself when it shows a page."""
    found = []
    for tag in FETCHED.finditer(page):
        if tag["src"]:
            found.append(tag["src"])
        elif re.search(r'rel="(?:stylesheet|icon|preload|preconnect)"', tag["link"]):
            found += re.findall(r'href="([^"]+)"', tag["link"])
    return found


def test_no_page_asks_for_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    addresses = {address for page in pages for address in fetched(page.read_text())}
    assert any(address.endswith(".css") for address in addresses)
    assert not [address for address in addresses if re.match(r"(?:https?:)?//", address)]


def test_every_formula_of_the_site_is_mathml(site):
    pages = [page.read_text() for page in site.rglob("*.html")]
    assert sum(page.count("<math") for page in pages) > 500
    assert not [page for page in pages if 'class="arithmatex"' in page]


def test_no_line_of_an_include_is_left_on_a_page(site):
    page = (site / "gallery" / "index.html").read_text()
    assert page.count('class="filename"') >= 13
    assert "[file:" not in page


def test_a_class_of_the_reference_shows_its_parameters_and_inherited_methods(site):
    page = (site / "api" / "classification" / "index.html").read_text()
    assert "<dt><code>degree</code>, <code>gamma</code>, <code>coef0</code></dt>" in page
    assert "decision_function" in page


def test_no_private_name_is_in_a_signature_of_the_reference(site):
    pages = [page.read_text() for page in (site / "api").rglob("index.html")]
    signatures = [part for page in pages for part in re.findall(r"doc-signature.*?</div>", page, re.DOTALL)]
    names = {name for part in signatures for name in re.findall(r"\w+", re.sub(r"<[^>]*>", "", part))}
    assert {"LinearSVC", "sample_weight", "seconds"} <= names
    assert not [name for name in names if name.startswith("_")]


def test_the_search_puts_pages_that_explain_before_those_that_list(site):
    entries = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    weight = {entry["location"]: entry.get("boost", 1.0) for entry in entries}
    assert weight["searching/"] > weight["theory/soft_margin/"] > weight["api/classification/"] > weight["gallery/"]


def test_every_picture_turns_dark_with_the_page(site):
    style = (site / "stylesheets" / "site.css").read_text()
    (turned,) = re.findall(r'slate"\] \.md-typeset img\[src\$="([^"]+)"\] \{\n  filter: invert', style)
    pages = [page.read_text() for page in site.rglob("index.html")]
    pictures = [src for page in pages for src in re.findall(r'<img [^>]*src="([^"]+)"', page)]
    assert len(pictures) > 40
    assert not [src for src in pictures if not src.endswith(turned)]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    found = importlib.import_module(module)
    names = {f"{module}.{name}" for name in found.__all__} - set(MODULES) - set(WHOLE_MODULES)
    assert names <= DOCUMENTED, names - DOCUMENTED
    assert {"maxmargin.open", *WHOLE_MODULES} <= DOCUMENTED


def test_every_solver_is_in_the_reference():
    assert {f"maxmargin.solvers.{file}.{name}" for name, file in SOLVERS.items()} <= DOCUMENTED


def test_every_verb_of_the_command_line_is_in_the_reference():
    shown = re.findall(r"^\[options: (\w+)\]$", (ROOT / "docs" / "api" / "command_line.md").read_text(), re.MULTILINE)
    assert shown == [command.callback.__name__ for command in app.registered_commands]


def test_the_options_of_a_verb_are_those_it_takes():
    table = with_includes("[options: train]")
    assert "| `--output`, `-o` | required | Where to write the model. |" in table
    assert "| `--C` |" in table


@pytest.mark.parametrize(
    "dotted, first, last",
    [
        ("maxmargin.objective.C_from_lambda", "def C_from_lambda(", "    return 1.0 / (lam * n)"),
        ("maxmargin.losses.margin.Hinge", "@dataclass(frozen=True)", None),
        ("maxmargin.losses.margin.Hinge.value", "def value(", None),
        ("maxmargin.solvers.registry.SOLVERS", "SOLVERS = {", "}"),
        ("maxmargin.data.source.Block.span", "@property", None),
        ("maxmargin.__getattr__", "def __getattr__(", None),
    ],
)
def test_a_source_is_the_whole_statement_with_its_decorators(dotted, first, last):
    caption, *lines, _ = with_includes(f"[source: {dotted}]").splitlines()
    assert re.fullmatch(r'```python title="src/maxmargin/\S+\.py"', caption)
    assert lines[0].startswith(first)
    assert last is None or lines[-1] == last
    assert len(ast.parse("\n".join(lines)).body) == 1


def test_an_included_file_keeps_its_text_and_the_indentation_of_its_line():
    block = with_includes("    [file: examples/outlier.py]")
    code = textwrap.dedent(block).split("\n", 1)[1].removesuffix("\n```")
    assert code == (ROOT / "examples" / "outlier.py").read_text().rstrip("\n")


def test_a_table_is_what_stands_below_its_heading():
    below = with_includes("[table: Added](../CHANGELOG.md#added)")
    assert below.startswith("- ")
    assert "\n#" not in below
    assert below in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    "line",
    [
        "[source: maxmargin.objective.D_from_lambda]",
        "[source: maxmargin.losses.margin.Hinge.price]",
        "[source: nowhere.at.all]",
        "[file: examples/absent.py]",
        "[file: ../secret.py]",
        "[options: fly]",
        "[table: Times](../benchmarks/results/absent.md#times)",
        "[table: Times](../CHANGELOG.md#absent)",
    ],
)
def test_a_line_that_names_nothing_is_refused(line):
    with pytest.raises(LookupError, match="names nothing"):
        with_includes(f"Some words.\n\n{line}\n")


@pytest.mark.parametrize("tex", [r"\unknown x", r"\frac{1", r"\begin{cases} a"])
def test_a_formula_that_cannot_be_shown_is_refused(tex):
    with pytest.raises(ValueError, match="cannot be shown"):
        with_mathml(rf'<p><span class="arithmatex">\({tex}\)</span></p>')


def test_a_formula_keeps_what_html_had_to_escape():
    shown = with_mathml(r'<span class="arithmatex">\(a &lt; b\)</span> and <div class="arithmatex">\[c\]</div>')
    assert shown.startswith("<math><mi>a</mi><mo>&lt;</mo><mi>b</mi></math> and ")
    assert '<math display="block">' in shown


def test_no_line_begins_with_the_sign_after_a_formula():
    shown = with_mathml(r'<span class="arithmatex">\(a\)</span>, <span class="arithmatex">\(b\)</span> c')
    assert shown == '<span class="unbroken"><math><mi>a</mi></math>,</span> <math><mi>b</mi></math> c'


def test_a_large_bracket_with_an_exponent_stands_in_a_row_of_its_own():
    shown = with_mathml(r'<span class="arithmatex">\(\Bigl( x \Bigr)^2\)</span>')
    assert re.search(r"<msup><mrow><mo [^>]*>\)</mo></mrow><mn>2</mn></msup>", shown)


def test_lines_over_and_below_are_signs_that_stretch():
    shown = with_mathml(r'<span class="arithmatex">\(\underline a \le \overline b\)</span>')
    assert '<mo stretchy="true">_</mo></munder>' in shown
    assert '<mo stretchy="true">\u203e</mo></mover>' in shown


def test_only_what_begins_with_a_prompt_is_a_session():
    assert on_page_markdown("```sh\n$ maxmargin version\n0.1.0\n```").startswith("```console\n")
    assert on_page_markdown("```sh\nmake docs\n```").startswith("```sh\n")


IN_A_TERMINAL = """\
Signs such as <w, x> and l*(u) stay, `a < b` too.

    minimise over w    <w, w>

Parameters
----------
tol, max_iter
    When to stop: <= tol.
solver
    By name:

    "auto"    the best
    "qp"      the reference

    or an object.

Returns
-------
dict[str, int]
    Counts.

Examples
--------
>>> 1 + 1
2"""

ON_A_PAGE = """\
Signs such as &lt;w, x> and l\\*(u) stay, `a < b` too.

    minimise over w    <w, w>

**Parameters**

`tol`, `max_iter`
:   When to stop: &lt;= tol.

`solver`
:   By name:

        "auto"    the best
        "qp"      the reference

    or an object.

**Returns**

`dict[str, int]`
:   Counts.

**Examples**

```pycon
>>> 1 + 1
2
```"""


def test_a_docstring_reads_on_a_page_as_it_does_in_a_terminal():
    assert as_markdown(IN_A_TERMINAL) == ON_A_PAGE


def test_a_section_without_a_name_or_a_type_is_a_paragraph():
    docstring = "Returns\n-------\nThe axes, with the counts of `margins`."
    assert as_markdown(docstring) == "**Returns**\n\nThe axes, with the counts of `margins`."


def test_an_empty_line_of_output_is_shown_empty():
    assert as_markdown(">>> print('a\\n\\nb')\na\n<BLANKLINE>\nb").splitlines()[-4:] == ["a", "", "b", "```"]
