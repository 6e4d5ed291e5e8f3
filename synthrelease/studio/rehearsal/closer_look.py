"""Inspect one configuration on public data: where its errors are, how small errors could be, and which pairs no criterion
tests.

A candidate is a synthetic table that an attempt made. An unguarded pair is a pair of associated columns that no criterion
tests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from synthrelease.answers.questions import Condition, parse_condition, parse_question
from synthrelease.answers.stated import question
from synthrelease.criteria import explain
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import LostPair, Offender, PublicCounts, figure
from synthrelease.criteria.scoring import JointTest, uninformative
from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts
from synthrelease.data.questions import is_question
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import InputError, RejectedRound
from synthrelease.generators.associations import LEAST_STRENGTH, Strengths, cramers_v
from synthrelease.generators.candidate import Candidate
from synthrelease.generators.projections import MinimumCount
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import NoNoise, SeededEntropy
from synthrelease.releasing.attempt import prepare
from synthrelease.releasing.selection import one_thread
from synthrelease.settings.questions import QuestionTable
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import VerdictTable, judged_digest
from synthrelease.studio.baselines.base import independent_columns
from synthrelease.studio.rehearsal.attempts import AttemptResult, BinnedColumns, ShareEstimate, Trials
from synthrelease.studio.rehearsal.dependence import (
    Pair,
    from_independence,
    pairs_off,
    strengths_of,
    strongest_pairs,
    tied_pairs,
    valued,
)

# The answers to intended questions from released rows alone, compared with the answers from the public file.


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """The answers to one intended question, from the public file and from candidates.

    Attributes
    ----------
    question : the question, in words.
    unit : "rows", "share" or the unit of a mean.
    public : the answer from the public file, in the released bins, or None.
    candidates : the answer from each candidate, or None without a row for the question.
    why : the reason why there is no answer, or an empty string.
    """

    question: str
    unit: str = ""
    public: float | None = None
    candidates: tuple[float | None, ...] = ()
    why: str = ""


def conclusions(
    asked: Sequence[QuestionTable], configuration: Configuration, original: Counts, candidates: Sequence[Counts]
) -> tuple[Conclusion, ...]:
    columns = BinnedColumns.of(configuration)
    return tuple(_concluded(intended, columns, original, candidates) for intended in asked)


def _concluded(asked: QuestionTable, columns: BinnedColumns, original: Counts, candidates: Sequence[Counts]) -> Conclusion:
    words = question(asked)
    try:
        kind, column, parts = _read(asked, columns)
        if kind == "mean" and None in columns.by_name[column].numbers[: columns.by_name[column].present]:
            raise InputError(f"the bins of {column!r} have no representative values")
    except InputError as error:
        return Conclusion(question=words, why=str(error))

    def answer(table: Counts) -> float | None:
        first, *subtracted = (_answer(kind, column, part, columns, table, original.total) for part in parts)
        return None if first is None or None in subtracted else first - sum(filter(None, subtracted))

    unit = columns.by_name[column].unit if kind == "mean" else kind
    return Conclusion(question=words, unit=unit, public=answer(original), candidates=tuple(map(answer, candidates)))


Part = tuple[Condition, tuple[Condition, ...]]
"""A part of a query: the condition of the counted rows ("women" in "the share of women among students"), and the conditions of
the rows among which they are counted ("students").
"""


def _read(asked: QuestionTable, columns: BinnedColumns) -> tuple[str, str, list[Part]]:
    """Return the kind of an intended question ("rows", "share" or "mean"), the column of its mean or "", and its parts.

    A question about a difference has two parts: the answer for the second part is subtracted. Raises InputError if a
    rehearsal cannot answer the question.
    """
    every = Condition(text="", rule=None)
    if not is_question(asked.query):
        given = parse_condition(asked.given, columns)
        conditions = [parse_condition(text, columns) for text in (asked.query, asked.minus) if text is not None]
        if asked.mean:
            return "mean", asked.mean, [(every, (condition, given)) for condition in conditions]
        return "share" if asked.given else "rows", "", [(condition, (given,)) for condition in conditions]
    read = parse_question(asked.query, columns)
    if read.kind not in ("share", "mean") or read.by or read.slots:
        raise InputError(
            "a rehearsal answers only shares and means of all rows or of two groups. Use `estimate` for this question"
        )
    met = read.met if read.kind == "share" else every
    return read.kind, read.column, [(met, (group, read.where)) for group in read.groups] or [(met, (read.where,))]


def _answer(kind: str, column: str, part: Part, columns: BinnedColumns, table: Counts, n_rows: int) -> float | None:
    """Answer one part of a question from one table, or return None if no row meets the conditions.

    Numbers of rows are scaled to a table of `n_rows` rows.
    """
    met, among = part
    names = met.columns.union(*(condition.columns for condition in among), {column} if column else ())
    chosen = tuple(published for published in columns.schema if published.name in names)
    axes = [table.layout.index(published.name) for published in chosen]
    counts = table.marginal(axes) if chosen else np.array(table.total)
    inside = counts * np.logical_and.reduce([condition.mask(chosen) for condition in among])
    if kind != "mean":
        whole = table.total / n_rows if kind == "rows" else inside.sum()
        return float((inside * met.mask(chosen)).sum() / whole) if whole else None
    axis, present = [published.name for published in chosen].index(column), columns.by_name[column].present
    by_bin = np.moveaxis(inside, axis, 0).reshape(inside.shape[axis], -1).sum(axis=1)[:present]
    numbers = np.array([float(number or 0) for number in columns.by_name[column].numbers[:present]])
    return float(by_bin @ numbers / by_bin.sum()) if by_bin.sum() else None


# The exact criterion values of one public table as the release of another, and the places of the errors.


class PublicJudge:
    """Computes criterion values of synthetic tables as releases of one public original, in the bins of one configuration.

    Parameters
    ----------
    original : public rows over atomic cells.
    """

    def __init__(self, spec: ReleaseSpec, original: Counts, configuration: Configuration):
        self.spec, self.configuration = spec, configuration
        exact = PrivateCounts(original, Meter(())).rehearsed(NoNoise())
        self.fitted = prepare(spec, exact.with_plan(spec.plan.once)).fitted
        transformation = configuration.transformation
        self.original = BinnedCounts.of_atoms(original, transformation)
        charges = [charge for criterion in spec.criteria for charge in criterion.per_score()]
        self.table = exact.with_plan(charges).on(transformation)
        self.charges = charges

    def figures(self, released: Counts) -> tuple[float, ...]:
        """Return the exact value of each criterion for a synthetic table in the bins of the configuration, or NaN without
        one.

        If a release answers a criterion from measurements that all rounds share, the value is the bound that they give.
        """
        return tuple(value for value, _ in self._judged(released, name=False))

    def named(self, released: Counts) -> tuple[tuple[float, Offender | None], ...]:
        """Return the exact value of each criterion for a synthetic table, and the place of its largest error, or None."""
        return tuple(self._judged(released, name=True))

    def _judged(self, released: Counts, *, name: bool) -> list[tuple[float, Offender | None]]:
        candidate = Candidate(configuration=self.configuration, counts=released)
        table, fitted, judged = self.table.with_plan(self.charges), self.fitted, []
        for criterion in self.spec.criteria:
            fitted = criterion.refit(table, candidate, self.spec.setting, fitted)
            value = criterion.score(table, candidate, self.spec.setting, fitted).value
            public = PublicCounts(counts=self.original)
            offender = explain(criterion).offender(public, candidate, self.spec.setting, fitted) if name else None
            judged.append((value, offender))
        return judged


def merged(table: Counts, configuration: Configuration) -> Counts:
    transformation = configuration.transformation
    return table.merge(transformation.layout, transformation.maps)


# The strongest pairs of columns that are in no criterion, and in no table that is sure to be measured.

MOST_PAIRS = 10
MOST_TOLD = 200

SMALLEST_BIN = 0.005
"""The example for a pair uses bins with at least this share of the rows, if there are such bins."""


@dataclass(frozen=True, kw_only=True)
class UnguardedPair:
    """A pair of associated columns that no criterion tests, and how much of the association candidates preserve.

    Attributes
    ----------
    strong : whether the association concerns many rows, and not only a few odd rows.
    cramers_v, candidates_v : Cramer's V in the public file, and its median over the candidates (None without candidates).
    condition, outcome : labels of the bins of the first and of the second column in whose cell the association is clearest.
    overall : share of the rows with the outcome, among public rows with a value in both columns.
    original, released : the same share among the rows that meet the condition: in the public file, and its median over the
        candidates (None without such rows).
    """

    columns: tuple[str, str]
    strong: bool
    cramers_v: float
    candidates_v: float | None
    condition: str
    outcome: str
    overall: float
    original: float
    released: float | None

    @property
    def lost(self) -> bool:
        """Return whether the candidates lost a strong association: Cramer's V below half of the value in the public file."""
        return self.strong and self.candidates_v is not None and self.candidates_v < self.cramers_v / 2


