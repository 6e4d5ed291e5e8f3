"""What every generator, criterion and projection owes, checked for each entry of GENERATORS, CRITERIA and PROJECTIONS.

A new entry is picked up by itself, with its examples (`tests.examples`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.criteria import CRITERIA, explain, explanation_of
from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.drafts import DRAFTS, CriterionDraft, FileColumn, FileFacts, Partner
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import PublicCounts, PublicFacts, Score
from synthrelease.criteria.scoring import fitted_before, scores_of
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import BudgetError, RejectedRound
from synthrelease.generators import GENERATORS, candidate
from synthrelease.generators.base import Background, Generator, Model
from synthrelease.generators.candidate import sample_plausible
from synthrelease.generators.projections import PROJECTIONS, Projection
from synthrelease.privacy.charges import Charge, Meter, exact, mechanism
from tests.examples import COLUMNS, EXAMPLES, examples
from tests.helpers.facts import facts_of
from tests.helpers.small import World, layout_of

pytestmark = pytest.mark.slow

TO_LEARN = {"dpgan": {"steps": 400}}
"""What the example of a generator needs more of before it knows the table."""
WORLD = World(COLUMNS)
RULES_FREE = Plausibility(layout=WORLD.layout, masks=())
ROWS = [int(code) for code in np.random.default_rng(7).choice(24, size=300, p=np.arange(24, 0, -1) / 300)]


def of_a_library(name: str) -> bool:
    return name in GENERATORS and GENERATORS[name].library_megabytes > 0


def takes_long(name: str) -> bool:
    return of_a_library(name) or name in TO_LEARN


def numbered(registry: Mapping[str, object], family: str) -> list[Any]:
    """(name, number of the example) for every entry of the registry; -1 where it has no example."""
    return [
        pytest.param(
            name,
            i,
            id=f"{name}-{i}" if i >= 0 else f"{name}-without-example",
            marks=[pytest.mark.slow] if takes_long(name) else [],
        )
        for name in registry
        for i in (range(len(examples(family, name))) if examples(family, name) else [-1])
    ]


def generators_with(names: str, cases: Mapping[str, tuple[object, ...]], of_library: Sequence[str]) -> pytest.MarkDecorator:
    """Every example of a generator with every case; the first of a library or of networks, whose fits take long, with some."""
    return pytest.mark.parametrize(
        ("name", "number", *names.split()),
        [
            pytest.param(*each.values, *case, id=f"{word}-{each.id}", marks=each.marks)
            for each in numbered(GENERATORS, "generators")
            for word, case in cases.items()
            if (word in of_library and each.values[1] <= 0) or not takes_long(str(each.values[0]))
        ],
    )


def example(family: str, name: str, number: int) -> Any:
    if number < 0:
        pytest.fail(f"{name!r} has no example: add one to tests/examples/{family}.py")
    return examples(family, name)[number]


class Witness(Meter):
    """A meter that writes down what was spent."""

    def __init__(self, planned: Sequence[Charge]):
        super().__init__(planned)
        self.spent: list[Charge] = []

    def take(self, charge: Charge) -> None:
        super().take(charge)
        self.spent.append(charge)


class Untouchable:
    """Stands where the private counts stand; writes down who looked at it."""

    def __init__(self) -> None:
        self.looked_at: list[str] = []

    def __getattr__(self, name: str) -> object:
        self.looked_at.append(name)
        raise AssertionError("private counts were read")


def guarded_door(private: PrivateCounts) -> Untouchable:
    """Replace the counts behind the door; n and the layout, which are public, stay."""
    guard = Untouchable()
    private._Door__counts = guard  # type: ignore[attr-defined]
    return guard


def test_an_entry_without_an_example_fails_with_advice() -> None:
    (missing,) = numbered({"new": object()}, "criteria")
    with pytest.raises(pytest.fail.Exception, match="'new' has no example: add one to tests/examples/criteria.py"):
        example("criteria", *missing.values)


@pytest.mark.parametrize(
    ("family", "registry"), [("generators", GENERATORS), ("criteria", CRITERIA), ("projections", PROJECTIONS)]
)
def test_no_example_is_left_over(family: str, registry: Mapping[str, object]) -> None:
    assert set(EXAMPLES[family]) <= set(registry)


# --- What stands on every class

FACTS: dict[type, tuple[tuple[str, ...], dict[str, str]]] = {
    Explanation: (
        ("sentence", "figure_unit"),
        {"public_sensitivity": "no_sensitivity", "known_error": "no_bounds", "offender": "no_offender"},
    ),
    Generator: (("words", "peak_cells"), {"draft": "no_draft"}),
    Projection: (("sentence", "in_short", "asked_count", "promised_count"), {"draft": "no_draft"}),
}
"""For each kind of class: what it must say, and what it must say or give a reason for."""
EXPLANATIONS = {kind: explanation_of(kind) for kind in CRITERIA}
IN_ITS_OWN_WORDS = {"sentence", "words"}
OF_ROWS = {"figure_unit", "public_sensitivity"}
"""What is said of every share of the rows."""


def lacking(model: type, base: type, *, counts_rows: bool = False) -> list[str]:
    """The public facts that a class neither states nor gives a reason for."""

    def states(name: str) -> bool:
        if counts_rows and name in OF_ROWS:
            return True
        found = inspect.getattr_static(model, name, None)
        own = name not in IN_ITS_OWN_WORDS or name in vars(model)
        return own and bool(found) and found is not inspect.getattr_static(base, name, None)

    said, or_reason = FACTS[base]
    missing = [name for name in said if not states(name)]
    return missing + [name for name, reason in or_reason.items() if not states(name) and not getattr(model, reason)]


@pytest.mark.parametrize(
    ("name", "model", "base"),
    [
        pytest.param(name, model, base, id=name)
        for base, registry in (
            (Explanation, {kind: explanation_of(kind) for kind in CRITERIA}),
            (Generator, GENERATORS),
            (Projection, PROJECTIONS),
        )
        for name, model in registry.items()  # type: ignore[attr-defined]
    ],
)
def test_every_public_fact_stands_on_the_class(name: str, model: type, base: type) -> None:
    assert lacking(model, base, counts_rows=base is Explanation and CRITERIA[name].counts_rows) == []


def test_a_class_that_leaves_a_fact_out_is_found() -> None:
    class Silent(Explanation[Criterion]):
        pass

    class Excused(Explanation[Criterion]):
        no_sensitivity = "It is a test."
        no_bounds = "It is a test."
        no_offender = "It is a test."

        def figure_unit(self, facts: PublicFacts) -> str:
            return ""

        def sentence(self, facts: PublicFacts) -> str:
            return "A test."

    class InOthersWords(Excused):
        """A class built on another one must say itself what its figure is."""

    class Family(Generator):
        words = ""

    class Kind(Projection):
        no_draft = "It is a test."

    assert lacking(Silent, Explanation) == ["sentence", "figure_unit", "public_sensitivity", "known_error", "offender"]
    assert lacking(Silent, Explanation, counts_rows=True) == ["sentence", "known_error", "offender"]
    assert lacking(Excused, Explanation) == []
    assert lacking(InOthersWords, Explanation) == ["sentence"]
    assert lacking(Family, Generator) == ["words", "peak_cells", "draft"]
    assert lacking(Kind, Projection) == ["sentence", "in_short", "asked_count", "promised_count"]


# --- Generators

each_generator = pytest.mark.parametrize(("name", "number"), numbered(GENERATORS, "generators"))
BUDGET = exact("1.5")
OTHER = mechanism("of something else", exact(1), "")


@pytest.fixture(autouse=True)
def few_steps_of_the_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """mbi fits in thousands of steps, some seconds each time; a hundred are enough for the contract. The length of the first is
    compiled for a while: one that is too long is halved until it is none."""
    if of_a_library(request.node.callspec.params.get("name", "") if hasattr(request.node, "callspec") else ""):
        pytest.importorskip("snsynth", reason="needs the extra smartnoise")
        estimation = pytest.importorskip("mbi.estimation", reason="needs the extra smartnoise")
        fit = estimation.mirror_descent
        monkeypatch.setattr("mbi.marginal_loss.calculate_l2_lipschitz", lambda *given: 0.01)
        monkeypatch.setattr(
            estimation, "mirror_descent", lambda *given, iters, **more: fit(*given, iters=min(iters, 100), **more)
        )


def make_generator(name: str, number: int, **more: Any) -> Generator:
    return GENERATORS[name].model_validate(example("generators", name, number) | more)


def make_brief(name: str, number: int) -> Generator:
    """The example with few steps of learning, where it takes steps: for what holds after any number of them."""
    return make_generator(name, number, **({"steps": 5} if "steps" in example("generators", name, number) else {}))


def fitted(generator: Generator, world: World, rows: Sequence[int], plausibility: Plausibility, epsilon: Fraction) -> Model:
    charge = generator.charge(epsilon)
    return generator.fit(world.private(rows, [charge]), charge, Background(plausibility=plausibility))


def witnessed(generator: Generator, charge: Charge) -> tuple[Model, Witness]:
    """A model, and what was spent on it, where another charge was planned, too."""
    witness = Witness([charge, OTHER])
    return generator.fit(PrivateCounts(WORLD.counts(ROWS), witness), charge, Background(plausibility=RULES_FREE)), witness


@cache
def fitted_once(name: str, number: int) -> tuple[Model, Witness]:
    """A model that several tests look at, and what was spent on it."""
    generator = make_generator(name, number)
    return witnessed(generator, generator.charge(BUDGET))


@each_generator
def test_a_generator_is_found_under_its_family_name(name: str, number: int) -> None:
    generator = make_generator(name, number)
    assert generator.family == name
    assert generator.guarantee in ("pure", "zCDP", "approximate")


@generators_with("epsilon", {"0.25": ("0.25",), "1.5": ("1.5",), "4": ("4",)}, of_library=("1.5",))
def test_a_generator_charges_what_it_was_given_and_spends_it_once(name: str, number: int, epsilon: str) -> None:
    generator = make_generator(name, number)
    charge = generator.charge(exact(epsilon))
    if generator.guarantee == "zCDP":
        assert charge.renyi is not None
        assert 0 <= 1 - charge.renyi.rho / exact(epsilon) < 1e-9
    else:
        assert charge.epsilon == exact(epsilon)
        assert (charge.delta == 0) == (generator.guarantee == "pure")
    assert charge.because
    _, witness = fitted_once(name, number) if exact(epsilon) == BUDGET else witnessed(generator, charge)
    assert witness.spent == [charge]
    with pytest.raises(BudgetError):
        witness.take(charge)
    witness.take(OTHER)  # nobody else's charge was touched


@each_generator
def test_a_fit_that_was_not_planned_raises_before_reading(name: str, number: int) -> None:
    generator = make_generator(name, number)
    charge, smaller = generator.charge(BUDGET), generator.charge(BUDGET / 2)
    for planned in ([], [smaller]):
        private = WORLD.private(ROWS, planned)
        guard = guarded_door(private)
        with pytest.raises(BudgetError):
            generator.fit(private, charge, Background(plausibility=RULES_FREE))
        assert guard.looked_at == []


@each_generator
def test_sampling_is_free_and_gives_exactly_the_rows_asked_for_inside_the_layout(name: str, number: int) -> None:
    model, witness = fitted_once(name, number)
    before = [*witness.spent]
    for n in (1, 2, 7, len(ROWS), 5000):
        table = model.sample(n, np.random.default_rng(n))
        assert table.total == n
        assert table.layout == WORLD.layout
        assert np.all((table.codes >= 0) & (table.codes < WORLD.layout.n_cells))
        assert np.all(table.counts > 0)
    assert witness.spent == before


@each_generator
def test_samples_differ_between_draws_and_repeat_with_the_generator(name: str, number: int) -> None:
    model, _ = fitted_once(name, number)
    tables = [model.sample(100, np.random.default_rng(seed)).dense() for seed in (0, 1, 2, 3, 0)]
    assert {table.shape for table in tables} == {(24,)}
    assert np.array_equal(tables[0], tables[4])
    assert any(not np.array_equal(tables[0], table) for table in tables[1:4])


@each_generator
def test_two_fits_of_the_same_table_differ(name: str, number: int) -> None:
    """There is noise: at a small budget no two fits give the same sample. Of a library, whose fits take long, the one that
    other tests look at is the first."""
    generator = make_brief(name, number)
    again = (fitted(generator, WORLD, ROWS, RULES_FREE, BUDGET if of_a_library(name) else exact("0.1")) for _ in range(4))
    models = chain([fitted_once(name, number)[0]], again) if of_a_library(name) else again
    samples = (model.sample(300, np.random.default_rng(0)).dense() for model in models)
    first = next(samples)
    assert any(not np.array_equal(first, sample) for sample in samples)  # fits until one differs


DEGENERATE = {"one record": [5], "first cell": [0] * 40, "last cell": [23] * 3, "two corners": [0, 23]}


@generators_with(
    "rows epsilon",
    {f"{word}-{epsilon}": (rows, epsilon) for word, rows in DEGENERATE.items() for epsilon in ("0.01", "1", "50")},
    of_library=("one record-0.01", "last cell-50"),
)
def test_a_generator_is_total_on_degenerate_tables(name: str, number: int, rows: list[int], epsilon: str) -> None:
    """Whatever the table, fitting raises nothing: a failure that depends on private counts would leak.

    With the most noise all steps are taken, in which what is learned could grow beyond all numbers."""
    generator = make_generator(name, number) if epsilon == "0.01" else make_brief(name, number)
    model = fitted(generator, WORLD, rows, RULES_FREE, exact(epsilon))
    assert model.sample(len(rows), np.random.default_rng(0)).total == len(rows)


@generators_with(
    "sizes",
    {str(sizes): (sizes,) for sizes in ((5,), (1,), (1, 1), (1, 4), (3, 1, 2))},
    of_library=("(5,)", "(1, 1)", "(3, 1, 2)"),
)
def test_a_generator_works_on_one_column_and_on_columns_of_one_bin(name: str, number: int, sizes: tuple[int, ...]) -> None:
    layout = Layout(columns=tuple(COLUMNS)[: len(sizes)], sizes=sizes)  # some families name columns
    generator = make_brief(name, number)
    charge = generator.charge(BUDGET)
    private = PrivateCounts(Counts(layout, np.arange(30) % layout.n_cells), Meter([charge]))
    table = generator.fit(private, charge, Background(plausibility=Plausibility(layout=layout, masks=()))).sample(
        30, np.random.default_rng(0)
    )
    assert table.total == 30
    assert table.layout == layout


def only(cell: tuple[int, ...], columns: tuple[int, ...]) -> Mask:
    """Over these columns, everything but the given cell is forbidden."""
    forbidden = np.ones([WORLD.layout.sizes[column] for column in columns], dtype=bool)
    forbidden[tuple(cell[column] for column in columns)] = False
    return Mask(columns=columns, forbidden=forbidden)


@generators_with(
    "cell epsilon",
    {f"{cell}-{epsilon}": (cell, epsilon) for cell in ((0, 0, 0), (1, 0, 1), (1, 2, 3)) for epsilon in ("0.05", "20")},
    of_library=("(1, 2, 3)-20",),
)
def test_a_generator_finds_the_only_plausible_row(name: str, number: int, cell: tuple[int, ...], epsilon: str) -> None:
    """The rules on single columns leave one cell, and are structural zeros of every table; the private rows are anywhere."""
    rules = Plausibility(layout=WORLD.layout, masks=tuple(only(cell, (column,)) for column in range(3)))
    model = fitted(make_brief(name, number), WORLD, ROWS, rules, exact(epsilon))
    table = sample_plausible(model, 50, rules, np.random.default_rng(0))
    assert table.expand().tolist() == [list(cell)] * 50


@generators_with("epsilon", {"0.05": ("0.05",), "20": ("20",)}, of_library=("0.05", "20"))
def test_one_rule_over_all_columns_gives_plausible_rows_or_a_rejected_round(
    name: str, number: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of smaller tables may miss the only plausible cell; the round is then rejected, nothing else happens.

    A twentieth of the rows of a model that knows the cell are in it: 50 are found in 300 draws but once in 100,000 times.
    """
    monkeypatch.setattr(candidate, "MAX_RESAMPLES", 300)
    cell = (0, 1, 1)
    rules = Plausibility(layout=WORLD.layout, masks=(only(cell, (0, 1, 2)),))
    try:
        model = fitted(make_generator(name, number, **TO_LEARN.get(name, {})), WORLD, ROWS, rules, exact(epsilon))
        table = sample_plausible(model, 50, rules, np.random.default_rng(0))
    except RejectedRound:
        assert epsilon == "0.05"  # with little noise the model knows that the cell is common
        return
    assert table.expand().tolist() == [list(cell)] * 50


