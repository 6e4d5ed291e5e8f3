"""A whole release of a made-up register of 60 columns in many files, counted by two Dask workers: one call, phase by phase.

    python -m tests.benchmarks.wide_run FOLDER [--pieces 550] [--rows 10000] [--workers 2] [--epsilon 1]

Writes the files into FOLDER first, where they are not there (a file is made from its number alone, each the same again). Then
`publish`, which the command `release --backend dask` calls. Prints, as JSON, processor seconds of this process and of the
workers, and the peak memory of each, after every phase: what was there before counts in the phase that follows.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synthrelease.publish import Listener, publish
from synthrelease.spec.requests import ReleaseRequest
from tests.benchmarks.cluster import usage, workers
from tests.benchmarks.wide_register import SIZES, chain, made_up, write_register

COLUMNS = 60


def write(folder: Path, pieces: int, rows: int, epsilon: float) -> Path:
    """The files that are missing, and the configuration: a third of epsilon goes to the tables, a tenth to the criteria; the
    rest is what a hidden number of rounds costs."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    config = write_register(folder, COLUMNS, 10, 10, chain(COLUMNS))
    config.write_text(
        config.read_text().replace("limit = 20\ngeneration = 4", f"limit = {epsilon}\ngeneration = {epsilon / 3:.3f}")
    )
    criteria = folder / "acceptance.toml"
    criteria.write_text(criteria.read_text().replace("epsilon = 0.1", f"epsilon = {epsilon / 30:.3f}"))
    sizes = [SIZES[place % len(SIZES)] for place in range(COLUMNS)]
    names = [f"c{place:02d}" for place in range(COLUMNS)]
    for number in range(pieces):
        path = folder / "data" / f"{number:05}.parquet"
        if not path.exists():
            blocks = list(made_up(sizes, rows, 1000 + number))
            pq.write_table(pa.table([np.concatenate(column) for column in zip(*blocks, strict=True)], names), path)
    return config


class Phases(Listener):
    """Notes what the processes had used when each phase began."""

    def __init__(self, of_workers: Callable[[], list[dict[str, float]]]):
        self._of_workers = of_workers
        self.marks: list[tuple[str, float, float, int, int]] = []
        self.note("start")

    def note(self, name: str) -> None:
        own = resource.getrusage(resource.RUSAGE_SELF)
        there = self._of_workers()
        cpu, peak = sum(each["cpu"] for each in there), max(each["peak_mb"] for each in there)
        self.marks.append((name, own.ru_utime + own.ru_stime, cpu, own.ru_maxrss // 1024, round(peak)))

    def phase(self, name: str) -> None:
        self.note(name)

    def lines(self) -> list[dict[str, Any]]:
        return [
            {
                "phase": before[0],
                "cpu": round(after[1] - before[1], 1),
                "cpu_of_workers": round(after[2] - before[2], 1),
                "peak_mb": after[3],
                "peak_mb_of_a_worker": after[4],
            }
            for before, after in pairwise(self.marks)
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pieces", type=int, default=550)
    parser.add_argument("--rows", type=int, default=10_000, help="of each piece")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    config = write(options.folder, options.pieces, options.rows, options.epsilon)
    from distributed import Client

    with workers(options.workers) as address, Client(address, set_as_default=False) as client:
        client.wait_for_workers(options.workers)
        phases = Phases(lambda: list(client.run(usage).values()))
        request = ReleaseRequest(
            config=config, data=options.folder / "data", out=options.folder / "out", address=address, nobodys=True
        )
        published = publish(request, phases)
        phases.note("end")
    found: dict[str, Any] = {"files": options.pieces, "rows": options.pieces * options.rows, "phases": phases.lines()}
    if published is not None:
        found["epsilon"] = float(published.release.guarantee.epsilon)
        found["released"] = published.release.candidate.n
        found["figures"] = {score.name: score.value for score in published.release.scores}
        found["bytes"] = sum(path.stat().st_size for path in published.folder.iterdir())
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
