"""Groups of indicators: the column of each, what is refused, rows that follow it exactly, and a release that is checked."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_plan import option_problems
from synthrelease.bundle.write import write_bundle
from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import FillerRows, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import SpecError
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background, MeasuringGenerator
from synthrelease.generators.counters import Counters
from synthrelease.privacy.charges import GENERATION, Meter, gaussian
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.options import MarksGroupPart, MarksPart
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.alone import rebuild
from synthrelease.published.verify.options import KnownFiles, of_marks
from synthrelease.releasing.dry_run import made_up
from synthrelease.releasing.release import release
from synthrelease.settings import wide
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec

CONFIG = """
title = "Patients"
acceptance = "acceptance.toml"

[columns.sex]
kind = "category"
categories = ["f", "m"]

[columns.infarct]
kind = "code"
codes = { "0" = "0", "1" = "1" }

[columns.failure]
kind = "category"
categories = { No = ["n", "no"], Yes = ["y", "yes"] }
missing = "bin"

[columns.stroke]
kind = "category"
categories = ["none", "old", "acute"]
outside = "bin"

[columns.alive]
kind = "category"
categories = ["yes", "no"]

[marks]
groups = { heart = ["infarct", "failure", "stroke", "alive"], two = ["failure", "infarct"] }
most = 3
yes = { stroke = ["old", "acute"], alive = ["no"] }

[input]
outside = "drop"
rows = 900

[[generators]]
family = "marginals"
tables = "sex + heart:infarct + heart:failure + heart:stroke + heart:alive + two"

[[projections]]
kind = "minimum_count"
minimum_count = 1

[budget]
generation = 4
limit = 12

