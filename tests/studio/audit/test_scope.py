"""What of an audit a published release rests on: its own kinds, all of them, and no others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.generators import GENERATORS
from synthrelease.published.document import ReleaseDocument
from synthrelease.studio.audit import model_sensitivity
from synthrelease.studio.audit.audit import Scope
from synthrelease.studio.audit.enumeration import NUMBER_OF_ROWS, sweeps
from synthrelease.studio.audit.losses import faulty_losses, loss_cases
from synthrelease.studio.audit.worlds import ENUMERATED

pytestmark = pytest.mark.slow

KINDS = {sweep.kind for sweep in sweeps()} | {model.kind for model in model_sensitivity._models()} | {NUMBER_OF_ROWS}


def released(generator: str, criteria: list[str], joint: bool = False, models: bool = False) -> ReleaseDocument:
    """As much of release.json as is asked for."""
    found: Any = SimpleNamespace(
        configuration={"generator": {"family": generator}},
        criteria=[SimpleNamespace(kind=kind) for kind in criteria],
        selection=SimpleNamespace(joint_test=object() if joint else None),
        models=object() if models else None,
    )
    return cast(ReleaseDocument, found)


@pytest.mark.parametrize("generator", GENERATORS)
def test_of_a_release_are_the_losses_of_its_generator_right_and_wrong(generator: str) -> None:
    scope = Scope.of(released(generator, []))
    assert {case.generator for case in loss_cases() if scope.has_generator(case.generator)} == {generator}
    assert {case.generator for case in faulty_losses() if scope.has_generator(case.generator)} == {generator}


@pytest.mark.parametrize("kind", CRITERIA)
def test_of_a_release_are_the_enumerations_of_its_criteria(kind: str) -> None:
    own = {kind} & KINDS | ({"functional mechanism"} if kind == "regression_coefficients" else set())
    scope = Scope.of(released("mwem", [kind]))
    assert {each for each in KINDS if scope.has_kind(each)} == own | {NUMBER_OF_ROWS}
    assert Scope.of(released("mwem", [kind], joint=True)).has_kind("joint test")


def test_what_examples_name_is_enumerated() -> None:
    named = [name for kind in (*GENERATORS, *CRITERIA) for name in ENUMERATED.get(kind, ())]
    assert set(named) <= KINDS
    assert len(named) >= 8


def test_every_enumeration_belongs_to_some_release() -> None:
    """A generator whose measurements are enumerated under a new name must be told."""
    every = [Scope.of(released(generator, [*CRITERIA], joint=True, models=True)) for generator in GENERATORS]
    assert {kind for kind in KINDS if any(scope.has_kind(kind) for scope in every)} == KINDS
