"""Ten questions of a simulated file: the truth, the released rows taken as real, `estimate` and `bound`.

    python -m tests.benchmarks.ten_questions births|labour --release DIR [--data FILE]
    python -m tests.benchmarks.ten_questions births|labour [--runs 100] [--rows N] [--seed 1]

The first asks a release of a simulated file (as it ships, if not given) once and prints its table. The second draws files from
the shipped one, measures the tables of the configuration on each, draws rows of the fitted model, and prints how often each
answer held the truth. Nothing is selected there. Truths and intervals are of the numbers that stand for bins, so a slope that
[[models]] measures, which is of the file's own values, is left out. Prints Markdown.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from synthrelease.answers.bounds import bound
from synthrelease.answers.estimates import estimate
from synthrelease.answers.questions import Question, parse_question
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError
from synthrelease.generators.base import Background
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.published import PublishedRelease, load
from synthrelease.spec.load import load_spec
from tests.benchmarks.coverage import QUANTILE, ROOT, Study, ends, with_tables
from tests.benchmarks.coverage_questions import plain
from tests.benchmarks.noisy_tables import published_tables

WAYS = ("rows as real", "estimate", "bound")
RELEASED = {"births": "births-published", "labour": "labour"}
TEN = {
    "births": (
        "share gestation_week < 37",
        "share birth_weight < 2500",
        "share birth_weight < 2500 where gestation_week < 32",
        "share parity == 1 where mother_age < 25",
        "share birth_weight < 2500: parity == 1 against the rest",
        "share gestation_week < 37: mother_age >= 35 against < 35",
        "mean birth_weight",
        "mean birth_weight where gestation_week < 32",
        "mean birth_weight: birth_sex == 'M' against == 'F'",
        "slope birth_weight on mother_age, parity",
    ),
    "labour": (
        "share labour_status == 'Unemployed'",
        "share wage >= 2500 where sex == 'Female' and wage is not missing",
        "share labour_status == 'Unemployed' where education == 'Doctorate'",
        "share education == 'Doctorate' where age < 40",
        "share labour_status == 'Unemployed': sex == 'Female' against == 'Male'",
        "mean wage",
        "mean hours where contract == 'Fixed-term'",
        "mean wage: sex == 'Female' against == 'Male'",
        "slope wage on education",
        "slope household_size on age",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One number of a question: the truth, and the interval of each way to answer. No way: it has no answer."""

    name: str
    kind: str
    truth: float
    plain: tuple[float, float, float] | None
    estimated: tuple[float | None, float, float]
    bounded: tuple[float, float] | None


def answers(
    release: PublishedRelease, rows: Counts | None, file: Counts, text: str, *, bounds: bool = True
) -> Iterator[Answer]:
    """The numbers that a question asks for. Two groups: the difference alone."""
    question = parse_question(text, release)
    true, usual = _plain(release, question, file)[0], None if rows is None else _plain(release, question, rows)
    try:
        found = estimate(release, text)
    except InputError:  # a regression within the noise is refused: no answer
        return
    if question.on and len(found.terms) > len(true):  # a measured slope: its values are in no bin
        return
    terms = [found.contrasts[0]] if question.groups else list(found.terms)
    limits = _bounded(release, text, file.total) if bounds and question.kind != "slope" else None
    for place, (term, truth) in enumerate(zip(terms, true, strict=True)):
        binned = term.binned_low is not None
        low, high = ends(term.binned_low, term.binned_high) if binned else ends(term.low, term.high)
        naive = None
        if usual is not None:
            middle, half = usual[0][place], QUANTILE * usual[1][place]
            naive = (middle, middle - half, middle + half)
        yield Answer(
            name=text if len(terms) < 2 else f"{text}: {question.on[place]}",
            kind=question.kind,
            truth=truth,
            plain=naive,
            estimated=(term.estimate, low, high),
            bounded=limits,
        )


def _bounded(release: PublishedRelease, text: str, n_file: int) -> tuple[float, float]:
    """Shares of all rows are bounded as counts."""
    one = bound(release, text)
    if one.binned_low is not None and one.binned_high is not None:
        return one.binned_low, one.binned_high
    return (one.low / n_file, one.high / n_file) if one.kind == "count" else (one.low, one.high)


