"""The guarantee by its building blocks: every field of release.json is a fact of the scope, an output, or words."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from synthrelease.bundle.verify import verify_files
from synthrelease.errors import Unexpected
from synthrelease.privacy.charges import RowsRule, Way
from synthrelease.privacy.plan import Guarantee
from synthrelease.published.base import Part
from synthrelease.published.charges import DomainPart
from synthrelease.published.document import FlavourPart, ReleaseDocument, ScopePart, read_leniently, read_strictly
from synthrelease.published.options import (
    CalibrationPart,
    DesignPart,
    GeographyPart,
    ImputationPart,
    MarksPart,
    MembersPart,
    PartitionPart,
    PopulationPart,
    ScoutPart,
    SeriesPart,
    SplitPart,
)
from tests.bundle.verify.test_verify import check, resealed
from tests.helpers.cards import rich_bundle
from tests.helpers.weighting import weighted_bundle

OUTPUTS = {
    "criteria": "figures are charged; kinds and thresholds are part of the specification, and say nothing about the file",
    "configuration": "that of the round which charged criteria accepted",
    "imputation": "made of the released rows",
    "estimates": "made of published noisy tables, whose noise is charged, and of queries that were stated beforehand",
    "files": "checksums of the released rows",
    "models": "sums and shares with noise that is charged, for questions that were stated beforehand",
}
WORDS = {"format", "title", "description", "synthetic", "guarantee", "charges", "selection", "specification", "versions",
         "written_by", "card", "flavour", "bundle", "intended_queries", "not_promised", "plugins", "attacks",
         "series"}  # fmt: skip
"""What says nothing about the private file, whatever it is: it was fixed before the file was read. Totals are facts that
others published."""
STATED: list[type[Part]] = [
    DesignPart,
    PartitionPart,
    SplitPart,
    MembersPart,
    CalibrationPart,
    SeriesPart,
    PopulationPart,
    ScoutPart,
    ImputationPart,
    GeographyPart,
    MarksPart,
]


def domain(way: Way) -> DomainPart:
    rule = RowsRule(way=way, stated=9 if way == "stated" else None, epsilon=Fraction(1) if way == "counted" else None)
    return DomainPart.of(rule, None if way == "exact" else 10, ())


@pytest.mark.parametrize("way", ["whole", "counted", "stated", "exact"])
def test_every_field_is_a_fact_of_the_scope_an_output_or_words(way: Any) -> None:
    scope = ScopePart.of(domain(way), [part.model_construct() for part in STATED])
    roots = {place.partition(".")[0] for place in scope.places()}
    names = {field.serialization_alias or name for name, field in ReleaseDocument.model_fields.items()}
    outputs = {*OUTPUTS, *(["n_rows", "partition"] if way == "counted" else [])}
    assert roots | outputs | WORDS == names
    assert not roots & outputs
    assert not (roots | outputs) & WORDS
    assert len(set(scope.places())) == len(scope.places())


def test_places_lead_somewhere() -> None:
    for bundle in (rich_bundle(), weighted_bundle()):
        tables = json.loads(bundle["release.json"])
        for place in read_strictly(bundle["release.json"]).flavour.scope.places():  # type: ignore[union-attr]
            inner = tables
            for step in place.split("."):
                inner = inner[step]
            assert inner is not None


def test_a_delta_makes_another_standard() -> None:
    pure = FlavourPart.of(Guarantee(epsilon=Fraction(140, 3)), domain("whole"))
    delta = FlavourPart.of(Guarantee(epsilon=Fraction(1), delta=Fraction(1, 1000)), domain("counted"))
    assert (pure.standard, delta.standard) == ("multiplicative", "(epsilon, delta)")
    assert (pure.intensity.epsilon_exact, pure.intensity.delta_exact) == ("140/3", "0")
    assert (delta.intensity.epsilon_exact, delta.intensity.delta_exact) == ("1", "1/1000")


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "schema is published exactly, but the scope does not name it": lambda d: d["scope"]["specification"].remove("schema"),
    "domain.file_rows is published exactly, but the scope does not name it": lambda d: d["scope"]["private_file"].remove(
        "domain.file_rows"
    ),
    "calibration.margins is published exactly, but the scope does not name it": lambda d: d["scope"][
        "published_figures"
    ].clear(),
    "flavour: the scope names other facts": lambda d: d["scope"]["private_file"].append("card"),
    "the unit does not follow": lambda d: d.update(unit="records added or removed"),
    "the standard does not follow": lambda d: d.update(standard="zCDP"),
    "the intensity does not follow": lambda d: d["intensity"].update(epsilon_exact="1/10"),
    "the domain does not follow": lambda d: d.update(domain="any file"),
}


@pytest.mark.slow
@pytest.mark.parametrize("message", CHANGES)
def test_verify_finds_a_flavour_that_does_not_follow(message: str) -> None:
    files = weighted_bundle()
    tables = json.loads(files["release.json"])
    CHANGES[message](tables["flavour"])
    content = ReleaseDocument.model_validate_json(json.dumps(tables)).dumped()
    problems = check(verify_files(resealed({**files, "release.json": content})), "privacy definition").problems
    assert any(message in problem for problem in problems), problems


def test_a_document_without_the_flavour_is_refused() -> None:
    tables = json.loads(rich_bundle()["release.json"])
    del tables["flavour"]
    with pytest.raises(Unexpected, match="flavour: The content is not as `synthrelease release` writes it"):
        read_leniently(json.dumps(tables))
