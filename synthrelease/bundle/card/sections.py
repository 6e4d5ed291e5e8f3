"""Write the passages of the card about criteria, generator, projection, associations, guarantee, bins and rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, Any

from synthrelease.bundle.card import uses_of
from synthrelease.bundle.card.numbers import (
    exact_epsilon,
    paragraphs_of,
    program,
    right_at_most,
    rounded_down,
    rounded_up,
    said,
    share,
)
from synthrelease.bundle.limits import LEVEL, error_band, kept_rows, of_every_cell, public_facts, rows_were_drawn
from synthrelease.criteria import explain
from synthrelease.criteria.facts import figure, in_words, words
from synthrelease.data.layout import Layout
from synthrelease.data.linked import NAME_OR_TEXT
from synthrelease.generators import GENERATORS
from synthrelease.generators.associations import Associations, CarriedPairs, PartnersOfColumn
from synthrelease.generators.projections import published_projection
from synthrelease.privacy.charges import NOT_COVERED
from synthrelease.privacy.curves import exp_up, least_wrong
from synthrelease.privacy.plan import RowsLeftOut, loss_of_groups
from synthrelease.published.associations import of_document
from synthrelease.published.charges import CriterionPart, IntervalPart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import release_of
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.questions import QuestionTable
from synthrelease.settings.tables import RANDOM, AttacksTable
from synthrelease.spec.record import used_rows

if TYPE_CHECKING:
    from synthrelease.answers.stated import StatedAnswer

# The associations on the first screen of the card: the pairs that the rows preserve or, if these are fewer, the other pairs.

FIRST_LINES = 6
"""Number of columns whose associations are on the first screen. Readers can unfold the other columns."""
MOST_TRIPLES = 6


@dataclass(frozen=True, kw_only=True)
class AssociationLines:
    """The associations between columns that the card lists as preserved by the rows.

    Attributes
    ----------
    pairs : the pairs of columns whose association the rows preserve.
    first, others : the same pairs, listed by column: those always visible, and those that readers can unfold.
    triples : some of the triples of columns whose joint association the rows preserve.
    apart : columns with rare bins that were counted separately.
    projected : whether rare combinations were replaced.
    """

    pairs: CarriedPairs
    first: Sequence[PartnersOfColumn]
    others: Sequence[PartnersOfColumn]
    triples: Sequence[tuple[str, ...]]
    apart: Sequence[str] = ()
    projected: bool = False

    @property
    def sentences(self) -> list[str]:
        return uses_of(self.pairs)


def carried_pairs(document: ReleaseDocument) -> CarriedPairs | None:
    return pairs_of(of_document(document))


def pairs_of(associations: Associations | None) -> CarriedPairs | None:
    """Summarise for which pairs of columns the rows preserve the association.

    Return None for a single column, or if release.json states impossible settings.
    """
    return None if associations is None or len(associations.names) < 2 else associations.carried


def association_lines(document: ReleaseDocument, rows: Associations | None) -> AssociationLines | None:
    """Choose the associations that the card lists, or return None if nothing is known about them."""
    if rows is None or (pairs := pairs_of(rows)) is None:
        return None
    projection = published_projection(document.configuration.get("projection", {}))
    return AssociationLines(
        pairs=pairs,
        first=pairs.columns[:FIRST_LINES],
        others=pairs.columns[FIRST_LINES:],
        triples=pairs.carried_triples[:MOST_TRIPLES],
        apart=[rows.layout.columns[index] for index in sorted(rows.apart)],
        projected=pairs.carried > 0 and projection is not None and projection.asked_count > 1,
    )


def pairs_not_carried(associations: Associations | None, question: QuestionTable) -> str:
    """Name the pairs of columns in a question whose association the rows do not preserve, or only for some members, or
    return "".
    """
    if associations is None:
        return ""
    words = _words_of(question)
    in_question = dict.fromkeys(name for name in (*associations.names, *associations.layout.columns) if name in words)
    carried = {pair: associations.measured(*pair) for pair in combinations(in_question, 2) if associations.differ(*pair)}
    lost, part = (
        [" × ".join(pair) for pair in carried if carried[pair] in words] for words in ((None, "mostly noise"), ("in part",))
    )
    sentences = [f"the rows do not preserve the association of {', '.join(lost)}"] if lost else []
    sentences += [f"the rows preserve the association of {', '.join(part)} for some members only"] if part else []
    return " and ".join(sentences)


def _words_of(question: QuestionTable) -> set[str]:
    texts = (question.query, question.given, question.mean or "", question.minus or "")
    return {match[0].partition(".")[0] for text in texts for match in NAME_OR_TEXT.finditer(text)}


# The rows that the figures of a release are about, and the limits for the file.

_LEVEL = share(float(LEVEL), 0)
_COUNTING = 0.001  # Probability that the number of rows that pass the rules is outside the printed range


def band_text(document: ReleaseDocument) -> str:
    """Explain the error bands in the pictures, or return "" if there are none."""
    band, criterion = error_band(document, 1), of_every_cell(document)
    if band is None or criterion is None:
        return ""
    return said("band", band, criterion.name, rows_were_drawn(document), _file(document), _LEVEL)


def drawn_text(document: ReleaseDocument) -> str:
    """Explain that criterion values describe only a random part of the rows that pass the rules, or return "" if they do
    not.
    """
    if not rows_were_drawn(document):
        return ""
    silent = [
        part.name
        for part in document.criteria
        if part.interval is not None
        and part.interval.file_high is None
        and ((criterion := part.criterion()) is None or criterion.compares)
    ]
    return said("drawn", document, silent, _file(document), _LEVEL)


def file_ends(document: ReleaseDocument) -> dict[str, str]:
    """Return, by criterion, the upper limit on its value for the whole file, such as "at most 0.02".

    The dict is empty unless the used rows were drawn at random.
    """
    if not rows_were_drawn(document):
        return {}
    limits = {part.name: None if part.interval is None else part.interval.file_high for part in document.criteria}
    return {name: "not known" if limit is None else f"at most {rounded_up(limit, 4)}" for name, limit in limits.items()}


def _file(document: ReleaseDocument) -> str:
    return f"“The file” means {kept_rows(document).in_words(_COUNTING)}."


# The effect of repeated rows on standard errors that are computed from a released table.


def effective_rows(table: ReleasedTable, minimum_count: int) -> float:
    """Return Kish's effective sample size, n^2 / sum of w^2: the number of independent rows with the same standard errors.

    If a row occurs exactly `minimum_count` times, its copies count as one draw with this weight w, because the projection
    may have repeated it. Every other row counts as one draw with weight 1.

    A projection to a minimum count m keeps about a share k/m of the cells with k < m rows, and gives each kept cell exactly
    m rows (theory 7.1, minimum count). The projection of such a cell adds m^2 (k/m)(1 - k/m) = k (m - k) to the variance of
    a sum. Its own k rows add k, if they are independent draws. Together this is k (m - k + 1), at most k m, which is the
    variance of one draw for each block of m equal rows. So, apart from chance, the true effective size is not smaller than
    the result.
    """
    counts, n = table.counts.counts, table.counts.total
    blocks = int((counts == minimum_count).sum())
    return n**2 / (n + blocks * (minimum_count**2 - minimum_count))


def duplicate_sentences(document: ReleaseDocument, table: ReleasedTable) -> Sequence[str]:
    """Return warnings that standard errors from the released rows are too small, because the projection replaced or
    repeated rows.
    """
    projection, least = published_projection(document.configuration.get("projection", {})), document.minimum_count
    if least == 1:
        return () if projection is None or projection.asked_count == 1 else paragraphs_of("replaced", document)
    rows = int(table.counts.counts[table.counts.counts == least].sum())
    return paragraphs_of("repeated", document, rows, math.floor(effective_rows(table, least))) if rows else ()


# Estimates from the published noisy tables.


def sentences(document: ReleaseDocument) -> Sequence[str]:
    """Return the card's paragraphs on estimates from the published noisy tables, if the release has any."""
    return () if document.estimates is None else paragraphs_of("estimated", document, program(document))


