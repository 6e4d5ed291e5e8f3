# `make demo` and `make test` do all the set-up that they need, in .venv. CONTRIBUTING.md has the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check
CORE := $(VENV)/.core-installed
QUICK := $(VENV)/.quick-installed
TEST := $(VENV)/.test-installed
DOCS := $(VENV)/.docs-installed
DIST := $(VENV)/.dist-installed
WORKERS ?= 2

# Python compiles once what hundreds of processes of the tests load
export PYTHONDONTWRITEBYTECODE :=

HOURS ?= 2
TO ?= wheelhouse
INTO ?= dist
RUNS ?= 3000

.PHONY: demo quick versions new criterion generator option test test-long audit lint lock benchmarks figures docs wheelhouse test-wheelhouse dist hostile fuzz kills mutations plants release report rooms settings sources clean

demo: $(CORE)
	@out=demo-release; i=2; while [ -e $$out ]; do out=demo-release-$$i; i=$$((i+1)); done; \
	$(BIN)/synthrelease demo --out $$out

# While writing: no torch, no libraries beside the core's, no test that is marked slow, and one process, which imports once
quick: $(QUICK)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -m "not slow"

# The same under each other Python that is here, and once with the lowest versions of libraries that pyproject.toml allows
versions:
	PYTHON="$(PYTHON)" WORKERS=$(WORKERS) requirements/versions.sh

# A new kind from a template: its files, and its lines in others: make new KIND=criterion NAME=largest_gap
new: $(QUICK)
	@$(BIN)/python -m tests.new "$(KIND)" "$(NAME)"
	@$(BIN)/python -m tests.reference

# All checks that concern one kind, then what is left to do: make criterion NAME=faithfulness
criterion: $(QUICK)
	@$(BIN)/python -m tests.kind criterion "$(NAME)"

generator: $(QUICK)
	@$(BIN)/python -m tests.kind generator "$(NAME)"

option: $(QUICK)
	@$(BIN)/python -m tests.kind option "$(NAME)"

test: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not long"

# What is left to nightly runs: types with every library (`make quick` has those of the core), the figures of the births beside
# the documented ones, whole runs, laws of many releases and servers (tests/long.py)
test-long: $(TEST) $(DOCS)
	$(BIN)/mypy
	$(BIN)/python -m tests.benchmarks.figures --runs 1 --rows 0 --wide 0 --keep figures-nightly.jsonl
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m long

# every part, with HOURS hours of draws; synthrelease audit alone takes minutes
audit: $(TEST)
	@out=audit.json; i=2; while [ -e $$out ]; do out=audit-$$i.json; i=$$((i+1)); done; \
	$(BIN)/synthrelease audit --jobs $(WORKERS) --out $$out && \
	$(BIN)/python -m tests.whole.drawn --power --hours $(HOURS) --jobs $(WORKERS) --out cases-$$out

