"""Define the two TOML files as pydantic models (`ReleaseFile`, `AcceptanceFile`), with [budget], [unit], [selection] and
[bundle].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator

from synthrelease.data.linked import Linked
from synthrelease.errors import Unexpected
from synthrelease.resources import resource
from synthrelease.settings.base import NO_NAME, Line, Reason, SpecTable, checked
from synthrelease.settings.card import CardTable
from synthrelease.settings.columns import ColumnTable, Groups, InputTable, RuleTable
from synthrelease.settings.options import (
    CalibrationTable,
    DesignTable,
    GeographyTable,
    ImputationTable,
    IntendedQueryTable,
    MarksTable,
    MembersTable,
    PartitionTable,
    PluginTable,
    PopulationTable,
    ScoutTable,
    SeriesTable,
    SplitTable,
)
from synthrelease.settings.questions import ModelTable
from synthrelease.settings.wide import with_indicators, with_levels, with_members

# The tables [budget], [unit] and [selection]: the epsilon to spend, the records of a person, and the rounds.


class BudgetTable(SpecTable):
    """[budget]: the budget of one fit, and the limit on the cost of the whole release.

    Attributes
    ----------
    generation : the budget of one fit: an epsilon for generators without a delta, or a rho for generators with a delta. If the
        configuration has both kinds of generators, the number is a rho. A generator without a delta then gets the epsilon for
        which epsilon^2 / 2 equals this rho. Example: `generation = 4`.
    generation_delta : the delta of one fit, for generators that state their guarantee by an epsilon and a delta. Example:
        `generation_delta = 1e-10`.
    limit : the largest epsilon of the whole release. If the plan costs more, the program refuses the release before it reads
        any data. Without `limit` only the ledger limits the cost of the release. Example: `limit = 9.98`.
    delta : the largest delta of the whole release. If generators have a delta, the release states its epsilon at this delta.
        With 0, only generators without a delta are allowed. Example: `delta = 1e-9`.
    rows : the epsilon for the noisy number of rows that pass the rules, if [input] rows is "private" and rows can be excluded.
        Example: `rows = "1/20"`.
    models : the epsilon of all [[models]] together. Example: `models = "1/10"`.
    reason : the steward's reason for this budget. Example: `reason = "Agreed with the data protection officer"`.
    """

    generation: Fraction = Field(gt=0)
    generation_delta: Fraction = Field(default=Fraction(0), ge=0, lt=1)
    limit: Fraction | None = Field(default=None, gt=0)
    delta: Fraction = Field(default=Fraction(0), ge=0, lt=1)
    rows: Fraction = Field(default=Fraction(1, 20), ge=Fraction(1, 10**6))
    models: Fraction | None = Field(default=None, ge=Fraction(1, 10**6))
    reason: Reason = ""


RANDOM: Final = "random"
"""With this value of [unit] first_by, the rows of a person are in random order."""
NOT_ANSWERED = "not answered"
"""The value of [unit] records_per_person in a draft, if nobody has said how rows belong to persons. A release refuses this
value.
"""


class UnitTable(SpecTable):
    """[unit]: how the file identifies a person, and how many records of a person count. With k such records, the privacy loss
    of a person is at most k times epsilon.

    Attributes
    ----------
    name : the name of a record, in one or two words. Example: `name = "hospital stay"`.
    key : the column of the file that identifies the person. The release uses only the first `records_per_person` rows of a
        person that pass the rules. All rows of a person are protected together, whatever their number. The key is never
        released. 12, 12.0, 1.2e+01 and 0.12E+02 are the same key. 007 and 7 are different keys, and so are 1E5 and 100000,
        because they may be codes. Without a key every row is a separate record. Example: `key = "patient"`.
    missing_keys : texts in the column of the key that identify nobody, in addition to `missing_values` of [input]. A row with
        such a text is excluded. Otherwise all these rows would count as one person. Example: `missing_keys = ["0", "99999"]`,
        `key = "patient"`.
    first_by : the columns of the file that order the rows of a person. This setting is required with `key`. Numbers are ordered
        by size, dates by time, and other texts alphabetically. Rows without a value come last. Rows that agree in these columns
        are ordered at random. "random" orders all rows at random. Example: `first_by = ["admitted"]`, `key = "patient"`.
    records_per_person : with `key`, the largest number of rows of a person that are used. Without `key`, the largest number of
        rows that a person can have in the file. Drafts have "not answered", which you must replace before a release. Example:
        `records_per_person = 12`.
    why : the source of the number in `records_per_person`. Example: `why = "One stay a month is counted"`.
    """

    name: Line = Field(default="record", min_length=1, max_length=60)
    key: str | None = Field(default=None, min_length=1)
    missing_keys: tuple[str, ...] = Field(default=(), max_length=100)
    first_by: Annotated[list[str], Field(max_length=20)] | Literal["random"] = []
    records_per_person: Annotated[int, Field(ge=1, le=1000)] | Literal["not answered"] = 1
    why: Reason = ""

    @property
    def answered(self) -> bool:
        """Return whether the configuration says how rows belong to persons. With a key, it must also say which row of a person
        comes first.
        """
        return self.records_per_person != NOT_ANSWERED and (self.key is None or bool(self.first_by))

    @property
    def order(self) -> list[str]:
        """Return the columns that order the rows of a person; empty for a random order."""
        return [] if self.first_by == RANDOM else list(self.first_by)

    @property
    def records(self) -> int:
        """Return the largest number of records of a person; 1 by default."""
        return self.records_per_person if isinstance(self.records_per_person, int) else 1

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.first_by and self.key is None:
            yield "first_by orders the rows of a person, so [unit] also needs a key"
        if self.missing_keys and self.key is None:
            yield "missing_keys lists texts of the key, so [unit] also needs a key"


SMALLEST_LAW = Fraction(1, 10**6)
"""Smallest stop probability and smallest nonzero shape of a hidden number of rounds. Smaller values are slow and inexact."""


Rounds = Annotated[str, Field(pattern="^[1-9][0-9]{0,4}$")]
"""A number of rounds, as the key of a TOML table."""


class SelectionTable(SpecTable):
    """[selection]: the number of rounds, the test in a round, and the measurements.

    Attributes
    ----------
    mode : how the number of rounds is determined. With "known_threshold", the program runs rounds until one is accepted or a
        random coin stops the search (Liu & Talwar 2019). "hidden_number" draws the number from `rounds`. For rounds without a
        delta, this mode costs least (theory 2b.4, best distribution). "truncated_negative_binomial" draws the number from the
        distribution of this name (Papernot & Steinke 2022). Example: `mode = "truncated_negative_binomial"`, `stop_probability
        = 0.02`.
    rounds : for mode "hidden_number", the possible numbers of rounds, each with its exact probability; the probabilities add up
        to 1. The number is drawn before the first round and never shown. Example: `rounds = { 1 = 0.185, 6 = 0.544, 7 = 0.271
        }`, `mode = "hidden_number"`.
    stop_probability : the probability that the search stops after a rejected round. With 0.001 a search without an accepted
        round stops after 1,000 rounds on average. With 0 the search never stops without an accepted round, and a selection
        among rounds without a delta costs twice the epsilon of one round. Mode "hidden_number" does not use this setting.
        Example: `stop_probability = 0.001`.
    shape : for mode "truncated_negative_binomial", the parameter eta of this distribution. With 1 it is the geometric
        distribution, and with 0 the logarithmic distribution. Example: `shape = 1`, `mode = "truncated_negative_binomial"`,
        `stop_probability = 0.02`.
    test : "each" compares the noisy value of every criterion with its threshold, in every round. "joint" makes one noisy test
        of all criteria in a round, and measures the published values once, after acceptance (theory 4, joint test). Example:
        `test = "joint"`, `test_epsilon = 0.2`.
    test_epsilon : the epsilon of one joint test. The setting is required with test = "joint", and not allowed with test =
        "each". Example: `test_epsilon = 0.2`, `test = "joint"`.
    false_acceptance : an upper limit on the probability that the joint test accepts a round in which a criterion exceeds its
        threshold. Example: `false_acceptance = 0.01`.
    measurements : "fresh" measures the tables again in every round. "shared" measures the tables once for all rounds (theory 5,
        shared measurements). Example: `measurements = "shared"`.
    publish_measurements : true publishes the noisy tables from which the rows were made. Example: `publish_measurements =
        true`.
    bound_risk : for criteria with answered_by = "measurements", the release publishes bounds on their values. This setting is
        the largest probability that any of these bounds is below the exact value (theory 13.6, criteria that measurements
        answer). Example: `bound_risk = 0.01`.
    """

    mode: Literal["known_threshold", "hidden_number", "truncated_negative_binomial"] = "known_threshold"
    rounds: dict[Rounds, Annotated[Fraction, Field(gt=0, le=1)]] | None = Field(default=None, min_length=1, max_length=1000)
    stop_probability: Fraction = Field(default=Fraction(1, 1000), ge=0, le=1)
    shape: Fraction = Field(default=Fraction(1), gt=-1, le=1000)
    test: Literal["each", "joint"] = "each"
    test_epsilon: Fraction | None = Field(default=None, gt=0)
    false_acceptance: Fraction = Field(default=Fraction(1, 100), gt=0, lt=Fraction(1, 2))
    measurements: Literal["fresh", "shared"] = "fresh"
    publish_measurements: bool = False
    bound_risk: Fraction = Field(default=Fraction(1, 100), ge=Fraction(1, 1000000), le=Fraction(1, 2))

    def contradictions(self) -> Iterator[str | Unexpected]:
        if (self.mode == "hidden_number") != (self.rounds is not None):
            yield 'mode = "hidden_number" needs `rounds`, and other modes must not have `rounds`'
        if self.rounds is not None and "stop_probability" in self.model_fields_set:
            yield 'stop_probability has no effect with mode = "hidden_number"'
        if (self.test == "joint") != (self.test_epsilon is not None):
            yield 'test = "joint" needs `test_epsilon`, and test = "each" must not have `test_epsilon`'
        if self.mode == "truncated_negative_binomial":
            if not SMALLEST_LAW <= self.stop_probability < 1:
                expected = f"a stop_probability of at least 1e-6 and below 1 for {self.mode!r}"
                yield Unexpected(expected, f"{float(self.stop_probability):g}")
            if self.shape and abs(self.shape) < SMALLEST_LAW:
                yield Unexpected("a shape of 0, or a shape of at least 1e-6 in absolute value", f"{float(self.shape):g}")
        elif "shape" in self.model_fields_set:
            yield 'The setting `shape` is only for mode = "truncated_negative_binomial"'


# The table [bundle]: further formats of a release, and the label "synthetic".

SYNTHETIC = "synthetic"
"""Name of the constant column that marks every row as synthetic."""
_ONCE = checked(lambda names: len(set(names)) == len(names), "each name once")


class BundleTable(SpecTable):
    """[bundle]: further files of a release, made from the accepted table and its statistics. They cost no epsilon.

    Attributes
    ----------
    formats : files for statistical packages. "stata" writes data.dta, and read.do, which adds representative values and errors.
        "spss" writes data.sav, which SAS can read, too. "r" writes read.R, which needs only R. "stata" and "spss" need the
        extra `formats`. Example: `formats = ["stata", "spss", "r"]`.
    catalogues : entries for data catalogues. "dcat" writes DCAT-AP 3 with the fields of HealthDCAT-AP, as dcat.jsonld and
        dcat.ttl, and needs the extra `catalogue`. "croissant" writes Croissant 1.0, for machine learning. "ddi" writes
        DDI-Codebook 2.5. Example: `catalogues = ["dcat", "croissant", "ddi"]`.
    synthetic_names : if true, the names of files with rows begin with "synthetic-", such as synthetic-data.csv in place of
        data.csv. Example: `synthetic_names = true`.
    synthetic_column : true adds a last column "synthetic" to the files with rows, which is 1 in every row. Example:
        `synthetic_column = true`.
    """

    formats: Annotated[tuple[Literal["stata", "spss", "r"], ...], _ONCE] = ()
    catalogues: Annotated[tuple[Literal["dcat", "croissant", "ddi"], ...], _ONCE] = ()
    synthetic_names: bool = False
    synthetic_column: bool = False

    @property
    def chosen(self) -> dict[str, tuple[str, ...]]:
        """Return the chosen further files, as a list for each setting. Empty lists are omitted."""
        lists: dict[str, tuple[str, ...]] = {"formats": self.formats, "catalogues": self.catalogues}
        return {name: chosen for name, chosen in lists.items() if chosen}

    @property
    def stem(self) -> str:
        """Return the base name of the table's files, before their ending."""
        return self.named("data")

    def named(self, name: str) -> str:
        """Return the name under which the release writes a file with rows."""
        return f"synthetic-{name}" if self.synthetic_names else name