def measured_alone(document: ReleaseDocument) -> list[str]:
    """Return the columns that no noisy table or sum contains together with another column.

    Only plausibility rules then associate them with others. No column is returned for a generator with unknown tables, for
    several models, or for a model with a public table, where columns may be associated otherwise. A column of members
    stands for this column at every position.
    """
    together = _together(document)
    if not together or document.divided_rows is not None or document.configuration["generator"].get("prior"):
        return []
    tied = {name for table in together if len(set(table)) > 1 for name in table}
    names, linked = [column.name for column in document.columns], document.linked
    if linked is None:
        return [name for name in names if name not in tied]
    slots = dict(zip(linked.names, zip(*linked.slots, strict=True), strict=True))
    return [name for name in linked.of_roots(names) if name not in tied] + [
        name for name, of_slots in slots.items() if tied.isdisjoint(of_slots)
    ]


def _together(document: ReleaseDocument) -> list[list[str]]:
    """Return the columns of each noisy table and sum from which the rows were made, or an empty list if they are not public."""
    from synthrelease.generators import GENERATORS

    settings = document.configuration["generator"]
    kind = GENERATORS.get(str(settings.get("family")))
    if document.linked is None and kind is not None:
        names = tuple(column.name for column in document.columns)
        layout = Layout(columns=names, sizes=tuple(len(column.bins) for column in document.columns))
        try:
            measured = kind.model_validate(settings).stated(layout)
        except ValueError:  # a changed document, which `verify` reports
            return []
        if measured:
            return [[names[index] for index in table] for table in measured]
    return [] if document.estimates is None else document.estimates.together


