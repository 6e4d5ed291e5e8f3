"""What a mutation is, and how mutations are tried: each alone, in a copy of the package, with the tests that must notice."""

from __future__ import annotations

import csv
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from tests.mutations.places import StaleMutation, changed, file_of
from tests.mutations.rules import RULES, Derived

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("synthrelease", "tests", "configs", "acceptance", "public_data", "docs", "pyproject.toml")
TABLE = ROOT / "docs" / "appendix" / "mutations.csv"
PAGE = TABLE.with_suffix(".md")
COLUMNS = ("mistake", "place", "breaks", "caught_by")
TIMEOUT = 900
"""Seconds; a mutated loop may not end."""
COPIES = 2
"""Copies of the package in which mutations are tried side by side."""


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One mistake: at `place`, `new` stands for `old` (tests/mutations/places.py says how they are written).

    Attributes
    ----------
    breaks : what goes wrong, in a few words.
    tests : files or test ids, at least one of which must fail.
    also : further replacements in the same file, (place, old, new) each.
    core : whether the default suite tries it.
    """

    name: str
    breaks: str
    place: str
    old: str
    new: str
    tests: tuple[str, ...]
    also: tuple[tuple[str, str, str], ...] = ()
    core: bool = False

    def file(self, root: Path = ROOT) -> Path:
        return file_of(self.place, root)

    def applied(self, text: str, root: Path) -> str:
        """The text of its file with the mutation. Raises StaleMutation unless each of its pieces is found exactly once."""
        file = self.file(root)
        for place, old, new in ((self.place, self.old, self.new), *self.also):
            if file_of(place, root) != file:
                raise StaleMutation(f"{place}: expected a place in {file.name}")
            text = changed(text, place, old, new)
        return text


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the tests said: "caught" (they failed), "survived" (they passed), "hung", or "broken" (they could not run)."""

    verdict: str
    output: str

    @property
    def test(self) -> str:
        """The first test that failed, or could not be set up."""
        lines = [line for line in self.output.splitlines() if line.startswith(("FAILED ", "ERROR ")) and "::" in line]
        return lines[0].split(" - ")[0].partition(" ")[2] if lines else ""

    @property
    def caught_by(self) -> str:
        """Its file and name."""
        file, _, name = self.test.partition("::")
        return f"{Path(file).name} :: {name.partition('[')[0]}" if name else ""


def mutated(mutation: Mutation | Derived, root: Path = ROOT) -> str:
    """The text of the file with the mutation. Raises StaleMutation where its place is no longer found."""
    try:
        return mutation.applied(mutation.file(root).read_text(encoding="utf-8"), root)
    except StaleMutation as stale:
        raise StaleMutation(f"tests/mutations/of_*.py are stale, {mutation.name!r}: {stale}") from None


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of the package and its tests in a temporary folder; checks that Python imports the copy.

    With byte code, which holds for a file as long as its time and size stay: a mutated file is compiled anew by each process,
    none of which writes any, and gets its time back with its text.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name)
            else:
                shutil.copy(source, copy / name)
        _python(copy, "-m", "compileall", "-q", "synthrelease")
        imported = _python(copy, "-c", "import synthrelease; print(synthrelease.__file__)").stdout.strip()
        if not Path(imported).resolve().is_relative_to(copy):
            raise RuntimeError("the copy of synthrelease is not the one that Python imports")
        yield copy


