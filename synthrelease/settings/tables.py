"""Define the pydantic models of the configuration (`ReleaseFile`), the acceptance file (`AcceptanceFile`), and their main
tables."""

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
    """[budget]: the budget of one fit of a generator, and the limit on the cost of the whole release.

    Attributes
    ----------
    generation : the budget of one fit of a generator. It is an epsilon for generators without a delta, and a rho for generators
        with a delta. If the configuration has generators of both kinds, it is a rho. Generators without a delta then get the
        epsilon for which epsilon^2 / 2 equals this rho. Example: `generation = 4`.
    generation_delta : the delta of one fit, for generators whose guarantee is an epsilon and a delta. Example:
        `generation_delta = 1e-10`.
    limit : the largest allowed epsilon of the whole release. If the plan costs more, the program refuses the release before it
        reads any data. Without `limit`, only the ledger limits the cost of the release. Example: `limit = 9.98`.
    delta : the largest allowed delta of the whole release. If generators have a delta, the release states its epsilon for this
        delta. If it is 0, only generators without a delta are allowed. Example: `delta = 1e-9`.
    rows : the epsilon for the noisy number of rows that pass the rules. It is charged only if `rows` in [input] is "private"
        and rows can be excluded. Example: `rows = "1/20"`.
    models : the total epsilon of all questions in [[models]]. Example: `models = "1/10"`.
    reason : the reason why this budget was chosen. Example: `reason = "Agreed with the data protection officer"`.
    """

    generation: Fraction = Field(gt=0)
    generation_delta: Fraction = Field(default=Fraction(0), ge=0, lt=1)
    limit: Fraction | None = Field(default=None, gt=0)
    delta: Fraction = Field(default=Fraction(0), ge=0, lt=1)
    rows: Fraction = Field(default=Fraction(1, 20), ge=Fraction(1, 10**6))
    models: Fraction | None = Field(default=None, ge=Fraction(1, 10**6))
    reason: Reason = ""


RANDOM: Final = "random"
"""The value of the setting `first_by` in [unit] that puts the rows of a person in random order."""
NOT_ANSWERED = "not answered"
"""The value of the setting `records_per_person` of [unit] in a draft whose author did not say how rows belong to persons. A
release refuses this value."""


class UnitTable(SpecTable):
    """[unit]: how the file identifies a person, and how many records of each person are used. If k records are used, the
    privacy loss of a person is at most k times epsilon.

    Attributes
    ----------
    name : what a record is, in one or two words. Example: `name = "hospital stay"`.
    key : the column of the file that identifies the person. For each person, the release uses only the first
        `records_per_person` rows that pass the rules. The guarantee protects all rows of a person together, regardless of their
        number. The key itself is never released. 12, 12.0, 1.2e+01 and 0.12E+02 count as the same key. 007 and 7 count as
        different keys, and so do 1E5 and 100000, because they may be codes. Without a key, every row is a separate record.
        Example: `key = "patient"`.
    missing_keys : texts in the key column that do not identify a person, in addition to `missing_values` in [input]. Rows with
        such a text are excluded. If they were not excluded, all these rows would count as rows of one person. Example:
        `missing_keys = ["0", "99999"]`, `key = "patient"`.
    first_by : the columns of the file by which the rows of a person are sorted. This setting is required if you set `key`.
        Numbers are sorted by size, dates by time, and other texts alphabetically. Rows without a value come last. Rows with
        equal values in these columns are put in random order. With "random", all rows of a person are put in random order.
        Example: `first_by = ["admitted"]`, `key = "patient"`.
    records_per_person : if you set `key`, the maximum number of rows of a person that the release uses. Without `key`, the
        maximum number of rows that a person can have in the file. Drafts may contain "not answered", which you must replace
        before a release. Example: `records_per_person = 12`.
    why : the reason for the number in `records_per_person`. Example: `why = "One stay a month is counted"`.
    """

    name: Line = Field(default="record", min_length=1, max_length=60)
    key: str | None = Field(default=None, min_length=1)
    missing_keys: tuple[str, ...] = Field(default=(), max_length=100)
    first_by: Annotated[list[str], Field(max_length=20)] | Literal["random"] = []
    records_per_person: Annotated[int, Field(ge=1, le=1000)] | Literal["not answered"] = 1
    why: Reason = ""

    @property
    def answered(self) -> bool:
        """Return whether the configuration says how rows belong to persons (`records_per_person`) and, with a key, which row of
        a person comes first (`first_by`)."""
        return self.records_per_person != NOT_ANSWERED and (self.key is None or bool(self.first_by))

    @property
    def order(self) -> list[str]:
        """Return the columns by which the rows of a person are sorted, none for a random order."""
        return [] if self.first_by == RANDOM else list(self.first_by)

    @property
    def records(self) -> int:
        return self.records_per_person if isinstance(self.records_per_person, int) else 1

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.first_by and self.key is None:
            yield "first_by orders the rows of a person, so [unit] also needs a key"
        if self.missing_keys and self.key is None:
            yield "missing_keys lists texts of the key, so [unit] also needs a key"


