"""The file that keeps a rehearsal's attempts: what comes back, what is refused, and what survives a failure."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.errors import InputError, OutputError
from synthrelease.spec.requests import RehearsalRequest
from synthrelease.studio.rehearsal import rehearse as module
from synthrelease.studio.rehearsal.attempts import AttemptResult
from synthrelease.studio.rehearsal.rehearse import open_store

ABOUT = {"format": "1", "specification": "5e", "data": "da7a", "seed": "4"}


def result(configuration: int, number: int, generation: Fraction = Fraction(9, 2), chance: float = 0.1) -> AttemptResult:
    return AttemptResult(
        configuration=configuration,
        number=number,
        generation=generation,
        accepted=number % 2 == 0,
        chance=chance,
        seconds=0.25,
        figures=(0.1 + 0.2, None, 0.0),
        sensitivities=(1 / 3, None, None),
        passed=(True, False, True),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "attempts.sqlite"


def keep(path: Path, *results: AttemptResult) -> None:
    with open_store(path, ABOUT) as store:
        store.add(list(results))


def kept(path: Path, generation: Fraction = Fraction(9, 2)) -> list[AttemptResult]:
    with open_store(path, ABOUT) as store:
        return list(store.results(generation))


chances = st.floats(0, 1)
figures = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
attempts = st.builds(
    AttemptResult,
    configuration=st.integers(0, 10**6),
    number=st.integers(0, 400),
    generation=st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(22, 7)]),
    accepted=st.booleans(),
    chance=chances,
    seconds=st.floats(0, 1e4),
    figures=st.tuples(figures, figures),
    sensitivities=st.tuples(figures, figures),
    passed=st.tuples(st.booleans(), st.booleans()),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(results=st.lists(attempts, max_size=12, unique_by=lambda r: (r.generation, r.configuration, r.number)))
def test_what_was_added_is_read_back(results: list[AttemptResult], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("store") / "attempts.sqlite"
    keep(path, *results)
    for generation in (Fraction(1), Fraction(1, 3), Fraction(22, 7)):
        expected = [one for one in results if one.generation == generation]
        assert kept(path, generation) == sorted(expected, key=lambda one: (one.configuration, one.number))


def test_results_come_by_configuration_and_number_in_whatever_order_they_were_added(path: Path) -> None:
    keep(path, result(2, 0), result(0, 1))
    keep(path, result(0, 0), result(10, 0), result(1, 7))
    assert [(one.configuration, one.number) for one in kept(path)] == [(0, 0), (0, 1), (1, 7), (2, 0), (10, 0)]


def test_adding_an_attempt_again_changes_nothing(path: Path) -> None:
    """The first one stays: a worker that was thought dead may hand its attempts in late."""
    keep(path, result(0, 0))
    keep(path, result(0, 0, chance=0.9), result(0, 1))
    assert kept(path) == [result(0, 0), result(0, 1)]


@pytest.mark.parametrize("name", ["specification", "data", "seed", "format"])
def test_the_results_of_another_rehearsal_are_refused_by_what_differs(path: Path, name: str) -> None:
    keep(path, result(0, 0))
    with pytest.raises(InputError) as caught, open_store(path, ABOUT | {name: "another"}):
        pass
    assert str(caught.value) == (
        f"{path} contains the results of another rehearsal (different {name}). "
        "Choose another folder for --out, or use the same specification, data and seed."
    )
    assert kept(path) == [result(0, 0)]


def test_everything_that_differs_is_named(path: Path) -> None:
    keep(path)
    with pytest.raises(InputError, match=r"\(different data, seed\)"), open_store(path, ABOUT | {"data": "", "seed": "5"}):
        pass


def test_a_file_of_an_older_format_that_lacks_a_fact_is_refused(path: Path) -> None:
    with open_store(path, {name: value for name, value in ABOUT.items() if name != "data"}):
        pass
    with pytest.raises(InputError, match=r"\(different data\)"), open_store(path, ABOUT):
        pass


def test_without_a_seed_the_kept_one_is_taken(path: Path) -> None:
    keep(path, result(0, 0))
    with open_store(path, ABOUT | {"seed": ""}) as store:
        assert store.about == ABOUT
        assert list(store.results(Fraction(9, 2))) == [result(0, 0)]


@pytest.mark.parametrize("content", [b"configuration,number\n0,0\n" * 100, b"\x00\x01" * 3000])
def test_a_file_that_is_not_sqlite_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught, open_store(path, ABOUT):
        pass
    message = f"{path} does not contain the results of a rehearsal (file is not a database)."
    assert str(caught.value) == message
    assert path.read_bytes() == content


def test_a_torn_file_is_refused(path: Path) -> None:
    keep(path, *[result(c, n) for c in range(50) for n in range(10)])
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    with pytest.raises(InputError, match=r"does not contain the results of a rehearsal \(.*malformed"):
        kept(path)


def test_a_folder_in_the_place_of_the_file_is_a_clear_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(OutputError) as caught, open_store(path, ABOUT):
        pass
    assert str(caught.value) == (f"Cannot open {path} (unable to open database file).")


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "attempts.sqlite"
    with pytest.raises(OutputError, match="Cannot open "), open_store(path, ABOUT):
        pass
    assert not path.parent.exists()


def test_results_that_cannot_be_written_are_a_clear_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file read-only, whoever runs the test."""
    keep(path, result(0, 0))
    connect = sqlite3.connect
    monkeypatch.setattr(module.sqlite3, "connect", lambda path, timeout: connect(f"file:{path}?mode=ro", uri=True))
    with pytest.raises(OutputError) as caught:
        keep(path, result(0, 1))
    assert str(caught.value) == (
        f"Cannot write the results to {path} (attempt to write a readonly database). Earlier results are kept."
    )
    monkeypatch.undo()
    assert kept(path) == [result(0, 0)]


