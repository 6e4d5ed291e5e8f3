"""Two files that were changed since they were tried on public data cost nothing, until somebody insists."""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

import synthrelease
from synthrelease.cli import releasing, terminal
from synthrelease.cli import specifying as committing
from synthrelease.errors import InputError, SpecError
from synthrelease.privacy.ledger import load_ledger, open_ledger
from synthrelease.publish import Listener, publish
from synthrelease.resources import resource
from synthrelease.spec.load import load_spec, read_specification
from synthrelease.spec.requests import ReleaseRequest
from synthrelease.spec.tried import SHIPPED, beside, digest_of, digests, leave, rows_tried, standing, tried
from synthrelease.studio.desk.files import Rehearsals
from synthrelease.studio.desk.screens import signoff_screen
from tests.conftest import CONFIGURATIONS, ROOT
from tests.helpers.command_line import run
from tests.helpers.drafts import write_draft
from tests.helpers.shipped import shipped_text
from tests.helpers.tiny import write_config, write_data

OF_MY_OWN = '[[criteria]]\nname = "of my own"\nkind = "absolute_marginal_error"\nthreshold = 0.01\nepsilon = 0.1\n\n'
EDITS = {
    "column 'year'": ('["1-2", "3-4", "5-6", "7-8"]', '["1-4", "5-8"]'),
    "column 'face'": ('categories = ["head", "tail"]', 'categories = ["head", "tail", "edge"]'),
    "rules": ("year > 6", "year > 4"),
    "generators": ("epsilon_split = 0.5", "epsilon_split = 0.4"),
    "projections": ("minimum_count = 2\n\n[budget]", "minimum_count = 3\n\n[budget]"),
    "budget": ("generation = 10", "generation = 1"),
    "selection": ("stop_probability = 0.001", "stop_probability = 0.5"),
    "criterion 'marginals'": ("threshold = 0.9", "threshold = 0.001"),
    "criterion 'of my own'": ('[[criteria]]\nname = "face', OF_MY_OWN + '[[criteria]]\nname = "face'),
}  # fmt: skip
WORDS = [
    ('title = "Coins"', '# a comment\ntitle = "All coins"\ndescription = "Each row is a coin"'),
    ("[input]", '[card]\ncontact = "office@example.org"\n\n[input]'),
    ("rows = 400", 'rows = 400\ndelimiter = ";"\nencoding = "latin-1"'),
    ("bounds = [1, 8]", 'source = "YEAR"\nbounds = [1, 8]\nbounds_by = "the mint"\ndescription = "Year of the coin"'),
    ("limit = 25", "limit = 30"),
    ("[[rules]]", '[unit]\nname = "coin"\nwhy = "No coin stands twice"\n\n[[rules]]'),
    ("threshold = 0.9", 'threshold = 0.9  # as agreed\nagreed = { by = "the users", on = 2026-11-01 }'),
]


