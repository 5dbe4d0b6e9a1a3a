# One verb a line: `make help` prints them. Each sets up .venv by itself when it must.
SHELL := bash
.DEFAULT_GOAL := help
# The interpreter that .venv is made of: `make test PYTHON=python3.13` makes it anew.
PYTHON ?= python3
BIN := .venv/bin
# Touched when .venv holds what these files ask for; named after PYTHON, so that another one is seen.
READY := .venv/ready-$(subst /,_,$(PYTHON))
WANTED := pyproject.toml requirements.lock setup.py $(wildcard src/ottla/records/*.pyx) \
  $(wildcard src/ottla/protocol/*.p*) src/ottla/protocol/schema/produce.py \
  src/ottla/protocol/schema/fetch.py
# mypy refuses a folder without Python in it.
TYPED := src tests $(foreach folder,tools bench,$(if $(wildcard $(folder)/*.py),$(folder)))

.PHONY: help run demo test lint types format sim sim-long fuzz compat bench bench-quick pages lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

run: $(READY) ## start one node: Kafka on 127.0.0.1:9092, data in ./data
	@exec $(BIN)/ottla start --data ./data --listen 127.0.0.1:9092

demo: ## a cluster, a load and a Spark pipeline on it, live
	@echo "make demo cannot run yet: ottla cluster and ottla pipeline (Spark) are not built." >&2
	@echo "One node runs today: make run" >&2
	@exit 1

test: $(READY) ## everything that a change must pass: lint, types, all tests
	@failed=; \
	$(MAKE) --no-print-directory lint || failed="$$failed lint"; \
	$(MAKE) --no-print-directory types || failed="$$failed types"; \
	echo "== tests"; \
	$(BIN)/pytest -n 2 || failed="$$failed tests"; \
	if [ -n "$$failed" ]; then echo "make test: FAILED:$$failed"; exit 1; fi; \
	echo "make test: passed: lint types tests"

lint: $(READY) ## ruff: rules and format
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY) ## mypy --strict
	@echo "== types: $(TYPED)"
	@$(BIN)/mypy --strict $(TYPED)

format: $(READY) ## lay out the code as `make lint` wants it
	@$(BIN)/ruff check --select I --fix .
	@$(BIN)/ruff format .

sim: $(READY) ## 200 seeds of the simulator
	@$(BIN)/ottla sim --seeds 200

sim-long: $(READY) ## 10,000 seeds of 120 virtual seconds, noted in data/sim-ledger.jsonl
	@mkdir -p data
	@$(BIN)/ottla sim --seeds 10000 --seconds 120 --ledger data/sim-ledger.jsonl

fuzz: $(READY) ## 200,000 hostile inputs to every API and to record batches
	@OTTLA_FUZZ_INPUTS=200000 $(BIN)/pytest tests/fuzz

compat: $(READY) ## Kafka's own tools and kcat against us; needs Java 17
	@$(BIN)/pytest tests/compat

bench: $(READY) ## the tables of docs/benchmarks.md, beside Apache Kafka; needs Java 17
	@$(BIN)/python -m bench

bench-quick: $(READY) ## the same in two minutes, writing nothing
	@$(BIN)/python -m bench --quick

pages: $(READY) ## write the generated pages of docs/ anew
	@$(BIN)/python -m tests.tidy.generated

lock: ## pin the newest versions that pyproject.toml allows in requirements.lock
	@rm -rf build/lock && $(PYTHON) -m venv build/lock
	@build/lock/bin/pip install -q --upgrade 'pip>=25.1'
	@build/lock/bin/pip install --progress-bar off --group dev .
	@head -1 requirements.lock > build/requirements.lock
	@build/lock/bin/pip freeze --all --exclude pip --exclude ottla >> build/requirements.lock
	@mv build/requirements.lock requirements.lock && rm -rf build/lock

clean: ## remove .venv, builds and caches; ./data stays
	rm -rf .venv build dist .mypy_cache .ruff_cache .hypothesis src/*.egg-info src/ottla/*/*.so
	find src tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): $(WANTED)
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"Ottla needs Python 3.11 or newer, \
	and $(PYTHON) is {sys.version.split()[0]}: make PYTHON=python3.12")'
	@rm -f .venv/ready-*
	@if [ "$$($(BIN)/python -V 2>/dev/null)" != "$$($(PYTHON) -V)" ]; then \
	  echo "Setting up .venv with $$($(PYTHON) -V)"; $(PYTHON) -m venv --clear .venv; fi
	@wanted=$$(grep -c == requirements.lock); echo "Installing $$wanted packages into .venv"; \
	set -o pipefail; PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
	  $(BIN)/pip install --progress-bar off -r requirements.lock | \
	  awk -v wanted=$$wanted '/requirements.lock/ { n++ } \
	    /^Collecting/ && /requirements.lock/ { printf "  %2d/%d %s\n", n, wanted, $$2; fflush() } \
	    /^Installing/ { print "  unpacking"; fflush() }'
	@echo "Building ottla"
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -c 'import ottla.records._kernel, ottla.protocol._codecs' 2>/dev/null || \
	  echo "No C compiler here: records and requests are read by plain Python, which is slower."
	@touch $@