def unguarded_pairs(
    configuration: Configuration, criteria: Sequence[Criterion], original: Counts, candidates: Sequence[Counts]
) -> tuple[UnguardedPair, ...]:
    """Return the associated pairs of columns that no criterion tests and that are in no table which is sure to be measured.

    The strongest associations come first, and at most `MOST_TOLD` pairs are returned.

    Parameters
    ----------
    criteria : the criteria whose threshold says something (`verdicts`). One that independent columns meet guards no pair.
    original, candidates : the tables in the bins of the configuration.
    """
    layout = original.layout
    measured = [{layout.columns[column] for column in columns} for columns in configuration.generator.fixed_tables(layout)]
    width = len(layout.columns)

    def looked_at(pair: Pair) -> bool:
        names = frozenset(pair.columns)
        lost = LostPair(columns=names, distance=pair.distance, largest_cell=pair.largest_cell, n_columns=width)
        return any(names <= table for table in measured) or any(explain(criterion).guards(lost) for criterion in criteria)

    by_strength = sorted(strongest_pairs(original, missing=with_gaps(configuration)), key=lambda pair: -pair.cramers_v)
    unguarded = [pair for pair in by_strength if pair.cramers_v >= LEAST_STRENGTH and not looked_at(pair)]
    return tuple(_with_example(pair, configuration, original, candidates) for pair in unguarded[:MOST_TOLD])


