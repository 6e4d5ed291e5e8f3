"""Parse plausibility rules, such as "age < 15 and married == 'yes'", and evaluate them on bins and records, without executing
any text.

    rule       := conjunction ("or" conjunction)*
    conjunction:= negation ("and" negation)*
    negation   := "not" negation | "(" rule ")" | comparison
    comparison := column operator value | column "in" "[" value ("," value)* "]" | column "is" "not"? "missing"
    operator   := "<" | "<=" | ">" | ">=" | "==" | "!="
    value      := number | 'category in quotes'

Two further forms compare two columns of numbers, or count true conditions:

    comparison := column operator sum | "count" "(" rule ("," rule)* ")" operator (number | sum)
    sum        := column (("+" | "-") number)?

If a compared column has more than 1,000 possible numbers, its bins are compared: a rule is then true if it is true for all
numbers in these bins.

A rule states what must **never** occur, so a record is excluded if the rule is true for it. If a value is missing, every
comparison with it is unknown, neither true nor false; only `is missing` is true. A value outside the public bounds or
categories of its column is refused as a mistake.
"""

from __future__ import annotations

import math
import operator as op
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthrelease.data.schema import Column, Transformation
from synthrelease.errors import Unexpected, closest, cut, listing

HOLDS: Mapping[str, Callable[[typing.Any, typing.Any], typing.Any]] = {
    "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge, "==": op.eq, "!=": op.ne,
}  # fmt: skip
"""The comparison operators, for numbers and elementwise for arrays."""
OPERATORS = tuple(HOLDS)
MAX_DEPTH = 100
LARGEST = 1e15
"""Largest absolute value of a bound, or of a number in a rule. All whole numbers up to this value are exact in double
precision.
"""
MOST_NUMBERS = 1000
"""If a rule compares two columns, each whole number of a column gets an atomic bin, provided that the column has at most this
number of whole numbers.
"""
_TOKEN = re.compile(r"\s*(?:(<=|>=|==|!=|<|>|=|\(|\)|\[|\]|,)|(-?\d+(?:\.\d+)?)|'([^']*)'|\"([^\"]*)\"|([A-Za-z_]\w*)|([+-]))")


class RuleError(Unexpected):
    """A plausibility rule is invalid: it cannot be parsed, for example, or is true for no value of its columns."""


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The values with which a rule may compare one column.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    bounds : the lowest and the highest value of a numeric column; None allows any number.
    categories : the labels of a category column; empty allows any text.
    missing : whether the column has a bin for missing values, as `is missing` needs.
    """

    kind: str
    bounds: tuple[float, float] | None = None
    categories: tuple[str, ...] = ()
    missing: bool = False

    @cached_property
    def labels(self) -> frozenset[str]:
        return frozenset(self.categories)


IS_MISSING = "is missing"
"""The only operator whose result is never unknown. No value follows this operator."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of a column with a number or with the label of a category: `column operator value`."""

    column: str
    operator: str
    value: float | str


@dataclass(frozen=True)
class Not:
    """The negation of a rule: true where the rule is false."""

    part: Rule


@dataclass(frozen=True)
class All:
    """The conjunction ("and") of several rules: true where all of them are true."""

    parts: tuple[Rule, ...]


@dataclass(frozen=True)
class Any:
    """The disjunction ("or") of several rules: true where at least one of them is true."""

    parts: tuple[Rule, ...]


@dataclass(frozen=True)
class Gap:
    """The comparison of two columns of numbers, `column operator other + more`, such as "age > years_of_work + 14"."""

    column: str
    operator: str
    other: str
    more: float


@dataclass(frozen=True)
class Count:
    """A comparison of the number of true parts with `other + more`, or with `more` if `other` is None: "count(a == 1, b == 1)
    >= 2"."""

    parts: tuple[Rule, ...]
    operator: str
    other: str | None
    more: float


Rule = Comparison | Not | All | Any | Gap | Count


def parse_rule(text: str, columns: Mapping[str, Domain], *, of_records: bool = False) -> Rule:
    """Parse one plausibility rule.

    Parameters
    ----------
    text : such as "mother_age < 23 and parity > 6".
    columns : the values with which a rule may compare each column.
    of_records : whether the rule may compare two columns, or count conditions.

    Raises
    ------
    RuleError : if the text is not a valid rule.
    """
    return _Parser(text, columns, of_records).parse()


def plain_rule(text: str, columns: Mapping[str, Domain]) -> Rule | None:
    """Parse a rule that only compares columns with values. Return None for any other text or an unknown column."""
    try:
        return parse_rule(text, columns)
    except RuleError:
        return None