ASKS = [(Listener, "never_tried"), (releasing, "accepts_untried"), (committing, "accepts_untried")]
ASKED = [(place, name, getattr(place, name)) for place, name in ASKS]  # before tests/conftest.py answers for all files


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here whoever releases is asked."""
    for place, name, how in ASKED:
        monkeypatch.setattr(place, name, how)


def edited(folder: Path, *changes: tuple[str, str]) -> Path:
    for old, new in changes:
        held = [path for path in (folder / "coins.toml", folder / "acceptance.toml") if old in path.read_text()]
        held[0].write_text(held[0].read_text().replace(old, new, 1))
    return folder / "coins.toml"


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_named_and_costs_nothing(tmp_path: Path, what: str) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    leave(load_spec(config), "draft")
    assert tried(load_spec(config))
    ledger = open_ledger(tmp_path / "coins.ledger", "coins", 100).path
    head = load_ledger(ledger).statement().head
    edited(tmp_path, EDITS[what])
    with pytest.raises(SpecError, match=f"since a draft tried them on public data: {what}. Rehearse") as caught:
        synthrelease.release(config, data, tmp_path / "out", ledger=ledger)
    assert str(caught.value).endswith("Nothing was spent.")
    assert load_ledger(ledger).statement().head == head
    assert not (tmp_path / "out").exists()


def test_comments_and_words_for_readers_are_no_edit(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    before = digests(load_spec(config))
    for change in WORDS:
        edited(tmp_path, change)
        assert digests(load_spec(config)) == before, change


@pytest.mark.slow
def test_who_insists_may_release_what_was_changed(tmp_path: Path) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    leave(load_spec(config), "rehearsal")
    edited(tmp_path, EDITS["column 'year'"])
    assert synthrelease.release(config, data, tmp_path / "out", unrehearsed=True) is not None


def test_check_and_commit_refuse_what_was_changed_too(tmp_path: Path, monkeypatch, capsys) -> None:
    config, out = write_config(tmp_path), tmp_path / "commitment.json"
    commands = [["check", str(config)], ["commit", str(config), "--out", str(out)]]
    for words, expected in zip(commands, (0, 2), strict=True):  # a check tells more, and nothing follows from it
        code, *told = run(monkeypatch, capsys, *words)
        assert (code, "never tried on public data" in " ".join("".join(told).split())) == (expected, True)
        assert not out.exists()
    leave(load_spec(config), "draft")
    edited(tmp_path, EDITS["budget"])
    for words in commands:
        code, _, said = run(monkeypatch, capsys, *words)
        assert (code, "on public data: budget." in " ".join(said.split()), out.exists()) == (2, True, False)
        assert run(monkeypatch, capsys, *words, "--unrehearsed")[0] == 0
    code, _, said = run(monkeypatch, capsys, "plan", str(config))  # it goes on, and says what the others refuse
    assert (code, "These parts were changed since a draft tried them: budget." in " ".join(said.split())) == (0, True)


@pytest.mark.slow
def test_a_rehearsal_tries_the_files_as_they_are(tmp_path: Path) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    leave(load_spec(config), "draft")
    edited(tmp_path, EDITS["column 'year'"])
    found = synthrelease.rehearse(config, data, tmp_path / "trial", keep=1, copies=0, minutes=0.02, seed=1)
    assert found.shortlist
    assert tried(load_spec(config))
    beside(config).unlink()
    assert not tried(load_spec(config))
    assert tried(load_spec(config), tmp_path / "trial" / "shortlist.toml")  # which has it, too, where nobody may write


@pytest.mark.parametrize("through", ["python", "command", "room"])
def test_without_a_terminal_files_of_which_nothing_is_known_cost_nothing(tmp_path: Path, monkeypatch, capsys, through) -> None:
    config, data, out = write_config(tmp_path), write_data(tmp_path), tmp_path / "out"
    ledger = open_ledger(tmp_path / "coins.ledger", "coins", 100).path
    head = load_ledger(ledger).statement().head
    what_to_do = (
        r"never tried on public data.*Rehearse both files \(`synthrelease rehearse`\), or use --unrehearsed.*Nothing was"
    )
    if through == "command":
        words = ("release", str(config), "--data", str(data), "--out", str(out), "--ledger", str(ledger))
        code, _, said = run(monkeypatch, capsys, *words)
        assert code == 2
        assert re.search(what_to_do, " ".join(said.split()))
    elif through == "python":
        with pytest.raises(InputError, match=what_to_do):
            synthrelease.release(config, data, out, ledger=ledger)
    else:
        with pytest.raises(InputError, match=what_to_do):
            publish(ReleaseRequest(config=config, data=data, out=out, ledger=ledger))
    assert load_ledger(ledger).statement().head == head
    assert not out.exists()
    assert synthrelease.release(config, data, out, ledger=ledger, unrehearsed=True) is not None


@pytest.mark.parametrize("answer", [True, False])
def test_at_a_terminal_files_of_which_nothing_is_known_are_asked_for_once(tmp_path: Path, monkeypatch, answer: bool) -> None:
    config, asked = write_config(tmp_path), []
    request = ReleaseRequest(config=config, data=write_data(tmp_path), out=tmp_path / "out")
    monkeypatch.setattr(terminal.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(terminal, "screen", Quiet())
    monkeypatch.setattr(terminal.typer, "confirm", lambda question: asked.append(question) or answer)
    spec = load_spec(config)
    assert releasing._listener(request, lambda phase: None).never_tried(spec) is answer
    assert len(asked) == 1
    assert tried(spec) is answer
    edited(tmp_path, EDITS["budget"])
    assert not tried(load_spec(config))  # asked anew, and not refused


class Quiet:
    is_terminal = True

    @property
    def console(self) -> Quiet:
        return self

    def print(self, *texts: object, **how: object) -> None:
        pass


def test_who_says_no_is_charged_nothing(tmp_path: Path) -> None:
    class No(Listener):
        def never_tried(self, spec: object) -> bool:
            return False

    request = ReleaseRequest(config=write_config(tmp_path), data=write_data(tmp_path), out=tmp_path / "out")
    with pytest.raises(InputError, match=r"never tried on public data.*Nothing was spent\."):
        publish(request, No())
    assert not (tmp_path / "out.ledger").exists()


def test_nothing_is_written_beside_the_files_that_come_with_synthrelease() -> None:
    config = resource("configs/births.toml")
    leave(load_spec(config), "rehearsal")
    assert not beside(config).exists()


@pytest.mark.slow
def test_a_draft_was_tried_and_answering_its_question_is_no_edit(tmp_path: Path) -> None:
    write_data(tmp_path)
    config, acceptance, _ = write_draft("drafted", tmp_path / "coins.csv", tmp_path)
    assert tried(load_spec(config))
    text = config.read_text()
    config.write_text(
        text.replace('records_per_person = "not answered"', 'records_per_person = 1\nwhy = "No coin stands twice"')
    )
    assert load_spec(config).unit.answered
    assert tried(load_spec(config))
    acceptance.write_text(acceptance.read_text().replace("minimum_count = 2", "minimum_count = 3"))
    with pytest.raises(SpecError, match="since a draft tried them on public data: criterion"):
        tried(load_spec(config))


def test_the_desk_says_at_the_sign_off_that_files_were_changed(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    leave(load_spec(config), "draft")
    edited(tmp_path, EDITS["budget"])
    page = signoff_screen(load_spec(config), config, Rehearsals(config, None, None), None)
    words = "The two files have changed since a draft tried them: budget. Run a rehearsal of the files as they are now."
    assert words in [cause.text for cause in page["open"]]
    assert not [each for each in page["open"] if "--" in each.text]
    assert page["digest"] == ""


def test_a_copy_with_the_same_acceptance_file_is_compared_with_what_was_tried(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    leave(load_spec(config), "draft")
    copy = tmp_path / "coins_2026.toml"
    shutil.copyfile(config, copy)
    assert tried(load_spec(copy))
    copy.write_text(copy.read_text().replace("generation = 10", "generation = 1"))
    with pytest.raises(SpecError, match="changed since a draft tried coins on public data: budget"):
        tried(load_spec(copy))
    beside(config).unlink()
    assert not tried(load_spec(copy))
    leave(load_spec(copy), "rehearsal")
    assert tried(load_spec(copy))


def test_a_published_specification_has_no_record(tmp_path: Path) -> None:
    assert standing(read_specification(load_spec(write_config(tmp_path)).text)) is False


def test_files_that_were_copied_under_new_names_after_an_edit_are_not_tried(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    leave(load_spec(config), "draft")
    shutil.copyfile(tmp_path / "acceptance.toml", tmp_path / "wishes.toml")
    copy = tmp_path / "coins_2026.toml"
    copy.write_text(config.read_text().replace("acceptance.toml", "wishes.toml").replace("generation = 10", "generation = 1"))
    assert not tried(load_spec(copy))


@pytest.mark.parametrize("folder", ["", "years"])
def test_an_override_is_an_edit_of_the_configuration_that_it_extends(tmp_path: Path, folder: str) -> None:
    config = write_config(tmp_path)
    leave(load_spec(config), "rehearsal")
    child = tmp_path / folder / "child.toml"
    child.parent.mkdir(exist_ok=True)
    up = "../" if folder else ""
    child.write_text(f'extends = "{up}coins.toml"\ntitle = "Coins of another year"\n')
    assert tried(load_spec(child))
    child.write_text(f'extends = "{up}coins.toml"\ntitle = "Coins"\n\n[override.budget]\ngeneration = 1\n')
    with pytest.raises(SpecError, match=r"changed since a rehearsal tried coins on public data: budget"):
        tried(load_spec(child))


@pytest.mark.parametrize("digest", ['{"format": 2, "by": "draft", "digests": {}}', "", "[]", '{"format": 1, "by": "draft"}'])
def test_a_digest_that_cannot_be_read_is_refused(tmp_path: Path, digest: str) -> None:
    config = write_config(tmp_path)
    beside(config).write_text(digest)
    with pytest.raises(
        SpecError,
        match=r"(The record of the trial is damaged|cannot read a record of a trial in format 2)\. Rehearse both files",
    ) as caught:
        synthrelease.release(config, write_data(tmp_path), tmp_path / "out")
    assert str(caught.value).endswith("Nothing was spent.")
    assert not (tmp_path / "out.ledger").exists()


def test_the_name_of_a_criterion_and_texts_of_missing_values_are_no_edit(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    leave(load_spec(config), "draft")
    edited(tmp_path, ('name = "marginals"', 'name = "single columns"'), ("rows = 400", 'rows = 400\nmissing_values = ["?"]'))
    assert tried(load_spec(config))
    edited(tmp_path, ("threshold = 0.9", "threshold = 0.001"))
    with pytest.raises(
        SpecError, match=r"changed since a draft tried them on public data: criterion 'marginals', criterion 'single columns'"
    ):
        tried(load_spec(config))


@pytest.mark.slow
def test_files_that_come_with_synthrelease_are_known_by_their_digest() -> None:
    """`python -m tests.helpers.shipped` writes it. A family of a library that is not installed cannot be loaded here."""
    with_libraries = {ROOT / "configs" / "births-all-generators.toml"} if find_spec("snsynth") is None else set()
    if not with_libraries:
        assert (ROOT / SHIPPED).read_text(encoding="utf-8") == shipped_text()
    assert all(tried(load_spec(path)) for path in CONFIGURATIONS if path not in with_libraries)


def test_an_edited_copy_of_a_shipped_file_is_not_tried(tmp_path: Path) -> None:
    for folder in ("configs", "acceptance"):
        (tmp_path / folder).mkdir()
        shutil.copyfile(ROOT / folder / "births.toml", tmp_path / folder / "births.toml")
    copy = tmp_path / "configs" / "births.toml"
    assert tried(load_spec(copy))
    before = digest_of(digests(load_spec(copy)))
    copy.write_text(re.sub(r"(?m)^generation = .*$", "generation = 0.001", copy.read_text(), count=1))
    assert digest_of(digests(load_spec(copy))) != before
    assert not tried(load_spec(copy))


def test_a_digest_tells_how_many_rows_the_public_table_had(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    assert rows_tried(load_spec(config)) is None
    leave(load_spec(config), "draft", 250)
    assert rows_tried(load_spec(config)) == json.loads(beside(config).read_text())["rows"] == 250
    edited(tmp_path, EDITS["budget"])
    assert rows_tried(load_spec(config)) == 250  # an edit of the files changes nothing about the table
