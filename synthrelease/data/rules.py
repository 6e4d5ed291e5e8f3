"""Plausibility rules as people write them: a small closed grammar. Text is never executed.

    rule       := conjunction ("or" conjunction)*
    conjunction:= negation ("and" negation)*
    negation   := "not" negation | "(" rule ")" | comparison
    comparison := column operator value | column "in" "[" value ("," value)* "]" | column "is" "not"? "missing"
    operator   := "<" | "<=" | ">" | ">=" | "==" | "!="
    value      := number | 'category in quotes'

Of roots with their members also, where all columns are whole numbers:

    comparison := column operator sum | "count" "(" rule ("," rule)* ")" operator (number | sum)
    sum        := column (("+" | "-") number)?

A rule says what must **never** occur. A missing value makes every comparison but `is missing` unknown, neither true nor false,
and a rule says something of a record only where it is true. Values outside the public bounds or categories of a column are
mistakes: a rule that can never apply would give false comfort.
"""

from __future__ import annotations

import math
import operator as op
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthrelease.data.schema import Column, Transformation
from synthrelease.errors import Unexpected, closest, cut, listing

HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge, "==": op.eq, "!=": op.ne,
}  # fmt: skip
OPERATORS = tuple(HOLDS)
MAX_DEPTH = 100
LARGEST = 1e15
"""Of the numbers in a rule, as of bounds: all whole numbers up to it are exact."""
MOST_NUMBERS = 1000
"""Whole numbers of a column that a rule compares with another one: each is an atomic bin."""
_TOKEN = re.compile(r"\s*(?:(<=|>=|==|!=|<|>|=|\(|\)|\[|\]|,)|(-?\d+(?:\.\d+)?)|'([^']*)'|\"([^\"]*)\"|([A-Za-z_]\w*)|([+-]))")