[selection]
stop_probability = 0.01
measurements = "shared"
publish_measurements = true
test = "joint"
test_epsilon = 1
"""
ACCEPTANCE = """
[[criteria]]
name = "shares"
kind = "absolute_marginal_error"
tables = ["sex:heart"]
threshold = 0.5
epsilon = 0.5
"""
MARKS = {"infarct": {"1"}, "failure": {"Yes"}, "stroke": {"old", "acute"}, "alive": {"no"}}
GROUPS = {"heart": ["infarct", "failure", "stroke", "alive"], "two": ["failure", "infarct"]}
TEXTS = {
    "sex": ["f", "m"],
    "infarct": ["0", "1", " 1.0"],
    "failure": ["n", "no", "y", "yes", ""],
    "stroke": ["none", "old", "acute", "unheard of"],
    "alive": ["yes", "no"],
}
MEANS = {" 1.0": "1", "n": "No", "no": "No", "y": "Yes", "yes": "Yes"}


def write(folder: Path, changes: dict[str, str] | None = None) -> Path:
    text = CONFIG
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    (folder / "patients.toml").write_text(text, encoding="utf-8")
    (folder / "acceptance.toml").write_text(ACCEPTANCE, encoding="utf-8")
    return folder / "patients.toml"


def slow_set(known: dict[str, str], group: str) -> str:
    """The category of a row by the words of the settings: its indicators in the order of the group, if fewer than 3."""
    names = [name for name in GROUPS[group] if known[name] in MARKS[name]]
    return "3 or more" if len(names) >= 3 else " + ".join(names or ["none of them"])


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write(tmp_path_factory.mktemp("patients")))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random, path = np.random.default_rng(1), tmp_path_factory.mktemp("data") / "patients.csv"
    rows = [",".join(str(random.choice(texts)) for texts in TEXTS.values()) for _ in range(1000)]
    path.write_text("\n".join([",".join(TEXTS), *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spec: ReleaseSpec, data: Path) -> Path:
    found = release(spec, data)
    assert found is not None
    return write_bundle(found, tmp_path_factory.mktemp("released") / "out")


@pytest.fixture(scope="module")
def document(folder: Path) -> ReleaseDocument:
    return read_strictly((folder / "release.json").read_bytes())


def sets_follow(spec: ReleaseSpec, rows: Counts) -> np.ndarray:
    """Whether each row over atomic cells has the indicators that its columns name."""
    labels = [[column.atoms.labels[bin_] for bin_ in bins] for column, bins in zip(spec.schema.columns, rows.bins, strict=True)]
    known = (dict(zip(spec.schema.names, row, strict=True)) for row in zip(*labels, strict=True))
    return np.array([all(row[group] == slow_set(row, group) for group in GROUPS) for row in known])


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_the_rules_allow_just_the_rows_with_the_indicators_that_a_column_names(most: int, tmp_path: Path) -> None:
    """Every row over atomic cells, and what a model has as exact zeros."""
    spec = load_spec(write(tmp_path, {"most = 3": f"most = {most}"}))
    rows = all_rows(spec.synthetic)
    allowed = ~spec.synthetic.forbidden(rows.bins)
    if most == 3:
        assert np.array_equal(allowed, sets_follow(spec, rows))
    known = len(all_rows(Plausibility(layout=spec.schema.layout.subset(range(5)), masks=())))
    assert allowed.sum() == known  # one value of both columns for each row of the file
    counters = Counters.of(spec.synthetic, 2**16)
    model = Plausibility(layout=counters.wide, masks=(*spec.synthetic.masks, *counters.masks))
    found = counters.added(rows)
    found = found.keep(~model.forbidden(found.bins))
    kept = zip(*(found.bins[place].tolist() for place in range(7)), strict=True)
    assert sorted(kept) == sorted(zip(*(each[allowed].tolist() for each in rows.bins), strict=True))


def test_rows_of_a_file_and_rows_of_nobody_have_the_indicators_that_a_column_names(spec: ReleaseSpec, data: Path) -> None:
    """Rows of nobody fill a table up, and a dry run tries them. Otherwise a model could not hold what was measured."""
    read = read_public(data, spec.schema, spec.input, spec.raw)
    for rows in (read, FillerRows(spec.raw).first(500), made_up(spec)):
        assert rows.total >= 500
        assert sets_follow(spec, rows).all()
    assert len(np.unique(read.digits(spec.schema.layout.index("heart")))) == 12


def test_a_row_with_other_indicators_is_found(document: ReleaseDocument) -> None:
    rebuilt = rebuild(document)
    rows = all_rows(rebuilt.plausibility)
    right = rows.keep(~rebuilt.plausibility.forbidden(rows.bins))
    bins, part = list(right.bins), document.parts["marks"]
    assert isinstance(part, MarksPart)
    bins[5] = np.where(np.arange(len(right)) == 7, (bins[5] + 1) % 12, bins[5])
    for table, wrong in ((right, 0), (Counts.of(right.layout, bins, right.counts), 1)):
        labels = [binning.labels for binning in rebuilt.transformation.binnings]
        known = KnownFiles(
            files={}, table=ReleasedTable(counts=table, labels=labels, ordered=(False,) * 7), rules=rebuilt.plausibility
        )
        assert len(of_marks(part, document, known).problems) == wrong


def all_rows(plausibility: Plausibility) -> Counts:
    """Every row of a small layout, once."""
    sizes = plausibility.layout.sizes
    return Counts.of(plausibility.layout, list(np.array(list(product(*map(range, sizes)))).T))


def test_rows_of_a_file_have_the_indicators_of_their_texts(spec: ReleaseSpec, data: Path) -> None:
    """Against texts read one row at a time; also where a value is missing, or is no listed one."""
    transformation = spec.space[0].transformation
    read = read_public(data, spec.schema, spec.input, spec.raw).merge(transformation.layout, transformation.maps)
    header, *lines = data.read_text(encoding="utf-8").splitlines()
    rows = [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]
    known = [
        {name: MEANS.get(text, text) if name in ("infarct", "failure") else text for name, text in row.items()} for row in rows
    ]
    for group in GROUPS:
        counted = Counter(slow_set(row, group) for row in known)
        labels = transformation.binning(group).labels
        found = dict(zip(labels, read.marginal([spec.schema.layout.index(group)]).tolist(), strict=True))
        assert {label: rows_ for label, rows_ in found.items() if rows_} == counted


def test_a_column_of_indicators_is_no_column_of_the_file_and_costs_nothing(spec: ReleaseSpec) -> None:
    assert spec.schema.names == ("sex", "infarct", "failure", "stroke", "alive", "heart", "two")
    assert [spec.schema[name].sources for name in GROUPS] == [(), ()]
    assert not spec.raw.masks
    assert not spec.raw.records
    assert {charge.name for charge in spec.plan.once} == {"generation"}


def test_a_replaced_row_is_one_replaced_row_with_its_indicators_too(spec: ReleaseSpec, tmp_path: Path) -> None:
    """Theory 1.8, reading row by row: whatever stands in the other rows, so that a table moves by one row down and one up."""
    kept = {name: texts for name, texts in TEXTS.items() if name != "sex"}
    every = list(product(*kept.values()))
    random, path = np.random.default_rng(2), tmp_path / "rows.csv"

    def read(*rows: tuple[str, ...]) -> Counts:
        path.write_text("\n".join([",".join(TEXTS), *(",".join(("f", *row)) for row in rows)]) + "\n", encoding="utf-8")
        return read_public(path, spec.schema, spec.input, spec.raw)

    alone = {row: tuple(int(bins[0]) for bins in read(row).bins) for row in every}
    others = [every[place] for place in random.integers(len(every), size=40)]
    for place in random.integers(len(every), size=30):
        row = every[place]
        found = read(*others[:20], row, *others[20:])
        cells = Counter({tuple(map(int, cell)): int(n) for *cell, n in zip(*found.bins, found.counts, strict=True)})
        assert cells == Counter([alone[row], *(alone[other] for other in others)])


@pytest.mark.parametrize("family", ["adaptive", "adaptive_pure", "marginals", "gaussian_marginals"])
def test_no_row_of_a_model_has_other_indicators_than_its_column_names(family: str, spec: ReleaseSpec, data: Path) -> None:
    tables = {"tables": "sex:heart + heart:infarct + heart:alive + two:stroke"} if family.endswith("marginals") else {}
    chosen, transformation = GENERATORS[family].model_validate(tables), spec.space[0].transformation
    plausibility = spec.synthetic.merge(transformation)
    rows = read_public(data, spec.schema, spec.input, spec.raw)
    charge = gaussian(GENERATION, Fraction(1), "test") if chosen.gaussian else chosen.charge(Fraction(1))
    private = PrivateCounts(rows, Meter([charge])).rehearsed(SeededEntropy(5)).on(transformation)
    background = Background(plausibility=plausibility)
    if isinstance(chosen, MeasuringGenerator):
        model = chosen.model(chosen.measure(private, charge), background)
    else:
        model = chosen.fit(private, charge, background)
    drawn = model.sample(3000, np.random.default_rng(3))
    assert drawn.total == 3000
    assert not plausibility.forbidden(drawn.bins).any()
    assert len(np.unique(drawn.digits(plausibility.layout.columns.index("heart")))) == 12


def test_a_release_is_verified(folder: Path, document: ReleaseDocument) -> None:
    found = verify_bundle(folder)
    assert found.passed, [check for check in found.checks if check.problems]
    (check,) = [check for check in found.checks if check.name == "marks"]
    assert check.found.startswith("rows with an indicator: ")
    part = document.parts["marks"]
    assert isinstance(part, MarksPart)
    wanted = {group: {name: MARKS[name] for name in marks} for group, marks in GROUPS.items()}
    assert {each.column: {name: set(labels) for name, labels in each.marks.items()} for each in part.groups} == wanted
    card = (folder / "README.html").read_text(encoding="utf-8")
    assert "Groups of indicators" in card
    assert "count(" not in card  # the section says what the rules say
    assert "The indicators of two: failure is Yes; infarct is 1." in card
    assert "stroke is acute or old" in card or "stroke is old or acute" in card
    assert [column.source for column in document.columns if column.name in GROUPS] == ["", ""]


def test_other_groups_than_those_of_the_specification_are_found(document: ReleaseDocument, spec: ReleaseSpec) -> None:
    part = document.parts["marks"]
    assert isinstance(part, MarksPart)
    assert list(option_problems(document, spec)) == []
    group = part.groups[0]
    other = MarksGroupPart(column=group.column, marks={**group.marks, "alive": ["yes"]})
    changed = MarksPart(groups=[other, *part.groups[1:]])
    expected = ["marks.groups[0].marks.alive[0]: release.json has 'yes', the specification gives 'no'"]
    assert list(option_problems(document.model_copy(update={"marks": changed}), spec)) == expected


WRONG = {
    "no such column": ({'two = ["failure", "infarct"]': 'two = ["failure", "infart"]'}, "marks.groups", "'infarct'"),
    "a name that is taken": ({"two = [": "sex = ["}, "marks.groups.sex", "There is already a column 'sex'"),
    "marks that nobody knows": ({', alive = ["no"]': ""}, None, ""),
    "no mark": ({'yes = { stroke = ["old", "acute"], ': "yes = { "}, "marks.yes", "the categories of 'stroke'"),
    "a strange mark": ({'["old", "acute"]': '["older"]'}, "marks.yes.stroke", "'older'"),
    "nothing but marks": (
        {'alive = ["no"]': 'alive = ["no", "yes"]'},
        "marks.yes.alive",
        "For at least one category of 'alive', the indicator must not apply",
    ),
    "marks of no group": (
        {'alive = ["no"] }': 'alive = ["no"], sex = ["m"] }'},
        "marks.yes.sex",
        "'sex' is not a column of a group",
    ),
    "too many to name": ({'two = ["failure", "infarct"]': f"two = {[f'i{n}' for n in range(17)]}"}, "marks.groups", "2 to 16"),
    "one column": ({'two = ["failure", "infarct"]': 'two = ["failure"]'}, "marks.groups", "2 to 16"),
    "a column with numbers": ({"most = 3": 'most = 3\nvalue = "number"'}, "marks.value", "value"),
    "another family": (
        {
            'family = "marginals"\ntables = "sex + heart:infarct + heart:failure + heart:stroke + heart:alive + two"': (
                'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'
            ),
            'measurements = "shared"\npublish_measurements = true\n': "",
        },
        "generators[0].family",
        "cannot follow rules that count",
    ),
    "bins of both": (
        {'outside = "bin"\n': 'outside = "bin"\nalternatives.two = { fresh = ["acute"], all = ["none", "old"] }\n'},
        "transformations.stroke",
        "merges categories with and without the indicator",
    ),
    "copies that could fill in no mark": ({"[input]": "[imputation]\ncopies = 2\n\n[input]"}, "imputation", "'heart' counts "),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_go_together_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    changes, place, said = WRONG[name]
    if place is None:  # the only category that is called yes is the mark
        assert load_spec(write(tmp_path, changes)).schema["heart"].counts["alive"] == {0}  # type: ignore[index]
        return
    with pytest.raises(SpecError) as raised:
        load_spec(write(tmp_path, changes))
    problems = [problem for problem in raised.value.problems if problem.path == place]
    assert problems, raised.value
    assert any(said in f"{problem.message} {problem.suggestion}" for problem in problems), problems


def test_a_mistake_in_a_rule_of_an_option_stands_at_that_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "_is_marked", lambda name, marks, may_be_missing: f"{name} == 'nobody'")
    with pytest.raises(SpecError) as raised:
        load_spec(write(tmp_path, {"[input]": "[[rules]]\nnever = \"sex == 'x'\"\n\n[input]"}))
    own, *added = (problem.path for problem in raised.value.problems)
    assert own == "rules[0].never"
    assert {path.partition(",")[0] for path in added} == {"marks"}


def test_gaps_of_columns_that_are_no_indicators_are_filled(tmp_path: Path) -> None:
    changes = {'missing = "bin"\n': "", 'categories = ["f", "m"]': 'categories = ["f", "m"]\nmissing = "bin"'}
    assert load_spec(write(tmp_path, changes | {"[input]": "[imputation]\ncopies = 2\n\n[input]"})).parts["imputation"]


def test_where_nothing_else_leaves_rows_out_a_column_of_indicators_does_not(tmp_path: Path, data: Path) -> None:
    """A row without a bin in its columns has no indicators; where each has one no row is without, and none need be counted."""
    whole = {
        'outside = "drop"\nrows = 900': 'missing = "bin"',
        'categories = ["f", "m"]': 'categories = ["f", "m"]\noutside = "bin"',
        'codes = { "0" = "0", "1" = "1" }': 'codes = { "0" = "0", "1" = "1" }\noutside = "bin"',
        'Yes = ["y", "yes"] }': 'Yes = ["y", "yes"] }\noutside = "bin"',
        'categories = ["yes", "no"]': 'categories = ["yes", "no"]\noutside = "bin"',
    }
    spec = load_spec(write(tmp_path, whole))
    assert (spec.rows.way, spec.rows.epsilon) == ("whole", None)
    found = release(spec, data)
    assert found is not None
    report = verify_bundle(write_bundle(found, tmp_path / "out"))
    assert report.passed, report
    assert found.candidate.n == 1000
    drops = whole | {'categories = ["f", "m"]': 'categories = ["f", "m"]\noutside = "drop"'}
    assert load_spec(write(tmp_path, drops)).rows.way == "counted"
