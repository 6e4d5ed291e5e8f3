# `make demo` and `make test` do all the set-up that they need, in .venv. CONTRIBUTING.md has the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core-installed
TEST := $(VENV)/.test-installed
WORKERS ?= 2

.PHONY: demo test lint lock benchmarks hostile kills mutations clean

demo: $(CORE)
	@out=demo-release; i=2; while [ -e $$out ]; do out=demo-release-$$i; i=$$((i+1)); done; \
	$(BIN)/synthrelease demo --out $$out

test: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(WORKERS)

lint: $(TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

benchmarks: $(TEST)
	@test -n "$(DATA)" || { echo "usage: make benchmarks DATA=path-to-a-births-file"; exit 2; }
	$(BIN)/python tests/benchmarks/attempt.py --data "$(DATA)"
	$(BIN)/python tests/benchmarks/acceptance.py --data "$(DATA)"

# 10,000 hostile files; releases and ledgers killed at random; mistakes in the code that the tests must notice
hostile: $(TEST)
	$(BIN)/python -m tests.hostile

kills: $(TEST)
	$(BIN)/python tests/crashes.py
	$(BIN)/python -m tests.kills

mutations: $(TEST)
	$(BIN)/python tests/mutations.py

lock:
	requirements/lock.sh

clean:
	rm -rf $(VENV) build dist

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else f"Python 3.11, 3.12 or 3.13 is needed, this is {v[0]}.{v[1]}. Name one: make PYTHON=python3.12 demo")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(CORE): $(VENV)/.created requirements/core.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/core.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

# torch first: smartnoise-synth would otherwise take the largest build
$(TEST): $(CORE) requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/test.txt
	@touch $@
