"""Whole releases of real registers, as a steward makes them: the draft of `synthrelease init`, untouched, to the bounds.

    python -m tests.benchmarks.registers FILE|LIST ... [--only NAME] [--unit row|KEY|KEY:k] [--codebook FILE] [--title TITLE]
                                         [--fits 12] [--short] [--folder DIR] [--jobs 2] [--write]

A FILE is a public table: CSV, also gzip, SPSS or Stata. A LIST is a TOML file that names several, one after another:

    [stays]                      # --only stays takes this one alone
    file = "stays.csv.gz"        # beside the list
    title = "Hospital stays"     # in the table; without it the name
    unit = "patient:3"           # given to `init --unit`, if there is one
    codebook = "stays.json"      # given to `init --codebook`, if there is one

The rows of each are divided at random, all rows of a person together where `unit` names a key: one half plays the public file
that a steward drafts and rehearses with, the other the private register. Every command is run as a process of its own and
timed. Afterwards the released table is compared with the register (`register_figures.py`), beside two yardsticks: the public
half (real against real) and columns drawn one by one. What a command refuses is a result like any other, with its words.
`--fits 12` leaves out the rehearsal, which takes most of the time, and says how many of 12 fits to the register itself are
accepted. `--short` drafts, releases and compares, and prints one line: what two versions of the program are compared by.
`--write` puts one row into docs/appendix/registers.csv and writes the table of docs/appendix/registers.md from that file. A
register whose folder is there already is left out, so that a list goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np

import synthrelease
from synthrelease.enclave.csv import open_text
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.public_file import read_public_file
from tests.benchmarks.register_figures import SEED, Compared, compared, means

_NAMED = 3
"""So many of the lost pairs are named."""
TABLE = Path(__file__).resolve().parents[2] / "docs" / "appendix" / "registers.csv"
COMPARED = {"the release": "release", "real against real": "half", "independent columns": "independent"}
COLUMNS = (
    *("register", "date", "init_options", "columns", "rows_released", "rows", "rows_used", "criteria", "epsilon", "delta"),
    *("accepted", "preserved", "strong_pairs", "lost_pairs", "lost_first"),
    *(f"{what}_{size}" for what in COMPARED.values() for size in (1, 2, 3)),
    *("number_columns", "mean_error", "mean_error_max", "mean_error_of_edges", "mean_error_of_edges_max"),
    *("cpu_init", "cpu_all", "peak_mb", "refused"),
)
"""The columns of the data file; docs/appendix/registers.md explains them."""


@dataclass(frozen=True, kw_only=True)
class Register:
    """A public table that plays a register; `unit` and `codebook` are given to `init` where they are there."""

    file: Path
    name: str
    title: str
    unit: str | None = None
    codebook: Path | None = None

    @property
    def told(self) -> tuple[str, ...]:
        """What `init` is told beside the file."""
        codebook = ("--codebook", str(self.codebook.resolve())) if self.codebook else ()
        return (*codebook, *(("--unit", self.unit) if self.unit else ()))

    @property
    def key(self) -> str | None:
        """The column whose value the rows of one person share."""
        return None if self.unit in (None, "row") else str(self.unit).partition(":")[0]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command: its exit code, its time on the clock and of the processors in seconds, and its largest memory in MB."""

    command: str
    code: int
    wall: float
    processor: float
    megabytes: float
    output: str


_LAUNCHER = """
import json, os, resource, sys, time
start = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
found = [status, time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]
open(os.environ["MEASURED"], "w").write(json.dumps(found))
"""
"""A small process that measures another one: the largest memory of a process counts from what its parent had."""