SMALLEST_LAW = Fraction(1, 10**6)
"""The smallest stop probability, and the smallest absolute value of a nonzero shape, for mode "truncated_negative_binomial".
Smaller values would make the computation slow and inexact."""


Rounds = Annotated[str, Field(pattern="^[1-9][0-9]{0,4}$")]
"""A number of rounds from 1 to 99999, as text, because keys of TOML tables are texts."""


class SelectionTable(SpecTable):
    """[selection]: how many rounds a release may have, how a round is tested, and how tables are measured.

    Attributes
    ----------
    mode : how the number of rounds is determined. With "known_threshold", the program repeats rounds until one is accepted, or
        until a random draw stops the search (Liu & Talwar 2019). With "hidden_number", it draws the number of rounds from the
        distribution in `rounds`. This mode has the lowest cost if rounds have no delta (theory 2b.4, best distribution). With
        "truncated_negative_binomial", it draws the number from the distribution of this name (Papernot & Steinke 2022).
        Example: `mode = "truncated_negative_binomial"`, `stop_probability = 0.02`.
    rounds : for mode "hidden_number", the possible numbers of rounds with their exact probabilities, which must add up to 1.
        The program draws the number before the first round and never shows it. Example: `rounds = { 1 = 0.185, 6 = 0.544, 7 =
        0.271 }`, `mode = "hidden_number"`.
    stop_probability : the probability that the search stops after a rejected round. With 0.001, a search in which no round is
        accepted stops after 1,000 rounds on average. With 0, the search continues until a round is accepted. In this case, if
        rounds have no delta, the selection costs twice the epsilon of one round. Mode "hidden_number" does not use this
        setting. Example: `stop_probability = 0.001`.
    shape : for mode "truncated_negative_binomial", the parameter eta of this distribution. 1 gives the geometric distribution,
        and 0 gives the logarithmic distribution. Example: `shape = 1`, `mode = "truncated_negative_binomial"`,
        `stop_probability = 0.02`.
    test : how each round is tested. "each" compares a noisy value of every criterion with its threshold. "joint" makes one
        noisy test of all criteria together. The published criterion values are then measured only once, after acceptance
        (theory 4, joint test). Example: `test = "joint"`, `test_epsilon = 0.2`.
    test_epsilon : the epsilon of one joint test. This setting is required with test = "joint" and not allowed with test =
        "each". Example: `test_epsilon = 0.2`, `test = "joint"`.
    false_acceptance : an upper bound on the probability that the joint test accepts a round in which a criterion exceeds its
        threshold. Example: `false_acceptance = 0.01`.
    measurements : when the generator measures its noisy tables. "fresh" measures them again in every round. "shared" measures
        them once, for all rounds (theory 5, shared measurements). Example: `measurements = "shared"`.
    publish_measurements : true publishes the noisy tables from which the released rows were generated. Example:
        `publish_measurements = true`.
    bound_risk : an upper bound on the probability that a published bound on a criterion value is wrong. For criteria with
        answered_by = "measurements", the release publishes upper bounds on the exact values. With at most this probability, one
        or more of these bounds are below the exact value (theory 13.6, criteria that measurements answer). Example: `bound_risk
        = 0.01`.
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
                yield Unexpected(
                    f"With mode = {self.mode!r}, stop_probability is a parameter of the distribution of the number of rounds. "
                    f"It must be at least 1e-6 and below 1, not {float(self.stop_probability):g}"
                )
            if self.shape and abs(self.shape) < SMALLEST_LAW:
                yield Unexpected("a shape of 0, or a shape of at least 1e-6 in absolute value", f"{float(self.shape):g}")
        elif "shape" in self.model_fields_set:
            yield 'The setting `shape` is only for mode = "truncated_negative_binomial"'


# The table [bundle]: further formats of a release, and the label "synthetic".

SYNTHETIC = "synthetic"
"""The name of the column that marks every row as synthetic. Its value is the same in all rows."""
_ONCE = checked(lambda names: len(set(names)) == len(names), "each name once")


class BundleTable(SpecTable):
    """[bundle]: additional files of the release. The program makes them from the accepted table and its statistics, at no cost
    in epsilon.

    Attributes
    ----------
    formats : files for statistical packages. "stata" writes data.dta, and a file read.do that adds representative values and
        errors. "spss" writes data.sav, which SAS can also read. "r" writes read.R, which needs no R packages. "stata" and
        "spss" require the extra `formats` of this program. Example: `formats = ["stata", "spss", "r"]`.
    catalogues : files with entries for data catalogues. "dcat" writes dcat.jsonld and dcat.ttl, in the format DCAT-AP 3 with
        the fields of HealthDCAT-AP. It requires the extra `catalogue` of this program. "croissant" writes Croissant 1.0, for
        machine learning. "ddi" writes DDI-Codebook 2.5. Example: `catalogues = ["dcat", "croissant", "ddi"]`.
    synthetic_names : true adds "synthetic-" to the names of all files with rows, such as synthetic-data.csv instead of
        data.csv. Example: `synthetic_names = true`.
    synthetic_column : true adds a last column "synthetic" to all files with rows. Its value is 1 in every row. Example:
        `synthetic_column = true`.
    """

    formats: Annotated[tuple[Literal["stata", "spss", "r"], ...], _ONCE] = ()
    catalogues: Annotated[tuple[Literal["dcat", "croissant", "ddi"], ...], _ONCE] = ()
    synthetic_names: bool = False
    synthetic_column: bool = False

    @property
    def chosen(self) -> dict[str, tuple[str, ...]]:
        """Return the additional formats and the data catalogues that the user chose, by setting, without empty ones."""
        lists: dict[str, tuple[str, ...]] = {"formats": self.formats, "catalogues": self.catalogues}
        return {name: chosen for name, chosen in lists.items() if chosen}

    @property
    def stem(self) -> str:
        return self.named("data")

    def named(self, name: str) -> str:
        """Return the name of a file with rows in the release: `name`, with "synthetic-" before it if the configuration asks for
        this."""
        return f"synthetic-{name}" if self.synthetic_names else name


# The table [not_promised] of the acceptance file: associations that the publisher knows are not preserved.


def _is_pair(text: str) -> bool:
    first, _, second = text.partition(":")
    return bool(first and second) and ":" not in second and first != second


Pair = Annotated[Line, checked(_is_pair, 'two columns joined by ":", such as "age:region"')]
MOST_PAIRS = 1000


class NotPromisedTable(SpecTable):
    """[not_promised]: associations between columns that the release is known not to preserve. The card lists them. If the
    tables of a rehearsal lost the association of a pair of columns, and this table does not list the pair, the program refuses
    the release.

    Attributes
    ----------
    pairs : pairs of columns whose association was lost in the tables of the rehearsal. No criterion and no measured table
        contains both columns of such a pair. Example: `pairs = ["age:region"]`, `why = "Published elsewhere"`.
    dependence : true if the release promises nothing about any pair of columns. All associations may then be lost in the
        released table. Example: `dependence = true`, `why = "Only single columns are used"`.
    why : the reason why these associations need not be preserved, for the card. Example: `why = "Only single columns are
        used"`, `dependence = true`.
    kept : a sentence for the plan and the card that says how much of the associations was preserved in fits to public data.
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
        return tuple(frozenset(text.split(":")) for text in self.pairs)


