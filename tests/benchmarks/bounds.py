"""Coverage and width of the bounds of `synthrelease bound`, on public data where the truth is known.

    python -m tests.benchmarks.bounds --data FILE [--releases 100] [--queries 40] [--jobs 2] [--seed 1]

Part 1: whole releases (rounds until one is accepted, system entropy) and random queries on each. A release counts as covered
when all its queries are. Part 2: the limits of true errors under hard selection: the exact absolute errors of candidates
from the whole configuration space, and thresholds so low that most are rejected.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from synthrelease.answers.bounds import bound
from synthrelease.answers.limits import limits, selected_limit
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria.scoring import scores_of
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, RejectedRound
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.plan import Guarantee
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.published import load
from synthrelease.releasing.attempt import attempt, prepare
from synthrelease.releasing.release import Release, one_round
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import clopper_pearson
from tests.helpers.queries import random_query

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One query: how wide its bound is and how far off the released answer, in units that suit its kind."""

    kind: str
    columns: int
    covered: bool
    width: float
    error: float
    informative: bool


def released(spec: ReleaseSpec, public: Counts) -> Release:
    """A release of public counts, by the loop of a release."""
    private = PrivateCounts(public, Meter(spec.plan.once))
    prepared = prepare(spec, private)
    accepted = None
    while accepted is None:
        try:
            accepted = one_round(spec, private, prepared)
        except RejectedRound:
            continue
    guarantee = Guarantee(epsilon=spec.plan.total.epsilon)
    return Release(
        spec=spec, guarantee=guarantee, charges=spec.plan.total, candidate=accepted.candidate, scores=accepted.scores
    )


def exact_figures(spec: ReleaseSpec, public: Counts, release: Release) -> list[float]:
    """The figures of the released candidate without noise."""
    private = PrivateCounts(public, Meter(spec.plan.once)).rehearsed(NoNoise())
    earlier = prepare(spec, private)
    transformation = release.candidate.transformation
    merged = private.with_plan(spec.plan.per_round).on(transformation)
    return [score.value for score in scores_of(spec.criteria, merged, release.candidate, spec.setting, earlier)]


def one_release(config: Path, data: Path, queries: int, seed: int) -> tuple[list[Asked], dict[str, bool | None]]:
    """Queries on one release, and per criterion whether its limit holds (None: it has none)."""
    spec = load_spec(config)
    public = read_public(data, spec.schema, spec.input, spec.raw)
    result = released(spec, public)
    with tempfile.TemporaryDirectory() as folder:
        published = load(write_bundle(result, Path(folder) / "release"))
    exact = exact_figures(spec, public, result)
    held = {
        limit.score.name: None if math.isinf(limit.limit) else exact[limit.index] <= limit.limit + 1e-12
        for limit in limits(published, 0.95)
    }
    transformation = result.candidate.transformation
    original = public.on(transformation)
    random, asked = np.random.default_rng(seed), []
    while len(asked) < queries:
        query = random_query(published, original, random)
        try:
            found = bound(published, **query.arguments)  # type: ignore[arg-type]
        except InputError:
            continue  # no released row meets the condition
        if math.isnan(query.truth):
            continue
        scale = published.n_rows if "count" in query.kind else 1.0
        asked.append(
            Asked(
                kind=f"{query.kind} of {query.mean}" if query.mean else query.kind,
                columns=len({name for name in published.by_name if name in f"{query.query} {query.given} {query.minus}"}),
                covered=found.low - 1e-9 <= query.truth <= found.high + 1e-9,
                width=(found.high - found.low) / 2 / scale,
                error=abs(found.answer - query.truth) / scale,
                informative=not found.note,
            )
        )
    return asked, held


def hard_selection(config: Path, data: Path, attempts: int, seed: int) -> None:
    """Part 2, for the criterion of the absolute error."""
    spec = load_spec(config)
    public = read_public(data, spec.schema, spec.input, spec.raw)
    private = PrivateCounts(public, Meter(spec.plan.once))
    prepared = prepare(spec, private)
    index = next(i for i, criterion in enumerate(spec.criteria) if criterion.kind == "absolute_marginal_error")
    errors = []
    while len(errors) < attempts:
        try:
            found = attempt(spec, spec.space.draw(), private, prepared)
        except RejectedRound:
            continue
        candidate = Release(
            spec=spec,
            guarantee=Guarantee(epsilon=Fraction(1)),
            charges=spec.plan.total,
            candidate=found.candidate,
            scores=found.scores,
        )
        errors.append(exact_figures(spec, public, candidate)[index])
    exact, random = np.array(errors), np.random.default_rng(seed)
    scale = 1 / (private.n * float(spec.criteria[index].epsilon))
    print(f"\nExact errors of {attempts} candidates: {exact.min():.4f} to {exact.max():.4f}; noise scale {scale:.5f}\n")
    print("| threshold | accepted | naive limit misses | this limit misses | this limit is finite |")
    print("|---|---|---|---|---|")
    for threshold in (0.01, *(float(np.quantile(exact, q)) - d * scale for q, d in ((0.5, 0), (0.02, 0), (0, 1), (0, 3)))):
        drawn = random.choice(exact, 4_000_000)
        values = drawn + random.laplace(scale=scale, size=len(drawn))
        kept = values <= threshold
        true, seen = drawn[kept][:50_000], values[kept][:50_000]
        naive = seen + scale * math.log(1 / (2 * 0.05))
        ours = np.array([selected_limit(float(v), threshold, scale, 0.05) for v in seen])
        misses = [float((true > limit).mean()) for limit in (naive, ours)]
        print(f"| {threshold:.4f} | {kept.mean():.2%} | {misses[0]:.1%} | {misses[1]:.1%} | {np.isfinite(ours).mean():.0%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--config", type=Path, default=ROOT / "configs/births.toml")
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--candidates", type=int, default=150, help="candidates of part 2")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results = Parallel(n_jobs=options.jobs)(
        delayed(one_release)(options.config, options.data, options.queries, options.seed + i) for i in range(options.releases)
    )
    asked = [one for found, _ in results for one in found]
    whole = clopper_pearson(sum(all(one.covered for one in found) for found, _ in results), len(results))
    print(f"{len(results)} releases, {len(asked)} queries at confidence 0.95.")
    print(f"Covered: {np.mean([one.covered for one in asked]):.2%} of the queries.")
    print(f"Releases with every query covered: {whole.share:.0%} (95% interval {whole.low:.1%} to {whole.high:.1%}).\n")
    print("| limit of | finite | holds, where finite |")
    print("|---|---|---|")
    for name in results[0][1]:
        held = [held[name] for _, held in results if held[name] is not None]
        print(f"| {name} | {len(held) / len(results):.0%} | {np.mean(held) if held else math.nan:.1%} |")
    print("\n| query | columns | number | covered | median half-width | median actual error | no information |")
    print("|---|---|---|---|---|---|---|")
    for kind, columns in sorted({(one.kind, one.columns) for one in asked}):
        of_kind = [one for one in asked if (one.kind, one.columns) == (kind, columns)]
        width, error = (float(np.median([getattr(one, field) for one in of_kind])) for field in ("width", "error"))
        covered, nothing = np.mean([one.covered for one in of_kind]), 1 - np.mean([one.informative for one in of_kind])
        shown = f"{width:.3g} | {error:.2g}" if "mean" in kind else f"{width:.2%} | {error:.3%}"
        print(f"| {kind} | {columns} | {len(of_kind)} | {covered:.1%} | {shown} | {nothing:.0%} |")
    hard_selection(options.config, options.data, options.candidates, options.seed)


if __name__ == "__main__":
    main()