def example(document: ReleaseDocument) -> str:
    """Return an example of a question that has an estimate, or ""."""
    part = document.estimates
    if part is None:
        return ""
    intended = next((candidate.question for candidate in part.intended if candidate is not None), None)
    if intended is not None:
        return intended
    columns = {column.name: column for column in document.columns}
    table = [columns[name] for name in max(part.together, key=len)]
    numbered = [column.name for column in table if all(bin_.number is not None or bin_.missing for bin_ in column.bins)]
    if not numbered:
        return f"share {table[0].name} == '{table[0].bins[0].label}'"
    by = next((candidate.name for candidate in table if candidate.name != numbered[-1]), None)
    return f"mean {numbered[-1]}" + (f" by {by}" if by else "")


Parameters = Mapping[str, Any]
_YEARS = (1500, 2200)  # Range of whole numbers that are written without a comma, because they may be years


def criterion_text(criterion: CriterionPart, document: ReleaseDocument) -> str:
    """Describe the value of a criterion in words, and who agreed to the threshold, if this is stated."""
    kind = criterion.criterion()
    if kind is None:
        return f"The kind of this criterion is {criterion.kind!r}."
    return " ".join([explain(kind).sentence(public_facts(document)), *([kind.agreed.words] if kind.agreed else [])])


def criterion_unit(criterion: CriterionPart, document: ReleaseDocument) -> str:
    kind = criterion.criterion()
    return "" if kind is None else explain(kind).figure_unit(public_facts(document))


def interval_text(interval: IntervalPart | None) -> str:
    if interval is None:
        return "not known"
    if interval.how == "exact":
        return "exact"
    if interval.how == "measurements":
        return f"at most {rounded_up(interval.high or 0, 4)}"
    if interval.high is None:
        return f"{rounded_down(interval.low)} or more"
    return f"{rounded_down(interval.low)} to {rounded_up(interval.high, 4)}"


def range_text(criterion: CriterionPart) -> str:
    """Return the range to which contributions of a row are clipped, such as "0 to 100", or the range of the criterion value."""
    clipped = criterion.parameters.get("range")
    low, high = clipped if clipped is not None else (criterion.best, criterion.worst)
    return f"{figure(low)} or more" if high is None else f"{figure(low)} to {figure(high)}"


NUMBERS = ("threshold", "released value", "interval", "limit for the file", "epsilon", "sensitivity", "noise sd")
"""Headings of those columns of the table of criteria that contain numbers."""