class RuleError(Unexpected):
    """A rule that cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Domain:
    """What a rule may compare a column with.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    bounds : (lowest, highest) of a numeric column; None leaves its values unchecked.
    categories : labels of a category column; empty leaves them unchecked.
    missing : whether the column has a bin of missing values, without which it cannot be missing.
    """

    kind: str
    bounds: tuple[float, float] | None = None
    categories: tuple[str, ...] = ()
    missing: bool = False

    @cached_property
    def labels(self) -> frozenset[str]:
        """The categories, to look one up."""
        return frozenset(self.categories)


IS_MISSING = "is missing"
"""The one operator that is never unknown. It has no value."""


@dataclass(frozen=True)
class Comparison:
    """`column operator value`; for categories the value is a label."""

    column: str
    operator: str
    value: float | str


@dataclass(frozen=True)
class Not:
    part: Rule


@dataclass(frozen=True)
class All:
    parts: tuple[Rule, ...]


@dataclass(frozen=True)
class Any:
    parts: tuple[Rule, ...]


@dataclass(frozen=True)
class Gap:
    """`column operator other + more`, all whole numbers."""

    column: str
    operator: str
    other: str
    more: float


@dataclass(frozen=True)
class Count:
    """How many of some rules are true, compared with `other + more`, or with `more` alone."""

    parts: tuple[Rule, ...]
    operator: str
    other: str | None
    more: float


Rule = Comparison | Not | All | Any | Gap | Count


def parse_rule(text: str, columns: Mapping[str, Domain], *, of_records: bool = False) -> Rule:
    """Read one rule.

    Parameters
    ----------
    text : for example "mother_age < 23 and parity > 6".
    columns : what each column may be compared with.
    of_records : whether it may compare columns with one another, and count.

    Raises
    ------
    RuleError : with what was expected and what was found where.
    """
    return _Parser(text, columns, of_records).parse()


class _Parser:
    def __init__(self, text: str, columns: Mapping[str, Domain], of_records: bool = False):
        self.columns, self.of_records = columns, of_records
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if not match:
                rest = text[position:].strip()
                shown = rest if len(rest) <= 20 else rest[:17] + "..."
                raise RuleError("a column, an operator or a value", repr(shown))
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
            raise RuleError("'and', 'or' or the end of the rule", self._found())
        return rule

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def _found(self) -> str:
        """The next token for a message."""
        kind, text = self._peek()
        text = cut(text, 60)
        return "the end of the rule" if kind == "end" else f"the text {text!r}" if kind == "text" else repr(text)

    def _take(self, expected: str, kind: str | None = None, text: str | None = None) -> str:
        found = self._peek()
        if (kind and found[0] != kind) or (text and found[1] != text) or found[0] == "end":
            raise RuleError(expected, self._found())
        self.at += 1
        return found[1]

    def _accept(self, text: str) -> bool:
        if self._peek() in (("word", text), ("symbol", text)):
            self.at += 1
            return True
        return False

    def _any(self) -> Rule:
        parts = [self._all()]
        while self._accept("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Any(tuple(parts))

    def _all(self) -> Rule:
        parts = [self._not()]
        while self._accept("and"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _not(self) -> Rule:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RuleError(f"at most {MAX_DEPTH} nested parentheses and negations", "more")
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
            parts = [self._compare(name, "==", written="in")]
            while self._accept(","):
                parts.append(self._compare(name, "==", written="in"))
            self._take("']'", "symbol", "]")
            return Any(tuple(parts))
        if self._accept("is"):
            return self._is_missing(name)
        operator = self._peek()[1]
        if operator not in OPERATORS or self._peek()[0] != "symbol":
            suggestion = "==" if operator == "=" else None
            raise RuleError(f"one of < <= > >= == != in after {name!r}", self._found(), suggestion)
        self.at += 1
        if self.of_records and self._peek()[0] == "word":
            self._check_whole(name)
            other, more = self._sum()
            return self._decides(Gap(name, operator, other, more), self._bounds(name))
        return self._compare(name, operator, written=operator)

    def _count(self) -> Rule:
        parts = [self._any()]
        while self._accept(","):
            parts.append(self._any())
        self._take("')' or ',' in count(...)", "symbol", ")")
        operator = self._take(f"one of {' '.join(OPERATORS)} after count(...)", "symbol")
        if operator not in OPERATORS:
            raise RuleError(f"one of {' '.join(OPERATORS)} after count(...)", repr(operator))
        other, more = self._sum() if self._peek()[0] == "word" else (None, float(self._take("a number or a column", "number")))
        return self._decides(Count(tuple(parts), operator, other, more), (0, len(parts)))

    def _sum(self) -> tuple[str, float]:
        """A column, and what is added to it."""
        name = self._take("a column name", "word")
        if name == "count" and self._peek() == ("symbol", "("):
            raise RuleError("count(...) before the comparison, not behind it", "'count('")
        if name not in self.columns:
            raise RuleError(f"a column ({listing(self.columns)})", repr(cut(name, 60)), closest(name, self.columns))
        self._check_whole(name)
        if self._peek()[0] == "number" and self._peek()[1].startswith("-"):  # age -12
            return name, float(self._take("a number", "number"))
        for sign, times in (("+", 1), ("-", -1)):
            if self._accept(sign):
                return name, times * float(self._take(f"a number after {sign}", "number"))
        return name, 0.0

    def _check_whole(self, name: str) -> None:
        domain = self.columns[name]
        numbers = 0 if domain.kind != "integer" or domain.bounds is None else domain.bounds[1] - domain.bounds[0] + 1
        if not 0 < numbers <= MOST_NUMBERS:
            expected = f"columns of at most {MOST_NUMBERS:,} whole numbers where two are compared, or one with a count"
            raise RuleError(expected, f"{name!r}, of the kind {domain.kind}" + (f", with {numbers:,.0f}" if numbers else ""))

    def _bounds(self, name: str) -> tuple[float, float]:
        return self.columns[name].bounds or (0, 0)

    def _decides(self, part: Gap | Count, bounds: tuple[float, float]) -> Rule:
        """The part, where some values of its columns meet it and others do not."""
        least, most = (0.0, 0.0) if part.other is None else self._bounds(part.other)
        low, high = bounds[0] - most - part.more, bounds[1] - least - part.more
        signs = [sign for sign, occurs in ((-1, low < 0), (0, low <= 0 <= high), (1, high > 0)) if occurs]
        if len({HOLDS[part.operator](sign, 0) for sign in signs}) < 2:
            found = f"'{part.operator} {'' if part.other is None else f'{part.other} + '}{part.more:.15g}'"
            raise RuleError("a comparison that some values within the bounds meet and others do not", found)
        return part

    def _is_missing(self, name: str) -> Rule:
        negated = self._accept("not")
        self._take("'missing' after 'is'", "word", "missing")
        if not self.columns[name].missing:
            raise RuleError("a column with missing = 'bin' before 'is missing'", repr(name))
        found = Comparison(name, IS_MISSING, "")
        return Not(found) if negated else found

    def _compare(self, name: str, operator: str, written: str) -> Comparison:
        domain = self.columns[name]
        if domain.kind == "category":
            if operator not in ("==", "!="):
                raise RuleError(f"== or != or in for the categories of {name!r}", repr(written))
            label = self._take(f"a category of {name!r} in quotes", "text")
            known = domain.categories
            if known and label not in domain.labels:
                raise RuleError(f"a category of {name!r} ({listing(known)})", repr(cut(label, 60)), closest(label, known))
            return Comparison(name, operator, label)
        if domain.kind == "real" and operator not in ("<", ">="):
            raise RuleError(f"< or >= for the real numbers of {name!r}", repr(written))
        text = self._take(f"a number to compare {name!r} with", "number")
        number = float(text)
        if not abs(number) <= LARGEST:
            raise RuleError(f"a number between -1e15 and 1e15 to compare {name!r} with", cut(text, 40))
        comparison = Comparison(name, operator, number)
        if domain.bounds and not _divides(comparison, domain.bounds, whole_numbers=domain.kind == "integer"):
            low, high = domain.bounds
            raise RuleError(
                f"a comparison that some values of {name!r} meet and others do not (its bounds are {low:.15g} and {high:.15g})",
                f"'{name} {operator} {text}'",
            )
        return comparison


def comparisons(rule: Rule) -> Iterable[Comparison]:
    """All comparisons of a column with a value in a rule."""
    if isinstance(rule, Comparison):
        yield rule
    elif not isinstance(rule, Gap):
        for part in (rule.part,) if isinstance(rule, Not) else rule.parts:
            yield from comparisons(part)


def of_records(rule: Rule) -> Iterable[Gap | Count]:
    """What in a rule compares a column with another one, or counts."""
    if isinstance(rule, Gap | Count):
        yield rule
    if not isinstance(rule, Gap | Comparison):
        for part in (rule.part,) if isinstance(rule, Not) else rule.parts:
            yield from of_records(part)


def by_number(rule: Rule) -> set[str]:
    """The columns of which a rule looks at every whole number."""
    found = {part.other for part in of_records(rule) if part.other is not None}
    return found | {part.column for part in of_records(rule) if isinstance(part, Gap)}


def columns_of(rule: Rule) -> set[str]:
    """The columns that a rule names."""
    return {part.column for part in comparisons(rule)} | by_number(rule)


def edges(rule: Rule, column: str, bounds: tuple[float, float], *, whole_numbers: bool) -> set[float]:
    """Inner edges that the atomic bins of a numeric column need so that every bin is wholly inside or outside the rule."""
    if column in by_number(rule):
        return set(map(float, range(math.ceil(bounds[0]) + 1, math.floor(bounds[1]) + 1)))
    return {
        edge
        for part in comparisons(rule)
        if part.column == column
        for edge in _edges(part, whole_numbers)
        if bounds[0] < edge <= bounds[1]
    }


def _divides(part: Comparison, bounds: tuple[float, float], *, whole_numbers: bool) -> bool:
    """Whether the comparison is true for some of the values within the bounds and false for others."""
    return any(bounds[0] < edge <= bounds[1] for edge in _edges(part, whole_numbers))


def _edges(part: Comparison, whole_numbers: bool) -> set[float]:
    """Where the comparison changes between true and false."""
    if isinstance(part.value, str):
        return set()
    if not whole_numbers:
        return {part.value}
    first, beyond = float(math.ceil(part.value)), float(math.floor(part.value) + 1)
    if part.operator in ("==", "!="):
        return {first, beyond} if first < beyond else set()  # no whole number equals 2.5
    return {first} if part.operator in ("<", ">=") else {beyond}


# What a rule says of bins and of whole records: true, false, or, where a value is missing, neither.
#
# Of atomic bins each comparison is decided. On coarser ones it is true where it is for all that a bin holds, false where it
# is
# for none, and else unknown. So what is true of a coarse record is true of every record in it; the converse need not be.

Said = tuple[np.ndarray, np.ndarray]
"""Where a rule is true, and where it is false; elsewhere it is unknown."""
Range = tuple[np.ndarray, np.ndarray]
"""The lowest and the highest number; NaN where there is none."""
_OPERATORS = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def said(rule: Rule, leaf: Callable[[Comparison | Gap | Count], Said]) -> Said:
    """What a rule says, from what its parts without `and`, `or` and `not` say."""
    if isinstance(rule, Not):
        true, false = said(rule.part, leaf)
        return false, true
    if isinstance(rule, All | Any):
        parts = [said(part, leaf) for part in rule.parts]
        true_parts = np.broadcast_arrays(*[true for true, _ in parts])
        false_parts = np.broadcast_arrays(*[false for _, false in parts])
        if isinstance(rule, All):
            return np.logical_and.reduce(true_parts), np.logical_or.reduce(false_parts)
        return np.logical_or.reduce(true_parts), np.logical_and.reduce(false_parts)
    return leaf(rule)


def of_atoms(part: Comparison, column: Column) -> Said:
    """(n_atoms,) what a comparison says of each atomic bin."""
    present = np.arange(len(column.atoms)) < column.atoms.present
    if part.operator == IS_MISSING:
        return ~present, present
    met = np.zeros(len(column.atoms), dtype=bool)
    met[present] = _met(part, column)
    return met, present & ~met


def _met(rule: Comparison, column: Column) -> np.ndarray:
    """(n_present,) whether a comparison is true for the values of each atomic bin, the missing one apart."""
    if isinstance(rule.value, str):
        same = np.zeros(column.atoms.present, dtype=bool)
        place = column.atoms.places.get(rule.value, len(same))
        same[place : place + 1] = True  # none of them where it is no label, or that of the missing bin
        return same if rule.operator == "==" else ~same
    # every limit is an edge, so an atomic bin satisfies the comparison just when its lowest value does
    lowest = (column.bounds or (-math.inf, math.inf))[0]
    return _OPERATORS[rule.operator](np.array([lowest, *column.edges]), rule.value)


def numbers_of(column: Column) -> np.ndarray:
    """(n_atoms,) the whole number that each atomic bin of a column stands for that a rule compares with another one; NaN for
    the bin of missing values."""
    lowest = (column.bounds or (-math.inf, math.inf))[0]
    found = np.full(len(column.atoms), np.nan)
    found[: column.atoms.present] = [lowest, *column.edges]
    return found


def compared(low: np.ndarray, high: np.ndarray, operator: str) -> Said:
    """What `difference operator 0` says of differences between a lowest and a highest one; NaN is neither true nor false."""
    if operator in ("==", "!="):
        same, other = (low == 0) & (high == 0), (low > 0) | (high < 0)
        return (same, other) if operator == "==" else (other, same)
    strict, weak = (high, low) if operator in ("<", "<=") else (low, high)
    against = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[operator]
    return _OPERATORS[operator](strict, 0), _OPERATORS[against](weak, 0)


@dataclass(frozen=True, kw_only=True)
class RecordRule:
    """A rule that is asked of whole records, because a table of all its columns would have too many cells.

    Attributes
    ----------
    places : of its columns in the layout.
    of_bins : what each comparison with a value says of the bins of its column.
    ranges : of the columns that are compared with one another or with a count, the numbers in each bin.
    """

    rule: Rule
    places: Mapping[str, int]
    of_bins: Mapping[Comparison, Said]
    ranges: Mapping[str, Range]

    @classmethod
    def of(cls, rule: Rule, columns: Sequence[Column]) -> RecordRule:
        """A rule on atomic bins."""
        known, places = {column.name: column for column in columns}, {column.name: at for at, column in enumerate(columns)}
        named = columns_of(rule)
        return cls(
            rule=rule,
            places={name: places[name] for name in named},
            of_bins={part: of_atoms(part, known[part.column]) for part in comparisons(rule)},
            ranges={name: (numbers_of(known[name]),) * 2 for name in named if known[name].kind == "integer"},
        )

    def merge(self, transformation: Transformation) -> RecordRule:
        """The rule on the bins of a transformation."""

        def every(met: np.ndarray, place: int) -> np.ndarray:
            found = np.ones(transformation.layout.sizes[place], dtype=bool)
            np.logical_and.at(found, transformation.maps[place], met)
            return found

        def ends(numbers: Range, place: int) -> Range:
            size, into = transformation.layout.sizes[place], transformation.maps[place]
            low, high, known = np.full(size, np.inf), np.full(size, -np.inf), ~np.isnan(numbers[0])
            np.minimum.at(low, into[known], numbers[0][known])
            np.maximum.at(high, into[known], numbers[1][known])
            none = low > high  # a bin of missing values holds nothing else
            return np.where(none, np.nan, low), np.where(none, np.nan, high)

        places = self.places
        return RecordRule(
            rule=self.rule,
            places=places,
            of_bins={
                part: (every(true, places[part.column]), every(false, places[part.column]))
                for part, (true, false) in self.of_bins.items()
            },
            ranges={name: ends(numbers, places[name]) for name, numbers in self.ranges.items()},
        )

    def forbidden(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """(n,) where the rule is true of the records with these bins, one array for each column of the layout."""
        shape = np.shape(digits[0])

        def leaf(part: Comparison | Gap | Count) -> Said:
            if isinstance(part, Comparison):
                true, false = self.of_bins[part]
                bins = digits[self.places[part.column]]
                return true[bins], false[bins]
            if isinstance(part, Gap):
                low, high = (ends[digits[self.places[part.column]]] for ends in self.ranges[part.column])
            else:
                counted = [said(each, leaf) for each in part.parts]
                low = np.sum([true for true, _ in counted], axis=0)
                high = np.sum([~false for _, false in counted], axis=0)
            least, most = (np.zeros(shape),) * 2
            if part.other is not None:
                least, most = (ends[digits[self.places[part.other]]] for ends in self.ranges[part.other])
            return compared(low - most - part.more, high - least - part.more, part.operator)

        return said(self.rule, leaf)[0]
