"""Plausibility rules in a small closed grammar, turned into masks over cells.

    rule       := conjunction ("or" conjunction)*
    conjunction:= negation ("and" negation)*
    negation   := "not" negation | "(" rule ")" | comparison
    comparison := column operator value | column "in" "[" value ("," value)* "]"
    operator   := "<" | "<=" | ">" | ">=" | "==" | "!="
    value      := number | 'category in quotes'

A rule says what must **never** occur. Text is never executed. The limits in the rules are edges of the atomic bins, so a
rule is either true or false for a whole atomic cell; a coarser cell is implausible when every atomic cell in it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.errors import closest, listing
from synthrelease.schema import Column, Layout, Transformation
from synthrelease.table import Counts

MAX_MASK_CELLS = 50_000_000
_TOKEN = re.compile(r"\s*(?:(<=|>=|==|!=|<|>|\(|\)|\[|\]|,)|(-?\d+(?:\.\d+)?)|'([^']*)'|\"([^\"]*)\"|([A-Za-z_]\w*))")
_OPERATORS = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


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
        if self.depth > 100:
            raise RuleError("expected at most 100 nested parentheses and negations")
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
        if operator not in _OPERATORS:
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


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Which combinations of some columns are implausible: a boolean array over their bins."""

    columns: tuple[int, ...]
    forbidden: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Plausibility:
    """All rules of one kind (raw or synthetic) over one layout; rules that share columns are joined in one mask.

    Joining by shared columns makes merging exact: a coarse cell is a product of sets, and a product is wholly
    implausible just when one of its column-disjoint factors is.
    """

    layout: Layout
    masks: tuple[Mask, ...]

    @classmethod
    def from_rules(cls, rules: Sequence[Rule], columns: Sequence[Column], layout: Layout) -> Plausibility:
        """Masks over atomic bins. Raises RuleError when connected rules span too many cells."""
        masks = []
        for group in _connected([(rule, {part.column for part in comparisons(rule)}) for rule in rules]):
            names = set().union(*(names for _, names in group))
            chosen = [i for i, column in enumerate(columns) if column.name in names]
            shape = tuple(layout.sizes[i] for i in chosen)
            if math.prod(shape) > MAX_MASK_CELLS:
                raise RuleError(
                    f"expected rules that connect at most {MAX_MASK_CELLS} cells, found {math.prod(shape)} "
                    f"over {listing(sorted(names))}"
                )
            axes = {columns[i].name: (axis, columns[i]) for axis, i in enumerate(chosen)}
            forbidden = np.zeros(shape, dtype=bool)
            for rule, _ in group:
                forbidden |= _evaluate(rule, axes, len(shape))
            masks.append(Mask(columns=tuple(chosen), forbidden=forbidden))
        return cls(layout=layout, masks=tuple(masks))

    def merge(self, transformation: Transformation) -> Plausibility:
        """The masks over the bins of a transformation: forbidden where every atomic combination in the cell is."""
        masks = []
        for mask in self.masks:
            allowed = ~mask.forbidden
            for axis, column in enumerate(mask.columns):
                into = transformation.maps[column]
                merged = np.zeros(
                    allowed.shape[:axis] + (transformation.layout.sizes[column],) + allowed.shape[axis + 1 :],
                    dtype=bool,
                )
                np.logical_or.at(np.moveaxis(merged, axis, 0), into, np.moveaxis(allowed, axis, 0))
                allowed = merged
            masks.append(Mask(columns=mask.columns, forbidden=~allowed))
        return Plausibility(layout=transformation.layout, masks=tuple(masks))

    def forbidden(self, digits: Sequence[np.ndarray]) -> np.ndarray:
        """(n,) True where the cell with these bin indices (one array per column) is implausible."""
        bad = np.zeros(len(digits[0]), dtype=bool)
        for mask in self.masks:
            bad |= mask.forbidden[tuple(digits[column] for column in mask.columns)]
        return bad

    def filter(self, table: Counts) -> Counts:
        """The rows of a table that are plausible."""
        return table.keep(~self.forbidden(table.all_digits())) if self.masks else table

    def structural_zeros(self, columns: Sequence[int]) -> np.ndarray:
        """Boolean array over the bins of `columns` (in that order): the cells that the rules alone exclude."""
        shape = tuple(self.layout.sizes[column] for column in columns)
        zeros = np.zeros(shape, dtype=bool)
        for mask in self.masks:
            if set(mask.columns) <= set(columns):
                axes = [list(columns).index(column) for column in mask.columns]
                order = np.argsort(axes)
                view = mask.forbidden.transpose(order)
                zeros |= view.reshape([shape[axis] if axis in axes else 1 for axis in range(len(shape))])
        return zeros


def _connected(rules: list[tuple[Rule, set[str]]]) -> list[list[tuple[Rule, set[str]]]]:
    """Groups of rules linked by shared columns."""
    groups: list[tuple[set[str], list[tuple[Rule, set[str]]]]] = []
    for rule, names in rules:
        linked = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        merged = set(names).union(*(group[0] for group in linked))
        groups.append((merged, [item for group in linked for item in group[1]] + [(rule, names)]))
    return [members for _, members in groups]


def _evaluate(rule: Rule, axes: Mapping[str, tuple[int, Column]], n_axes: int) -> np.ndarray:
    if isinstance(rule, Not):
        return ~_evaluate(rule.part, axes, n_axes)
    if isinstance(rule, All | Any):
        combine = np.logical_and if isinstance(rule, All) else np.logical_or
        return combine.reduce(np.broadcast_arrays(*[_evaluate(part, axes, n_axes) for part in rule.parts]))
    axis, column = axes[rule.column]
    if isinstance(rule.value, str):
        if rule.value not in column.atoms.labels:
            raise RuleError(
                f"expected a category of {column.name!r} ({listing(column.atoms.labels)}), found {rule.value!r}",
                closest(rule.value, column.atoms.labels),
            )
        inside = np.array([label == rule.value for label in column.atoms.labels])
        inside = inside if rule.operator == "==" else ~inside
    else:
        # every limit is an edge, so an atomic bin satisfies the comparison just when its lowest value does
        inside = _OPERATORS[rule.operator](np.array([-math.inf, *column.edges]), rule.value)
    shape = [1] * n_axes
    shape[axis] = len(column.atoms)
    return inside.reshape(shape)
