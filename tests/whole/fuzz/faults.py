"""Known faults: mistakes of the kind that were once made, planted one at a time. The fuzzer must find every one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from synthrelease.criteria import base_mechanism as asking
from synthrelease.criteria import marginals as compared
from synthrelease.criteria import regressions as regression_one_step
from synthrelease.enclave import ingest
from synthrelease.enclave import members as linked_rows
from synthrelease.enclave import persons as marks
from synthrelease.errors import InputError
from synthrelease.generators import adaptive_mechanism as private_tables
from synthrelease.generators import privbayes_mechanism as privbayes
from synthrelease.generators.agreements import AgreeingPairs
from synthrelease.privacy import noise as randomness
from synthrelease.privacy.grids import NoisyFigure
from synthrelease.releasing import release
from synthrelease.releasing.attempt import PrivatePieces
from tests.whole.fuzz.runs import Tally, run

Fault = Callable[[], Any]


def halved_sensitivity() -> Any:
    """A moved record counts once in the tables of the adaptive families."""
    return patch.object(private_tables, "TABLE_CHANGE", 1)


def low_score_sensitivity() -> Any:
    """The structure score of PrivBayes moves by 6n + 4, and not by 2n."""
    return patch.object(privbayes, "score_sensitivity", lambda n: 2 * n)


def low_ratio_sensitivity() -> Any:
    true = compared.ratio_sensitivity
    return patch.object(compared, "ratio_sensitivity", lambda *given: 0.8 * true(*given))


def low_step_sensitivity() -> Any:
    true = regression_one_step._Step.sensitivity
    return patch.object(regression_one_step._Step, "sensitivity", lambda *given: true(*given) / 2)


def forgotten_rounding() -> Any:
    """A figure on its grid moves by its rounding, too."""
    true = randomness.noise_grid
    return patch.object(randomness, "noise_grid", lambda *given: true(*given)._replace(steps=true(*given).steps - 2))


def low_price_of_agreements() -> Any:
    """Columns that change move their own counts alone, and no agreement."""
    return patch.object(AgreeingPairs, "price", lambda agreeing, ratio: ratio * len(agreeing.columns))


def draws_for_full_cells() -> Any:
    """Noise for the cells that occur, alone: how many draws there are tells which."""

    def noisy(values: np.ndarray, **law: Any) -> np.ndarray:
        full = np.flatnonzero(values)
        found = np.zeros(len(values), dtype=np.int64)
        found[full] = randomness.discrete_laplace(values[full], **law)
        return found

    return patch.object(private_tables, "discrete_laplace", noisy)


def configuration_by_rows() -> Any:
    """The configuration of a round depends on the private rows."""
    true = release.one_round

    def one_round(spec: Any, private: Any, prepared: Any) -> Any:
        counts = private.fit._Door__counts
        place = int(counts.expand()[0].sum()) % len(spec.space)
        return true(replace(spec, space=replace(spec.space, shortlist=(place,))), private, prepared)

    return patch.object(release, "one_round", one_round)


def figure_without_noise() -> Any:
    def exact(value: float, **law: Any) -> NoisyFigure:
        return NoisyFigure(value=float(value), noise_sd=1.0)

    return patch.object(asking, "laplace_figure", exact)


def as_many_as_are_kept() -> Any:
    """The release works with all kept rows, whose number is then public."""
    true = release.resize

    def resize(rows: Any, rule: Any, raw: Any, planned: Any) -> Any:
        every = rows.with_plan(planned).all_of_them()
        return every if every.n else true(rows, rule, raw, planned)

    return patch.object(release, "resize", resize)


def overlapping_pieces() -> Any:
    """Criteria ask the rows that the generator was fitted to."""
    true = release.divided

    def divided(private: Any, rule: Any, planned: Any) -> Any:
        found = true(private, rule, planned)
        if not isinstance(found, PrivatePieces):
            return found
        return replace(found, score=found.fit.with_plan(list(found.score._meter._left.values())))

    return patch.object(release, "divided", divided)


def failure_on_rows() -> Any:
    """A mechanism that is not total: whether a release ends tells which rows there are."""

    def noisy(values: np.ndarray, **law: Any) -> np.ndarray:
        if len(values) > 2 and not values[0]:
            raise ZeroDivisionError
        return randomness.discrete_laplace(values, **law)

    return patch.object(private_tables, "discrete_laplace", noisy)


def joined_values() -> Any:
    """Values that are equal but for their case get the text of the first of them: what a row becomes depends on other rows."""
    true = ingest.batches

    def batches(*given: Any) -> Iterator[Any]:
        for size, columns in true(*given):
            yield size, {name: _joined(texts) for name, texts in columns.items()}

    return patch.object(ingest, "batches", batches)


def _joined(texts: Any) -> Any:
    firsts: dict[object, int] = {}
    into = np.arange(len(texts.texts))
    for code in texts.codes.tolist():
        text = texts.texts[code]
        into[code] = firsts.setdefault(text if text is None else text.casefold(), code)
    return replace(texts, codes=into[texts.codes])


def members_in_file_order() -> Any:
    """Members are cut as they stand in the file."""
    true = linked_rows._members

    def members(keys: int, of_rows: Any, rows: Any, *given: Any) -> Any:
        as_they_stand = [np.arange(len(rows.marks))]
        return true(keys, of_rows, replace(rows, order=as_they_stand), *given)

    return patch.object(linked_rows, "_members", members)


def root_twice_is_two_roots() -> Any:
    """Each row of the file of roots is a record, and the members belong to the first one with their key."""
    true = linked_rows._numbered

    def numbered(one: np.ndarray, other: np.ndarray) -> Any:
        keys, of_one, of_other = true(one, other)
        if len(other):
            again = np.ones(len(of_one), dtype=bool)
            again[np.unique(of_one, return_index=True)[1]] = False
            of_one = of_one.copy()
            of_one[again] = keys + np.arange(again.sum())
            keys += int(again.sum())
        return keys, of_one, of_other

    return patch.object(linked_rows, "_numbered", numbered)


def member_of_nobody_is_refused() -> Any:
    """A refusal tells that one member has no root."""
    true = linked_rows._numbered

    def numbered(one: np.ndarray, other: np.ndarray) -> Any:
        keys, of_one, of_other = true(one, other)
        if len(other) and not np.isin(of_other, of_one).all():
            raise InputError("expected a root of each member, found none of some.")
        return keys, of_one, of_other

    return patch.object(linked_rows, "_numbered", numbered)


def keys_are_numbers_where_all_are() -> Any:
    """Whether 7.0 is 7 depends on all keys of the file."""
    true = marks.keys_of

    def keys_of(texts: Any, *given: Any) -> Any:
        known = [text.strip() for text in texts.texts if text and text.strip()]
        numbers = all(text.replace(".", "", 1).isdigit() for text in known)
        return [each if each is None or numbers else (each[1], each[1]) for each in true(texts, *given)]

    return patch.object(marks, "keys_of", keys_of)


def keys_of_members_alone_are_not_counted() -> Any:
    """The public number is that of the roots: whether a member has one is told exactly."""
    true, seen = linked_rows._numbered, list[int]()

    def numbered(one: np.ndarray, other: np.ndarray) -> Any:
        keys, of_one, of_other = true(one, other)
        seen.append(len(np.unique(of_one)))
        return keys, of_one, of_other

    counted = ingest.count_linked_rows

    def count(*given: Any) -> Any:
        with patch.object(linked_rows, "_numbered", numbered):
            return replace(counted(*given), n_rows=max(1, seen[-1]))

    return patch.object(ingest, "count_linked_rows", count)


FAULTS: dict[Fault, str] = {
    halved_sensitivity: '"adaptive',
    low_score_sensitivity: '"privbayes"',
    low_ratio_sensitivity: '"relative_marginal_error"',
    low_step_sensitivity: '"regression_one_step"',
    low_price_of_agreements: '"agreements"',
    forgotten_rounding: "criteria",
    draws_for_full_cells: '"marginals"',
    configuration_by_rows: "criteria",
    figure_without_noise: "criteria",
    as_many_as_are_kept: "criteria",
    overlapping_pieces: "[partition]",
    failure_on_rows: '"marginals"',
    joined_values: '"category"',
    members_in_file_order: "[members]",
    root_twice_is_two_roots: "[members]",
    member_of_nobody_is_refused: "[members]",
    keys_are_numbers_where_all_are: "[members]",
    keys_of_members_alone_are_not_counted: "[members]",
}
"""Each with a text that specifications must have which show it."""


def hunt(fault: Fault, most: int, first: int = 0) -> tuple[int, str]:
    """Compare releases until the fault is found, at most so many pairs; how many there were, and what was found."""
    tally, seed = Tally(), first
    with fault():
        while tally.compared < most and not tally.leaks:
            run(seed, tally, having=FAULTS[fault])
            seed += 1
    return tally.compared + len(tally.leaks), next(iter(tally.leaks), "")
