"""The whole set of hostile files, with a table of what came of them."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter, defaultdict
from queue import Queue

from tests.whole.hostile.watch import Verdict, serve, watched

CASES = 10_000
WORKERS = 2


def main() -> int:
    """0 when no case has a problem."""
    parser = argparse.ArgumentParser(prog="python -m tests.whole.hostile")
    parser.add_argument("--seed", type=int, default=2014)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--only", help="only cases of this kind")
    parser.add_argument("--numbers", type=int, nargs="*", help="only cases of these numbers")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.seed, options.numbers, options.only)
        return 0
    numbers = options.numbers or list(range(options.cases))
    started = time.monotonic()
    verdicts = sorted(everything(options.seed, numbers, options.only), key=lambda verdict: verdict.number)
    problems = [verdict for verdict in verdicts if verdict.problem]
    for verdict in problems:
        print(f"{verdict.number} {verdict.kind}: {verdict.problem}")  # noqa: T201
    print(table(verdicts))  # noqa: T201
    print(f"{len(verdicts)} cases in {time.monotonic() - started:.0f} s, {len(problems)} with a problem")  # noqa: T201
    return 1 if problems else 0


def everything(seed: int, numbers: list[int], only: str | None) -> list[Verdict]:
    """The verdicts of all cases, from some processes side by side."""
    found: Queue[Verdict] = Queue()

    def work(mine: list[int]) -> None:
        for verdict in watched(seed, mine, only):
            found.put(verdict)

    threads = [threading.Thread(target=work, args=(numbers[worker::WORKERS],)) for worker in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found.get() for _ in range(found.qsize())]


def table(verdicts: list[Verdict]) -> str:
    """Cases by kind: how they ended, the slowest and the largest."""
    kinds: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        kinds[verdict.kind].append(verdict)
    lines = ["| kind | cases | exit codes | slowest, s | most memory, MB | problems |", "|---|---|---|---|---|---|"]
    for kind, members in sorted(kinds.items()):
        codes = ", ".join(f"{code}: {count}" for code, count in sorted(Counter(verdict.code for verdict in members).items()))
        slowest, largest = max(verdict.seconds for verdict in members), max(verdict.megabytes for verdict in members)
        wrong = sum(bool(verdict.problem) for verdict in members)
        lines.append(f"| {kind} | {len(members)} | {codes} | {slowest:.1f} | {largest} | {wrong} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