def worth_a_line(pairs: Sequence[UnguardedPair]) -> tuple[UnguardedPair, ...]:
    """Return the `MOST_PAIRS` strongest pairs, then at most as many others whose association the candidates lost."""
    return (*pairs[:MOST_PAIRS], *[pair for pair in pairs[MOST_PAIRS:] if pair.lost][:MOST_PAIRS])


def _with_example(pair: Pair, configuration: Configuration, original: Counts, candidates: Sequence[Counts]) -> UnguardedPair:
    """Return the pair with an example: the share of an outcome among the rows that meet a condition.

    The association is clearest in the cell of the two bins; the rarer one is the condition.
    """
    names = pair.columns
    table = _valued(original, configuration, names)
    first, second = _telling_cell(table)
    if table[first].sum() > table[:, second].sum():
        names, first, second, table = names[::-1], second, first, table.T
    tables = [_valued(candidate, configuration, names) for candidate in candidates]
    labels = [configuration.transformation.binning(name).labels for name in names]
    shares = [table_of_two[first, second] / table_of_two[first].sum() for table_of_two in tables if table_of_two[first].sum()]
    return UnguardedPair(
        columns=names,
        strong=pair.strong,
        cramers_v=pair.cramers_v,
        candidates_v=float(np.median([cramers_v(table_of_two) for table_of_two in tables])) if tables else None,
        condition=labels[0][first],
        outcome=labels[1][second],
        overall=float(table[:, second].sum() / table.sum()),
        original=float(table[first, second] / table[first].sum()),
        released=float(np.median(shares)) if shares else None,
    )


def with_gaps(configuration: Configuration) -> list[str]:
    """Return the columns with a bin of missing values, which measures of association leave out."""
    binnings = zip(configuration.transformation.layout.columns, configuration.transformation.binnings, strict=True)
    return [name for name, binning in binnings if binning.present < len(binning)]


def _valued(table: Counts, configuration: Configuration, names: Sequence[str]) -> np.ndarray:
    gaps = with_gaps(configuration)
    return valued(table.marginal([table.layout.index(name) for name in names]), names[0] in gaps, names[1] in gaps)


def _telling_cell(table: np.ndarray) -> tuple[int, int]:
    """Return the cell with the largest Pearson residual, among bins that are frequent enough (`SMALLEST_BIN`)."""
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = np.outer(rows, columns)
    residuals = np.abs(from_independence(table)) / table.sum() / np.sqrt(np.where(expected > 0, expected, 1.0))
    frequent = np.minimum.outer(rows, columns) >= SMALLEST_BIN
    chosen = np.where(frequent, residuals, -1.0) if frequent.any() else residuals
    first, second = np.unravel_index(int(chosen.argmax()), table.shape)
    return int(first), int(second)


# The rows of a table that a projection replaces by copies of other rows.


