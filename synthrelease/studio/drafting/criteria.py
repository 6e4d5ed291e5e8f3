"""Draft acceptance criteria with thresholds that fits to the public file can meet, and suggest plausibility rules.

A fit is a trial: a synthetic table that is made from the public file with the noise of a release.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, groupby
from types import MappingProxyType

import numpy as np

from synthrelease.criteria import explain
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.drafts import (
    MOST_EPSILON,
    NOISE_SHARE,
    CriterionDraft,
    FileColumn,
    FileFacts,
    Partner,
    budget,
    drafts_of,
)
from synthrelease.criteria.facts import figure
from synthrelease.data.counts import Counts
from synthrelease.data.marginals import Lattice, with_pairs
from synthrelease.data.member_counts import RowsOnBins
from synthrelease.data.members import MemberRows
from synthrelease.data.plausibility import MAX_MASK_CELLS
from synthrelease.data.rules import Domain, RuleError, parse_rule
from synthrelease.data.schema import Binning, Column, Schema, Transformation, value_grid
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.settings.columns import MOST_OF_RULE
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.drafting.column_draft import ColumnDraft
from synthrelease.studio.rehearsal.attempts import AttemptResult, Trials, run_attempts
from synthrelease.studio.rehearsal.closer_look import Yardstick, once_only
from synthrelease.studio.rehearsal.dependence import Pair, PairTables, strongest_pairs, tied_pairs, valued
from synthrelease.studio.rehearsal.plan_race import MANY, MOST_EXCESS, Kept

MOST_GROUPS = 6
MOST_OFF = 0.1
"""In a draft, the error of a bin of a single column may be at most this share of the rows."""
LEAST_KEPT, LEAST_OF_STRONGEST = 0.25, 0.4
"""The least share of associations that a good draft preserves. The first share is for all pairs of columns. The second is for
the strongest pairs, if the share for all pairs is unknown.
"""
ATTEMPTS, FIRST_ATTEMPTS = 6, 2
"""Two numbers of noisy fits. The first is the number of fits that must meet a threshold. The second is the number of fits after
which the cost of the criteria is compared with the epsilon that is left for them.
"""
_ROOM = 1.25  # The ratio of a threshold to the largest criterion value of the fits and of the two halves of the file
MOST_OF_FIGURE = 0.25
"""The largest ratio of a threshold to the statistic whose error the threshold limits. Above this ratio, the criterion promises
little.
"""
MOST_OF_INDEPENDENT = 0.5
"""The largest ratio of a threshold to the value of independent columns, in a criterion about the associations of one column."""
# A criterion with own values is preferred unless its threshold exceeds 3 times the threshold of the criterion with bins.
_MUCH_WIDER = 3
_LITTLE_WIDER = 2  # A criterion of cells replaces the criterion of single columns if its threshold is at most twice as large
_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class AcceptanceDraft:
    """The acceptance criteria that a draft proposes: synthetic tables that fail them are not released.

    Attributes
    ----------
    groups : for each column of numbers whose groups are compared in criteria, the limits between the groups.
    left_out : for each criterion that is not drafted, its name, a colon and the reason.
    lost : pairs of associated columns whose association is lost in fits of the draft.
    faint : the lost pairs whose columns are associated in only a few rows.
    kept : sentences for the plan and the card, on the share of the associations that fits preserve.
    """

    criteria: tuple[CriterionDraft, ...]
    groups: Mapping[str, tuple[float, ...]]
    left_out: tuple[str, ...]
    lost: tuple[tuple[str, str], ...] = ()
    faint: tuple[Pair, ...] = ()
    kept: str = ""

    @property
    def epsilon(self) -> Fraction:
        return sum((Fraction(str(draft.settings.get("epsilon", 0))) for draft in self.criteria), Fraction(0))


@dataclass(frozen=True, kw_only=True)
class DraftStanding:
    """The quality of a draft: how well its noisy fits preserve the distributions and associations of the public file.

    Attributes
    ----------
    bins : largest error of a bin of a single column, as a share of the rows; the median of the fits.
    judged : whether the draft has a criterion about pairs of columns that independent columns fail.
    kept : the share of the associations that fits to one half of the public file preserve, measured on the other half, or
        None if a fit fails or no epsilon is left for tables.
    """

    bins: float
    judged: bool
    kept: Kept | None = None

    @property
    def tells(self) -> bool:
        """Whether the public file can show the preserved share: some columns are associated, and the share can be estimated."""
        return self.kept is not None and self.kept.strong > 0 and self.kept.share is not None

    @property
    def errors(self) -> float:
        """The loss of accuracy of a draft, divided by the largest acceptable loss; infinite if `kept` is None.

        The loss is the share of the associations that fits lose. If no columns are associated or this share is unknown, it
        is the excess of the error of fits over the error of independent columns.
        """
        if self.kept is None:
            return math.inf
        if self.kept.share is None or not self.tells:
            return max(0.0, self.kept.excess / MOST_EXCESS)
        promised = LEAST_OF_STRONGEST if self.kept.strongest_alone else LEAST_KEPT
        return (1 - self.kept.share) / (1 - (0.0 if self.kept.of_all_rows else promised))

    @property
    def share(self) -> float:
        """The share of the associations that a draft preserves, for comparing drafts; minus infinity if none was measured."""
        return -math.inf if self.kept is None else self.kept.comparable

    @property
    def good(self) -> bool:
        """Whether the draft is good: accurate enough, and with a criterion about pairs of columns if these can be judged
        (`tells`).
        """
        return self.preserves() and (self.judged or not self.tells)

    def preserves(self, least: float = -math.inf) -> bool:
        """Return whether single columns have small errors, few associations are lost, and at least the share `least` is
        preserved.
        """
        return self.share >= least and self.bins <= MOST_OFF and self.errors <= 1


def ties(columns: Sequence[ColumnDraft], table: Counts, counted: PairTables | None = None) -> list[Pair]:
    """Return all pairs of columns with the strength of their association, the strongest first.

    Parameters
    ----------
    table : counts of the public rows in the drafted bins.
    counted : the tables of the pairs, or None to count these tables here.
    """
    return strongest_pairs(table, {column.name for column in columns if column.keeps_missing}, counted)


def draft_acceptance(
    columns: Sequence[ColumnDraft],
    table: Counts,
    pairs: Sequence[Pair],
    members: Sequence[str] = (),
    unique: float | None = None,
) -> AcceptanceDraft:
    """Draft acceptance criteria with provisional thresholds, which `settle` replaces.

    Parameters
    ----------
    table : counts of the public rows in the drafted bins. The private file is assumed to have about as many rows.
    pairs : associations of the columns, from `ties`.
    members : names of the columns of a member, if a row is a root, such as a household, that may have several members.
    unique : share of the public rows that occur once, or None to compute it from `table`.
    """
    n_rows = table.total
    cell = 0.01 if n_rows >= 50_000 else 0.02 if n_rows >= 10_000 else 0.03 if n_rows >= 2_000 else 0.05
    partners = _partners(columns, table, pairs)
    facts = [_facts(column, partners[column.name]) for column in columns]
    strongest = tuple(pair.columns for pair in tied_pairs(pairs)[: len(columns)])
    unique = once_only(table) if unique is None else unique
    file = FileFacts(columns=tuple(facts), n_rows=n_rows, cell=cell, unique=unique, strongest=strongest, members=tuple(members))
    outcomes = drafts_of(file)
    drafted = tuple(outcome for outcome in outcomes if isinstance(outcome, CriterionDraft))
    grouped = {name for draft in drafted for name in grouped_by(draft)}
    groups = {column.name: column.bins.groups for column in columns if column.bins and column.name in grouped}
    left_out = tuple(outcome for outcome in outcomes if isinstance(outcome, str))
    return AcceptanceDraft(criteria=drafted, groups=groups, left_out=left_out)


def grouped_by(draft: CriterionDraft) -> tuple[str, ...]:
    """Return the columns that divide the rows into groups for a criterion (its setting `by`)."""
    by = draft.settings.get("by")
    return tuple(by) if isinstance(by, list | tuple) else ()


def _partners(columns: Sequence[ColumnDraft], table: Counts, pairs: Sequence[Pair]) -> dict[str, dict[str, Partner]]:
    """Return, for each column, the other columns by name with the strength of their association, the strongest first."""
    drafted, marginals = {column.name: column for column in columns}, with_pairs(table)
    index = {name: i for i, name in enumerate(table.layout.columns)}
    missing = {column.name for column in columns if column.keeps_missing}
    partners: dict[str, dict[str, Partner]] = {column.name: {} for column in columns}
    for pair in pairs:
        names = sorted(pair.columns, key=index.__getitem__)
        together = valued(marginals.get(tuple(index[name] for name in names)), *(name in missing for name in names))
        for column, partner, counts in ((*names, together.sum(axis=0)), (*names[::-1], together.sum(axis=1))):
            smallest = _smallest_group(drafted[partner], counts)
            partners[column][partner] = Partner(distance=pair.distance, smallest_group=smallest)
    return partners


def _smallest_group(column: ColumnDraft, counts: np.ndarray) -> int:
    """Return the number of rows in the smallest group that a column forms in criteria, or 0 if it has too many groups.

    Parameters
    ----------
    counts : number of rows in each bin of the column, without the bin of missing values.
    """
    if column.bins:
        starts = [0, *(column.bins.coarse.index(limit) + 1 for limit in column.bins.groups)]
        return int(np.add.reduceat(counts, starts).min())
    return int(counts.min()) if len(counts) <= MOST_GROUPS else 0


def _facts(column: ColumnDraft, partners: Mapping[str, Partner]) -> FileColumn:
    categories = _categories(column)
    return FileColumn(
        name=column.name,
        of_date=column.of_date or column.calendar,
        weight=column.weight,
        alternative=column.alternative,
        limits=column.bins.coarse if column.bins else None,
        category_rows=categories,
        missing_rows=column.missing_rows if column.keeps_missing else 0,
        partners=partners,
        mean_range=column.facts.mean_range if column.facts else (0.0, 1.0),
        line_range=column.facts.line_range if column.facts else (0.0, 1.0),
        spread=column.facts.spread if column.facts else 1.0,
    )


def _categories(column: ColumnDraft) -> dict[str, int]:
    if not column.common:
        return {draft.label: draft.rows for draft in column.codes.values()}
    rows = {column.codes[text].label: column.codes[text].rows for text in column.common}
    return {**rows, OTHERS: sum(draft.rows for draft in column.codes.values()) - sum(rows.values())}


OTHERS = "all others"
"""Label of the common bin of all rare categories."""


def settle(
    draft: AcceptanceDraft,
    spec: ReleaseSpec,
    public: Counts,
    measures: Sequence[Yardstick],
    seed: int,
    progress: Callable[[str], None],
    most: Fraction | None = None,
) -> tuple[AcceptanceDraft, DraftStanding]:
    """Choose a threshold and an epsilon for each drafted criterion, so that tables from noisy fits can meet the threshold.

    Return the criteria, and the quality of the draft. A threshold is a round number above the difference of two halves of
    the file and above the values of `ATTEMPTS` noisy fits, with a margin for the noise of the test (for a median, also for
    another sample). A criterion is removed if independent columns would pass or nearly pass it, if its threshold is too
    large for the statistic, or if its test would need too much epsilon.

    Parameters
    ----------
    spec : the specification of the draft, with these criteria.
    public : counts of the public rows in the finest bins.
    measures : reference values of each criterion on these rows.
    most : largest epsilon of all criteria, or None. If they need more after `FIRST_ATTEMPTS` fits (one fit for many
        columns), no further fits are made.
    """
    fits, trials = list[AttemptResult](), Trials(spec=spec, counts=public, seed=seed)
    first = FIRST_ATTEMPTS if len(spec.schema.columns) <= MANY else 1
    for attempts in (ATTEMPTS,) if most is None else (first, ATTEMPTS):
        while len(fits) < attempts:
            progress(f"fit {len(fits) + 1} of {ATTEMPTS}")
            fits += run_attempts(trials, [(0, len(fits))], spec.budget.generation)
        settled, standing = _settled(draft, spec, public, measures, fits)
        if most is not None and settled.epsilon > most:
            break
    return settled, standing


def _settled(
    draft: AcceptanceDraft, spec: ReleaseSpec, public: Counts, measures: Sequence[Yardstick], fits: Sequence[AttemptResult]
) -> tuple[AcceptanceDraft, DraftStanding]:
    margin = spec.joint_test.margin if spec.joint_test else 0.0
    numbers = range(len(draft.criteria))
    figures = [[math.inf if (figure_ := fit.figures[i]) is None else figure_ for fit in fits] for i in numbers]
    sensitivities = [max((s for fit in fits if (s := fit.sensitivities[i]) is not None), default=None) for i in numbers]
    settled: list[CriterionDraft | str | None] = [
        with_threshold(
            _measured_in(drafted, spec),
            measures[i],
            figures[i],
            sensitivities[i],
            2 * margin * (sensitivities[i] or 0) + _between_samples(_criterion_of(drafted, spec).best_figure, public.total),
        )
        for i, drafted in enumerate(draft.criteria)
    ]
    settled = one_of_each(draft.criteria, settled)
    of_bins = [draft_.asks for draft_ in draft.criteria].index("shares of single columns")
    settled[of_bins] = _beside_cells(settled[of_bins], settled[0])
    judged = any(isinstance(draft_, CriterionDraft) and draft_.asks == "pairs" for draft_ in settled)
    standing = DraftStanding(bins=float(np.median(figures[of_bins])), judged=judged)
    # A criterion of face privacy has no threshold. A release with no other criterion would be refused.
    if not any(isinstance(draft_, CriterionDraft) and "threshold" in draft_.settings for draft_ in settled):
        settled[0] = _kept_anyway(draft.criteria[0], measures[0], figures[0], sensitivities[0] or 1 / public.total)
    criteria = tuple(draft_ for draft_ in settled if isinstance(draft_, CriterionDraft))
    left_out = (*draft.left_out, *(draft_ for draft_ in settled if isinstance(draft_, str)))
    return replace(draft, criteria=criteria, left_out=left_out), standing


def _measured_in(draft: CriterionDraft, spec: ReleaseSpec) -> CriterionDraft:
    """Add the unit of the criterion values, such as a share of rows, if there is one, to the remark on a criterion."""
    criterion = _criterion_of(draft, spec)
    unit = explain(criterion).figure_unit(spec.setting.facts(spec.space[0].transformation))
    below = "; below 0, the criterion is met with a margin" if criterion.best_figure < 0 else ""
    in_remark = unit.startswith("share") and "share" in draft.remark and not below
    return replace(draft, remark=f"{draft.remark} (unit: {unit}{below})") if unit and not in_remark else draft


def _criterion_of(draft: CriterionDraft, spec: ReleaseSpec) -> Criterion:
    return next(criterion for criterion in spec.criteria if criterion.name == draft.settings["name"])


def _between_samples(best_figure: float, rows: int) -> float:
    """Return the margin of a threshold for sampling error, as a share of the rows; 0 unless the criterion is of a median.

    The margin is two standard deviations of the rank of a sample median: 2 (sqrt(n) / 2) / n. All other criteria, whose
    values are not below 0, contain the difference of two samples.
    """
    return 1 / math.sqrt(rows) if best_figure < 0 else 0.0


def one_of_each(
    drafts: Sequence[CriterionDraft], settled: Sequence[CriterionDraft | str | None]
) -> list[CriterionDraft | str | None]:
    """Choose between two versions of a criterion: with exact values of numeric columns, or with one representative value
    for each bin.

    Return the outcomes, with None in place of the other version. Representative values are used if exact values have no
    threshold, or one that is more than three times as large.
    """
    outcomes, names = list(settled), [draft.settings["name"] for draft in drafts]
    for index, draft in enumerate(drafts):
        if draft.in_place_of:
            replaced = names.index(draft.in_place_of)
            first, second = outcomes[replaced], outcomes[index]
            taken = isinstance(second, CriterionDraft) and (
                not isinstance(first, CriterionDraft) or _threshold(first) > _MUCH_WIDER * _threshold(second)
            )
            if taken and isinstance(second, CriterionDraft):
                limit = f"only {_shown(_threshold(first))}" if isinstance(first, CriterionDraft) else "no threshold"
                why = f"Features have the representative values of their bins, because fits with exact values meet {limit}"
                outcomes[index] = replace(second, remark=f"{second.remark}. {why}")
            outcomes[replaced if taken else index] = None
    return outcomes


def _beside_cells(bins: CriterionDraft | str | None, cells: CriterionDraft | str | None) -> CriterionDraft | str | None:
    """Return the criterion about single columns, or the reason to omit it: a criterion about cells is nearly as strict.

    Its threshold must then be at most twice as large.
    """
    if not (isinstance(bins, CriterionDraft) and isinstance(cells, CriterionDraft)):
        return bins
    if _threshold(cells) > _LITTLE_WIDER * _threshold(bins) or "largest" not in cells.settings:
        return bins
    return f"{bins.settings['name']}: {cells.settings['name']!r} also limits the errors of single columns"


def _threshold(draft: CriterionDraft) -> float:
    return float(str(draft.settings["threshold"]))


def _kept_anyway(draft: CriterionDraft, yardstick: Yardstick, fits: Sequence[float], sensitivity: float) -> CriterionDraft:
    """Return the criterion with a threshold that all fits meet, for a draft that would otherwise have no threshold."""
    reached = max(yardstick.perfect, *fits)
    threshold = min(1.0, rounded_up(_ROOM * reached)) if math.isfinite(reached) else 1.0
    epsilon = min(MOST_EPSILON, budget(NOISE_SHARE * sensitivity / threshold))
    return replace(draft, settings={**draft.settings, "threshold": threshold, "epsilon": epsilon})


def with_threshold(
    draft: CriterionDraft, yardstick: Yardstick, fits: Sequence[float], sensitivity: float | None, room: float
) -> CriterionDraft | str:
    """Return a criterion with a threshold that noisy fits can meet and an epsilon for its test, or why it is not drafted.

    Parameters
    ----------
    yardstick : criterion values of a half of the public file and of independent columns.
    sensitivity : sensitivity of the criterion, or None if it has no threshold.
    room : the margin of the threshold for the noise of the joint test and for another sample, in the unit of the criterion
        value.
    """
    name = draft.settings["name"]
    if sensitivity is None:
        return draft
    if not math.isfinite(max(*fits, yardstick.perfect)):
        return f"{name}: in a fit or in a half of the file, a group had no rows to compare"

    def above(reached: float) -> float:
        return rounded_up(max(reached, 0) * _ROOM + room)

    threshold = above(max(*fits, yardstick.perfect))
    of_pairs = draft.asks == "pairs"
    if of_pairs and yardstick.independent <= threshold:
        threshold = above(max(fits))
    seen = (
        f"{_shown(yardstick.perfect)} between two halves of the file, up to {_shown(max(fits))} in {len(fits)} fits, "
        f"{_shown(yardstick.independent)} for independent columns"
    )
    share = MOST_OF_INDEPENDENT if {"column", "target"} & draft.settings.keys() else 1
    if yardstick.independent * share <= threshold and "single columns" not in draft.asks:
        passed = "pass" if yardstick.independent <= threshold else "nearly pass"
        return f"{name}: independent columns would {passed} every threshold that fits can meet"
    if draft.about is not None and threshold > MOST_OF_FIGURE * draft.about:
        return f"{name}: fits need a threshold of {_shown(threshold)}, above a quarter of the statistic {_shown(draft.about)}"
    epsilon = budget(NOISE_SHARE * sensitivity / threshold)
    if epsilon > MOST_EPSILON:
        return f"{name}: with so few rows, its noisy test would need epsilon {float(epsilon):g}"
    clip = draft.settings.get("clip")
    if isinstance(clip, int | float) and threshold >= clip:
        return f"{name}: some bins are so rare that fits meet only thresholds above {clip:g}"
    settings = {**draft.settings, "threshold": threshold, "epsilon": epsilon}
    return replace(draft, settings=settings, seen=seen)


def _shown(value: float) -> str:
    if value < 0:
        return "not above 0"
    return figure(value, 2) if math.isfinite(value) else "nothing to compare"


def rounded_up(value: float) -> float:
    """Return the next larger round number with one or two significant digits; 0.001 for a value of 0 or below."""
    if value <= 0:
        return _ROUND[0] / 1000
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(factor for factor in _ROUND if power * factor >= value * (1 - 1e-9)) * power:.4g}")


# Plausibility rules that a public file suggests: pairs of values that many rows would have by chance, but no row has.
#
# The steward must check them, because a pair of values that no public row has may still be possible.

LEAST_EXPECTED = 50
"""A rule is suggested for a pair of values without rows only if independent columns would have this many rows with the pair."""
SURE = 0.01
"""A rule is suggested if independent columns would break it in at least this share of the rows. If the share is smaller, such
rows may be missing by chance.
"""
MOST_SUGGESTED, MOST_OF_A_PAIR, MOST_COMPARING = 32, 4, 5
MOST_LISTED = MOST_OF_RULE * 7 // 10
"""The largest number of characters of a list of categories in a rule. Longer lists are divided into several rules."""
MOST_NAMED = 15
"""A rule lists at most this number of categories. Nobody could judge a longer list."""
MOST_CELLS = 2**14
"""The largest number of cells of a table that a model needs for the suggested rules."""


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A suggested plausibility rule: a condition, such as `wage > total`, that no released row may meet.

    Attributes
    ----------
    expected : number of public rows that would meet the condition if the columns were independent.
    """

    never: str
    columns: tuple[str, str]
    expected: float

    @property
    def compares(self) -> bool:
        return self.never == " > ".join(self.columns)


