"""Compare random whole releases, then plant the known faults: python -m tests.whole.fuzz [PAIRS] [FIRST SEED].

The exit code is 1 where a leak was found, or a known fault was not.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.whole.fuzz.faults import FAULTS, hunt
from tests.whole.fuzz.runs import Tally, run
from tests.whole.fuzz.scouts import run as scouted

MOST = 1000
"""Pairs of releases in which a known fault must show."""


def compared(pairs: int, first: int) -> tuple[Tally, int]:
    """So many pairs of releases, or a few more, and the number of specifications that were drawn for them."""
    tally, seed = Tally(), first
    while tally.compared < pairs:
        run(seed, tally, libraries=True)
        seed += 1
    return tally, seed - first


def lines(tally: Tally) -> Iterator[str]:
    """What was seen, as Markdown tables."""
    yield "| what | pairs of releases | largest loss, share of its charge |\n|---|---|---|"
    shares = {
        f"{'' if what.startswith(('generator', 'number')) else 'criterion '}{what}": share
        for what, share in tally.tight.items()
    }
    for what, pairs in sorted(tally.kinds.items()):
        share = shares.get(what.replace(":", ""))
        yield f"| {what} | {pairs:,} | {'' if share is None else f'{share:.2f}'} |"
    yield f"| **all** | {tally.compared:,} | |"
    yield f"\n{tally.accepted:,} of them were released, with the same figures; {len(tally.leaks)} leaks."
    for leak, seeds in tally.leaks.items():
        yield f"LEAK, seeds {seeds[:5]}: {leak}"


def main() -> int:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
    started = time.process_time()
    tally, drawn = compared(pairs, first)
    print(f"{drawn:,} specifications from seed {first}, {time.process_time() - started:.0f} processor seconds\n")
    print("\n".join(lines(tally)))
    with TemporaryDirectory() as folder:
        scouts = sum(len(scouted(seed, Path(folder))) for seed in range(first, first + pairs // 10))
    print(f"\n{scouts:,} pairs of scouts without a leak")
    print("\n| known fault | pairs of releases until it was found | what was found |\n|---|---|---|")
    missed = 0
    for fault in FAULTS:
        tried, found = hunt(fault, MOST, first)
        missed += not found
        print(f"| {fault.__name__.replace('_', ' ')} | {tried} | {found[:100] or 'NOTHING'} |", flush=True)
    return int(bool(tally.leaks or missed))


sys.exit(main())
