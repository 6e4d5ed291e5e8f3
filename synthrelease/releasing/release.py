"""Run a planned release: read the private file, compute what all rounds share, and run rounds until one is accepted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.criteria.facts import Score
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import ingest
from synthrelease.enclave.record_numbers import (
    BYTES,
    PieceOfRegister,
    RecordNumbers,
    SplitKey,
    key_beside,
    read_key,
    read_numbers,
    write_key,
)
from synthrelease.enclave.resizing import resize
from synthrelease.errors import BudgetError, InputError, SpecError
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.charges import Charge
from synthrelease.privacy.ledger import check_unsplit, load_ledger
from synthrelease.privacy.ledger_file import Statement
from synthrelease.privacy.noise import secret_bytes
from synthrelease.privacy.plan import Guarantee, check_delta
from synthrelease.privacy.subsets import Split, SplitRule
from synthrelease.releasing.attempt import (
    Attempt,
    Prepared,
    PrivateTable,
    attempt,
    check_rows,
    divided,
    prepare,
    public_digest,
    read_priors,
    released_figures,
    released_models,
)
from synthrelease.releasing.selection import select_by
from synthrelease.settings.base import RELEASED
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.plugins import check_trusted
from synthrelease.spec.release_spec import ReleaseSpec, stated_guarantee

if TYPE_CHECKING:
    from synthrelease.generators.measurements import NoisyMarginals
    from synthrelease.generators.row_functions import NoisyModels

# A register is split permanently into pieces by a secret key. The functions below make this split, and select the rows of one
# piece.
#
# Spends nothing, because only record numbers are read.


def check_numbers(spec: ReleaseSpec, data: Source) -> None:
    """Check that every row of the file has a record number of its own.

    Raises
    ------
    InputError : if a number is missing, occurs twice or cannot be read.
    """
    if spec.options.split is not None:
        _numbers(data, spec, spec.options.split, SplitKey(secret_bytes(BYTES)), "Nothing was spent.")


def _numbers(data: Source, spec: ReleaseSpec, rule: SplitRule, key: SplitKey, ending: str) -> RecordNumbers:
    problem = ""
    try:
        numbers = read_numbers(data, spec.schema, spec.input, rule, key)
        numbers.digest()
        return numbers
    except InputError as error:
        problem = str(error)
    raise InputError(f"{data}: {problem} {ending}")  # raised here, so that the error holds no reference to code that read rows


def split_register(
    ledger: Path, config: Path, data: Source, key: Path | None = None, expect_head: str | None = None, trust: Sequence[str] = ()
) -> tuple[Statement, Path]:
    """Split a register: create a new key, and record the split in the ledger.

    A keyed hash of the record number then determines the part (piece) of the register to which a record belongs.

    Parameters
    ----------
    config : a configuration whose table [split] names the column and the number of pieces, and whose [input] states how to
        read the file.
    key : a new file for the key; by default the ledger's name with .key.
    trust : packages of [[plugins]] whose code may be loaded with the configuration.

    Returns
    -------
    The statement of the ledger with the split, and the path of the key.

    Raises
    ------
    SpecError : if the configuration has no table [split].
    BudgetError : if the register has already been split.
    InputError : if the record numbers cannot be read, or if a number is missing or occurs twice.
    OutputError : if the file for the key exists already or cannot be written.

    Privacy
    -------
    Record numbers are public, and the key is drawn before they are read, so the split is independent of every value.
    Nothing is released. Theory 11.12, pieces for ever, states the effect on later releases.
    """
    spec = load_spec(config, trust)
    if spec.options.split is None:
        problem = "The configuration has no table [split]. State the column with the record number, and the number of pieces"
        raise SpecError.at(spec.path, "split", problem)
    opened = load_ledger(ledger, expect_head=expect_head)
    check_unsplit(ledger, opened.statement())
    if not data.is_there():
        raise InputError(f"{data}: there is no such file. Nothing was split.")
    secret, key_file = SplitKey(secret_bytes(BYTES)), key or key_beside(ledger)
    register = _numbers(data, spec, spec.options.split, secret, "Nothing was split.").digest()
    write_key(key_file, secret)
    return opened.split(Split(pieces=spec.options.split.of, key=secret.digest, register=register)), key_file


@dataclass(frozen=True, kw_only=True)
class KnownSplit:
    """Where the split of a register is recorded: the ledger with its expected head, and the file of the key (None means
    LEDGER.key).
    """

    ledger: Path | None
    key: Path | None = None
    dataset: str | None = None
    expect_head: str | None = None


def piece_to_read(spec: ReleaseSpec, known: KnownSplit) -> PieceOfRegister | None:
    """Return which piece of a split register a release uses, with the key of the split, or None if it uses all rows.

    This function does not read the private file. Record numbers are public, but whether they can be read may depend on any
    value of a row (such as an open quote), so they are compared after the charge (`record_numbers.count_piece`).

    Raises
    ------
    BudgetError : if no ledger is named, or if the ledger records no split or a different split.
    InputError : if the ledger was split with a different key.
    """
    rule, ledger = spec.options.split, known.ledger
    if rule is None:
        return None
    if ledger is None:
        raise BudgetError(
            "Refused: the release reads one piece of a register, and only the ledger of the register records the split into "
            "pieces. Name this ledger with --ledger FILE. Nothing was spent."
        )
    split = load_ledger(ledger, dataset=known.dataset, expect_head=known.expect_head).statement().split
    if split is None or split.pieces != rule.of:
        noted = "no split of the register" if split is None else f"a split of the register into {split.pieces} pieces"
        advice = "Split the register once with `synthrelease ledger split`. " if split is None else ""
        raise BudgetError(f"Refused: {ledger} has {noted}, but [split] names {rule.of} pieces. {advice}Nothing was spent.")
    key_file = known.key or key_beside(ledger)
    key = read_key(key_file)
    if key.digest != split.key:
        raise InputError(
            f"{key_file}: this key has the digest {key.digest[:16]}, but the split in {ledger} was made with the key "
            f"{split.key[:16]}. Restore the key of the ledger, because another key would put records into other pieces. "
            "Nothing was spent."
        )
    return PieceOfRegister(key=key, rule=rule, register=split.register)


Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Release:
    """The accepted output of a release, and its guarantee. Everything in this object may be published.

    Attributes
    ----------
    n : the number of used rows, if they were divided into two parts, else None: the released table has as many.
    n_file : the number of rows in the private file, or None if the number of rows that the rules keep is published instead.
    measured : the noisy marginals from which the table was made, if the specification publishes them.
    models : the noisy sums for the questions of [[models]].
    """

    spec: ReleaseSpec
    guarantee: Guarantee
    charges: Charge
    candidate: Candidate
    scores: tuple[Score, ...]
    n_file: int | None = None
    measured: NoisyMarginals | None = None
    models: NoisyModels | None = None
    n: int | None = None


def release(
    spec: ReleaseSpec,
    data: str | Path | Source,
    *,
    jobs: int = 1,
    progress: Progress = lambda phase: None,
    priors: Mapping[str, Counts] | None = None,
    public: Collection[str] = (),
    piece: PieceOfRegister | None = None,
    trust: Sequence[str] = (),
) -> Release | None:
    """Release one dataset from a private file. The caller must check and reserve the budget first; `publish` does this.

    Parameters
    ----------
    jobs : the number of processes that run rounds in parallel, in advance.
    progress : a function that is called with the name of each phase. It never receives the number of rounds.
    priors : the public tables from which generators start, if they were read already.
    public : digests of further tables that the user declared public (`enclave.ingest.check_not_public`).
    piece : for a specification with [split], the piece of the register whose rows are used.
    trust : packages of [[plugins]] whose code may run on the private file.

    Returns
    -------
    The release, or None if the search ended without a table.

    Raises
    ------
    InputError : if the file does not fit the specification.
    BudgetError : if delta is too large for the number of rows, or if the private table was declared public.
    PrivateFailure : if code that reads private counts failed. The budget counts as spent.

    Privacy
    -------
    Costs `spec.plan.total`: the one-off charges, the cost of the selection, and the charges after acceptance. Neighbours
    replace one row of the file (theory 1.1, sequential composition; theory 1.7, resizing; theory 2, selection).
    """
    check_trusted(str(spec.path), spec.plugins, trust)
    priors = read_priors(spec) if priors is None else priors
    progress("reading the private file")
    # an earlier release may have the same rows. the earlier release had noise, so equal rows reveal nothing; a refusal would
    # reveal a fact
    plain = [name for name in priors if not name.startswith(RELEASED)]
    files = {public_digest(spec.priors[name].path, spec, priors[name]) for name in plain}
    private = read_private(spec, data, files | set(public), piece)
    n_public = private.n if spec.rows.way == "exact" else private.n_file
    check_delta(spec.plan.total.delta, n_public, spent=True)
    table = divided(private, spec.options.partition, spec.plan.once)
    progress("measuring and fitting the parts that all rounds share")
    prepared = prepare(spec, table, priors)
    progress("searching for a table that meets all criteria")
    accepted = select_by(spec.selection_rule, partial(one_round, spec, table, prepared), jobs)
    if accepted is None:
        return None
    progress("drawing the noise of the released values")
    scores = released_figures(spec, accepted, table, prepared)
    models = released_models(spec, accepted, table)
    return Release(
        spec=spec,
        guarantee=stated_guarantee(spec, private.n_file, private.n),
        n_file=None if spec.rows.way == "exact" else private.n_file,
        charges=spec.plan.total,
        candidate=accepted.candidate,
        scores=scores,
        n=None if spec.options.partition is None else private.n,
        models=models,
        measured=(prepared.measured or accepted.candidate.measured) if spec.publish_measurements else None,
    )


def read_private(
    spec: ReleaseSpec, data: str | Path | Source, public: Collection[str] = (), piece: PieceOfRegister | None = None
) -> PrivateCounts:
    """Read the private file once. The returned table has a public number of rows, and can be read only for the charges
    spent before the rounds.

    Parameters
    ----------
    public : digests of public tables. The private rows that the rules keep must not equal any of these tables
        (`enclave.ingest.check_not_public` gives the reason).
    piece : the piece of the register whose rows are used, if the specification has [split].

    Raises
    ------
    InputError : if the file does not fit the specification.
    BudgetError : if the rows that the rules keep equal a public table, or if there are more rows than a part of the
        specification supports.

    Privacy
    -------
    Spends the charge of the number of rows, if there is one (`resizing.resize`).
    """
    if (None if piece is None else piece.rule) != spec.options.split:
        raise BudgetError("Refused: the piece of the register is not the one that [split] names. No private count was read.")
    rows = ingest(data, spec.schema, spec.input, spec.raw, piece, spec.unit)
    some_rows = piece is not None or spec.unit.key is not None
    if rows.is_public(public) or (some_rows and public and _whole_is_public(spec, data, public)):
        raise BudgetError(
            f"Refused: {data} has the same rows as a table that should be public (a prior, or the file of the rehearsal). A "
            "release that starts from the private rows protects nobody. Nothing was published. The whole planned budget counts "
            "as spent."
        )
    if piece is not None and spec.rows.stated is not None and spec.rows.stated * piece.rule.of > rows.n_file:
        most = f"One of {piece.rule.of} pieces has about {rows.n_file // piece.rule.of:,} rows"
        raise InputError(
            f"{data}: [input] rows = {spec.rows.stated} is too large. {most}. Nothing was published. The whole planned budget "
            "counts as spent."
        )
    spec.check_rows(rows.n_file)
    private = resize(rows, spec.rows, spec.raw, spec.plan.once)
    check_rows(spec, private.n, spent=True)
    return private


def _whole_is_public(spec: ReleaseSpec, data: str | Path | Source, public: Collection[str]) -> bool:
    """Return whether all rows of the file together equal a public table, of which a release would use only some.

    The result has an effect only if the tables are equal (`enclave.ingest.check_not_public`). A register that does not fit
    the specification cannot equal a public table, because public tables fit.
    """
    try:
        return ingest(data, spec.schema, spec.input, spec.raw).is_public(public)
    except InputError:
        return False


def one_round(spec: ReleaseSpec, private: PrivateTable, prepared: Prepared) -> Attempt | None:
    result = attempt(spec, spec.space.draw(), private, prepared)
    return result if result.accepted else None