def suggested_of_members(schema: Schema, transformation: Transformation, table: Counts) -> list[Suggestion]:
    """Suggest rules about pairs of columns of a single member, such as a person of a household.

    Parameters
    ----------
    table : counts, in bins, of wide records: a root, such as a household, with the columns of all its members.
    """
    linked = schema.linked
    if linked is None:
        return []
    of_each = MemberRows(linked=linked, of="members", wide=schema.names, names=linked.names)
    rows = RowsOnBins(rows=of_each, wide=transformation)
    counts, (members, binnings) = rows.on_bins(table), (rows.transformation.schema, rows.transformation.binnings)
    return _best(_about_cells(members, binnings, with_pairs(counts), ()), members, counts)


Numbers = Callable[[Sequence[Column]], Mapping[str, np.ndarray]]
"""Function that returns, for each of some columns by name, (n_rows,) the number of every public row; NaN if it has none."""


def suggested_rules(
    schema: Schema,
    binnings: Sequence[Binning],
    table: Counts,
    without: Collection[str] = (),
    own_numbers: Numbers | None = None,
    steps: Mapping[str, float | None] | None = None,
    counted: Lattice | None = None,
) -> list[Suggestion]:
    """Suggest rules such as `age < 18 and wage is not missing`: conditions that no public row meets.

    Independent columns would meet them in at least 1% of the rows; those that they would meet most often come first. All
    rules fit into one model.

    Parameters
    ----------
    table : counts of the public rows in the drafted bins of each column.
    own_numbers : function that returns the numbers of the rows, or None for no rules that compare two columns.
    steps : for columns whose exact values criteria use, the step of the grid on which these values are counted.
    counted : the marginals of the table, or None to count its pairs here.
    """
    marginals = counted or with_pairs(table)
    comparing = [] if own_numbers is None else _comparing(schema, binnings, table.total, marginals, without, own_numbers)
    pairs = {frozenset(rule.columns) for rule in comparing}  # a comparison replaces rules about single cells
    about_cells = [*_about_gaps(schema, binnings, marginals, without), *_about_cells(schema, binnings, marginals, without)]
    others = [rule for rule in about_cells if frozenset(rule.columns) not in pairs]
    return _best([*comparing, *others], schema, table, steps or {})


