# `make demo` and `make test` have no other requirements. `make help` lists all targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.talops-stamp
# Of its own: tests need none of it.
DOCS_VENV := .venv-docs
DOCS_STAMP := $(DOCS_VENV)/.talops-stamp
# More than the number of processors: a test that waits for a node uses none.
WORKERS ?= $(shell echo $$(( $$(nproc) + 2 )))
# Each worker imports all tests: without their bytecode it would compile all of them.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest
# Found, downloaded or built before the tests start, so that a new machine shows its progress.
TEST_TOOLS := tofu provider sops age etcd etcdutl kube-apiserver kube-controller-manager kube-scheduler helm

.PHONY: help venv demo test code tools check fmt lock docs docs-site texts bench chaos clean proto

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# If Python must not write bytecode, as in many containers, every program that a test starts would
# compile all of talops again, which is half of its startup time.
venv: $(STAMP) ## Create .venv with talops (quick if nothing changed)
	@$(BIN)/python -m compileall -q src

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "talops needs Python 3.11 or newer; $(PYTHON) is older. Try: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "cannot create a virtual environment; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: venv ## Run the complete workflow in the embedded lab
	@PATH="$(CURDIR)/$(BIN):$$PATH" ./scripts/demo

test: venv ## Set up everything and run all tests
	@$(MAKE) --no-print-directory --jobs=2 code tools
	$(PYTEST) -n $(WORKERS) -m "not chaos"

# mypy uses one processor only: the tools of a new machine are built beside it.
code tools: | $(STAMP)

code:
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy --no-error-summary

tools:
	$(BIN)/talops tools install $(TEST_TOOLS)
	$(BIN)/python -m tests.oracle
	$(BIN)/python -m tests.web.tools

check: venv code ## The inner loop: ruff, mypy, quick tests
	$(PYTEST) -q -n $(WORKERS) -m "not chaos and not slow"

fmt: venv ## Format the code and apply automatic fixes
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

docs: venv ## Regenerate the generated pages of docs/
	$(BIN)/python scripts/reference

docs-site: $(DOCS_STAMP) ## Build the docs as a site, with strict links, in site/
	$(DOCS_VENV)/bin/mkdocs build --quiet --strict
	@echo "site/index.html"

$(DOCS_STAMP): requirements-docs.lock
	@test -x $(DOCS_VENV)/bin/python || $(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

texts: venv ## Print every error and hint with its position
	@$(BIN)/python -m tests.texts

bench: venv ## Print the benchmarks, as ratios within one run
	$(BIN)/python -m tests.bench

chaos: venv ## Run the long crash and fault matrices (seeded: SEED=…)
	$(PYTEST) -n $(WORKERS) -m chaos --timeout 3600

lock: venv ## Regenerate requirements.lock from pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-header --all-extras --group dev pyproject.toml scripts/build-requirements.in -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-header --group docs pyproject.toml scripts/build-requirements.in -o requirements-docs.lock

proto: ## Regenerate the gRPC stubs from the .proto files
	./scripts/generate-stubs

clean: ## Remove the files that make created
	rm -rf $(VENV) $(DOCS_VENV) site .mypy_cache .ruff_cache .pytest_cache
