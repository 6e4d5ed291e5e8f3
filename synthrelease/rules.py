"""Plausibility rules as people write them: a small closed grammar. Text is never executed.

    rule       := conjunction ("or" conjunction)*
    conjunction:= negation ("and" negation)*
    negation   := "not" negation | "(" rule ")" | comparison
    comparison := column operator value | column "in" "[" value ("," value)* "]"
    operator   := "<" | "<=" | ">" | ">=" | "==" | "!="
    value      := number | 'category in quotes'

A rule says what must **never** occur.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from synthrelease.errors import closest, listing

OPERATORS = ("<", "<=", ">", ">=", "==", "!=")
MAX_DEPTH = 100
_TOKEN = re.compile(r"\s*(?:(<=|>=|==|!=|<|>|\(|\)|\[|\]|,)|(-?\d+(?:\.\d+)?)|'([^']*)'|\"([^\"]*)\"|([A-Za-z_]\w*))")


class RuleError(ValueError):
    """A rule that cannot be read; `suggestion` is a name that may have been meant."""

    def __init__(self, message: str, suggestion: str | None = None):
        super().__init__(message)
        self.suggestion = suggestion


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


Rule = Comparison | Not | All | Any


def parse_rule(text: str, kinds: Mapping[str, str]) -> Rule:
    """Read one rule.

    Parameters
    ----------
    text : for example "mother_age < 23 and parity > 6".
    kinds : column name -> "integer", "real" or "category".

    Raises
    ------
    RuleError : with what was expected and what was found where.
    """
    return _Parser(text, kinds).parse()


class _Parser:
    def __init__(self, text: str, kinds: Mapping[str, str]):
        self.kinds = kinds
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if not match:
                raise RuleError(f"expected a column, an operator or a value, found {text[position:].strip()[:20]!r}")
            symbol, number, single, double, word = match.groups()
            quoted = single if single is not None else double
            kind = "symbol" if symbol else "number" if number else "text" if quoted is not None else "word"
            self.tokens.append((kind, symbol or number or quoted or word or ""))
            position = match.end()
        self.at = 0
        self.depth = 0

    def parse(self) -> Rule:
        rule = self._any()
        if self.at < len(self.tokens):
            raise RuleError(f"expected 'and', 'or' or the end of the rule, found {self._peek()[1]!r}")
        return rule

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "the end of the rule")

    def _take(self, expected: str, kind: str | None = None, text: str | None = None) -> str:
        found = self._peek()
        if (kind and found[0] != kind) or (text and found[1] != text) or found[0] == "end":
            raise RuleError(f"expected {expected}, found {found[1]!r}")
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
            raise RuleError(f"expected at most {MAX_DEPTH} nested parentheses and negations, found more")
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
        column = self._take("a column name", "word")
        if column not in self.kinds:
            raise RuleError(f"expected a column ({listing(self.kinds)}), found {column!r}", closest(column, self.kinds))
        if self._accept("in"):
            self._take("'['", "symbol", "[")
            parts = [self._compare(column, "==")]
            while self._accept(","):
                parts.append(self._compare(column, "=="))
            self._take("']'", "symbol", "]")
            return Any(tuple(parts))
        operator = self._take("one of < <= > >= == != in", "symbol")
        if operator not in OPERATORS:
            raise RuleError(f"expected one of < <= > >= == != in, found {operator!r}")
        return self._compare(column, operator)

    def _compare(self, column: str, operator: str) -> Comparison:
        kind, text = self._peek()
        column_kind = self.kinds[column]
        if column_kind == "category":
            if operator not in ("==", "!="):
                raise RuleError(f"expected == or != or in for the categories of {column!r}, found {operator!r}")
            return Comparison(column, operator, self._take(f"a category of {column!r} in quotes", "text"))
        if column_kind == "real" and operator not in ("<", ">="):
            raise RuleError(f"expected < or >= for the real numbers of {column!r}, found {operator!r}")
        if kind != "number":
            raise RuleError(f"expected a number to compare {column!r} with, found {text!r}")
        return Comparison(column, operator, float(self._take("a number")))


def comparisons(rule: Rule) -> Iterable[Comparison]:
    """All comparisons in a rule."""
    if isinstance(rule, Comparison):
        yield rule
    else:
        for part in (rule.part,) if isinstance(rule, Not) else rule.parts:
            yield from comparisons(part)


def edges(rule: Rule, column: str, *, whole_numbers: bool) -> set[float]:
    """Edges that the atomic bins of a numeric column need so that every bin is wholly inside or outside the rule."""
    needed: set[float] = set()
    for part in comparisons(rule):
        if part.column != column or isinstance(part.value, str):
            continue
        if not whole_numbers:
            needed.add(part.value)
            continue
        if part.operator in ("<", ">=", "==", "!="):
            needed.add(float(math.ceil(part.value)))
        if part.operator in (">", "<=", "==", "!="):
            needed.add(float(math.floor(part.value) + 1))
    return needed
