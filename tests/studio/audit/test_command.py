"""`synthrelease audit` as a reviewer runs it: what it prints, what it writes, its exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from synthrelease.bundle.write import write_bundle
from synthrelease.cli.reading import AuditPart, audit
from synthrelease.errors import InputError, OutputError
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from synthrelease.studio.audit import audit as audit_module
from synthrelease.studio.audit import losses as library_losses
from synthrelease.studio.audit.audit import PARTS, AuditResult, Scope, run_audit
from synthrelease.studio.audit.losses import faulty_losses, loss_cases
from tests.cli.test_cli import run, words
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

FAST = ("--part", "losses", "--only", "mwem")


def test_a_sound_audit_ends_with_0_and_writes_every_figure(tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    result = run("audit", *FAST, "--out", out)
    assert result.returncode == 0
    assert "The loss exceeds the claim in 0 of 1 case. The audit finds 1 of 1 known fault." in words(result.stdout)
    assert "Nothing contradicts a claim." in words(result.stdout)
    document = json.loads(out.read_text())
    assert (document["passed"], document["violations"], document["missed_faults"]) == (True, [], [])


def test_losses_stand_beside_their_claims(tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    result = run("audit", "--part", "losses", "--only", "mwem", "--out", out)
    assert result.returncode == 0
    assert "The loss exceeds the claim in 0 of 1 case. The audit finds 1 of 1 known fault." in words(result.stdout)
    assert "MST and AIM were not checked" not in words(result.stdout)
    right, wrong = json.loads(out.read_text())["losses"]
    assert right["share"] == pytest.approx(1, abs=0.01)
    assert right["noise"] == pytest.approx(right["choices"], abs=0.01)
    assert wrong["exceeded"]


def test_losses_above_a_claim_end_with_5_and_a_library_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The faults of generators in place of the generators, and no library."""
    faults = [replace(case, faulty=False) for case in faulty_losses() if str(case).startswith("adaptive, the last measurement")]
    monkeypatch.setattr(library_losses, "installed", lambda: False)
    monkeypatch.setattr(audit_module, "loss_cases", lambda: faults)
    result = run("audit", "--part", "losses", "--only", "adaptive, the last measurement")
    assert result.returncode == 5
    assert "This result contradicts a claim: adaptive, the last measurement of the columns without noise: the results" in words(
        result.stderr
    )
    assert "MST and AIM were not checked, because the extra" in words(result.stdout)


def test_a_fault_that_is_not_found_ends_with_5(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = [replace(case, faulty=True) for case in loss_cases() if case.generator == "mwem"]
    monkeypatch.setattr(audit_module, "faulty_losses", lambda: honest)
    result = run("audit", *FAST)
    assert result.returncode == 5
    assert "The audit missed a known fault: mwem, replacing a record" in words(result.stderr)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "no such thing", "--part", "losses"), "--only no such thing: in the chosen parts, no case and no"),
        (("--seed", "3"), "No such option"),
    ],
)
def test_mistakes_are_answered(options: tuple[str, ...], message: str) -> None:
    result = run("audit", *options)
    assert result.returncode == 2
    assert message in words(result.stderr)


def test_a_file_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    out.write_text("mine")
    result = run("audit", *FAST, "--out", out)
    assert result.returncode == 2
    assert out.read_text() == "mine"
    with pytest.raises(OutputError, match="Create it, or choose another folder"):  # before hours of work
        audit(out=tmp_path / "nowhere" / "audit.json")


def test_parts_on_the_command_line_are_those_of_the_audit() -> None:
    assert tuple(part.value for part in AuditPart) == PARTS


def test_every_part_is_in_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "LAW_SIZES", ((9, 2),))
    some = run_audit(parts=("sensitivity",), scope=Scope(text="2 x"), most_records=1)  # tests/criteria enumerates all of them
    laws = run_audit(parts=("selection",))
    document = AuditResult(sensitivities=some.sensitivities, laws=laws.laws).document()
    assert json.loads(json.dumps(document)) == document
    assert len(document["sensitivities"]) == len(some.sensitivities) > 40  # type: ignore[arg-type]
    assert len(document["selection_laws"]) == len(laws.laws) > 50  # type: ignore[arg-type]
    assert [each["what"] for each in document["sensitivities"][:1]] == ["absolute, 2 x 3, all tables"]  # type: ignore[index]
    assert (some.losses, some.laws, laws.sensitivities) == ((), (), ())


def test_an_audit_in_which_anything_contradicts_a_claim_does_not_pass() -> None:
    """One record alone does not attain the bound of a regression: the enumeration says so, and the audit does not pass."""
    found = run_audit(parts=("sensitivity",), scope=Scope(text="prediction, opposite line, 2 x 3"), most_records=1)
    assert found.sensitivities[0].largest < 1
    assert not found.passed


def test_a_release_is_audited_by_what_it_used(tmp_path: Path) -> None:
    result = release(load_spec(write_config(tmp_path)), write_data(tmp_path))
    assert result is not None
    folder, out = write_bundle(result, tmp_path / "out"), tmp_path / "audit.json"
    parts = ("--part", "sensitivity", "--part", "losses")
    done = run("audit", "--release", folder, "--records", "1", *parts, "--out", out)
    assert done.returncode in (0, 5)  # one record does not attain every bound
    document = json.loads(out.read_text())
    assert {each["generator"] for each in document["losses"]} == {"privbayes"}
    asked = {criterion.kind for criterion in load_spec(tmp_path / "coins.toml").criteria} - {"face_privacy"}
    assert {each["kind"] for each in document["sensitivities"]} == asked | {"PrivBayes", "number of rows"}
    said = " ".join(done.stdout.split())
    assert "no pair of neighbours changes a criterion value by more than its bound. 1 of 1 criteria have the noise that" in said
    stated = json.loads((folder / "release.json").read_text())
    for criterion in stated["criteria"]:
        if criterion["noise_sd"] is not None:
            criterion["noise_sd"] *= 0.5
    (folder / "release.json").write_text(json.dumps(stated))
    done = run("audit", "--release", folder, "--records", "1", "--part", "sensitivity")
    assert done.returncode == 5
    assert "These criteria have less noise than sensitivity and epsilon require: 'marginals'" in " ".join(done.stderr.split())


def test_nothing_to_audit_is_a_mistake() -> None:
    with pytest.raises(InputError, match="no case and no enumeration has this text in its name"):
        run_audit(parts=("sensitivity", "losses"), scope=Scope(text="quite another thing"))