@each_generator
def test_a_generator_learns_from_the_table_at_a_large_budget(name: str, number: int) -> None:
    """The opposite of the tests above: with almost no noise the 1-way tables are those of the original.

    Two networks that play against each other only come near (12 fits of the example: 0.7% to 1.7%).
    """
    rows, near = ROWS * 20, 0.05 if name == "dpgan" else 0.02
    sample = fitted(make_generator(name, number, **TO_LEARN.get(name, {})), WORLD, rows, RULES_FREE, exact(1000)).sample(
        len(rows), np.random.default_rng(0)
    )
    for column in range(3):
        assert np.abs(sample.marginal([column]) - WORLD.counts(rows).marginal([column])).max() < near * len(rows)


@each_generator
def test_the_memory_estimate_is_at_least_one_cell(name: str, number: int) -> None:
    assert make_generator(name, number).peak_cells(WORLD.layout) >= 1


@each_generator
def test_memory_work_and_words_of_a_generator_are_stated(name: str, number: int) -> None:
    generator, larger = make_generator(name, number), Layout(columns=tuple(COLUMNS), sizes=(8, 9, 10))
    assert generator.words.endswith(".")
    for layout in (WORLD.layout, larger):
        assert 0 < generator.effort(layout) < math.inf
        assert generator.library_megabytes <= generator.megabytes(layout)
        assert generator.megabytes(layout) - generator.library_megabytes == generator.peak_cells(layout) * 8 // 2**20


