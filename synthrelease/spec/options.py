"""Define the options of a specification, and check imputation, formats, catalogues and intended questions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from synthrelease.data.questions import is_question, split_question
from synthrelease.data.rules import Domain, RuleError, parse_rule
from synthrelease.data.schema import Schema
from synthrelease.data.weights import Calibration
from synthrelease.errors import InputError, cut, listing
from synthrelease.privacy.plan import Loss
from synthrelease.privacy.subsets import PartitionRule, SplitRule
from synthrelease.settings.card import CardTable
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import DesignTable, ImputationTable, PopulationTable, ScoutTable
from synthrelease.settings.questions import QuestionTable
from synthrelease.spec.geography import Geography, Marks
from synthrelease.spec.register import design_in_words, population_in_words, scout_in_words
from synthrelease.spec.series import Series, promise_text


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a specification, from optional tables of the configuration. An option that is not used is None.

    There is no option for [members], which is part of the schema.

    Attributes
    ----------
    partition : the rule that divides the rows into one piece for the generator and one for the criteria.
    split : the piece of the register that the release uses.
    population : the size of the population from which the file is a simple random sample.
    imputation : how missing values are imputed in copies of the released rows.
    marks : the columns that list the indicators that apply to a row.
    """

    partition: PartitionRule | None = None
    split: SplitRule | None = None
    calibration: Calibration | None = None
    series: Series | None = None
    population: PopulationTable | None = None
    design: DesignTable | None = None
    imputation: ImputationTable | None = None
    geography: Geography | None = None
    marks: Marks | None = None
    scout: ScoutTable | None = None

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each column that an option such as [geography] computes from other columns, with these other columns."""
        of_areas = () if self.geography is None else self.geography.functions
        return of_areas if self.marks is None else (*of_areas, *self.marks.functions)

    def in_words(self, total: Loss, rows: int) -> Iterator[str]:
        if self.series is not None and self.series.year is not None:
            yield promise_text(self.series.year)
        if self.scout is not None:
            yield scout_in_words(self.scout)
        if self.population is not None:
            yield population_in_words(self.population, total, rows)
        if self.design is not None:
            yield design_in_words(self.design)
        if self.geography is not None:
            yield self.geography.in_words(rows)
        if self.marks is not None:
            yield self.marks.in_words()


def check_imputation(table: ImputationTable, schema: Schema, problems: Problems) -> None:
    if schema.linked is not None:
        why = "because the program makes no copies of linked tables"
        problems.add("imputation", f"[imputation] cannot be combined with [members], {why}")
    if all(column.missing != "bin" for column in schema.columns):
        fault = 'No column has missing = "bin". Only missing values in such a column can be filled'
        problems.add("imputation", fault)
    for column in schema.columns:
        if gaps := [name for name in column.counts or () if schema[name].missing == "bin"]:
            fault = f'{column.name!r} counts {listing(gaps)}, which must not have missing = "bin"'
            problems.add("imputation", f"{fault}, because the count is the same in every copy")
    problems.add_unknown("imputation.match", "a column", table.match or (), schema.names)
    if len(set(table.match or ())) != len(table.match or ()):
        problems.add("imputation.match", f"A column is named twice: {listing(table.match or ())}")


SPSS_LABEL = 120
"""The maximum length of a value label in SPSS, in bytes of UTF-8."""
STATA_VALUES = 65_536
"""The maximum number of labelled values of a variable in Stata."""
WITH_MEMBERS = ("stata", "spss", "r")
"""The formats that can contain a second table with members."""


def check_formats(chosen: Collection[str], schema: Schema, problems: Problems) -> None:
    for name in chosen if schema.linked is not None else ():
        if name not in WITH_MEMBERS:
            fault = f"The format {name!r} cannot contain members"
            problems.add("bundle.formats", f"{fault}. With [members], use one of {listing(WITH_MEMBERS)}")
    for column in schema.columns:
        labels = {label for binning in column.alternatives.values() for label in binning.labels}
        longest = max(labels, key=lambda label: len(label.encode("utf-8")))
        if "spss" in chosen and len(longest.encode("utf-8")) > SPSS_LABEL:
            fault = f"A label has {len(longest.encode('utf-8'))} bytes, but SPSS allows at most {SPSS_LABEL}"
            problems.add(f"columns.{column.name}", f"{fault}. Shorten the label, or delete 'spss' from [bundle] formats")
        most = max(len(binning.labels) for binning in column.alternatives.values())
        if "stata" in chosen and most > STATA_VALUES:
            fault = f"The column has {most:,} bins, but Stata allows at most {STATA_VALUES:,} value labels"
            problems.add(f"columns.{column.name}", f"{fault}. Use fewer bins, or delete 'stata' from [bundle] formats")


def check_catalogues(chosen: Collection[str], card: CardTable, problems: Problems) -> None:
    if "dcat" in chosen and not card.url:
        problems.add("card.url", "State the address of the release, because DCAT-AP requires it")


def check_questions(tables: Sequence[QuestionTable], schema: Schema, problems: Problems, *, weighted: bool) -> None:
    """Add a problem for each intended question that cannot be parsed.

    Whether the limits of a question fall inside a released bin depends on the accepted round; the card says so for each.
    """
    domains = {}
    for column in schema.columns:
        labels = dict.fromkeys(label for binning in column.alternatives.values() for label in binning.labels)
        categories = tuple(labels) if column.kind == "category" else ()
        domains[column.name] = Domain(kind=column.kind, categories=categories, missing=column.missing == "bin")
    names = dict.fromkeys(schema.names)
    if schema.linked is not None:  # the plain name of a member's column, as in a question about all members
        plain = dict(zip(schema.linked.names, schema.linked.slots[0], strict=True))
        domains = {name: domains[first] for name, first in plain.items()} | domains
        names |= dict.fromkeys(plain)
    for index, table in enumerate(tables):
        path = f"intended_queries[{index}]"
        problems.add_unknown(f"{path}.mean", "a column", [] if table.mean is None else [table.mean], schema.names)
        conditions = {name: [getattr(table, name) or ""] for name in ("query", "given", "minus")}
        if is_question(table.query):
            conditions = {"query": _conditions(table, list(names), problems, f"{path}.query", weighted=weighted)}
        for name, texts in conditions.items():
            for text in filter(None, (" ".join(text.split()) for text in texts)):
                try:
                    parse_rule(text, domains)
                except RuleError as error:
                    problems.add_error(f"{path}.{name}", error)


def _conditions(table: QuestionTable, names: Sequence[str], problems: Problems, path: str, *, weighted: bool) -> list[str]:
    if table.given or table.mean or table.minus is not None:
        fault = f"{cut(table.query, 60)!r} is a whole question, so given, mean and minus must not be set"
        problems.add(path, f"{fault}. Delete them, or write only a condition")
        return []
    try:
        words = split_question(table.query)
    except InputError as error:
        problems.add(path, str(error))
        return []
    problems.add_unknown(path, "a column of the table", words.columns, names)
    if words.weighted and not weighted:
        problems.add(path, f"{cut(words.text, 60)!r} is weighted, so [design] must name the weight")
    return list(words.conditions)