def _comparing(
    schema: Schema, binnings: Sequence[Binning], n_rows: int, marginals: Lattice, without: Collection[str], own_numbers: Numbers
) -> list[Suggestion]:
    """Suggest rules that compare the numbers of two columns, such as `wage > total`: conditions that no public row meets.

    A pair is a candidate if no row is in the cells in which every number of the first column is above every number of the
    second, although independent columns would have many there. Then the exact numbers decide.
    """
    plain = [column.name not in without and not (column.part or column.minus or column.counts) for column in schema.columns]
    numeric = [i for i, is_plain in enumerate(plain) if is_plain and binnings[i].lower]
    candidates = list[tuple[float, int, int]]()
    for pair in combinations(numeric, 2):
        counts = marginals.get(pair)[: binnings[pair[0]].present, : binnings[pair[1]].present]
        if counts.all():
            continue
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(1, counts.sum())
        for first, second, cells, rows in ((*pair, counts, expected), (*pair[::-1], counts.T, expected.T)):
            above = np.array(binnings[first].lower)[:, None] >= np.array(binnings[second].upper)[None, :]
            broken = float(rows[above].sum())
            if broken >= max(LEAST_EXPECTED, SURE * n_rows) and not cells[above].any():
                candidates.append((broken, first, second))
    values_of = own_numbers([schema.columns[i] for i in sorted({i for _, *pair_ in candidates for i in pair_})])
    named = [(schema.names[first], schema.names[second], broken) for broken, first, second in sorted(candidates, reverse=True)]
    return [
        Suggestion(never=f"{first} > {second}", columns=(first, second), expected=broken)
        for first, second, broken in named
        if not (values_of[first] > values_of[second]).any()
    ][:MOST_COMPARING]


