"""A register in two pieces over two years, by the commands: what is spent on whom, what is said, and what is refused before."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from synthrelease.answers.bounds import bound
from synthrelease.bundle.verify import verify_bundle
from synthrelease.cli import app
from synthrelease.enclave.ingest import read_public
from synthrelease.enclave.record_numbers import BYTES, SplitKey, count_piece, key_beside, read_key, read_numbers, write_key
from synthrelease.errors import BudgetError, InputError, SpecError
from synthrelease.privacy.ledger import load_ledger, open_ledger
from synthrelease.privacy.noise import secret_bytes
from synthrelease.privacy.subsets import MOST_PIECES, Split
from synthrelease.publish import publish
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.options import SplitPart
from synthrelease.published.verify.alone import flavour
from synthrelease.published.verify.charges import charges
from synthrelease.releasing.attempt import PrivatePieces, divided
from synthrelease.releasing.release import KnownSplit, check_numbers, piece_to_read, read_private, split_register
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import ReleaseRequest
from tests.helpers.tiny import write_config, write_data

SELECTION = "[selection]\nstop_probability = 0.001\n"
ROWS = "[input]\nrows = 400\n"
STRICT = '[input]\nmissing = "error"\noutside = "error"\n'
EPSILON = Fraction("17.4305912")
"""That of the tiny release, and 0.05 for the number of rows: of a piece, rows are always left out."""


def split_table(piece: int, by: str = "certificate", of: int = 2) -> str:
    return f'[split]\nby = "{by}"\npiece = {piece}\nof = {of}\n'


def config_of(folder: Path, piece: int = 1, more: str = "", rows: str = "", **changes: Any) -> Path:
    text = SELECTION + split_table(piece, **changes) + more
    return write_config(folder, {SELECTION: text, ROWS: rows})


def register(folder: Path) -> Path:
    """The rows of the tiny release twice, each with a number: the noise of a piece's rows leaves fewer than two never."""
    path = write_data(folder)
    _, *rows = path.read_text().splitlines()
    rows *= 2
    path.write_text("\n".join(["certificate,face,year", *(f"C{place:04},{row}" for place, row in enumerate(rows))]) + "\n")
    return path


def run(*arguments: object) -> str:
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output
    return re.sub(r"\s+", " ", found.output)


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A steward's folder after the split and two releases; `said.json` has what the commands said."""
    where = tmp_path_factory.mktemp("register")
    config, data, ledger = config_of(where), register(where), where / "coins.ledger"
    said = {"plan": run("plan", config), "check": run("check", config, "--data", data)}
    run("ledger", "open", ledger, "--dataset", "Coins", "--limit", "20")
    said["split"] = run("ledger", "split", ledger, "--config", config, "--data", data)
    for year in (1, 2):
        config = config_of(where, year)
        while not (where / f"year{year}").exists():  # the stop coin ends one in a thousand
            said[f"year{year}"] = run("release", config, "--data", data, "--out", where / f"year{year}", "--ledger", ledger)
    said["show"] = run("ledger", "show", ledger)
    (where / "said.json").write_text(json.dumps(said))
    return where


@pytest.fixture(scope="module")
def said(years: Path) -> dict[str, str]:
    return json.loads((years / "said.json").read_text())


@pytest.fixture(scope="module")
def document(years: Path) -> ReleaseDocument:
    return read_strictly((years / "year2" / "release.json").read_bytes())


@pytest.mark.slow
def test_two_years_spend_on_different_records(years: Path, said: dict[str, str]) -> None:
    """Each release alone nearly spends the limit."""
    statement = load_ledger(years / "coins.ledger").statement()
    assert (statement.epsilon, statement.epsilons.most_renumbered) == (EPSILON, 2 * EPSILON)
    assert [entry.notes.piece for entry in statement.entries] == [None, 1, 2]
    assert f"epsilon {float(EPSILON)} of 20" in said["show"]
    assert "piece 1: epsilon 17.4305912, 2.56941 left; piece 2: epsilon 17.4305912, 2.56941 left." in said["show"]
    assert "two pieces can change, and the cost is epsilon 34.8611824" in said["show"]
    assert "secret key is in" in said["split"]
    assert "A secret key and the record number (certificate) decide which records are in the piece" in said["plan"]
    assert "Every row has a different record number in 'certificate'" in said["check"]


