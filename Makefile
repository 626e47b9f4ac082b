# Works with nothing but GNU make, Python >= 3.11 (with venv) and g++.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
MAIN := $(VENV)/.installed-main
DEV := $(VENV)/.installed-dev
SOURCES := cudanalyst tests benchmarks
# Those of a GPU are started one by one, where there is one: they need its packages, and the device for themselves.
BENCHMARKS := $(filter-out benchmarks/gpu_%.py,$(wildcard benchmarks/*.py))
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes --no-deps

.PHONY: help demo test test-gpu lint style format bench clean host-compiler

help:
	@echo "make demo    install into $(VENV) and run the main job end to end"
	@echo "make test    linters, types, import contracts and tests (what CI runs)"
	@echo "make test-gpu  tests on this machine's GPU, with PYTHON (default: python3), which has the packages"
	@echo "make lint    linters, types and import contracts"
	@echo "make format  rewrite sources in the project's format"
	@echo "make bench   the figures that the project promises"
	@echo "make clean   remove what these commands made"

$(BIN)/python:
	@for python in $${PYTHON:-} python3.13 python3.12 python3.11 python3; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  "$$python" -c 'import venv, ensurepip' 2>/dev/null || { no_venv="$$python"; continue; }; \
	  echo "creating $(VENV) with $$("$$python" --version)"; \
	  exec "$$python" -m venv $(VENV); \
	done; \
	if [ -n "$${no_venv:-}" ]; then \
	  echo "error: $$no_venv has no venv module; install it (Debian, Ubuntu: apt install python3-venv)" >&2; \
	else \
	  echo "error: no Python >= 3.11 found; install one (Debian, Ubuntu: apt install python3 python3-venv) or set PYTHON" >&2; \
	fi; \
	exit 1

$(MAIN): requirements/main.txt pyproject.toml | $(BIN)/python
	@echo "installing the packages of requirements/main.txt (several hundred MB the first time)"
	@$(PIP) -r requirements/main.txt
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements/dev.txt $(MAIN)
	@echo "installing the packages of requirements/dev.txt"
	@$(PIP) -r requirements/dev.txt
	@touch $@

host-compiler:
	@command -v "$${CXX:-g++}" >/dev/null || { \
	  echo "error: $${CXX:-g++} not found; install it (Debian, Ubuntu: apt install g++) or set CXX" >&2; exit 1; }

demo: $(MAIN) | host-compiler
	@$(BIN)/cudanalyst demo

# Types are checked beside the tests: that takes one core for a minute, in which the tests would have to wait for it.
test: style | host-compiler
	@said="$$(mktemp)"; trap 'rm -f "$$said"' EXIT; \
	$(BIN)/mypy >"$$said" 2>&1 & types=$$!; \
	tests=0; $(BIN)/pytest -q -n auto --dist loadfile || tests=$$?; \
	typed=0; wait "$$types" || typed=$$?; cat "$$said"; \
	exit $$(( tests ? tests : typed ))

# With the machine's own Python: CuPy and its like come with a GPU machine, not from requirements/.
test-gpu: | host-compiler
	@PYTHONPATH="$(CURDIR)$${PYTHONPATH:+:$$PYTHONPATH}" $${PYTHON:-python3} -m pytest -c tests/gpu/pytest.ini -q -rs -s -p no:cacheprovider tests/gpu

lint: style
	@$(BIN)/mypy

style: $(DEV)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/lint-imports
	@find cudanalyst -name '*.cpp' -o -name '*.hpp' | xargs $(BIN)/clang-format --dry-run -Werror

format: $(DEV)
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)
	@find cudanalyst -name '*.cpp' -o -name '*.hpp' | xargs $(BIN)/clang-format -i

bench: $(DEV) | host-compiler
	@for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python "$$script"; done

clean:
	rm -rf $(VENV) build dist demo-report .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +
