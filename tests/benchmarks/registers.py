"""Whole releases of real registers, as a steward makes them: the draft of `synthrelease init`, untouched, to the bounds.

    python -m tests.benchmarks.registers FILE [--name NAME] [--codebook FILE] [--folder DIR] [--jobs 2] [--write PAGE]

The rows of a public CSV file are divided at random: one half plays the public file that a steward drafts and rehearses with,
the other the private register. Every command is run as a process of its own and timed. Afterwards the released table is
compared with the register, beside two yardsticks: the public half (real against real) and columns drawn one by one. `--write`
puts the results into a section of their own of that page.

Distances are total variation: the share of rows that are in a wrong cell of a table, on average over all tables of one, two and
three columns, in the released bins (of three columns, 300 tables drawn at random where there are more).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from pathlib import Path

import numpy as np

import synthrelease
from synthrelease.domain.counts import Counts
from synthrelease.domain.lattice import lattice
from synthrelease.drafting.public_file import read_public_file
from synthrelease.enclave.csv_blocks import open_text
from synthrelease.enclave.ingest import read_public
from synthrelease.rehearsal.yardsticks import independent_columns
from synthrelease.specification.spec import load_spec

_MOST_TRIPLES = 300
_SEED = 20261122


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


def halves(source: Path, folder: Path, random: np.random.Generator) -> tuple[Path, Path]:
    """Two CSV files with the rows of one, each row in either."""
    found = read_public_file(source)
    with source.open("rb") as start:
        compressed = start.read(2) == b"\x1f\x8b"
    public, private = folder / "public.csv.gz", folder / "register.csv.gz"
    with open_text(source, found.encoding, compressed) as text:
        rows = csv.reader(text, delimiter=found.input.delimiter, skipinitialspace=True)
        header, *records = filter(None, rows)
    sides = random.permutation(len(records)) % 2
    for path, side in ((public, 0), (private, 1)):
        with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(record for record, of in zip(records, sides, strict=True) if of == side)
    return public, private


def distances(first: Counts, second: Counts, random: np.random.Generator) -> tuple[float, float, float]:
    """Mean total variation distance over the tables of one, two and three columns."""
    left, right, columns = lattice(first), lattice(second), range(len(first.layout.sizes))
    found = []
    for size in (1, 2, 3):
        tables = list(combinations(columns, size))
        if len(tables) > _MOST_TRIPLES and size == 3:
            tables = [tables[place] for place in random.choice(len(tables), _MOST_TRIPLES, replace=False)]
        apart = [np.abs(left.get(t) / first.total - right.get(t) / second.total).sum() / 2 for t in tables]
        found.append(float(np.mean(apart)))
    return found[0], found[1], found[2]


def compared(folder: Path, name: str) -> dict[str, tuple[float, float, float]]:
    """Distances to the register of the released table, of the public half and of independent columns."""
    spec = load_spec(folder / "configs" / f"{name}.toml")
    released = synthrelease.load(folder / "released")
    transformation = next(
        each for each in spec.space.transformations
        if all(set(c.labels) <= set(b.labels) for c, b in zip(released.schema, each.binnings, strict=True))
    )  # fmt: skip
    layout, random = transformation.layout, np.random.default_rng(_SEED)
    tables = {
        side: read_public(folder / f"{side}.csv.gz", spec.schema, spec.input, spec.raw).merge(layout, transformation.maps)
        for side in ("register", "public")
    }
    places = [
        np.array([binning.labels.index(label) for label in column.labels])
        for column, binning in zip(released.schema, transformation.binnings, strict=True)
    ]
    made = Counts.of(layout, [place[column] for place, column in zip(places, released.codes.T, strict=True)])
    register = tables["register"]
    against = {
        "the release": made,
        "real against real": tables["public"],
        "independent columns": independent_columns(register, random),
    }
    return {what: distances(table, register, np.random.default_rng(_SEED)) for what, table in against.items()}


def means(folder: Path, name: str) -> str:
    """How far means of the released table are from those of the register's own values, in words."""
    spec, released = load_spec(folder / "configs" / f"{name}.toml"), synthrelease.load(folder / "released")
    texts, off = read_public_file(folder / "register.csv.gz").columns, list[tuple[float, float]]()
    for place, column in enumerate(released.schema):
        read = spec.schema[column.name]
        if read.bounds is None or read.part or read.minus:
            continue
        missing = {*spec.input.missing_values, *read.missing_values}
        given = {text.strip(): times for text, times in texts[read.source].items() if text and text.strip() not in missing}
        values, rows = np.clip(np.array([*map(float, given)]), *read.bounds), np.array([*given.values()])
        mean = np.average(values, weights=rows)
        spread = np.sqrt(np.average((values - mean) ** 2, weights=rows))
        n_bins, last = len(column.lower), 1 if column.kind == "integer" else 0
        bins = np.bincount(released.codes[:, place], minlength=len(column.labels))[:n_bins]
        ends = zip(column.lower, column.upper, strict=True)
        plain = [high if low == -np.inf else low if high == np.inf else (low + high - last) / 2 for low, high in ends]
        ours = [np.average(np.array(numbers, dtype=float), weights=bins) for numbers in (column.numbers[:n_bins], plain)]
        off.append((abs(ours[0] - mean) / spread, abs(ours[1] - mean) / spread))
    stated, edges = zip(*off, strict=True)
    return (
        f"Means of its {len(off)} columns of numbers are, by the released numbers, {np.mean(stated):.3f} standard deviations "
        f"from those of the register's own values, {max(stated):.3f} at most; by middles and edges of bins in place of the "
        f"drafted numbers it would be {np.mean(edges):.3f} and {max(edges):.3f}."
    )


def steward(source: Path, name: str, codebook: Path | None, folder: Path, jobs: int, unit: str = "row") -> str:
    """The whole way; a section of the page. `unit` answers how rows belong to persons, as `init --unit` does."""
    folder.mkdir(parents=True)
    public, private = halves(source, folder, np.random.default_rng(_SEED))
    told = ("--codebook", str(codebook.resolve())) if codebook else ()
    configuration, ledger = f"configs/{name}.toml", "register.ledger"
    tried = ("--jobs", str(jobs))
    commands: Sequence[tuple[str, ...]] = (
        ("init", name, "--from", public.name, "--unit", unit, *told),
        ("plan", configuration),
        ("rehearse", configuration, "--data", public.name, "--out", "rehearsal", *tried),
        ("ledger", "open", ledger, "--dataset", name, "--limit", "20"),
        ("check", configuration, "--data", private.name),
        ("release", configuration, "--data", private.name, "--out", "released", "--ledger", ledger, *tried),
        ("verify", "released"),
    )  # fmt: skip
    steps = []
    for arguments in commands:
        steps.append(run(folder, *arguments))
        if steps[-1].code:
            break
    if not steps[-1].code:
        steps.append(run(folder, "bound", "released", _question(folder)))
    return _section(folder, name, steps)


def _question(folder: Path) -> str:
    """How many rows have the first category of the first column that has two to six of them."""
    released = synthrelease.load(folder / "released")
    column = next(c for c in released.schema if c.kind != "real" and 2 <= len(c.labels) <= 6 and c.kind != "integer")
    return f"{column.name} == {column.labels[0]!r}"


def _section(folder: Path, name: str, steps: Sequence[Step]) -> str:
    lines = [f"## {name}", ""]
    if not steps[-1].code:
        spec, released = load_spec(folder / "configs" / f"{name}.toml"), synthrelease.load(folder / "released")
        accepted = next((s.output for s in steps if s.command == "rehearse"), "")
        share = re.search(r"│ +(\d+%) +│", accepted)
        lines += [
            f"{len(spec.schema.columns)} columns and {released.n_rows:,} rows released; {len(spec.criteria)} criteria; epsilon "
            f"{float(released.guarantee.epsilon):g}. Of the rehearsed candidates {share[1] if share else 'few'} were accepted.",
            "",
            "| mean distance to the register | one column | two columns | three columns |",
            "|---|---|---|---|",
        ]
        lines += [f"| {what} | {a:.4f} | {b:.4f} | {c:.4f} |" for what, (a, b, c) in compared(folder, name).items()]
        lines += ["", means(folder, name), ""]
    lines += ["| command | exit code | seconds | CPU seconds | MB |", "|---|---|---|---|---|"]
    lines += [f"| {s.command} | {s.code} | {s.wall:.0f} | {s.processor:.0f} | {s.megabytes:.0f} |" for s in steps]
    return "\n".join([*lines, ""])


def write(page: Path, name: str, section: str) -> None:
    """Put the section into the page, in place of an earlier one of the same name."""
    text = page.read_text(encoding="utf-8")
    machine = f"{platform.system()}, Python {platform.python_version()}, {os.cpu_count()} cores, {date.today().isoformat()}"
    section = section.replace("\n\n", f"\n\n*{machine}*\n\n", 1)
    before, found, after = text.partition(f"## {name}\n")
    rest = re.search(r"^## ", after, re.MULTILINE)
    after = after[rest.start() :] if rest else ""
    page.write_text((before if found else f"{text.rstrip()}\n\n") + section + (f"\n{after}" if after else ""), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="a public CSV file, also gzip")
    parser.add_argument("--name", default="register", help="of the draft and of the section")
    parser.add_argument("--codebook", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("registers"), help="where to work; a new folder of the name in it")
    parser.add_argument("--unit", default="row", help="row, KEY or KEY:3")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", type=Path, help="a page to put the section into")
    arguments = parser.parse_args()
    folder = arguments.folder / arguments.name
    section = steward(arguments.file, arguments.name, arguments.codebook, folder, arguments.jobs, arguments.unit)
    print(section)
    if arguments.write:
        write(arguments.write, arguments.name, section)


if __name__ == "__main__":
    main()
