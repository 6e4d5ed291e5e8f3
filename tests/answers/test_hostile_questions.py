"""Questions that nobody meant end with a clear error, soon, in little memory; long ones that mean something are answered."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from synthrelease.answers.bounds import bound
from synthrelease.answers.estimates import estimate
from synthrelease.answers.questions import LONGEST, MOST_COMPARISONS, parse_condition
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease, load
from tests.helpers.command_line import said_by
from tests.helpers.tiny import write_measured_release


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("work")
    return write_measured_release(work, work / "release")


@pytest.fixture(scope="module")
def release(folder: Path) -> PublishedRelease:
    return load(folder)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("year < " + "9" * 5000, "'year' must be compared with a number between -1e15 and 1e15, not with 999"),
        ("year < -" + "9" * 400, "must be compared with a number between -1e15 and 1e15"),
        (" and ".join(["year < 5"] * 3000), f"characters. A question may have at most {LONGEST:,}."),
        (" and ".join(["year < 5"] * 1500), f"has 1,500 comparisons. At most {MOST_COMPARISONS:,} are allowed"),
        ("a" * 19_000, "expected a column"),
        ("face == '" + "h" * 19_000 + "'", "is not a category of 'face'"),
        ("year < 5 " + "x" * 19_000, "expected 'and', 'or' or the end of the condition, found 'xxx"),
        ("(" * 9000, "more than 100 parentheses"),
        ("not " * 4000 + "year < 5", "more than 100 parentheses and negations"),
    ],
)
def test_what_is_too_much_is_refused_in_a_readable_message(release, query, problem):
    for ask in (lambda: bound(release, query), lambda: estimate(release, f"share {query}")):
        with pytest.raises(InputError) as caught:
            ask()
        assert problem.split(", found 38995")[0] in str(caught.value)
        assert len(str(caught.value)) < 700


@pytest.mark.slow
def test_a_condition_of_many_comparisons_is_answered_in_the_memory_of_one(release):
    """All of them at once took as many tables as there are comparisons."""
    columns = tuple(release.schema)
    few, many = ("face == 'head' and " + " and ".join(["year < 5"] * times) for times in (1, 900))
    expected = parse_condition(few, release).mask(columns)
    tracemalloc.start()
    found = parse_condition(many, release)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    mask = found.mask(columns)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert (mask == expected).all()
    assert peak < 900 * 20 * mask.size
    assert bound(release, many).answer == bound(release, few).answer


@pytest.mark.parametrize("query", ["year\n<\n5", " and ".join(["year < 5"] * 120), "year < 0." + "9" * 3000 + " or year < 5"])
def test_a_question_of_any_length_and_layout_is_answered_on_the_command_line(folder, query, monkeypatch, capsys):
    """Such ones ended as a mistake in the program, with words about private values and a budget."""
    code, said = said_by(monkeypatch, capsys, "bound", str(folder), query)
    assert code == 0
    assert "The card says about this answer: " in said


def test_a_command_that_reads_nothing_private_speaks_of_no_budget(folder, monkeypatch, capsys):
    def fail(*_: object, **__: object) -> None:
        raise ArithmeticError("SECRET-7461")

    monkeypatch.setattr("synthrelease.published.load", fail)
    code, said = said_by(monkeypatch, capsys, "bound", str(folder), "year < 5")
    assert code == 1
    assert "ArithmeticError at synthrelease/cli/reading.py" in said
    assert "This command reads no private data, and no budget was spent." in said
    assert "7461" not in said
    monkeypatch.setattr("synthrelease.spec.load.load_spec", fail)
    code, said = said_by(monkeypatch, capsys, "check", str(folder))
    assert "If the run had read private data, the planned budget counts as spent" in said