def criteria_table(document: ReleaseDocument) -> list[dict[str, str]]:
    """Return the table of criteria on the card, each a dict from headings to cells.

    The cells for type, threshold, criterion value, epsilon, mechanism, range, sensitivity and noise are as in Table 2 of
    Hod & Canetti (2024).
    """
    limits = file_ends(document)
    met = "within threshold" if document.selection.joint_test else "met"
    return [
        {
            "criterion": part.name,
            "type": words(part.kind),
            "threshold": figure(part.threshold) + (f" ({unit})" if (unit := criterion_unit(part, document)) else ""),
            "released value": figure(part.value),
            met: "yes" if part.passed and part.value <= part.threshold else "no",
            "interval": interval_text(part.interval),
            **({"limit for the file": limits[part.name]} if limits else {}),
            "epsilon": exact_epsilon(part.epsilon_exact),
            "mechanism": part.mechanism.partition(":")[0],
            "range": range_text(part),
            "sensitivity": "none" if part.sensitivity is None else figure(part.sensitivity),
            "noise sd": "none" if part.noise_sd is None else figure(part.noise_sd, 3),
        }
        for part in document.criteria
    ]


def shared_text(document: ReleaseDocument) -> str:
    names = [part.name for part in document.criteria if part.one_noise]
    return said("shared", names) if names else ""


def answered_text(document: ReleaseDocument) -> str:
    """Explain which criterion values are upper bounds from the published noisy tables, and with what confidence, or return
    "".
    """
    names, bounds = [part.name for part in document.criteria if part.answered], document.selection.bounds
    if not names or bounds is None:
        return ""
    return said("answered", names, 100 * (1 - float(Fraction(bounds.risk_exact))))


def generator_text(family: str) -> str:
    return GENERATORS[family].words if family in GENERATORS else ""


def projection_text(settings: Parameters) -> str:
    projection = published_projection(settings)
    return "" if projection is None else projection.sentence


MOST_LISTED = 40
"""Largest number of categories of a bin that the card lists. If a bin has more categories, the card lists half as many as this
number."""


def rule_scope(applies_to: Sequence[str]) -> str:
    """Return a phrase for the rows to which a rule applies: private, released, or both."""
    return " and ".join(_SCOPES.get(scope, scope) for scope in applies_to)


def parameter_texts(parameters: Parameters) -> list[tuple[str, str]]:
    """Return the name and the value of each setting in words."""
    return [(words(name), _tables(value) if name == "tables" else in_words(value)) for name, value in parameters.items()]


def listed_text(counts: Sequence[int], listed: Sequence[int], total: int) -> str:
    """Return a sentence on a column with very many bins, of which the card lists only some."""
    rows = share(sum(counts[index] for index in listed) / total)
    return (
        f"The table above lists only the {len(listed)} bins with the most rows. They have {rows} of all rows. release.json "
        f"lists all {len(counts):,} bins."
    )


def bin_text(column: ColumnPart, index: int) -> str:
    """Describe the values, edges or categories of a bin, or that the value is missing."""
    bin_ = column.bins[index]
    if bin_.missing:
        also = f" (the original file may write {', '.join(column.missing_values)})" if column.missing_values else ""
        return f"no value{also}"
    if bin_.categories is not None:
        listed = ["any text that no other category lists" if text == column.outside_label else text for text in bin_.categories]
        return "" if listed == [bin_.label] else _enumerated(listed)
    last = None if bin_.below is None else bin_.below - 1 if column.kind == "integer" else bin_.below
    end = "up to" if column.kind == "integer" else "below"
    if bin_.lower is None:
        return f"{end} {value_text(column, last)}" if last is not None else "all values"
    low = value_text(column, bin_.lower)
    if last is None:
        return f"{low} or more"
    return low if bin_.lower == last else f"{low} {'to' if end == 'up to' else 'to below'} {value_text(column, last)}"


def value_text(column: ColumnPart, value: float, digits: int = 4) -> str:
    """Format a value of a column. Years have no comma."""
    low, high = column.bounds or (0, 0)
    years = column.part == "year" or (column.kind == "integer" and low >= _YEARS[0] and high <= _YEARS[1])
    return figure(value, digits).replace(",", "") if years else figure(value, digits)


