"""How long `init` takes on two made-up public files of 50 columns: one with ten groups of columns, one with a single group.

    python -m tests.benchmarks.wide_drafts FOLDER [--rows 50000] [--columns 50] [--only groups|tied]

Columns of a group depend on one hidden number of each row (`wide_register.made_up`), and groups do not depend on each other: in
`tied` one hidden number ties all columns. Each `init` is a process of its own; its CPU seconds and its last words are printed,
and the longest time that it said nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa

from tests.benchmarks.wide_register import SIZES, made_up, write_csv

HIDDEN = {"groups": 10, "tied": 1}
"""How many hidden numbers each table has."""


def write_public(folder: Path, name: str, rows: int, columns: int) -> Path:
    """Write one of the two public files."""
    sizes, names = [SIZES[place % len(SIZES)] for place in range(columns)], [f"c{place:02d}" for place in range(columns)]
    path = folder / f"{name}.csv"
    write_csv(path, names, (pa.table(block, names) for block in made_up(sizes, rows, 1, HIDDEN[name])))
    return path


def draft(folder: Path, public: Path) -> str:
    """Run `synthrelease init` and say what it took and what it came to."""
    command = [sys.executable, "-u", "-m", "synthrelease", "init", public.stem, "--from", public.name, "--unit", "row"]
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
    parser.add_argument("--only", choices=list(HIDDEN))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in [arguments.only] if arguments.only else HIDDEN:
        print(draft(arguments.folder, write_public(arguments.folder, name, arguments.rows, arguments.columns)), flush=True)


if __name__ == "__main__":
    main()
