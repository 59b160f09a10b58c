# A newcomer needs only `make demo` and `make test`: each first creates the virtual environment that it uses.
# Settings: PYTHON=… (the interpreter that creates it), VENV=… (its folder), ARGS=… (more arguments for pytest or the demo).

VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --quiet --disable-pip-version-check --no-input

# Compiled files save a third of each start of Python, and the tests start hundreds; they are kept out of the sources.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(abspath $(VENV))/pycache

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo demo-spark test test-brokers pythons test-pythons test-long test-spark brokers conformance check format bench bench-brokers bench-spark docs rules clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(VENV)/.stamp-dev  ## create the environment for development

demo: $(VENV)/.stamp-run  ## send files through a queue and a topic, on the embedded broker or on JMSBRIDGE_URL
	@$(PY) -m jmsbridge.demo $(ARGS)

demo-spark: $(VENV)/.stamp-spark  ## install Spark (half a gigabyte), stream a queue into Parquet files and query them; needs Java 17
	@$(PY) -m jmsbridge.spark.demo $(ARGS)

test: $(VENV)/.stamp-dev  ## run the tests that need no server, and the contract level on brokers that were fetched
	@$(PY) -m pytest -q -n 8 --dist worksteal -p tools.unrun -m "not long and not server" $(ARGS)

test-spark: $(VENV)/.stamp-dev $(VENV)/.stamp-spark  ## install Spark (half a gigabyte) and run the tests of the data source
	@$(PY) -m pytest -q -n 2 --dist worksteal -p tools.unrun -m "not long" --durations 15 tests/spark integration/spark $(ARGS)

test-brokers: $(VENV)/.stamp-dev  ## run the other tests: whole suites on real brokers, Java, failing networks
	@$(PY) -m pytest -q -n 6 --dist worksteal -p tools.unrun -m "server and not long" --ignore integration/spark integration examples $(ARGS)

test-pythons: $(VENV)/.stamp-dev  ## run the tests that need no server on every other Python from 3.11 to 3.14 that is found, at least two
	@$(PY) -m tools.pythons $(ARGS)

pythons: $(VENV)/.stamp-dev  ## make the environments of test-pythons, which it otherwise makes itself
	@$(PY) -m tools.pythons --environments $(ARGS)

test-long: $(VENV)/.stamp-dev  ## run the long tests: repetition, faults, soak
	@$(PY) -m pytest -v -p tools.unrun -m long --durations 0 $(ARGS)

brokers: $(VENV)/.stamp-dev  ## download the real brokers, start each, check that it answers, stop it; the tests then use them
	@$(PY) -m integration.lab check $(ARGS)

conformance: $(VENV)/.stamp-dev  ## run Java's tests: Joram's JMS suite on every available broker
	@$(PY) -m pytest -q -p tools.unrun integration/conformance $(ARGS)

check: $(VENV)/.stamp-dev  ## run ruff, mypy strict and the laws of the design; check that every rule has a test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(PY) -m tools.laws
	@listed=$$($(PY) -m jmsbridge.testing.rules); failed=$$?; \
	printf '%s\n' "$$listed" | grep -E '^(mistake|untested): | rules tested'; exit $$failed

format: $(VENV)/.stamp-dev  ## format and fix with ruff
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

rules: $(VENV)/.stamp-dev  ## list every rule of the specification with its tests
	@$(PY) -m jmsbridge.testing.rules

bench: $(VENV)/.stamp-bench  ## measure speed on this machine; `make bench ARGS=--write` updates docs/performance.md
	@$(PY) -m bench $(ARGS)

bench-brokers: $(VENV)/.stamp-bench  ## measure speed on brokers, with other clients for comparison; `ARGS=--write` updates the pages
	@$(PY) -m integration.bench $(ARGS)

bench-spark: $(VENV)/.stamp-dev $(VENV)/.stamp-spark  ## measure the Spark source and sink; `ARGS=--write` updates the page
	@$(PY) -m integration.bench.spark $(ARGS)

docs: $(VENV)/.stamp-dev  ## regenerate the parts of the documentation that come from the code
	@$(PY) -m tools.docs
	@$(PY) -m tools.pages

clean:  ## remove environments and caches
	rm -rf $(VENV) .venv-3.* dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A candidate must run and be able to create environments: shims of version managers may do neither.
$(PY):
	@for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    found=$$candidate; break; fi; done; \
	if [ -z "$$found" ]; then \
	  echo "No usable Python 3.11 or newer: install one, with its venv module (Debian: python3-venv), or set PYTHON=…" >&2; \
	  exit 1; fi; \
	echo "Making $(VENV) with $$($$found --version)"; \
	$$found -m venv $(VENV)

$(VENV)/.stamp-run: pyproject.toml | $(PY)
	@echo "Installing jmsbridge into $(VENV)"
	@$(PIP) install --editable '.[rabbitmq]'
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml | $(PY)
	@echo "Installing jmsbridge and its development tools into $(VENV)"
	@$(PIP) install --editable '.[dev]'
	$(COMPILED)
	@touch $@ $(VENV)/.stamp-run

$(VENV)/.stamp-bench: pyproject.toml | $(PY)
	@echo "Installing jmsbridge and the clients that its benchmarks compare into $(VENV)"
	@$(PIP) install --editable '.[bench]'
	$(COMPILED)
	@touch $@ $(VENV)/.stamp-run

$(VENV)/.stamp-spark: $(VENV)/.stamp-run
	@echo "Installing Spark into $(VENV)"
	@$(PIP) install --editable '.[spark]' 'pyspark[connect]'
	@touch $@

# The client library for AMQP 1.0 has no wheel. Without a compiler everything else works, and a run of the tests says
# at its end what is missing; where REQUIRE_COMPILED is set, as in CI, that is a failure.
define COMPILED
@echo "Compiling python-qpid-proton, the client library for AMQP 1.0"
@$(PIP) install --editable '.[amqp]' >$(VENV)/compiled.log 2>&1 || { \
  echo "python-qpid-proton cannot be compiled here, so AMQP 1.0 is left out. It needs a C compiler and Python's headers"; \
  echo "(Debian: gcc python3-dev; for SCRAM and GSSAPI also libsasl2-dev). Its own words are in $(VENV)/compiled.log."; \
  echo "Then: make -B venv"; \
  test -z "$(REQUIRE_COMPILED)"; }
endef
