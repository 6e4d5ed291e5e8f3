"""release.json as one document model: its compatibility promise, and its parts as the values that they stand for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from synthrelease.bundle.verify import verify_bundle
from synthrelease.errors import Unexpected
from synthrelease.privacy.charges import Charge, in_sequence, mechanism, zero_concentrated
from synthrelease.privacy.curves import RenyiCurve
from synthrelease.privacy.plan import Guarantee, stated_at
from synthrelease.published import load
from synthrelease.published.base import Part
from synthrelease.published.charges import ChargePart, CriterionPart, DomainPart, GuaranteePart
from synthrelease.published.columns import BinPart, ColumnPart
from synthrelease.published.document import ReleaseDocument, read_leniently, read_strictly
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column
from tests.helpers.cards import rich_bundle, rich_release, write_files


def release_json() -> bytes:
    return rich_bundle()["release.json"]


def tables(value: Any) -> Iterator[dict[str, Any]]:
    """Every table of release.json, however deep."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from tables(inner)


def described(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables whose fields the format describes: not those with keys of their own, such as parameters."""
    free = [document["configuration"], document["groups"], document["files"], document["versions"]]
    free += [document["card"]["columns"], document["card"]["he"]["columns"]]
    free += [criterion["parameters"] for criterion in document["criteria"]]
    free += [column["texts"] for column in document["schema"] if column["texts"]]
    left_out = {id(inner) for table in free for inner in tables(table) if inner not in document["groups"].values()}
    yield from (table for table in tables(document) if id(table) not in left_out)


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(release_json())
    change(document)
    return json.dumps(document).encode()


def with_more(document: dict[str, Any]) -> None:
    """A field more in every table, as a later version of the same format may write it."""
    for table in list(described(document)):
        table["of_a_later_version"] = {"more": [1]}


def test_both_readings_give_the_document_that_was_written() -> None:
    assert read_strictly(release_json()) == read_leniently(release_json())
    assert read_leniently(release_json()).dumped() == release_json()


def test_fields_of_a_later_version_are_left_out_wherever_they_stand() -> None:
    later = changed(with_more)
    assert later.count(b"of_a_later_version") > 40
    assert read_leniently(later) == read_strictly(release_json())


def test_strictly_every_single_field_has_to_be_known() -> None:
    for index in range(len(list(described(json.loads(release_json()))))):
        with pytest.raises(
            Unexpected, match="of_a_later_version: The content is not as `synthrelease release` writes it .*extra inputs"
        ):
            read_strictly(changed(lambda d, i=index: list(described(d))[i].update(of_a_later_version=1)))  # type: ignore[misc]


def test_load_reads_the_bundle_of_a_later_version_and_verify_says_what_it_does_not_know(tmp_path: Path) -> None:
    folder = write_files(rich_bundle(), tmp_path / "bundle")
    before = load(folder)
    (folder / "release.json").write_bytes(changed(with_more))
    later = load(folder)
    assert (later.guarantee, later.domain, later.charges, later.criteria) == (
        before.guarantee, before.domain, before.charges, before.criteria,
    )  # fmt: skip
    assert (later.schema, later.rules, later.groups) == (before.schema, before.rules, before.groups)
    problems = [problem for check in verify_bundle(folder).checks for problem in check.problems]
    assert any("of_a_later_version" in problem and "reads format 1" in problem for problem in problems)


@pytest.mark.parametrize("number", [0, 2, 3, 4, 6, 99])
@pytest.mark.parametrize("read", [read_strictly, read_leniently])
def test_another_number_is_refused_with_the_version_that_reads_it(read: Callable[[bytes], object], number: int) -> None:
    with pytest.raises(Unexpected) as caught:
        read(changed(lambda d: d.update(format=number, written_by="0.7.1")))
    told = "Read the file with synthrelease '0.7.1', which wrote it"
    assert str(caught.value) == f"format: This version reads format 1 or 5, and the file has format {number}. {told}"


@pytest.mark.parametrize("read", [read_strictly, read_leniently])
def test_a_field_of_the_format_that_is_missing_or_of_another_type_is_refused(read: Callable[[bytes], object]) -> None:
    for change, place in (
        (lambda d: d["guarantee"].pop("person"), "guarantee.person"),
        (lambda d: d["rules"][0].update(applies_to="raw"), "rules[0].applies_to"),
        (lambda d: d["criteria"][0].update(value="1"), "criteria[0].value"),
        (lambda d: d["domain"].update(rows="guessed"), "domain.rows"),
    ):
        with pytest.raises(Unexpected) as caught:
            read(changed(change))
        assert caught.value.place.startswith(place)


def parts(of: type[Part] = Part) -> Iterator[type[Part]]:
    """All of them but those of which there is never one: others inherit their fields."""
    for each in of.__subclasses__():
        if not each.__name__.startswith("_"):
            yield each
        yield from parts(each)


def test_what_has_a_default_is_not_written_where_it_says_just_that() -> None:
    """So that a document without a field that was added later is written as it was, and stays what `verify` expects."""
    assert len(list(parts())) >= 21
    for part in parts():
        optional = {name for name, field in part.model_fields.items() if not field.is_required()}
        if part is BinPart:  # a bin has edges or categories; null is an open edge
            assert BinPart(label="x", categories=["x"]).model_dump(by_alias=True) == {"label": "x", "categories": ["x"]}
            continue
        for name in optional:
            default = part.model_fields[name].get_default(call_default_factory=True)  # type: ignore[call-arg]
            assert default is not PydanticUndefined
            assert name not in part.model_construct(**{name: default}).model_dump(warnings=False), (part.__name__, name)


CURVE = zero_concentrated("fit", Fraction(1, 3), "noise")
CHARGES = [
    mechanism("one", Fraction(1, 3), "noise", Fraction(1, 10**9)),
    Charge(name="told", epsilon=Fraction(2), because="noise", reason="so much and no less"),
    in_sequence("all", mechanism("one", Fraction(1, 7), "noise"), mechanism("two", Fraction(2), "noise")),
    CURVE,
    replace(CURVE, name="rounds", renyi=RenyiCurve(rho=Fraction(1, 3), constant=Fraction(1, 5), log_mean=Fraction(1, 7))),
]


@cache
def stated_charge() -> Charge:
    """With an epsilon that is searched for: a fifth of a second."""
    return stated_at(in_sequence("both", CURVE, mechanism("one", Fraction(1, 7), "noise")), Fraction(1, 10**6))


@pytest.mark.parametrize("charge", [*CHARGES, None], ids=lambda charge: charge.name if charge else "stated at a delta")
def test_a_charge_is_the_same_after_the_way_through_the_document(charge: Charge | None) -> None:
    charge = charge or stated_charge()
    part = ChargePart.of(charge)
    again = ChargePart.model_validate_json(part.model_dump_json())
    assert (again, again.charge()) == (part, charge)
    assert Fraction(str(part.epsilon)) >= charge.epsilon  # what is shown is never understated


def test_a_guarantee_is_the_same_after_the_way_through_the_document() -> None:
    for guarantee in (
        Guarantee(epsilon=Fraction(1, 3), invariants=("n", "schema")),
        Guarantee(epsilon=Fraction(2), delta=Fraction(1, 10**7), unit_name="stay", records_per_person=4, why="one a year"),
    ):
        part = GuaranteePart.model_validate_json(GuaranteePart.of(guarantee).model_dump_json())
        assert part.guarantee() == guarantee


def test_figures_and_columns_are_the_same_after_the_way_through_the_document() -> None:
    release, document = rich_release(), read_leniently(release_json())
    assert tuple(part.score() for part in document.criteria) == release.scores
    for part, column, binning in zip(
        document.columns, release.spec.schema.columns, release.candidate.transformation.binnings, strict=True
    ):
        found = part.published()
        assert part == ColumnPart.of(column, binning)
        assert (found.name, found.kind, found.labels, found.numbers) == (
            column.name,
            column.kind,
            binning.labels,
            binning.numbers,
        )
        assert (found.lower, found.upper, found.ordered) == (binning.lower, binning.upper, column.ordered)
        held = [atom for held in found.categories for atom in held]
        assert sorted(held) == sorted(column.atoms.labels if column.kind == "category" else ())


def test_the_domain_keeps_its_name_in_the_file() -> None:
    assert '"rows":"exact"' in DomainPart(
        way="exact", file_rows=None, margin=None, shortfall=None, missing_values=[]
    ).model_dump_json(by_alias=True)
    assert json.loads(release_json())["domain"]["rows"] == read_strictly(release_json()).domain.way


def test_a_figure_without_noise_or_with_a_sensitivity_of_zero() -> None:
    silent = next(index for index, one in enumerate(json.loads(release_json())["criteria"]) if one["sensitivity"] is None)
    assert isinstance(ReleaseDocument.model_validate_json(release_json()).criteria[silent], CriterionPart)
    with pytest.raises(Unexpected, match="sensitivity"):
        read_leniently(changed(lambda d: d["criteria"][silent].update(sensitivity=0)))


def test_a_bin_holds_just_the_bins_whose_values_it_holds() -> None:
    ends = [None, 0, 1, 2, 3]
    bins = [
        BinPart(label="", lower=low, below=below)
        for low in ends
        for below in ends
        if low is None or below is None or low < below
    ]
    values = [-5, *range(4), 9]

    def inside(one: BinPart) -> set[int]:
        return {x for x in values if (one.lower is None or one.lower <= x) and (one.below is None or x < one.below)}

    for one in bins:
        for other in bins:
            assert one.holds(other) == (inside(other) <= inside(one)), (one, other)
    a, both = BinPart(label="", categories=["a"]), BinPart(label="", categories=["a", "b"])
    assert (both.holds(a), a.holds(both), a.holds(a)) == (True, False, True)


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        ({}, {}),
        ({"part": "year", "format": "%d.%m.%Y"}, {"date_format": "%d.%m.%Y"}),
        ({"minus": "in"}, {"minus": "in"}),
        ({"minus": "in", "minus_format": "%d.%m.%Y"}, {"minus": "in", "minus_format": "%d.%m.%Y"}),
        ({"missing": "bin", "missing_values": ["9"]}, {"missing_values": ["9"]}),
    ],
)
def test_a_column_has_the_words_that_it_needs_and_no_others(fields: dict[str, Any], written: dict[str, Any]) -> None:
    table = ColumnTable.model_validate({"kind": "integer", "bounds": (0, 9), "alternatives": {"a": ["<5", ">=5"]}} | fields)
    column = build_column("x", table, InputTable(), [], None)
    part = ColumnPart.of(column, column.alternatives["a"])
    dumped = part.model_dump(mode="json", by_alias=True)
    assert {
        name: dumped[name] for name in ("minus", "date_format", "minus_format", "missing_values") if name in dumped
    } == written
    assert ColumnPart.model_validate_json(json.dumps(dumped)) == part
