"""The figures of whole commands and of counting, beside other programs, in one run: the table of docs/appendix/benchmarks.md.

    python -m tests.benchmarks.figures [--runs 5] [--columns 60] [--rows 1000000] [--wide 2000] [--write]
        [--peers-python PYTHON] [--adult adult.csv.gz [--dpmm-python PYTHON] [--dpsynth-python PYTHON]]

Commands are measured as processes: the median of the processor seconds, user and system together with child processes, and the
peak memory of the largest process. Thresholds of the births, and that of the one criterion of 1,000 columns, are so large that
every release has one round, since its number is hidden. Counting is measured by `scale.py`, beside pyarrow, polars and duckdb
where they are installed; a ratio is their processor seconds by ours. With --adult one fit of `adaptive` to its 14 columns, with
its rows, is measured by `comparison.py` beside the AIM of dpmm and SWIFT of dpsynth, where a Python that has them is named: a
fit of theirs takes minutes. With --write the table replaces the one in the documentation.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from statistics import median

from synthrelease.resources import commit
from tests.benchmarks.scale import COUNTS, ours, peer
from tests.benchmarks.scale_tables import ROOT
from tests.benchmarks.wide_register import chain, write_register

PAGE, HEADING = ROOT / "docs" / "appendix" / "benchmarks.md", "## The figures of one run"
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
Figure = tuple[str, float, int, str]
"""What was measured, processor seconds, megabytes, and how others compare."""


STARTER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)
sys.exit(code)
"""
"""Starts a command from a small process: the system counts what a process held before it became the command."""


def one_run(command: Sequence[object]) -> tuple[float, int]:
    """Return processor seconds and peak megabytes of a command. Raises RuntimeError when it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = [sys.executable, "-S", "-c", STARTER, sys.executable, "-m", "synthrelease", *map(str, command)]
    ended = subprocess.run(started, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {ended.stderr[-2000:]}")
    seconds, megabytes = ended.stdout.split()
    return float(seconds), int(megabytes)


def commands(name: str, config: Path, data: Path, folder: Path, runs: int, warm: int = 1) -> Iterator[Figure]:
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
        yield f"`{step}`, {name}", median(cpu for cpu, _ in results[warm:]), max(peak for _, peak in results[warm:]), ""
    results = [one_run(["verify", f"{out}0"]) for _ in range(runs + warm)][warm:]
    yield f"`verify`, {name}", median(cpu for cpu, _ in results), max(peak for _, peak in results), ""


def counting(folder: Path, columns: int, rows: int, python: str) -> Iterator[Figure]:
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
        yield f"counting {kind}, {columns} columns, {rows:,} rows", line["seconds"], int(line["peak_mb"]), "; ".join(beside)


def fits(folder: Path, options: argparse.Namespace) -> Iterator[Figure]:
    """Yield the figure of one fit with its rows to Adult at epsilon 1 and delta 1e-9, beside other programs."""
    lines = {}
    pythons = {"adaptive": sys.executable, "AIM (dpmm)": options.dpmm_python, "SWIFT (dpsynth)": options.dpsynth_python}
    for name, python in pythons.items():
        if python:
            command = [sys.executable, "-m", "tests.benchmarks.comparison", "--one", "--table", "adult", "--only", name]
            command += ["--data", options.adult, "--epsilon", 1, "--dpmm-python", python, "--dpsynth-python", python]
            command += ["--results", folder / "unused"]
            ended = subprocess.run(list(map(str, command)), check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
            lines[name] = json.loads(ended.stdout.splitlines()[-1])
    mine = lines.pop("adaptive")
    beside = [
        f"{name} {line['version']} {line['seconds'] / mine['seconds']:.0f} times, {line['megabytes']:.0f} MB, "
        f"error {line['3-way']:.3f}"
        for name, line in lines.items()
    ]
    task = f"`adaptive`, a fit to Adult at epsilon 1, error of tables of three columns {mine['3-way']:.3f}"
    yield task, mine["seconds"], int(mine["megabytes"]), "; ".join(beside)


def loosened(folder: Path) -> Path:
    """Return a configuration of the births whose thresholds every round meets."""
    for place in ("configs", "acceptance"):
        (folder / place).mkdir()
        text = (ROOT / place / "births.toml").read_text(encoding="utf-8")
        if place == "acceptance":
            text = re.sub(r"^threshold = (\S+)", lambda found: f"threshold = {LOOSE[found[1]]}", text, flags=re.MULTILINE)
        (folder / place / "births.toml").write_text(text, encoding="utf-8")
    return folder / "configs" / "births.toml"


def figures(options: argparse.Namespace) -> Iterator[Figure]:
    """Yield every figure."""
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        results = [one_run(["--help"]) for _ in range(options.runs + 1)][1:]
        yield "`--help`", median(cpu for cpu, _ in results), max(peak for _, peak in results), ""
        yield from commands("births, 160,000 rows", loosened(folder), BIRTHS, folder, options.runs)
        (folder / "counted").mkdir()
        yield from counting(folder / "counted", 6, 160_000, options.peers_python)
        if options.adult:
            yield from fits(folder, options)
        if options.wide:
            wide = folder / "thousand"
            wide.mkdir()
            config = write_register(wide, 1000, options.wide, 1000, 'family = "marginals"\ntables = "c00:c04 + c01:c05"')
            (wide / "acceptance.toml").write_text(ONE_CRITERION)
            yield from commands(f"1,000 columns, {options.wide:,} rows", config, wide / "data.csv", wide, 1, warm=0)
        if options.rows:
            wide = folder / "wide"
            wide.mkdir()
            config = write_register(wide, options.columns, options.rows, 1000, chain(options.columns))
            name = f"{options.columns} columns, {options.rows:,} rows"
            yield from commands(name, config, wide / "data.csv", wide, 1)


def section(found: Sequence[Figure], runs: int, load: float, rows: int) -> str:
    """Return the part of the page."""
    given = f" --runs {runs}" * (runs != 5) + f" --rows {rows}" * (rows != 1_000_000)
    lines = [
        HEADING,
        "",
        f"We ran `python -m tests.benchmarks.figures --write{given}` on {date.today():%Y-%m-%d}, commit {commit()}, "
        f"on {os.cpu_count()} processors with a load of {load:.0f}.",
        f"The table shows {f'the median of {runs} runs' if runs > 1 else 'one run'} of each command; "
        "larger tables had one run.",
        "The last column compares other programs with this program.",
        "",
        "| command or task | processor seconds | peak MB | other programs |",
        "|---|---|---|---|",
        *(f"| {name} | {seconds:.2f} | {peak} | {beside} |" for name, seconds, peak, beside in found),
        "",
        "",
    ]
    return "\n".join(lines)


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
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    load, found = os.getloadavg()[0], list[Figure]()
    for figure in figures(options):
        print(f"{figure[0]:45} {figure[1]:8.2f} s {figure[2]:6} MB  {figure[3]}", flush=True)
        found.append(figure)
    made = section(found, options.runs, load, options.rows)
    if options.write:
        before, _, after = PAGE.read_text(encoding="utf-8").partition(HEADING)
        PAGE.write_text(before + made + after[after.index("\n## ") + 1 :], encoding="utf-8")
    else:
        print(made)


if __name__ == "__main__":
    main()