lint: $(TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

benchmarks: $(TEST)
	@test -n "$(DATA)" || { echo "usage: make benchmarks DATA=path-to-a-births-file"; exit 2; }
	$(BIN)/python tests/benchmarks/attempt.py --data "$(DATA)"
	$(BIN)/python tests/benchmarks/acceptance.py --data "$(DATA)"

# The table "The figures of one run" of docs/appendix/benchmarks.md: make figures WITH="--adult FILE --dpmm-python PYTHON ..."
figures: $(TEST)
	$(BIN)/python -m tests.benchmarks.figures --keep tests/benchmarks/figures.jsonl $(WITH)
	$(BIN)/python -m tests.benchmarks.figures --table

# A site that is read from the files, without a network: site/index.html
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is site/index.html."

# Everything for a machine without a network: docs/tutorial.md. Another machine:
# make wheelhouse TO=wheelhouse-windows FOR="--system windows --python 3.12"
wheelhouse: $(CORE)
	$(BIN)/python requirements/wheelhouse.py $(TO) $(FOR)

test-wheelhouse: $(TEST)
	SYNTHRELEASE_WHEELHOUSE="$(abspath $(TO))" $(BIN)/pytest -m wheelhouse

# Wheel and source archive of the last commit, built twice to the same bytes and tried alone, with an SBOM and checksums
dist: $(DIST)
	$(BIN)/python requirements/dist.py $(INTO)

# A release of the program: refuses a version in development, a tree with changes, a changelog without its section, and failing
# tests; then as `make dist`. CONTRIBUTING.md says what comes before and after
release: $(TEST) $(DOCS) $(DIST)
	$(BIN)/python requirements/release.py
	$(MAKE) quick test test-long
	$(BIN)/python requirements/release.py
	$(BIN)/python requirements/dist.py $(INTO)

# 10,000 hostile files; releases and ledgers killed at random; mistakes in the code that the tests must notice
hostile: $(TEST)
	$(BIN)/python -m tests.whole.hostile

# random whole releases of neighbouring files, with the same noisy answers; then known faults: make fuzz RUNS=3000
fuzz: $(TEST)
	$(BIN)/python -m tests.whole.fuzz $(RUNS)

kills: $(TEST)
	$(BIN)/python tests/whole/crashes.py
	$(BIN)/python -m tests.whole.kills

# docs/appendix/plants.md: known slips, planted in every criterion and generator (a minute)
plants: $(TEST)
	$(BIN)/python -m tests.plants

mutations: $(TEST)
	$(BIN)/python tests/mutations/of_theory.py $(if $(ONLY),"$(ONLY)")

# docs/settings.md and the JSON Schemas in configs/, from the models that read the two files
settings: $(QUICK)
	$(BIN)/python -m tests.reference

# docs/sources.md: the tables of the sources, computed anew (a minute)
sources: $(QUICK)
	$(BIN)/python -m tests.reproduction

# The picture of the rooms in docs/architecture.md, from its table
rooms: $(QUICK)
	$(BIN)/python -m tests.rooms

# Sizes that a reader feels: modules, private lines, words of documents, beside those of the last release
report: $(QUICK)
	$(BIN)/python -m tests.report

lock:
	requirements/lock.sh

clean:
	rm -rf $(VENV) build dist site wheelhouse*

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else f"Python 3.11, 3.12 or 3.13 is needed, this is {v[0]}.{v[1]}. Name one: make PYTHON=python3.12 demo")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Python compiles what is used when it is first used; compiling all of it would take half of the installation and 100 MB.
# The file has every package that is needed, so that pip resolves nothing
$(CORE): $(VENV)/.created requirements/core.txt pyproject.toml
	$(BIN)/python -m pip install --no-compile --no-deps --quiet --disable-pip-version-check -r requirements/core.txt --editable .
	@touch $@

$(QUICK): $(CORE) requirements/quick.txt
	$(PIP) -r requirements/quick.txt
	@touch $@

# Two processes, each with every second package: nothing is resolved, as the file has all of them. torch comes with them, and
# its build for a graphics card then takes what it needs of it
$(TEST): $(VENV)/.created requirements/core.txt requirements/test.txt pyproject.toml
	{ echo torch==2.13.0; awk 'NR % 2' requirements/test.txt; } > $(VENV)/.one.txt
	awk 'NR % 2 == 0' requirements/test.txt > $(VENV)/.other.txt
	$(PIP) --no-deps -r $(VENV)/.one.txt & one=$$!; \
	$(PIP) --no-deps -r $(VENV)/.other.txt --editable . && wait $$one
	$(PIP) torch==2.13.0
	@touch $(CORE) $@

$(DIST): $(VENV)/.created requirements/dist.txt
	$(PIP) -r requirements/dist.txt
	@touch $@

$(DOCS): $(CORE) requirements/docs.txt
	$(PIP) -r requirements/docs.txt
	@touch $@
