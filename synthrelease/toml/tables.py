"""The two TOML files as pydantic models, and mistakes in them as problems with file, path, expected and found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from synthrelease.errors import Unexpected
from synthrelease.toml.bundle import BundleTable
from synthrelease.toml.calibration import CalibrationTable
from synthrelease.toml.card import CardTable
from synthrelease.toml.fields import FRACTION_PATTERN as FRACTION_PATTERN
from synthrelease.toml.fields import Line as Line
from synthrelease.toml.fields import Reason as Reason
from synthrelease.toml.fields import SpecTable as SpecTable
from synthrelease.toml.imputation import ImputationTable
from synthrelease.toml.partition import PartitionTable
from synthrelease.toml.population import PopulationTable
from synthrelease.toml.queries import IntendedQueryTable
from synthrelease.toml.series import SeriesTable
from synthrelease.toml.split import SplitTable

Model = TypeVar("Model", bound=BaseModel)
MAX_TABLES = 200
"""Columns, rules, generators, projections or criteria of one specification."""


def _bins(value: Any) -> Any:
    """One message instead of one for each type that the bins could have had."""
    if isinstance(value, Mapping):
        if all(_is_texts(group) for group in value.values()):
            return value
    elif isinstance(value, list | tuple) and all(_is_bin(text) for text in value):
        return [str(text) for text in value]
    raise Unexpected("a list of bins such as ['<18', '18-19'], or a table of groups of categories")


def _groups(value: Any) -> Any:
    return value if isinstance(value, str) else _bins(value)


def _categories(value: Any) -> Any:
    if value is None or _is_texts(value) or (isinstance(value, Mapping) and all(_is_texts(texts) for texts in value.values())):
        return value
    raise Unexpected("a list of texts, or a table of categories with their texts in the file")


def _codes(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping) and all(isinstance(label, str) for label in value.values()):
        return value
    raise Unexpected("a table of codes with their labels, or the name of a CSV file with the columns code,label")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _is_bin(value: Any) -> bool:
    return isinstance(value, str | int | float | Decimal) and not isinstance(value, bool)


_BINS_IN_JSON = {
    "anyOf": [
        {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1},
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    ]
}
_Bins = Annotated[list[str] | dict[str, list[str]], BeforeValidator(_bins), WithJsonSchema(_BINS_IN_JSON)]
_GROUPS_IN_JSON = {"anyOf": [{"type": "string"}, _BINS_IN_JSON]}
_Groups = Annotated[str | list[str] | dict[str, list[str]], BeforeValidator(_groups), WithJsonSchema(_GROUPS_IN_JSON)]
_CODES_IN_JSON = {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]}
_Codes = Annotated[str | dict[str, str] | None, BeforeValidator(_codes), WithJsonSchema(_CODES_IN_JSON)]
_Categories = Annotated[list[str] | dict[str, list[str]] | None, BeforeValidator(_categories)]


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A mistake in one table that only shows against the schema: the field, what was expected and found."""

    field: str
    expected: str
    found: str
    suggestion: str | None = None


MAX_STATED_ROWS = 2**40
"""The largest number of rows that [input] rows may state: that of a file."""


Encoding = Literal["utf-8", "latin-1", "windows-1252", "utf-16", "mixed"]


IMPUTING = {
    *("average", "backward fill", "bfill", "donor", "ffill", "fill", "forward fill", "hot deck", "imputation", "impute"),
    *("imputed", "interpolate", "knn", "locf", "mean", "median", "mice", "mode", "model", "most frequent", "nearest"),
    *("nearest neighbor", "nearest neighbour", "pad", "random", "regression"),
}
"""Words for filling gaps from other rows of the private file."""


def _missing_rule(value: Any) -> Any:
    """A rule for missing values that looks at one record alone. Others are refused with what may be done instead."""
    if isinstance(value, str) and re.sub(r"[\s_-]+", " ", value.strip().lower()) in IMPUTING:
        raise Unexpected(
            "'bin', 'drop' or 'error': gaps must not be filled from other private records, because one person's values would "
            "then stand in many rows, which nothing here protects. Three ways are allowed: a public rule that looks at one "
            "record alone ('bin' keeps the gap as a value of its own, 'drop' leaves the row out); a rule or model that was "
            "itself released with differential privacy and paid for, applied to each record by itself; values taken from a "
            "public table. With 'bin' the gaps of the released table can be filled afterwards from its own rows, at no cost"
        )
    return value