# The table [not_promised] of the acceptance file: associations that the publisher knows are not preserved.


def _is_pair(text: str) -> bool:
    first, _, second = text.partition(":")
    return bool(first and second) and ":" not in second and first != second


Pair = Annotated[Line, checked(_is_pair, 'two columns joined by ":", such as "age:region"')]
MOST_PAIRS = 1000


class NotPromisedTable(SpecTable):
    """[not_promised]: associations that the release is known to lose; the card names them. If the rehearsal of a shortlist lost
    a pair that this table does not name, the release is refused.

    Attributes
    ----------
    pairs : pairs of columns whose association was lost in the tables of the rehearsal, and which no criterion and no measured
        table contains. Example: `pairs = ["age:region"]`, `why = "Published elsewhere"`.
    dependence : if true, the release promises nothing about any pair of columns: all associations may be lost in the released
        table. Example: `dependence = true`, `why = "Only single columns are used"`.
    why : the reason why these associations are not promised, for the card. Example: `why = "Only single columns are used"`,
        `dependence = true`.
    kept : a sentence for the plan and the card. It states which share of the associations fits to public data preserved.
        Example: `kept = "A fit to one half of the public file keeps 84% in the other half."`.
    """

    pairs: tuple[Pair, ...] = Field(default=(), max_length=MOST_PAIRS)
    dependence: bool = False
    why: Reason = ""
    kept: Annotated[Line, Field(max_length=1000)] = ""

    def contradictions(self) -> Iterator[str | Unexpected]:
        if (self.pairs or self.dependence) and not self.why.strip():
            yield "State the reason in `why`, because the card shows it"

    @property
    def named(self) -> tuple[frozenset[str], ...]:
        """Return the two columns of each pair, as a set."""
        return tuple(frozenset(text.split(":")) for text in self.pairs)