# Results of attacks on public rows, which a rehearsal writes into its shortlist, and a release into release.json.


class MembershipTable(SpecTable):
    """Results of a membership attack. The intruder knows all rows of the file except one, and guesses which of two given rows
    is the unknown row.

    Attributes
    ----------
    seen : a description of what the intruder sees of the release.
    guesses, right : the number of guesses, and the number of correct guesses.
    low, high : the limits of a 95% confidence interval for the share of correct guesses.
    allowed_by_epsilon, allowed_by_noise : the largest share of correct guesses that is possible under the guarantee, and the
        largest share that is possible with the stated noise of the tables. `allowed_by_noise` is None if the intruder sees only
        rows.
    """

    seen: Line
    guesses: int
    right: int
    low: float
    high: float
    allowed_by_epsilon: float
    allowed_by_noise: float | None = None


class PersonTable(SpecTable):
    """Shares of correct guesses about persons. `inside` is the share for rows that the fit used, and `outside` is the share for
    rows that it did not use.

    Attributes
    ----------
    guessed : the column whose value is guessed. It is empty if the whole row is guessed.
    difference : a 95% confidence interval for `inside` minus `outside`.
    baseline : the share of correct guesses of an intruder who always guesses the most frequent value. It is None if the whole
        row is guessed.
    """

    guessed: Line
    inside: float
    outside: float
    difference: tuple[float, float]
    baseline: float | None = None


