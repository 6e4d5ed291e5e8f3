"""Run all checks that concern one criterion, generator or option, and say what is left to do.

python -m tests.kind criterion faithfulness
"""

from __future__ import annotations

import subprocess
import sys

from tests.new import KINDS, ROOT, parts

EVERY = (
    *("tests/spec/test_settings.py", "tests/spec/test_json_schema.py", "tests/spec/test_canonical.py"),
    *("tests/test_architecture.py", "tests/test_private_lines.py", "tests/test_claims.py", "tests/mutations/test_places.py"),
)
"""What a new kind may break elsewhere: settings, rooms, private lines, pages, places of mutations."""
OWN = {
    "criterion": (
        *("tests/test_contracts.py", "tests/test_doctests.py", "tests/studio/audit/test_scope.py"),
        *(f"tests/criteria/test_{name}.py" for name in ("sensitivity", "joint", "measured_bounds", "public_facts")),
        *("tests/criteria/test_a_trillion_rows.py", "tests/criteria/test_values.py", "tests/studio/audit/test_cases.py"),
    ),
    "generator": (
        *("tests/test_contracts.py", "tests/test_doctests.py", "tests/studio/audit/test_scope.py"),
        *("tests/generators/test_noise_of_every_family.py", "tests/generators/test_associations.py"),
        *(f"tests/studio/audit/test_{name}.py" for name in ("losses", "sensitivity")),
    ),
    "option": (),
}
"""What asks the same of every kind: the tests with its name."""


def modules(kind: str, name: str) -> list[str]:
    """Return the names of the modules that a kind stands in."""
    if kind == "option":
        return []
    from synthrelease.criteria import CRITERIA
    from synthrelease.generators import GENERATORS

    kinds = CRITERIA if kind == "criterion" else GENERATORS
    if name not in kinds:
        raise SystemExit(f"no {kind} {name!r} is in its dict: make new KIND={kind} NAME={name}. There are: {', '.join(kinds)}")
    return [kinds[name].__module__]


def runs(kind: str, name: str) -> list[list[str]]:
    """Return the arguments of each run of pytest: of the kind by its name, of its own files, of what it may break elsewhere."""
    where = modules(kind, name)
    stems = {name, *(module.rpartition(".")[2] for module in where)}
    folders = {"criterion": ["criteria"], "generator": ["generators"], "option": ["spec", "published", "bundle"]}[kind]
    files = [ROOT / "tests" / folder / f"test_{stem}.py" for folder in folders for stem in sorted(stems)]
    own = [file.relative_to(ROOT).as_posix() for file in files if file.exists()]
    words = " or ".join([name, *(f"test_the_examples_give_what_they_say and {module}" for module in where)])
    asked = [["-k", words, *OWN[kind]]] if OWN[kind] else []
    return [*asked, *([own] if own else []), [*EVERY]]


def files_of(kind: str, name: str) -> list[str]:
    """Return the files that a kind touches, in the order of its template."""
    return [file for file in dict.fromkeys(file for file, _, _ in parts(kind, name)) if (ROOT / file).exists()]


def style(kind: str, name: str) -> list[list[str]]:
    """Return the commands that repair the style of a kind, and check it and its types."""
    code = [file for file in files_of(kind, name) if file.endswith(".py")]
    typed = [file for file in code if file.startswith("synthrelease/")]
    return [["ruff", "format", "--quiet", *code], ["ruff", "check", "--quiet", "--fix", *code], ["mypy", *typed]]


def left_to_do(kind: str, name: str) -> str:
    """Return the files that a kind touches, and the commands that are left."""
    return "\n".join(
        [
            f"All checks of the {kind} {name!r} passed. Its files:",
            *(f"  {file}" for file in files_of(kind, name)),
            "Left to do:",
            "  CHANGELOG.md: a line under Unreleased, for users",
            "  make quick, then make test",
            *([] if kind == "option" else ["  make mutations ONLY=NameOfTheClass, which breaks its code line by line"]),
        ]
    )


def main(kind: str, name: str) -> int:
    """Write the page of settings, then run all, also what comes after a failure, so that one run shows every mistake."""
    if kind not in KINDS or not name:
        raise SystemExit(f"usage: make {'|'.join(KINDS)} NAME=name")
    chosen = runs(kind, name)
    subprocess.run([sys.executable, "-m", "tests.reference"], cwd=ROOT, check=True)
    commands = [*style(kind, name), *(["pytest", *arguments] for arguments in chosen)]
    codes = [subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode for command in commands]
    if any(codes):
        print(f"Some check of the {kind} {name!r} failed: see above.")
        return 1
    print(left_to_do(kind, name))
    return 0


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] if len(sys.argv) == 3 else ("", ""))))