# Results of attacks on public rows, which a rehearsal writes into its shortlist, and a release into release.json.


class MembershipTable(SpecTable):
    """Results of an attack on membership. The intruder knows all rows of the file except one, and guesses which of two given
    rows is the unknown row.

    Attributes
    ----------
    seen : the parts of the release that the intruder sees.
    guesses, right : the number of guesses, and the number of right guesses.
    low, high : a 95% interval for the share of right guesses.
    allowed_by_epsilon, allowed_by_noise : the largest share of right guesses that the guarantee allows, and the largest share
        that the stated noise of the tables allows. `allowed_by_noise` is None if the intruder sees only rows.
    """

    seen: Line
    guesses: int
    right: int
    low: float
    high: float
    allowed_by_epsilon: float
    allowed_by_noise: float | None = None


class PersonTable(SpecTable):
    """Shares of right guesses about persons, for rows that the fit used (`inside`) and for rows that it did not use
    (`outside`).

    Attributes
    ----------
    guessed : the column whose value is guessed; empty if the whole row is guessed.
    difference : a 95% interval for the difference of the shares, inside minus outside.
    baseline : the share of right guesses if the most frequent value is always guessed; None for a whole row.
    """

    guessed: Line
    inside: float
    outside: float
    difference: tuple[float, float]
    baseline: float | None = None