def run_tests(copy: Path, tests: Sequence[str]) -> Outcome:
    """Run some tests of a copied tree until one fails; each is a file, a test, or some of a file: `-k 'this or that' file`."""
    options = [word for test in tests for word in (shlex.split(test) if test.startswith("-k ") else [test])]
    try:
        run = _python(copy, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", *options)
    except subprocess.TimeoutExpired:
        return Outcome(verdict="hung", output="")
    none_of_these = run.returncode == 5 and "-k" in options
    verdict = "survived" if none_of_these else {0: "survived", 1: "caught"}.get(run.returncode, "broken")
    return Outcome(verdict=verdict, output=run.stdout + run.stderr)


def try_mutation(copy: Path, mutation: Mutation | Derived) -> Outcome:
    """Apply a mutation to the copy, run its tests one after the other until one fails, and take it back."""
    file = mutation.file(copy)
    original, known = file.read_bytes(), file.stat()
    file.write_text(mutated(mutation, copy), encoding="utf-8")
    try:
        for test in mutation.tests:
            outcome = run_tests(copy, [test])
            if outcome.verdict != "survived":
                break
        return outcome
    finally:
        file.write_bytes(original)
        os.utime(file, ns=(known.st_atime_ns, known.st_mtime_ns))


def _python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


def main(mutations: Sequence[Mutation | Derived], words: Sequence[str]) -> int:
    """Try all mutations, or those whose name holds a word; 0 when each was caught. Writes the lines of what was tried."""
    chosen = [mutation for mutation in mutations if not words or any(word in mutation.name for word in words)]
    started = time.monotonic()
    try:
        for mutation in chosen:
            mutated(mutation)
    except StaleMutation as stale:
        print(stale)  # noqa: T201
        return 2
    with ExitStack() as stack:
        copies: Queue[Path] = Queue()
        for _ in range(COPIES):
            copies.put(stack.enter_context(copied_tree()))
        copy = copies.get()
        before = run_tests(copy, sorted({test for mutation in chosen for test in mutation.tests}))
        if before.verdict != "survived":
            print(f"The tests do not pass without a mutation ({before.verdict}):\n{before.output}")  # noqa: T201
            return 2
        copies.put(copy)

        def tried(mutation: Mutation | Derived) -> Outcome:
            copy = copies.get()
            outcome = try_mutation(copy, mutation)
            copies.put(copy)
            print(f"{outcome.verdict}: {mutation.name}", flush=True)  # noqa: T201
            return outcome

        with ThreadPoolExecutor(COPIES) as pool:
            outcomes = list(pool.map(tried, chosen))
    for mutation, outcome in zip(chosen, outcomes, strict=True):
        if outcome.verdict != "caught":
            print(f"\n{mutation.name}: {outcome.verdict}\n{outcome.output[-3000:]}")  # noqa: T201
    caught = sum(outcome.verdict == "caught" for outcome in outcomes)
    print(f"\n{caught} of {len(chosen)} caught, in {time.monotonic() - started:.0f} s.")  # noqa: T201
    write_table(mutations, dict(zip(chosen, outcomes, strict=True)))
    return 0 if caught == len(chosen) else 1


def read_table() -> list[dict[str, str]]:
    """The rows of docs/appendix/mutations.csv; none before it is written."""
    return list(csv.DictReader(io.StringIO(TABLE.read_text(encoding="utf-8")))) if TABLE.exists() else []


def write_table(mutations: Sequence[Mutation | Derived], tried: Mapping[Mutation | Derived, Outcome]) -> None:
    """Write docs/appendix/mutations.csv and its page. Mutations that were not tried now keep the test that the file names."""
    caught_by = {row["mistake"]: row["caught_by"] for row in read_table()}
    caught_by |= {mutation.name: outcome.caught_by or outcome.verdict for mutation, outcome in tried.items()}
    if any(mutation.name not in caught_by for mutation in mutations):
        return  # before all were tried once there is no table
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((one.name, one.place, one.breaks, caught_by[one.name]) for one in mutations)
    TABLE.write_text(text.getvalue(), encoding="utf-8")
    PAGE.write_text(page(caught_by[one.name] for one in mutations), encoding="utf-8")


def page(caught_by: Iterable[str]) -> str:
    """The text of docs/appendix/mutations.md; a row is caught when it names a test."""
    caught = [" :: test_" in test for test in caught_by]
    return f"""# Mutations

A mutation is a deliberate mistake in one place of the code.
For example, one mutation halves the sensitivity of a criterion, so the noise is too small.
At least one test must fail. Otherwise the tests would also miss a programmer's mistake of this kind.

**{sum(caught)} of {len(caught)} mutations are caught.**

`make mutations` copies the package, makes one mutation at a time and runs the tests that should find this mutation.
The run fails if no test notices a mutation, or if the code that a mutation changes no longer exists.
The command writes this page and the list [mutations.csv](mutations.csv), with one row for each mutation:

| column | content |
|---|---|
| `mistake` | the change in the code |
| `place` | the module and the function that are changed |
| `breaks` | the consequence if a programmer made this mistake |
| `caught_by` | the test file and the test that failed |

The next table shows one row as an example:

| column | value |
|---|---|
| `mistake` | resize.counted: the noise is drawn with twice its budget |
| `place` | enclave.resizing:resize.counted |
| `breaks` | more epsilon is spent than was charged |
| `caught_by` | test_resizing.py :: test_the_counted_number_has_the_noise_of_its_charge_and_is_clamped |

The function `resize.counted` counts rows with noise.
With twice the epsilon, the noise is half as large, while the ledger is charged for the original epsilon.
The named test compares the noise with the charge and fails.

{len(RULES)} general rules make the mutations whose names begin with a function.
A rule applies wherever its pattern occurs in the code, so a new criterion gets these mutations without a new entry.
We wrote the other mutations by hand in `tests/mutations`.
"""
