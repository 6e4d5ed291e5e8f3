#!/usr/bin/env bash
# Run the tests of `make quick` under each other Python that pyproject.toml allows and this machine has (on the path, or of pyenv),
# and once with the lowest versions of libraries that it allows (requirements/lowest.txt). What was not run is said.
set -euo pipefail
cd "$(dirname "$0")/.."
quiet=(--no-compile --no-deps --quiet --disable-pip-version-check)

try() { # NAME INTERPRETER FILE...: an environment .venv-NAME with what the files list, and the tests in it
    local environment=.venv-$1 python=$2
    shift 2
    [ -d "$environment" ] || "$python" -m venv "$environment"
    for file in "$@"; do "$environment/bin/python" -m pip install "${quiet[@]}" -r "$file"; done
    "$environment/bin/python" -m pip install "${quiet[@]}" --editable .
    "$environment/bin/pytest" -n "${WORKERS:-2}" --dist worksteal -m "not slow"
}

interpreter() { # VERSION: a command that starts it, or nothing
    for python in "python$1" "$HOME"/.pyenv/versions/"$1".*/bin/python; do
        "$python" -c '' 2>/dev/null && echo "$python" && return
    done
    return 0
}

own=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for version in 3.11 3.12 3.13; do
    [ "$version" = "$own" ] && continue # `make quick` has it
    python=$(interpreter "$version")
    if [ -z "$python" ]; then
        echo "Python $version: not run, no interpreter was found"
    else
        echo "Python $version:"
        try "$version" "$python" requirements/quick.txt
    fi
done

# the lowest versions are those of the lowest Python: later ones have no wheels of some
python=$(interpreter 3.11)
if [ -z "$python" ]; then
    echo "lowest versions: not run, they need Python 3.11"
else
    echo "lowest versions of libraries, Python 3.11:"
    try lowest "$python" requirements/lowest.txt
fi
