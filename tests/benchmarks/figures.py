"""The figures of whole commands and of counting, beside other programs, in one run: the table of docs/appendix/benchmarks.md.

    python -m tests.benchmarks.figures [--runs 5] [--columns 60] [--rows 1000000] [--wide 2000] [--keep FILE.jsonl]
        [--peers-python PYTHON] [--adult adult.csv.gz [--dpmm-python PYTHON] [--dpsynth-python PYTHON]] [--only WORD ...]
    python -m tests.benchmarks.figures --table

Commands are measured as processes: the median of the processor seconds, user and system together with child processes, and the
peak memory of the largest process. Thresholds of the births, and that of the one criterion of 1,000 columns, are so large that
every release has one round, since its number is hidden. Counting is measured by `scale.py`, beside pyarrow, polars and duckdb
where they are installed; a ratio is their processor seconds by ours. With --adult one fit of `adaptive` to its 14 columns, with
its rows, is measured by `comparison.py` beside the AIM of dpmm and SWIFT of dpsynth, where a Python that has them is named: a
fit of theirs takes minutes. --only measures some of the parts `start`, `births`, `counting`, `thousand`, `million`, `fits`.

Each figure is added to the file of --keep as soon as it is measured, with its date, commit and load, so that a run that was
stopped can go on with --only. The lines of the documentation are in figures.jsonl beside this file. --table writes the table of
the page from the newest line of each task. `make test-long` adds its lines to figures-nightly.jsonl, and prints how they
compare with the documented lines.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from synthrelease.resources import commit
from tests.benchmarks.scale import COUNTS, ours, peer
from tests.benchmarks.scale_tables import ROOT
from tests.benchmarks.wide_register import chain, write_register

PAGE, HEADING = ROOT / "docs" / "appendix" / "benchmarks.md", "## The figures of one run"
LINES = Path(__file__).with_suffix(".jsonl")
PARTS = ("start", "births", "counting", "thousand", "million", "fits")
BIRTHS = ROOT / "public_data" / "births_surrogate.csv.gz"
LOOSE = {"0.005": 0.3, "0.01": 0.3, "0.05": 0.5, "0.3": 8, "1": 18, "1.4": 1.9, "5": 3000, "30": 3000, "100": 3000}
"""A threshold that every round meets, for each threshold of acceptance/births.toml."""
ONE_CRITERION = """[[criteria]]
name = "marginals"
kind = "absolute_marginal_error"
largest = 1
threshold = 0.9
epsilon = 0.1
"""
Line = dict[str, Any]
"""What was measured (`task`), processor seconds, peak megabytes, number of runs, and how other programs compare (`others`)."""


STARTER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)
sys.exit(code)
"""
"""Starts a command from a small process: the system counts what a process held before it became the command."""


def line_of(task: str, seconds: float, megabytes: float, runs: int = 1, others: str = "") -> Line:
    return {"task": task, "seconds": round(seconds, 3), "megabytes": int(megabytes), "runs": runs, "others": others}


def line_of_runs(task: str, results: Sequence[tuple[float, int]]) -> Line:
    """Return the line of several runs of a command: the median of the seconds, the largest memory."""
    return line_of(task, median(cpu for cpu, _ in results), max(peak for _, peak in results), len(results))


def one_run(command: Sequence[object]) -> tuple[float, int]:
    """Return processor seconds and peak megabytes of a command. Raises RuntimeError when it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = [sys.executable, "-S", "-c", STARTER, sys.executable, "-m", "synthrelease", *map(str, command)]
    ended = subprocess.run(started, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {ended.stderr[-2000:]}")
    seconds, megabytes = ended.stdout.split()
    return float(seconds), int(megabytes)


def commands(name: str, config: Path, data: Path, folder: Path, runs: int, warm: int = 1) -> Iterator[Line]:
    """Yield the figures of plan, check, release and verify, after `warm` runs of each, which compile."""
    out = folder / "out"
    steps = {
        "plan": ("plan", config),
        "check": ("check", config, "--data", data),
        "release": ("release", config, "--data", data, "--unrehearsed", "--out"),
    }
    for step, command in steps.items():
        results = []
        for run in range(runs + warm):
            results.append(one_run([*command, f"{out}{run}"] if step == "release" else command))
        yield line_of_runs(f"`{step}`, {name}", results[warm:])
    yield line_of_runs(f"`verify`, {name}", [one_run(["verify", f"{out}0"]) for _ in range(runs + warm)][warm:])


def counting(folder: Path, columns: int, rows: int, python: str) -> Iterator[Line]:
    """Yield the figures of counting a table, each format beside the other programs."""
    maker = [sys.executable, "-m", "tests.benchmarks.scale_tables", folder, "--columns", columns, "--rows", rows]
    subprocess.run(list(map(str, maker)), check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    for kind in ("csv", "parquet"):
        line = ours(folder, f"count-{kind}")[0]
        beside = []
        for name in COUNTS:
            try:
                other = peer(folder, name, folder / f"data.{kind}", python)
            except RuntimeError:
                continue
            if other.get("same", line["same"]) != line["same"]:
                raise RuntimeError(f"{name} counts {other['same']}, we {line['same']}")
            if "seconds" in other:
                beside.append(f"{name} {other['seconds'] / line['seconds']:.1f} times, {other['peak_mb']:.0f} MB")
        task = f"counting {kind}, {columns} columns, {rows:,} rows"
        yield line_of(task, line["seconds"], line["peak_mb"], others="; ".join(beside))


def fits(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Yield the figure of one fit with its rows to Adult at epsilon 1 and delta 1e-9, beside other programs."""
    lines = {}
    pythons = {"adaptive": sys.executable, "AIM (dpmm)": options.dpmm_python, "SWIFT (dpsynth)": options.dpsynth_python}
    for name, python in pythons.items():
        if python:
            measured = ("--one", "--table", "adult", "--only", name, "--data", options.adult, "--epsilon", 1)
            needed = ("--dpmm-python", python, "--dpsynth-python", python, "--results", folder / "unused")
            command = [sys.executable, "-m", "tests.benchmarks.comparison", *map(str, (*measured, *needed))]
            ended = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
            lines[name] = json.loads(ended.stdout.splitlines()[-1])
    mine = lines.pop("adaptive")
    beside = [
        f"{name} {line['version']} {line['seconds'] / mine['seconds']:.0f} times, {line['megabytes']:.0f} MB, "
        f"error {line['3-way']:.3f}"
        for name, line in lines.items()
    ]
    others = "; ".join([f"`adaptive`: error of tables of three columns {mine['3-way']:.3f}", *beside])
    yield line_of("`adaptive`, one fit to Adult at epsilon 1", mine["seconds"], mine["megabytes"], others=others)