def test_the_bundle_says_it_and_holds_no_number_and_no_key(years: Path, document: ReleaseDocument) -> None:
    assert verify_bundle(years / "year2").passed
    assert (document.format, document.domain.file_rows, document.domain.way) == (1, 802, "counted")
    assert document.split == SplitPart(by="certificate", piece=2, of=2)
    assert document.guarantee.epsilon_exact == str(EPSILON)
    page = (years / "year2" / "README.md").read_text(encoding="utf-8")
    assert "This release read piece 2." in page
    assert "If its number may change, the losses of the two most expensive pieces are added" in page
    assert "Rows in 1 of the 2 pieces of the register were left out" in page
    assert "the two most expensive pieces" in " ".join((years / "year2" / "deployment.yaml").read_text().split())
    key = key_beside(years / "coins.ledger")
    for path in sorted((years / "year2").rglob("*")):
        content = path.read_bytes()
        assert b"C0001" not in content, path
        assert read_key(key).secret not in content, path
        assert read_key(key).secret.hex().encode() not in content, path


def test_no_bound_for_the_register_follows(years: Path) -> None:
    with pytest.raises(InputError, match="a piece of the register"):
        bound(years / "year1", "face == 'head'")


def test_the_pieces_are_those_of_the_key(years: Path) -> None:
    """Both pieces together are the plausible rows of the file, each once, by the program that `release` runs."""
    data = Source.of(years / "coins.csv")
    sizes = []
    for year in (1, 2):
        spec = load_spec(config_of(years, year))
        piece = piece_to_read(spec, KnownSplit(ledger=years / "coins.ledger"))
        private = read_private(spec, data, piece=piece)
        assert private.n_file == 802
        sizes.append(private.n)
    # 800 plausible rows in halves, minus the margin of 124, with noise of sd 28 each: the sum has an sd of 40
    assert 552 - 320 < sum(sizes) < 552 + 320
    with pytest.raises(BudgetError, match="the piece of the register is not the one that"):
        read_private(spec, data)


@pytest.mark.parametrize("ending", ["", ".0"])
def test_a_register_that_was_split_by_texts_keeps_its_pieces(ending: str, tmp_path: Path) -> None:
    """Version 1.0.0 took 12.0 for another number than 12: its digest and its pieces stay, and are found by themselves."""
    path, ledger = register(tmp_path), tmp_path / "coins.ledger"
    path.write_text(re.sub(r"^C0*(\d+)", rf"\g<1>{ending}", path.read_text(), flags=re.M))
    spec, data, key = load_spec(config_of(tmp_path)), Source.of(path), SplitKey(bytes(range(32)))
    run("ledger", "open", ledger, "--dataset", "Coins", "--limit", "20")
    before = read_numbers(data, spec.schema, spec.input, spec.options.split, key, as_written=True)
    write_key(key_beside(ledger), key)
    load_ledger(ledger).split(Split(pieces=2, key=key.digest, register=before.digest()))
    piece = piece_to_read(spec, KnownSplit(ledger=ledger))
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    mine = [row for row in rows if 1 + int.from_bytes(key.mark(row[0])[:16], "big") % 2 == piece.rule.piece]
    found = count_piece(data, spec.schema, spec.input, piece)
    assert found.n_rows == len(rows)
    assert found.cells.total == len(mine)
    heads = found.cells.project((0,)).counts
    assert sorted(heads.tolist()) == sorted(sum(row[1] == face for row in mine) for face in ("head", "tail"))
    path.write_text(re.sub(r"^7(?=[.,])", "8", path.read_text(), flags=re.M))
    with pytest.raises(InputError, match="more than once"):
        count_piece(data, spec.schema, spec.input, piece)


def test_a_register_that_is_said_to_be_public_is_found_by_its_counts_also_when_a_piece_is_read(years: Path) -> None:
    spec, data = load_spec(config_of(years, 1)), Source.of(years / "coins.csv")
    piece = piece_to_read(spec, KnownSplit(ledger=years / "coins.ledger"))
    whole = read_public(data, spec.schema, spec.input, spec.raw)
    with pytest.raises(BudgetError, match="has the same rows as a table that should be public"):
        read_private(spec, data, {whole.digest()}, piece=piece)
    assert read_private(spec, data, {"another digest"}, piece=piece).n_file == 802


