"""The page about the command line shows what the commands print."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from maxmargin.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
BLOCK = re.compile(r"^```sh\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^\$ maxmargin (?P<words>.*)\n(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
# Progress comes when its time comes, and what a fit took differs from run to run.
CHANGES = re.compile(r"^(reading|LinearSVC|SVC)\b.*: |^ +(passes|seconds) |^ +\"(passes|seconds)\"")
BROKEN = "1 1:0.5 3:2\n-1 2:1 2:4\n1 1:3\n"


class Shown(NamedTuple):
    """Words of an output with a sign for each number, and the numbers."""

    words: list[str]
    numbers: list[float]


def shown(output: str) -> Shown:
    text = "\n".join(line for line in output.splitlines() if not CHANGES.match(line))
    return Shown(NUMBER.sub("#", text).split(), [float(number.replace(",", "")) for number in NUMBER.findall(text)])


def test_every_example_of_the_page_prints_what_it_shows(shared_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a9a.bz2", "a9a.t.bz2", "heart_scale.bz2"):
        if not (shared_data / name).exists():
            pytest.skip(f"{name} is not there")
        shutil.copy(shared_data / name, tmp_path)
    Path("broken.txt").write_text(BROKEN)
    examples = [example for block in BLOCK.findall(PAGE.read_text()) for example in EXAMPLE.finditer(block)]
    assert len(examples) == 11
    for example in examples:
        found = shown(CliRunner().invoke(app, shlex.split(example["words"])).output)
        wanted = shown(example["printed"])
        assert found.words == wanted.words, example["words"]
        # A gap is a small difference of large numbers, and depends on the machine; it must stay small.
        assert found.numbers == pytest.approx(wanted.numbers, rel=2e-3, abs=2e-3), example["words"]


def test_the_page_names_every_verb_and_every_option():
    text = PAGE.read_text()
    verbs = [command.name or command.callback.__name__ for command in app.registered_commands]
    for verb in verbs:
        assert f"`{verb}" in text
        listed = CliRunner().invoke(app, [verb, "--help"]).output
        assert set(re.findall(r"--[a-zA-Z][\w-]*", listed)) - set(re.findall(r"--[a-zA-Z][\w-]*", text)) <= {
            "--help",
            "--output",
            "--no-picture",
        }