class AttacksTable(SpecTable):
    """[attacks]: results of attacks on one configuration, on public rows, at the budget of the rehearsal.

    Attributes
    ----------
    fits : the number of fits of the configuration on which membership was guessed.
    epsilon, delta : the claimed guarantee.
    known : the columns whose values the intruder knows for every person.
    contradicts : whether the share of right guesses contradicts the claimed guarantee.
    membership, persons : the results of each attack.
    """

    fits: int
    epsilon: float
    delta: float = 0.0
    known: tuple[Line, ...]
    contradicts: bool
    membership: tuple[MembershipTable, ...] = ()
    persons: tuple[PersonTable, ...] = ()

    @property
    def given_away_most(self) -> tuple[PersonTable, ...]:
        """Return the results that the card shows: for the column that was guessed best, and for guesses of whole rows."""
        values = sorted((person for person in self.persons if person.guessed), key=lambda person: person.difference[0])
        return (*values[-1:], *(person for person in self.persons if not person.guessed))


MAX_TABLES = 200
"""Largest number of rules, generators, projections or criteria of one specification."""
MAX_COLUMNS = 1000
MOST_COLUMNS = f"At most {MAX_COLUMNS} columns are possible, because noise and time grow with the number of pairs of columns"


def _not_too_many(columns: Any) -> Any:
    if isinstance(columns, Mapping) and len(columns) > MAX_COLUMNS:
        raise Unexpected(
            f"The configuration has {len(columns)} columns. {MOST_COLUMNS}. Delete some tables [columns.NAME], or draft again "
            "with `init --only A,B,...` or `init --leave-out A,B,...`"
        )
    return columns


