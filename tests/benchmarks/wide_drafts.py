"""How long `init` takes on made-up public files of many columns.

    python -m tests.benchmarks.wide_drafts FOLDER [--rows 50000] [--columns 50] [--only groups|tied|survey] [--important A,B]
    python -m tests.benchmarks.wide_drafts FOLDER --rows 100000 --columns 1000 --only survey --important outcome0,region

Columns of a group depend on one hidden number of each row (`wide_register.made_up`). `groups` has ten independent groups. In
`tied`, one hidden number ties all columns. `survey` is like a health survey: a region, an age, three outcomes, and blocks of 25
questions. All blocks depend on the health of the person, each outcome on six blocks, and a question has gaps.

Each `init` is a process of its own. The program prints its CPU seconds, its peak memory, the longest time without output, and
the lines about what the draft preserves.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.benchmarks.wide_register import SIZES, made_up, write_csv

HIDDEN = {"groups": 10, "tied": 1}
"""How many hidden numbers each table has."""
BLOCK, OF_OUTCOME, OUTCOMES = 25, 6, 3


def survey(rows: int, columns: int, seed: int) -> Iterator[pa.Table]:
    """Yield rows of a made-up health survey, some at a time. About 3% of the answers are missing."""
    random = np.random.default_rng(seed)
    blocks = -(-(columns - OUTCOMES - 2) // BLOCK)
    behind = [random.choice(blocks, min(OF_OUTCOME, blocks), replace=False) for _ in range(OUTCOMES)]
    for start in range(0, rows, 20_000):
        n = min(20_000, rows - start)
        health, region = random.normal(size=n), random.integers(12, size=n)
        age = np.clip(50 + 12 * health + 14 * random.normal(size=n), 18, 99).astype(int)
        hidden = 0.4 * health[:, None] + random.normal(size=(n, blocks))
        table: dict[str, np.ndarray] = {"region": region, "age": age}
        for number, places in enumerate(behind):
            score = hidden[:, places].sum(axis=1) / 2 + region / 12 + random.normal(size=n)
            table[f"outcome{number}"] = (score > 1.5).astype(int)
        for place in range(columns - len(table)):
            block, size = place // BLOCK, SIZES[place % len(SIZES)]
            value = ((0.3 + 1.2 * (place % BLOCK) / BLOCK) * hidden[:, block] + random.normal(size=n)) / 2
            table[f"q{block:02d}_{place % BLOCK:02d}"] = (np.clip((value + 2) / 4, 0, 0.999999) * size).astype(int)
        gaps = {name: random.random(n) < (0.03 if name.startswith("q") else 0) for name in table}
        yield pa.table({name: pa.array(values, mask=gaps[name]) for name, values in table.items()})


def write_public(folder: Path, name: str, rows: int, columns: int) -> Path:
    """Write one of the public files."""
    if name == "survey":
        path, tables = folder / "survey.csv", survey(rows, columns, 1)
        first = next(tables)
        write_csv(path, first.column_names, chain([first], tables))
        return path
    sizes, names = [SIZES[place % len(SIZES)] for place in range(columns)], [f"c{place:02d}" for place in range(columns)]
    path = folder / f"{name}.csv"
    write_csv(path, names, (pa.table(block, names) for block in made_up(sizes, rows, 1, HIDDEN[name])))
    return path


def draft(folder: Path, public: Path, important: str) -> str:
    """Run `synthrelease init` and say what it took and what it came to."""
    command = [sys.executable, "-u", "-m", "synthrelease", "init", public.stem, "--from", public.name, "--unit", "row"]
    command += ["--important", important] if important else []
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "COLUMNS": "200"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines, said, silence = list[str](), time.perf_counter(), 0.0
    for line in process.stdout or ():
        silence, said = max(silence, time.perf_counter() - said), time.perf_counter()
        lines.append(line.rstrip())
    _, status, used = os.wait4(process.pid, 0)
    words = [line for line in lines if "The plan costs" in line or "keep" in line]
    return (
        f"{public.stem}: exit {os.waitstatus_to_exitcode(status)}, {used.ru_utime + used.ru_stime:.1f} CPU s, "
        f"{used.ru_maxrss / 1024:.0f} MB, silent for {silence:.0f} s at most\n  " + "\n  ".join(words)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--only", choices=[*HIDDEN, "survey"])
    parser.add_argument("--important", default="")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in [arguments.only] if arguments.only else HIDDEN:
        public = write_public(arguments.folder, name, arguments.rows, arguments.columns)
        print(draft(arguments.folder, public, arguments.important), flush=True)


if __name__ == "__main__":
    main()