@pytest.mark.parametrize("registry", [GENERATORS, PROJECTIONS], ids=["generators", "projections"])
def test_what_is_drafted_of_a_generator_or_projection_is_valid(registry: Mapping[str, Any]) -> None:
    """A list in a draft stands for the values that are tried."""
    drafted = {name: model.draft for name, model in registry.items() if model.draft}
    assert drafted
    for name, draft in drafted.items():
        first = {key: value[0] if isinstance(value, list) else value for key, value in draft.items()}
        assert registry[name].model_validate(first).draft == draft


# --- Criteria

each_criterion = pytest.mark.parametrize(("name", "number"), numbered(CRITERIA, "criteria"))
SYNTHETIC = [int(code) for code in np.random.default_rng(8).choice(24, size=300)]


class Stage:
    """A criterion under test, the criteria it refers to, and what was prepared for them."""

    def __init__(self, name: str, number: int):
        tables = example("criteria", name, number)
        self.criteria: list[Criterion] = []
        for table in tables:
            kind = name if table is tables[-1] else table["kind"]
            fields = {"name": f"the {kind}", "kind": kind, "threshold": 1.2, "epsilon": "0.7", **table}
            self.criteria.append(CRITERIA[kind].model_validate(fields))
        self.judged = self.criteria[-1]
        self.setting: Setting = WORLD.setting(*self.criteria)

    def prepare(self) -> Fitted:
        private = WORLD.private(ROWS, [charge for each in self.criteria for charge in each.once()])
        return fitted_before(self.criteria, private, self.setting)

    def score(self, private: PrivateCounts, prepared: Fitted, synthetic: Sequence[int] = SYNTHETIC) -> Score:
        return scores_of([self.judged], private, WORLD.candidate(synthetic), self.setting, prepared)[0]


