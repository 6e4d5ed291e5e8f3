"""python -m tests.whole.fuzz [RUNS] [FIRST]: random whole releases; a table of what was compared and what was found."""

from __future__ import annotations

import sys
import time

from tests.whole.fuzz.runs import Tally, run


def main() -> None:
    runs, first = (int(sys.argv[1]) if len(sys.argv) > 1 else 1000), (int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    tally, started, seed = Tally(), time.process_time(), first
    while tally.compared < runs:
        run(seed, tally)
        seed += 1
    print(f"{tally.compared} runs of {seed - first}, {time.process_time() - started:.0f} s")
    for name in ("refused", "ends", "kinds"):
        print(name)
        for what, count in getattr(tally, name).most_common(40):
            print(f"   {count:6} {what}")
    print("tight", {k: round(v, 3) for k, v in tally.tight.items()})
    print("LEAKS", len(tally.leaks))
    for leak, seeds in tally.leaks.items():
        print("  ", len(seeds), seeds[:5], leak)


main()