def replaced(before: Counts, after: Counts) -> int:
    """Return how many rows a projection (such as the removal of rare rows) replaced by copies of other rows."""
    positions = after.find(list(before.bins))
    remaining = np.where(positions >= 0, after.counts[np.maximum(positions, 0)], 0) if len(after) else np.zeros(len(before))
    return int(np.maximum(0, before.counts - remaining).sum())


# Reference values for a criterion, on public data: a perfect release, the projection alone, and independent columns.
#
# A perfect release is another sample of the same population: one half of the public file is judged as a release of the other
# half. A threshold below this value cannot be met. A criterion that independent columns meet shows nothing about associations.


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """Reference values of one criterion without noise, or NaN.

    Attributes
    ----------
    perfect : the value if one random half of the rows is released in place of the other: the largest of several divisions.
    projected : the same after the projection of the released half, or infinity if the projection removes all rows.
    independent : the value of a table of independent columns, each with the right distribution.
    """

    perfect: float
    projected: float
    independent: float


@one_thread
def yardsticks(
    spec: ReleaseSpec, public: Counts, configuration: Configuration, seed: int, *, projecting: bool = True, n_splits: int = 2
) -> tuple[Yardstick, ...]:
    """Return the reference values of each criterion, from halves of the public rows and from independent columns.

    Parameters
    ----------
    public : the public rows over atomic cells.
    projecting : whether halves are also compared after the projection; otherwise `projected` repeats `perfect`.
    n_splits : number of splits into halves.
    """
    random = SeededEntropy(seed, 7).generator()
    splits = [halves(public, random) for _ in range(n_splits)]
    perfect, projected = [], []
    for left, right in splits:
        judge, table = PublicJudge(spec, left, configuration), merged(right, configuration)
        perfect.append(judge.figures(table))
        try:
            projected.append(perfect[-1] if not projecting else judge.figures(configuration.projection.project(table, random)))
        except RejectedRound:
            projected.append((math.inf,) * len(spec.criteria))
    alone = merged(independent_columns(public, random), configuration)
    independent = PublicJudge(spec, public, configuration).figures(alone)
    return tuple(
        Yardstick(perfect=_largest(half), projected=_largest(less), independent=alone)
        for half, less, alone in zip(zip(*perfect, strict=True), zip(*projected, strict=True), independent, strict=True)
    )


def halves(table: Counts, random: np.random.Generator) -> tuple[Counts, Counts]:
    """Return two random halves of a table. If the number of rows is odd, one row is left out."""
    size = table.total // 2
    taken = random.multivariate_hypergeometric(table.counts, 2 * size)
    left = random.multivariate_hypergeometric(taken, size)
    return table.with_counts(left), table.with_counts(taken - left)


def once_only(table: Counts) -> float:
    return float((table.counts == 1).sum() / max(1, table.total))


def _largest(figures: Sequence[float]) -> float:
    return math.nan if any(math.isnan(figure) for figure in figures) else max(figures)


# A threshold has a problem if no table can meet it, if it is stricter than chance, or if meeting it shows nothing.

Kind = Literal["says nothing", "cannot be met", "stricter than chance"]


@dataclass(frozen=True, kw_only=True)
class ThresholdProblem:
    """A reason why a threshold is not useful: its kind for programs, and a text for people."""

    kind: Kind
    text: str