class _Parser:
    def __init__(self, text: str, columns: Mapping[str, Domain], of_records: bool = False):
        self.columns, self.of_records = columns, of_records
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if not match:
                rest = text[position:].strip()
                excerpt = rest if len(rest) <= 20 else rest[:17] + "..."
                raise RuleError("a column, an operator or a value", repr(excerpt))
            symbol, number, single, double, word, sign = match.groups()
            quoted = single if single is not None else double
            kind = "symbol" if symbol or sign else "number" if number else "text" if quoted is not None else "word"
            self.tokens.append((kind, symbol or sign or number or quoted or word or ""))
            position = match.end()
        self.at = 0
        self.depth = 0

    def parse(self) -> Rule:
        rule = self._any()
        if self.at < len(self.tokens):
            raise RuleError("'and', 'or' or the end of the condition", self._found())
        return rule

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def _found(self) -> str:
        kind, text = self._peek()
        text = cut(text, 60)
        return "the end of the condition" if kind == "end" else f"the text {text!r}" if kind == "text" else repr(text)

    def _take(self, expected: str, kind: str | None = None, text: str | None = None) -> str:
        token = self._peek()
        if (kind and token[0] != kind) or (text and token[1] != text) or token[0] == "end":
            raise RuleError(expected, self._found())
        self.at += 1
        return token[1]

    def _accept(self, text: str) -> bool:
        if self._peek() in (("word", text), ("symbol", text)):
            self.at += 1
            return True
        return False

    def _separated(self, by: str, part: Callable[[], Rule]) -> tuple[Rule, ...]:
        parts = [part()]
        while self._accept(by):
            parts.append(part())
        return tuple(parts)

    def _any(self) -> Rule:
        parts = self._separated("or", self._all)
        return parts[0] if len(parts) == 1 else Any(parts)

    def _all(self) -> Rule:
        parts = self._separated("and", self._not)
        return parts[0] if len(parts) == 1 else All(parts)

    def _not(self) -> Rule:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RuleError(f"The condition has more than {MAX_DEPTH} parentheses and negations inside each other")
        try:
            if self._accept("not"):
                return Not(self._not())
            if self._accept("("):
                rule = self._any()
                self._take("')'", "symbol", ")")
                return rule
            return self._comparison()
        finally:
            self.depth -= 1

    def _comparison(self) -> Rule:
        name = self._take("a column name", "word")
        if self.of_records and name == "count" and self._accept("("):
            return self._count()
        if name not in self.columns:
            raise RuleError(f"a column ({listing(self.columns)})", repr(cut(name, 60)), closest(name, self.columns))
        if self._accept("in"):
            self._take("'['", "symbol", "[")
            parts = self._separated(",", lambda: self._compare(name, "==", as_written="in"))
            self._take("']'", "symbol", "]")
            return Any(parts)
        if self._accept("is"):
            return self._is_missing(name)
        operator = self._peek()[1]
        if operator not in OPERATORS or self._peek()[0] != "symbol":
            suggestion = "==" if operator == "=" else None
            raise RuleError(f"one of < <= > >= == != in is after {name!r}", self._found(), suggestion)
        self.at += 1
        if self.of_records and self._peek()[0] == "word":
            self._check_number(name)
            other, more = self._sum()
            return self._decides(Gap(name, operator, other, more), self._bounds(name))
        return self._compare(name, operator, as_written=operator)

    def _count(self) -> Rule:
        parts = self._separated(",", self._any)
        self._take("')' or ',' in count(...)", "symbol", ")")
        operator = self._take(f"one of {' '.join(OPERATORS)} after count(...)", "symbol")
        if operator not in OPERATORS:
            raise RuleError(f"one of {' '.join(OPERATORS)} after count(...)", repr(operator))
        other, more = self._sum() if self._peek()[0] == "word" else (None, float(self._take("a number or a column", "number")))
        return self._decides(Count(parts, operator, other, more), (0, len(parts)))

    def _sum(self) -> tuple[str, float]:
        """Parse a column and the number, if any, that is added to it or subtracted from it, as in "years_of_work + 14"."""
        name = self._take("a column name", "word")
        if name == "count" and self._peek() == ("symbol", "("):
            raise RuleError("count(...) must be on the left side of the comparison")
        if name not in self.columns:
            raise RuleError(f"a column ({listing(self.columns)})", repr(cut(name, 60)), closest(name, self.columns))
        self._check_number(name)
        if self._peek()[0] == "number" and self._peek()[1].startswith("-"):  # age -12
            return name, float(self._take("a number", "number"))
        for sign, times in (("+", 1), ("-", -1)):
            if self._accept(sign):
                return name, times * float(self._take(f"a number after {sign}", "number"))
        return name, 0.0

    def _check_number(self, name: str) -> None:
        domain = self.columns[name]
        if domain.kind not in ("integer", "real") or domain.bounds is None:
            raise RuleError(
                f"Only numeric columns with bounds can be compared with columns or counts. {name!r} has the kind "
                f"{domain.kind}{'' if domain.bounds else ' and no bounds'}"
            )

    def _bounds(self, name: str) -> tuple[float, float]:
        return self.columns[name].bounds or (0, 0)

    def _decides(self, part: Gap | Count, bounds: tuple[float, float]) -> Rule:
        """Return this part of a rule. Raise RuleError if it is true for all values of its columns, or false for all."""
        lowest, highest = (0.0, 0.0) if part.other is None else self._bounds(part.other)
        low, high = bounds[0] - highest - part.more, bounds[1] - lowest - part.more
        signs = [sign for sign, occurs in ((-1, low < 0), (0, low <= 0 <= high), (1, high > 0)) if occurs]
        if len({HOLDS[part.operator](sign, 0) for sign in signs}) < 2:
            left = "count(...)" if isinstance(part, Count) else part.column
            right = f"{part.more:.15g}" if part.other is None else f"{part.other} + {part.more:.15g}".removesuffix(" + 0")
            raise RuleError(f"The comparison '{left} {part.operator} {right}' is true for all possible values, or for none")
        return part

    def _is_missing(self, name: str) -> Rule:
        negated = self._accept("not")
        self._take("'missing' after 'is'", "word", "missing")
        if not self.columns[name].missing:
            raise RuleError(f"A condition with 'is missing' needs a column with missing = 'bin'. {name!r} has another setting")
        comparison = Comparison(name, IS_MISSING, "")
        return Not(comparison) if negated else comparison

    def _compare(self, name: str, operator: str, as_written: str) -> Comparison:
        domain = self.columns[name]
        if domain.kind == "category":
            if operator not in ("==", "!="):
                raise RuleError(f"The categories of {name!r} can be compared only with ==, != or in, not with {as_written!r}")
            label = self._take(f"a category of {name!r} in quotes", "text")
            categories = domain.categories
            if categories and label not in domain.labels:
                fault = f"{cut(label, 60)!r} is not a category of {name!r}. Its categories are {listing(categories)}"
                raise RuleError(fault, suggestion=closest(label, categories))
            return Comparison(name, operator, label)
        if domain.kind == "real" and operator not in ("<", ">="):
            raise RuleError(f"The real numbers of {name!r} can be compared only with < or >=, not with {as_written!r}")
        text = self._take(f"a number to compare {name!r} with", "number")
        number = float(text)
        if not abs(number) <= LARGEST:
            raise RuleError(f"{name!r} must be compared with a number between -1e15 and 1e15, not with {cut(text, 40)}")
        comparison = Comparison(name, operator, number)
        if domain.bounds and not _divides(comparison, domain.bounds, whole_numbers=domain.kind == "integer"):
            low, high = domain.bounds
            raise RuleError(
                f"The comparison '{name} {operator} {text}' is true for all values of {name!r} or for none, because the bounds "
                f"of the column are {low:.15g} and {high:.15g}"
            )
        return comparison


