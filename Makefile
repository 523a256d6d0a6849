# Given Python 3.11 or newer and make, every target sets up what it needs: packages in .venv, a Java, Spark's jars.
# The first time fetches; after that no network is needed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
DEMO ?= demo
PYTEST ?=

# Images of containers often set this, and then every process compiles all of its modules again.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= $(shell for candidate in python3.13 python3.12 python3.11 python3; do \
	if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo "$$candidate"; break; fi; done)

.PHONY: help setup demo test test-fast lint format docs bench prove lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.package ## packages, Java and jars; the other targets do this by themselves
	@$(BIN)/python requirements/prepare.py

$(VENV)/bin/python:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "Tidegate needs Python 3.11 or newer with venv and pip, and found none as python3.13, python3.12, python3.11"; \
	  echo "or python3. Install one (Debian and Ubuntu: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3"; \
	  exit 1; fi
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) cannot be used: it must be Python 3.11 or newer" >&2; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) ($$($(PYTHON) --version))"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.packages: requirements/dev.lock | $(VENV)/bin/python
	@echo "Installing the packages of requirements/dev.lock into $(VENV); the first time fetches about 600 MB (Spark is most of it)"
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/.package: pyproject.toml $(VENV)/.packages
	@echo "Installing tidegate itself into $(VENV)"
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q -j 0 src
	@touch $@

demo: setup ## build a small shop twice, the second time with bad data (DEMO=folder)
	@$(BIN)/tidegate demo $(DEMO)

test: setup ## all tests, those that need no JVM first (PYTEST='-k name' narrows them down)
	@$(BIN)/python -m pytest -n 3 --dist worksteal -m 'not spark' $(PYTEST)
	@$(BIN)/python -m tests.services.nessie
	@$(BIN)/python -m tests.services.iceberg_rest
	@$(BIN)/python -m tests.services.h2
	@$(BIN)/python -m tests.services.seaweed
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m 'spark and not alone' $(PYTEST)
	@$(BIN)/python -m pytest -m 'spark and alone' $(PYTEST) $$(grep -rl 'mark\.alone' tests --include='test_*.py') || [ $$? -eq 5 ]

test-fast: $(VENV)/.package ## the tests that need no JVM
	@$(BIN)/python -m pytest -n 3 --dist worksteal -m 'not spark' $(PYTEST)

lint: $(VENV)/.package ## ruff, mypy, import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.package ## format the code with ruff
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(VENV)/.package ## write docs/diagnostics.md, docs/failures.md, the tables of docs/checks.md, docs/commands.md and of strategies from the code
	@$(BIN)/python -c 'from pathlib import Path; from tidegate.compiler.diagnostic_registry import markdown; \
	  Path("docs/diagnostics.md").write_text(markdown(), "utf-8")'
	@$(BIN)/python -c 'from pathlib import Path; from tidegate.failure_table import markdown; \
	  Path("docs/failures.md").write_text(markdown(), "utf-8")'
	@$(BIN)/python -m tidegate.project.docs_tables docs/checks.md docs/strategies.md docs/configuration.md docs/quarantine.md
	@$(BIN)/python -m tidegate.cli.reference docs/commands.md
	@$(BIN)/python -m tidegate.compiler.python_code.lists_page docs/sandbox.md

bench: setup ## measure against a plain PySpark script and dbt; writes docs/benchmarks.md
	@$(BIN)/python -m benchmarks

prove: ## clone the repository and run demo and test on the clone, then again without network
	@.ci/prove

lock: ## rewrite requirements/*.lock from pyproject.toml (needs uv)
	@requirements/lock.sh

clean: ## remove what was built and cached here; .venv stays
	@rm -rf build dist demo .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis spark-warehouse metastore_db
	@find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
