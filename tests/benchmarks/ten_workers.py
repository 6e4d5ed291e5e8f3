"""Ten workers and a billion rows, on paper: a simulation of counting many files, from what single phases were measured to take.

    python -m tests.benchmarks.ten_workers

A worker has four files at a time, in its queue or counted. Results pass the scheduler, one after the other, and then the one
process that adds them up, tables of about the same size first (`domain.counts.Tally`), so that a row of which there is one is
added log2(files) times. Then come rounds and writing, in that process alone. The figures of `MEASURED` are processor seconds
(docs/appendix/benchmarks.md); a worker is held up by other work by 30% (a lognormal law), and one of them has half the speed of
the others. Prints Markdown.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass

SPREAD, AT_ONCE = 0.3, 4
SCHEDULER = 0.0175
"""Seconds of the scheduler for each file (2026-11-22)."""


@dataclass(frozen=True, kw_only=True)
class Register:
    """What its phases take, in processor seconds.

    Attributes
    ----------
    count : a row in a worker.
    add : one cell, each time that it is added; `cells` : that can occur.
    round_, write : a different row, in all rounds and in the files; `least` : of rounds and writing of a small table.
    held : bytes of a different row in the process that adds up, until the files are written.
    """

    count: float
    add: float
    cells: float
    round_: float
    write: float
    least: float
    held: float


MEASURED = {
    # a billion births, 2026-11-22: 105 s without the drawing; 21 ms a file of 65,000 cells, which are looked at three times
    "6 columns": Register(count=0.105e-6, add=0.108e-6, cells=65_000, round_=2e-6, write=0.2e-6, least=4.0, held=0),
    # 5.5 million rows of 60 columns, 2026-11-24, all different: 6.4 s for 550 files added up, 57 s of rounds, 19 s of writing,
    # 340 bytes a row; a million rows of Parquet in one file are counted in 1.2 s
    "60 columns": Register(count=1.2e-6, add=0.127e-6, cells=math.inf, round_=10.4e-6, write=3.5e-6, least=3.0, held=340),
}


def counted(register: Register, files: int, rows: int, workers: int, seed: int = 1) -> tuple[float, float]:
    """Seconds until all files are added up, and the share of that time in which workers count.

    Results come as workers end. The adding takes one after the other, and a file is handed out when one was taken.
    """
    generator = random.Random(seed)
    speeds = [1.0] * (workers - 1) + [0.5]
    free = [0.0] * workers  # when a worker has done all that it was given
    waiting: list[tuple[float, int]] = []  # results: when they are there, and whose they are
    handed, busy, scheduler, adder, sums = 0, 0.0, 0.0, 0.0, list[float]()

    def hand_out(worker: int, now: float) -> None:
        nonlocal handed, busy
        took = rows * register.count / speeds[worker] * generator.lognormvariate(-(SPREAD**2) / 2, SPREAD)
        free[worker] = max(free[worker], now) + took
        busy += took
        heapq.heappush(waiting, (free[worker], worker))
        handed += 1

    for place in range(min(files, AT_ONCE * workers)):
        hand_out(place % workers, 0.0)
    while waiting:
        there, worker = heapq.heappop(waiting)
        sums.append(min(float(rows), register.cells))
        took = register.add * sums[-1]
        while len(sums) > 1 and sums[-2] <= 2 * sums[-1]:
            merged = sums.pop() + sums.pop()
            took += register.add * merged
            sums.append(min(merged, register.cells))
        scheduler = max(scheduler, there) + SCHEDULER
        adder = max(adder, scheduler) + took
        if handed < files:
            hand_out(worker, adder)
    return adder, busy / (workers * adder)


def main() -> None:
    print("| register | rows | files | workers | counting and adding, s | workers busy | rounds and writing, s | memory, GB |")
    print("|---|---|---|---|---|---|---|---|")
    for name, register in MEASURED.items():
        for rows, of_a_file in ((10**7, 10**6), (10**8, 10**6), (10**9, 10**6), (10**9, 10**7)):
            different, files = min(rows, register.cells), rows // of_a_file
            alone, held = register.least + different * (register.round_ + register.write), 0.3 + different * register.held / 1e9
            for workers in (2, 10):
                seconds, busy = counted(register, files, of_a_file, workers)
                print(
                    f"| {name} | {rows:,} | {files:,} | {workers} | {seconds:,.0f} | {busy:.0%} | {alone:,.0f} | {held:.1f} |"
                )


if __name__ == "__main__":
    main()