def _best(
    rules: Iterable[Suggestion], schema: Schema, table: Counts, steps: Mapping[str, float | None] = MappingProxyType({})
) -> list[Suggestion]:
    of_pair, chosen = Counter[tuple[str, str]](), list[Suggestion]()
    labels = {column.name: column.atoms.labels if column.kind == "category" else () for column in schema.columns}
    domains = {
        column.name: Domain(kind=column.kind, bounds=column.bounds, categories=labels[column.name], missing=True)
        for column in schema.columns
    }
    for rule in sorted(rules, key=lambda rule: -rule.expected):
        if _can_be_read(rule.never, domains):
            of_pair[rule.columns] += 1
            if of_pair[rule.columns] <= MOST_OF_A_PAIR and len(chosen) < MOST_SUGGESTED:
                chosen.append(rule)
    names, sizes = table.layout.columns, table.layout.sizes
    tied, suggestions = list[tuple[int, ...]](), list[Suggestion]()
    for rule in chosen:
        pair = tuple(sorted(map(names.index, rule.columns)))
        # a rule about bins needs a mask over all values of the two columns; a rule that compares the columns does not
        cells = math.prod(_own_values(schema[name], steps.get(name)) for name in rule.columns)
        small = " and " not in rule.never or cells <= MAX_MASK_CELLS
        small = small and JunctionTree.of(sizes, [*tied, pair]).largest <= MOST_CELLS
        if small and rule.expected >= SURE * table.total:
            tied.append(pair)
            suggestions.append(rule)
    return suggestions