def _enumerated(names: Sequence[str]) -> str:
    if len(names) <= MOST_LISTED:
        return ", ".join(names)
    first = names[: MOST_LISTED // 2]
    return f"{', '.join(first)} and {figure(len(names) - len(first))} more (see release.json)"


def _tables(value: Any) -> str:
    """Describe a formula of tables in words: "age:region + 2 sex" becomes "age by region, sex (weight 2)"."""
    if not isinstance(value, str):
        return in_words(value)
    terms, head = [], "by cells: " * value.startswith("by cells:")
    for term in value.removeprefix("by cells:").split("+"):
        first, _, rest = term.strip().partition(" ")
        weighted = bool(rest) and first.replace(".", "", 1).isdigit()
        names = (rest if weighted else term).split(":")
        terms.append(" by ".join(words(name.strip()) for name in names) + (f" (weight {first})" if weighted else ""))
    return head + ", ".join(terms)


_SCOPES = {"raw": "original records", "synthetic": "released rows"}


def ending_text(document: ReleaseDocument) -> str:
    """Return a sentence on how the number of rounds (attempts to make a table) was limited."""
    return said("ending", document.selection)


# The guarantee. This section states the files and persons that it covers, and the probability of a right guess.


def domain_text(document: ReleaseDocument) -> str:
    """Return sentences about the files that the guarantee covers, and the number of rows that the release used."""
    shortfall = f"{float(Fraction(document.domain.shortfall or 0)):g}"
    return said("domain", document, rows_left_out(document), shortfall, NOT_COVERED)


def rows_left_out(document: ReleaseDocument) -> RowsLeftOut | None:
    """Return the public estimate of how many records of the file the release left out, or None."""
    domain = document.domain
    return RowsLeftOut.told(
        way=domain.way,
        n_file=domain.file_rows,
        n=document.rows_worked_with,
        margin=domain.margin,
        one_each=domain.persons in (None, domain.file_rows),
        secret_piece=document.secret_piece,
    )


def left_out_text(document: ReleaseDocument) -> str:
    """Return sentences on how missing values, values out of range, and rows that break rules were treated."""
    # the other columns follow from these columns and exclude no row
    columns = [column for column in document.columns if column.source]
    missing = {policy: [column.name for column in columns if column.missing == policy] for policy in ("drop", "error")}
    sentences = [
        ("Rows with no value, or no number or date, in one of these columns were left out: {}.", missing["drop"]),
        ("Missing values were counted in a separate bin of these columns: {}.", _missing_bins(columns)),
        (
            "A file with a missing value in one of these columns would have been refused. So the original file has no such "
            "value, and the guarantee does not cover this fact: {}.",
            missing["error"],
        ),
        ("In these columns, values outside the bounds counted as the nearest bound: {}.", _outside(columns, "clip")),
        ("Rows with a value outside the bounds or categories of these columns were left out: {}.", _outside(columns, "drop")),
        ("Texts that no category lists were counted in a separate category of these columns: {}.", _unlisted(columns)),
        (
            "A file with a value outside the bounds or categories of these columns would have been refused. So the original "
            "file has no such value, and the guarantee does not cover this fact: {}.",
            _outside(columns, "error"),
        ),
        ("Rows that meet one of these conditions were left out: {}.", document.raw_rules),
        (
            "Of each person, only the first rows that follow these rules were used, at most {}. Further rows of the person, "
            "and rows without a key, were left out.",
            [str(document.guarantee.person.records)] if document.domain.persons is not None else [],
        ),
    ]
    texts = [text.format("; ".join(names)) for text, names in sentences if names]
    return " ".join([*texts, *([] if document.split is None else [document.split.left_out])])


def _missing_bins(columns: Iterable[ColumnPart]) -> Iterable[str]:
    return [f"{column.name} ({bin_.label!r})" for column in columns for bin_ in column.bins if bin_.missing]


def _unlisted(columns: Iterable[ColumnPart]) -> Iterable[str]:
    return [f"{column.name} ({column.outside_label!r})" for column in columns if column.outside_label]


def _outside(columns: Iterable[ColumnPart], policy: str) -> Iterable[str]:
    return [column.name for column in columns if column.outside == policy]


def person_text(document: ReleaseDocument) -> str:
    """Return sentences on the protection of a person with several records, or whose rows are found by a key."""
    person, domain = document.guarantee.person, document.domain
    if domain.persons is None:
        return said("person", document, loss_of_groups(Fraction(document.guarantee.delta_exact)))
    if domain.first_by is None:  # released before rows were drawn
        first = "first row" if person.records == 1 else f"first {person.records} rows"
        used, lean = f"the {first} of each person, in an order that depends only on the rows of this person", ""
    else:
        used, lean = used_rows(person.records, [] if domain.first_by == RANDOM else domain.first_by)
    return said("keyed_person", document, used, lean)


def right_guess(document: ReleaseDocument, whole_person: bool = False) -> str:
    """Return an upper bound, as a percentage, on the probability of guessing correctly which of two equally likely
    neighbouring files was used.

    The bound is (e^epsilon + delta) / (1 + e^epsilon): theory 1.4, two worlds. With `whole_person`, the files differ in all
    records of one person.
    """
    guarantee = document.guarantee.person if whole_person else document.guarantee
    if guarantee.epsilon_exact is None or guarantee.delta_exact is None:
        return "100%"
    wrong = least_wrong(Fraction(guarantee.epsilon_exact), Fraction(guarantee.delta_exact))
    return right_at_most(wrong)


def right_guess_text(document: ReleaseDocument) -> str:
    """Explain how likely a correct guess between two neighbouring files is, also between files that differ in one row."""
    whole = document.domain.persons is not None and document.guarantee.person.records > 1
    return said("guess", right_guess(document, whole_person=whole), right_guess(document) if whole else "")


BELIEFS = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))
"""Probabilities that somebody might assign to a statement before the release. For each of them, the section on data protection
states the largest probability after the release.
"""


