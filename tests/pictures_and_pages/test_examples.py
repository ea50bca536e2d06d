"""The gallery works: every example draws its picture, and the documentation shows it."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot
from PIL import Image

mpl.use("Agg")

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "examples" / "all_pictures.py"
EXAMPLES = sorted(path for path in RUNNER.parent.glob("*.py") if path != RUNNER)
TOPICS = sorted(path for path in (ROOT / "docs" / "theory").glob("*.md") if path.stem != "index")
LARGEST = 60_000  # bytes of a picture in the documentation
ENDING = """
if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
"""

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@each_example
def test_every_example_draws_one_picture_and_writes_nothing_else(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(RUNNER), str(tmp_path), example.stem])
    runpy.run_path(str(RUNNER), run_name="__main__")
    assert [path.name for path in tmp_path.iterdir()] == [f"{example.stem}.png"]
    picture = tmp_path / f"{example.stem}.png"
    assert picture.stat().st_size < LARGEST
    assert len(Image.open(picture).convert("RGB").getcolors(maxcolors=1000)) > 10  # it is not blank


def test_without_a_path_the_picture_is_shown(monkeypatch):
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.get_fignums()))
    monkeypatch.setattr(sys, "argv", ["loss_comparison.py"])
    runpy.run_path(str(ROOT / "examples" / "loss_comparison.py"), run_name="__main__")
    assert shown == [[1]]


@each_example
def test_every_example_says_how_to_run_it_and_ends_the_same_way(example):
    text = example.read_text()
    assert text.endswith(ENDING)
    assert f"    python {example.name} picture.png" in text


@each_example
def test_every_example_is_in_the_documentation_with_its_picture(example):
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert f"`examples/{example.name}`" in page
    assert f"(pictures/{example.stem}.png)" in page
    assert (ROOT / "docs" / "pictures" / f"{example.stem}.png").stat().st_size < LARGEST


def test_every_picture_of_the_documentation_comes_from_an_example():
    pictures = {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}
    assert pictures == {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("page", TOPICS, ids=lambda path: path.stem)
def test_every_topic_shows_code_of_the_library_and_a_picture_with_its_script(page):
    text = page.read_text()
    pictures = re.findall(r"^!\[.+\]\(\.\./pictures/(\w+)\.png\)$", text, re.MULTILINE)
    assert pictures
    assert re.search(r"^\[source: maxmargin\..+\]$", text, re.MULTILINE)
    for name in pictures:
        assert f"`examples/{name}.py`" in text


def test_every_topic_is_in_the_table_of_the_topics():
    table = (ROOT / "docs" / "theory" / "index.md").read_text()
    assert [page.name for page in TOPICS if not re.search(rf"\({page.name}[)#]", table)] == []
