"""Groups of rare marks in a draft: which marks come together, the tables that tell their number, and when it is drafted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.generators.measurements import formula_by_cells, read_terms
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.column_draft import CodeDraft, ColumnDraft
from synthrelease.studio.drafting.options import MOST_OF_GROUP, MarksDraft, draft_marks
from synthrelease.studio.rehearsal.dependence import Pair
from synthrelease.studio.rehearsal.plan_race import Kept
from tests.helpers.drafts import draft, write_draft

N = 20_000
KINDS = 3


def marks(n: int, per_kind: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Marks of 1% to 2% of the rows, of kinds that come together: m0, m3, m6 ... are of the first kind."""
    kinds = random.normal(size=(n, KINDS))
    scores = [1.4 * kinds[:, number % KINDS] + random.normal(size=n) for number in range(KINDS * per_kind)]
    return {f"m{number}": score > np.quantile(score, 0.98 + 0.01 * random.random()) for number, score in enumerate(scores)}


def column(name: str, rows: np.ndarray, labels: tuple[str, str] = ("0", "1")) -> ColumnDraft:
    codes = {label: CodeDraft(label=label, rows=int((rows == place).sum())) for place, label in enumerate(labels)}
    return ColumnDraft(name=name, source=name, kind="code", remark="", codes=codes)


def table_of(columns: dict[str, np.ndarray]) -> Counts:
    layout = Layout(columns=tuple(columns), sizes=(2,) * len(columns))
    return Counts.of(layout, [rows.astype(np.int64) for rows in columns.values()])


def test_marks_of_a_kind_are_one_group_and_others_are_in_none() -> None:
    random = np.random.default_rng(7)
    found = marks(N, 4, random)
    found |= {"alone": random.random(N) < 0.01, "half": random.random(N) < 0.5, "rarely_0": ~found["m0"]}
    columns = [column(name, rows, ("no", "yes") if name == "m1" else ("0", "1")) for name, rows in found.items()]
    drafted = draft_marks(columns, table_of(found), [("m0", "m3"), ("m1", "m4"), ("m2", "m5"), ("half", "m2")])
    assert drafted is not None
    assert {frozenset(group) for group in drafted.groups.values()} == {
        frozenset({"m0", "m3", "m6", "m9", "rarely_0"}),
        frozenset({"m1", "m4", "m7", "m10"}),
        frozenset({"m2", "m5", "m8", "m11"}),
    }
    assert {name: label for name, label in drafted.yes.items() if label != "1"} == {"m1": "yes", "rarely_0": "0"}


def test_only_groups_with_a_lost_pair_are_drafted() -> None:
    """Where a model keeps all pairs, or loses others, nothing is tried."""
    found = marks(N, 4, np.random.default_rng(7))
    columns, table = [column(name, rows) for name, rows in found.items()], table_of(found)
    assert draft_marks(columns, table, []) is None
    assert draft_marks(columns, table, [("m0", "m1")]) is None
    drafted = draft_marks(columns, table, [("m0", "m3")])
    assert drafted is not None
    assert list(drafted.groups.values()) == [("m0", "m3", "m6", "m9")]


def test_marks_that_avoid_each_other_are_no_group() -> None:
    one = np.arange(N) % 50 == 0
    found = {"a": one, "b": np.roll(one, 1), "c": np.roll(one, 2)}
    assert draft_marks([column(name, rows) for name, rows in found.items()], table_of(found), [("a", "b")]) is None


def test_a_column_that_has_the_name_of_a_group_keeps_it() -> None:
    found = marks(N, 4, np.random.default_rng(7))
    found["marks_1"] = np.random.default_rng(8).random(N) < 0.5
    drafted = draft_marks([column(name, rows) for name, rows in found.items()], table_of(found), [("m0", "m3")])
    assert drafted is not None
    assert list(drafted.groups) == ["marks_1_2"]


def test_one_table_of_a_group_is_measured_in_place_of_those_of_its_indicators() -> None:
    drafted = MarksDraft(groups={"which": ("a", "b", "c")}, yes={"a": "1", "b": "1", "c": "1"})
    raced = ("a:b", "age:a", "age", "a", "b", "c")
    layout = Layout(columns=("age", "a", "b", "c", "which"), sizes=(8, 2, 2, 2, 8))
    terms = read_terms(formula_by_cells(drafted.tables(raced), layout.columns))
    weights = {" ".join(term.columns): float(weight) for term in terms for _, weight in term.weighted(layout)}
    assert set(weights) == {"age a", "age", "which"}
    assert weights["which"] == pytest.approx(4 * np.sqrt(8 * 4 / 2), rel=0.05)
    assert weights["age a"] == pytest.approx(np.sqrt(8 * 2), rel=0.05)
    assert [term.columns for term in read_terms(drafted.only_measured)] == [("a",), ("b",), ("c",)]


def test_no_group_has_more_indicators_than_the_setting_allows() -> None:
    """Twenty indicators of one kind become two groups."""
    kind = np.random.default_rng(5).random(N) < 0.02
    found = {f"m{number}": kind & (np.random.default_rng(number).random(N) < 0.9) for number in range(20)}
    drafted = draft_marks([column(name, rows) for name, rows in found.items()], table_of(found), [("m0", "m1")])
    assert drafted is not None
    assert max(map(len, drafted.groups.values())) <= MOST_OF_GROUP


def test_a_draft_is_better_that_loses_fewer_pairs_and_keeps_as_much() -> None:
    one, other = (
        Pair(columns=("a", name), distance=0.0, largest_cell=0.0, cramers_v=0.2, beyond_chance=0.0) for name in ("b", "c")
    )
    before = Kept(share=0.9, error=0.0, off=0.1, independent=0.2, sample=0.1, strong=0, lost=(one, other))
    assert replace(before, lost=(one,)).better(before)
    assert not before.better(before)
    assert not replace(before, share=0.8, lost=()).better(before)
    noisy = replace(before, share=0.8, lost=(), error=0.2, fits=4)
    assert noisy.better(before)  # the difference is within a standard error, 0.2 / 2
    assert not replace(before, share=float("nan"), lost=()).better(before)
    assert "The fits lost 1 pair of rare values that occur together" in replace(before, lost=(one,)).words


def write_file(path: Path, random: np.random.Generator) -> Path:
    n, found = 7_000, marks(7_000, 3, random)
    columns = {"age": random.integers(0, 9, n), "sex": random.choice(["f", "m"], n), **{k: v * 1 for k, v in found.items()}}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_init_drafts_numbers_of_marks_and_names_the_pairs_that_it_still_loses(tmp_path: Path) -> None:
    """And without the option it loses more of them, at the same epsilon."""
    file = write_file(tmp_path / "marks.csv", np.random.default_rng(11))
    configuration, _, found = write_draft("ill", file, tmp_path, unit="row")
    spec = load_spec(configuration)
    groups = [column for column in spec.schema.columns if column.counts is not None]
    assert {frozenset(column.counts or {}) for column in groups} <= {
        frozenset(f"m{number}" for number in range(kind, KINDS * 3, KINDS)) for kind in range(KINDS)
    }
    assert groups
    assert spec.plan.total.epsilon <= spec.budget.limit
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("synthrelease.studio.drafting.draft.draft_marks", lambda *given: None)
        without = draft("ill", file, unit="row")
    assert "[marks]" not in without.configuration
    lost = [len(each.criteria.lost) + len(each.criteria.faint) for each in (found, without)]
    assert lost[0] < lost[1]