@each_criterion
def test_a_criterion_is_found_under_its_kind_and_has_no_mistakes(name: str, number: int) -> None:
    stage = Stage(name, number)
    assert stage.judged.kind == name
    assert list(stage.judged.mistakes(stage.setting, {each.name: each for each in stage.criteria[:-1]})) == []
    with pytest.raises(ValueError, match="kind"):
        CRITERIA[name].model_validate({**stage.judged.model_dump(), "kind": "another"})


@each_criterion
def test_a_criterion_charges_its_epsilon_once_in_all(name: str, number: int) -> None:
    """Before the loop or in every round, never both, and the whole of it."""
    judged = Stage(name, number).judged
    charges = [*judged.once(), *judged.per_score()]
    fit = getattr(judged, "fit_epsilon", None)  # a private fit of its own beside the figure
    assert sum(charge.epsilon for charge in charges) == judged.epsilon + (fit or 0)
    assert len(charges) == (1 if judged.epsilon else 0) + (fit is not None)
    for charge in charges:
        assert judged.name in charge.name
        assert charge.delta == 0


@each_criterion
def test_a_criterion_spends_exactly_its_planned_charges(name: str, number: int) -> None:
    stage = Stage(name, number)
    other = mechanism("of something else", exact(1), "")
    before = Witness([*stage.judged.once(), other])
    stage.judged.prepare(PrivateCounts(WORLD.counts(ROWS), before), stage.setting)
    assert before.spent == list(stage.judged.once())
    prepared = stage.prepare()
    in_round = Witness([*stage.judged.per_score(), other])
    stage.score(PrivateCounts(WORLD.counts(ROWS), in_round), prepared)
    assert in_round.spent == list(stage.judged.per_score())


