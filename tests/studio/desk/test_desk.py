"""The desk: edits write one line and keep comments; nothing foreign is answered; nothing private is opened."""

from __future__ import annotations

import gzip
import html
import itertools
import random
import re
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from starlette.testclient import TestClient

from synthrelease.bundle.write import commitment
from synthrelease.spec.load import load_spec
from synthrelease.spec.record import guarantee_in_words
from synthrelease.studio.desk.files import DeskFiles, Rehearsals
from synthrelease.studio.desk.pages import MOST_BYTES, SCREENS, Desk, _own_rules, application
from synthrelease.studio.desk.pages import Opened as Started
from synthrelease.studio.drafting.toml_edit import edited
from tests.conftest import ROOT
from tests.helpers.drafts import write_draft
from tests.studio.desk.opened import ORIGIN, Opened


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Opened(tmp_path)


EDITS = [
    ("columns", "bounds:mother_age", {"low": "12", "high": "60"}),
    ("columns", "description:parity", {"value": 'Births "so far"\n# no comment'}),
    ("questions", "threshold:0", {"value": "0.02"}),
    ("budget", "generation", {"value": "3.5"}),
    ("budget", "limit", {"value": "7"}),
    ("people", "name", {"value": "birth of one child"}),
    ("signoff", "card:contact", {"value": "office@example.org"}),
]


@pytest.mark.parametrize(("screen", "place", "values"), EDITS)
def test_an_edit_writes_one_line_that_loads_and_undo_restores_the_text(opened: Opened, screen, place, values) -> None:
    before = opened.bytes()
    assert opened.write(screen, place, **values).status_code == 303
    after = opened.bytes()
    lines = [set(new.splitlines()) ^ set(old.splitlines()) for old, new in zip(before, after, strict=True)]
    assert sorted(map(len, lines)) == [0, 2]
    assert [text.count(b"#") for text in before] == [text.replace(b"# no comment", b"").count(b"#") for text in after]
    load_spec(opened.config)
    assert opened.write(screen, "undo").status_code == 303
    assert opened.bytes() == before


@pytest.mark.parametrize(
    ("typed", "expected", "shown"),
    [
        ("0, 99999", ("0", "99999"), "0,99999"),
        (" 0,99999,", ("0", "99999"), "0,99999"),
        ('"not known, foreign", 0', ("not known, foreign", "0"), '"not known, foreign",0'),
        ("", (), ""),
    ],
)
def test_missing_keys_are_separated_by_commas_with_or_without_blanks(
    opened: Opened, typed: str, expected: tuple, shown: str
) -> None:
    text = opened.config.read_text(encoding="utf-8")
    with_key = text.replace("[unit]\n", '[unit]\nkey = "mother"\nfirst_by = "random"\nmissing_keys = ["-1"]\n')
    opened.config.write_text(with_key, encoding="utf-8")
    assert opened.write("people", "missing_keys", value=typed).status_code == 303
    assert load_spec(opened.config).unit.missing_keys == expected
    page = html.unescape(opened.browser.get("/people").text)
    assert f'value="{shown}"' in page.partition("Keys that identify nobody")[2][:400]


@pytest.mark.parametrize(
    ("screen", "place", "values"),
    [
        ("columns", "bounds:mother_age", {"low": "60", "high": "12"}),
        ("columns", "bounds:mother_age", {"low": "1]\nx = [1", "high": "12"}),
        ("columns", "bounds:birth_sex", {"low": "1", "high": "2"}),
        ("columns", "bounds:nobody", {"low": "1", "high": "2"}),
        ("questions", "threshold:0", {"value": "-1"}),
        ("questions", "threshold:99", {"value": "1"}),
        ("budget", "generation", {"value": "nan"}),
        ("budget", "generation", {"value": "0"}),
        ("budget", "undo", {}),
        ("people", "records_per_person", {"value": "0"}),
        ("people", "name", {"value": ""}),
    ],
)
def test_a_refused_edit_says_why_and_writes_nothing(opened: Opened, screen, place, values) -> None:
    before = opened.bytes()
    answer = opened.write(screen, place, **values)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert opened.bytes() == before


