"""Define the tables [input], [columns.NAME] and [[rules]], by which the program reads a file and assigns its values to public
bins, and the error messages for files that cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from synthrelease.errors import Unexpected, UnexpectedValue, listing, so_many
from synthrelease.settings.base import Line, SpecTable


def _bins(value: Any) -> Any:
    """Return the bins if they are valid; otherwise raise UnexpectedValue, always with the same message."""
    if isinstance(value, Mapping):
        if all(_is_texts(group) for group in value.values()):
            return value
    elif isinstance(value, list | tuple) and all(_is_bin(text) for text in value):
        return [str(text) for text in value]
    raise UnexpectedValue("a list of bins such as ['<18', '18-19'], or a table of groups of categories")


def _groups(value: Any) -> Any:
    return value if isinstance(value, str) else _bins(value)


def _categories(value: Any) -> Any:
    if value is None or _is_texts(value) or (isinstance(value, Mapping) and all(_is_texts(texts) for texts in value.values())):
        return value
    raise UnexpectedValue("a list of texts, or a table of categories with their texts in the file")


def _codes(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if _is_texts(value):
        return {text: text for text in value}
    if isinstance(value, Mapping) and all(isinstance(label, str) for label in value.values()):
        return value
    raise UnexpectedValue("a list of codes, a table of codes with labels, or the name of a CSV file (columns code,label)")


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
Groups = Annotated[str | list[str] | dict[str, list[str]], BeforeValidator(_groups), WithJsonSchema(_GROUPS_IN_JSON)]
_CODES_IN_JSON = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ]
}
_Codes = Annotated[str | dict[str, str] | None, BeforeValidator(_codes), WithJsonSchema(_CODES_IN_JSON)]
_Categories = Annotated[list[str] | dict[str, list[str]] | None, BeforeValidator(_categories)]

MOST_OF_RULE = 1000
"""The maximum number of characters of a rule."""

MAX_STATED_ROWS = 2**40
"""The largest number that is allowed for the setting `rows` of [input]."""


Encoding = Literal["utf-8", "latin-1", "windows-1252", "windows-1255", "mixed"]
ENCODINGS = {
    "utf-8": "UTF-8",
    "latin-1": "Latin-1",
    "windows-1252": "Windows-1252",
    "windows-1255": "Windows-1255",
    "mixed": "UTF-8 and Windows-1252",
}
"""The display names of the encodings, for messages. The keys are the values of the setting `encoding`."""


IMPUTING = {
    *("average", "backward fill", "bfill", "donor", "ffill", "fill", "forward fill", "hot deck", "imputation", "impute"),
    *("imputed", "interpolate", "knn", "locf", "mean", "median", "mice", "mode", "model", "most frequent", "nearest"),
    *("nearest neighbor", "nearest neighbour", "pad", "random", "regression"),
}
"""Values of the setting `missing` that ask for imputation from other rows of the private file. The program recognises these
values in order to explain why it refuses them."""


def _missing_rule(value: Any) -> Any:
    """Return the value of the setting `missing`. A value that asks for imputation from other records raises Unexpected."""
    if isinstance(value, str) and re.sub(r"[\s_-]+", " ", value.strip().lower()) in IMPUTING:
        raise Unexpected(
            f"{value!r} is not possible: missing values must not be filled from other private records, because one person's "
            "values would then be in many rows, which the guarantee does not cover. Write 'bin', which makes missing a "
            "separate value, 'drop', which excludes the row, or 'error'. With 'bin', [imputation] can fill the missing values "
            "of the released table from its own rows, at no cost. Before a release, you may also fill them from public data, "
            "or by a rule or model that was released with differential privacy and is applied to each record separately"
        )
    return value


Position = tuple[int, int] | tuple[int, int, int]
"""The positions of the first and the last character of a column, counted from 1. If the numbers in the file have an implied
decimal point, a third number says how many digits follow this point."""
MOST_CHARACTERS = 100_000
"""The maximum number of characters in a line of a fixed-width file."""


class FixedWidthTable(SpecTable):
    """[input.fixed_width]: the positions of the columns in a fixed-width file, which has no header and no delimiters.

    Every line is a row. In a hierarchical file, a code in each line says to which table the line belongs. This code is called
    the record type. The program skips lines of record types that are not listed.

    Attributes
    ----------
    columns : for each column, the positions of its first and last character in a line, counted from 1. If the numbers have an
        implied decimal point, add the number of digits after this point. `init` can read the positions from a DDI codebook.
        Example: `columns = { year = [1, 4], income = [5, 12, 2] }`.
    record_type : the positions of the first and last character of the record type. Only hierarchical files need this setting.
        Example: `record_type = [1, 1]`, `records.H = { household = [2, 9], rooms = [10, 11] }`, `records.P = { household = [2,
        9], age = [10, 12] }`.
    records : for a hierarchical file, the columns of each record type. If one type contains the members of another type, such
        as the persons of a household, write the members' type last. Example: `record_type = [1, 1]`, `records.H = { household =
        [2, 9], rooms = [10, 11] }`, `records.P = { household = [2, 9], age = [10, 12] }`.
    """

    columns: dict[str, Position] = Field(default_factory=dict)
    record_type: tuple[int, int] | None = None
    records: dict[str, dict[str, Position]] = Field(default_factory=dict)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if (self.record_type is None) == bool(self.records) or bool(self.columns) == bool(self.records):
            yield "Set either columns, or record_type and records"
        tables = [self.columns, *self.records.values()]
        positions = [*(position for table in tables for position in table.values()), self.record_type or (1, 1)]
        for first, last, *decimals in positions:
            if not (1 <= first <= last <= MOST_CHARACTERS and all(0 <= digits <= last - first + 1 for digits in decimals)):
                yield f"Positions are [first, last] or [first, last, decimals], with 1 <= first <= last <= {MOST_CHARACTERS:,}"

    def table_of(self, needed: Sequence[str], record: str | None) -> tuple[str, dict[str, Position]]:
        """Return the record type of the lines to read ("" if the file has none), and the positions of the columns in these
        lines.

        Parameters
        ----------
        needed : the columns to read.
        record : the record type that the steward chose, or None for the first type that has all needed columns.
        """
        if not self.records:
            return "", self.columns
        names = [record] if record in self.records else list(self.records)
        chosen = next((name for name in names if {*needed} <= {*self.records[name]}), names[0])
        return chosen, self.records[chosen]


class InputTable(SpecTable):
    """[input]: public rules for reading the private file.

    Attributes
    ----------
    delimiter : the character that separates the columns of a CSV file. Example: `delimiter = ";"`.
    encoding : the character encoding of a CSV file. "latin-1" is ISO 8859-1, and "windows-1255" is for Hebrew. "mixed" is for
        files that mix encodings: the program reads bytes that are not valid UTF-8 as Windows-1252. The setting also applies to
        Stata, SAS and SPSS files that do not state their encoding. Example: `encoding = "latin-1"`.
    decimal : the decimal separator in the numbers of the file, "." or ",". Example: `decimal = ","`.
    table : the name of the table to read from a database. The command-line option `--table` overrides this setting. Example:
        `table = "births"`.
    fixed_width : the positions of the columns in a fixed-width file. Example: `fixed_width.columns = { year = [1, 4], income =
        [5, 12, 2] }`.
    missing_values : texts that mean a missing value in every column. Spaces around a text are ignored. Your list replaces the
        default list. Include the empty text if empty cells mean missing values. Example: `missing_values = ["", "-9",
        "unknown"]`.
    missing : how the program treats missing values, and texts that are not valid numbers or dates. "drop" excludes the row.
        "bin" keeps the row and counts the value in a separate bin with the label `missing_label`. "error" stops the release
        with an error after the budget was charged. This error can reveal a fact about a single record, and the guarantee does
        not cover it. The setting `missing` of a column overrides this setting. Example: `missing = "bin"`.
    outside : how the program treats numbers outside the bounds, and categories or codes that are not listed. "clip" replaces a
        number by the nearest bound, and excludes a row with an unlisted category or code. "drop" excludes the row in both
        cases. "error" stops the release with an error after the budget was charged. The setting `outside` of a column overrides
        this setting. For a column of categories or codes, it may also be "bin". Example: `outside = "drop"`.
    rows : how the release determines the number of rows that pass the rules (theory 1.7, resizing). "private" publishes a noisy
        count. This count costs the epsilon that is set by `rows` in [budget]. A whole number states an official number of rows,
        which must not exceed the true number. "exact" publishes the true number. In this case, the guarantee does not protect
        the fact whether a record passes the rules. If no row can be excluded, the release uses all rows, and "private" costs
        nothing. Example: `rows = 150000`.
    one_row_per : "respondent" confirms that each respondent has exactly one row in the file. This setting is required if a
        column has `role = "weight"`. Do not use a file in which rows are repeated according to their weight. In such a file,
        one respondent changes a count by the weight instead of by 1, and the guarantee does not hold. Example: `one_row_per =
        "respondent"`.
    """

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    encoding: Encoding = "utf-8"
    decimal: Literal[".", ","] = "."
    table: str | None = Field(default=None, min_length=1, max_length=300)
    fixed_width: FixedWidthTable | None = None
    missing_values: tuple[str, ...] = ("", "NA", "NaN", "nan", "null", "NULL", "None", ".")
    missing: Literal["drop", "bin", "error"] = "drop"
    outside: Literal["drop", "clip", "error"] = "clip"
    rows: Literal["private", "exact"] | Annotated[int, Field(ge=1, le=MAX_STATED_ROWS)] = "private"
    one_row_per: Literal["respondent"] | None = None

    @field_validator("one_row_per", mode="before")
    @classmethod
    def _not_expanded(cls, value: Any) -> Any:
        if value != "respondent":
            raise Unexpected(
                f"This must be 'respondent', not {value!r}. If a respondent has several rows, or a row counts several times, "
                "replacing one respondent changes counts by more than 1, and the guarantee does not hold"
            )
        return value

    _one_record_alone = field_validator("missing", mode="before")(_missing_rule)

    @field_validator("rows", mode="before")
    @classmethod
    def _number_or_word(cls, rows: Any) -> Any:
        whole = isinstance(rows, int) and not isinstance(rows, bool) and 1 <= rows <= MAX_STATED_ROWS
        if not (whole or rows in ("private", "exact")):
            raise UnexpectedValue(f"'private', 'exact', or a whole number from 1 to {MAX_STATED_ROWS:,}")
        return rows


class ColumnTable(SpecTable):
    """[columns.NAME]: the settings of a column of the released table. All these settings are published. Do not derive them from
    the private file.

    Attributes
    ----------
    kind : the type of the column. "integer" is for whole numbers, "real" for other numbers, and "category" for texts. "code" is
        for codes whose meaning is defined in a codelist. Example: `kind = "integer"`.
    description : the meaning of the column, for the data card. Example: `description = "Age in full years"`.
    unit : the unit of the numbers, for the data card. Example: `unit = "years"`.
    source : the name of the column in the private file. The default is the name in the release. Example: `source =
        "date_of_birth"`.
    part : which part of a date the column contains. This requires the kind "integer". A quarter is 1 to 4, a week is 1 to 53
        (ISO 8601), and a weekday is 1 (Monday) to 7. Example: `part = "month"`.
    minus : a second date column of the file. The released column then contains the number of days from the date in `minus` to
        the date in `source`. With `part = "year"`, it contains the number of completed years between these dates, such as an
        age. Example: `source = "discharged"`, `minus = "admitted"`.
    minus_format : the format of the dates in `minus`, if it differs from `format`. Example: `source = "discharged"`, `minus =
        "admitted"`, `minus_format = "%d/%m/%Y"`.
    format : the format of the dates in the file. It consists of %Y (year with four digits), %m (month as a number) or %b (Jan
        to Dec), and %d (day). The default is yyyy-mm-dd. Use the default also for files that have a date type. You may join
        several formats with `or`. The program then uses the first format that matches a text. Example: `format = "%Y-%m-%d or
        %d/%m/%Y"`.
    bounds : the lowest and the highest allowed value of a numeric column. This setting is required for numeric columns.
        Example: `bounds = [15, 74]`.
    bounds_by : the source of the bounds. It shows readers that the bounds were not taken from the private file. Example:
        `bounds_by = "The registry's handbook"`, `bounds = [15, 74]`.
    categories : the list of categories, written as in the file. If several texts of the file belong to one category, write a
        table that assigns a list of texts to each released category. This setting is required for the kind "category". A text
        that is listed here never counts as a missing value. Example: `categories = { M = ["0", "male"], F = ["1", "female"] }`.
    codes : the codelist of a column of kind "code". A table assigns a released label to each code of the file. If you write a
        list instead, each code is its own label. If you write a text, it is the path of a CSV file, relative to this file, with
        the columns `code,label`. Each additional column of the CSV file defines groups of codes, such as the state of each
        municipality, and becomes one of the `alternatives`. Such a column is called a level. The content of the CSV file is
        part of the specification. Example: `kind = "code"`, `codes = { "1" = "Hospital", "2" = "Home" }`.
    numbers : the representative value of each bin, for means and regressions. Categories need representative values if a
        criterion computes with the column. For a bin of numbers, the default is the middle of the bin, or the limit of an open
        bin. The mean of the values in the bin is a better choice. Use a public estimate of this mean, never a value from the
        private file. `init` computes the mean from the public file. Example: `numbers = { M = 0, F = 1 }`.
    step : the precision of exact values. If a criterion computes with exact values, each value is first rounded to the nearest
        multiple of this number. The default is a round number of at least a thousandth of the range between the bounds, and for
        whole numbers at least 1. A smaller step makes the computation slower, but costs no epsilon. Example: `step = 5`.
    ordered : true if the categories have a natural order, such as levels of education. Numbers are always ordered. Example:
        `ordered = true`.
    role : a special role of the column. "weight" means that the column is the design weight of a survey. Each of its bins must
        have a representative value above 0. The generator treats this column like any other column, and counts are not
        multiplied by the weight. [calibration] may use this weight as the initial weight. "cluster_group" means that the column
        contains random groups of clusters. In this case, `source` must be the column that `clusters` in [design] names. A
        public hash function assigns each cluster to one of the listed categories. Example: `kind = "category"`, `source =
        "tract"`, `role = "cluster_group"`, `categories = ["1", "2", "3", "4", "5"]`.
    missing : how the program treats missing values in this column. The default is the setting `missing` of [input]. With "bin",
        missing values are counted in a separate bin. This bin is never merged with other bins and has no representative value.
        Missing values never break a plausibility rule, unless the rule uses `is missing`. Example: `missing = "bin"`.
    missing_label : the released label of the bin of missing values. Example: `missing = "bin"`, `missing_label = "not stated"`.
    missing_values : texts that mean a missing value in this column, in addition to the list in [input]. Example:
        `missing_values = ["97", "98", "99"]`.
    characters : the number of characters to read from the start of each text in the file. With 3, the program reads the text
        "I21.4" as the code "I21". Missing values are recognised before the text is shortened. If the codes consist of digits,
        the file must contain their leading zeros. Example: `characters = 3`.
    outside : how the program treats numbers outside the bounds of this column, or categories or codes that are not listed. The
        default is the setting `outside` of [input]. "clip" is only for numbers, and "bin" is only for categories or codes. With
        "bin", unlisted texts are counted as the category `outside_label`, and no row is excluded because of them. Example:
        `outside = "bin"`.
    outside_label : the category for unlisted texts. It can be a new category or one of the listed categories. This setting
        implies `outside = "bin"`. In each alternative, this category is a separate group, unless a group has the same name or
        contains this category. The default is "other". Example: `outside = "bin"`, `outside_label = "all others"`.
    alternatives : the lists of bins from which the program may choose. Each list has a name. Bins of numbers must cover the
        range between the bounds without gaps. Examples of bins are "<18", "18-19", "1..12" (one bin for each number),
        "1500-4499 by 100", "2.5 to 3" (kind "real") and ">44". For categories and codes, write a table that lists the
        categories or codes of each group. Write codes, not their labels. By default, each category or code is a separate bin,
        and this list of bins has the name "categories" or "codes". Example: `alternatives.coarse = ["<18", "18-64", ">64"]`.
    """

    kind: Literal["integer", "real", "category", "code"]
    description: str = ""
    unit: str = ""
    source: str | None = None
    part: Literal["year", "quarter", "month", "week", "day", "weekday"] | None = None
    minus: str | None = None
    minus_format: str | None = Field(default=None, max_length=200)
    format: str | None = Field(default=None, max_length=200)
    bounds: tuple[float, float] | None = None
    bounds_by: Annotated[Line, Field(min_length=1, max_length=200)] | None = None
    categories: _Categories = None
    codes: _Codes = None
    numbers: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(default_factory=dict)
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    ordered: bool | None = None
    role: Literal["weight", "cluster_group"] | None = None
    missing: Literal["drop", "bin", "error"] | None = None
    missing_label: str | None = None
    missing_values: tuple[str, ...] = ()
    characters: int | None = Field(default=None, ge=1, le=50)
    outside: Literal["drop", "clip", "bin", "error"] | None = None
    outside_label: str | None = None
    alternatives: dict[str, _Bins] = Field(default_factory=dict)

    _one_record_alone = field_validator("missing", mode="before")(_missing_rule)

    @property
    def counts(self) -> Mapping[str, tuple[str, ...]] | None:
        """Return None for a column that is read from the file. A column that summarises indicators returns their columns, each
        with the categories that mean that the indicator applies (`settings.wide.IndicatorColumn`)."""
        return None

    @field_validator("bounds")
    @classmethod
    def _usable_bounds(cls, bounds: tuple[float, float] | None, info: ValidationInfo) -> tuple[float, float] | None:
        if bounds is None:
            return None
        low, high = bounds
        if not (low < high and max(abs(low), abs(high)) <= 1e15):
            raise UnexpectedValue("[lowest, highest] with lowest < highest, both between -1e15 and 1e15")
        if info.data.get("kind") == "integer" and (low != int(low) or high != int(high)):
            raise UnexpectedValue("whole numbers")
        return bounds


class RuleTable(SpecTable):
    """[[rules]]: a combination of values that no row may have.

    Attributes
    ----------
    never : a condition on the columns of a row. The program excludes the rows of the private file that meet this condition, and
        releases no row that meets it. A condition may use comparisons, `and`, `or`, `not`, `in` and `is missing`. A comparison
        with a missing value is neither true nor false. Neither this comparison nor its negation excludes a row. `column.level
        == 'group'` is true if the code or category belongs to this group in the alternative `level`. A rule may compare two
        columns of numbers, such as `wage > total`, if it has `applies_to = ["synthetic"]`. With [members], this is necessary
        only if one of the columns has more than 1,000 possible numbers; the rule then compares bins. With [members], a rule may
        also count members (`count(age < 18) > children`), and compare a member with the root to which the member belongs, or
        with the first member (`age > first.age - 12`). Example: `never = "mother_age < 20 and parity > 3"`.
    applies_to : the rows to which the rule applies. "raw" means the rows of the private file, and "synthetic" means the
        released rows. By default, the rule applies to both. Example: `applies_to = ["raw"]`.
    why : the reason for the rule, for the data card. Example: `why = "No one finishes college before 20."`.
    """

    never: str = Field(min_length=1, max_length=MOST_OF_RULE)
    applies_to: tuple[Literal["raw", "synthetic"], ...] = Field(default=("raw", "synthetic"), min_length=1)
    why: str = ""


# With `outside = "bin"`, all strings that are no listed category or code count as one category. This category is a new category
# or a listed category.
#
# The list is public, so this is a public rule about a single value, and no row is excluded because of an unexpected text.

DEFAULT = "other"


def unlisted_label(table: ColumnTable) -> str | None:
    if table.outside is None:
        return table.outside_label
    if table.outside != "bin":
        return None
    return DEFAULT if table.outside_label is None else table.outside_label


def outside_of(table: ColumnTable, policy: InputTable) -> str:
    """Return how texts that the table of a column does not list are treated: "bin" (a category of their own), "drop" or
    "error". For categories and codes, "clip" in [input] means "drop"."""
    if unlisted_label(table) is not None:
        return "bin"
    return "drop" if policy.outside == "clip" and table.outside is None else table.outside or policy.outside


def unlisted_member(table: ColumnTable) -> str | None:
    """Return the name of the category of unlisted texts in lists of groups, or None: the code with the label for unlisted
    texts, or the label itself."""
    label, codes = unlisted_label(table), table.codes if isinstance(table.codes, Mapping) else {}
    return next((code for code, of_code in codes.items() if of_code == label), label)


def with_unlisted(groups: Mapping[str, list[str]], member: str | None) -> Mapping[str, list[str]]:
    """Return the groups of a column with the category of unlisted texts (`member`): unless a group lists it, in the group of
    the same name or a new group."""
    if member is None or any(member in group for group in groups.values()):
        return groups
    return {**groups, member: [*groups.get(member, ()), member]}


# Messages about a file that cannot be read as [input] says: what is wrong and what to do. They never contain a value.

NEEDED = "The file needs a header and rows."
CUT = "The file is incomplete or damaged."
TOO_LONG = "A row is too long for the memory of this machine."
FORMATS = "CSV (also gzip), Parquet, Stata, SAS and SPSS files, and DuckDB and SQLite databases"
_SAVE = " (in Excel, save the sheet as 'CSV UTF-8')"
_CODEBOOK = " (give a DDI codebook to --codebook, and its fixed-width data to `init --from`)"
OTHER_FORMATS = {
    b"PK\x03\x04": f"a zip or Excel file{_SAVE}", b"\xd0\xcf\x11\xe0": f"an Excel file{_SAVE}",
    b"<?xml": f"an XML file{_CODEBOOK}", b"<!DOCTYPE": "a web page", b"<html": "a web page",
    b"PARE": "an encrypted Parquet file", b"%PDF-": "a PDF file", b"INSERT INTO": "SQL", b'{"': "JSON", b'[{"': "JSON",
    b"FEA1": "a Feather file", b"ARROW1": "a Feather file", b"BZh": "a bzip2 file", b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
}  # fmt: skip
"""Formats that the program does not read. The keys are the first bytes of such files, and the values describe the format in
error messages."""
DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar", ",": "a comma", " ": "a space"}


class Unreadable(Exception):
    """A line of a CSV file cannot be read. `fault` is the predicate of a sentence about the row, such as "contains a zero
    byte", and `advice` says what the user can do."""

    def __init__(self, fault: str, advice: str):
        super().__init__(fault)
        self._advice = advice

    def in_row(self, row: int) -> str:
        return f"{_place(row)} {self}. {self._advice}"