def walk(rule: Rule, *, into_counts: bool = True) -> Iterator[Rule]:
    """Yield a rule and, recursively, all its parts, including the conditions inside `count` if `into_counts` is true."""
    yield rule
    if not isinstance(rule, Comparison | Gap | Count) or (into_counts and isinstance(rule, Count)):
        for part in (rule.part,) if isinstance(rule, Not) else rule.parts:
            yield from walk(part, into_counts=into_counts)


def comparisons(rule: Rule) -> Iterator[Comparison]:
    return (part for part in walk(rule) if isinstance(part, Comparison))


def of_records(rule: Rule) -> Iterator[Gap | Count]:
    return (part for part in walk(rule) if isinstance(part, Gap | Count))


def by_number(rule: Rule) -> set[str]:
    compared_with = {part.other for part in of_records(rule) if part.other is not None}
    return compared_with | {part.column for part in of_records(rule) if isinstance(part, Gap)}


def columns_of(rule: Rule) -> set[str]:
    return {part.column for part in comparisons(rule)} | by_number(rule)


def has_many_numbers(bounds: tuple[float, float], *, whole_numbers: bool) -> bool:
    """Return whether a column is real or has more than 1,000 whole numbers, so that rules compare its bins instead of its
    numbers."""
    return not whole_numbers or bounds[1] - bounds[0] >= MOST_NUMBERS


