"""Roots with their members in many files: the same counts as in one, an answer for a key in several, and public refusals."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import synthrelease
from synthrelease.data.misfits import IN_PIECES, MISSING
from synthrelease.enclave import members as linked_pieces
from synthrelease.enclave.counting import KEYS, READ
from synthrelease.enclave.ingest import check_fit, ingest
from synthrelease.enclave.many_files import counting_cluster, one_by_one
from synthrelease.enclave.members import count_linked_pieces, count_linked_rows
from synthrelease.errors import InputError
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.dask_processes import DaskProcess
from tests.helpers.households import Member, Root, some_households, write_households, write_rows, write_tables

ROOTS, MEMBERS = "hh,rent,town", "hh,no,age,work"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_households(tmp_path_factory.mktemp("spec")))


def backwards(action: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Any:
    """A cluster that is done with the last file first."""
    return reversed(list(one_by_one(action, arguments)))


def written(folder: Path, pieces: Sequence[tuple[Sequence[Root], Sequence[Member]]]) -> Source:
    for name in ("roots", "members"):
        (folder / name).mkdir()
    for place, (roots, members) in enumerate(pieces):
        write_rows(folder / "roots" / f"part.{place}.csv", ROOTS, roots)
        write_rows(folder / "members" / f"part.{place}.csv", MEMBERS, members)
    return Source.of(folder / "roots", members=folder / "members")


def divided(
    roots: Sequence[Root], members: Sequence[Member], by: Callable[[str], int]
) -> list[tuple[list[Root], list[Member]]]:
    return [([row for row in roots if by(row[0]) == i], [row for row in members if by(row[0]) == i]) for i in range(4)]


def test_whole_roots_in_pieces_are_counted_as_in_one_file(spec: ReleaseSpec, tmp_path: Path) -> None:
    """With an empty piece, rows without a key, and files of another format beside each other."""
    roots, members = some_households(120)
    roots, members = [*roots, ("", "1", "here"), ("7", "1", "here")], [*members, ("NA", "1", "1", "no"), ("x", "1", "1", "no")]
    source = written(tmp_path, divided(roots, members, lambda key: len(key) % 4 if key.isdigit() else 1))
    table = pd.read_csv(tmp_path / "members" / "part.2.csv", keep_default_na=False)
    table.to_parquet(tmp_path / "members" / "part.2.parquet")
    (tmp_path / "members" / "part.2.csv").unlink()
    one = count_linked_rows(Source.of(*_together(tmp_path, roots, members)), spec.schema, spec.input)
    for run in (one_by_one, backwards):
        found = count_linked_pieces(source, spec.schema, spec.input, run)
        assert found.cells.same_as(one.cells)
        assert (found.n_rows, found.divided) == (one.n_rows, False) == (121, False)
        assert [found.misfits[KEYS, kind] for kind in (READ, MISSING)] == [one.misfits[KEYS, kind] for kind in (READ, MISSING)]
    assert one.misfits[KEYS, MISSING] == 1
    assert ingest(source, spec.schema, spec.input, spec.raw, backwards).n_file == 121


def _together(folder: Path, roots: Sequence[Root], members: Sequence[Member]) -> tuple[Path, None, Path]:
    first, second = write_tables(folder, roots, members)
    return first, None, second


def test_members_that_carry_their_root_are_counted_in_pieces_too(spec: ReleaseSpec, tmp_path: Path) -> None:
    roots, members = some_households(60)
    of_key = {key: (rent, town) for key, rent, town in roots}
    rows = [(*member, *of_key[member[0]]) for member in members]
    (tmp_path / "all").mkdir()
    for i in range(3):
        write_rows(tmp_path / "all" / f"{i}.csv", f"{MEMBERS},rent,town", [row for row in rows if int(row[0]) % 3 == i])
    one = count_linked_rows(Source.of(write_rows(tmp_path / "one.csv", f"{MEMBERS},rent,town", rows)), spec.schema, spec.input)
    found = count_linked_pieces(Source.of(tmp_path / "all"), spec.schema, spec.input, one_by_one)
    assert found.cells.same_as(one.cells)
    assert found.n_rows == one.n_rows == 60


def test_a_key_in_several_pieces_is_left_out_whole_and_counted_once_whatever_stands_there(
    spec: ReleaseSpec, tmp_path: Path
) -> None:
    """Every way to spread the rows of one key over two pieces, beside keys that lie whole in theirs."""
    still = [([("a", "1", "here")], [("a", "1", "1", "no")]), ([("b", "2", "there")], []), ([], [("c", "1", "2", "no")])]
    alone = _kept(count_linked_pieces(written(_new(tmp_path), still), spec.schema, spec.input, one_by_one))
    assert alone.total() == 2  # c has no root
    root, member, more = ("k", "3", "here"), ("k", "1", "3", "yes"), ("k", "2", "1", "no")
    for own, in_pieces in (
        ([([root], [member, more]), ([], []), ([], [])], 0),
        ([([root], [member]), ([], [more]), ([], [])], 1),
        ([([root], []), ([], [member, more]), ([], [])], 1),
        ([([root], [member]), ([root], [more]), ([], [])], 1),
        ([([root], [member]), ([root], [member]), ([root], [member])], 1),
        ([([], [member]), ([], []), ([], [("k.0", "1", "1", "no")])], 0),  # another key
    ):
        pieces = [([*a, *b], [*c, *d]) for (a, c), (b, d) in zip(still, own, strict=True)]
        source = written(_new(tmp_path), pieces)
        found = count_linked_pieces(source, spec.schema, spec.input, backwards)
        of_members = {row[0] for _, members in pieces for row in members}
        of_roots = {row[0] for roots, _ in pieces for row in roots}
        assert found.n_rows == len(of_members | of_roots)
        assert found.misfits[KEYS, MISSING] == len(of_members - of_roots - ({"k"} if in_pieces else set()))
        whole = sum(bool(a or c) for a, c in own) == 1
        assert (_kept(found) - alone).total() == int(whole)
        assert not alone - _kept(found)
        assert found.divided == bool(in_pieces)
        told = check_fit(source, spec.schema, spec.input, spec.raw, one_by_one).unread
        assert (IN_PIECES in told) == bool(in_pieces)


def _kept(found: Any) -> Counter[tuple[int, ...]]:
    cells = zip(*(bins.tolist() for bins in found.cells.bins), strict=True)
    return Counter(dict(zip(cells, found.cells.counts.tolist(), strict=True)))


def _new(folder: Path) -> Path:
    path = folder / str(len(list(folder.iterdir())))
    path.mkdir()
    return path


def test_marks_are_made_with_one_secret_of_this_reading(spec: ReleaseSpec, tmp_path: Path) -> None:
    source = written(tmp_path, divided(*some_households(20), by=lambda key: int(key) % 4))
    seen: list[list[set[tuple[int, ...]]]] = []

    def watching(action: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Any:
        found = list(one_by_one(action, arguments))
        if isinstance(found[0][1], np.ndarray):
            seen.append([set(map(tuple, marks.tolist())) for _, marks in found])
        return found

    for _ in range(2):
        count_linked_pieces(source, spec.schema, spec.input, watching)
    assert sum(map(len, seen[0])) == 20
    assert not set.union(*seen[0]) & set.union(*seen[1])


def test_other_layouts_are_refused_by_their_names_before_anything_is_charged(tmp_path: Path) -> None:
    config = write_households(tmp_path)
    roots, members = some_households(20)
    source = written(tmp_path, divided(roots, members, lambda key: int(key) % 4))
    assert source.members is not None
    assert source.path is not None
    one, _ = write_tables(tmp_path, roots, members)
    (tmp_path / "members" / "part.3.csv").rename(tmp_path / "members" / "part.5.csv")
    for given, message in (
        ((source.path, one), "whose files a cluster counts in pairs; found one table. Nothing was spent."),
        ((source.path, source.members.path), "found 4 of roots and 4 of members with other names. Nothing was spent."),
    ):
        with pytest.raises(InputError, match=message) as found:
            synthrelease.release(config, given[0], tmp_path / "out", members=given[1], address="tcp://127.0.0.1:9")
        assert "part" not in str(found.value)
    assert not list(tmp_path.glob("*.ledger"))


def test_what_is_wrong_in_a_piece_is_told_without_a_value_and_a_file_that_changes_is_found(
    spec: ReleaseSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = written(tmp_path, divided(*some_households(20), by=lambda key: int(key) % 4))
    path = tmp_path / "members" / "part.1.csv"
    good = path.read_text(encoding="utf-8")
    path.write_text(good + "secret,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"expected 4 fields.*found in file 2 of 4") as found:
        count_linked_pieces(source, spec.schema, spec.input, backwards)
    assert "secret" not in str(found.value)
    path.write_text(good, encoding="utf-8")
    true, shuffled = linked_pieces.count_linked_rows, Random(1)

    def counted(*given: Any) -> Any:
        path.write_text(good + f"{shuffled.randrange(10**9)},1,1,no\n", encoding="utf-8")
        return true(*given)

    monkeypatch.setattr(linked_pieces, "count_linked_rows", counted)
    with pytest.raises(InputError, match="found one that was written meanwhile"):
        count_linked_pieces(source, spec.schema, spec.input, one_by_one)


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [{"workers": 2}], indirect=True)
def test_a_worker_that_dies_among_pieces_of_roots_is_replaced(
    cluster: tuple[str, list[DaskProcess]], spec: ReleaseSpec, tmp_path: Path
) -> None:
    """Whole roots in most pieces, one key in two of them; a worker is killed while pieces are counted."""
    address, workers = cluster
    roots, members = some_households(2000)
    pieces = [([row for row in roots if int(row[0]) % 30 == i], [row for row in members if int(row[0]) % 30 == i])
              for i in range(30)]  # fmt: skip
    pieces[3][0].append(("1", "1", "here"))
    source, done = written(tmp_path, pieces), list[int]()
    with counting_cluster(address) as run:

        def killing(action: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Any:
            for result in run(action, tasks):
                done.append(result[0])
                if len(done) == 30 + 4:  # the keys of all pieces are known
                    workers[0].send_signal(signal.SIGKILL)
                yield result

        found = count_linked_pieces(source, spec.schema, spec.input, killing)
    assert workers[0].wait(timeout=60) == -signal.SIGKILL
    assert sorted(done) == sorted([*range(30), *range(30)])
    here = count_linked_pieces(source, spec.schema, spec.input, one_by_one)
    assert found.cells.same_as(here.cells)
    assert (found.n_rows, found.divided) == (here.n_rows, here.divided) == (2000, True)
    assert here.cells.total == 1999