class InputTable(SpecTable):
    """[input]: public rules for reading the private file.

    Attributes
    ----------
    delimiter : what stands between two cells of a CSV file, one character; other formats need none. Example: `delimiter = ";"`.
    encoding : of the letters of a CSV file: "utf-8", "latin-1" (ISO 8859-1), "windows-1252", "utf-16", or "mixed":
        UTF-8, and where a byte is not, the letter that it stands for in Windows-1252. Also of texts in files of Stata, SAS and
        SPSS that do not tell it. Example: `encoding = "latin-1"`.
    decimal : what stands before the fraction of a number that is written as a text: "." or ",". Numbers of files that know
        numbers as such have none. Example: `decimal = ","`.
    table : of a database; other files need none, and a database with one table neither. `--table` goes before it.
        Example: `table = "births"`.
    missing_values : texts of the file that stand for a missing value, in every column, also with spaces around them. A list
        replaces the whole default, so write the empty text into it if empty cells are missing values.
        Example: `missing_values = ["", "-9", "unknown"]`.
    missing : what a missing value does: "bin" keeps it as a bin of its own, which is released under the column's
        `missing_label`; "drop" leaves its row out, "error" refuses the file. A column may decide otherwise.
        Example: `missing = "bin"`.
    outside : what a value does that is outside a column's bounds or in none of its categories: "drop" leaves its row out,
        "clip" takes the nearest bound (numbers alone), "error" refuses the file. A column may decide otherwise; one of
        categories or codes may keep it as a "bin". Example: `outside = "clip"`.
    rows : what is public about how many rows the rules above keep (theory 1.7, resizing). "private": a noisy count, which costs
        [budget] rows. A whole number: an official figure at or below the kept rows. "exact": their number is published as it
        is, and whether a record is kept is not protected. Where no row can be left out, it costs nothing and needs no choice.
        Example: `rows = 150000`.
    one_row_per : that each row of the file is one respondent, counted once; required where a column has `role = "weight"`. A
        file in which a respondent stands as often as the weight says is refused: replacing one respondent would move counts by
        the largest weight and not by 1, and the guarantee would not hold. Example: `one_row_per = "respondent"`.
    """

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    encoding: Encoding = "utf-8"
    decimal: Literal[".", ","] = "."
    table: str | None = Field(default=None, min_length=1, max_length=300)
    missing_values: tuple[str, ...] = ("", "NA", "NaN", "nan", "null", "NULL", "None", ".")
    missing: Literal["drop", "bin", "error"] = "error"
    outside: Literal["drop", "clip", "error"] = "error"
    rows: Literal["private", "exact"] | Annotated[int, Field(ge=1, le=MAX_STATED_ROWS)] = "private"
    one_row_per: Literal["respondent"] | None = None

    @field_validator("one_row_per", mode="before")
    @classmethod
    def _not_expanded(cls, stated: Any) -> Any:
        if stated != "respondent":
            raise Unexpected(
                "'respondent': where one respondent stands in several rows, or a row stands for several, replacing one "
                "respondent moves counts by the largest weight W and not by 1, and the guarantee does not hold"
            )
        return stated

    _one_record_alone = field_validator("missing", mode="before")(_missing_rule)

    @field_validator("rows", mode="before")
    @classmethod
    def _number_or_word(cls, rows: Any) -> Any:
        whole = isinstance(rows, int) and not isinstance(rows, bool) and 1 <= rows <= MAX_STATED_ROWS
        if not (whole or rows in ("private", "exact")):
            raise Unexpected(f"'private', 'exact', or a whole number from 1 to {MAX_STATED_ROWS}")
        return rows


