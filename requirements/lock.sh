#!/usr/bin/env bash
# Write the locked versions of all Pythons and systems (environment markers tell them apart). Needs uv: pip install uv.
# test.txt is resolved first, so that the versions of core.txt also fit smartnoise-synth. torch and the CUDA packages that it
# names are left out: `make test` installs torch by itself, so that a CPU build can be used where there is one. quick.txt is the core with frames and the tools of `make quick`,
# dist.txt what `make dist` builds with.
set -euo pipefail
cd "$(dirname "$0")/.."
options=(--quiet --universal --python-version 3.11 --no-header --no-annotate)
full=$(mktemp)
uv pip compile "${options[@]}" pyproject.toml --extra frames --extra smartnoise --extra audit --extra cluster --extra formats --extra catalogue --extra database --extra desk --extra test -c <(echo "torch==2.13.0") -o "$full"
uv pip compile "${options[@]}" pyproject.toml -c "$full" -o requirements/core.txt
# the same with the SHA-256 of every file of each version, for pip install --require-hashes; no address of an index is written
uv pip compile "${options[@]}" --generate-hashes --no-emit-index-url --no-emit-find-links pyproject.toml -c "$full" -o requirements/core-hashes.txt
# and of the extras that a steward may use beside private files; what only tests and the site need is not there, and has none
uv pip compile "${options[@]}" --generate-hashes --no-emit-index-url --no-emit-find-links pyproject.toml --extra frames --extra formats --extra database --extra desk --extra sign --extra catalogue -c "$full" -o requirements/extras-hashes.txt
uv pip compile "${options[@]}" pyproject.toml --extra docs -c "$full" -o requirements/docs.txt
uv pip compile "${options[@]}" pyproject.toml --extra frames <(printf '%s\n' pytest pytest-xdist hypothesis jsonschema mpmath ruff mypy) -c "$full" -o requirements/quick.txt
uv pip compile "${options[@]}" <(printf '%s\n' hatchling cyclonedx-bom pip) -c "$full" -o requirements/dist.txt
# what pyproject.toml allows at least, with the tools of `make quick`; direct ones alone, for Python 3.11 (requirements/versions.sh)
uv pip compile --quiet --no-header --no-annotate --python-version 3.11 --resolution lowest-direct pyproject.toml --extra frames <(grep -E '^(pytest|pytest-xdist|hypothesis|jsonschema|mpmath)==' requirements/quick.txt) -o requirements/lowest.txt
grep -vE '^(torch|triton|nvidia-|cuda-)' "$full" > requirements/test.txt
rm "$full"
