"""Pieces of a register: split once and for ever by a secret key, and what tells the rows of the piece that a release reads.

Spends nothing: record numbers are read, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from synthrelease.errors import BudgetError, InputError, Problem, SpecError
from synthrelease.privacy.ledger import check_unsplit, load_ledger
from synthrelease.privacy.ledger_file import Statement
from synthrelease.privacy.noise import secret_bytes
from synthrelease.privacy.subsets import Split, SplitRule
from synthrelease.record_numbers import PieceOfRegister, RecordNumbers, read_numbers
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.split_key import BYTES, SplitKey, key_beside, read_key, write_key


def check_numbers(spec: ReleaseSpec, data: Source) -> None:
    """Raises InputError when a row of the file has no record number, or one that another row has."""
    if spec.split is not None:
        _numbers(data, spec, spec.split, SplitKey(secret_bytes(BYTES)), "Nothing was spent.")


def _numbers(data: Source, spec: ReleaseSpec, rule: SplitRule, key: SplitKey, ending: str) -> RecordNumbers:
    """The record numbers of a file, each once."""
    problem = ""
    try:
        numbers = read_numbers(data, spec.schema, spec.input, rule, key)
        numbers.digest()
        return numbers
    except InputError as error:
        problem = str(error)
    raise InputError(f"{data}: {problem} {ending}")  # here, so that no frame that saw rows is attached


def split_register(
    ledger: Path, config: Path, data: Source, key: Path | None = None, expect_head: str | None = None
) -> tuple[Statement, Path]:
    """Make a new key and note the split in the ledger. The assignment is then fixed: piece = keyed hash of the record number.

    Parameters
    ----------
    config : a configuration whose table [split] says by which column and into how many pieces; its [input] says how the file is
        read.
    key : a new file for the key; the ledger's name with .key when omitted.

    Returns
    -------
    The ledger with the split, and where the key is.

    Raises
    ------
    SpecError : when the configuration has no [split].
    BudgetError : when the register is split already.
    InputError : when the numbers cannot be read, or a row has none or one that another row has.
    OutputError : when the key cannot be written, or something is there.

    Privacy
    -------
    Record numbers are public and the key is drawn before they are read, so the split is independent of every value. Nothing is
    released. What it does for later releases: theory 11.12, pieces for ever.
    """
    spec = load_spec(config)
    if spec.split is None:
        expected = "the column with the record number, and how many pieces"
        raise SpecError([Problem(file=spec.path, path="split", expected=expected, found="no such table")])
    opened = load_ledger(ledger, expect_head=expect_head)
    check_unsplit(ledger, opened.statement())
    if not data.is_there():
        raise InputError(f"{data}: expected a file with a header and rows, found no such file. Nothing was split.")
    secret, place = SplitKey(secret_bytes(BYTES)), key or key_beside(ledger)
    register = _numbers(data, spec, spec.split, secret, "Nothing was split.").digest()
    write_key(place, secret)
    return opened.split(Split(pieces=spec.split.of, key=secret.digest, register=register)), place


@dataclass(frozen=True, kw_only=True)
class KnownSplit:
    """Where a split is noted: a ledger, with what is expected of it, and the file of the key (LEDGER.key when None)."""

    ledger: Path | None
    key: Path | None = None
    dataset: str | None = None
    expect_head: str | None = None


def piece_to_read(spec: ReleaseSpec, known: KnownSplit, *, on_a_cluster: bool = False) -> PieceOfRegister | None:
    """What tells the rows of the piece that a release reads; None where it reads all rows.

    The private file is not read for this. Record numbers are public, and whether they can be read may depend on any value of a
    row (an open quote): they are compared after the charge, when the rows are counted (`register_pieces.count_piece`).

    Raises
    ------
    BudgetError : without a ledger, or when the ledger notes no split, or another.
    InputError : when the key is not that of the ledger, or rows are counted on a cluster.
    """
    rule, ledger = spec.split, known.ledger
    if rule is None:
        return None
    if ledger is None:
        raise BudgetError(
            "Refused: a release of a piece of a register is charged to that piece, and only the ledger of the register knows "
            "the pieces: name it (--ledger FILE). Nothing was spent."
        )
    if on_a_cluster:
        raise InputError(
            "expected no cluster for a piece of a register: the secret key stays on this machine. Nothing was spent."
        )
    split = load_ledger(ledger, dataset=known.dataset, expect_head=known.expect_head).statement().split
    if split is None or split.pieces != rule.of:
        found = "none" if split is None else f"one into {split.pieces}"
        raise BudgetError(
            f"Refused: expected {ledger} to note a split of the register into {rule.of} pieces, as [split] says, found "
            f"{found}. {'`synthrelease ledger split` makes it, once. ' if split is None else ''}Nothing was spent."
        )
    place = known.key or key_beside(ledger)
    key = read_key(place)
    if key.digest != split.key:
        raise InputError(
            f"{place}: expected the key with the digest {split.key[:16]}, by which {ledger} is split, found the key "
            f"{key.digest[:16]}. Restore the right one: with another, records would change pieces. Nothing was spent."
        )
    return PieceOfRegister(key=key, rule=rule, register=split.register)
