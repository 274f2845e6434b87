# Every command sets itself up: the first use makes .venv, installs into it and compiles the kernels, and so does
# the first use after setup.cfg has changed; otherwise it starts at once.
#
#   make demo            Spark joins four feeds of real data (PARTITIONS=4); SECONDS=20 SEED=7: made-up streams, live
#   make test            the tests (ARGS="-k name")
#   make bench           the benchmarks, and the papers' figures (ARGS="-k name"; PROFILE=full: the papers' sizes)
#   make figures         draw the papers' figures from what was measured, and write docs/results
#   make pages           write the measured figures into the docs, and mark those that are older than the code
#   make docs            the site of the docs, in build/site
#   make peers           Eddy beside Flink, Spark, DuckDB and others (ARGS="--only flink --workload three")
#   make fuzz MINUTES=5  random queries against the naive oracle: joins, then the other operators; SQL against DuckDB;
#                        and sets of queries that come and go
#   make faults MINUTES=5  random runs that are killed, torn, filled up and cut off, and all that they gave
#   make lint            ruff and mypy
#   make clean           remove caches and build products; .venv stays

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
KERNELS := $(shell grep -lsr --include='*.py' numba eddy stairs policies)
MINUTES ?= 1
PROFILE ?= quick
ARGS ?=

.PHONY: help setup demo test bench figures pages docs peers fuzz faults lint clean

help:
	@sed -n '/^#   make/s/^#   //p' Makefile

setup: $(COMPILED)

demo: $(COMPILED)
	@$(BIN)/eddy demo $(if $(SECONDS)$(SEED),--synthetic) $(if $(SECONDS),--seconds $(SECONDS)) \
	    $(if $(SEED),--seed $(SEED)) $(if $(PARTITIONS),--partitions $(PARTITIONS))

test: $(COMPILED)
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup $(ARGS)

bench: $(COMPILED)
	@$(BIN)/python -m pytest benchmarks --benchmark-only --profile $(PROFILE) $(ARGS)

figures: $(COMPILED)
	@$(BIN)/python -m benchmarks.papers --draw

pages: $(INSTALLED)
	@$(BIN)/python -m benchmarks.papers --pages
	@$(BIN)/python -m benchmarks.table --write
	@$(BIN)/python -m benchmarks.peers --tables

docs: $(INSTALLED)
	@$(BIN)/python docs/site.py

# Each contender is installed into an environment of its own, under .venv-peers.
peers: $(COMPILED)
	@$(BIN)/python -m benchmarks.peers $(ARGS)

fuzz: $(COMPILED)
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES)
	@$(BIN)/python -m tests.fuzz_operators --minutes $(MINUTES)
	@$(BIN)/python -m tests.sql.fuzz
	@$(BIN)/python -m tests.several --minutes $(MINUTES)

faults: $(COMPILED)
	@$(BIN)/python -m tests.faults --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf build dist *.egg-info .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache spark-warehouse
	find eddy stairs policies tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp is touched last, so that an interrupted install is taken up again. An existing .venv keeps its Python.
$(INSTALLED): setup.cfg
	@python=; \
	for candidate in $(VENV)/bin/python "$$PYTHON" python3 python3.13 python3.12 python3.11 python3.10 python; do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; \
	    then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "Eddy needs Python 3.10 or newer, and none was found on PATH." >&2; \
	    echo "Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2; \
	    exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$("$$python" --version) (PySpark alone is 450 MB: some minutes, once)"; \
	if [ "$$python" != $(VENV)/bin/python ] && ! "$$python" -m venv --clear $(VENV); then \
	    echo "$$python cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2; \
	    exit 1; \
	fi
	@$(BIN)/python -m pip install --disable-pip-version-check -e '.[dev]'
	@touch $@

# Kernels compile when they are first needed and stay in a cache; doing it here says what the wait is for.
$(COMPILED): $(INSTALLED) $(KERNELS)
	@echo "Compiling kernels (a minute, until one changes)"
	@$(BIN)/python -c 'import eddy; eddy.compile_kernels()'
	@touch $@