class ColumnTable(SpecTable):
    """[columns.NAME]: a column of the released table. Everything here is public and must not be learned from the private file.

    Attributes
    ----------
    kind : "integer" for whole numbers, "real" for other numbers, "category" for texts, "code" for texts or numbers that a
        codelist explains. Example: `kind = "integer"`.
    description : what the column says about a record, in the words of the data card.
        Example: `description = "Age in full years"`.
    unit : in what the numbers are measured, for the data card. Example: `unit = "years"`.
    source : the column's name in the private file, where it is another one. Example: `source = "date_of_birth"`.
    part : reads one part of a date as the number, in a column of whole numbers: the year, quarter (1 to 4), month, week (1 to
        53, of ISO 8601), day or weekday (1, Monday, to 7). Example: `part = "month"`.
    minus : the column of the file with another date: the number is the days from that one to the one in `source`, in a column
        of whole numbers. Example: `source = "discharged"`, `minus = "admitted"`.
    format : how dates are written, of %Y (a year of four digits), %m (a month as a number) or %b (Jan to Dec), and %d (a day).
        Left out, yyyy-mm-dd. Files that know dates as such give them as yyyy-mm-dd. Example: `format = "%d.%m.%Y"`.
    bounds : the lowest and the highest value of a numeric column, both included; required for it. Example: `bounds = [15, 74]`.
    categories : the categories, each a text of the file; or a table of each released category with all the texts of the file
        that stand for it. Required for the kind "category". A text that stands here is never a missing value.
        Example: `categories = { M = ["0", "male"], F = ["1", "female"] }`.
    codes : the codelist of the kind "code": a table of codes, as they stand in the file, with their labels, which stand in the
        release; or the name of a CSV file, relative to this one, with the columns `code,label` and, if there are any, levels of
        groups such as a municipality's state, each of which is one of the `alternatives`. Its content is part of the
        specification. Example: `kind = "code"`, `codes = { "1" = "Hospital", "2" = "Home" }`.
    numbers : a number for each category, for criteria that compute with the column (means, regressions); they refuse it
        without. Numeric columns have none: each of their bins has the number in its middle. Example:
        `numbers = { M = 0, F = 1 }`.
    ordered : whether neighbouring categories are near each other, as levels of education are, so that the criterion of
        faithfulness may count them as one bin apart. Numbers always are. Example: `ordered = true`.
    role : "weight" marks the design weight of a survey: a number above 0 for each of its bins, which says for how many persons
        a row stood. It is modelled like any column and multiplies no count; [calibration] may start from it.
        Example: `role = "weight"`.
    missing : as in [input], for this column; left out, [input] decides. A bin of missing values is never merged with
        another one and has no number; no rule fires because of it. Example: `missing = "bin"`.
    missing_label : how the bin of missing values is called in the release. Example: `missing = "bin"`,
        `missing_label = "not stated"`.
    missing_values : further texts of the file that mean a missing value in this column, beside those of [input].
        Example: `missing_values = ["97", "98", "99"]`.
    characters : of codes, how many of the first characters of a text are the code: 1 of "I21.4" is "I". What means missing is
        recognised before anything is cut off. Codes that are digits must all have their leading zeros.
        Example: `characters = 3`.
    outside : as in [input], for this column; left out, [input] decides. Categories and codes have "bin" in place of "clip":
        what is not listed becomes the category of the `outside_label`, and no row is left out. Example: `outside = "bin"`.
    outside_label : that category: a new one, or one of the listed. In alternatives it is a group of its own, unless one has
        its name or lists it. Left out, it is called "other". Example: `outside = "bin"`, `outside_label = "all others"`.
    alternatives : the bins that the column may be released in, under a name for each way. Numbers: a list of bins that cover
        the bounds without a gap, such as "<18", "18-19", "1..12" (each number a bin), "1500-4499 by 100", "2.5 to 3" (kind
        "real"), ">44". Categories and codes: a table of groups (of codes, not of their labels); left out, each category is
        a bin under the name "categories", each code under the name "codes".
        Example: `alternatives.coarse = ["<18", "18-64", ">64"]`.
    """

    kind: Literal["integer", "real", "category", "code"]
    description: str = ""
    unit: str = ""
    source: str | None = None
    part: Literal["year", "quarter", "month", "week", "day", "weekday"] | None = None
    minus: str | None = None
    format: str | None = Field(default=None, max_length=50)
    bounds: tuple[float, float] | None = None
    categories: _Categories = None
    codes: _Codes = None
    numbers: dict[str, float] = Field(default_factory=dict)
    ordered: bool | None = None
    role: Literal["weight"] | None = None
    missing: Literal["drop", "bin", "error"] | None = None
    missing_label: str | None = None
    missing_values: tuple[str, ...] = ()
    characters: int | None = Field(default=None, ge=1, le=50)
    outside: Literal["drop", "clip", "bin", "error"] | None = None
    outside_label: str | None = None
    alternatives: dict[str, _Bins] = Field(default_factory=dict)

    _one_record_alone = field_validator("missing", mode="before")(_missing_rule)

    @field_validator("bounds")
    @classmethod
    def _usable_bounds(cls, bounds: tuple[float, float] | None, info: ValidationInfo) -> tuple[float, float] | None:
        if bounds is None:
            return None
        low, high = bounds
        if not (low < high and max(abs(low), abs(high)) <= 1e15):
            raise Unexpected("[lowest, highest] with lowest < highest, both between -1e15 and 1e15")
        if info.data.get("kind") == "integer" and (low != int(low) or high != int(high)):
            raise Unexpected("whole numbers")
        return bounds


