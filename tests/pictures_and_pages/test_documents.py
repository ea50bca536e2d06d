"""The documents tell the truth: their code runs and prints what they show, and their links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from docs_site.includes import LINE, with_includes

import maxmargin

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
WITH_CODE = [ROOT / "README.md", *PAGES]
DOCUMENTS = [*WITH_CODE, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]

FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
ROW_OF_TABLE = re.compile(r"^\| (?P<first>[^|]+?) \|", re.MULTILINE)

# The lecture, and what in it slips.
SLIPS = [
    ("L0", "forms (3) and (4)"),
    ("L0", "update of $w$"),
    ("L0", "K-fold"),
    ("L0 and L4", "dual"),
    ("L2", "Pegasos"),
    ("L2", "dual coordinate step"),
    ("L2", "pair"),
    ("L2", "cached loops"),
    ("L3", "weather table"),
    ("L3", "equation (11)"),
    ("L4", "logistic loss"),
    ("L4", "SMO"),
]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


class Example(NamedTuple):
    """A block of Python, the line it begins at, and what the document says it prints (None where it says nothing)."""

    code: str
    line: int
    printed: str | None


def examples(text: str) -> list[Example]:
    blocks = list(FENCE.finditer(text))
    found = []
    for block, following in zip(blocks, [*blocks, None][1:], strict=True):
        if block["language"] != "python":
            continue
        is_output = (
            following is not None
            and following["language"] == "text"
            and not text[block.end() : following.start()].strip()
        )
        line = text.count("\n", 0, block.start("body"))
        found.append(Example(block["body"], line, following["body"] if is_output else None))
    return found


def words_and_numbers(output: str) -> tuple[list[str], list[float]]:
    """Words with a sign for each number, and the numbers, without the lines that differ from run to run."""
    lines = [line for line in output.splitlines() if not re.match(r" +(passes|seconds) ", line)]
    text = re.sub(r"(?<=\[) +| +(?=\])", "", "\n".join(lines))  # NumPy pads the brackets of an array as it likes
    return NUMBER.sub("#", text).split(), [float(number) for number in NUMBER.findall(text)]


def assert_same_output(printed: str, shown: str) -> None:
    """Words must be the same; numbers may differ by rounding, and what is tiny must stay tiny."""
    words, numbers = words_and_numbers(printed)
    expected_words, expected_numbers = words_and_numbers(shown)
    assert words == expected_words
    assert numbers == pytest.approx(expected_numbers, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("path", WITH_CODE, ids=name)
def test_every_python_block_runs_and_prints_what_the_document_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "document"}
    for example in examples(path.read_text()):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile("\n" * example.line + example.code, str(path), "exec"), namespace)
        if example.printed is not None:
            assert_same_output(output.getvalue(), example.printed)


def test_the_readme_ends_its_first_example_in_a_certificate():
    first = examples((ROOT / "README.md").read_text())[0]
    assert len(first.code.splitlines()) <= 12
    assert first.printed is not None
    assert first.printed.startswith("Certificate\n")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_fence_says_its_language_and_every_output_follows_its_code(path):
    text = path.read_text()
    languages = [block["language"] for block in FENCE.finditer(text)]
    assert set(languages) <= {"python", "text", "sh"}
    assert text.count("```") == 2 * len(languages)
    assert languages.count("text") == sum(example.printed is not None for example in examples(text))


MODULES = ["maxmargin", *(module.name for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."))]


def doctests(module: str) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(importlib.import_module(module)) if test.examples]


WITH_EXAMPLES = [module for module in MODULES if doctests(module)]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_every_docstring_example_runs(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for test in doctests(module):
        report = io.StringIO()
        result = doctest.DocTestRunner().run(test, out=report.write)
        assert result.failed == 0, report.getvalue()


@pytest.mark.parametrize("estimator", ["SVC", "SVR", "LinearSVC", "LinearSVR"])
def test_every_estimator_has_an_example(estimator):
    home = getattr(maxmargin, estimator).__module__
    assert f"{home}.{estimator}" in [test.name for test in doctests(home)]


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors(path: Path) -> set[str]:
    """Names of the headings, as GitHub and MkDocs make them."""
    headings = HEADING.findall(FENCE.sub("", path.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_relative_link_leads_to_a_file_and_a_heading(path):
    for target in LINK.findall(without_code(path.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        assert page.is_file(), target
        assert page.is_relative_to(ROOT), target
        if anchor:
            assert anchor in anchors(page), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_source_and_file_a_page_names_is_there(page):
    assert not LINE.search(with_includes(page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_page_is_in_the_navigation_and_on_the_home_page(page):
    place = str(page.relative_to(ROOT / "docs"))
    assert re.search(rf": {re.escape(place)}$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    if place != "index.md":
        assert f"({place})" in (ROOT / "docs" / "index.md").read_text()


def test_the_page_of_slips_has_every_row_in_order():
    rows = ROW_OF_TABLE.findall((ROOT / "docs" / "slips.md").read_text())[1:]
    assert len(rows) == len(SLIPS)
    for row, (lecture, what) in zip(rows, SLIPS, strict=True):
        assert row.startswith(f"{lecture}, ")
        assert what in row


def table(page: str, section: str) -> list[list[str]]:
    """Cells of the table in a section, without its head."""
    lines = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0].splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")][2:]


def packages(requirements: list[str]) -> list[str]:
    return [re.split(r"[^\w-]", requirement)[0] for requirement in requirements]


def test_every_dependency_has_its_line_and_every_line_its_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    page = (ROOT / "docs" / "dependencies.md").read_text()
    assert sorted(row[0] for row in table(page, "Core")) == sorted(packages(project["dependencies"]))
    assert sorted(row[0] for row in table(page, "Development")) == sorted(packages(extras.pop("dev")))
    del extras["all"]  # it repeats the others
    rows = [(extra, package) for extra, package, _ in table(page, "Extras") if extra != "all"]
    assert sorted(rows) == sorted((extra, one) for extra, them in extras.items() for one in packages(them))


def test_the_citation_has_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} - " in (ROOT / "CHANGELOG.md").read_text()
