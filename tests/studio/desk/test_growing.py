"""What a steward adds from the page and takes out again: questions, criteria, columns, limits; and the same under `extends`."""

from __future__ import annotations

import html
import re
import socket
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from synthrelease.cli.drafting import desk
from synthrelease.criteria.scoring import none_can_fail
from synthrelease.data.questions import split_question
from synthrelease.errors import InputError
from synthrelease.spec.load import load_spec
from synthrelease.studio.desk.files import DeskFiles, Shown, changes_of
from synthrelease.studio.desk.strips import Strips
from synthrelease.studio.drafting.edits import limits_of
from synthrelease.studio.drafting.public_file import read_public_file
from tests.helpers.households import some_households, write_households, write_tables
from tests.studio.desk.opened import Opened
from tests.studio.desk.test_columns import Coins

CRITERION = {"asked": "conditional_mean", "first": "year", "second": "face", "third": "", "threshold": "0.5", "epsilon": "0.1"}


@pytest.fixture
def coins(tmp_path: Path) -> Coins:
    return Coins(tmp_path)


class Child(Coins):
    """The desk of a configuration that extends that of the coins and overrides a line of it."""

    def __init__(self, folder: Path):
        super().__init__(folder, name="child.toml")
        self.base = folder / "coins.toml"


@pytest.fixture
def child(tmp_path: Path) -> Child:
    return Child(tmp_path)


def test_a_question_is_added_and_taken_out(coins: Coins) -> None:
    before = coins.texts()
    assert coins.post("questions", "ask", query="year > 4", why='For "the" book').status_code == 303
    assert coins.post("questions", "ask", query="share face == 'head' where year > 4", why="").status_code == 303
    first, second = load_spec(coins.config).questions
    assert (first.query, first.why) == ("year > 4", 'For "the" book')
    assert split_question(second.query).conditions == ("face == 'head'", "year > 4")
    page = html.unescape(coins.browser.get("/questions").text)
    assert "number of rows with year > 4" in page
    assert coins.post("questions", "unask:0").status_code == 303
    assert [each.query for each in load_spec(coins.config).questions] == [second.query]
    assert coins.post("questions", "unask:0").status_code == 303
    assert coins.texts() == before
    for query in ("nobody > 4", "year >", 'year > 4"\nx = "'):
        assert coins.post("questions", "ask", query=query).status_code == 422, query
    assert coins.post("questions", "unask:0").status_code == 422
    assert coins.texts() == before


def test_the_examples_of_questions_can_be_asked(coins: Coins) -> None:
    page = html.unescape(coins.browser.get("/questions").text)
    told = page.partition("For example: ")[2].partition("</p>")[0]
    examples = [each.partition("</code>")[0] for each in told.split("<code>")[1:]]
    assert len(examples) == 3
    for each in examples:
        assert coins.post("questions", "ask", query=each).status_code == 303, each


def test_a_criterion_is_added_agreed_to_and_taken_out(coins: Coins) -> None:
    before, number = coins.texts(), len(load_spec(coins.config).criteria)
    assert coins.post("questions", "criterion", **CRITERION, reason="Asked every year").status_code == 303
    added = load_spec(coins.config).criteria[-1]
    assert (added.kind, added.column, added.by, added.reason) == ("conditional_mean", "year", ("face",), "Asked every year")
    assert coins.post("questions", f"agreed:{number}", by="The council", on="2026-11-24").status_code == 303
    assert "The largest difference between the released mean of year" in coins.browser.get("/questions").text
    assert coins.post("questions", f"drop:{number}").status_code == 303
    assert coins.texts() == before
    for wrong in ({"asked": "else"}, {"first": "nobody"}, {"first": "face"}, {"threshold": "x"}, {"epsilon": "0"}):
        assert coins.post("questions", "criterion", **{**CRITERION, **wrong}).status_code == 422, wrong
    assert coins.texts() == before