def endless(fault: str) -> Unreadable:
    return Unreadable(fault, "Check that this is a text file.")


def endless_header(longest: int) -> Unreadable:
    return endless(f"has more than {longest:,} characters")


def zero_byte(encoding: str) -> Unreadable:
    text = f"The file is probably not text in {ENCODINGS[encoding]}"
    return Unreadable("contains a zero byte", f"{text}. It may be UTF-16 (save it as UTF-8), or it may not be a text file.")


def control_character() -> Unreadable:
    return Unreadable("contains a control character", "Check that this is a text file. It may be compressed or encrypted.")


def ragged(expected: int, fields: int) -> Unreadable:
    advice = "The file may be cut off there, or a line break inside a field needs quotes around the field."
    if fields >= expected:
        advice = "A field that contains a delimiter needs quotes around it. If every row ends with a delimiter, or starts with "
        advice += "a row number, the header needs a name for that column, too."
    return Unreadable(f"has {so_many(fields, 'field')}, but the header has {expected}", advice)


def wrong_quotes(long: bool, longest: int, row: int) -> str:
    """Return the message about an unpaired quotation mark or, if `long` is true, about one or a field that is too long."""
    if long:
        return f"{_place(row)} contains an open quote, or a field of more than {longest:,} characters."
    return f"{_place(row)} contains an open quote, or text after a closing quote. Quotes around a field must be in pairs."