@each_criterion
def test_an_unplanned_criterion_raises_before_a_figure_is_computed(name: str, number: int) -> None:
    """Nothing behind the door is looked at, neither without a plan nor when the plan holds another epsilon."""
    stage = Stage(name, number)
    prepared = stage.prepare()
    halves = [mechanism(charge.name, charge.epsilon / 2, charge.because) for charge in stage.judged.per_score()]
    for planned in ([], halves):
        private = WORLD.private(ROWS, planned)
        guard = guarded_door(private)
        if stage.judged.per_score():
            with pytest.raises(BudgetError):
                stage.score(private, prepared)
        else:
            assert isinstance(stage.score(private, prepared), Score)
        assert guard.looked_at == []


@each_criterion
def test_an_unplanned_preparation_raises_before_reading(name: str, number: int) -> None:
    stage = Stage(name, number)
    private = WORLD.private(ROWS, [])
    guard = guarded_door(private)
    if stage.judged.once():
        with pytest.raises(BudgetError):
            stage.judged.prepare(private, stage.setting)
    else:
        stage.judged.prepare(private, stage.setting)
    assert guard.looked_at == []


@each_criterion
def test_a_score_says_what_was_released(name: str, number: int) -> None:
    stage = Stage(name, number)
    found = stage.score(WORLD.private(ROWS, stage.judged.per_score()), stage.prepare())
    judged = stage.judged
    assert (found.name, found.kind, found.threshold, found.epsilon) == (judged.name, name, judged.threshold, judged.epsilon)
    assert type(found.value) is float
    assert found.mechanism
    assert found.passed is bool(math.isfinite(found.value) and found.value <= judged.threshold)
    assert (found.noise_sd is None) == (judged.epsilon == 0)  # what was paid for has noise of a known size
    if found.noise_sd is not None:
        assert 0 < found.noise_sd < math.inf
    if found.sensitivity is not None:
        assert 0 < found.sensitivity < math.inf
        # Laplace noise of scale sensitivity / epsilon
        assert found.noise_sd == pytest.approx(math.sqrt(2) * found.sensitivity / float(judged.epsilon), rel=0.01)