OPTIONS = (
    "partition", "split", "members", "calibration", "series", "population", "design", "imputation", "geography",
    "marks", "scout",
)  # fmt: skip
"""Names of the tables that most releases do not use, in the order of the settings."""


CONFIGURATION_SCHEMA, ACCEPTANCE_SCHEMA = "configuration.schema.json", "acceptance.schema.json"
"""File names of the JSON Schemas of the two files, which `synthrelease init` writes beside its drafts."""


def schema_text(name: str) -> str:
    """Return the text of a JSON Schema for editors. Schemas are made from the models below when the program is built."""
    return resource(f"configs/{name}").read_text(encoding="utf-8")


class ReleaseFile(SpecTable):
    """configs/NAME.toml: the columns, the generators and the budget of a release.

    Attributes
    ----------
    extends : the path of another configuration, relative to this file. If this file lacks a top-level key or table, the program
        takes it from the other file. If [card] of this file lacks a text, the program takes this text from the other file, too.
        It never takes the texts that belong to one release: `justification`, `tuning`, `version`, `published`, `url` and
        `signed_by`. Example: `extends = "births.toml"`.
    override : single settings that replace settings of the file in `extends`. Write the table and the setting, with dots
        between them. A new list replaces the whole old list. Example: `override.columns.age.bounds = [12, 60]`, `extends =
        "births.toml"`.
    title : the title of the released data, one line. Example: `title = "Live births"`.
    description : what a row is, and where the data come from. Example: `description = "Singleton live births of one year."`.
    acceptance : the path of the acceptance file, relative to this file. Example: `acceptance = "../acceptance/births.toml"`.
    input : rules for reading the private file. Example: `input.missing = "drop"`.
    columns : one table for each released column. Example: `columns.age = { kind = "integer", bounds = [0, 99],
        alternatives.coarse = ["<18", "18-64", ">64"] }`.
    rules : plausibility rules. Example: `rules = [{ never = "age < 15 and parity > 0" }]`.
    transformations : for a column, the alternatives (lists of bins) that the program may use. If you do not name a column here,
        the program may use all its alternatives. Example: `transformations.age = ["coarse", "fine"]`.
    generators : the generators and their settings. If settings are lists, each combination of their values is one configuration
        of the generator, and a round may use any of them. Example: `generators = [{ family = "privbayes", flavour = "theta",
        theta = [4, 8], epsilon_split = 0.1 }]`.
    projections : changes that the program makes to a synthetic table before it tests the criteria. Settings may be lists of
        values, as for generators. Example: `projections = [{ kind = "minimum_count", minimum_count = [2, 3] }]`.
    budget : the cost of a fit, and the largest cost of the whole release. Example: `budget.generation = 4`.
    selection : the number of rounds that a release may have, and the test of each round. Example: `selection.stop_probability =
        0.001`.
    unit : the number of records that a person can have, and the column that identifies the person. Example: `unit.name =
        "birth"`.
    partition : Two random pieces of the rows, one for the generator and one for the criteria. Without this table, both use all
        rows. Example: `partition = { fit = 0.5, score = 0.5 }`.
    split : The piece of the register that this release reads, if the ledger has divided the register. Without this table, the
        release reads all rows. Example: `split = { by = "certificate", piece = 1, of = 2 }`.
    members : A second table with the members of each row, such as the persons of a household. Example: `members = { key =
        "household", most = 6, columns = { age = { kind = "integer", bounds = [0, 99] } } }`.
    calibration : Published totals. After acceptance, the program computes weights for the released rows that reproduce these
        totals, at no cost. Example: `calibration.source = "Population register, 1 January 2024, table 3"`, `calibration.margins
        = [{ columns = ["sex"], totals = { F = 5100, M = 4900 } }]`.
    series : Earlier releases of the same register, and a plan for several years. Example: `series.name = "Live births,
        yearly"`.
    population : The population of which the private file is a simple random sample. Example: `population = { size = 2000000,
        sample = "simple random, without replacement", source = "Population register" }`.
    design : The survey design of the private file: its weight, strata and clusters. Example: `design = { clusters = "tract",
        effect = 1.8, source = "Survey report, table B.1" }`.
    imputation : Copies of the released rows in which missing values are filled, at no cost. Example: `imputation.copies = 5`.
    geography : Areas that lie within one another, such as municipalities in regions. Example: `geography = { column =
        "municipality", levels = ["region"] }`.
    marks : Groups of indicators, such as rare diagnoses. For each group, the release gets a column that lists the indicators of
        a row. Example: `marks.groups.heart = ["infarct", "failure", "stroke"]`.
    scout : The scout before this release. The scout and the release share one budget. Example: `scout = { epsilon = 2, delta =
        1e-9, rho = 0.003, document = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462" }`.
    intended_queries : questions that the release is meant to answer. The card says which error is stated for each question.
        Example: `intended_queries = [{ query = "parity == 1", why = "Reported every year" }]`.
    models : questions that the release measures directly, by separate sums. Example: `models = [{ question = "mean parity" }]`,
        `budget.models = "1/10"`.
    plugins : other packages whose criteria or generators the release uses. Example: `plugins = [{ package = "copula-example",
        version = "0.1.0", sha256 = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462" }]`.
    bundle : further files of the release, such as files for Stata, at no cost. Example: `bundle.formats = ["r"]`.
    card : the steward's words on the data card. Example: `card.licence = "CC-BY-4.0"`.
    """

    extends: str | None = None
    override: dict[str, Any] = Field(default_factory=dict)
    title: Line = Field(min_length=1, max_length=300)
    description: str = ""
    acceptance: str
    input: InputTable = Field(default_factory=InputTable.model_construct)
    columns: Annotated[dict[str, ColumnTable], BeforeValidator(_not_too_many)] = Field(min_length=1, max_length=MAX_COLUMNS)
    rules: list[RuleTable] = Field(default=[], max_length=MAX_TABLES)
    transformations: dict[str, list[str]] = Field(default_factory=dict)
    generators: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    projections: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    budget: BudgetTable
    selection: SelectionTable = Field(default_factory=SelectionTable.model_construct)
    unit: UnitTable = Field(default_factory=UnitTable.model_construct)
    partition: PartitionTable | None = None
    split: SplitTable | None = None
    members: MembersTable | None = None
    calibration: CalibrationTable | None = None
    series: SeriesTable | None = None
    population: PopulationTable | None = None
    design: DesignTable | None = None
    imputation: ImputationTable | None = None
    geography: GeographyTable | None = None
    marks: MarksTable | None = None
    scout: ScoutTable | None = None
    intended_queries: list[IntendedQueryTable] = Field(default=[], max_length=MAX_TABLES)
    models: list[ModelTable] = Field(default=[], max_length=200)
    plugins: list[PluginTable] = Field(default=[], max_length=MAX_TABLES)
    bundle: BundleTable = Field(default_factory=BundleTable.model_construct)
    card: CardTable = Field(default_factory=CardTable)

    @property
    def parts(self) -> dict[str, SpecTable]:
        """Return the tables of those options that the configuration uses, by name."""
        return {name: table for name in OPTIONS if (table := getattr(self, name)) is not None}

    @property
    def linked(self) -> Linked | None:
        """Return how a root and its members are arranged in a record; None without [members]."""
        return None if self.members is None else self.members.members_with(self.input.missing)

    def widened(self) -> Iterator[tuple[str, dict[str, ColumnTable], list[RuleTable]]]:
        """For each option that adds columns or rules to a record, yield the option's name, and all columns and rules after this
        addition.
        """
        columns, rules = self.columns, self.rules
        for name, add in (("members", with_members), ("geography", with_levels), ("marks", with_indicators)):
            if (table := getattr(self, name)) is not None:
                columns, rules = add(table, columns, rules, self.input.missing)
                yield name, columns, rules

    def wide(self) -> ReleaseFile:
        """Return the configuration, completed with the columns and rules that options add to a record."""
        wide = self
        for _, columns, rules in self.widened():
            wide = self.model_copy(update={"columns": columns, "rules": rules})
        return wide

    @field_validator("columns")
    @classmethod
    def _plain_names(cls, columns: dict[str, ColumnTable]) -> dict[str, ColumnTable]:
        for name in columns:
            if not name.isidentifier() or name in {"and", "or", "not", "in"}:
                raise Unexpected(NO_NAME.format(name))
        return columns


class AcceptanceFile(SpecTable):
    """acceptance/NAME.toml: the criteria that a released table must meet.

    Attributes
    ----------
    description : the purpose for which the release must be good enough, in one sentence. Example: `description = "Means by
        age."`.
    groups : for a column, the groups of rows that criteria use. Each group must consist of whole bins of every alternative.
        Categories and codes need a table of groups. If you write a text, it names an alternative whose bins are the groups,
        such as `"state"` for a level of a codelist. Example: `groups.age = ["<=24", "25-34", ">=35"]`.
    criteria : the criteria. The program computes every criterion in every round. Example: `criteria = [{ name = "rare rows",
        kind = "face_privacy", minimum_count = 2 }]`.
    not_promised : associations that the publisher knows to be lost. Example: `not_promised = { pairs = ["age:region"], why =
        "Published elsewhere" }`.
    """

    description: str = ""
    groups: dict[str, Groups] = Field(default_factory=dict)
    criteria: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    not_promised: NotPromisedTable = Field(default_factory=NotPromisedTable.model_construct)