def test_the_last_criterion_that_can_fail_is_not_taken_out(coins: Coins) -> None:
    before = coins.texts()
    answers = [coins.post("questions", "drop:0").status_code for _ in range(3)]
    assert 422 in answers
    load_spec(coins.config).check_can_fail()
    assert before[0] == coins.texts()[0]


def test_a_column_that_was_left_out_comes_back_and_one_that_never_was_comes(coins: Coins) -> None:
    before = coins.texts()
    assert coins.post("columns", "leave:coin", value="yes").status_code == 303
    assert 'aria-label="Release coin as a number"' in coins.browser.get("/columns").text
    assert coins.post("columns", "back:coin", value="number").status_code == 303
    spec = load_spec(coins.config)
    assert spec.schema["coin"].bounds is not None
    assert (2,) in spec.space.generators[0].measured_tables(spec.space.common.layout, 1)
    assert coins.post("columns", "back:heavy", value="number").status_code == 303
    assert load_spec(coins.config).schema.names == ("face", "year", "coin", "heavy")
    for place, value in (("back:coin", "number"), ("back:nobody", "name"), ("back:mint", "number"), ("back:mint", "else")):
        assert coins.post("columns", place, value=value).status_code == 422, place
    assert coins.post("columns", "undo").status_code == 303
    assert before[1] == coins.texts()[1]


def test_limits_are_written_with_the_numbers_of_new_bins_and_undone(coins: Coins) -> None:
    before = coins.texts()
    page = coins.browser.get("/columns").text
    assert 'data-places="1 2 3 4 5 6 7 8"' in page
    assert "by the representative value of its bin, it changes by 0.5 on average" in page  # 1 and 2 are 1.5, and so on
    assert coins.post("columns", "limits:year:pairs", limits="3; 5 8").status_code == 303
    year = load_spec(coins.config).schema["year"]
    assert limits_of(year) == {"pairs": (3, 5, 8)}
    assert dict(zip(year.alternatives["pairs"].labels, year.alternatives["pairs"].numbers, strict=True))["5-7"] == 6
    assert coins.post("columns", "undo").status_code == 303
    assert coins.texts() == before
    for typed in ("", "1, 3", "3, 9", "3.5", "x", "nan"):
        answer = coins.post("columns", "limits:year:pairs", limits=typed)
        assert answer.status_code == 422, typed
        assert f'value="{typed}"' in answer.text
    for place in ("limits:face:categories", "limits:year:else", "limits:nobody:pairs", "limits:year"):
        assert coins.post("columns", place, limits="3").status_code == 422, place
    assert coins.texts() == before


def test_bins_that_were_edited_by_hand_get_their_numbers(coins: Coins, tmp_path: Path) -> None:
    skewed = tmp_path / "skewed.csv"
    skewed.write_text("face,year\n" + "head,3\n" * 30 + "tail,4\n" * 10 + "tail,8\n", encoding="utf-8")
    files = DeskFiles(coins.config)
    shown = Shown(texts=files.texts(), spec=files.spec(files.texts()), public=read_public_file(skewed))
    files.edit(shown.texts.seen, {"numbers": lambda texts, spec: changes_of(shown, "columns", "numbers:year", {})})
    year = load_spec(coins.config).schema["year"].alternatives["pairs"]
    assert dict(zip(year.labels, year.numbers, strict=True))["3-4"] == 3.25
    assert 'value="numbers:year="' in coins.browser.get("/columns").text
    assert coins.post("columns", "numbers:face").status_code == 422


def test_narrower_bounds_give_the_last_bin_the_mean_of_the_public_rows_in_it(coins: Coins) -> None:
    """Public years are 1 to 8, each as often: beyond 7 they count as 7, so that the bin of 6 and more has the mean 20/3."""
    assert coins.post("columns", "limits:year:pairs", limits="3, 6").status_code == 303
    assert coins.post("columns", "bounds:year", high="9").status_code == 303
    year = load_spec(coins.config).schema["year"].alternatives["pairs"]
    assert dict(zip(year.labels, year.numbers, strict=True))["6-9"] == 7
    assert coins.post("columns", "bounds:year", high="7").status_code == 303
    year = load_spec(coins.config).schema["year"].alternatives["pairs"]
    assert dict(zip(year.labels, year.numbers, strict=True))["6-7"] == pytest.approx(20 / 3, abs=0.01)