class RuleTable(SpecTable):
    """[[rules]]: what must never occur.

    Attributes
    ----------
    never : a condition on columns, with comparisons, `and`, `or`, `not`, `in` and `is missing`: rows that meet it are left out.
        A comparison with a missing value is neither true nor false, and neither is its negation: no rule fires because of it.
        `column.level == 'group'` names a group of codes or categories by an alternative of the column.
        Example: `never = "mother_age < 20 and parity > 3"`.
    applies_to : "raw" leaves such rows of the private file out, "synthetic" keeps such rows out of the released table.
        Example: `applies_to = ["raw"]`.
    why : the reason, for the data card. Example: `why = "No one finishes college before 20."`.
    """

    never: str = Field(min_length=1, max_length=1000)
    applies_to: tuple[Literal["raw", "synthetic"], ...] = Field(default=("raw", "synthetic"), min_length=1)
    why: str = ""


class BudgetTable(SpecTable):
    """[budget]: the budget of one fit, and the most that the whole release may cost.

    Attributes
    ----------
    generation : epsilon of one fit; where a family has a zero-concentrated guarantee, rho of one fit, and pure ones beside it
        get the epsilon of which epsilon^2 / 2 is rho. Example: `generation = 4`.
    generation_delta : delta of one fit, for families with an approximate guarantee. Example: `generation_delta = 1e-10`.
    limit : the largest epsilon of the whole release; a plan above it is refused before anything is read. Left out, nothing but
        the ledger limits it. Example: `limit = 9.98`.
    delta : the largest delta of the whole release, at which zero-concentrated guarantees are stated; 0 allows pure
        differential privacy alone. Example: `delta = 1e-9`.
    rows : epsilon of counting the rows that are kept, where [input] rows is "private" and rows can be left out.
        Example: `rows = "1/20"`.
    reason : why this budget, in the steward's words. Example: `reason = "Agreed with the data protection officer"`.
    """

    generation: Fraction = Field(gt=0)
    generation_delta: Fraction = Field(default=Fraction(0), ge=0, lt=1)
    limit: Fraction | None = Field(default=None, gt=0)
    delta: Fraction = Field(default=Fraction(0), ge=0, lt=1)
    rows: Fraction = Field(default=Fraction(1, 20), ge=Fraction(1, 10**6))
    reason: Reason = ""


class UnitTable(SpecTable):
    """[unit]: how the records that the guarantee protects belong to persons.

    Attributes
    ----------
    name : what a record is, in one word or two. Example: `name = "hospital stay"`.
    records_per_person : in how many records of the file one person can stand at most. Example: `records_per_person = 12`.
    why : where that number comes from. Example: `why = "One stay a month is counted"`.
    """

    name: Line = Field(default="record", min_length=1, max_length=60)
    records_per_person: int = Field(default=1, ge=1, le=1000)
    why: Reason = ""


SMALLEST_LAW = Fraction(1, 10**6)
"""Of the stop probability and the shape (0 apart) of a hidden number of rounds; below, the law is slow and inexact to get."""


Rounds = Annotated[str, Field(pattern="^[1-9][0-9]{0,4}$")]
"""A number of rounds, as the key of a TOML table."""