def damaged(kind: str) -> str:
    return f"The {kind} file is incomplete or damaged."


def utf_16(encoding: str) -> str:
    return f"The file is UTF-16 text, not CSV in {ENCODINGS[encoding]}. Save the file as UTF-8 (in Excel: 'CSV UTF-8')."


def missing_columns(needed: Sequence[str], missing: Sequence[str], guess: str | None) -> str:
    """Return the message about required columns that are not in the header. `guess` is a name in the header that may be the
    first of them."""
    if guess:
        column = f"for the column {missing[0]!r} in the configuration"
        advice = f"If {guess!r} in the header is this column, set source = {guess!r} {column}."
    elif len(missing) == len(needed):
        advice = "Compare these names with the file. In a text file, the first line must be a header."
    else:
        advice = "Set source for a column that has another name in the file."
    if len(missing) == len(needed):
        return f"The header has none of the columns {listing(needed)}. {advice}"
    return f"The header lacks {listing(missing)}. The needed columns are {listing(needed)}. {advice}"


def other_bytes(encoding: str) -> str:
    labels = {"windows-1255": '"windows-1255" (Hebrew)'}
    *names, last = (labels.get(name, f'"{name}"') for name in ENCODINGS if name != encoding)
    advice = f"Save the file as UTF-8 (in Excel: 'CSV UTF-8'), or set encoding = {', '.join(names)} or {last} under [input]"
    return f"The file is not text in {ENCODINGS[encoding]}. {advice} in the configuration."


def other_delimiter(expected: str, delimiter: str) -> str:
    return (
        f"The columns of the file are separated by {DELIMITERS[delimiter]}, not by {expected!r}. Set delimiter = "
        f"{json.dumps(delimiter)} under [input] in the configuration."
    )


def _place(row: int) -> str:
    return f"Data row {row} (counted without the header and blank lines)" if row else "The header"