def test_two_tabs_and_an_editor_lose_nothing(opened: Opened) -> None:
    opened.browser.get("/budget")
    seen = opened.seen()
    opened.config.write_bytes(opened.config.read_bytes() + b"\n# by the editor\n")
    answer = opened.write("budget", "generation", seen, value="3")
    assert answer.status_code == 409
    assert "+# by the editor" in answer.text
    second = opened.seen()
    assert opened.write("budget", "generation", second, value="3").status_code == 303
    assert opened.write("budget", "generation", second, value="2").status_code == 409
    assert b"# by the editor" in opened.config.read_bytes()
    assert b"generation = 3\n" in opened.config.read_bytes()


def test_with_extends_a_line_overrides_in_the_opened_file(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    base, child = opened.config.read_bytes(), tmp_path / "configs" / "child.toml"
    child.write_text('extends = "births.toml"\ntitle = "Child"  # mine\n', encoding="utf-8")
    browser = TestClient(
        guard := application(Desk(Started(files=DeskFiles(child))), ORIGIN), base_url=ORIGIN, follow_redirects=False
    )
    browser.get(f"/?token={guard.token}")
    opened.browser = browser
    assert opened.write("budget", "generation", value="3").status_code == 303
    assert opened.config.read_bytes() == base
    assert "# mine" in child.read_text(encoding="utf-8")
    assert (float(load_spec(child).budget.generation), float(load_spec(child).budget.limit or 0)) == (3, 6.7)
    screen, place, values = EDITS[0]
    assert opened.write(screen, place, **values).status_code == 303
    assert "[override.columns.mother_age]\nbounds = [12, 60]" in child.read_text(encoding="utf-8")
    assert load_spec(child).schema["mother_age"].bounds == (12, 60)
    screen, place, values = EDITS[2]  # the acceptance file is the other one's
    assert opened.write(screen, place, **values).status_code == 422
    assert opened.config.read_bytes() == base


def test_the_first_screen_asks_until_there_is_an_answer_and_says_what_the_plan_says(opened: Opened) -> None:
    text = opened.config.read_text(encoding="utf-8")
    open_ = text.replace('name = "birth"\n', 'name = "birth"\nrecords_per_person = "not answered"\n')
    opened.config.write_text(open_, encoding="utf-8")
    assert "How many rows can one person have?" in opened.browser.get("/people").text
    for name in SCREENS:  # no way on, and nothing to sign yet
        answer = opened.browser.get(f"/{name}")
        assert (answer.status_code, answer.headers.get("location")) == (
            (200, None) if name in ("people", "folder") else (303, "/people")
        )
    assert '<a href="/signoff"' not in opened.browser.get("/people").text
    assert opened.write("people", "records_per_person", value="3").status_code == 303
    spec = load_spec(opened.config)
    page = html.unescape(opened.browser.get("/people").text)
    assert "How many rows" not in page
    assert all(line in page for line in guarantee_in_words(spec.unit, spec.plan.total))
    assert "at most 3 records" in page


def test_the_sheet_has_the_digest_of_the_commitment_and_every_gap_of_the_card(opened: Opened) -> None:
    text = opened.config.read_text(encoding="utf-8")
    opened.config.write_text(text.replace("contact = ", "# contact = ").replace("licence = ", "# licence = "), encoding="utf-8")
    spec = load_spec(opened.config)
    page = html.unescape(opened.browser.get("/signoff").text)
    assert commitment(spec).digest in page
    assert set(spec.unstated) >= {"card.contact", "card.licence"}
    gaps, stated = page.split("The texts of the data card")
    for each in spec.unstated:
        assert f"<code>{each}</code>" in gaps or f'name="{each.replace("card.", "card:")}/value"' in gaps, each
    assert 'name="card:organisation/value"' in stated
    assert f"synthrelease release {opened.config} --data PRIVATE" in page
    assert opened.write("budget", "limit", value="1").status_code == 303
    page = opened.browser.get("/signoff").text
    assert "The commitment" not in page
    assert "synthrelease release" not in page
    assert 'class="wrong"' in page


def test_the_token_counts_once_and_the_cookie_is_for_this_page_alone(opened: Opened) -> None:
    cookie = opened.entered.headers["set-cookie"].lower()
    assert opened.entered.status_code == 200
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TestClient(opened.guard, base_url=ORIGIN).get(f"/?token={opened.guard.token}").status_code == 403
    headers = opened.browser.get("/columns").headers
    assert headers["cache-control"] == "no-store"
    assert "'unsafe-inline'" not in headers["content-security-policy"]


@pytest.mark.slow
def test_hundreds_of_hostile_requests_change_nothing(opened: Opened) -> None:
    before, draw, seen = opened.bytes(), random.Random(20261124), opened.seen()
    opened.rehearsals.data = "public.csv"  # one that the steward asked for would start
    stranger = TestClient(opened.guard, base_url=ORIGIN, follow_redirects=False)
    forms = {
        "/budget": {"seen": seen, "place": "generation", "value": "1"},
        "/rehearsal": {"seen": seen, "place": "start", "minutes": "5"},
        "/columns": {"seen": seen, "place": "leave:birth_sex", "sure": "yes"},
        "/signoff": {"seen": seen, "place": "card:contact", "value": "me@evil.example"},
    }
    paths = [
        "/../configs/births.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/desk.css/../x",
        "//etc/passwd",
        "/card",
        "/report",
        "/report/../attempts.sqlite",
        "/births-rehearsal.log",
        "/templates/page.html",
    ]
    own = {"origin": ORIGIN}
    for _ in range(400):
        kind, (path, form) = draw.randrange(8), draw.choice(list(forms.items()))
        if kind == 0:
            answer = opened.browser.post(
                path, data=form, headers={**own, "host": draw.choice(["evil.example", "localhost", ""])}
            )
        elif kind == 1:
            answer = opened.browser.post(path, data=form, headers={"origin": draw.choice(["null", "http://evil.example", "x"])})
        elif kind == 2:
            answer = opened.browser.post(path, data=form)
        elif kind == 3:
            answer = stranger.post(f"/{draw.choice(list(SCREENS))}", data=form, headers=own)
        elif kind == 4:
            answer = opened.browser.get(draw.choice(paths))
        elif kind == 5:
            answer = opened.browser.request(
                draw.choice(["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD"]), path, headers=own
            )
        elif kind == 6:
            body = b"a" * (MOST_BYTES + draw.randrange(1, 1000))
            answer = opened.browser.post(
                path, content=body, headers={**own, "content-type": "application/x-www-form-urlencoded"}
            )
        else:
            answer = opened.browser.post(path, json=form, headers=own)
        assert 400 <= answer.status_code < 500, (kind, answer.status_code)
    assert opened.bytes() == before
    assert not opened.rehearsals.log.exists()


def test_a_body_without_a_stated_length_is_counted(opened: Opened) -> None:
    head = {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded"}
    small = opened.browser.post("/budget", content=iter([b"a=b"]), headers=head)
    large = opened.browser.post("/budget", content=iter([b"a" * 1_000] * (MOST_BYTES // 1_000 + 1)), headers=head)
    assert "content-length" not in small.request.headers
    assert (small.status_code, large.status_code) == (409, 413)


def test_nothing_of_a_private_file_beside_the_public_one_appears(tmp_path: Path) -> None:
    public = tmp_path / "public.csv"
    public.write_text("parity,birth_weight\n1,3000\n2,3100\n", encoding="utf-8")
    opened = Opened(tmp_path, data=public)
    (tmp_path / "configs" / "private.csv").write_text("parity\nPLANTED-7731\n", encoding="utf-8")
    pages = [opened.browser.get(f"/{name}").text for name in SCREENS]
    pages.append(opened.browser.get("/folder?query=private.csv&verify=yes").text)
    assert all("PLANTED" not in page for page in pages)
    assert "Public values of parity" in pages[1]


def test_a_file_that_cannot_be_read_any_more_is_told_without_a_traceback(opened: Opened) -> None:
    opened.config.write_text("title = [", encoding="utf-8")
    answer = opened.browser.get("/columns")
    assert answer.status_code == 409
    assert "Correct the files in an editor" in answer.text


def test_a_screen_of_60_columns_takes_less_than_200_ms(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    more = "".join(f"\n[columns.c{i}]\nkind = 'integer'\nbounds = [1, 40]\nalternatives.all = ['1..40']\n" for i in range(54))
    opened.config.write_text(opened.config.read_text(encoding="utf-8") + more, encoding="utf-8")
    ignored = ", ".join(f'"c{i}"' for i in range(54))
    acceptance = opened.acceptance.read_text(encoding="utf-8").replace("at_most = 1\n", f"at_most = 1\nignored = [{ignored}]\n")
    opened.acceptance.write_text(acceptance, encoding="utf-8")
    for name in ("people", "columns", "questions", "budget", "rehearsal", "signoff"):
        assert (answer := opened.browser.get(f"/{name}")).status_code == 200, answer.text
        times = []
        for _ in range(3):
            began = time.process_time()
            opened.browser.get(f"/{name}")
            times.append(time.process_time() - began)
        assert min(times) < 0.2, name


def test_areas_within_areas_are_shown_and_their_column_cannot_be_left_out(tmp_path: Path) -> None:
    """A level has no entry of its own in the file, so it is shown and no line of it is offered."""
    desk = Opened(tmp_path, "country.toml")
    before = desk.config.read_bytes()
    for screen in SCREENS:
        assert desk.browser.get(f"/{screen}").status_code == 200
    shown = desk.browser.get("/columns").text
    assert "description:municipality" in shown
    assert "description:region" not in shown
    refused = desk.write("columns", "leave:municipality")
    assert refused.status_code == 422
    assert "geography.column names the column" in html.unescape(refused.text)
    assert desk.config.read_bytes() == before


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell")
def test_the_printed_commands_work_where_the_desk_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder above the configuration, whose name a shell would take apart."""
    folder = tmp_path / "the office's $HOME"
    folder.mkdir()
    desk = Opened(folder)
    monkeypatch.chdir(tmp_path)
    here = desk.config.relative_to(tmp_path)
    ledger = Path(here.parts[0]) / "births.ledger"
    (tmp_path / ledger).touch()
    started = Started(files=DeskFiles(here), rehearsals=Rehearsals(here, None), ledger=ledger)
    guard = application(Desk(started), ORIGIN)
    desk.browser = TestClient(guard, base_url=ORIGIN)
    desk.browser.get(f"/?token={guard.token}")
    page = html.unescape(desk.browser.get("/signoff").text)
    release = page.partition('<pre class="command">')[2].partition("</pre>")[0]
    commit = page.partition("<p><code>synthrelease commit")[2].partition("</code>")[0]
    for command in (release, f"synthrelease commit{commit}"):
        script = "synthrelease() { printf '%s\\n' \"$@\"; }; " + command
        name, config, *more = subprocess.run(
            ["sh", "-c", script], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert (name, Path(config).samefile(desk.config)) in (("release", True), ("commit", True))
        if name == "release":
            assert more == ["--data", "PRIVATE", "--out", "FOLDER", "--ledger", str(ledger)]


def typed(opened: Opened, screen: str, **fields: str) -> dict[str, str]:
    """A form of a screen as a browser sends it: every field as it stands, but for those that were typed into."""
    page = html.unescape(opened.browser.get(f"/{screen}").text)
    shown = re.findall(r'<input value="([^"]*)"[^>]* name="([^"]+)" form="edit"', page)
    form = {name: value for value, name in shown} | {name.replace("__", "/"): text for name, text in fields.items()}
    return {"seen": re.findall(r'name="seen" value="(\w+)"', page)[0]} | form


def sent(opened: Opened, screen: str, place: str, form: dict[str, str]):
    return opened.browser.post(f"/{screen}", data={**form, "place": place}, headers={"origin": ORIGIN})


def holds(opened: Opened, screen: str, text: str) -> bool:
    return f'value="{text}"' in html.unescape(opened.browser.get(f"/{screen}").text)


def test_one_save_saves_all_that_was_typed_on_a_screen_and_one_undo_takes_it_back(opened: Opened) -> None:
    before = opened.bytes()
    assert sent(opened, "columns", "save=", typed(opened, "columns")).status_code == 303
    assert opened.bytes() == before  # nothing was typed
    form = typed(opened, "columns") | {"bounds:mother_age/low": "12", "description:parity/value": "Births so far"}
    answer = sent(opened, "columns", "save=bounds-parity", form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/columns#bounds-parity")
    spec = load_spec(opened.config)
    assert (spec.schema["mother_age"].bounds[0], spec.schema["parity"].description) == (12, "Births so far")
    assert opened.write("columns", "undo").status_code == 303
    assert opened.bytes() == before


def test_what_is_typed_is_there_after_an_error_a_reload_and_another_button(opened: Opened) -> None:
    before = opened.bytes()
    form = typed(opened, "columns") | {"bounds:mother_age/low": "twelve", "description:parity/value": "Births so far"}
    assert sent(opened, "columns", "typed", form).status_code == 204  # as the script does while one types
    assert holds(opened, "columns", "Births so far")
    answer = sent(opened, "columns", "save=", form)
    assert answer.status_code == 422
    page = html.unescape(answer.text)
    assert page.count("Enter a number such as 12 or 0.5, not 'twelve'.") == 2  # on top, and beside the field
    assert opened.bytes() == before
    assert sent(opened, "columns", "kind:nobody=name", typed(opened, "columns")).status_code == 422
    for place in ("numbers:nobody=", "leave:nobody="):
        assert sent(opened, "columns", place, form).status_code == 422
    assert all(holds(opened, "columns", text) for text in ("twelve", "Births so far"))
    assert "not saved" in opened.browser.get("/people").text  # the state of the screen Columns
    assert "This screen has unsaved entries" in opened.browser.get("/signoff").text
    opened.config.write_bytes(before[0] + b"\n# by an editor\n")
    assert sent(opened, "columns", "save=", form | {"bounds:mother_age/low": "12"}).status_code == 409
    assert all(holds(opened, "columns", text) for text in ("12", "Births so far"))
    assert opened.write("columns", "forget").status_code == 303
    assert not holds(opened, "columns", "Births so far")


def test_each_screen_says_whether_it_was_seen_or_is_done_and_the_sign_off_lists_what_is_not(opened: Opened) -> None:
    def state(screen: str, page: str) -> str:
        return re.findall(rf'<a href="/{screen}"[^>]*>[^<]*<small>([^<]*)</small>', page)[0]

    page = opened.browser.get("/signoff").text
    assert [state(screen, page) for screen in SCREENS] == [*["not seen"] * 5, "seen", ""]
    assert page.count("Nobody has opened this screen since the desk was started") == 5
    for screen in SCREENS:
        opened.browser.get(f"/{screen}")
    page = html.unescape(opened.browser.get("/signoff").text)
    assert "Nobody has opened this screen" not in page
    assert (state("people", page), state("questions", page)) == ("done", "seen")
    assert "Nobody has agreed to the thresholds of" in page
    today = typed(opened, "questions")["agreed/on"]
    form = typed(opened, "questions") | {"agreed/by": "The council", "agreed/on": today}
    assert sent(opened, "questions", "save=", form).status_code == 303
    assert all(criterion.agreed for criterion in load_spec(opened.config).criteria)
    page = html.unescape(opened.browser.get("/signoff").text)
    assert state("questions", page) == "done"
    assert "Nobody has agreed" not in page


def test_a_refusal_says_whether_the_answer_is_wrong_and_where_the_cause_can_be_changed(opened: Opened) -> None:
    """No language of the files: neither their names, nor that they cannot be loaded."""
    wrong = opened.write("people", "records_per_person", value="0")
    assert "The entry is not valid." in wrong.text
    lower = opened.write("columns", "limits:mother_age:five", limits="999")
    for answer in (wrong, lower):
        assert answer.status_code == 422
        block = html.unescape(answer.text).partition('role="alert"')[2].partition("</div>")[0]
        assert "can be loaded" not in block
        assert ".toml:" not in block


@pytest.mark.slow
def test_what_the_register_is_for_drafts_both_files_anew_and_keeps_the_words(tmp_path: Path) -> None:
    """As `init --important` does: every table of two columns with the important one is measured."""
    public = tmp_path / "public.csv"
    with gzip.open(ROOT / "public_data" / "births_surrogate.csv.gz", "rt", encoding="utf-8") as file:
        rows = [line.split(",") for line in itertools.islice(file, 6_000)]
    public.write_text("".join(f"{row[0]},{row[1]},{row[2]},{row[3]}\n" for row in rows), encoding="utf-8")
    config, _, _ = write_draft("births", public, tmp_path)
    desk = Opened.__new__(Opened)
    desk.config, desk.acceptance = config, tmp_path / "acceptance" / "births.toml"
    started = Started(files=DeskFiles(config), rehearsals=Rehearsals(config, str(public)))
    desk.guard = application(Desk(started), ORIGIN)
    desk.browser = TestClient(desk.guard, base_url=ORIGIN, follow_redirects=False)
    desk.browser.get(f"/?token={desk.guard.token}")
    assert desk.write("people", "records_per_person", value="1").status_code == 303
    assert desk.write("columns", "description:parity", value="Births so far").status_code == 303
    assert desk.write("signoff", "card:contact", value="office@example.org").status_code == 303
    config.write_text(config.read_text().replace("rules = [", 'rules = [{ never = "parity > 11", why = "Not seen" }, ', 1))
    before = desk.bytes()
    assert desk.write("questions", "important").status_code == 422
    assert desk.write("questions", "important", first="is_female").status_code == 303
    spec = load_spec(config)
    measured = {
        frozenset(spec.schema.names[place] for place in table)
        for table in spec.space.generators[0].measured_tables(spec.space.common.layout, 2)
    }
    assert {frozenset(("is_female", name)) for name in spec.schema.names if name != "is_female"} <= measured
    assert (spec.schema["parity"].description, spec.card.contact, spec.unit.records) == (
        "Births so far",
        "office@example.org",
        1,
    )
    assert "Not seen" in [rule.why for rule in spec.rules]
    assert "have changed since a draft tried them: " in html.unescape(desk.browser.get("/signoff").text)  # the rule is untried
    assert desk.write("questions", "undo").status_code == 303
    assert desk.bytes() == before


def test_rules_of_the_steward_are_copied_into_a_new_draft() -> None:
    """Rules that a draft suggested follow its bins, so the new draft suggests them again, or others."""
    suggested = 'rules = [\n  { never = "a < 1", applies_to = ["synthetic"] },  # 662\n]\n'
    own = [{"never": "b < 2", "why": "No one can."}, {"never": "c > 3"}, {"never": "d > 4", "applies_to": ["raw"]}]
    old = {"rules": [*own, {"never": "e < 5", "applies_to": ["synthetic"]}]}
    for start, kept in ((suggested, ["a < 1"]), ("rules = []  # impossible\n", [])):
        text = start
        for edit in _own_rules(old, tomllib.loads(start)):
            text = edited(text, [edit])
        rules = tomllib.loads(text)["rules"]
        assert rules[len(kept) :] == own
        assert [rule["never"] for rule in rules[: len(kept)]] == kept
        assert text.count("#") == 1  # the comments stay
    (again,) = _own_rules({"rules": [{**own[0], "never": "a < 1"}]}, tomllib.loads(suggested))
    assert again.path == ("rules", 0)
    raw, made = ({"never": "a < 1", "applies_to": [file], "why": f"In the {file} file."} for file in ("raw", "synthetic"))
    for old_rules, places in (([raw, made], [1, 0]), ([made, raw], [0, 1]), ([{"never": "a < 1", "why": "No."}, made], [0, 1])):
        edits = [*_own_rules({"rules": old_rules}, tomllib.loads(suggested))]
        assert [edit.path[1] for edit in edits] == places
