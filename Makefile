# Every target makes .venv by itself from a bare python3 with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SET_UP := $(VENV)/.installed

.PHONY: demo quick test check bench docs clean

demo: $(SET_UP)
	$(BIN)/maxmargin demo

# What a person runs at every change; tests/quick.py says which tests these are.
quick: $(SET_UP)
	$(BIN)/python -m pytest --quick -n auto --dist worksteal

# Tests that watch the clock come last, with nothing beside them. Both runs are made, and either can fail.
test: $(SET_UP)
	$(BIN)/python -m pytest -m "not alone" -n auto --dist worksteal; beside=$$?; \
	$(BIN)/python -m pytest -m alone && exit $$beside

check: $(SET_UP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(SET_UP)
	$(BIN)/python -m benchmarks

docs: $(SET_UP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(SET_UP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("maxmargin needs Python 3.11 or newer") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev,plot]"
	touch $@

clean:
	rm -rf $(VENV) site build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