def loosened(folder: Path) -> Path:
    """Return a configuration of the births whose thresholds every round meets."""
    for place in ("configs", "acceptance"):
        (folder / place).mkdir()
        text = (ROOT / place / "births.toml").read_text(encoding="utf-8")
        if place == "acceptance":
            text = re.sub(r"^threshold = (\S+)", lambda found: f"threshold = {LOOSE[found[1]]}", text, flags=re.MULTILINE)
        (folder / place / "births.toml").write_text(text, encoding="utf-8")
    return folder / "configs" / "births.toml"


def figures(options: argparse.Namespace, parts: Collection[str]) -> Iterator[Line]:
    """Yield the line of every figure of these parts."""
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        if "start" in parts:
            yield line_of_runs("`--help`", [one_run(["--help"]) for _ in range(options.runs + 1)][1:])
        if "births" in parts:
            yield from commands("births, 160,000 rows", loosened(folder), BIRTHS, folder, options.runs)
        if "counting" in parts:
            (folder / "counted").mkdir()
            yield from counting(folder / "counted", 6, 160_000, options.peers_python)
        if "thousand" in parts and options.wide:
            wide = folder / "thousand"
            wide.mkdir()
            config = write_register(wide, 1000, options.wide, 1000, 'family = "marginals"\ntables = "c00:c04 + c01:c05"')
            (wide / "acceptance.toml").write_text(ONE_CRITERION)
            yield from commands(f"1,000 columns, {options.wide:,} rows", config, wide / "data.csv", wide, 1, warm=0)
        if "million" in parts and options.rows:
            wide = folder / "wide"
            wide.mkdir()
            config = write_register(wide, options.columns, options.rows, 1000, chain(options.columns))
            name = f"{options.columns} columns, {options.rows:,} rows"
            yield from commands(name, config, wide / "data.csv", wide, 1)
        if "fits" in parts and options.adult:
            yield from fits(folder, options)


def read_lines(file: Path) -> dict[str, Line]:
    """Return the newest line of each task of a file, in the order of the first lines."""
    lines: dict[str, Line] = {}
    for text in file.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        lines[line["task"]] = line
    return lines


def section(lines: Iterable[Line]) -> str:
    """Return the part of the page that these lines make."""
    table = [
        f"| {line['task']} | {line['seconds']:.2f} | {line['megabytes']} | {line['others']} | "
        f"{line['runs']} | {line['date']}, {line['commit']} | {line['load']:.0f} |"
        for line in lines
    ]
    return "\n".join(
        [
            HEADING,
            "",
            "`python -m tests.benchmarks.figures --table` writes this table from the newest line of each task in "
            "`tests/benchmarks/figures.jsonl`.",
            "`make figures` measures and adds the lines.",
            "The processor seconds are the median of the runs, and the memory is the largest.",
            'The column "other programs" has their processor seconds divided by the seconds of this program.',
            "A loaded machine needs more processor seconds for the same work, so compare only lines with a similar load.",
            "",
            "| command or task | processor seconds | peak MB | other programs | runs | date, commit | load |",
            "|---|---|---|---|---|---|---|",
            *table,
            "",
            "",
        ]
    )


def written(page: str) -> str:
    """Return the text of the page with the table of the present lines."""
    before, _, after = page.partition(HEADING)
    return before + section(read_lines(LINES).values()) + after[after.index("\n## ") + 1 :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--columns", type=int, default=60)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the wide register; 0 leaves it out")
    parser.add_argument("--wide", type=int, default=2000, help="rows of the table of 1,000 columns; 0 leaves it out")
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--adult", type=Path, help="a file of UCI Adult")
    parser.add_argument("--dpmm-python", help="a Python that has dpmm")
    parser.add_argument("--dpsynth-python", help="a Python that has dpsynth")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--keep", type=Path, help="add the lines to this file")
    parser.add_argument("--table", action="store_true", help="measure nothing, and write the table of the page")
    options = parser.parse_args()
    if options.table:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    documented = read_lines(LINES)
    for figure in figures(options, options.only):
        line = figure | {"date": f"{date.today():%Y-%m-%d}", "commit": commit()[:8], "load": round(os.getloadavg()[0], 1)}
        known = documented.get(line["task"])
        ratio = f"  {line['seconds'] / known['seconds']:.2f} of the documented seconds" if known else ""
        print(f"{line['task']:45} {line['seconds']:8.2f} s {line['megabytes']:6} MB  {line['others']}{ratio}", flush=True)
        if options.keep:
            with options.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