def test_a_limit_of_a_group_moves_in_the_acceptance_file_too(coins: Coins) -> None:
    acceptance = coins.config.with_name("acceptance.toml")
    acceptance.write_text(
        '[groups]\nyear = ["1-4", "5-8"]  # halves\n' + acceptance.read_text(encoding="utf-8"), encoding="utf-8"
    )
    before = coins.texts()
    assert coins.post("columns", "limits:year:pairs", limits="3, 6, 7").status_code == 303
    assert 'year = ["<6", ">=6"]  # halves' in coins.texts()[1]
    assert coins.post("columns", "undo").status_code == 303
    assert coins.texts() == before


def test_under_extends_a_line_overrides_and_what_no_line_can_say_is_copied(child: Child) -> None:
    base, acceptance = child.base.read_bytes(), child.texts()[1]
    assert child.post("columns", "limits:year:pairs", limits="3, 6, 7").status_code == 303
    assert "[override.columns.year.alternatives]\npairs = " in child.texts()[0]
    assert child.post("people", "name", value="coin").status_code == 303
    assert child.post("columns", "kind:coin", value="name").status_code == 303
    assert "[override" not in child.texts()[0]
    assert "# These tables were copied from coins.toml" in child.texts()[0]
    spec = load_spec(child.config)
    assert spec.schema["coin"].bounds is None
    assert limits_of(spec.schema["year"]) == {"pairs": (3, 6, 7)}
    assert spec.unit.name == "coin"
    asked = child.post("columns", "leave:coin")
    assert asked.status_code == 200
    assert child.post("columns", "leave:coin", value="yes").status_code == 303
    assert child.post("columns", "back:coin", value="number").status_code == 303
    assert child.post("columns", "key:mint").status_code == 303
    assert load_spec(child.config).unit.key == "mint"
    assert (child.base.read_bytes(), child.texts()[1]) == (base, acceptance)


def test_under_extends_thresholds_are_changed_in_a_copy(child: Child) -> None:
    base, acceptance = child.base.read_bytes(), child.texts()[1]
    answer = child.post("questions", "criterion", **CRITERION)
    assert answer.status_code == 422
    assert "To make a copy for this configuration, use the button" in answer.text
    assert child.post("questions", "own").status_code == 303
    own = child.config.with_name("child-acceptance.toml")
    assert own.read_text(encoding="utf-8") == acceptance
    assert child.post("questions", "criterion", **CRITERION).status_code == 303
    assert load_spec(child.config).criteria[-1].column == "year"
    assert (child.base.read_bytes(), child.texts()[1]) == (base, acceptance)
    assert child.post("questions", "own").status_code == 422
    assert child.post("questions", "undo").status_code == 303
    assert own.read_text(encoding="utf-8") == acceptance


def test_before_anything_else_a_column_can_say_whose_row_it_is(tmp_path: Path) -> None:
    coins = Coins(tmp_path)
    coins.config.write_text(coins.config.read_text() + '\n[unit]\nrecords_per_person = "not answered"\n', encoding="utf-8")
    page = coins.browser.get("/people").text
    assert '<option value="mint">mint</option>' in page
    assert coins.post("people", "key", column="nobody").status_code == 422
    assert coins.post("people", "key", column="mint").status_code == 303
    unit = load_spec(coins.config).unit
    assert (unit.key, unit.records) == ("mint", 1)
    assert coins.browser.get("/columns").status_code == 200