def _own_values(column: Column, step: float | None) -> int:
    """Return the number of bins of a column in a criterion with exact values, which are counted on a grid with this step."""
    if column.bounds is None:
        return len(column.atoms)
    return len(value_grid(column.bounds, whole=column.kind == "integer", step=step).edges) + 1


def _can_be_read(never: str, domains: Mapping[str, Domain]) -> bool:
    try:
        parse_rule(never, domains, of_records=True)
    except RuleError:
        return False
    return len(never) <= MOST_OF_RULE


def _about_cells(
    schema: Schema, binnings: Sequence[Binning], marginals: Lattice, without: Collection[str]
) -> Iterable[Suggestion]:
    for a, b in combinations([i for i, name in enumerate(schema.names) if name not in without], 2):
        counts = marginals.get((a, b))[: binnings[a].present, : binnings[b].present]
        if counts.all() or not counts.any():
            continue
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        empty = counts == 0
        names = schema.names[a], schema.names[b]
        first, second = schema[names[0]], schema[names[1]]
        if ((~empty).sum(axis=1) <= 1).all() or ((~empty).sum(axis=0) <= 1).all():
            continue  # one column determines the other, like a codelist, so a rule would be pointless
        never_met = defaultdict[str, dict[int, float]](dict)  # expected rows, by condition and by bin of the first column
        for row in range(len(empty)):
            for never, cells in _conditions(second, binnings[b], empty[row]):
                if (rows := float(expected[row, cells].sum())) >= LEAST_EXPECTED:
                    never_met[never][row] = rows
        for never, rows_of in never_met.items():
            for condition, bins in _any_of(first, binnings[a], sorted(rows_of)):
                yield Suggestion(never=f"{condition} and {never}", columns=names, expected=sum(rows_of[i] for i in bins))


