"""How many random single edits of release.json `verify` finds, all documents written anew from it. Table of docs/audit.md.

    python -m tests.benchmarks.forgeries RELEASE [--edits 1000] [--seed 1] [--alone]

An edit that leaves no release.json (it has another shape than one) is not counted: nobody could publish it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from synthrelease.published.verify.checks import read_files
from tests.helpers.forgeries import edited, looked_at, named, problems, single_edits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="only the part that stands alone")
    asked = parser.parse_args()
    files = read_files(asked.release)
    document = json.loads(files["release.json"])
    looked, found_by, missed, began = 0, Counter[str](), Counter[str](), time.process_time()
    for place, new in single_edits(document, asked.seed):
        report = looked_at(files, edited(document, place, new), plan=not asked.alone)
        if report is None:
            continue
        looked += 1
        found_by.update({check.name for check in report.checks if check.problems})
        if not problems(report):
            missed[named(document, place)] += 1
            print(f"not found: {named(document, place)} -> {str(new)[:80]!r}")
        if looked == asked.edits:
            break
    print(f"{looked - missed.total()} of {looked} found, {time.process_time() - began:.0f} processor seconds")
    print("found by (often by several):", dict(found_by.most_common()))
    print("not found:", dict(missed.most_common()))


if __name__ == "__main__":
    main()
