"""Code and files on a page: a line of its own names them, and the build puts them in its place.

    [source: maxmargin.objective.C_from_lambda]    a function, method, class or constant, found without importing it
    [file: examples/outlier.py]                    a file of Python code
    [options: train]                               arguments and options of a verb of the command line
    [table: Times](../benchmarks/results/a.md#b)   what stands below a heading of a file; also a link for those who
                                                   read the page as it is

A page can therefore not part from the code it shows. A line that names nothing ends the build.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
LINE = re.compile(r"^(?P<indent> *)\[(?P<kind>source|file|options): (?P<what>[^\]\s]+)\]$", re.MULTILINE)
TABLE = re.compile(r"^\[table: [^\]]+\]\((?:\.\./)+(?P<place>[^)#]+)#(?P<anchor>[^)]+)\)$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put what the lines of a page name into their places."""
    try:
        return with_includes(markdown)
    except LookupError as error:
        raise PluginError(f"{page.file.src_uri}: {error.args[0]}") from error


def with_includes(markdown: str) -> str:
    """Markdown with every line replaced by what it names, at the same indentation."""
    makers = {"source": source_block, "file": file_block, "options": options_table}
    markdown = TABLE.sub(lambda line: table_below(line["place"], line["anchor"]), markdown)
    return LINE.sub(lambda line: textwrap.indent(makers[line["kind"]](line["what"]), line["indent"]), markdown)


def source_block(dotted: str) -> str:
    """Source of an object, as a block of code under the name of its file."""
    path, names = _file_and_names(dotted)
    text = path.read_text()
    node = _defined(ast.parse(text).body, names)
    if node is None:
        raise LookupError(f"[source: {dotted}] names nothing: {_place(path)} does not define {'.'.join(names)}.")
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return _block(textwrap.dedent("\n".join(lines)), _place(path))


def file_block(place: str) -> str:
    """A file of Python code, as a block under its name."""
    path = _existing(place)
    return _block(path.read_text().rstrip("\n"), _place(path))


def table_below(place: str, anchor: str) -> str:
    """What stands below a heading of a Markdown file, up to the next one."""
    for section in re.split(r"^#+ ", _existing(place).read_text(), flags=re.MULTILINE)[1:]:
        heading, _, below = section.partition("\n")
        if re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") == anchor:
            return below.strip("\n")
    raise LookupError(f"[table: ...] names nothing: {place} has no heading #{anchor}.")


def options_table(verb: str) -> str:
    """What a verb of the command line does, takes and can be told."""
    import typer

    from maxmargin.cli import app

    command = typer.main.get_command(app).commands.get(verb)  # type: ignore[attr-defined]  # a group of commands
    if command is None:
        raise LookupError(f"[options: {verb}] names nothing: the command line has no such verb.")
    rows = ["| argument or option | default | meaning |", "|---|---|---|"]
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        names = [*parameter.opts, *parameter.secondary_opts] if is_option else [parameter.name.upper()]
        default = "" if parameter.default in (None, False, ()) else f"`{parameter.default}`"
        told = " ".join((parameter.help or "").split()).replace("|", "\\|")
        rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {default or _required(parameter)} | {told} |")
    return "\n".join([textwrap.dedent(command.help or "").strip(), "", *rows])


def _existing(place: str) -> Path:
    path = (ROOT / place).resolve()
    if not (path.is_relative_to(ROOT) and path.is_file()):
        raise LookupError(f"{place} names nothing: there is no such file in the repository.")
    return path


def _required(parameter: Any) -> str:
    return "required" if parameter.required else ""


def _file_and_names(dotted: str) -> tuple[Path, list[str]]:
    """File of the longest module that begins a dotted path, and the names within it."""
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        base = SOURCES.joinpath(*parts[:length])
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path, parts[length:]
    raise LookupError(f"[source: {dotted}] names nothing: no module under src begins with it.")


def _defined(body: Sequence[ast.stmt], names: list[str]) -> ast.stmt | None:
    """Statement that defines the last of the names, each within the one before it."""
    for statement in body:
        if names[0] not in _names_of(statement):
            continue
        if len(names) == 1:
            return statement
        if isinstance(statement, ast.ClassDef):
            return _defined(statement.body, names[1:])
    return None


def _names_of(statement: ast.stmt) -> list[str]:
    """Names a statement gives to a function, a class or a value."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _block(code: str, title: str) -> str:
    """Code between fences that are longer than any within it."""
    fence = "`" * max([3, *(1 + len(run) for run in re.findall(r"`{3,}", code))])
    return f'{fence}python title="{title}"\n{code}\n{fence}'