def verdicts(
    criterion: Criterion, joint_test: JointTest | None, sensitivity: float | None, yardstick: Yardstick, noiseless: float
) -> tuple[ThresholdProblem, ...]:
    """Return the problems of a threshold that public rows show, such as that no release can meet it.

    Parameters
    ----------
    sensitivity : a typical sensitivity of the criterion value, or None if the value gets no noise.
    noiseless : the criterion value for a fit of the generator without noise, or NaN if there is no value.
    """
    if not criterion.compares:
        return ()
    threshold = criterion.threshold
    problems = [ThresholdProblem(kind="says nothing", text=text) for text in uninformative(criterion, joint_test, sensitivity)]
    if yardstick.independent <= threshold and not explain(criterion).asks_single_columns:
        text = (
            f"a table of independent columns meets this threshold ({figure(yardstick.independent, 2)} against the threshold "
            f"{figure(threshold)}), so it does not test the associations of columns."
        )
        problems.append(ThresholdProblem(kind="says nothing", text=text))
    reached = math.isfinite(noiseless) and noiseless <= threshold
    if yardstick.perfect > threshold and not reached:
        fitted = f" and a fit without noise {figure(noiseless, 2)}" if math.isfinite(noiseless) else ""
        text = (
            f"two halves of the public file differ by {figure(yardstick.perfect, 2)}{fitted}. The threshold "
            f"{figure(threshold)} is smaller, so no release can meet it."
        )
        problems.append(ThresholdProblem(kind="cannot be met", text=text))
    elif yardstick.perfect > threshold:
        text = (
            f"the threshold {figure(threshold)} is smaller than the difference between two samples: two halves of the public "
            f"file differ by {figure(yardstick.perfect, 2)}. A release that repeats the random differences of this file can "
            f"meet the threshold (a fit without noise: {figure(noiseless, 2)}), but a second sample would not."
        )
        problems.append(ThresholdProblem(kind="stricter than chance", text=text))
    elif math.isfinite(noiseless) and noiseless > threshold:
        text = (
            f"even a fit without noise has {figure(noiseless, 2)}, above the threshold {figure(threshold)}. The model is too "
            "simple, and more budget does not help. Measure the tables of this criterion, or use finer bins for them."
        )
        problems.append(ThresholdProblem(kind="cannot be met", text=text))
    return tuple(problems)


CANDIDATES = 5


@dataclass(frozen=True, kw_only=True)
class CriterionLook:
    """What a few candidates of one configuration show about one criterion.

    Attributes
    ----------
    figure : the value of the typical candidate, which has the median value, or NaN if no candidate has a value.
    offender : the place of the typical candidate's largest error, or None.
    places : the places of the largest errors, each with its number of candidates, the most frequent first.
    noiseless : the value for a fit without noise, or NaN if there is no value.
    """

    figure: float
    offender: Offender | None
    places: tuple[tuple[str, int], ...]
    yardstick: Yardstick
    noiseless: float
    verdicts: tuple[ThresholdProblem, ...]


@dataclass(frozen=True, kw_only=True)
class CloserLook:
    """What a few candidates show about one configuration, besides how often it is accepted.

    Attributes
    ----------
    candidates : number of inspected candidates.
    criteria : the findings for each criterion, in the order of the specification.
    unguarded : pairs of associated columns that no criterion tests and no generator is sure to measure.
    verdict : the errors of the candidates compared with independent columns, and the pairs that the candidates lost.
    replaced : share of the rows of one candidate that the projection replaced by copies of other rows, or 1 if no row was
        kept.
    conclusions : the answers to each intended question.
    strengths : strengths of the associations in the public file, for the plan.
    """

    configuration: int
    candidates: int
    criteria: tuple[CriterionLook, ...]
    unguarded: tuple[UnguardedPair, ...]
    verdict: VerdictTable
    replaced: float
    conclusions: tuple[Conclusion, ...]
    strengths: Strengths

    @property
    def pairs(self) -> tuple[UnguardedPair, ...]:
        return worth_a_line(self.unguarded)


class NoiselessEntropy(NoNoise, SeededEntropy):
    """A source of seeded random choices that adds no noise to measurements of public counts."""


def typical_configuration(
    shortlist: Sequence[int], shares: Sequence[ShareEstimate], results: Sequence[Sequence[AttemptResult]], limits: list[float]
) -> int:
    """Return the index of the configuration on the shortlist (or of all, without one) that is accepted most often.

    Among equals, the worst criterion value relative to its threshold decides.

    Parameters
    ----------
    shares, results : for each configuration, its share of accepted attempts, and its attempts.
    limits : the thresholds of the criteria.
    """

    def worst(c: int) -> float:
        ratios = [
            max((figure / limit for figure, limit in zip(figures, limits, strict=True) if limit > 0), default=0.0)
            for figures in ([math.inf if figure is None else figure for figure in result.figures] for result in results[c])
        ]
        return float(np.median(ratios)) if ratios else math.inf

    return max(shortlist or range(len(shares)), key=lambda c: (shares[c].share, -worst(c)))