class SelectionTable(SpecTable):
    """[selection]: how rounds are repeated, what is tested in a round, and what is measured.

    Attributes
    ----------
    mode : "known_threshold" (Liu & Talwar 2019), at most a "hidden_number" of rounds with the law of `rounds`, which for pure
        rounds costs least (theory 2b.4, best law), or at most a hidden, "truncated_negative_binomial" number of rounds
        (Papernot & Steinke 2022), which zero-concentrated rounds need.
        Example: `mode = "truncated_negative_binomial"`, `stop_probability = 0.02`.
    rounds : the law of the hidden number of rounds: numbers of rounds with their probabilities, which are exact and add up to
        1. For mode "hidden_number" alone. The number is drawn before the rounds and never shown.
        Example: `rounds = { 1 = 0.185, 6 = 0.544, 7 = 0.271 }`, `mode = "hidden_number"`.
    stop_probability : the probability that the search ends after a rejected round (gamma of the theorem): a search that never
        accepts ends after about one over it rounds; 0 never ends it, and makes pure rounds cost twice their epsilon. Not for
        mode "hidden_number". Example: `stop_probability = 0.001`.
    shape : eta of the truncated negative binomial law; 1 is geometric, 0 logarithmic. For that mode alone.
        Example: `shape = 1`, `mode = "truncated_negative_binomial"`, `stop_probability = 0.02`.
    test : "each" criterion by its own noisy figure in every round, or all by one noisy test ("joint"; theory 4, joint test),
        with the figures released once after acceptance. Example: `test = "joint"`, `test_epsilon = 0.2`.
    test_epsilon : budget of one joint test; required with test = "joint", and for it alone.
        Example: `test_epsilon = 0.2`, `test = "joint"`.
    false_acceptance : of the joint test: the largest probability that a round with a criterion above its threshold passes.
        Example: `false_acceptance = 0.01`.
    measurements : "fresh" in every round, or made once before the loop and "shared" by all rounds (theory 5, shared
        measurements). Example: `measurements = "shared"`.
    publish_measurements : put the noisy marginals that the released table was made from into the release.
        Example: `publish_measurements = true`.
    bound_risk : the probability, over the noise of shared measurements, that one of the bounds of the criteria that they answer
        is wrong, whichever table is released (theory 13.6, criteria that measurements answer). Example: `bound_risk = 0.01`.
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

    @model_validator(mode="after")
    def _law_fits(self) -> SelectionTable:
        if (self.mode == "hidden_number") != (self.rounds is not None):
            raise ValueError('mode = "hidden_number" needs rounds, and other modes must not have it')
        if self.rounds is not None and "stop_probability" in self.model_fields_set:
            raise ValueError('stop_probability says nothing where mode = "hidden_number"')
        return self

    @model_validator(mode="after")
    def _fits(self) -> SelectionTable:
        if (self.test == "joint") != (self.test_epsilon is not None):
            raise ValueError('test = "joint" needs test_epsilon, and test = "each" must not have it')
        if self.mode == "truncated_negative_binomial":
            if not SMALLEST_LAW <= self.stop_probability < 1:
                expected = f"a stop_probability of at least 1e-6 and below 1, because of {self.mode!r}"
                raise Unexpected(expected, f"{float(self.stop_probability):g}")
            if self.shape and abs(self.shape) < SMALLEST_LAW:
                raise Unexpected("a shape of 0, or of at least 1e-6 above or below", f"{float(self.shape):g}")
        elif "shape" in self.model_fields_set:
            raise ValueError('shape belongs to mode = "truncated_negative_binomial"')
        return self


class ReleaseFile(SpecTable):
    """configs/NAME.toml: the columns, the space of configurations and the budget of a release.

    Attributes
    ----------
    extends : another configuration, relative to this file: each top-level key or table that is not in this file is taken from
        that one, whole. Example: `extends = "births.toml"`.
    title : of the released data, one line. Example: `title = "Live births"`.
    description : what one row is and where the data come from. Example: `description = "Singleton live births of one year."`.
    acceptance : the acceptance file, relative to this file. Example: `acceptance = "../acceptance/births.toml"`.
    input : how the private file is read; its settings follow below. Example: `input.missing = "drop"`.
    columns : one table for each released column; its settings follow below.
        Example: `columns.age = { kind = "integer", bounds = [0, 99], alternatives.coarse = ["<18", "18-64", ">64"] }`.
    rules : plausibility rules; their settings follow below. Example: `rules = [{ never = "age < 15 and parity > 0" }]`.
    transformations : for each column the alternatives that configurations are drawn from; all of a column that is not named.
        Example: `transformations.age = ["coarse", "fine"]`.
    generators : the families of models and their hyperparameters. A list of values stands for a generator with each of them,
        and all combinations of lists are in the space that configurations are drawn from.
        Example: `generators = [{ family = "privbayes", flavour = "theta", theta = [4, 8], epsilon_split = 0.1 }]`.
    projections : what is done to a synthetic table before it is scored. Lists are as for generators.
        Example: `projections = [{ kind = "minimum_count", minimum_count = [2, 3] }]`.
    budget : what a fit may cost, and the whole release; its settings follow below. Example: `budget.generation = 4`.
    selection : how rounds are repeated; its settings follow below. Example: `selection.stop_probability = 0.001`.
    unit : how records belong to persons; its settings follow below. Example: `unit.name = "birth"`.
    partition : random pieces of the rows, one for the generator and one for the criteria; its settings follow below. Left out,
        both work with all rows. Example: `partition = { fit = 0.5, score = 0.5 }`.
    split : which piece of the register this release reads, where the ledger has split it; its settings follow below. Left out,
        it reads all rows. Example: `split = { by = "certificate", piece = 1, of = 2 }`.
    population : what the private file is a simple random sample of; its settings follow below. Example:
        `population = { size = 2000000, sample = "simple random, without replacement", source = "Population register" }`.
    calibration : published totals that the released rows are weighted to, after acceptance and at no cost; its settings follow
        below. Example: `calibration.source = "Population register, 1 January 2024, table 3"`,
        `calibration.margins = [{ columns = ["sex"], totals = { F = 5100, M = 4900 } }]`.
    imputation : complete copies of the released rows, made after acceptance and at no cost; its settings follow below.
        Example: `imputation.copies = 5`.
    bundle : further formats of the release, at no cost; its settings follow below. Example: `bundle.formats = ["r"]`.
    series : earlier releases of the same register; its settings follow below. Example: `series.name = "Live births, yearly"`.
    intended_queries : questions that the release is meant to answer; their settings follow below. The card says what is stated
        about each. Example: `intended_queries = [{ query = "parity == 1", why = "Reported every year" }]`.
    card : the steward's words on the data card; its settings follow below. Example: `card.licence = "CC-BY-4.0"`.
    """

    extends: str | None = None
    title: Line = Field(min_length=1, max_length=300)
    description: str = ""
    acceptance: str
    input: InputTable = InputTable()
    columns: dict[str, ColumnTable] = Field(min_length=1, max_length=MAX_TABLES)
    rules: list[RuleTable] = Field(default_factory=list, max_length=MAX_TABLES)
    transformations: dict[str, list[str]] = Field(default_factory=dict)
    generators: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    projections: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    budget: BudgetTable
    selection: SelectionTable = SelectionTable()
    unit: UnitTable = UnitTable()
    partition: PartitionTable | None = None
    split: SplitTable | None = None
    population: PopulationTable | None = None
    calibration: CalibrationTable | None = None
    imputation: ImputationTable | None = None
    bundle: BundleTable = BundleTable()
    series: SeriesTable | None = None
    intended_queries: list[IntendedQueryTable] = Field(default_factory=list, max_length=MAX_TABLES)
    card: CardTable = Field(default_factory=CardTable)

    @field_validator("columns")
    @classmethod
    def _plain_names(cls, columns: dict[str, ColumnTable]) -> dict[str, ColumnTable]:
        for name in columns:
            if not name.isidentifier() or name in {"and", "or", "not", "in"}:
                raise Unexpected("column names made of letters, digits and underscores", repr(name))
        return columns


class AcceptanceFile(SpecTable):
    """acceptance/NAME.toml: the criteria that a released table meets.

    Attributes
    ----------
    description : what the release must be good for, in one sentence. Example: `description = "Means by age."`.
    groups : bins that criteria group by, for a column: each must be made up of whole bins of every alternative. For categories
        (and the labels of codes) a table of groups. The name of an alternative stands for its bins: `"state"`, for a level of a
        codelist. Example: `groups.age = ["<=24", "25-34", ">=35"]`.
    criteria : the criteria; their settings follow below. All are scored in every round.
        Example: `criteria = [{ name = "rare rows", kind = "face_privacy", minimum_count = 2 }]`.
    """

    description: str = ""
    groups: dict[str, _Groups] = Field(default_factory=dict)
    criteria: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