@each_criterion
def test_the_verdict_is_one_of_the_released_value(name: str, number: int) -> None:
    """Of the noisy figure that is published, at a budget at which the exact one says something else half of the time."""
    stage = Stage(name, number)
    if stage.judged.epsilon:
        stage.judged = stage.criteria[-1] = stage.judged.model_copy(update={"epsilon": Fraction(1, 10**5)})
    verdicts = set()
    for _ in range(16):
        found = stage.score(WORLD.private(ROWS, stage.judged.per_score()), stage.prepare())
        assert found.passed is bool(math.isfinite(found.value) and found.value <= found.threshold)
        verdicts.add(found.passed)
    assert verdicts == {True, False} or not stage.judged.epsilon or not stage.judged.figure_gets_noise


@each_criterion
def test_a_figure_that_reads_private_counts_is_noisy(name: str, number: int) -> None:
    """What costs nothing is exact; what is paid for differs from one release to the next."""
    stage = Stage(name, number)
    values = set()
    for _ in range(6):
        prepared = stage.prepare()
        values.add(stage.score(WORLD.private(ROWS, stage.judged.per_score()), prepared).value)
    assert (len(values) > 1) == bool(stage.judged.epsilon)


@each_criterion
@pytest.mark.parametrize(
    ("rows", "synthetic"),
    [([0], [23]), ([5] * 30, [5] * 30), ([23] * 30, [0] * 30), (ROWS[:30], [0] * 29 + [23])],
    ids=["one record", "the same cell", "opposite corners", "one rare row"],
)
def test_a_criterion_is_total_on_degenerate_tables(name: str, number: int, rows: list[int], synthetic: list[int]) -> None:
    """Whatever the tables, there is a score, and it is paid for: a failure inside would end the run."""
    stage = Stage(name, number)
    prepared = stage.prepare()
    witness = Witness(stage.judged.per_score())
    private = PrivateCounts(WORLD.counts(rows), witness)
    found = stage.score(private, prepared, synthetic)
    assert witness.spent == list(stage.judged.per_score())
    assert not (found.passed and math.isnan(found.value))