@one_thread
def closer_look(trials: Trials, index: int, sensitivities: Sequence[float | None]) -> CloserLook:
    """Inspect a few candidates of the configuration with this index, by criterion values without noise.

    `sensitivities` are typical for the criterion values in the attempts.
    """
    spec, counts, seed, configuration = trials.spec, trials.counts, trials.seed, trials.spec.space[index]
    judge, random = PublicJudge(spec, counts, configuration), SeededEntropy(seed, 3, index).generator()
    sticks = yardsticks(spec, counts, configuration, seed)
    exact = _exact_figures(trials, judge, NoiselessEntropy(seed, 4, index), random)
    drawn = (_sample(trials, configuration, SeededEntropy(seed, 3, index, number)) for number in range(CANDIDATES))
    tables = [(sample, _projected(configuration, sample, random)) for sample in [*drawn] if sample is not None]
    candidates = [table for _, table in tables if table is not None]
    lost = [1.0 if table is None else replaced(sample, table) / sample.total for sample, table in tables]
    judged = [judge.named(table) for table in candidates]
    criteria = tuple(
        _criterion(
            [figures[position] for figures in judged],
            stick,
            exact[position],
            verdicts(criterion, spec.joint_test, sensitivities[position], stick, exact[position]),
        )
        for position, (criterion, stick) in enumerate(zip(spec.criteria, sticks, strict=True))
    )
    telling = [
        criterion
        for criterion, look in zip(spec.criteria, criteria, strict=True)
        if not any(verdict.kind == "says nothing" for verdict in look.verdicts)
    ]
    original, gaps = merged(counts, configuration), with_gaps(configuration)
    unguarded = unguarded_pairs(configuration, telling, original, candidates)
    return CloserLook(
        configuration=index,
        candidates=len(candidates),
        criteria=criteria,
        unguarded=unguarded,
        verdict=_verdict(spec, configuration, sticks, original, candidates, unguarded, random),
        replaced=lost[0] if lost else 0.0,
        conclusions=conclusions(spec.questions, configuration, original, candidates),
        strengths=strengths_of(original, strongest_pairs(original, missing=gaps), gaps),
    )


def _verdict(
    spec: ReleaseSpec,
    configuration: Configuration,
    sticks: Sequence[Yardstick],
    original: Counts,
    candidates: Sequence[Counts],
    unguarded: Sequence[UnguardedPair],
    random: np.random.Generator,
) -> VerdictTable:
    compared = [(criterion, stick) for criterion, stick in zip(spec.criteria, sticks, strict=True) if criterion.compares]
    tied = tied_pairs(strongest_pairs(original, missing=with_gaps(configuration)))
    off = [pairs_off(original, candidate, tied) for candidate in candidates]
    return VerdictTable(
        judged=judged_digest(spec.tables),
        hang_together=bool(tied),
        independent_columns_pass=all(stick.independent <= criterion.threshold for criterion, stick in compared),
        pairs_off=float(np.median(off)) if off else None,
        pairs_off_if_independent=pairs_off(original, independent_columns(original, random), tied),
        lost=tuple(":".join(pair.columns) for pair in unguarded if pair.lost),
    )


def _sample(trials: Trials, configuration: Configuration, entropy: SystemEntropy) -> Counts | None:
    """Draw the rows of a candidate before its projection (the removal of rare rows), or return None without rows."""
    try:
        return trials.candidate(replace(configuration, projection=MinimumCount(minimum_count=1)), entropy).counts
    except RejectedRound:
        return None


def _projected(configuration: Configuration, sample: Counts, random: np.random.Generator) -> Counts | None:
    try:
        return configuration.projection.project(sample, random)
    except RejectedRound:
        return None


def _exact_figures(trials: Trials, judge: PublicJudge, entropy: SystemEntropy, rng: np.random.Generator) -> tuple[float, ...]:
    """Return the criterion values of a synthetic table that the generator makes without noise.

    All are NaN if the fit gives no table, or if the generator comes from a library whose noise cannot be left out.
    """
    configuration = judge.configuration
    sample = None if configuration.generator.by_library else _sample(trials, configuration, entropy)
    table = None if sample is None else _projected(configuration, sample, rng)
    return (math.nan,) * len(trials.spec.criteria) if table is None else judge.figures(table)


def _criterion(
    named: Sequence[tuple[float, Offender | None]], stick: Yardstick, noiseless: float, wrong: tuple[ThresholdProblem, ...]
) -> CriterionLook:
    judged = sorted((pair for pair in named if not math.isnan(pair[0])), key=lambda pair: pair[0])
    figure, offender = judged[len(judged) // 2] if judged else (math.nan, None)
    places = Counter(error.where for _, error in judged if error is not None)
    return CriterionLook(
        figure=figure,
        offender=offender,
        places=tuple(sorted(places.items(), key=lambda item: (-item[1], item[0]))),
        yardstick=stick,
        noiseless=noiseless,
        verdicts=wrong,
    )
