"""Every phase of a release for tables of several sizes, beside its limit and beside other programs, in one run.

    python -m tests.benchmarks.scale [--tables 6x160000 ...] [--phases release verify] [--fits 6x160000 ...]
        [--peers-python PYTHON] [--seconds 120]

Tables are made in a temporary folder and measured one by one, every line in a process of its own; `scale_phases.py` says what
the limits are. Counts of pyarrow, polars and duckdb must be the same as ours. Models of mbi, dpmm and DataSynthesizer are
fitted to the bins of the tables of --fits, for their time alone: they ask other questions than ours. A program that is neither
installed here nor for PYTHON (`pip install -r requirements/peers.txt`, in an environment of its own) is skipped with a line
that says so; a fit that takes more than --seconds of the processor is stopped. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.benchmarks.scale_tables import ROOT

PEERS = Path(__file__).with_name("scale_peers.py")
COUNTS, FITS = ("pyarrow", "polars", "duckdb"), ("mbi", "dpmm", "DataSynthesizer")
PHASES = ("count", "attempt", "release", "verify")
"""`verify` needs the `release` of the same run."""
TABLES = ("6x160000", "6x1600000", "6x16000000", "20x160000", "20x1600000", "60x160000", "60x1000000")
Line = dict[str, Any]


def run(command: list[str], seconds: int | None = None) -> str:
    """What a program prints last; empty where one process of it took more than so many seconds, or the clock ten times as many.

    Under such a limit Linux tells the time of a process in steps of some milliseconds, so only long work gets one.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    if seconds is not None:
        command = ["sh", "-c", f'ulimit -t {seconds}; exec "$@"', "sh", *command]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment, start_new_session=True
    ) as process:
        try:
            printed, problem = process.communicate(timeout=None if seconds is None else 10 * seconds)
        except subprocess.TimeoutExpired:  # a pool of processes starts new ones for those that were stopped
            os.killpg(process.pid, signal.SIGKILL)
            return ""
    if process.returncode < 0 or process.returncode == 137:
        return ""
    if process.returncode:
        raise RuntimeError(problem[-2000:])
    return printed.splitlines()[-1]


def ours(folder: Path, what: str) -> list[Line]:
    return list(json.loads(run([sys.executable, "-m", "tests.benchmarks.scale_phases", str(folder), what])))


def peer(folder: Path, name: str, file: Path, python: str, seconds: int | None = None) -> Line:
    """The line of another program, run by this Python where that has it."""
    chosen = sys.executable if find_spec(name) is not None else python
    found = run([chosen, str(PEERS), str(folder), name, str(file)], seconds)
    return {"phase": name} | (json.loads(found) if found else {"skipped": f"stopped after {seconds} s"})


def show(line: Line, per: int) -> None:
    """One line of the table; `per` rows make the last column."""
    if "seconds" not in line:
        print(f"| {line['phase']} | {line.get('skipped', '')} | | | |", flush=True)
        return
    rate = f"{per / line['seconds'] / 1e6:.2f}" if per else ""
    limit = "" if line.get("limit") is None else f"{line['limit']:.2g}"
    print(f"| {line['phase']} | {line['seconds']:.2g} | {limit} | {line['peak_mb']:.0f} | {rate} |", flush=True)


def compare(folder: Path, kind: str, rows: int, python: str) -> None:
    """Our count, and others'."""
    line = ours(folder, f"count-{kind}")[0]
    size = (folder / f"data.{kind}").stat().st_size
    first = f"; the first time {line['first']:.2f}" if line["first"] != line["seconds"] else ""
    show(line | {"phase": f"**{line['phase']}** ({size / 1e6:.0f} MB{first})"}, rows)
    for name in COUNTS:
        other = peer(folder, name, folder / f"data.{kind}", python)
        if other.get("same", line["same"]) != line["same"]:
            raise RuntimeError(f"{name} counts {other['same']}, we {line['same']}")
        show(other, rows)


def table(folder: Path, text: str, options: argparse.Namespace) -> None:
    columns, rows = (int(part) for part in text.split("x"))
    maker = [sys.executable, "-m", "tests.benchmarks.scale_tables", str(folder), "--columns", str(columns), "--rows", str(rows)]
    subprocess.run(maker, check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    print(f"\n### {columns} columns, {rows:,} rows\n", flush=True)
    print("| phase | processor seconds | its limit | peak MB | million rows per second |\n|---|---|---|---|---|", flush=True)
    for kind in ("csv", "parquet") if "count" in options.phases else ():
        compare(folder, kind, rows, options.peers_python)
    for what in [each for each in PHASES if each in options.phases and each != "count"]:
        for line in ours(folder, what):
            show(line, 0)
    if text in options.fits:
        ours(folder, "bins")
        for name in FITS:
            show(peer(folder, name, folder / "rows.npz", options.peers_python, options.seconds), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--phases", nargs="*", choices=PHASES, default=PHASES)
    parser.add_argument("--fits", nargs="*", default=("6x160000", "20x160000"))
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--seconds", type=int, default=120, help="of the processor, for each fit of another program")
    options = parser.parse_args()
    for text in options.tables:
        with tempfile.TemporaryDirectory() as folder:
            table(Path(folder), text, options)


if __name__ == "__main__":
    main()