def add_until_full(path: Path, first: list[AttemptResult], group: list[AttemptResult]) -> None:
    with open_store(path, ABOUT) as store:
        store.add(first)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        store.add(group)


def test_a_full_disk_keeps_all_earlier_results_and_none_of_a_half_written_group(path: Path) -> None:
    """A file that may not grow stands for the disk. SQLite says the same when the system refuses to write."""
    first = [result(0, number) for number in range(20)]
    group = [result(1, number) for number in range(5000)]
    with pytest.raises(OutputError) as caught:
        add_until_full(path, first, group)
    assert str(caught.value) == (f"Cannot write the results to {path} (database or disk is full). Earlier results are kept.")
    assert kept(path) == first
    keep(path, *group)
    assert kept(path) == [*first, *group]


def test_results_are_on_disk_before_the_file_is_closed(path: Path, tmp_path: Path) -> None:
    """A copy of the files as a crash would leave them holds the group that was added."""
    with open_store(path, ABOUT) as store:
        store.add([result(0, 0)])
        (tmp_path / "crashed").mkdir()
        for file in tmp_path.glob("attempts.sqlite*"):
            shutil.copy(file, tmp_path / "crashed")
    assert kept(tmp_path / "crashed" / "attempts.sqlite") == [result(0, 0)]


class LooksTwice(sqlite3.Connection):
    """Tries to start another rehearsal in the same file between the look for an earlier one and the note of this one."""

    others: list[str] = []

    def execute(self, query: str, *arguments: object) -> sqlite3.Cursor:
        found = super().execute(query, *arguments)
        if query.startswith("SELECT name, value FROM about"):
            path = super().execute("PRAGMA database_list").fetchone()[2]
            other = sqlite3.Connection(path, timeout=0)
            try:
                with other:
                    other.execute("INSERT INTO about VALUES ('seed', '5')")
                self.others.append("started")
            except sqlite3.OperationalError as error:
                self.others.append(str(error))
            other.close()
        return found


def test_of_two_rehearsals_that_start_together_the_second_waits_for_the_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LooksTwice, "others", [])
    monkeypatch.setattr(module.sqlite3, "connect", LooksTwice)
    with open_store(path, ABOUT) as store:
        assert store.about == ABOUT
    assert LooksTwice.others == ["database is locked"]


def test_a_file_that_was_begun_and_never_filled_draws_a_seed_and_keeps_it(tmp_path: Path) -> None:
    """What a crash between making the file and the first note leaves."""
    path = tmp_path / "attempts.sqlite"
    path.touch()
    about = {"specification": "a", "data": "b", "seed": ""}
    with open_store(path, about) as store:
        drawn = store.about["seed"]
    with open_store(path, about) as store:
        assert store.about["seed"] == drawn
    assert drawn.isdigit()


def test_a_long_rehearsal_says_after_its_pilot_how_long_it_takes() -> None:
    """Of two configurations: 24 fits of the race, 2 * 6 * 3 of other budgets, 2 * 3 copies, 100 attacks. Each takes 15 s."""
    pilot = [{0: replace(result(number, 0), seconds=10.0), 1: replace(result(number, 1), seconds=20.0)} for number in range(2)]
    request = RehearsalRequest(config=Path("a.toml"), data=Path("b.csv"), out=Path("out"))
    assert module.duration(request, pilot).startswith("about 42 minutes: 166 fits of 15.0 s, 100 of them attacks")
    assert module.duration(replace(request, jobs=2), pilot).startswith("about 21 minutes")
    assert module.duration(replace(request, attacks=0, jobs=14), pilot).startswith("about 1 minute: 66 fits")
    assert module.duration(request, [{0: result(0, 0)}]) == module.duration(replace(request, minutes=10), pilot) == ""