def _about_gaps(
    schema: Schema, binnings: Sequence[Binning], marginals: Lattice, without: Collection[str]
) -> Iterable[Suggestion]:
    """Yield rules about missing values, such as `age < 18 and wage is not missing` for a question to adults only.

    The rules refer to the column that explains most of the missing values, preferably one without missing values itself. Of
    several columns that are missing in the same rows, only the one with the fewest bins has such rules; one more rule joins
    each of the others to it.
    """
    columns = [i for i, name in enumerate(schema.names) if name not in without]
    with_gaps = [i for i in columns if binnings[i].missing is not None]
    for answered in with_gaps:
        block = [i for i in with_gaps if i == answered or _same_gaps(marginals.get((min(i, answered), max(i, answered))))]
        leader = min(block, key=lambda i: binnings[i].present)
        if leader != answered:
            name, other = schema.names[leader], schema.names[answered]
            never = f"({name} is missing and {other} is not missing) or ({name} is not missing and {other} is missing)"
            gaps, rows = float(marginals.get((answered,))[binnings[answered].missing]), float(marginals.get((answered,)).sum())
            if (expected := 2 * gaps * (1 - gaps / rows)) >= LEAST_EXPECTED:
                yield Suggestion(never=never, columns=(name, other), expected=expected)
            continue
        rules_of = []
        for first in (i for i in columns if i != answered):
            counts = marginals.get((min(first, answered), max(first, answered)))
            counts = counts if first < answered else counts.T
            if (counts[:, binnings[answered].missing] > 0).all() and counts[:, : binnings[answered].present].any(axis=1).all():
                continue  # in each bin of the first column, some rows have an answer and some have none
            pair = (schema.columns[first], schema.columns[answered], binnings[first], binnings[answered])
            rules = [*_of_gaps(*pair, counts)]
            rules_of.append((binnings[first].missing is None, sum(rule.expected for rule in rules), rules))
        certain = [item for item in rules_of if item[2]]
        if certain:
            yield from max(certain, key=lambda item: item[:2])[2]