@each_criterion
def test_the_sensitivity_from_public_facts_is_the_one_of_the_noise(name: str, number: int) -> None:
    """Where it does not follow from them, the class says why; a figure that the table alone decides follows, too."""
    stage, candidate = Stage(name, number), WORLD.candidate(SYNTHETIC)
    facts, fitted_lines = facts_of(candidate, stage.setting), stage.prepare()
    private = WORLD.private(ROWS, stage.judged.per_score())
    fitted_lines = stage.judged.refit(private, candidate, stage.setting, fitted_lines)
    asked = stage.judged.query(len(ROWS), candidate, stage.setting, fitted_lines)
    known, exact_figure = explain(stage.judged).public_sensitivity(facts), explain(stage.judged).public_figure(facts)
    wanted = None if isinstance(asked, Score) else asked.sensitivity
    if known is None:
        assert explain(stage.judged).no_sensitivity
    else:
        assert known == pytest.approx(wanted, rel=1e-12), f"`public_sensitivity` of {type(explain(stage.judged)).__name__}"
    assert exact_figure is None or (isinstance(asked, Score) and asked.value == exact_figure)
    assert (exact_figure is None) == bool(stage.judged.epsilon)


@each_criterion
def test_a_criterion_speaks_of_its_figure_and_of_its_use_in_bounds(name: str, number: int) -> None:
    stage = Stage(name, number)
    facts, judged = facts_of(WORLD.candidate(SYNTHETIC), stage.setting), stage.judged
    assert explain(judged).sentence(facts).endswith(".")
    assert isinstance(explain(judged).figure_unit(facts), str)
    error = explain(judged).known_error(1.1, facts)
    assert (error is None) == bool(explain(judged).no_bounds)
    assert error is None or error.criterion == judged.name
    assert judged.figure_range[0] == judged.best_figure
    assert judged.counts_rows == (explain(judged).figure_unit(facts) == "share of the rows")