class AttacksTable(SpecTable):
    """[attacks]: the results of attacks on one configuration. The attacks use public rows and the budget of the rehearsal.

    Attributes
    ----------
    fits : the number of fits of the configuration that the membership attack used.
    epsilon, delta : the guarantee that the configuration claims.
    known : the columns whose values the intruder knows for every person.
    contradicts : whether the share of correct guesses is too high for the claimed guarantee.
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
        """Return the attack results about persons that the card shows: for the column in which the release helps the attacker
        most (the largest lower end of the interval `difference`), and for guesses of whole rows."""
        values = sorted((person for person in self.persons if person.guessed), key=lambda person: person.difference[0])
        return (*values[-1:], *(person for person in self.persons if not person.guessed))


MAX_TABLES = 200
"""The maximum number of rules, generators, projections or criteria of one specification."""
MAX_COLUMNS = 1000
MOST_COLUMNS = f"At most {MAX_COLUMNS:,} columns are possible, because noise and time grow with the number of pairs of columns"


def _not_too_many(columns: Any) -> Any:
    if isinstance(columns, Mapping) and len(columns) > MAX_COLUMNS:
        raise Unexpected(
            f"The configuration has {len(columns):,} columns. {MOST_COLUMNS}. Delete some tables [columns.NAME], or draft "
            "again with `init --only A,B,...` or `init --leave-out A,B,...`"
        )
    return columns


OPTIONS = (
    "partition", "split", "members", "calibration", "series", "population", "design", "imputation", "geography",
    "marks", "scout",
)  # fmt: skip
"""The names of the optional tables, in the order in which they are documented. Most releases do not use them."""


CONFIGURATION_SCHEMA, ACCEPTANCE_SCHEMA = "configuration.schema.json", "acceptance.schema.json"
"""The file names of the JSON Schemas of the configuration and the acceptance file. `synthrelease init` writes the schemas next
to its drafts."""


def schema_text(name: str) -> str:
    """Return the text of a JSON Schema, with which editors check a file. It is generated from the models here."""
    return resource(f"configs/{name}").read_text(encoding="utf-8")


class ReleaseFile(SpecTable):
    """configs/NAME.toml: the columns, the generators and the budget of a release.

    Attributes
    ----------
    extends : the path of another configuration, relative to this file. This file inherits from the other file all top-level
        keys and tables that it does not contain. It also inherits each text of [card] that its own [card] does not contain. It
        never inherits the texts that belong to one release: `justification`, `tuning`, `version`, `published`, `url` and
        `signed_by`. Example: `extends = "births.toml"`.
    override : single settings that replace inherited settings of the file in `extends`. Write the names of the table and the
        setting, separated by dots. A new list replaces the whole old list. Example: `override.columns.age.bounds = [12, 60]`,
        `extends = "births.toml"`.
    title : the title of the released data, in one line. Example: `title = "Live births"`.
    description : a description of the data. Say what a row is, and where the data come from. Example: `description = "Singleton
        live births of one year."`.
    acceptance : the path of the acceptance file, relative to this file. Example: `acceptance = "../acceptance/births.toml"`.
    input : how the program reads the private file. Example: `input.missing = "drop"`.
    columns : the released columns, with one table for each column. Example: `columns.age = { kind = "integer", bounds = [0,
        99], alternatives.coarse = ["<18", "18-64", ">64"] }`.
    rules : plausibility rules, which exclude impossible combinations of values. Example: `rules = [{ never = "age < 15 and
        parity > 0" }]`.
    transformations : for a column, the alternatives (lists of bins) that the program may use. For columns that you do not list
        here, it may use all alternatives. Example: `transformations.age = ["coarse", "fine"]`.
    generators : the generators and their settings. A setting may be a list of values. Each combination of these values is then
        one configuration of the generator, and each round uses one configuration. Example: `generators = [{ family =
        "privbayes", flavour = "theta", theta = [4, 8], epsilon_split = 0.1 }]`.
    projections : changes that the program makes to each synthetic table before it tests the criteria. As for generators, a
        setting may be a list of values. Example: `projections = [{ kind = "minimum_count", minimum_count = [2, 3] }]`.
    budget : the budget of one fit of a generator, and the limit on the cost of the whole release. Example: `budget.generation =
        4`.
    selection : how many rounds a release may have, and how each round is tested. Example: `selection.stop_probability = 0.001`.
    unit : what a record is, how many records a person can have, and which column identifies the person. Example: `unit.name =
        "birth"`.
    partition : divides the rows at random into one piece for the generator and one piece for the criteria. Without this table,
        both use all rows. Example: `partition = { fit = 0.5, score = 0.5 }`.
    split : the piece of a divided register that this release uses. Without this table, the release uses all rows. Example:
        `split = { by = "certificate", piece = 1, of = 2 }`.
    members : a second table with the members of each row, such as the persons of a household. Example: `members = { key =
        "household", most = 6, columns = { age = { kind = "integer", bounds = [0, 99] } } }`.
    calibration : published totals. After acceptance, the program computes weights for the released rows, at no cost in epsilon,
        so that weighted counts equal these totals. Example: `calibration.source = "Population register, 1 January 2024, table
        3"`, `calibration.margins = [{ columns = ["sex"], totals = { F = 5100, M = 4900 } }]`.
    series : earlier releases of the same register, and a plan for several years. Example: `series.name = "Live births,
        yearly"`.
    population : the population from which the private file is a simple random sample. Example: `population = { size = 2000000,
        sample = "simple random, without replacement", source = "Population register" }`.
    design : the survey design of the private file, with its weights, strata and clusters. Example: `design = { clusters =
        "tract", effect = 1.8, source = "Survey report, table B.1" }`.
    imputation : copies of the released rows in which missing values are imputed, at no cost in epsilon. Example:
        `imputation.copies = 5`.
    geography : nested areas, such as municipalities within regions. Example: `geography = { column = "municipality", levels =
        ["region"] }`.
    marks : groups of indicators, such as rare diagnoses. For each group, the program adds a released column that lists the
        indicators that apply to a row. Example: `marks.groups.heart = ["infarct", "failure", "stroke"]`.
    scout : the scout that preceded this release. The scout and the release share one budget. Example: `scout = { epsilon = 2,
        delta = 1e-9, rho = 0.003, document = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462" }`.
    intended_queries : questions that users should be able to answer from the release. For each question, the card says what is
        known about the error of the answer. Example: `intended_queries = [{ query = "parity == 1", why = "Reported every year"
        }]`.
    models : questions that the release answers from separate noisy sums, not from the synthetic rows. Example: `models = [{
        question = "mean parity" }]`, `budget.models = "1/10"`.
    plugins : other packages that provide criteria or generators for this release. Example: `plugins = [{ package =
        "copula-example", version = "0.1.0", sha256 = "3f7a9c0d5e8b1426a7d39c0e5f8b14623f7a9c0d5e8b1426a7d39c0e5f8b1462" }]`.
    bundle : additional files of the release, such as files for Stata, at no cost in epsilon. Example: `bundle.formats = ["r"]`.
    card : the steward's texts for the data card. Example: `card.licence = "CC-BY-4.0"`.
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
        return {name: table for name in OPTIONS if (table := getattr(self, name)) is not None}

    @property
    def linked(self) -> Linked | None:
        """Return how a record contains a root and its members, or None without [members]."""
        return None if self.members is None else self.members.members_with(self.input.missing)

    def widened(self) -> Iterator[tuple[str, dict[str, ColumnTable], list[RuleTable]]]:
        """Yield the name of each optional table that adds columns or rules to a record ([members], [geography] or [marks]),
        with all columns and rules so far."""
        columns, rules = self.columns, self.rules
        for name, add in (("members", with_members), ("geography", with_levels), ("marks", with_indicators)):
            if (table := getattr(self, name)) is not None:
                columns, rules = add(table, columns, rules, self.input.missing)
                yield name, columns, rules

    def wide(self) -> ReleaseFile:
        """Return the configuration with all columns and rules of a record, including those that optional tables add."""
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
    """acceptance/NAME.toml: the criteria that the released table must meet.

    Attributes
    ----------
    description : the purpose for which the released data must be accurate enough, in one sentence. Example: `description =
        "Means by age."`.
    groups : for a column, the groups into which criteria divide the rows. Write a list of bins for numbers, and a table of
        groups for categories and codes. Each group must consist of whole bins of every alternative. Instead, you may write the
        name of an alternative, such as `"state"` for a level of a codelist. The bins of this alternative are then the groups.
        Example: `groups.age = ["<=24", "25-34", ">=35"]`.
    criteria : the criteria that a table must meet. The program evaluates all of them in every round. Example: `criteria = [{
        name = "rare rows", kind = "face_privacy", minimum_count = 2 }]`.
    not_promised : associations between columns that the release is known not to preserve. Example: `not_promised = { pairs =
        ["age:region"], why = "Published elsewhere" }`.
    """

    description: str = ""
    groups: dict[str, Groups] = Field(default_factory=dict)
    criteria: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    not_promised: NotPromisedTable = Field(default_factory=NotPromisedTable.model_construct)
