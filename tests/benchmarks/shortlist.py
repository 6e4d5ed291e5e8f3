"""The true acceptance probability of a shortlist: fresh attempts, drawn and noised as in a release.

    python -m tests.benchmarks.shortlist --config FILE --shortlist FILE --data PUBLIC [--attempts 200] [--fits 20]

A release makes its private fit once; `--fits` of them share the attempts evenly.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from joblib import Parallel, delayed

from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound
from synthrelease.releasing.attempt import attempt, prepare, read_priors
from synthrelease.releasing.release import read_private
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import narrowed
from synthrelease.studio.rehearsal.attempts import clopper_pearson


def accepted(spec: ReleaseSpec, public: PrivateCounts, attempts: int) -> int:
    """Accepted rounds of one release that goes on for so many rounds."""
    prepared = prepare(spec, public.with_plan(spec.plan.once), read_priors(spec))
    passed = 0
    for _ in range(attempts):
        try:
            passed += attempt(spec, spec.space.draw(), public, prepared).accepted
        except RejectedRound:
            continue
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--shortlist", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--attempts", type=int, default=200)
    parser.add_argument("--fits", type=int, default=20)
    options = parser.parse_args()
    spec = narrowed(load_spec(options.config), options.shortlist)
    public = read_private(spec, options.data)
    each = options.attempts // options.fits
    passed = Parallel(n_jobs=2)(delayed(accepted)(spec, public, each) for _ in range(options.fits))
    found = clopper_pearson(sum(passed), each * options.fits)
    print(f"{found.successes} of {found.trials} accepted: {found.share:.1%}, 95% interval {found.low:.1%} to {found.high:.1%}")


if __name__ == "__main__":
    main()