def _plain(release: PublishedRelease, question: Question, rows: Counts) -> tuple[list[float], list[float]]:
    """`plain`; of two groups their difference, with the textbook's standard error."""
    if not question.groups:
        return plain(release, question, rows)
    parts = []
    for group in question.groups:
        places = [place for place, column in enumerate(release.schema) if column.name in group.columns]
        mask = group.mask(tuple(release.schema[place] for place in places))
        inside = np.asarray(mask[tuple(rows.bins[place] for place in places)])
        parts.append(plain(release, replace(question, groups=()), rows.with_counts(np.where(inside, rows.counts, 0))))
    ((first,), (one,)), ((second,), (other,)) = parts
    return [first - second], [math.hypot(one, other)]


def of_release(name: str, release: PublishedRelease, data: Path) -> list[Answer]:
    """Of one release and the file that it is of."""
    spec = load_spec(ROOT / "configs" / f"{RELEASED[name]}.toml")
    file = read_public(data, spec.schema, spec.input, spec.raw)
    chosen = next(one for one in spec.space.transformations if one.layout.sizes == release.layout.sizes)
    merged = file.merge(chosen.layout, chosen.maps)
    return [each for text in TEN[name] for each in answers(release, release.counts, merged, text)]


def drawn(study: Study, number: int, seed: int, *, rows_too: bool = True) -> Iterator[Answer]:
    """Of one file that is drawn from the shipped one, and noisy tables that nothing selected, or rows too."""
    random = np.random.default_rng([seed, number])
    file = study.population.with_counts(random.multinomial(study.n, study.population.counts / study.population.total))
    charge = study.spec.generation_charge
    private = PrivateCounts(file, Meter([charge])).rehearsed(SeededEntropy(seed, number))
    measured = study.generator.measure(private, charge).merge(study.bins.layout, study.maps)
    release, rows = with_tables(study.empty, published_tables(measured, study.bins.layout.columns)), None
    if rows_too:
        background = Background(plausibility=study.spec.synthetic.merge(study.bins), prior=None, ordered=study.bins.ordered)
        rows = study.generator.model(measured, background).sample(study.n, random)
        release = replace(release, codes=np.repeat(np.array(rows.bins).T, rows.counts, axis=0))
    merged = file.merge(study.bins.layout, study.maps)
    for text in TEN[study.name]:
        yield from answers(release, rows, merged, text, bounds=rows_too)


def held(answer: Answer) -> dict[str, tuple[bool, float]]:
    """Of each way that has an interval: whether it holds the truth, and its width."""
    found = {"rows as real": answer.plain and answer.plain[1:], "estimate": answer.estimated[1:], "bound": answer.bounded}
    slack = 1e-9 * (1 + abs(answer.truth))
    return {
        way: (ends_[0] - slack <= answer.truth <= ends_[1] + slack, ends_[1] - ends_[0])
        for way, ends_ in found.items()
        if ends_ is not None
    }


def _in_words(answer: Answer) -> str:
    """A row of the table of one release; what does not hold the truth is in bold."""
    unit, digits = (100, 2) if answer.kind == "share" else (1, 1 if abs(answer.truth) > 1 else 4)
    known = held(answer)

    def interval(way: str, middle: float | None, ends_: tuple[float, float]) -> str:
        low, high = (f"{unit * end:,.{digits}f}" for end in ends_)
        text = f"{low} to {high}" if middle is None else f"{unit * middle:,.{digits}f} ({low} to {high})"
        return text if known[way][0] else f"**{text}**"

    shown = [f"{unit * answer.truth:,.{digits}f}{' %' if answer.kind == 'share' else ''}"]
    if answer.plain is not None:
        shown.append(interval("rows as real", answer.plain[0], answer.plain[1:]))
    shown.append(interval("estimate", answer.estimated[0], answer.estimated[1:]))
    shown.append("–" if answer.bounded is None else interval("bound", None, answer.bounded))
    return f"| {answer.name} | {' | '.join(shown)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(TEN))
    parser.add_argument("--release", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.release:
        data = options.data or ROOT / "public_data" / f"{options.name}_surrogate.csv.gz"
        print("| question | the file | rows as real | `estimate` | `bound` |\n|---|---|---|---|---|")
        for answer in of_release(options.name, load(options.release), data):
            print(_in_words(answer))
        return
    study, found = Study(options.name, options.rows), defaultdict[str, dict[str, list[tuple[bool, float]]]](dict)
    for number in range(options.runs):
        for answer in drawn(study, number, options.seed):
            for way, one in held(answer).items():
                found[answer.name].setdefault(way, []).append(one)
    print(f"{options.runs} files of {study.n:,} rows.\n\n| question | rows as real | `estimate` | `bound` |\n|---|---|---|---|")
    for name, ways in found.items():
        cells = [f"{np.mean([held for held, _ in ways[way]]):.1%}" if way in ways else "–" for way in WAYS]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
