# Everything a newcomer and a continuous-integration machine need. Run `make` for the list.

PYTHON ?= python3
ARGS ?=

# Relative paths only, so that the checkout may stand in a folder with spaces in its name.
BIN := .venv/bin
STAMP := .venv/installed

# Two test processes, each with its own kernel cache: Numba's file cache is not safe against two
# processes that compile different signatures of one kernel at the same moment.
CACHE := popen//env:NUMBA_CACHE_DIR=$(CURDIR)/.pytest_cache/kernels
PROCESSES := --dist loadfile --tx "$(CACHE)/1" --tx "$(CACHE)/2"

.DEFAULT_GOAL := help
.PHONY: help setup train test test-slow compat check bench play notebooks lab

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv and install everything into it (only when something changed)

$(BIN)/python:
	@command -v "$(PYTHON)" >/dev/null || { echo "There is no $(PYTHON) here: try make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(sys.version_info < (3, 11) \
	and f"Python 3.11 or newer is needed, this is {v}: try make PYTHON=python3.12")'
	@echo "Making .venv ..."
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into .venv (a few minutes the first time) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e ".[dev,compat]"
	@touch $(STAMP)

train: setup ## train the quick preset from nothing (about five minutes on two cores)
	@$(BIN)/oware-train configs/alphazero-quick.toml $(ARGS)

test: setup ## the fast tests
	@$(BIN)/python -m pytest -q $(PROCESSES) $(ARGS)

test-slow: setup ## the tests that take longer
	@$(BIN)/python -m pytest -q -m slow $(ARGS)

compat: .venv-tianshou/installed .venv-rllib/installed ## train with tianshou and RLlib, in environments of their own
	@.venv-tianshou/bin/python -m pytest -q -o filterwarnings=default compat/test_tianshou.py $(ARGS)
	@.venv-rllib/bin/python -m pytest -q -o filterwarnings=default compat/test_rllib.py $(ARGS)

.venv-%/installed: compat/%.txt pyproject.toml
	@echo "Installing into .venv-$* (a few minutes the first time) ..."
	@$(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python -m pip install -q --disable-pip-version-check -r compat/$*.txt
	@touch $@

check: setup ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p oware_env -p agents -p train -p benchmarks
	$(BIN)/lint-imports

bench: setup ## speed beside other projects, measured now (under three minutes)
	@$(BIN)/python -m benchmarks

play: setup ## play against an agent in the terminal: make play ARGS="alphabeta:depth=6"
	@$(BIN)/oware-play $(ARGS)

notebooks: setup ## run all notebooks from top to bottom and compare with what they show
	@$(BIN)/python -m pytest -q $(PROCESSES) --dist load tests/test_notebooks.py $(ARGS)

lab: setup ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab notebooks