def _same_gaps(counts: np.ndarray) -> bool:
    return bool(counts[-1, -1] and not counts[-1, :-1].any() and not counts[:-1, -1].any())


def _of_gaps(
    cause: Column, answered: Column, of_asked: Binning, of_answered: Binning, counts: np.ndarray
) -> Iterable[Suggestion]:
    """Yield rules such as `age < 18 and wage is not missing`: in these bins, the second column is always or never missing.

    Parameters
    ----------
    cause, answered : the column of the condition, and the column with missing values.
    counts : (n_bins of `cause`, n_bins of `answered`) number of rows.
    """
    rows, gaps = counts.sum(axis=1), counts[:, of_answered.missing]
    share = float(gaps.sum() / max(1, rows.sum()))
    for certain, rate, state in ((gaps == rows, 1 - share, "is not missing"), (gaps == 0, share, "is missing")):
        bins = np.flatnonzero(certain & (rows * rate >= LEAST_EXPECTED)).tolist()
        conditions = list(_any_of(cause, of_asked, [bin_ for bin_ in bins if bin_ != of_asked.missing]))
        conditions += [(f"{cause.name} is missing", [bin_]) for bin_ in bins if bin_ == of_asked.missing]
        for condition, bins_ in conditions:
            never, expected = f"{condition} and {answered.name} {state}", float(rows[bins_].sum() * rate)
            yield Suggestion(never=never, columns=(cause.name, answered.name), expected=expected)