def test_the_page_learns_of_a_change_by_an_editor(coins: Coins) -> None:
    seen = coins.browser.get("/seen").text
    assert f'<body data-seen="{seen}">' in coins.browser.get("/people").text
    coins.config.write_text(coins.config.read_text() + "# by an editor\n", encoding="utf-8")
    assert coins.browser.get("/seen").text not in (seen, "")
    coins.config.write_text("[", encoding="utf-8")
    assert coins.browser.get("/seen").text == ""


def test_a_port_that_is_taken_is_told(coins: Coins) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot be used"):
            desk(coins.config, port=taken.getsockname()[1], no_open=True)


def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_lost(coins: Coins, monkeypatch: pytest.MonkeyPatch) -> None:
    before = coins.texts()

    def refused(self: Path, *args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    real = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, mode="r", *a, **o: refused(self) if "w" in mode else real(self, mode, *a, **o)
    )
    answer = coins.post("budget", "generation", value="3")
    assert answer.status_code == 422
    assert re.search(r"Cannot write \S+ \(Permission denied\)\. Nothing was changed\.", html.unescape(answer.text))
    assert coins.texts() == before


@pytest.mark.slow
def test_columns_of_members_stand_once_and_are_edited_in_their_table(tmp_path: Path) -> None:
    opened = Opened(tmp_path, name="visits.toml")
    linked = load_spec(opened.config).schema.linked
    assert linked is not None
    page = opened.browser.get("/columns").text
    name, first = linked.names[0], linked.slots[0][0]
    assert page.count(f'name="description:{first}/value"') == 1
    assert linked.slots[1][0] not in page
    assert opened.write("columns", f"description:{first}", value="Of a member").status_code == 303
    assert load_spec(opened.config).tables["members"]["columns"][name]["description"] == "Of a member"
    for place in (f"kind:{first}", f"leave:{first}", f"leave:{linked.size}"):
        assert opened.write("columns", place, value="yes").status_code == 422, place
    assert "--members PRIVATE_MEMBERS" in opened.browser.get("/signoff").text
    people = html.unescape(opened.browser.get("/people").text)
    assert "a record is a row of the first table (a root, such as a household) with all its members" in people
    assert "Use the column as key" not in people


def test_the_number_of_members_and_their_columns_are_counted_in_their_own_file(tmp_path: Path) -> None:
    """Of households with more than two persons, two are released; the keys of both files are no numbers of persons."""
    roots, members = some_households()
    config = write_households(tmp_path)
    files = [read_public_file(path) for path in write_tables(tmp_path, roots, members)]
    spec, strips = load_spec(config), Strips(*files)
    of_root = Counter(member[0] for member in members)
    numbers = Counter(str(min(2, of_root[root[0]])) for root in roots)
    linked = spec.schema.linked
    assert linked is not None
    assert linked.most == 2
    size, age = spec.schema.by_name[linked.size], spec.schema.by_name["age_2"]
    assert strips.texts(size, linked) == numbers
    found, _ = strips.of(size, spec.input, linked)
    assert found is not None
    assert list(found.rows) == [numbers[str(number)] for number in range(3)]
    assert sum(strips.texts(age, linked).values()) == len(members)
    nobody = replace(linked, missing_keys=(roots[0][0],))
    assert Strips(*files).texts(size, nobody) == numbers - Counter([str(min(2, of_root[roots[0][0]]))])


def test_files_that_accept_every_table_can_still_be_edited_and_nothing_makes_them_so(coins: Coins) -> None:
    """An answer is not refused for a fault that stood in the files before it; a change that brings the fault about is."""
    acceptance, before = coins.config.with_name("acceptance.toml"), coins.texts()[1]
    for threshold, status in (("2", 303), ("0.9", 422)):
        acceptance.write_text(before.replace("threshold = 0.9", f"threshold = {threshold}"), encoding="utf-8")
        assert bool(none_can_fail(load_spec(coins.config).criteria)) == (status == 303)
        assert coins.post("people", "records_per_person", value="2").status_code == 303
        assert coins.post("questions", "threshold:0", value="3").status_code == status
        assert coins.post("people", "records_per_person", value="1").status_code == 303
