"""Columns from their tables: atomic bins are the common refinement of everything that is asked of a column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from synthrelease.data.rules import Domain, parse_rule
from synthrelease.data.schema import Binning, Column
from synthrelease.generators.space import join
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import ColumnError, build_column, group_binning

pytestmark = pytest.mark.slow

CUTS = st.lists(st.integers(1, 19), min_size=1, max_size=5, unique=True).map(sorted)


def ages(alternatives: dict[str, list[str]], *, rules: tuple[str, ...] = (), groups: list[str] | None = None) -> Column:
    table = ColumnTable(kind="integer", bounds=(0, 19), alternatives=alternatives)
    parsed = [parse_rule(rule, {"age": Domain(kind="integer", bounds=(0, 19))}) for rule in rules]
    return build_column("age", table, InputTable(), parsed, groups)


def category(groups: dict[str, list[str]] | None = None, **fields: object) -> Column:
    table = ColumnTable.model_validate(
        {"kind": "category", "categories": {"yes": ["1", "Y"], "no": ["0"], "both": ["2"]}} | fields
    )
    return build_column("answer", table, InputTable(), [], groups)


def between(cuts: list[int]) -> list[str]:
    """Bins with these inner edges."""
    inner = [f"{a}-{b - 1}" if b - a > 1 else str(a) for a, b in zip(cuts, cuts[1:], strict=False)]
    return [f"<{cuts[0]}", *inner, f">={cuts[-1]}"]


def bin_of(cuts: list[int], value: int) -> int:
    return sum(cut <= value for cut in cuts)


@given(CUTS, CUTS, CUTS, st.integers(1, 19))
def test_atoms_have_the_edges_of_all_alternatives_groups_and_rules_and_no_others(
    first: list[int], second: list[int], grouped: list[int], limit: int
) -> None:
    column = ages({"a": between(first), "b": between(second)}, rules=(f"age < {limit}",), groups=between(grouped))
    assert column.edges == tuple(sorted({*first, *second, *grouped, limit}))
    assert column.atoms.lower == (0, *column.edges)
    assert column.atoms.upper == (*column.edges, 20)


@given(CUTS, CUTS, CUTS)
def test_every_whole_number_falls_into_the_bin_that_its_atom_is_merged_to(
    first: list[int], second: list[int], grouped: list[int]
) -> None:
    column = ages({"a": between(first), "b": between(second)}, groups=between(grouped))
    for cuts, binning in (
        (first, column.alternatives["a"]),
        (second, column.alternatives["b"]),
        (grouped, group_binning(column, between(grouped))),
    ):
        for value in range(20):
            atom = int(np.searchsorted(column.edges, value, side="right"))
            assert column.atoms.lower[atom] <= value < column.atoms.upper[atom]
            assert binning.of_atom[atom] == bin_of(cuts, value)


@given(CUTS, CUTS)
def test_a_binning_refines_another_just_when_it_has_all_its_edges(first: list[int], second: list[int]) -> None:
    column = ages({"a": between(first), "b": between(second)})
    fine, coarse = column.alternatives["a"], column.alternatives["b"]
    if set(second) <= set(first):
        assert [*fine.map_to(coarse)] == [bin_of(second, start) for start in (0, *first)]
    else:
        assert not fine.refines(coarse)
        with pytest.raises(ValueError, match="'a' does not refine 'b'"):
            fine.map_to(coarse)


def test_a_rule_about_the_lowest_or_highest_value_divides_it_off() -> None:
    assert ages({"all": ["0-19"]}, rules=("age == 0",)).edges == (1,)
    assert ages({"all": ["0-19"]}, rules=("age == 19",)).edges == (19,)
    assert ages({"all": ["0-19"]}, rules=("age in [0, 7, 19]",)).edges == (1, 7, 8, 19)


def test_real_atoms_end_at_the_bounds() -> None:
    table = ColumnTable(kind="real", bounds=(-1, 4.5), alternatives={"two": ["<0.5", ">=0.5"]})
    atoms = build_column("wage", table, InputTable(), [], ["<2", ">=2"]).atoms
    assert (atoms.labels, atoms.lower, atoms.upper) == (("-1-0.5", "0.5-2", "2-4.5"), (-1, 0.5, 2), (0.5, 2, 4.5))


def test_categories_are_read_by_their_texts_and_keep_their_numbers() -> None:
    column = category(numbers={"yes": 1, "no": 0, "both": 0.5})
    assert column.values == {"1": 0, "Y": 0, "0": 1, "2": 2}
    assert column.alternatives == {
        "categories": Binning(name="categories", labels=("yes", "no", "both"), numbers=(1, 0, 0.5), of_atom=(0, 1, 2))
    }


def test_a_list_of_categories_is_read_by_its_own_labels() -> None:
    assert category(categories=["no", "yes"]).values == {"no": 0, "yes": 1}


def test_grouped_categories_follow_the_order_of_the_groups_and_have_no_numbers() -> None:
    column = category(alternatives={"two": {"not yes": ["both", "no"], "yes": ["yes"]}}, numbers={"yes": 1})
    assert column.alternatives["two"] == Binning(name="two", labels=("not yes", "yes"), numbers=(None, None), of_atom=(1, 0, 0))
    assert group_binning(column, {"a": ["yes", "no"], "b": ["both"]}).of_atom == (0, 0, 1)


def test_numeric_bins_have_an_order_and_categories_only_when_it_is_said() -> None:
    assert ages({"all": ["0-19"]}).ordered
    assert not category().ordered
    assert category(ordered=True).ordered


def test_the_policy_of_a_column_wins_over_that_of_the_file() -> None:
    for_file = InputTable(missing="drop", outside="drop")
    table = ColumnTable(kind="real", bounds=(0, 1), alternatives={"all": ["0 to 1"]})
    inherited = build_column("wage", table, for_file, [], None)
    assert (inherited.missing, inherited.outside) == ("drop", "drop")
    own = build_column("wage", table.model_copy(update={"missing": "error", "outside": "clip"}), for_file, [], None)
    assert (own.missing, own.outside) == ("error", "clip")


@pytest.mark.parametrize(
    ("policy", "changes", "outside"),
    [
        (InputTable(), {}, "drop"),
        (InputTable(outside="clip"), {}, "drop"),
        (InputTable(outside="error"), {}, "error"),
        (InputTable(), {"outside_label": "others"}, "bin"),
        (InputTable(outside="error"), {"outside_label": "b"}, "bin"),
        (InputTable(), {"outside": "error"}, "error"),
    ],
)
def test_a_text_that_is_not_listed_has_no_nearest_category(policy: InputTable, changes: dict[str, str], outside: str) -> None:
    table = ColumnTable(kind="category", categories=["a", "b"], **changes)
    found = build_column("answer", table, policy, [], None)
    assert found.outside == outside
    assert found.outside_label == (changes.get("outside_label") or "")


def test_by_default_no_value_refuses_a_file() -> None:
    """Else one record could bring about a statement that nothing pays for."""
    numbers = ColumnTable(kind="integer", bounds=(1, 12), alternatives={"months": ["1..12"]})
    texts = ColumnTable(kind="category", categories=["a", "b"])
    found = [build_column(name, table, InputTable(), [], None) for name, table in (("month", numbers), ("answer", texts))]
    assert [(each.missing, each.outside) for each in found] == [("drop", "clip"), ("drop", "drop")]


def test_a_column_is_read_from_its_source_or_from_the_column_of_its_name() -> None:
    table = ColumnTable(kind="integer", bounds=(1, 12), alternatives={"months": ["1..12"]})
    assert build_column("month", table, InputTable(), [], None).source == "month"
    dated = table.model_copy(update={"source": "date", "part": "month"})
    assert (build_column("month", dated, InputTable(), [], None).source, dated.part) == ("date", "month")


@pytest.mark.parametrize(
    "label", ["=1+1", "+1", "-", "-x", "@SUM", "\tx", "\rx", " =1", "a;=1", "a\nb", "a\r", " ", "", "x" * 201]
)
def test_a_label_that_a_spreadsheet_could_run_or_not_show_is_refused(label: str) -> None:
    with pytest.raises(ColumnError) as caught:
        category(categories=[label, "fine"])
    assert caught.value.place == "categories"
    assert caught.value.message.startswith(f"The text {label!r} cannot be a label.")
    with pytest.raises(ColumnError) as caught:
        category(alternatives={"two": {label: ["yes"], "rest": ["no", "both"]}})
    assert caught.value.place == "alternatives.two"
    assert caught.value.message.startswith(f"The text {label!r} cannot be a label.")


def test_a_negative_number_is_a_label_and_any_text_of_the_file_a_category() -> None:
    assert category(categories={"-1": ["-"], "none": ["=1+1"]}).atoms.labels == ("-1", "none")


def test_columns_of_very_many_bins_or_categories_are_refused_before_they_fill_the_memory() -> None:
    def build(**fields: object) -> None:
        table = ColumnTable(kind="integer", bounds=(1, 19_999), **fields)
        build_column("x", table, InputTable(), [], None)

    build(alternatives={"single": ["1..19999"]})
    with pytest.raises(ColumnError, match=r"alternatives\.b: All alternatives together may have at most 20,000 bins"):
        build(alternatives={"a": ["1..19999"], "b": ["1..19999"], "c": ["=1"]})
    with pytest.raises(ColumnError, match="categories: expected at most 20,000 categories, found 20,001"):
        category(categories=[str(number) for number in range(20_001)])


@pytest.mark.parametrize(
    ("fields", "field", "found"),
    [
        ({"part": "year"}, "part", "Delete `part`: a column of categories cannot have it"),
        ({"categories": {"yes": [], "no": ["0"]}}, "categories", "The list of texts for 'yes' is empty."),
        ({"alternatives": {"two": ["yes", "no"]}}, "alternatives.two", "Write a table of groups with their"),
    ],
)
def test_what_does_not_go_with_categories_is_refused(fields: dict[str, object], field: str, found: str) -> None:
    with pytest.raises(ColumnError) as caught:
        category(**fields)
    assert caught.value.place == field
    assert caught.value.message.startswith(found)


# --- Missing values -------------------------------------------------------------------------------------------------------

BIN = InputTable(missing="bin")


@given(CUTS, CUTS, CUTS)
def test_missing_values_are_the_last_bin_alone_in_every_binning(first: list[int], second: list[int], cuts: list[int]) -> None:
    alternatives = {"a": between(first), "b": between(second)}
    table = ColumnTable(kind="integer", bounds=(0, 19), alternatives=alternatives)
    column, without = (build_column("age", table, policy, [], between(cuts)) for policy in (BIN, InputTable()))
    pairs = [(column.alternatives[name], without.alternatives[name]) for name in alternatives]
    pairs += [(column.atoms, without.atoms), (group_binning(column, between(cuts)), group_binning(without, between(cuts)))]
    for binning, plain in pairs:
        assert (binning.missing, binning.present) == (len(plain), len(plain))
        assert binning.labels == (*plain.labels, "missing")
        assert binning.numbers == (*plain.numbers, None)
        assert binning.of_atom == (*plain.of_atom, len(plain))
        assert (binning.lower, binning.upper) == (plain.lower, plain.upper)
    assert column.alternatives["a"].refines(column.alternatives["b"]) == (set(second) <= set(first))


def test_missing_values_are_a_bin_of_categories_and_of_their_groups() -> None:
    groups = {"some": ["yes", "both"], "none": ["no"]}
    column = category(
        groups, missing="bin", missing_label="not asked", alternatives={"two": {"a": ["no"], "b": ["yes", "both"]}}
    )
    assert column.atoms.labels == ("yes", "no", "both", "not asked")
    assert column.alternatives["two"].labels == ("a", "b", "not asked")
    assert column.alternatives["two"].of_atom == (1, 0, 1, 2)
    assert group_binning(column, groups).of_atom == (0, 1, 0, 2)
    assert "not asked" not in column.values


@pytest.mark.parametrize(
    "change",
    [{"of_atom": (0, 1, 1)}, {"of_atom": (0, 1, 0)}, {"of_atom": (0, 2, 1)}, {"missing": 1}, {"numbers": (None, None, 0.0)}],
)
def test_a_binning_whose_missing_bin_holds_a_value_or_has_a_number_cannot_be_made(change: dict[str, object]) -> None:
    fields = {"name": "x", "labels": ("a", "b", "gone"), "numbers": (None, None, None), "of_atom": (0, 1, 2), "missing": 2}
    assert Binning(**fields).present == 2  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs its missing bin last"):
        Binning(**(fields | change))  # type: ignore[arg-type]


def test_the_common_refinement_of_binnings_keeps_missing_values_apart() -> None:
    alternatives = {"a": {"x": ["yes"], "y": ["no", "both"]}, "b": {"x": ["no"], "y": ["yes", "both"]}}
    column = category(missing="bin", alternatives=alternatives)
    joined = join(column, list(column.alternatives.values()))
    assert joined.labels == ("yes", "no", "both", "missing")
    assert joined.missing == 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"missing": "bin", "missing_label": "both"}, r"missing_label: The label 'both' is already the label of a bin"),
        ({"missing": "bin", "missing_label": "=1"}, r"missing_label: The text '=1' cannot be a label"),
        ({"missing": "bin", "missing_label": ""}, r"missing_label: The text '' cannot be a label"),
        ({"missing_label": "gone"}, "missing_label: `missing_label` needs missing = 'bin'. Here, missing = 'drop'"),
        ({"missing": "bin", "missing_values": [" Y"]}, r"missing_values: The text ' Y' is also a text of a category"),
    ],
)
def test_what_is_wrong_with_a_bin_of_missing_values(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        category(None, **fields)


def test_a_label_of_missing_values_is_no_number() -> None:
    table = ColumnTable(kind="integer", bounds=(0, 19), alternatives={"a": ["<5", ">=5"]}, missing="bin", missing_label=">99")
    with pytest.raises(ColumnError, match=r"The label '>99' can be read as a number\. Use another label"):
        build_column("age", table, InputTable(), [], None)


@pytest.mark.parametrize("word", ["mean", "Median", "mode", "knn", "forward fill", "forward_fill", "hot-deck", "impute"])
@pytest.mark.parametrize("model", [InputTable, ColumnTable])
def test_filling_gaps_from_other_private_records_is_refused_with_the_three_ways(word: str, model: type[BaseModel]) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"missing": word} | ({"kind": "integer"} if model is ColumnTable else {}))
    message = str(caught.value)
    for way in ("'drop', which excludes the row", "released with differential privacy", "from public data"):
        assert way in message.replace("\n", " ")


# --- Dates ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"part": "month", "kind": "real"}, "part: `part` needs kind = 'integer'. Here, kind = 'real'"),
        ({"part": "month", "minus": "in"}, r"minus: With `minus`, set part = 'year' \(completed years\) or no part"),
        ({"format": "%Y"}, "format: `format` needs `part` or `minus`, and neither is set"),
        (
            {"part": "month", "format": "%d.%m.%y"},
            r"format: The date format '%d\.%m\.%y' contains %y: two digits do not determine the century",
        ),
        ({"part": "month", "format": "%Y"}, r"format: The date format '%Y' has no month"),
        ({"minus": "in", "format": "%Y-%m"}, r"format: The date format '%Y-%m' has no day"),
        ({"minus": "in", "part": "year", "format": "%Y"}, r"format: The date format '%Y' has no day"),
        ({"minus": "in", "minus_format": "%m/%Y"}, r"minus_format: The date format '%m/%Y' has no day"),
        ({"part": "year", "minus_format": "%d/%m/%Y"}, "minus_format: `minus_format` needs `minus`, which is not set"),
    ],
)
def test_what_is_wrong_with_a_column_of_dates(fields: dict[str, object], message: str) -> None:
    bins = ["<5", ">=5"]
    table = ColumnTable.model_validate({"kind": "integer", "bounds": (0, 19), "alternatives": {"a": bins}} | fields)
    with pytest.raises(ColumnError, match=message):
        build_column("x", table, InputTable(), [], None)


@pytest.mark.parametrize(("field", "value"), [("part", "month"), ("minus", "in"), ("format", "%Y")])
def test_categories_read_no_dates(field: str, value: str) -> None:
    with pytest.raises(ColumnError, match=f"{field}: Delete `{field}`: a column of categories cannot have it"):
        category(None, **{field: value})
