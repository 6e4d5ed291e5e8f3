"""Processor seconds of a fit of an adaptive family to 60 columns, by the number of rows.

    python -m tests.benchmarks.adaptive_rows --rows 100000 1000000 [--family adaptive_pure] [--budget 1] [--columns 60]

The register of `wide_register`, counted; every number of rows in one process after the other. Prints a JSON line for each: the
seconds of the fit, those of them in which the private table was asked, rounds, cells of the model, and the peak of memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from fractions import Fraction

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators import GENERATORS
from synthrelease.generators.adaptive import AdaptiveGenerator
from synthrelease.generators.adaptive_mechanism import PrivateTables
from synthrelease.generators.base import Background
from synthrelease.privacy.charges import Meter
from tests.benchmarks.wide_register import SIZES, made_up


class Asked:
    """How long the private table was asked, and how often for a choice."""

    seconds, rounds = 0.0, 0


def timed() -> None:
    """Let every answer of the private table be timed."""
    for name in ("choice", "table", "merge"):
        inner = getattr(PrivateTables, name)

        def outer(self: PrivateTables, *given: object, _name: str = name, _inner: object = inner) -> object:
            start = time.process_time()
            found = _inner(self, *given)  # type: ignore[operator]
            Asked.seconds += time.process_time() - start
            Asked.rounds += _name == "choice"
            return found

        setattr(PrivateTables, name, outer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=60)
    parser.add_argument("--family", default="adaptive_pure")
    parser.add_argument("--budget", type=Fraction, default=Fraction(1))
    given = parser.parse_args()
    timed()
    sizes = [SIZES[place % len(SIZES)] for place in range(given.columns)]
    layout = Layout(columns=tuple(f"c{place:02d}" for place in range(given.columns)), sizes=tuple(sizes))
    generator = GENERATORS[given.family].model_validate({"family": given.family})
    assert isinstance(generator, AdaptiveGenerator)
    for rows in given.rows:
        blocks = [np.array(block, dtype=np.uint8) for block in made_up(sizes, rows, 1)]
        counts = Counts.of(layout, list(np.concatenate(blocks, axis=1)))
        del blocks
        charge = generator.charge(given.budget)
        Asked.seconds, Asked.rounds, start = 0.0, 0, time.process_time()
        model = generator.fit(
            PrivateCounts(counts, Meter([charge])), charge, Background(plausibility=Plausibility(layout=layout, masks=()))
        )
        spent = time.process_time() - start
        print(
            json.dumps(
                {
                    "family": given.family,
                    "rows": rows,
                    "fit": round(spent, 1),
                    "asked": round(Asked.seconds, 1),
                    "rounds": Asked.rounds,
                    "bins": sum(model.learned.layout.sizes),
                    "cells": sum(int(np.prod(share.shape)) for share in model.learned.fit.shares),
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
