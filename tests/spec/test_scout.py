"""A release after a scout: planned, released and verified under the cap of both."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.errors import BudgetError, SpecError
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.verify.options import of_scout
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

SCOUT = f"""
[scout]
epsilon = 9
delta = 1e-9
rho = 0.01
rare = 1e-14
tests = 3
document = "{"ab" * 32}"
"""
AFTER_SCOUT = {
    'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': (
        'family = "gaussian_marginals"\ntables = "face:year"'
    ),
    "generation = 10": "generation = 0.3\ndelta = 1e-9",
    "stop_probability = 0.001": 'mode = "hidden_number"\nrounds = { 1 = 1 }\ntest = "joint"\ntest_epsilon = 2\n' + SCOUT,
}


def spec_of(folder: Path, changes: dict[str, str] | None = None) -> ReleaseSpec:
    changed = dict(AFTER_SCOUT)
    for old, new in (changes or {}).items():
        changed = {line: text.replace(old, new) for line, text in changed.items()}
    return load_spec(write_config(folder, changed))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("scouted")
    found = release(spec_of(where), write_data(where))
    assert found is not None
    return write_bundle(found, where / "out")


@pytest.fixture(scope="module")
def document(folder: Path) -> ReleaseDocument:
    return read_strictly((folder / "release.json").read_bytes())


def test_the_guarantee_is_the_cap_of_both(folder: Path, document: ReleaseDocument) -> None:
    assert (document.guarantee.epsilon_exact, document.guarantee.delta_exact) == ("9", "1/1000000000")
    report = verify_bundle(folder)
    assert [check.problems for check in report.checks if check.problems] == []
    assert report.passed
    for page in ("README.md", "SIGN.md"):
        text = (folder / page).read_text(encoding="utf-8")
        assert ("together" if page == "README.md" else "Expect two lines, one for the scout and") in text
        assert document.scout is not None
        assert document.scout.alone_exact.partition("/")[0] in text.replace(",", "") or "epsilon 0.7" in text


def test_plan_tells_both_and_the_sum(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    said = " ".join(spec.options.in_words(spec.plan.total, 400))
    assert "together cost epsilon = 9" in said
    assert [part.name for part in spec.plan.total.parts][:2] == ["scout", "texts that no codebook lists"]
    assert spec.plan.total.epsilon == 9


@pytest.mark.parametrize(
    ("field", "value"),
    [("rho_exact", "1/200"), ("alone_exact", "1/2"), ("tests_exact", "1"), ("epsilon_exact", "8"), ("rare_exact", "0")],
)
def test_a_changed_scout_does_not_fit_the_charges(document: ReleaseDocument, field: str, value: str) -> None:
    assert document.scout is not None
    assert of_scout(document.scout, document).problems == ()
    assert of_scout(document.scout.model_copy(update={field: value}), document).problems


@pytest.mark.parametrize(
    "changes",
    [
        {"generation = 0.3": "generation = 3"},
        {"test_epsilon = 2": "test_epsilon = 4"},
        {"rounds = { 1 = 1 }": "rounds = { 1 = 0.5, 2 = 0.5 }"},
        {"delta = 1e-9\n": "delta = 1e-10\n"},
    ],
)
def test_a_plan_beyond_the_cap_is_refused(tmp_path: Path, changes: dict[str, str]) -> None:
    with pytest.raises((BudgetError, SpecError)):
        _ = spec_of(tmp_path, changes).plan


def test_a_scout_that_leaves_nothing_is_a_mistake_in_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="scout"):
        spec_of(tmp_path, {"tests = 3": "tests = 9"})
    assert spec_of(tmp_path).options.scout is not None
    assert Fraction(spec_of(tmp_path).options.scout.cap.epsilon) == 9  # type: ignore[union-attr]
