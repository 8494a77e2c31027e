# `make reproduce` and `make test` are all that a newcomer needs; both build .venv on demand.

VENV    := .venv
PYTHON  ?= python3
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
JAVA    := $(VENV)/.java

.PHONY: help reproduce test lint types unit format clean

help:
	@echo "make reproduce   compare the hashes, index a lake, search it with every system; figures in results/"
	@echo "                 (LAKE=folder-of-tables for your own tables instead of a synthetic lake)"
	@echo "make test        lint, type-check and test everything"
	@echo "make format      rewrite the code in the house style"
	@echo "make clean       remove .venv, results and caches"

$(READY): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "MATE needs Python 3.11 or newer; call make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing (Debian, Ubuntu: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[baselines,benchmarks,vertica,dev]'
	@touch $@

# Spark needs Java; where this user can install it, that is done, elsewhere it is said.
$(JAVA): | $(READY)
	@if command -v java >/dev/null || [ -n "$$JAVA_HOME" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; \
	else \
	  echo "Spark needs Java 17: install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless;"; \
	  echo "macOS: brew install openjdk@17) or set JAVA_HOME"; exit 1; \
	fi
	@touch $@

LAKE    ?= synthetic:tables=300,seed=1

# The main job on an embedded default: compare the hashes, index a lake on Spark, search it with every system.
reproduce: $(READY) $(JAVA)
	$(BIN)/python -m benchmarks hashes --json results/hashes.json --figure results/hashes.png
	$(BIN)/mate index $(LAKE) --store results/lake.duckdb
	$(BIN)/python -m benchmarks discovery --store results/lake.duckdb --queries 15 \
	  --json results/discovery.json --figure results/discovery.png

test: lint types unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

unit: $(READY) $(JAVA)
	$(BIN)/python -m pytest

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) results build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