def test_a_piece_can_be_divided_again(years: Path) -> None:
    spec, data = load_spec(config_of(years, 1, more="[partition]\nfit = 0.5\nscore = 0.5\n")), Source.of(years / "coins.csv")
    private = read_private(spec, data, piece=piece_to_read(spec, KnownSplit(ledger=years / "coins.ledger")))
    table = divided(private, spec.options.partition, spec.plan.once)
    assert isinstance(table, PrivatePieces)
    assert table.fit.n + table.score.n == private.n < 600


def other_piece(document: ReleaseDocument) -> ReleaseDocument:
    return document.model_copy(update={"split": None})


def exactly(document: ReleaseDocument) -> ReleaseDocument:
    return document.model_copy(update={"domain": document.domain.model_copy(update={"way": "exact", "file_rows": None})})


@pytest.mark.parametrize("forge", [other_piece, exactly])
def test_what_does_not_go_with_a_piece_is_found(document: ReleaseDocument, forge: Callable[..., ReleaseDocument]) -> None:
    assert charges(document).problems == ()
    assert flavour(document).problems == ()
    forged = forge(document)
    assert flavour(forged).problems
    if forge is exactly:
        assert any("for a secret piece it must be counted" in problem for problem in charges(forged).problems)


@pytest.mark.parametrize(
    ("more", "changes", "place"),
    [
        ("", {"by": "face"}, "split.by: The record number 'face' must not be released, but the column 'face' reads it."),
        ("", {"piece": 3}, "The piece must be a number from 1 to 2. It is 3."),
        ("", {"of": 1}, "split.of"),
        ("", {"of": MOST_PIECES + 1}, "split.of"),
        ("", {"rows": '[input]\nrows = "exact"\n'}, "would reveal a fact about a secret piece"),
        (
            '[population]\nsize = 4010\nsample = "simple random, without replacement"\nsource = "x"\n',
            {},
            "the bound holds only for all releases of the same records together",
        ),
        ('[[intended_queries]]\nquery = "year == 1"\nwhy = "x"\n', {}, "statistics describe only one piece of the rows"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, more: str, changes: dict[str, Any], place: str) -> None:
    with pytest.raises(SpecError, match=re.escape(place)):
        load_spec(config_of(tmp_path, more=more, **({"piece": 1} | changes)))


def test_measurements_of_a_piece_are_not_published(tmp_path: Path) -> None:
    """Estimates and bounds would take them for those of the register."""
    family = 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'
    selection = f"{SELECTION}publish_measurements = true\n{split_table(1)}"
    measured = {SELECTION: selection, family: 'family = "marginals"\ntables = "face + year"'}
    with pytest.raises(SpecError, match="give no estimate for the whole register"):
        load_spec(write_config(tmp_path, measured))


def test_without_rules_too_the_number_of_rows_of_a_piece_is_counted(tmp_path: Path) -> None:
    """Without pieces nothing would be left out, and all rows of the file would be used for nothing."""
    rule = "[[rules]]\nnever = \"face == 'tail' and year > 6\"\n"
    for more, way in ((split_table(1), "counted"), ("", "whole")):
        spec = load_spec(write_config(tmp_path, {SELECTION: SELECTION + more, ROWS: STRICT, rule: ""}))
        assert spec.rows.way == way


# --- Refused before anything is charged


@pytest.fixture
def office(tmp_path: Path) -> ReleaseRequest:
    """All that a release of a piece needs, and nothing spent."""
    config, data, ledger = config_of(tmp_path), register(tmp_path), tmp_path / "coins.ledger"
    open_ledger(ledger, "Coins", 20)
    run("ledger", "split", ledger, "--config", config, "--data", data)
    return ReleaseRequest(config=config, data=data, out=tmp_path / "out", ledger=ledger)


def without_a_ledger(office: ReleaseRequest) -> dict[str, Any]:
    return {"ledger": None}


def of_no_split(office: ReleaseRequest) -> dict[str, Any]:
    other = office.config.parent / "other.ledger"
    open_ledger(other, "Coins", 20)
    return {"ledger": other}


def of_another_split(office: ReleaseRequest) -> dict[str, Any]:
    return {"config": config_of(office.config.parent, of=3)}


def another_key(office: ReleaseRequest) -> dict[str, Any]:
    write_key(office.config.parent / "other.key", SplitKey(secret_bytes(BYTES)))
    return {"split_key": office.config.parent / "other.key"}


def no_key(office: ReleaseRequest) -> dict[str, Any]:
    return {"split_key": office.config.parent / "none.key"}


def changed(old: str, new: str, office: ReleaseRequest) -> dict[str, Any]:
    data = Path(str(office.data))
    data.write_text(data.read_text().replace(old, new))
    return {}


def too_many(office: ReleaseRequest) -> dict[str, Any]:
    return {"config": config_of(office.config.parent, rows="[input]\nrows = 402\n")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "error", "found"),
    [
        (without_a_ledger, BudgetError, "only the ledger of the register records the split into pieces. Name this ledger"),
        (of_no_split, BudgetError, "Split the register once with `synthrelease ledger split`. Nothing was spent."),
        (of_another_split, BudgetError, "has a split of the register into 2 pieces, but [split] names 3 pieces. Nothing"),
        (another_key, InputError, "another key would put records into other pieces. Nothing was spent."),
        (no_key, InputError, "There is no such file. It should contain the secret key of the split. Nothing was spent."),
        (partial(changed, "certificate", "number"), InputError, "The header lacks 'certificate'"),
    ],
)
def test_a_release_that_cannot_be_of_its_piece_costs_nothing(
    office: ReleaseRequest, change: Callable[[ReleaseRequest], dict[str, Any]], error: type[Exception], found: str
) -> None:
    assert office.ledger is not None
    before = load_ledger(office.ledger).statement()
    with pytest.raises(error) as refused:
        publish(replace(office, **change(office)))
    text = re.sub(r"\s+", " ", str(refused.value))
    assert found in text
    assert "Nothing was spent" in text
    assert "C000" not in text
    assert load_ledger(office.ledger).statement() == before


QUOTED = '"head'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "found"),
    [
        (too_many, "[input] rows = 402 is too large. One of 2 pieces has about 401 rows."),
        (partial(changed, "C0007", "C9007"), "column 'certificate': The record numbers have changed"),
        (partial(changed, "C0007,", ","), "Some rows have no record number"),
        (partial(changed, "C0007", "C0008"), "column 'certificate': Some record numbers occur more than once"),
        (partial(changed, "head,1\n", f"{QUOTED},1\n"), ""),
    ],
)
def test_rows_are_read_after_the_charge_alone_so_that_none_of_them_decides_before(
    office: ReleaseRequest, change: Callable[[ReleaseRequest], dict[str, Any]], found: str
) -> None:
    """Numbers are public, and whether a file can be read may depend on any value: an open quote, in the last case."""
    assert office.ledger is not None
    before = load_ledger(office.ledger).statement()
    with pytest.raises(InputError) as refused:
        publish(replace(office, **change(office)))
    text = re.sub(r"\s+", " ", str(refused.value))
    assert found in text
    assert "Nothing was spent" not in text
    assert len(load_ledger(office.ledger).statement().entries) == len(before.entries) + 1


def test_a_split_that_fails_leaves_no_key_and_no_entry(tmp_path: Path) -> None:
    data, ledger = register(tmp_path), tmp_path / "coins.ledger"
    open_ledger(ledger, "Coins", 20)
    content = data.read_text()
    twice = content.replace("C0007", "C0008")
    config = config_of(tmp_path)
    for text, wanted in ((twice, "Some record numbers occur more than once"), ("", "The file is empty")):
        data.write_text(text)
        with pytest.raises(InputError, match=f"coins.csv: .*{wanted}.*Nothing was spent"):
            check_numbers(load_spec(config), Source.of(data))
        with pytest.raises(InputError, match=f"{wanted}.*Nothing was split"):
            split_register(ledger, config, Source.of(data))
    with pytest.raises(InputError, match="no such file. Nothing was split"):
        split_register(ledger, config, Source.of(tmp_path / "none.csv"))
    data.write_text(content)
    with pytest.raises(
        SpecError, match="split: The configuration has no table .split.. State the column with the record number"
    ):
        split_register(ledger, write_config(tmp_path), Source.of(data))
    assert load_ledger(ledger).statement().split is None
    assert not key_beside(ledger).exists()