def data_protection(document: ReleaseDocument) -> list[tuple[str, str]]:
    """Return the paragraphs, with headings, that explain the guarantee in the terms of data protection law.

    They are about a person if the release gives a guarantee for a whole person, otherwise about a record. If delta is not
    0, only the guess between two equally likely files has a bound without exception (theory 1.4, two worlds).
    """
    person = document.guarantee.person
    whole = person.epsilon_exact is not None and person.delta_exact is not None
    unit = "person" if whole else "record"
    guarantee = person if whole else document.guarantee
    delta, factor = guarantee.delta_exact, exp_up(Fraction(guarantee.epsilon_exact or 0))
    if delta == "0":
        beliefs = ", ".join(f"from {float(100 * belief):g}% to at most {_after(belief, factor)}" for belief in BELIEFS)
        bound = f"The probability that somebody assigns to this may rise {beliefs}, whatever else they know."
    else:
        right = right_guess(document, whole_person=whole)
        bound = f"If somebody finds both equally likely, at most {right} of the guesses are right, whatever else they know."
    return [
        ("Singling out", said("singling_out", unit, bound)),
        ("Linking", said("linking", unit)),
        ("Inference", said("inference", unit)),
        ("Compared with other measures", said("other_measures", document.minimum_count)),
        ("Tried, not proved", " ".join(attack_sentences(document.attacks))),
    ]


def attack_sentences(attacks: AttacksTable | None, *, all_columns: bool = False) -> Sequence[str]:
    """Return a paragraph for each attack on public rows, with the upper bound on success from epsilon, or say that there is
    none.

    Parameters
    ----------
    all_columns : whether to include all guessed columns, and not only the column about which the rows revealed most.
    """
    if attacks is None:
        return ("This release states no results of attacks.",)
    return paragraphs_of("attacks", attacks, attacks.persons if all_columns else attacks.given_away_most)


def _after(belief: Fraction, factor: Fraction) -> str:
    """Return the probability of a belief whose odds grow by this factor, rounded up to a tenth of a percentage point."""
    exact = belief * factor / (belief * factor + 1 - belief)
    return f"{math.ceil(1000 * exact) / 10:g}%"


# The rare groups of a release. The rare groups are bins of which only the number of rows was measured.