def _conditions(column: Column, binning: Binning, empty: np.ndarray) -> Iterable[tuple[str, np.ndarray]]:
    """Yield conditions that no row meets, such as `age >= 90`, with a mask of the bins that meet them.

    For numbers, conditions use only bins below or above all bins that occur.
    """
    met = np.flatnonzero(~empty)
    if not len(met):
        return
    indices = np.arange(len(empty))
    if binning.lower:
        if met[0] > 0:
            yield f"{column.name} < {_number(binning.lower[met[0]])}", indices < met[0]
        if met[-1] < len(empty) - 1:
            yield f"{column.name} >= {_number(binning.upper[met[-1]])}", indices > met[-1]
        return
    for condition, listed in _any_of(column, binning, np.flatnonzero(empty).tolist()):
        yield condition, np.isin(indices, listed)


def _any_of(column: Column, binning: Binning, wanted_bins: Sequence[int]) -> Iterable[tuple[str, list[int]]]:
    """Yield conditions that exactly describe the given bins, such as `age < 18`, with the bins that meet each.

    Bins of numbers have a condition for each run of neighbours. There is none for groups of categories, for more than
    `MOST_NAMED` categories, or if a category cannot be quoted.
    """
    if binning.lower:
        for _, run in groupby(wanted_bins, key=lambda i: i - wanted_bins.index(i)):
            bins = list(run)
            parts = [f"{column.name} >= {_number(binning.lower[bins[0]])}"] if bins[0] > 0 else []
            parts += [f"{column.name} < {_number(binning.upper[bins[-1]])}"] if bins[-1] < binning.present - 1 else []
            if parts:
                yield " and ".join(parts), bins
        return
    texts = {i: _quoted(binning.labels[i]) for i in wanted_bins}
    quoted = {i: text for i, text in texts.items() if text is not None}
    if len(quoted) == len(texts) <= MOST_NAMED and binning.labels == column.atoms.labels:
        for listed in _short_lists(quoted):
            comparison = f"== {quoted[listed[0]]}" if len(listed) == 1 else f"in [{', '.join(quoted[i] for i in listed)}]"
            yield f"{column.name} {comparison}", listed


def _short_lists(texts: Mapping[int, str]) -> list[list[int]]:
    """Divide texts into lists of at most `MOST_LISTED` characters, or one text, and return the keys of each list."""
    lists: list[list[int]] = []
    characters = 0
    for i, text in texts.items():
        characters += len(text) + len(", ")
        if not lists or characters > MOST_LISTED:
            lists.append([])
            characters = len(text) + len(", ")
        lists[-1].append(i)
    return lists


def _number(value: float) -> str:
    text = f"{value:.15g}"
    return text if "e" not in text else np.format_float_positional(float(text), trim="-")


def _quoted(label: str) -> str | None:
    mark = next((mark for mark in "'\"" if mark not in label), None)
    return None if mark is None else f"{mark}{label}{mark}"
