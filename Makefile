# make demo       install uqcal in .venv and validate the table that travels with it
# make test       environment, ruff, every notebook run afresh, tests    (make test-all: the slow ones too)
# make test-portable   the numeric tests as other processors compute them, one after another
# make docs       render the notebooks into _docs, readable offline
# make jupyter    open the notebooks in Jupyter, with hooks that clean them and compare them cell by cell
# make page PAGE=14   export, run one notebook, store what it prints, and test what bears its name
# make bench      compare with other packages, in one run
# make tables     draw the stored tables of rates afresh, at full size   (PAGE="42 55": of these pages only)
# make audit      hold every measured rate against its promise   (PAGE="26 52", PAGE=all: draw those tables again first, in a copy)
# make export     write uqcal/ and README.md from the notebooks
# make clean      remove all that these commands made

PYTHON ?= python3
WORKERS ?= 3
BIN := .venv/bin
METADATA := settings.ini setup.py pyproject.toml
CHECKED := $(wildcard nbs tests benchmarks tools setup.py)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
PYTEST := $(BIN)/python -m pytest --no-header --copies $(WORKERS)

# Compiled kernels are kept in the clone, so that each is compiled once for all notebooks and tests.
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba

# So are modules and rewritten tests, wherever a machine says otherwise: hundreds of processes import them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all test-portable docs jupyter page bench tables audit export clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# make /make /p' Makefile

$(BIN)/python:
	@$(PYTHON) -c "import sys; sys.exit('uqcal needs Python 3.11 or newer: make PYTHON=python3.x ...' if sys.version_info < (3, 11) else 0)"
	@echo "creating .venv"
	@$(PYTHON) -m venv .venv

.venv/.runtime: $(METADATA) | $(BIN)/python
	@echo "installing uqcal and what it needs"
	@$(PIP) install --editable .
	@touch $@

.venv/.dev: $(METADATA) | $(BIN)/python
	@echo "installing uqcal with what its notebooks and tests need"
	@$(PIP) install --editable ".[dev,dask,parquet]"
	@touch .venv/.runtime $@

demo: .venv/.runtime
	@$(BIN)/uqcal validate demo --report report.html

test: .venv/.dev
	@$(BIN)/ruff check --quiet $(CHECKED)
	@$(PYTEST)

test-all: .venv/.dev
	@$(BIN)/ruff check --quiet $(CHECKED)
	@HYPOTHESIS_PROFILE=long $(PYTEST) -m "slow or not slow"

test-portable: .venv/.dev
	@$(BIN)/python tools/portable.py

docs: .venv/.dev
	@$(BIN)/python tools/docs.py

.venv/.jupyter: | .venv/.dev
	@echo "installing Jupyter"
	@$(PIP) install "jupyterlab>=4"
	@touch $@

jupyter: .venv/.jupyter
	@$(BIN)/python tools/hooks.py
	@$(BIN)/jupyter lab nbs $(if $(filter 0,$(shell id -u)),--allow-root)

page: export
	@$(BIN)/python tools/page.py "$(PAGE)"

bench: .venv/.dev
	@for script in benchmarks/side_by_side.py $(filter-out %/timing.py %/side_by_side.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

tables: .venv/.dev
	@$(BIN)/python tools/tables.py $(PAGE)

audit: .venv/.dev
	@$(BIN)/python tools/audit.py $(PAGE)

export: .venv/.dev
	@$(BIN)/nbdev-export
	@$(BIN)/python tools/docstrings.py
	@$(BIN)/python tools/stub.py
	@$(BIN)/python tools/readme.py
	@$(BIN)/python tools/forks.py

clean:
	@rm -rf .venv .cache _proc _docs build dist *.egg-info .pytest_cache .ruff_cache .hypothesis report.html