@each_criterion
def test_a_criterion_names_its_offender_on_public_rows(name: str, number: int) -> None:
    """The worst part is named in the words of the table, or the class says why there is none."""
    stage, candidate = Stage(name, number), WORLD.candidate(SYNTHETIC)
    found = explain(stage.judged).offender(PublicCounts(counts=WORLD.counts(ROWS)), candidate, stage.setting, stage.prepare())
    assert found is not None or explain(stage.judged).no_offender or name == "face_privacy"
    if found is not None:
        assert str(found) == f"{found.where}: {found.released} in the synthetic table, {found.original} in the public file"
        assert any(column in found.where for column in WORLD.layout.columns) or "all rows" in found.where


FILES = [
    FileFacts(
        columns=(
            *(
                FileColumn(
                    name=name,
                    of_date=name == "year",
                    weight=False,
                    alternative="coarse" if limits else "categories",
                    limits=limits,
                    category_rows={} if limits else {"f": n // 2, "m": n - n // 2},
                    missing_rows=0,
                    mean_range=(0.0, 90.0),
                    line_range=(2.0, 80.0),
                    partners={
                        other: Partner(distance=0.1, smallest_group=n // 3)
                        for other in ("age", "year", "sex", "pay", "wage_1", "wage_2")
                        if other != name
                    },
                )
                for name, limits in (
                    ("age", (20.0, 40.0, 60.0)),
                    ("year", (1990.0, 2000.0)),
                    ("sex", None),
                    ("pay", (10.0, 20.0, 50.0)),
                    ("wage_1", (10.0, 20.0, 50.0)),
                    ("wage_2", (10.0, 20.0, 50.0)),
                )
            ),
        ),
        n_rows=n,
        cell=cell,
        unique=0.1,
        members=("wage",),
    )
    for n, cell in ((50, 0.05), (3000, 0.03), (100_000, 0.01))
]


@pytest.mark.parametrize("name", CRITERIA)
def test_what_a_criterion_drafts_of_itself_is_valid(name: str) -> None:
    """A kind drafts something of every file, or says why it drafts nothing."""
    drafts = DRAFTS[name]
    if isinstance(drafts, str):
        assert drafts.endswith(".")
        return
    for file in FILES:
        found = list(drafts(file))
        assert found
        for draft in found:
            if isinstance(draft, CriterionDraft):
                assert CRITERIA[name].model_validate(dict(draft.settings)).kind == name
                assert draft.remark
            else:
                assert draft.strip()


# --- Projections

each_projection = pytest.mark.parametrize(("name", "number"), numbered(PROJECTIONS, "projections"))
LAYOUT = layout_of(5, 6)


def make_projection(name: str, number: int) -> Any:
    return PROJECTIONS[name].model_validate(example("projections", name, number))


@each_projection
def test_a_projection_is_found_under_its_kind(name: str, number: int) -> None:
    assert make_projection(name, number).kind == name


@each_projection
@settings(max_examples=60, deadline=None)
@given(counts=st.lists(st.integers(0, 7), min_size=30, max_size=30).filter(any), seed=st.integers(0, 1000))
def test_a_projection_keeps_the_number_of_rows_and_leaves_none_too_rare(
    name: str, number: int, counts: list[int], seed: int
) -> None:
    """The same size, no new row, each kept row at least `minimum_count` times; the input is not touched."""
    projection = make_projection(name, number)
    table = Counts(LAYOUT, np.arange(30), np.array(counts))
    try:
        projected = projection.project(table, np.random.default_rng(seed))
    except RejectedRound:
        assert max(counts) < projection.minimum_count  # what is frequent enough can always be kept
        return
    assert list(table.dense()) == counts
    assert projected.layout == LAYOUT
    assert projected.total == sum(counts)
    assert projected.counts.min() >= projection.promised_count
    assert projection.sentence.endswith(".")
    assert set(projected.codes) <= set(table.codes)


@each_projection
def test_a_table_of_frequent_rows_is_its_own_projection(name: str, number: int) -> None:
    table = Counts(LAYOUT, np.arange(30), np.arange(30) % 3 * 1000)
    projected = make_projection(name, number).project(table, np.random.default_rng(0))
    assert np.array_equal(projected.dense(), table.dense())