def edges(rule: Rule, column: str, bounds: tuple[float, float], *, whole_numbers: bool) -> set[float]:
    """Return the edges that atomic bins need so that the rule is true for all values of a bin, or false for all: 18 for `age <
    18`.

    If the column has too many numbers (`has_many_numbers`), its comparisons with other columns add no edges.
    """
    if column in by_number(rule) and not has_many_numbers(bounds, whole_numbers=whole_numbers):
        return set(map(float, range(math.ceil(bounds[0]) + 1, math.floor(bounds[1]) + 1)))
    parts = [part for part in comparisons(rule) if part.column == column]
    return {edge for part in parts for edge in _edges(part, whole_numbers) if bounds[0] < edge <= bounds[1]}


def _divides(part: Comparison, bounds: tuple[float, float], *, whole_numbers: bool) -> bool:
    return any(bounds[0] < edge <= bounds[1] for edge in _edges(part, whole_numbers))


def _edges(part: Comparison, whole_numbers: bool) -> set[float]:
    """Return the numbers at which a comparison changes between true and false, such as 18 for "age >= 18"."""
    if isinstance(part.value, str):
        return set()
    if not whole_numbers:
        return {part.value}
    first, beyond = float(math.ceil(part.value)), float(math.floor(part.value) + 1)
    if part.operator in ("==", "!="):
        return {first, beyond} if first < beyond else set()  # no whole number equals 2.5
    return {first} if part.operator in ("<", ">=") else {beyond}


# A rule is true or false for a bin or a whole record; it is unknown if a value is missing.
#
# On atomic bins every comparison with a value is decided. On a coarser bin, a comparison is true if it is true for all atomic
# bins in it, false if it is true for none, and otherwise unknown. So a rule that is true for a coarse record is true for every
# record in it; the converse need not hold.

Truth = tuple[np.ndarray, np.ndarray]
"""Two boolean arrays: where a rule is true, and where it is false. It is unknown where both are False."""
Bins = Mapping[int, np.ndarray] | Sequence[np.ndarray]
"""The bins of records, by the positions of columns."""
Range = tuple[np.ndarray, np.ndarray]
"""Two arrays with the lowest and the highest number of each entry, or NaN if an entry has no number."""
_NOTHING: Range = (np.zeros(()), np.zeros(()))


def truth_of(rule: Rule, leaf: Callable[[Comparison | Gap | Count], Truth]) -> Truth:
    """Return two boolean arrays: where a rule is certainly true, and where it is certainly false. Where both are False, it is
    unknown. `leaf` evaluates single comparisons and counts."""
    if isinstance(rule, Not):
        true, false = truth_of(rule.part, leaf)
        return false, true
    if isinstance(rule, All | Any):
        of_true, of_false = (np.logical_and, np.logical_or) if isinstance(rule, All) else (np.logical_or, np.logical_and)
        true, false = truth_of(rule.parts[0], leaf)
        for part in rule.parts[1:]:  # one part at a time, so that memory does not grow with the number of parts
            true_part, false_part = truth_of(part, leaf)
            true, false = of_true(true, true_part), of_false(false, false_part)
        return true, false
    return leaf(rule)


def of_atoms(part: Comparison, column: Column) -> Truth:
    """Return two boolean (n_atoms,) arrays: the atomic bins in which a comparison is true, and in which it is false.

    Both are False in the bin for missing values, unless the operator is `is missing`.
    """
    present = np.arange(len(column.atoms)) < column.atoms.present
    if part.operator == IS_MISSING:
        return ~present, present
    met = np.zeros(len(column.atoms), dtype=bool)
    met[present] = _met(part, column)
    return met, present & ~met


def _met(rule: Comparison, column: Column) -> np.ndarray:
    """Return an (n_present,) mask of the atomic bins in which a comparison is true, without the bin for missing values."""
    if isinstance(rule.value, str):
        same = np.zeros(column.atoms.present, dtype=bool)
        atom = column.atoms.places.get(rule.value, len(same))
        same[atom : atom + 1] = True  # no bin if the value is no label, or is the label of the missing bin
        return same if rule.operator == "==" else ~same
    # every limit is an edge, so an atomic bin satisfies the comparison if and only if its lowest value does
    lowest = (column.bounds or (-math.inf, math.inf))[0]
    return np.asarray(HOLDS[rule.operator](np.array([lowest, *column.edges]), rule.value))


