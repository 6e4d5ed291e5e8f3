"""A whole release with named models: its plan, its answers, and what `verify` says of one that was changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from synthrelease.answers.estimates import estimate
from synthrelease.bundle.models import with_models
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import write_bundle
from synthrelease.errors import BudgetError, SpecError
from synthrelease.published import load
from synthrelease.published.document import read_strictly
from synthrelease.published.verify.models import models as check_models
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config, write_data

QUESTIONS = (
    "mean year",
    "mean year by face",
    "slope year on face == 'tail'",
    "mean year: face == 'head' against face == 'tail'",
)
MODELS = "".join(f'\n[[models]]\nquestion = "{question}"\n' for question in QUESTIONS)
CHANGES = {"limit = 25": "limit = 60\nmodels = 20", "\n[selection]": f"{MODELS}\n[selection]"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("models")
    spec = load_spec(write_config(work, CHANGES))
    result = release(spec, write_data(work))
    assert result is not None
    write_bundle(result, work / "out")
    return work / "out"


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_plan_pays_once_and_after_acceptance(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path, CHANGES))
    before = load_spec(write_config(tmp_path)).plan.total.epsilon
    assert [charge.name for charge in spec.plan.after] == ["models"]
    assert spec.plan.total.epsilon - before == 20


def test_the_answers_are_those_of_the_file(folder: Path) -> None:
    """Exact means of the 400 rows: heads 6 * 30 of 1 to 6, 20 of 7 and of 8; tails 30 of each of 1 to 6."""
    heads, tails = (30 * 21 + 20 * 15) / 220, 3.5
    exact = {
        "mean year": [(220 * heads + 180 * tails) / 400],
        "mean year by face": [heads, tails],
        "slope year on face == 'tail'": [tails - heads, heads],
        "mean year: face == 'head' against face == 'tail'": [heads, tails, heads - tails],
    }
    published = load(folder)
    assert published.models is not None
    for question, answer in zip(QUESTIONS, published.models.answers, strict=True):
        assert answer.question == question
        stated = [term.estimate for term in answer.terms]
        assert stated == pytest.approx(exact[question], abs=0.5)
        found = estimate(published, question)
        terms = (*found.terms, *found.contrasts)
        assert [term.estimate for term in terms] == pytest.approx(stated, rel=1e-5)
        assert [term.low for term in terms] == pytest.approx([term.low for term in answer.terms], rel=1e-5)


def test_a_mean_by_the_words_is_told_to_be_of_own_values(folder: Path) -> None:
    text = str(estimate(folder, "mean year"))
    assert "noisy sums" in text
    assert "exact values" in text.lower()


def test_verify_finds_nothing(folder: Path) -> None:
    report = verify_files(files_of(folder))
    assert [check.name for check in report.checks if not check.passed and not check.absent] == []
    assert {"models", "model answers"} <= {check.name for check in report.checks}


def _sum(models: dict[str, Any]) -> None:
    models["sums"][0]["value"] += models["steps"] * 100


def _estimate(models: dict[str, Any]) -> None:
    models["answers"][2]["terms"][0]["estimate"] += 1


def _share(models: dict[str, Any]) -> None:
    models["models"][1]["groups"][0]["shares"][2] += 50 * 2**30


def _scale(models: dict[str, Any]) -> None:
    models["noises"][0]["scale"] *= 2


def _epsilon(models: dict[str, Any]) -> None:
    models["epsilon"] = "10"


@pytest.mark.parametrize("change", [_sum, _estimate, _share, _scale, _epsilon])
def test_the_part_that_stands_alone_finds_what_was_changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads((folder / "release.json").read_bytes())
    document = read_strictly((folder / "release.json").read_bytes())
    assert document.models is not None
    assert check_models(document, document.models).passed
    change(content["models"])
    changed = type(document.models).model_validate(content["models"])
    assert check_models(document, changed).problems


@pytest.mark.parametrize("steps", [-1000, 1000])
def test_a_mean_beyond_the_limits_by_its_noise_is_the_limit(folder: Path, steps: int) -> None:
    """Noise may bring a sum below what any file has, as with amounts that are mostly 0: the answer is then the limit."""
    document = read_strictly((folder / "release.json").read_bytes())
    assert document.models is not None
    sums = [
        entry.model_copy(update={"value": entry.value + steps * document.models.steps}) for entry in document.models.sums[:1]
    ]
    moved = document.models.model_copy(update={"sums": (*sums, *document.models.sums[1:])})
    answered = with_models(document, moved, None, (folder / "specification.json").read_bytes())
    assert answered.models is not None
    low, high = answered.models.models[0].limits["year"]
    assert answered.models.answers[0].terms[0].estimate == (low if steps < 0 else high)
    assert [problem for problem in check_models(answered, answered.models).problems if "mean year:" in problem] == []


def test_an_interval_that_was_changed_is_found(folder: Path) -> None:
    content = json.loads((folder / "release.json").read_bytes())
    content["models"]["answers"][0]["terms"][0]["high"] *= 0.99
    files = files_of(folder) | {"release.json": (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()}
    failed = {check.name for check in verify_files(files).checks if check.problems}
    assert "model answers" in failed


def test_without_a_reason_to_trust_the_sample_there_is_no_interval_for_a_population(folder: Path) -> None:
    document = read_strictly((folder / "release.json").read_bytes())
    specification = json.loads((folder / "specification.json").read_bytes())
    assert document.models is not None
    specification["columns"]["year"]["role"] = "weight"
    changed = with_models(document, document.models, None, json.dumps(specification).encode()).models
    assert changed is not None
    for before, after in zip(document.models.answers, changed.answers, strict=True):
        assert all(term.population_low is not None for term in before.terms)
        assert all(term.population_low is None and term.low is not None for term in after.terms)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"\n[selection]": f"{MODELS}\n[selection]"}, "budget.models"),
        ({"limit = 25": "limit = 25\nmodels = 1"}, "budget.models"),
        (
            CHANGES | {"[input]": "[partition]\nfit = 0.5\nscore = 0.5\n\n[input]"},
            r"\[\[models\]\] cannot be combined with \[partition\]",
        ),
        (CHANGES | {'"mean year"': '"logistic face on year"'}, "logistic"),
        (CHANGES | {'"mean year"': '"mean year by face"'}, "The same question occurs twice"),
        (CHANGES | {'question = "mean year"': 'question = "mean year"\nlimits = { years = [1, 2] }'}, "years"),
        (CHANGES | {'question = "mean year"': 'question = "mean year"\nlimits = { year = [4, 2] }'}, "the lower one first"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_spent(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    text = {old: new for old, new in changes.items() if old not in MODELS}
    inside = {old: new for old, new in changes.items() if old in MODELS}
    for old, new in inside.items():
        text["\n[selection]"] = text["\n[selection]"].replace(old, new, 1)
    with pytest.raises(SpecError, match=message):
        load_spec(write_config(tmp_path, text))


def test_a_plan_above_the_limit_is_refused(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path, CHANGES | {"limit = 25": "limit = 25\nmodels = 20"}))
    assert spec.models is not None
    assert spec.models.epsilon == Fraction(20)
    with pytest.raises(BudgetError, match="more than the limit"):
        spec.check_limit()