def rare_groups(document: ReleaseDocument) -> list[tuple[str, str]]:
    """Return the column and label of each rare bin that the generator counted separately.

    The label is empty for a column of members, or if the released bins differ from the measured bins.
    """
    text = document.configuration["generator"].get("rare_bins")
    if not text:
        return []
    from synthrelease.generators.measurements import read_bins

    labels = {column.name: [bin_.label for bin_ in column.bins] for column in document.columns}
    groups = []
    for factor in read_bins(text):
        bins = labels.get(factor.column, [])
        groups.append((factor.column, bins[factor.scores.index(1)] if len(bins) == len(factor.scores) else ""))
    return groups


# The number of rows that a group needs for reliable shares, for hatching in pictures and for the rule in words.

POINTS = 0.05
"""A share within a group is called estimable if its distance to each end of its interval is at most this number."""
PART = 0.5
"""The share of a bin is called estimable if its relative error is at most this number."""


@dataclass(frozen=True, kw_only=True)
class Useful:
    """The errors of the counts in estimates.csv, which show which groups are too small, and when estimates are better than
    counts of rows.

    Attributes
    ----------
    errors : half of the width of the widest interval, by column and by pair of columns ("a:b"). One error in twenty may be
        larger.
    together : the columns of each noisy table.
    of_any_pair : the limit that a criterion gives for every cell of every pair of columns, or infinity.
    """

    errors: Mapping[str, int]
    together: Sequence[Sequence[str]] = ()
    of_any_pair: float = math.inf

    @classmethod
    def of(cls, document: ReleaseDocument, of_any_pair: float | None = None) -> Useful | None:
        part = document.estimates
        if part is None or not part.errors:
            return None
        return cls(errors=part.errors, together=part.together, of_any_pair=math.inf if of_any_pair is None else of_any_pair)

    def least_of_a_bin(self, column: str) -> float | None:
        """Return how many rows a bin needs for an error of at most 50% of its count, or None if errors are unknown."""
        error = self.errors.get(column)
        return None if error is None else error / PART

    def least_group(self, first: str, second: str) -> float | None:
        """Return how many rows a bin of `first` needs for its shares of the bins of `second` to have errors of at most 5
        percentage points.

        The number is infinite if nothing is known about this pair of columns, and None if it was measured but its error is
        unknown.
        """
        error = self.errors.get(f"{first}:{second}", self.errors.get(f"{second}:{first}"))
        least = min(math.inf if error is None else error, self.of_any_pair) / POINTS
        measured = any({first, second} <= set(columns) for columns in self.together)
        return None if measured and least == math.inf else least

    @property
    def rule(self) -> str:
        """Sentences on the groups for which estimates are better than counts of released rows."""
        pairs = [error for name, error in self.errors.items() if ":" in name]
        if not pairs:
            return ""
        usual, worst = (_rounded_up(error / POINTS) for error in (median(pairs), max(pairs)))
        return said("useful", usual, worst, 100 * POINTS)


def _rounded_up(number: float) -> int:
    step = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return math.ceil(number / step) * step


# The questions that a release is meant to answer, with the release's statement about each question.


def rows(document: ReleaseDocument, carried: Associations | None) -> list[tuple[str, str, str, str, str]]:
    """Return a row of the card for each intended question: the question, its purpose, the error of the answer, why, and the
    estimate.
    """
    if not document.intended_queries:
        return []
    from synthrelease.answers.stated import question, verdict

    release = release_of(document)
    verdicts = [(intended, verdict(release, intended)) for intended in document.intended_queries]
    return [
        (
            question(intended),
            intended.why,
            stated_answer.word,
            "; ".join(filter(None, (stated_answer.because, _lacking(carried, intended, stated_answer)))),
            stated_answer.estimated,
        )
        for intended, stated_answer in verdicts
    ]


def _lacking(rows: Associations | None, intended: QuestionTable, answer: StatedAnswer) -> str:
    """Name the associations that an answer needs but that the rows do not preserve, unless a criterion limits its error."""
    return "" if answer.word == "covered by a criterion" else pairs_not_carried(rows, intended)