def run(folder: Path, *arguments: str) -> Step:
    """Run `synthrelease` with these arguments in this folder."""
    measured = folder / "measured.json"
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "COLUMNS": "160", "MEASURED": str(measured.resolve())}
    command = [sys.executable, "-S", "-c", _LAUNCHER, sys.executable, "-m", "synthrelease", *arguments]
    output = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    ).stdout
    code, wall, processor, megabytes = json.loads(measured.read_text())
    step = Step(command=arguments[0], code=code, wall=wall, processor=processor, megabytes=megabytes, output=output)
    print(f"{step.command:10} exit {code}  {wall:6.0f} s  {processor:6.0f} CPU s  {megabytes:6.0f} MB", flush=True)
    if code:
        print(output, flush=True)
    return step


def halves(register: Register, folder: Path, random: np.random.Generator) -> tuple[Path, Path]:
    """Two files of the format of one, with each row in either; the rows of one person are in the same."""
    suffix = "".join(register.file.suffixes[-2:])
    public, private = folder / f"public{suffix}", folder / f"register{suffix}"
    divide = _statistical_halves if register.file.suffix in (".sav", ".dta") else _csv_halves
    divide(register, (public, private), random)
    return public, private


def _sides(keys: Sequence[object], random: np.random.Generator) -> np.ndarray:
    """For every row, which of the halves it is in: 0 or 1."""
    _, person = np.unique(np.array(keys, dtype=str), return_inverse=True)
    return (random.permutation(int(person.max()) + 1) % 2)[person]


def _csv_halves(register: Register, paths: tuple[Path, Path], random: np.random.Generator) -> None:
    found = read_public_file(register.file)
    with register.file.open("rb") as start:
        compressed = start.read(2) == b"\x1f\x8b"
    with open_text(register.file, found.input.encoding, compressed) as text:
        rows = csv.reader(text, delimiter=found.input.delimiter, skipinitialspace=True)
        header, *records = filter(None, rows)
    key = header.index(register.key) if register.key else None
    sides = _sides([n if key is None else record[key] for n, record in enumerate(records)], random)
    for side, path in enumerate(paths):
        with (gzip.open if compressed else open)(path, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=found.input.delimiter)
            writer.writerow(header)
            writer.writerows(record for record, of in zip(records, sides, strict=True) if of == side)


def _statistical_halves(register: Register, paths: tuple[Path, Path], random: np.random.Generator) -> None:
    import pyreadstat

    stata = register.file.suffix == ".dta"
    table, known = (pyreadstat.read_dta if stata else pyreadstat.read_sav)(register.file, user_missing=True)
    sides = _sides(list(table[register.key] if register.key else range(len(table))), random)
    labels = {"column_labels": known.column_names_to_labels, "variable_value_labels": known.variable_value_labels}
    for side, path in enumerate(paths):
        (pyreadstat.write_dta if stata else pyreadstat.write_sav)(table[sides == side], str(path), **labels)


def steward(register: Register, folder: Path, fits: int, jobs: int) -> dict[str, str]:
    """The whole way of one register, with a rehearsal or, where `fits` is not 0, so many fits: its row of the data file."""
    folder.mkdir(parents=True)
    name = register.name
    public, private = halves(register, folder, np.random.default_rng(SEED))
    configuration, ledger = f"configs/{name}.toml", "register.ledger"
    tried = ("--jobs", str(jobs))
    commands: Sequence[tuple[str, ...]] = (
        ("init", name, "--from", public.name, *register.told),
        ("plan", configuration),
        *([] if fits else [("rehearse", configuration, "--data", public.name, "--out", "rehearsal", *tried)]),
        ("ledger", "open", ledger, "--dataset", name, "--limit", "20", "--delta-limit", "1e-8"),
        ("check", configuration, "--data", private.name),
        ("release", configuration, "--data", private.name, "--out", "released", "--ledger", ledger, *tried),
        ("verify", "released"),
    )  # fmt: skip
    steps = list[Step]()
    for arguments in commands:
        steps.append(run(folder, *arguments))
        if steps[-1].code:
            return {**_of_commands(register, steps), "refused": _refusal(steps[-1])}
    if question := _question(folder):
        steps.append(run(folder, "bound", "released", question))
    found = compared(folder, name, (public, private), fits)
    results = _results(folder, name, found, steps)
    return {
        **_of_commands(register, steps),
        **{what: str(value) for what, value in {**results, **means(folder, name, private)}.items()},
        "rows": str(read_public_file(private).n_rows),
    }


def short(register: Register, folder: Path) -> str:
    """Draft and release one register alone: its line of a table that compares versions."""
    folder.mkdir(parents=True)
    name = register.name
    public, private = halves(register, folder, np.random.default_rng(SEED))
    steps = list[Step]()
    for arguments in (
        ("init", name, "--from", public.name, *register.told),
        ("ledger", "open", "register.ledger", "--dataset", name, "--limit", "20", "--delta-limit", "1e-8"),
        ("release", f"configs/{name}.toml", "--data", private.name, "--out", "released", "--ledger", "register.ledger"),
    ):
        steps.append(run(folder, *arguments))
        if steps[-1].code:
            return f"| {register.title} | {_refusal(steps[-1]).replace('|', '/')} | | | | | {steps[0].processor:.0f} |"
    found, released = compared(folder, name, (public, private), 0), synthrelease.load(folder / "released")
    pairs = " / ".join(f"{of_pairs:.4f}" for _, of_pairs, _ in found.distances.values())
    epsilon, delta = float(released.guarantee.epsilon), float(released.guarantee.delta)
    return (
        f"| {register.title} | {released.n_rows:,} | {epsilon:.3g}, {delta:g} | {found.kept_in_words} "
        f"| {len(found.lost)} of {found.strong} | {pairs} | {steps[0].processor:.0f} |"
    )


def _question(folder: Path) -> str:
    """How many rows have the first category of the first column that has two to six of them; empty if none has."""
    released = synthrelease.load(folder / "released")
    asked = (c for c in released.schema if c.kind != "real" and 2 <= len(c.labels) <= 6 and c.kind != "integer")
    return next((f"{column.name} == {column.labels[0]!r}" for column in asked), "")


NOTHING = 3
"""The exit code of a search that ended with nothing."""


def _refusal(step: Step) -> str:
    """The words with which a command refused, without what it said of its progress."""
    lines = [line.strip() for line in step.output.splitlines() if line.strip() and not line.rstrip().endswith(" ...")]
    said = " ".join(lines)
    if step.code == NOTHING:
        text = said[said.rfind("The search found no acceptable table") :]
        return f"`{step.command}` ended with nothing (exit {step.code}): {text}"
    return f"`{step.command}` refused (exit {step.code}): {said[-600:] or 'without a word'}"


def _accepted(found: Compared, steps: Sequence[Step]) -> str:
    if found.accepted[1]:
        return "{} of {} fits".format(*found.accepted)
    share = re.search(r"│ +(\d+%) +│", next((s.output for s in steps if s.command == "rehearse"), ""))
    return f"{share[1] if share else 'few'} of the rehearsed"


def _results(folder: Path, name: str, found: Compared, steps: Sequence[Step]) -> dict[str, object]:
    spec, released = load_spec(folder / "configs" / f"{name}.toml"), synthrelease.load(folder / "released")
    return {
        "columns": len(spec.schema.columns),
        "rows_released": released.n_rows,
        "rows_used": found.n_kept,
        "criteria": len(spec.criteria),
        "epsilon": f"{float(released.guarantee.epsilon):g}",
        "delta": f"{float(released.guarantee.delta):g}",
        "accepted": _accepted(found, steps),
        "preserved": found.kept_in_words,
        "strong_pairs": found.strong,
        "lost_pairs": len(found.lost),
        "lost_first": "; ".join(f"{pair} ({v:.2f}, {ours:.2f})" for v, ours, pair in found.lost[:_NAMED]),
        **{
            f"{COMPARED[what]}_{size}": f"{value:.4f}"
            for what, values in found.distances.items()
            for size, value in enumerate(values, start=1)
        },
    }


def _of_commands(register: Register, steps: Sequence[Step]) -> dict[str, str]:
    return {
        "register": register.title,
        "date": date.today().isoformat(),
        "init_options": " ".join(Path(word).name for word in register.told),
        "cpu_init": f"{steps[0].processor:.0f}",
        "cpu_all": f"{sum(step.processor for step in steps):.0f}",
        "peak_mb": f"{max(step.megabytes for step in steps):.0f}",
    }


def read_table() -> list[dict[str, str]]:
    """The rows of docs/appendix/registers.csv."""
    return list(csv.DictReader(io.StringIO(TABLE.read_text(encoding="utf-8"))))


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """The table of the page."""
    lines = [
        "| register | columns | rows released | epsilon | associations preserved | lost pairs | CPU s of `init` |",
        "|---|--:|--:|--:|---|--:|--:|",
    ]
    for row in rows:
        if row["refused"]:
            lines.append(f"| {row['register']} | | | | no table was accepted | | {row['cpu_init']} |")
        else:
            pure = "" if float(row["delta"]) else ", pure"
            lines.append(
                f"| {row['register']} | {row['columns']} | {int(row['rows_released']):,} | {float(row['epsilon']):.3g}{pure} "
                f"| {row['preserved']} | {row['lost_pairs']} of {row['strong_pairs']} | {row['cpu_init']} |"
            )
    return "\n".join(lines)


def write(row: Mapping[str, str]) -> None:
    """Put the row into the data file, in place of an earlier one of the same register, and the table into the page."""
    known = {one["register"]: one for one in read_table()}
    rows = list({**known, row["register"]: {**dict.fromkeys(COLUMNS, ""), **row}}.values())
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    TABLE.write_text(text.getvalue(), encoding="utf-8")
    page = TABLE.with_suffix(".md")
    page.write_text(with_table(page.read_text(encoding="utf-8"), rows), encoding="utf-8")


def with_table(page: str, rows: Sequence[Mapping[str, str]]) -> str:
    """The page with the table between its two marks."""
    begin, end = "<!-- registers: begin -->", "<!-- registers: end -->"
    return re.sub(rf"{begin}.*{end}", lambda _: f"{begin}\n{table(rows)}\n{end}", page, flags=re.DOTALL)


def registers(path: Path, only: Sequence[str]) -> list[Register]:
    """What a list of registers names, in its order; a table is a list of one."""
    if path.suffix != ".toml":
        name = re.sub(r"\W+", "_", path.name.partition(".")[0]).strip("_").lower()
        return [Register(file=path, name=name, title=name)]
    found = []
    for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
        places = {what: path.parent / entry.pop(what) for what in ("file", "codebook") if what in entry}
        found.append(Register(**{"name": name, "title": name, **places, **entry}))
    return [each for each in found if not only or each.name in only]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", help="public tables, and lists of them")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="of a list this one alone; may be repeated")
    parser.add_argument("--title", help="of a single table")
    parser.add_argument("--unit", help="of every table: row, KEY or KEY:k, for `init`")
    parser.add_argument("--codebook", type=Path)
    parser.add_argument("--fits", type=int, default=0, help="in place of the rehearsal, so many fits to the register itself")
    parser.add_argument("--short", action="store_true", help="draft, release and compare alone, and print one line")
    parser.add_argument("--folder", type=Path, default=Path("registers"), help="where to work; a new folder of each name in it")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put each row into docs/appendix/registers.csv and the page")
    arguments = parser.parse_args()
    given = {what: value for what in ("title", "unit", "codebook") if (value := getattr(arguments, what))}
    for register in (each for path in arguments.files for each in registers(path, arguments.only)):
        register = replace(register, **given)
        folder = arguments.folder / register.name
        if folder.exists():
            print(f"--- {register.title}: {folder} is there already, left out", flush=True)
            continue
        print(f"--- {register.title}", flush=True)
        if arguments.short:
            print(short(register, folder), flush=True)
            continue
        row = steward(register, folder, arguments.fits, arguments.jobs)
        print(json.dumps(row, indent=1), flush=True)
        if arguments.write:
            write(row)


if __name__ == "__main__":
    main()
