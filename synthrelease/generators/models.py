"""Measure sums over rows that answer the questions in [[models]]: means, regressions, ratios, and means of groups.

A mean, a regression and a ratio of totals follow from a few sums of exact values and of their products. These sums are
measured together with one noise vector (theory 12.16, named models); a sum that several questions need is measured once.
For means of groups, each row contributes shares to three numbers of its group, so all groups together have the sensitivity
of one group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from synthrelease.data.questions import QuestionWords, split_question
from synthrelease.data.rules import IS_MISSING, Domain, Rule, comparisons, parse_rule
from synthrelease.data.schema import Transformation
from synthrelease.errors import Unexpected
from synthrelease.generators.measured_noise import MOST_NUMBERS
from synthrelease.generators.row_functions import (
    Factor,
    GroupMeans,
    Indicator,
    NoisyModels,
    RowFunction,
    Rows,
    Value,
    columns_of,
)

if TYPE_CHECKING:
    from synthrelease.enclave.door import PrivateCounts
    from synthrelease.privacy.charges import Charge

TABLE_WEIGHT = 4
"""When the budget is divided, means of groups count as this number of sums that share one noise vector. Over all rows, they are
then about as accurate as such sums.
"""

_COMMA = re.compile(r",(?![^\[(]*[\])])")


@dataclass(frozen=True, kw_only=True)
class NamedModel:
    """A question of [[models]] in the specification, such as a slope, answered by noisy sums over all rows.

    Attributes
    ----------
    factors : the column of a mean, the two columns of a ratio, or the columns and conditions after "on" and then the
        dependent column of a slope.
    groups : the conditions of two groups whose means are compared.
    why : what the answer is used for.
    """

    words: QuestionWords
    factors: tuple[Factor, ...]
    rows: Rows
    groups: tuple[Indicator, ...] = ()
    why: str = ""

    @property
    def by_group(self) -> bool:
        return bool(self.words.by or self.groups)

    @property
    def answer(self) -> Value:
        """Return the column of a mean, the dependent column of a regression, or the denominator of a ratio."""
        factor = self.factors[-1]
        if not isinstance(factor, Value):
            raise TypeError("an answer is a column")
        return factor

    @property
    def group_means(self) -> GroupMeans:
        return GroupMeans(value=self.answer, rows=self.rows, by=self.words.by, groups=self.groups)

    @property
    def columns(self) -> set[str]:
        return columns_of([*self.factors, *self.groups, self.rows]) | ({self.words.by} - {""})

    @cached_property
    def functions(self) -> tuple[RowFunction, ...]:
        """Return the functions of a row that are summed over all rows, such as x, y and x y for a slope; () for means of
        groups.
        """
        if self.by_group:
            return ()
        found = [] if self.rows.every else [self.product()]
        if self.words.kind == "mean":
            return (*found, self.product(self.answer))
        found += [self.product(factor) for factor in self.factors]
        for first, second in combinations_with_replacement(self.factors, 2):
            if first != second or isinstance(first, Value):  # the square of an indicator is the indicator
                found.append(self.product(first, second))
        return tuple(found)

    def product(self, *factors: Factor) -> RowFunction:
        """Return the function of a row that is the product of these factors in a used row (1 without factors), otherwise 0."""
        return RowFunction(factors=tuple(sorted(factors, key=lambda factor: factor.text)), rows=self.rows)


def read_model(text: str, columns: Mapping[str, Domain], limits: Mapping[str, Sequence[float]]) -> NamedModel:
    """Parse a question of [[models]].

    Parameters
    ----------
    columns : the columns with their bounds, the default limits.
    limits : the limits that the configuration states for the question, by column.

    Raises
    ------
    Unexpected, InputError : if the question cannot be measured.
    """
    if re.match(r"\s*(logit|logistic)\b", text.lower()):
        raise Unexpected(
            f"{text.strip()!r} is a logistic regression, for which there are no valid intervals (docs/estimates.md). Compare "
            "two shares ('share CONDITION: CONDITION against CONDITION'), or name a mean, slope or ratio"
        )
    words = split_question(text)
    if words.kind not in ("mean", "slope", "ratio") or words.weighted:
        raise Unexpected(
            f"{words.text!r} cannot be asked here. Ask for a mean, slope or ratio, without weights. For shares and quantiles, "
            "publish noisy tables (publish_measurements)"
        )

    def value(name: str) -> Value:
        domain = columns.get(name)
        if domain is None or domain.kind == "category" or domain.bounds is None:
            raise Unexpected(f"{name!r} is not a column of numbers with bounds")
        low, high = limits.get(name, domain.bounds)
        if not domain.bounds[0] <= low < high <= domain.bounds[1]:
            bounds = f"{domain.bounds[0]:g} and {domain.bounds[1]:g}"
            problem = f"The limits of {name!r} are {low:g} and {high:g}. The first must be the lower one"
            raise Unexpected(f"{problem}, and both must lie within the bounds {bounds}")
        return Value(column=name, low=float(low), high=float(high))

    def indicator(condition: str) -> Indicator:
        rule = parse_rule(condition, columns)
        if any(part.operator == IS_MISSING for part in comparisons(rule)):
            raise Unexpected(f"The condition {condition!r} must not use 'is missing'. Rows without a value are left out")
        return Indicator(text=condition, rule=rule)

    named = [words.head] if words.kind != "ratio" else [words.head, words.to]
    on = [part.strip() for part in _COMMA.split(words.on)] if words.on else []
    factors = (*(value(part) if part.isidentifier() else indicator(part) for part in on), *map(value, named))
    if words.kind == "slope" and not on:
        raise Unexpected(f"{words.text!r} is a slope without a column after 'on'")
    if len({factor.text for factor in factors}) < len(factors):
        raise Unexpected(f"{words.text!r} names a column or condition twice. Name each once")
    groups = tuple(map(indicator, words.groups))
    if words.by and words.by not in columns:
        raise Unexpected(f"There is no column {words.by!r}, but {words.text!r} names it after 'by'")
    where = parse_rule(words.where, columns) if words.where else None
    named_columns = {factor.column for factor in factors if isinstance(factor, Value)}
    for condition in (*factors, *groups):
        named_columns |= {part.column for part in comparisons(condition.rule)} if isinstance(condition, Indicator) else set()
    valued = tuple(sorted(name for name in named_columns if columns[name].missing))
    model = NamedModel(words=words, factors=factors, rows=Rows(text=words.where, rule=where, valued=valued), groups=groups)
    if len(model.functions) > MOST_NUMBERS:
        problem = f"The question needs {len(model.functions)} sums of {len(factors)} columns and conditions"
        raise Unexpected(f"{problem}. At most {MOST_NUMBERS:,} sums can be measured. Name fewer columns or conditions")
    return model


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The plan to answer all questions of [[models]]: which sums share one noise vector, and the epsilon of each
    measurement.

    Attributes
    ----------
    epsilon : the epsilon of all measurements.
    """

    models: tuple[NamedModel, ...]
    epsilon: Fraction

    @cached_property
    def functions(self) -> tuple[RowFunction, ...]:
        return tuple({function.key: function for model in self.models for function in model.functions}.values())

    @property
    def tables(self) -> tuple[NamedModel, ...]:
        return tuple(model for model in self.models if model.by_group)

    @property
    def blocks(self) -> list[tuple[tuple[RowFunction, ...], Fraction]]:
        """Return the functions to sum in blocks of at most 100, each with its epsilon and one noise vector."""
        number = -(-len(self.functions) // MOST_NUMBERS)
        cut = [self.functions[index::number] for index in range(number)]
        return [(block, len(block) * self._unit) for block in cut]

    @property
    def of_table(self) -> Fraction:
        return TABLE_WEIGHT * self._unit

    def measure(self, private: PrivateCounts, charge: Charge, transformation: Transformation) -> NoisyModels:
        """Measure with noise the sums and the means of groups that answer all questions. The groups of a column are its
        released bins.

        Privacy
        -------
        The measurements are eps-DP, where eps is the epsilon of the charge; neighbours replace one record. The summed
        functions are public. Replacing a record changes each sum by at most STEPS, so one noise makes a block eps_i-DP
        (theory 9.18, one noise for many numbers). Replacing a record changes the shares of all groups together by at most 2
        SHARES in l1 norm. So discrete Laplace noise of scale 2 SHARES / eps_j makes these shares eps_j-DP (theory 12.16,
        named models). All eps_i and eps_j add up to eps.
        """
        from synthrelease.generators.models_mechanism import measured_models

        tables = [(model.group_means, self.of_table) for model in self.tables]
        mechanism = partial(
            measured_models, blocks=self.blocks, tables=tables, transformation=transformation, entropy=private.entropy
        )
        return private.spend(charge, mechanism)

    @property
    def _unit(self) -> Fraction:
        return self.epsilon / (len(self.functions) + TABLE_WEIGHT * len(self.tables))

    @property
    def own_values_of(self) -> set[str]:
        return {factor.column for model in self.models for factor in model.factors if isinstance(factor, Value)}

    @property
    def rules(self) -> Iterator[Rule]:
        """Yield the conditions in the questions, such as age >= 65. Their limits must be edges of the finest bins."""
        for model in self.models:
            yield from (part.rule for part in (*model.factors, *model.groups) if isinstance(part, Indicator))
            if model.rows.rule is not None:
                yield model.rows.rule