def numbers_of(column: Column) -> Range:
    """Return the lowest and the highest number in each atomic bin, NaN for the bin for missing values."""
    low, high = column.bounds or (-math.inf, math.inf)
    lowest, highest = np.full((2, len(column.atoms)), np.nan)
    lowest[: column.atoms.present] = [low, *column.edges]
    below = [edge - 1 if column.kind == "integer" else math.nextafter(edge, -math.inf) for edge in column.edges]
    highest[: column.atoms.present] = [*below, high]
    return lowest, highest


def compared(low: np.ndarray, high: np.ndarray, operator: str) -> Truth:
    """Compare a difference between `low` and `high` with 0. Return where the comparison is certainly true, and where it is
    certainly false.

    Both are False if the range is NaN.
    """
    if operator in ("==", "!="):
        same, different = (low == 0) & (high == 0), (low > 0) | (high < 0)
        return (same, different) if operator == "==" else (different, same)
    strict, weak = (high, low) if operator in ("<", "<=") else (low, high)
    against = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[operator]
    return HOLDS[operator](strict, 0), HOLDS[against](weak, 0)


@dataclass(frozen=True, kw_only=True)
class RecordRule:
    """A rule that is evaluated for each record, because it counts conditions or compares two columns.

    Attributes
    ----------
    places : the position of each column in the layout.
    of_bins : for each comparison with a value, two masks over the bins of its column: where it is true, and where it is false.
    ranges : for each numeric column, the lowest and the highest number in each bin.
    """

    rule: Rule
    places: Mapping[str, int]
    of_bins: Mapping[Comparison, Truth]
    ranges: Mapping[str, Range]

    @classmethod
    def of(cls, rule: Rule, columns: Sequence[Column]) -> RecordRule:
        by_name, place_of = {column.name: column for column in columns}, {column.name: at for at, column in enumerate(columns)}
        names = columns_of(rule)
        return cls(
            rule=rule,
            places={name: place_of[name] for name in names},
            of_bins={part: of_atoms(part, by_name[part.column]) for part in comparisons(rule)},
            ranges={name: numbers_of(by_name[name]) for name in names if by_name[name].kind != "category"},
        )

    def merge(self, transformation: Transformation) -> RecordRule:

        def every(met: np.ndarray, column: int) -> np.ndarray:
            met_by_all = np.ones(transformation.layout.sizes[column], dtype=bool)
            np.logical_and.at(met_by_all, transformation.maps[column], met)
            return met_by_all

        def ends(numbers: Range, column: int) -> Range:
            size, into = transformation.layout.sizes[column], transformation.maps[column]
            low, high, has_number = np.full(size, np.inf), np.full(size, -np.inf), ~np.isnan(numbers[0])
            np.minimum.at(low, into[has_number], numbers[0][has_number])
            np.maximum.at(high, into[has_number], numbers[1][has_number])
            none = low > high  # the bin of missing values contains no other values
            return np.where(none, np.nan, low), np.where(none, np.nan, high)

        place_of = self.places
        return RecordRule(
            rule=self.rule,
            places=place_of,
            of_bins={
                part: (every(true, place_of[part.column]), every(false, place_of[part.column]))
                for part, (true, false) in self.of_bins.items()
            },
            ranges={name: ends(numbers, place_of[name]) for name, numbers in self.ranges.items()},
        )

    def forbidden(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """Return an (n,) mask of the records for which the rule is certainly true, given the (n,) bins of each column."""

        def leaf(part: Comparison | Gap | Count) -> Truth:
            if not isinstance(part, Count):
                return self.of_part(part, digits)
            counted = [truth_of(rule, leaf) for rule in part.parts]
            low = np.sum([true for true, _ in counted], axis=0)
            high = np.sum([~false for _, false in counted], axis=0)
            return self.of_part(part, digits, (low, high))

        return truth_of(self.rule, leaf)[0]

    def of_part(self, part: Comparison | Gap | Count, digits: Bins, counted: Range = _NOTHING) -> Truth:
        """Return two boolean (n,) arrays: where one comparison or count of the rule is certainly true, and where certainly
        false.

        `counted` has, for a count, the numbers of its parts that are certainly true, and that may be true.
        """
        if isinstance(part, Comparison):
            true, false = self.of_bins[part]
            bins = digits[self.places[part.column]]
            return true[bins], false[bins]
        low, high = counted if isinstance(part, Count) else self._range(part.column, digits)
        lowest, highest = _NOTHING if part.other is None else self._range(part.other, digits)
        return compared(low - highest - part.more, high - lowest - part.more, part.operator)

    def _range(self, name: str, digits: Bins) -> Range:
        low, high = (ends[digits[self.places[name]]] for ends in self.ranges[name])
        return low, high
